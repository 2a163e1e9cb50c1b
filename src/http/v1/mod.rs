//! Version 1 of the interface, one file per operation or resource. Wire types are defined next to their handlers.

mod asks;
mod batch;
mod commands;
mod contexts;
mod decisions;
mod evidence;
mod exports;
mod items;
mod log;
mod messages;
mod ooc;
mod parts;
mod policies;
mod principals;
mod privacy;
mod privacy_holds;
mod progress;
mod public;
mod results;
mod spaces;
mod turns;
mod view;

use super::endpoint::Route;

pub(super) fn health_routes() -> Vec<Route> {
    public::health_routes()
}

/// Every route of the server.
pub(super) fn routes() -> Vec<Route> {
    let parts = [
        public::routes(),
        messages::routes(),
        batch::routes(),
        contexts::routes(),
        asks::routes(),
        items::routes(),
        decisions::routes(),
        commands::routes(),
        results::routes(),
        principals::routes(),
        ooc::routes(),
        evidence::routes(),
        exports::routes(),
        log::routes(),
        policies::routes(),
        privacy::routes(),
        privacy_holds::routes(),
        spaces::routes(),
    ];
    parts.into_iter().flatten().collect()
}
