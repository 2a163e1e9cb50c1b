//! The state layer on the wire: fact spaces, facts, observations, environment, working sets, context packs.

mod describing;
mod facts;
mod factual;
mod layers;
mod memories;
mod moment;
mod observations;
mod packs;
mod reading;
mod view;

use serde_json::Value;

use crate::domain::id::{FactUid, SpaceId};
use crate::http::endpoint::Route;
use crate::http::extract::Call;
use crate::http::problem::Problem;
use crate::http::respond::accepted;
use crate::http::v1::parts::printable;
use crate::service::spaces::SpaceShown;
use crate::service::{Committed, ServiceError};
use crate::state_layer::operation::SpaceAction;

pub(super) fn routes() -> Vec<Route> {
    let parts = [
        describing::routes(),
        facts::routes(),
        reading::routes(),
        layers::routes(),
        memories::routes(),
        observations::routes(),
        packs::routes(),
    ];
    parts.into_iter().flatten().collect()
}

/// The longest second name in a path.
const NAME: usize = 256;

/// The space that a path names.
fn space_id(text: &str) -> Result<SpaceId, Problem> {
    SpaceId::new(text).map_err(|error| in_path("/fact_space", error.to_string()))
}

/// A name chosen by the caller, in the path or the query string.
fn name(text: String, pointer: &str) -> Result<String, Problem> {
    let fits = printable(&text, pointer, NAME).is_ok();
    if fits {
        return Ok(text);
    }
    Err(in_path(pointer, format!("must be 1 to {NAME} bytes of UTF-8 without control characters")))
}

fn in_path(pointer: &str, problem: String) -> Problem {
    Problem::field(
        "invalid_value",
        "a name in the path or the query string cannot be taken; see errors",
        pointer,
        problem,
    )
}

/// The fact that a path names.
fn fact_uid(text: &str) -> Result<FactUid, Problem> {
    FactUid::parse(text).ok_or_else(|| Problem::not_found("fact"))
}

impl Call {
    /// Submits an operation on a space. `body` is what the `Idempotency-Key` identifies.
    async fn decide_space(
        &self,
        space_id: SpaceId,
        action: SpaceAction,
        body: &Value,
    ) -> Result<Committed<SpaceShown>, Problem> {
        let claim = self.claim(body);
        let decided = self.app.service.decide_space(&self.caller, space_id, action, claim).await?;
        accepted(decided, ServiceError::SpaceRefused)
    }
}
