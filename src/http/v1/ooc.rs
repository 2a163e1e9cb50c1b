//! Observability over conversation: `POST /v1/ooc/query` and `GET /v1/ooc/commands/{command_id}/explanation`.
//!
//! Scopes are checked by the use case, which records refused reads as evidence.

use axum::http::HeaderMap;
use axum::http::header::ACCEPT_LANGUAGE;
use serde::Deserialize;
use serde_json::json;

use super::parts::{MAX_LOCALE, printable};
use crate::domain::id::{CommandId, ContextId, ConversationId, PrincipalId};
use crate::domain::scope::Scope;
use crate::http::body::{Body, Wire};
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{Call, PathId};
use crate::http::problem::Problem;
use crate::http::respond::Reply;
use crate::service::ooc::{OocRequest, Query};
use crate::service::wording::Language;

const QUERY: Endpoint = Endpoint::query("/v1/ooc/query", &[Scope::OocRead]).refusals_recorded();
const EXPLANATION: Endpoint =
    Endpoint::get("/v1/ooc/commands/{command_id}/explanation", &[Scope::OocRead]).refusals_recorded();

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(QUERY, query), Route::new(EXPLANATION, explanation)]
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct QueryWire {
    query: String,
    conversation_id: Option<ConversationId>,
    context_id: Option<ContextId>,
    command_id: Option<CommandId>,
    viewer_actor_id: Option<PrincipalId>,
    locale: Option<String>,
}

impl Wire for QueryWire {}

async fn query(call: Call, body: Body<QueryWire>) -> Result<Reply, Problem> {
    let wire = body.typed;
    if let Some(locale) = &wire.locale {
        printable(locale, "/locale", MAX_LOCALE)?;
    }
    let request = OocRequest {
        query: Query::parse(&wire.query).ok_or_else(unknown_query)?,
        conversation_id: wire.conversation_id,
        context_id: wire.context_id,
        command_id: wire.command_id,
        viewer_id: wire.viewer_actor_id,
        locale: wire.locale,
    };
    if let Some(needs) = request.missing() {
        let problem = format!("this query needs {}", needs.words());
        return Err(Problem::field("missing_field", "the body lacks a member; see errors", "", problem));
    }
    Reply::ok(&call.app.service.ooc(&call.caller, &request).await?)
}

fn unknown_query() -> Problem {
    let names = Query::names();
    let problem = format!("must be one of: {}", names.join(", "));
    Problem::field("unknown_query", "there is no such query; see errors", "/query", problem)
        .member("queries", json!(names))
}

async fn explanation(call: Call, PathId(id): PathId, headers: HeaderMap) -> Result<Reply, Problem> {
    let command_id = CommandId::new(id).map_err(|_| Problem::not_found("command"))?;
    let locale = accepted(&headers).map(Language::tag);
    Reply::ok(&call.app.service.explanation(&call.caller, &command_id, None, locale).await?)
}

/// The first language of `Accept-Language` that has texts. URLs must not contain a locale.
fn accepted(headers: &HeaderMap) -> Option<Language> {
    let text = headers.get(ACCEPT_LANGUAGE)?.to_str().ok()?;
    text.split(',').find_map(|range| Language::of(range.split(';').next().unwrap_or_default().trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_language_that_there_are_texts_in_is_taken() {
        let of = |text: &str| accepted(&HeaderMap::from_iter([(ACCEPT_LANGUAGE, text.parse().unwrap())]));
        assert_eq!(of("de-AT, pt-BR;q=0.9, en;q=0.8"), Some(Language::Portuguese));
        assert_eq!(of("es"), Some(Language::Spanish));
        assert_eq!(of("*"), None);
    }

    #[test]
    fn an_unknown_query_names_the_known_ones() {
        let problem = unknown_query().to_value(None);
        assert_eq!(problem["code"], "unknown_query");
        assert_eq!(problem["queries"][0], "show active context");
    }
}
