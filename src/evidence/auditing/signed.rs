//! Who signed a bundle: its keys, its checkpoint, and whether that extends a checkpoint kept earlier.

use super::entry::{self, Anchor};
use super::{Auditor, Flaw, line};
use crate::domain::canonical::Digest;
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::note::VerifierKey;
use crate::evidence::tree::verify_consistency;

impl Auditor {
    pub(super) fn learn(&mut self, keys: &[String]) {
        let read = |vkey: &String| VerifierKey::parse(vkey).ok().filter(|key| self.is_of_this_log(key));
        let read = keys.iter().map(read).collect::<Option<Vec<_>>>();
        self.fault_unless(read.is_some(), Flaw::Key);
        self.keys = Some(read.unwrap_or_default());
    }

    fn is_of_this_log(&self, key: &VerifierKey) -> bool {
        self.origin.as_deref() == Some(key.name())
    }

    /// The keys that are trusted. A key with another log's name is not trusted here: its owner may sign for many logs,
    /// and the auditor trusted it for that one only.
    pub(super) fn believed(&self) -> Vec<VerifierKey> {
        let named = self.keys.as_deref().unwrap_or_default();
        let keys = if self.trusted.keys.is_empty() { named } else { &self.trusted.keys };
        keys.iter().filter(|key| self.is_of_this_log(key)).cloned().collect()
    }

    fn opened(&self, note: &str) -> Option<Checkpoint> {
        let checkpoint = Checkpoint::open(note, &self.believed()).ok()?;
        (Some(checkpoint.origin()) == self.origin.as_deref()).then_some(checkpoint)
    }

    /// The first checkpoint is the one that everything later is proven against. A second one is always a fault.
    pub(super) fn checkpoint(&mut self, note: &str) {
        if !matches!(self.known.anchor, Anchor::Missing) {
            return self.fault(Flaw::Checkpoint);
        }
        let Some(checkpoint) = self.opened(note) else {
            self.known.anchor = Anchor::Refused;
            return self.fault(Flaw::Checkpoint);
        };
        self.report.size = checkpoint.size();
        if let Some(kept) = self.trusted.kept.clone() {
            self.compare(&kept, &checkpoint);
        }
        let missing = self.trusted.witnesses.iter().filter(|witness| witness.cosigned(note).is_err()).count();
        (0..missing).for_each(|_| self.fault(Flaw::Cosignature));
        self.known.anchor = Anchor::Held(checkpoint);
    }

    /// Compares the checkpoint with the one kept earlier. If the kept one is older, a consistency proof must follow.
    fn compare(&mut self, kept: &str, checkpoint: &Checkpoint) {
        let Some(kept) = self.opened(kept) else { return };
        if kept.size() < checkpoint.size() {
            return;
        }
        self.kept_is_shown = true;
        if kept.size() > checkpoint.size() {
            self.fault(Flaw::RolledBack);
        } else if kept.root() != checkpoint.root() {
            self.fault(Flaw::Forked);
        }
    }

    pub(super) fn consistency(&mut self, shown: &line::Consistency) {
        let kept = self.trusted.kept.as_ref().and_then(|kept| self.opened(kept));
        let (Some(kept), Anchor::Held(checkpoint)) = (kept, &self.known.anchor) else { return };
        let proof: Option<Vec<Digest>> = shown.proof.iter().map(|hash| entry::digest(hash)).collect();
        let follows = proof.filter(|_| shown.from == kept.size()).is_some_and(|proof| {
            let (old, new) = (kept.root(), checkpoint.root());
            verify_consistency(kept.size(), &old, checkpoint.size(), &new, &proof).is_ok()
        });
        self.kept_is_shown = true;
        self.fault_unless(follows, Flaw::Consistency);
    }
}
