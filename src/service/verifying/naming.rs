//! What streams are called, against what their entries tell: a chain under another name answers for somebody else.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::event::{StreamKey, stream_kind};
use crate::domain::id::{StreamId, TenantId};
use crate::evidence::entry::LogEntry;
use crate::evidence::verify::Looked;
use crate::storage::{StorageError, Store, StreamName};

/// What the entries of a chain have told of whose it is.
#[derive(Debug, Default)]
pub(super) struct Naming {
    /// As the type of the first entry says. It stays when payloads go.
    kind: Option<&'static str>,
    stream: Option<StreamKey>,
    /// Credentials that were read with.
    key_ids: BTreeSet<String>,
    is_told: bool,
    contradicts: bool,
}

/// In whose name each credential reads; none of itself.
pub(super) type Readers = BTreeMap<String, Option<String>>;

/// Asks for the credentials of a tenant.
pub(super) async fn readers(store: &dyn Store, tenant_id: &TenantId) -> Result<Readers, StorageError> {
    let keys = store.keys(tenant_id).await?;
    let reader = |id: crate::domain::id::PrincipalId| id.as_str().to_owned();
    Ok(keys.into_iter().map(|key| (key.key_id.to_string(), key.principal_id.map(reader))).collect())
}

/// The names of streams.
pub(super) async fn names(
    store: &dyn Store,
    tenant_id: &TenantId,
    ids: &[StreamId],
) -> Result<BTreeMap<StreamId, StreamName>, StorageError> {
    let names = store.names(tenant_id, ids).await?;
    Ok(names.into_iter().map(|name| (name.stream_id.clone(), name)).collect())
}

impl Naming {
    /// Takes in what an entry tells.
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

    /// Whether a stream may be called so. A chain that has lost everything may have lost its name; one that has lost
    /// every payload and kept its name only tells of what kind it is.
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
