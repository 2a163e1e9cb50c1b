//! The outermost layer, which every request passes on its way in and out.
//!
//! A request gets an id, a deadline and one log line. The line contains the route's template and neither path nor body,
//! so that the log has no personal data.

use std::any::Any;
use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::http::header::{ALLOW, HeaderValue, RETRY_AFTER};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::App;
use super::extract::Trail;
use super::headers::{REQUEST_ID, inbound_request_id, trace_id};
use super::problem::Problem;

/// The label of a request that no route matched.
const UNMATCHED: &str = "unmatched";

pub(crate) async fn boundary(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let method = method_label(request.method());
    let route = request.extensions().get::<MatchedPath>().map_or(UNMATCHED, MatchedPath::as_str).to_owned();
    let request_id = inbound_request_id(request.headers()).unwrap_or_else(|| fresh_id(&app));
    let trace = trace_id(request.headers());
    let trail = Trail::default();
    request.extensions_mut().insert(trail.clone());
    let answered = tokio::time::timeout(app.config.request_timeout, next.run(request)).await;
    let response = answered.unwrap_or_else(|_| {
        Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "timed_out",
            "the server did not answer in time; whether it was done is not known: repeat the request as it is",
        )
        .header(RETRY_AFTER, "1")
        .into_response()
    });
    let (response, code) = finished(response, &request_id);
    let status = response.status().as_u16();
    let seconds = begun.elapsed().as_secs_f64();
    let labels = [("route", route.clone()), ("method", method.to_owned()), ("status", status.to_string())];
    metrics::counter!("cscp_http_requests_total", &labels).increment(1);
    metrics::histogram!("cscp_http_request_seconds", &labels[..2]).record(seconds);
    let (tenant, key) = trail.seen().map_or(("", ""), |(tenant, key)| (tenant.as_str(), key.as_str()));
    tracing::info!(
        http.method = method,
        http.route = route,
        http.status = status,
        // Whole microseconds: more digits are noise.
        ms = (seconds * 1_000_000.0).round() / 1_000.0,
        request_id,
        trace_id = trace,
        code = (!code.is_empty()).then_some(code),
        tenant,
        key,
        "request"
    );
    response
}

/// Adds the request's id to the answer; returns the problem's code, if it is a problem.
fn finished(mut response: Response, request_id: &str) -> (Response, String) {
    let mut code = String::new();
    if let Some(problem) = response.extensions_mut().remove::<Problem>() {
        let allow = response.headers_mut().remove(ALLOW);
        response = problem.response(Some(request_id));
        if let Some(allow) = allow {
            response.headers_mut().insert(ALLOW, allow);
        }
        code = problem.code.into_owned();
    }
    if let Ok(value) = HeaderValue::from_str(request_id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    (response, code)
}

fn fresh_id(app: &App) -> String {
    let mut text = app.service.fresh_secret().to_hex();
    text.truncate(32);
    format!("req-{text}")
}

/// A method is any text from a caller; only known ones become labels.
fn method_label(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "other",
    }
}

/// No route has this path.
pub(crate) async fn no_route() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "route_not_found", "no operation has this path; see the paths in /openapi.yaml")
}

/// The path exists, the method does not. The router adds `Allow`.
pub(crate) async fn no_method(method: Method) -> Response {
    if method == Method::OPTIONS {
        return StatusCode::NO_CONTENT.into_response();
    }
    Problem::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "method_not_allowed",
        "this path does not take this method; the Allow header names those it takes",
    )
    .into_response()
}

/// The answer after a panic, which is a bug. The panic's message is not part of the answer.
pub(crate) fn panicked(_: Box<dyn Any + Send + 'static>) -> Response {
    tracing::error!("a handler panicked; the request was answered with an internal error");
    Problem::from(crate::service::ServiceError::Internal).into_response()
}

#[cfg(test)]
mod tests {
    use axum::Router;
    use axum::body::{Body, to_bytes};
    use axum::routing::get;
    use tower::ServiceExt as _;
    use tower_http::catch_panic::CatchPanicLayer;

    use super::*;

    #[tokio::test]
    async fn a_panic_answers_a_bare_problem() {
        let boom = async || -> StatusCode { panic!("SECRET") };
        let app: Router = Router::new().route("/", get(boom)).layer(CatchPanicLayer::custom(panicked));
        let response = app.oneshot(Request::new(Body::empty())).await.unwrap();
        let (response, code) = finished(response, "req-1");
        assert_eq!((response.status(), code.as_str()), (StatusCode::INTERNAL_SERVER_ERROR, "internal"));
        let text = to_bytes(response.into_body(), 1 << 12).await.unwrap();
        let text = String::from_utf8(text.to_vec()).unwrap();
        assert!(text.contains("\"request_id\":\"req-1\"") && !text.contains("SECRET"), "{text}");
    }
}
