//! Endpoints: for each operation its method, its path, and what a caller must bring. The router is built from them,
//! the extractors obey them and the tests compare them with `openapi.yaml`, so the three cannot drift apart.

use axum::handler::Handler;
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Extension, Router};

use super::App;
use crate::domain::scope::Scope;

/// Who checks that the caller holds one of an endpoint's scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CheckedBy {
    /// The extractor, before the handler runs.
    Extractor,
    /// The use case, because it writes down who was refused.
    UseCase,
}

/// One operation as the wire sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Endpoint {
    /// `GET`, `POST`, `PUT`, `PATCH` or `DELETE`.
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// Scopes of which the caller must hold one.
    pub(crate) scopes: &'static [Scope],
    /// Whether a program that proposes may call it.
    pub(crate) for_agents: bool,
    /// Whether it needs an `Idempotency-Key`.
    pub(crate) needs_key: bool,
    /// Whether it takes a query string.
    pub(crate) takes_query: bool,
    /// Who checks the scopes.
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

    /// A read whose question goes into the body.
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

    /// The same, with a query string.
    pub(crate) const fn with_query(mut self) -> Self {
        self.takes_query = true;
        self
    }

    /// The same, open to programs that propose.
    pub(crate) const fn for_agents(mut self) -> Self {
        self.for_agents = true;
        self
    }

    /// The same, with an `Idempotency-Key` required.
    pub(crate) const fn with_key(mut self) -> Self {
        self.needs_key = true;
        self
    }

    /// The same, with scopes left to the use case: a refused look is evidence.
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

/// An endpoint and what answers there.
pub(crate) struct Route {
    endpoint: Endpoint,
    answer: MethodRouter<App>,
}

impl Route {
    /// Puts an answer behind an endpoint.
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

/// The router over all routes.
pub(crate) fn routed(routes: Vec<Route>) -> Router<App> {
    routes.into_iter().fold(Router::new(), |router, route| router.route(route.endpoint.path, route.answer))
}
