//! Locking and loading. `BEGIN IMMEDIATE` allows one writer at a time, so it locks every stream at once.

use sqlx::SqliteConnection;

use super::database::rows;
use crate::domain::event::StreamKey;
use crate::domain::id::{ItemId, PrincipalId, TenantId};
use crate::storage::loading::{Locating, loading, loading_more, located, take};
use crate::storage::sql::Statement;
use crate::storage::{Loaded, Row, StorageError, Want};

/// Finds the streams of each operation and loads its rows.
pub(super) async fn load(connection: &mut SqliteConnection, wants: &[Want]) -> Result<Loaded, StorageError> {
    let streams = locate(connection, wants).await?.into_iter().map(Some).collect();
    let mut loaded = Loaded { streams, ..Loaded::default() };
    for row in rows(connection, loading(wants, &loaded.streams)).await? {
        take(&mut loaded, &row)?;
    }
    Ok(loaded)
}

/// The streams that each operation needs; unknown names add none.
async fn locate(connection: &mut SqliteConnection, wants: &[Want]) -> Result<Vec<Vec<StreamKey>>, StorageError> {
    let mut streams: Vec<Vec<StreamKey>> = wants.iter().map(|want| want.needs.streams.clone()).collect();
    let Some(locating) = Locating::of(wants) else { return Ok(streams) };
    let statement = Statement::new("load.locate", locating.text.clone());
    for row in rows(connection, locating.bind(statement)).await? {
        let (position, key) = located(&row)?;
        if let Some(keys) = streams.get_mut(position).filter(|keys| !keys.contains(&key)) {
            keys.push(key);
        }
    }
    Ok(streams)
}

/// Loads principals and items that only the rows of the first load name.
pub(super) async fn load_more(
    connection: &mut SqliteConnection,
    principals: &[(TenantId, PrincipalId)],
    items: &[(TenantId, ItemId)],
) -> Result<Vec<(TenantId, Row)>, StorageError> {
    let mut loaded = Loaded::default();
    if let Some(statement) = loading_more(principals, items) {
        for row in rows(connection, statement).await? {
            take(&mut loaded, &row)?;
        }
    }
    Ok(loaded.rows)
}
