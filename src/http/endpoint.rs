//! Endpoints: method, path and requirements of each operation. The router is built from them, the extractors enforce
//! them and the tests compare them with `openapi.yaml`, so these cannot differ.

use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Extension, Router};

use super::App;
use crate::domain::scope::Scope;

/// Where the caller's scopes are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckedBy {
    /// The extractor, before the handler runs.
    Extractor,
    /// In the use case, which records refusals.
    UseCase,
}

/// The description of one operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// Scopes of which the caller must hold one.
    pub(crate) scopes: &'static [Scope],
    /// Whether an agent may call it.
    pub(crate) for_agents: bool,
    /// Whether it needs an `Idempotency-Key`.
    pub(crate) needs_key: bool,
    /// Whether it takes a query string.
    pub(crate) takes_query: bool,
    /// Where the scopes are checked.
    pub(crate) checked_by: CheckedBy,
}

impl Endpoint {
    const fn new(method: &'static str, path: &'static str, scopes: &'static [Scope]) -> Self {
        Self {
            method,
            path,
            scopes,
            for_agents: false,
            needs_key: false,
            takes_query: false,
            checked_by: CheckedBy::Extractor,
        }
    }

    pub(crate) const fn get(path: &'static str, scopes: &'static [Scope]) -> Self {
        Self::new("GET", path, scopes).for_agents()
    }

    /// A read whose parameters are in the body.
    pub(crate) const fn query(path: &'static str, scopes: &'static [Scope]) -> Self {
        Self::new("POST", path, scopes).for_agents()
    }

    pub(crate) const fn post(path: &'static str, scopes: &'static [Scope]) -> Self {
        Self::new("POST", path, scopes)
    }

    /// A change that may be repeated.
    pub(crate) const fn put(path: &'static str, scopes: &'static [Scope]) -> Self {
        Self::new("PUT", path, scopes)
    }

    pub(crate) const fn patch(path: &'static str, scopes: &'static [Scope]) -> Self {
        Self::new("PATCH", path, scopes)
    }

    pub(crate) const fn delete(path: &'static str, scopes: &'static [Scope]) -> Self {
        Self::new("DELETE", path, scopes)
    }

    /// With a query string.
    pub(crate) const fn with_query(mut self) -> Self {
        self.takes_query = true;
        self
    }

    pub(crate) const fn for_agents(mut self) -> Self {
        self.for_agents = true;
        self
    }

    /// With a required `Idempotency-Key`.
    pub(crate) const fn with_key(mut self) -> Self {
        self.needs_key = true;
        self
    }

    /// With scopes checked by the use case, which records refused reads as evidence.
    pub(crate) const fn refusals_recorded(mut self) -> Self {
        self.checked_by = CheckedBy::UseCase;
        self
    }

    fn filter(&self) -> MethodFilter {
        match self.method {
            "POST" => MethodFilter::POST,
            "PUT" => MethodFilter::PUT,
            "PATCH" => MethodFilter::PATCH,
            "DELETE" => MethodFilter::DELETE,
            _ => MethodFilter::GET,
        }
    }
}

pub(crate) struct Route {
    endpoint: Endpoint,
    answer: MethodRouter<App>,
}

impl Route {
    /// Connects an endpoint with its handler.
    pub(crate) fn new<H, T>(endpoint: Endpoint, handler: H) -> Self
    where
        H: Handler<T, App>,
        T: 'static,
    {
        Self { endpoint, answer: on(endpoint.filter(), handler).route_layer(Extension(endpoint)) }
    }

    #[cfg(test)]
    pub(crate) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }
}

/// The router of all routes.
pub(crate) fn routed(routes: Vec<Route>) -> Router<App> {
    routes.into_iter().fold(Router::new(), |router, route| router.route(route.endpoint.path, route.answer))
}
