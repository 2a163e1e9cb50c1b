//! The promises about time and about what is frozen.

use cscp::domain::item::ItemState;
use cscp::domain::operation::Operation;

use crate::invariants::Step;

/// S3: nothing is answered at or after its deadline, nothing spent at or after `bind_by`, nothing bound in a
/// context whose time is over.
pub(crate) fn invariant_s3_nothing_after_the_deadline(step: &Step<'_>) {
    for item in step.answered() {
        let context = &step.before.contexts[&item.context_id];
        match &item.state {
            ItemState::Open => {
                assert!(step.now < item.expires_at, "answered after its own deadline");
                assert!(step.now < context.expires_at, "answered after its context's deadline");
            }
            ItemState::Granted { bind_by, .. } => assert!(step.now < *bind_by, "revoked after its time"),
            other => panic!("answered although {other:?}"),
        }
    }
    for item in step.spent() {
        let ItemState::Granted { bind_by, .. } = &item.state else { panic!("spent without a grant") };
        assert!(step.now < *bind_by, "spent after its time");
    }
    let bound = step.after.commands.values().filter(|command| !step.before.commands.contains_key(&command.command_id));
    for command in bound {
        let context = &step.before.contexts[&command.context_id];
        assert!(step.now < context.expires_at, "bound in a context whose time is over");
        assert!(context.state.status().is_open());
    }
}

pub(crate) fn invariant_absolute_deadline(step: &Step<'_>) {
    for context in step.after.contexts.values() {
        if let Some(last) = context.absolute_expires_at {
            assert!(context.expires_at <= last, "a context outlives its absolute deadline");
        }
    }
    for item in step.after.items.values() {
        let context = &step.after.contexts[&item.context_id];
        assert_eq!(step.after.effective_deadline(item), item.expires_at.min(context.expires_at));
        if let ItemState::Granted { bind_by, at, .. } = &item.state {
            assert!(bind_by > at, "granted without time to bind");
        }
    }
}

/// Deadlines of items never move. Those of contexts move for activity, a block or an unblock only, and by no more
/// than what was issued at creation or the blocked timeout.
pub(crate) fn invariant_no_deadline_lengthened(step: &Step<'_>) {
    for (id, earlier) in &step.before.items {
        let item = &step.after.items[id];
        assert_eq!(item.expires_at, earlier.expires_at, "an item's deadline moved");
        let by = |state: &ItemState| match state {
            ItemState::Granted { bind_by, .. } => Some(*bind_by),
            _ => None,
        };
        if let (Some(was), Some(is)) = (by(&earlier.state), by(&item.state)) {
            assert_eq!(was, is, "bind_by moved");
        }
    }
    for (id, earlier) in &step.before.contexts {
        let context = &step.after.contexts[id];
        assert_eq!(context.absolute_expires_at, earlier.absolute_expires_at);
        assert_eq!(context.ttl_seconds, earlier.ttl_seconds);
        if context.expires_at > earlier.expires_at {
            let most = match step.operation {
                Operation::Ingest(_) => context.ttl_seconds,
                Operation::Transition(_) | Operation::RecordResult(_) => {
                    context.ttl_seconds.max(step.rules.policy.pack().context.blocked_timeout_seconds)
                }
                other => panic!("{other:?} lengthened a context"),
            };
            assert!(context.expires_at <= step.now.plus_seconds(most), "lengthened beyond what was issued");
            assert!(step.now < earlier.expires_at, "an expired context came back");
        }
    }
}

/// Frames never change, and their hash can be recomputed.
pub(crate) fn invariant_frames_immutable(step: &Step<'_>) {
    for (id, stored) in &step.before.frames {
        assert!(step.after.frames[id] == *stored, "a frame changed");
    }
    for (id, stored) in &step.after.frames {
        if !step.before.frames.contains_key(id) {
            assert_eq!(stored.frame.context_hash(&stored.salt), stored.context_hash, "the hash does not recompute");
            let command = &step.after.commands[&stored.frame.command_id];
            assert_eq!((&command.context_frame_id, &command.context_hash), (id, &stored.context_hash));
        }
    }
}
