//! Reading back: everything that was acknowledged is asked for again.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::acts::copy;
use super::bodies::{read_command, read_context, read_item};
use super::record::{Call, History, Op};

/// A request for each thing that was acknowledged: every command, question and context is read, and every message is
/// delivered once more.
pub(crate) fn read_back(history: &History) -> Vec<Rc<Call>> {
    let mut calls: BTreeMap<String, Call> = BTreeMap::new();
    let mut add = |key: String, call: &dyn Fn() -> Call| {
        calls.entry(key).or_insert_with(|| Call { reads_back: true, ..call() });
    };
    for record in &history.records {
        let Some(seen) = record.done() else { continue };
        match &record.call.op {
            Op::Say(said) => add(format!("say {}", said.message_id), &|| copy(&record.call)),
            Op::Bind { spec, .. } => add(format!("command {}", spec.command_id), &|| read_command(&spec.command_id)),
            Op::TakeOver { command, .. } | Op::Report { command, .. } => {
                add(format!("command {command}"), &|| read_command(command));
            }
            Op::Ask { .. } if !seen.item.id().is_empty() => {
                add(format!("item {}", seen.item.id()), &|| read_item(seen.item.id()));
            }
            _ => {}
        }
        if let Some(item) = seen.verdict.as_ref().and_then(|verdict| verdict.item()) {
            add(format!("item {}", item.id()), &|| read_item(item.id()));
        }
        if let Some(context) = &seen.context {
            add(format!("context {}", context.context_id), &|| read_context(&context.context_id));
        }
    }
    calls.into_values().map(Rc::new).collect()
}
