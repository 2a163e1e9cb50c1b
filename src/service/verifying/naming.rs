//! Compares the names of streams with their entries: a renamed chain would be evidence about somebody else.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::event::{StreamKey, stream_kind};
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::entry::LogEntry;
use crate::evidence::verify::Looked;
use crate::storage::{StorageError, Store, StreamName};

/// What the entries of a chain say about its name.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// The kind, from the type of the first entry, which is never erased.
    kind: Option<&'static str>,
    stream: Option<StreamKey>,
    /// Credentials that the reads were made with.
    key_ids: BTreeSet<String>,
    is_told: bool,
    contradicts: bool,
}

/// The principal on whose behalf each credential reads, if any.
pub(super) type Readers = BTreeMap<String, Option<String>>;

/// Loads the credentials of a tenant.
pub(super) async fn readers(store: &dyn Store, tenant_id: &TenantId) -> Result<Readers, StorageError> {
    let keys = store.keys(tenant_id).await?;
    let reader = |id: crate::domain::id::PrincipalId| id.as_str().to_owned();
    Ok(keys.into_iter().map(|key| (key.key_id.to_string(), key.principal_id.map(reader))).collect())
}

pub(super) async fn names(
    store: &dyn Store,
    tenant_id: &TenantId,
    ids: &[StreamId],
) -> Result<BTreeMap<StreamId, StreamName>, StorageError> {
    let names = store.names(tenant_id, ids).await?;
    Ok(names.into_iter().map(|name| (name.stream_id.clone(), name)).collect())
}

impl Naming {
    pub(super) fn take(&mut self, entry: &LogEntry, looked: &Looked) {
        let kind = stream_kind(&entry.header.kind);
        self.contradicts |= self.kind.is_some_and(|known| known != kind);
        self.kind = Some(kind);
        let Some(told) = &looked.told else { return };
        self.is_told = true;
        if let Some(stream) = &told.stream {
            self.contradicts |= self.stream.as_ref().is_some_and(|known| known != stream);
            self.stream = Some(stream.clone());
        }
        self.key_ids.extend(told.key_id.clone());
    }

    /// Whether a stream may have this name. A chain without any payload may have no name; if it kept its name, only the
    /// kind can be checked.
    pub(super) fn fits(&self, name: &StreamName, readers: &Readers) -> bool {
        if name.kind == "erased" {
            return !self.is_told && name.key == name.stream_id.as_str();
        }
        let reads = |key_id: &String| match readers.get(key_id) {
            Some(Some(principal)) => *principal == name.key,
            Some(None) => *key_id == name.key,
            None => true,
        };
        !self.contradicts
            && self.kind == Some(name.kind.as_str())
            && self.stream.as_ref().is_none_or(|stream| stream.key() == name.key)
            && (name.kind != "disposal" || name.key == StreamKey::Disposal.key())
            && self.key_ids.iter().all(reads)
    }
}
