//! Conversion between rows and the world: loaded rows, changed rows, and references between rows.

use std::collections::BTreeMap;

use super::{Kin, Row, Want, Writes};
use crate::domain::id::{ItemId, PrincipalId, TenantId};
use crate::domain::item::Question;
use crate::domain::world::World;

/// Adds a loaded row to the world.
pub(crate) fn put(world: &mut World, row: Row) {
    match row {
        Row::Conversation(id, conversation) => drop(world.conversations.insert(id, conversation)),
        Row::Context(context) => drop(world.contexts.insert(context.context_id.clone(), context)),
        Row::Item(item) => drop(world.items.insert(item.item_id.clone(), item)),
        Row::Command(command) => drop(world.commands.insert(command.command_id.clone(), command)),
        Row::Message(message) => drop(world.messages.insert(message.message_key, message)),
        Row::ErasedMessage(key) => drop(world.erased_messages.insert(key)),
        Row::Principal(principal) => drop(world.principals.insert(principal.principal_id.clone(), principal)),
        Row::Frame(frame) => drop(world.frames.insert(frame.frame.context_frame_id.clone(), frame)),
        Row::Attempt(attempt_id, command_id) => drop(world.attempts.insert(attempt_id, command_id)),
        // Items contain their prompts.
        Row::Prompt(..) => {}
    }
}

/// Starts the search for principals who may be one person, where a decision about an approval needs it: those who
/// approved, those who are about to, and the one who was asked. By tenant; empty if no approval was loaded.
pub(crate) fn kin(wants: &[Want], rows: &[(TenantId, Row)]) -> BTreeMap<TenantId, Kin> {
    let mut kin: BTreeMap<TenantId, Kin> = BTreeMap::new();
    for (tenant_id, row) in rows {
        let Row::Item(item) = row else { continue };
        let Question::Approval { approvals, .. } = &item.question else { continue };
        let search = kin.entry(tenant_id.clone()).or_default();
        search.begin(&item.actor_id);
        for given in approvals {
            search.begin(&given.approver_id);
        }
    }
    for want in wants {
        if let Some(search) = kin.get_mut(&want.tenant_id) {
            want.needs.principals.iter().for_each(|id| search.begin(id));
        }
    }
    kin
}

/// Collects every row that events created or changed. New rows are sorted by name, so that two batches which create the
/// same rows reach them in the same order and cannot deadlock.
pub(crate) fn changed(tenant_id: &TenantId, mut world: World, writes: &mut Writes) {
    let touched = std::mem::take(&mut world.touched);
    let (new_rows, rows) = (&mut writes.new_rows, &mut writes.rows);
    let mut make = |row| new_rows.push((tenant_id.clone(), row));
    let mut change = |row| rows.push((tenant_id.clone(), row));
    for id in touched.conversations {
        if let Some(conversation) = world.conversations.remove(&id) {
            change(Row::Conversation(id, conversation));
        }
    }
    touched.contexts.iter().filter_map(|id| world.contexts.remove(id)).map(Row::Context).for_each(&mut change);
    for item in touched.items.iter().filter_map(|id| world.items.remove(id)) {
        if touched.new_items.contains(&item.item_id) { make(Row::Item(item)) } else { change(Row::Item(item)) }
    }
    for command in touched.commands.iter().filter_map(|id| world.commands.remove(id)) {
        let is_new = touched.new_commands.contains(&command.command_id);
        if is_new { make(Row::Command(command)) } else { change(Row::Command(command)) }
    }
    for id in touched.attempts {
        if let Some(command_id) = world.attempts.remove(&id) {
            make(Row::Attempt(id, command_id));
        }
    }
    touched.prompts.into_iter().map(|(id, item_id)| Row::Prompt(id, item_id)).for_each(&mut make);
    touched.messages.iter().filter_map(|key| world.messages.remove(key)).map(Row::Message).for_each(&mut make);
    touched.frames.iter().filter_map(|id| world.frames.remove(id)).map(Row::Frame).for_each(&mut make);
    touched.principals.iter().filter_map(|id| world.principals.remove(id)).map(Row::Principal).for_each(&mut change);
}

/// The rows that map names to this one: the prompts of an item, the attempts of a command.
pub(crate) fn leading_to(row: &Row) -> Vec<Row> {
    match row {
        Row::Item(item) => {
            let prompts = item.prompts.iter().filter_map(|prompt| prompt.message_id.clone());
            prompts.map(|message_id| Row::Prompt(message_id, item.item_id.clone())).collect()
        }
        Row::Command(command) => vec![Row::Attempt(command.attempt_id.clone(), command.command_id.clone())],
        _ => Vec::new(),
    }
}

/// Ids that loaded rows refer to.
#[derive(Default)]
pub(crate) struct Referred {
    pub(crate) principals: Vec<(TenantId, PrincipalId)>,
    pub(crate) items: Vec<(TenantId, ItemId)>,
}

/// Approvers and items that are named only in the bodies of loaded rows, and that a decision may need. Actors are
/// loaded with their contexts.
pub(crate) fn referred(rows: &[(TenantId, Row)]) -> Referred {
    let Referred { mut principals, mut items } = Referred::default();
    for (tenant_id, row) in rows {
        match row {
            Row::Item(item) => {
                if let Question::Approval { approvals, .. } = &item.question {
                    principals.extend(approvals.iter().map(|given| (tenant_id.clone(), given.approver_id.clone())));
                }
            }
            Row::Message(message) => items.extend(message.verdict.item_id.clone().map(|id| (tenant_id.clone(), id))),
            Row::Conversation(..)
            | Row::ErasedMessage(_)
            | Row::Context(_)
            | Row::Command(_)
            | Row::Principal(_)
            | Row::Frame(_)
            | Row::Attempt(..)
            | Row::Prompt(..) => {}
        }
    }
    principals.sort();
    principals.dedup();
    items.sort();
    items.dedup();
    Referred { principals, items }
}
