//! Records of others that mention the person are kept, with a pseudonym instead of the name.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::super::ServiceError;
use super::batch::{Batch, Scrub};
use crate::domain::id::{SpaceId, TenantId};
use crate::domain::subject::Identifiers;
use crate::storage::{Counts, Disposing, Row, SpaceRow, SpaceWant};

/// Members that are digests of a record's text: they are removed, because short texts can be guessed from them.
const DIGESTS: [&str; 1] = ["echo"];

/// The numbers of rows to scrub, by kind.
pub(super) fn kinds(scrubs: &BTreeSet<Scrub>) -> Counts {
    let mut counts = Counts::new();
    for scrub in scrubs {
        let kind = match scrub {
            Scrub::Context(_) => "contexts",
            Scrub::Item(_) => "items",
            Scrub::Command(_) => "commands",
            Scrub::Message(_) => "messages",
            Scrub::Principal(_) => "principals",
            Scrub::Space(..) => "space_records",
        };
        *counts.entry(kind).or_default() += 1;
    }
    counts
}

/// Deletes the rows of a batch and writes them again without the name; returns how many. A row that makes no sense
/// without the name is not written again.
pub(super) async fn scrub(
    disposing: &mut Disposing,
    tenant_id: &TenantId,
    batch: &mut Batch,
    identifiers: &Identifiers,
    pseudonym: &str,
) -> Result<u64, ServiceError> {
    let named: Vec<(Scrub, Row)> = disposing
        .rows()
        .iter()
        .filter_map(|row| Some((scrub_of(row).filter(|scrub| batch.scrubs.contains(scrub))?, row.clone())))
        .collect();
    let mut done = BTreeSet::new();
    for (scrub, row) in named {
        if !done.insert(scrub.clone()) {
            continue;
        }
        let disposal = &mut batch.disposal;
        match scrub {
            Scrub::Context(id) => disposal.contexts.push(id),
            Scrub::Item(id) => disposal.items.push(id),
            Scrub::Command(id) => disposal.commands.push(id),
            Scrub::Message(key) => disposal.messages.push(key),
            Scrub::Principal(id) => disposal.principals.push(id),
            Scrub::Space(..) => {}
        }
        if let Some(row) = without(row, identifiers, pseudonym) {
            disposing.rewrite(row);
        }
    }
    for row in space_rows(disposing, tenant_id, &batch.scrubs).await? {
        let (space_id, row) = row;
        let scrub = Scrub::Space(space_id.clone(), row.kind(), row.id().to_owned());
        if !batch.scrubs.contains(&scrub) || !done.insert(scrub) {
            continue;
        }
        batch.disposal.space_records.push((space_id.clone(), row.kind(), row.id().to_owned()));
        let body: Option<Value> = serde_json::from_str(&row.body()).ok();
        let body = body.map(|body| blanked(identifiers.scrubbed(body, pseudonym)));
        let written = body.and_then(|body| SpaceRow::read(row.kind(), &body.to_string()).ok());
        disposing.writes().space_rows.extend(written.map(|row| (tenant_id.clone(), space_id, row)));
    }
    Ok(u64::try_from(done.len()).unwrap_or(u64::MAX))
}

/// All rows of the spaces that are scrubbed.
async fn space_rows(
    disposing: &mut Disposing,
    tenant_id: &TenantId,
    scrubs: &BTreeSet<Scrub>,
) -> Result<Vec<(SpaceId, SpaceRow)>, ServiceError> {
    let spaces: BTreeSet<&SpaceId> = scrubs
        .iter()
        .filter_map(|scrub| match scrub {
            Scrub::Space(space_id, ..) => Some(space_id),
            _ => None,
        })
        .collect();
    let want = |space_id: &&SpaceId| SpaceWant {
        tenant_id: tenant_id.clone(),
        space_id: (*space_id).clone(),
        live: false,
        whole: true,
        named: Vec::new(),
    };
    let wants: Vec<SpaceWant> = spaces.iter().map(want).collect();
    if wants.is_empty() {
        return Ok(Vec::new());
    }
    let rows = disposing.transaction().load_spaces(&wants).await?;
    Ok(rows.into_iter().map(|(_, space_id, row)| (space_id, row)).collect())
}

fn scrub_of(row: &Row) -> Option<Scrub> {
    Some(match row {
        Row::Context(context) => Scrub::Context(context.context_id.clone()),
        Row::Item(item) => Scrub::Item(item.item_id.clone()),
        Row::Command(command) => Scrub::Command(command.command_id.clone()),
        Row::Message(message) => Scrub::Message(message.message_key),
        Row::Principal(principal) => Scrub::Principal(principal.principal_id.clone()),
        Row::Conversation(..) | Row::ErasedMessage(_) | Row::Frame(_) | Row::Attempt(..) | Row::Prompt(..) => {
            return None;
        }
    })
}

fn without(row: Row, identifiers: &Identifiers, pseudonym: &str) -> Option<Row> {
    match row {
        Row::Context(context) => written(&context, identifiers, pseudonym).map(Row::Context),
        Row::Item(item) => written(&item, identifiers, pseudonym).map(Row::Item),
        Row::Command(command) => written(&command, identifiers, pseudonym).map(Row::Command),
        Row::Message(message) => written(&message, identifiers, pseudonym).map(Row::Message),
        Row::Principal(principal) => written(&principal, identifiers, pseudonym).map(Row::Principal),
        Row::Conversation(..) | Row::ErasedMessage(_) | Row::Frame(_) | Row::Attempt(..) | Row::Prompt(..) => None,
    }
}

fn written<T: Serialize + DeserializeOwned>(record: &T, identifiers: &Identifiers, pseudonym: &str) -> Option<T> {
    let value = serde_json::to_value(record).ok()?;
    serde_json::from_value(blanked(identifiers.scrubbed(value, pseudonym))).ok()
}

fn blanked(mut record: Value) -> Value {
    if let Some(members) = record.as_object_mut() {
        members.retain(|name, _| !DIGESTS.contains(&name.as_str()));
    }
    record
}
