//! The public log for monitors, mirrors and witnesses: `GET /log/{tenant}/checkpoint` and
//! `GET /log/{tenant}/tile/{path}`.
//!
//! These routes need no key, and answer only if the server was started with `--publish-log`.

use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::response::{IntoResponse, Response};

use crate::domain::id::TenantId;
use crate::evidence::tree::TilePath;
use crate::http::App;
use crate::http::endpoint::{Endpoint, Route};
use crate::http::extract::{PathId, PathIds};
use crate::http::problem::Problem;

const CHECKPOINT: Endpoint = Endpoint::get("/log/{tenant}/checkpoint", &[]);
const TILE: Endpoint = Endpoint::get("/log/{tenant}/tile/{*path}", &[]);

/// There may be a newer checkpoint a second later.
const AT_ONCE: &str = "no-cache";
/// A tile of a given width never changes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";

pub(super) fn routes() -> Vec<Route> {
    vec![Route::new(CHECKPOINT, checkpoint), Route::new(TILE, tile)]
}

fn tenant(text: String) -> Result<TenantId, Problem> {
    TenantId::new(text).map_err(|_| Problem::not_found("log"))
}

async fn checkpoint(State(app): State<App>, PathId(id): PathId) -> Result<Response, Problem> {
    let note = app.service.published_checkpoint(&tenant(id)?).await?;
    Ok(([(CONTENT_TYPE, "text/plain; charset=utf-8"), (CACHE_CONTROL, AT_ONCE)], note).into_response())
}

async fn tile(State(app): State<App>, PathIds(id, path): PathIds) -> Result<Response, Problem> {
    let path = TilePath::parse(&path).ok_or_else(|| Problem::not_found("tile"))?;
    let bytes = app.service.published_tile(&tenant(id)?, path).await?;
    Ok(([(CONTENT_TYPE, "application/octet-stream"), (CACHE_CONTROL, FOR_EVER)], bytes).into_response())
}
