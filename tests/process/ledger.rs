//! What a server acknowledged, and whether it is still true (S4, S6, S16).

use std::collections::BTreeMap;

use crate::caller::{Answer, Caller, Sent, binding};

/// A command that was bound: the request that was acknowledged.
#[derive(Debug)]
struct Bound {
    sent: Sent,
    context_id: String,
    frame: String,
}

/// Everything that was acknowledged in one conversation.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    turns: Vec<(Sent, (String, String))>,
    bound: BTreeMap<String, Bound>,
    /// Commands in the order of their binding.
    order: Vec<String>,
    /// How much of the above has been looked at again.
    checked: (usize, usize),
}

impl Ledger {
    pub(crate) fn turns(&self) -> usize {
        self.turns.len()
    }

    pub(crate) fn bindings(&self) -> usize {
        self.order.len()
    }

    /// A message was answered.
    pub(crate) fn turn(&mut self, sent: Sent, answer: &Answer) {
        self.turns.push((sent, answer.verdict()));
    }

    /// A try to bind was answered: it won, or another one had won.
    pub(crate) fn attempt(&mut self, sent: Sent, answer: &Answer) {
        if !answer.is_done() {
            assert_eq!((answer.status, answer.text("/code")), (409, "already_bound"), "{sent:?}: {answer:?}");
            return;
        }
        assert_eq!(answer.text("/attempt_id"), sent.member("attempt_id"), "{answer:?}");
        let command = sent.member("command_id").to_owned();
        let before = self.bound.get(&command).map(|bound| bound.sent.member("attempt_id"));
        assert!(before.is_none(), "{command} was bound by {before:?} and by {sent:?}");
        let text = |pointer: &str| answer.text(pointer).to_owned();
        let bound =
            Bound { sent, context_id: text("/context_ref/context_id"), frame: text("/context_ref/context_frame_id") };
        self.bound.insert(command.clone(), bound);
        self.order.push(command);
    }

    /// All tries were answered: exactly one has won.
    pub(crate) fn expect_one_winner(&self, command: &str) {
        assert!(self.bound.contains_key(command), "{command}: both workers were told that the other one had it");
    }

    /// Looks again at what was acknowledged since the last time.
    pub(crate) async fn check_news(&mut self, caller: &Caller) {
        let (turns, bindings) = self.checked;
        self.check(caller, turns, bindings).await;
    }

    /// Looks again at everything.
    pub(crate) async fn check_all(&mut self, caller: &Caller) {
        self.check(caller, 0, 0).await;
    }

    async fn check(&mut self, caller: &Caller, turns: usize, bindings: usize) {
        for (sent, verdict) in &self.turns[turns..] {
            let again = caller.send(sent).await.done();
            assert_eq!(again.body["duplicate"], true, "acknowledged and lost: {sent:?}: {again:?}");
            assert_eq!(again.verdict(), *verdict, "{sent:?}");
        }
        for command in &self.order[bindings..] {
            check_binding(caller, command, &self.bound[command]).await;
        }
        self.checked = (self.turns.len(), self.order.len());
    }
}

async fn check_binding(caller: &Caller, command: &str, bound: &Bound) {
    let attempt = bound.sent.member("attempt_id");
    let read = caller.send(&Sent::get(&format!("/v1/commands/{command}"))).await;
    assert_eq!(read.text("/attempt_id"), attempt, "acknowledged and lost: {command}: {read:?}");
    assert_eq!(read.text("/context_ref/context_frame_id"), bound.frame, "{command}");
    let again = caller.send(&bound.sent).await;
    assert_eq!((again.status, again.text("/attempt_id")), (200, attempt), "{command}: {again:?}");
    let late = caller.send(&binding(&bound.context_id, command, "worker-3")).await;
    assert_eq!((late.status, late.text("/code")), (409, "already_bound"), "{command}: {late:?}");
}
