//! Loads all rows that the decisions of a batch may need, in one statement per batch. It is separate from the locking
//! statement, so that it sees everything committed before the locks were held.

use super::database::query;
use super::session::Session;
use crate::domain::event::StreamKey;
use crate::domain::id::{ItemId, PrincipalId, TenantId};
use crate::storage::loading::{loading, loading_more, take};
use crate::storage::{Loaded, Row, StorageError, Want};

/// Loads the rows of the operations whose streams are locked.
pub(super) async fn load(
    session: &mut Session,
    wants: &[Want],
    streams: Vec<Option<Vec<StreamKey>>>,
) -> Result<Loaded, StorageError> {
    let rows = session.rows(query(loading(wants, &streams))).await?;
    let mut loaded = Loaded { streams, ..Loaded::default() };
    for row in &rows {
        take(&mut loaded, row)?;
    }
    Ok(loaded)
}

/// Loads principals and items that only the rows of the first load name.
pub(super) async fn load_more(
    session: &mut Session,
    principals: &[(TenantId, PrincipalId)],
    items: &[(TenantId, ItemId)],
) -> Result<Vec<(TenantId, Row)>, StorageError> {
    let mut loaded = Loaded::default();
    if let Some(statement) = loading_more(principals, items) {
        for row in &session.rows(query(statement)).await? {
            take(&mut loaded, row)?;
        }
    }
    Ok(loaded.rows)
}
