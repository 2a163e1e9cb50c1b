//! Between rows and the world: what a load puts in, what a decision changed, what a row refers to.

use super::Row;
use crate::domain::id::{ItemId, PrincipalId, TenantId};
use crate::domain::item::Question;
use crate::domain::world::World;

/// Puts a loaded row into the world.
pub(super) fn put(world: &mut World, row: Row) {
    match row {
        Row::Conversation(id, conversation) => drop(world.conversations.insert(id, conversation)),
        Row::Context(context) => drop(world.contexts.insert(context.context_id.clone(), context)),
        Row::Item(item) => drop(world.items.insert(item.item_id.clone(), item)),
        Row::Command(command) => drop(world.commands.insert(command.command_id.clone(), command)),
        Row::Message(message) => drop(world.messages.insert(message.message_key, message)),
        Row::Principal(principal) => drop(world.principals.insert(principal.principal_id.clone(), principal)),
        Row::Frame(frame) => drop(world.frames.insert(frame.frame.context_frame_id.clone(), frame)),
    }
}

/// Hands over every row that events have changed.
pub(super) fn changed(world: &World, mut take: impl FnMut(Row)) {
    let touched = &world.touched;
    for id in &touched.conversations {
        if let Some(conversation) = world.conversations.get(id) {
            take(Row::Conversation(id.clone(), conversation.clone()));
        }
    }
    touched.contexts.iter().filter_map(|id| world.contexts.get(id)).cloned().map(Row::Context).for_each(&mut take);
    touched.items.iter().filter_map(|id| world.items.get(id)).cloned().map(Row::Item).for_each(&mut take);
    touched.commands.iter().filter_map(|id| world.commands.get(id)).cloned().map(Row::Command).for_each(&mut take);
    touched.messages.iter().filter_map(|key| world.messages.get(key)).cloned().map(Row::Message).for_each(&mut take);
    let principals = touched.principals.iter().filter_map(|id| world.principals.get(id));
    principals.cloned().map(Row::Principal).for_each(&mut take);
    touched.frames.iter().filter_map(|id| world.frames.get(id)).cloned().map(Row::Frame).for_each(&mut take);
}

/// What loaded rows refer to.
#[derive(Default)]
pub(super) struct Referred {
    pub(super) principals: Vec<(TenantId, PrincipalId)>,
    pub(super) items: Vec<(TenantId, ItemId)>,
}

/// Principals and items that loaded rows refer to, and that a decision may look at.
pub(super) fn referred(rows: &[(TenantId, Row)]) -> Referred {
    let Referred { mut principals, mut items } = Referred::default();
    for (tenant_id, row) in rows {
        match row {
            Row::Context(context) => principals.push((tenant_id.clone(), context.actor_id.clone())),
            Row::Item(item) => {
                principals.push((tenant_id.clone(), item.actor_id.clone()));
                if let Question::Approval { approvals, .. } = &item.question {
                    principals.extend(approvals.iter().map(|given| (tenant_id.clone(), given.approver_id.clone())));
                }
            }
            Row::Message(message) => items.extend(message.verdict.item_id.clone().map(|id| (tenant_id.clone(), id))),
            Row::Conversation(..) | Row::Command(_) | Row::Principal(_) | Row::Frame(_) => {}
        }
    }
    principals.sort();
    principals.dedup();
    items.sort();
    items.dedup();
    Referred { principals, items }
}
