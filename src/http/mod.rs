//! The HTTP interface: routes, extractors, problems and JSON.
//!
//! A handler gets an `extract::Call` (authenticated, authorised), the ids of its path and a `body::Body`, builds one
//! [`crate::domain::operation::Operation`] and converts its answer. Domain types are never serialized directly: some
//! contain keys, salts and digests that must not leave the server.

mod bodies;
mod body;
mod connections;
mod endpoint;
mod extract;
mod headers;
mod listen;
mod observe;
mod paging;
mod problem;
mod rates;
mod required;
mod respond;
mod socket;
mod unread;
mod v1;

#[cfg(test)]
mod openapi_tests;

pub use connections::Patience;
pub use listen::{ListenLimits, listen};

use std::sync::Arc;
use std::time::Duration;

use axum::middleware::from_fn_with_state;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::decompression::RequestDecompressionLayer;

use crate::service::Service;
use bodies::{Bodies, Desks};
use rates::Rates;

/// The limits of the HTTP interface.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// The largest body, in bytes.
    pub body_bytes: usize,
    /// The largest body of a batch, in bytes.
    pub batch_bytes: usize,
    /// The time for a body to arrive.
    pub body_timeout: Duration,
    /// The memory for all request bodies together, in bytes.
    pub body_memory: usize,
    /// How long a body waits for memory.
    pub body_waiting: Duration,
    /// The time for a whole request.
    pub request_timeout: Duration,
    /// Whether the rate limits of policies apply.
    pub rate_limits: bool,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            body_bytes: 1 << 20,
            batch_bytes: 3 << 20,
            body_timeout: Duration::from_secs(10),
            body_memory: 64 << 20,
            body_waiting: Duration::from_secs(2),
            request_timeout: Duration::from_secs(30),
            rate_limits: true,
        }
    }
}

/// The shared state of all handlers. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct App {
    service: Service,
    config: Arc<HttpConfig>,
    rates: Arc<Rates>,
    bodies: Arc<Bodies>,
    desks: Desks,
}

/// The whole HTTP interface over a service.
pub fn router(service: Service, config: HttpConfig) -> axum::Router {
    over(service, config, v1::routes())
}

/// `/healthz` and `/readyz` for the operators' listener.
pub fn ops_router(service: Service) -> axum::Router {
    over(service, HttpConfig::default(), v1::health_routes())
}

fn over(service: Service, config: HttpConfig, routes: Vec<endpoint::Route>) -> axum::Router {
    let bodies = Arc::new(Bodies::new(config.body_memory, config.body_waiting));
    let (rates, desks) = (Arc::new(Rates::default()), Desks::new());
    let app = App { service, config: Arc::new(config), rates, bodies, desks };
    endpoint::routed(routes)
        .fallback(observe::no_route)
        .method_not_allowed_fallback(observe::no_method)
        // Bodies are counted and read as they were before they were packed. What cannot be unpacked is refused there.
        .layer(RequestDecompressionLayer::new().pass_through_unaccepted(true))
        .layer(CatchPanicLayer::custom(observe::panicked))
        .layer(from_fn_with_state(app.clone(), observe::boundary))
        .with_state(app)
}
