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
        Row::ErasedMessage(key) => drop(world.erased_messages.insert(key)),
        Row::Principal(principal) => drop(world.principals.insert(principal.principal_id.clone(), principal)),
        Row::Frame(frame) => drop(world.frames.insert(frame.frame.context_frame_id.clone(), frame)),
    }
}

/// Hands over every row that events have changed.
pub(super) fn changed(mut world: World, mut take: impl FnMut(Row)) {
    let touched = std::mem::take(&mut world.touched);
    for id in touched.conversations {
        if let Some(conversation) = world.conversations.remove(&id) {
            take(Row::Conversation(id, conversation));
        }
    }
    touched.contexts.iter().filter_map(|id| world.contexts.remove(id)).map(Row::Context).for_each(&mut take);
    touched.items.iter().filter_map(|id| world.items.remove(id)).map(Row::Item).for_each(&mut take);
    touched.commands.iter().filter_map(|id| world.commands.remove(id)).map(Row::Command).for_each(&mut take);
    touched.messages.iter().filter_map(|key| world.messages.remove(key)).map(Row::Message).for_each(&mut take);
    touched.principals.iter().filter_map(|id| world.principals.remove(id)).map(Row::Principal).for_each(&mut take);
    touched.frames.iter().filter_map(|id| world.frames.remove(id)).map(Row::Frame).for_each(&mut take);
}

/// What loaded rows refer to.
#[derive(Default)]
pub(super) struct Referred {
    pub(super) principals: Vec<(TenantId, PrincipalId)>,
    pub(super) items: Vec<(TenantId, ItemId)>,
}

/// Approvers and items that only the bodies of loaded rows name, and that a decision may look at. Actors came along
/// with their contexts.
pub(super) fn referred(rows: &[(TenantId, Row)]) -> Referred {
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
            | Row::Frame(_) => {}
        }
    }
    principals.sort();
    principals.dedup();
    items.sort();
    items.dedup();
    Referred { principals, items }
}
