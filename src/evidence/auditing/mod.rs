//! Auditing a bundle: every hash is derived anew from the bytes that are there, every entry is proven against the signed
//! checkpoint, and whatever does not fit is named.
//!
//! Shares nothing with what writes evidence but SHA-256, Ed25519 and the reader of JSON. A program in another language does
//! the same (`clients/python/cscp_verify.py`), and a test holds the two against each other.

mod entry;
mod flaw;
mod line;
mod report;
mod shown;

use std::collections::BTreeMap;

pub use flaw::Flaw;
pub use report::{BundleReport, Found, Trust};

use self::entry::{Checked, Known, Refused};
use self::line::{Closing, Coverage, CoverageKind, FrameLine, Line, Opening, Summary};
use crate::domain::canonical::Digest;
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::note::{self, VerifierKey};
use crate::evidence::tree::verify_consistency;

/// The format that is known.
const FORMAT: &str = "cscp-evidence-bundle/v1";
/// So many faults say enough.
const MOST: usize = 100;

/// Where a chain has come to.
#[derive(Debug)]
struct Chain {
    seq: u64,
    /// None after an entry that does not hold: what it should have been is not known.
    hash: Option<Digest>,
    at: String,
}

/// What whoever audits knows beforehand.
#[derive(Debug, Clone, Default)]
pub struct Trusted {
    /// The log's keys. Without any, those that the bundle itself names are believed, and the report says so.
    pub keys: Vec<VerifierKey>,
    /// A signed checkpoint that was kept: the bundle's must not contradict it.
    pub kept: Option<String>,
}

/// A line that was looked at by itself; none if it cannot be read. Lines may be looked at in any order, also side by side.
#[derive(Debug)]
pub struct Looked(Option<Line<Result<Checked, Refused>>>);

impl Looked {
    fn at(bytes: &[u8], known: &Known) -> Self {
        Self(line::read(bytes).map(|line| line.map(|entry| entry::check(entry, known))))
    }
}

/// Looks at lines by themselves: most of the work, and none that depends on other entries.
#[derive(Debug, Clone)]
pub struct Looker(Known);

impl Looker {
    /// Looks at a line, without its line break.
    #[must_use]
    pub fn look(&self, bytes: &[u8]) -> Looked {
        Looked::at(bytes, &self.0)
    }
}

/// Takes in a bundle line by line.
#[derive(Debug)]
pub struct Auditor {
    trusted: Trusted,
    known: Known,
    origin: Option<String>,
    coverage: Option<Coverage>,
    keys: Vec<VerifierKey>,
    chains: BTreeMap<String, Chain>,
    frames: BTreeMap<String, String>,
    kept_is_shown: bool,
    line: u64,
    hasher: sha2::Sha256,
    summed_up: bool,
    ended: bool,
    report: BundleReport,
}

impl Auditor {
    /// Begins a bundle.
    #[must_use]
    pub fn new(trusted: Trusted) -> Self {
        let report = BundleReport {
            trust: if trusted.keys.is_empty() { Trust::Bundle } else { Trust::Given },
            ..BundleReport::default()
        };
        Self {
            trusted,
            known: Known::default(),
            origin: None,
            coverage: None,
            keys: Vec::new(),
            chains: BTreeMap::new(),
            frames: BTreeMap::new(),
            kept_is_shown: false,
            line: 0,
            hasher: sha2::Sha256::default(),
            summed_up: false,
            ended: false,
            report,
        }
    }

    /// Who looks at the lines from here on, on their own; none as long as it is not known what they are checked against.
    /// That stays as it is once it is known.
    #[must_use]
    pub fn looker(&self) -> Option<Looker> {
        self.known.checkpoint.is_some().then(|| Looker(self.known.clone()))
    }

    /// Takes in the next line, without its line break.
    pub fn line(&mut self, bytes: &[u8]) {
        self.take(bytes, Looked::at(bytes, &self.known));
    }

    /// Takes in the next line, which was looked at before.
    pub fn take(&mut self, bytes: &[u8], looked: Looked) {
        self.line += 1;
        let before = self.ended;
        let misplaced = self.is_out_of_place(&looked);
        match looked.0 {
            _ if misplaced => self.fault(if self.line == 1 { Flaw::NotABundle } else { Flaw::Line }),
            None | Some(Line::Schema(_)) => {}
            Some(Line::Bundle(opening)) => self.open(opening),
            Some(Line::Entry(checked)) => self.entry(*checked),
            Some(Line::Keys(keys)) => self.learn(&keys),
            Some(Line::Checkpoint(note)) => self.checkpoint(&note),
            Some(Line::Consistency(shown)) => self.consistency(&shown),
            Some(Line::Policy(pack)) => {
                self.report.policies += 1;
                self.fault_unless(entry::pack_holds(&pack), Flaw::Policy);
            }
            Some(Line::Frame(frame)) => self.frame(&frame),
            Some(Line::Summary(summary)) => self.summary(&summary),
            Some(Line::End(closing)) => self.end(&closing),
        }
        if !before && !self.ended {
            sha2::Digest::update(&mut self.hasher, bytes);
            sha2::Digest::update(&mut self.hasher, b"\n");
        }
    }

    /// A line that cannot be read belongs nowhere, the opening comes first and alone, what was counted comes before the
    /// summary, and nothing after the end.
    fn is_out_of_place(&self, looked: &Looked) -> bool {
        let Some(line) = &looked.0 else { return true };
        let counted = matches!(line, Line::Entry(_) | Line::Frame(_) | Line::Summary(_));
        let opens = matches!(line, Line::Bundle(_));
        self.ended || opens != (self.line == 1) || self.summed_up && counted
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> BundleReport {
        self.line += 1;
        if self.line == 1 {
            self.fault(Flaw::NotABundle);
        }
        if !self.ended {
            self.fault(Flaw::Truncated);
        }
        if self.trusted.kept.is_some() && self.known.checkpoint.is_some() && !self.kept_is_shown {
            self.fault(Flaw::Consistency);
        }
        self.report.streams = u64::try_from(self.chains.len()).unwrap_or(u64::MAX);
        self.report
    }

    fn fault(&mut self, flaw: Flaw) {
        self.fault_at(flaw, None);
    }

    fn fault_unless(&mut self, holds: bool, flaw: Flaw) {
        if !holds {
            self.fault(flaw);
        }
    }

    fn fault_at(&mut self, flaw: Flaw, header: Option<line::Header>) {
        self.report.count += 1;
        if self.report.found.len() < MOST {
            let (artifact_id, stream_id, seq) =
                header.map_or((None, None, None), |h| (Some(h.artifact_id), Some(h.stream_id), Some(h.seq)));
            self.report.found.push(Found { line: self.line, flaw, artifact_id, stream_id, seq });
        }
    }

    fn open(&mut self, opening: Opening) {
        if opening.format != FORMAT {
            return self.fault(Flaw::NotABundle);
        }
        self.known.tenant_id.clone_from(&opening.tenant_id);
        self.report.origin.clone_from(&opening.origin);
        self.report.tenant_id = opening.tenant_id;
        self.origin = Some(opening.origin);
        self.coverage = Some(opening.coverage);
    }

    fn learn(&mut self, keys: &[String]) {
        let read = |vkey: &String| VerifierKey::parse(vkey).ok().filter(|key| self.is_of_this_log(key));
        let Some(keys) = keys.iter().map(read).collect::<Option<Vec<_>>>() else { return self.fault(Flaw::Key) };
        self.keys = keys;
    }

    fn is_of_this_log(&self, key: &VerifierKey) -> bool {
        self.origin.as_deref() == Some(key.name())
    }

    /// The keys that are believed.
    fn believed(&self) -> &[VerifierKey] {
        if self.trusted.keys.is_empty() { &self.keys } else { &self.trusted.keys }
    }

    fn opened(&self, note: &str) -> Option<Checkpoint> {
        let checkpoint = Checkpoint::open(note, self.believed()).ok()?;
        (Some(checkpoint.origin()) == self.origin.as_deref()).then_some(checkpoint)
    }

    fn checkpoint(&mut self, note: &str) {
        let opened = self.opened(note).filter(|_| self.known.checkpoint.is_none());
        let Some(checkpoint) = opened else { return self.fault(Flaw::Checkpoint) };
        self.report.size = checkpoint.size();
        if let Some(kept) = self.trusted.kept.clone() {
            self.compare(&kept, &checkpoint);
        }
        self.known.checkpoint = Some(checkpoint);
    }

    /// Compares the checkpoint with the one that was kept. If that one is older, a proof has to follow.
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

    fn consistency(&mut self, shown: &line::Consistency) {
        let kept = self.trusted.kept.as_ref().and_then(|kept| self.opened(kept));
        let (Some(kept), Some(checkpoint)) = (kept, &self.known.checkpoint) else { return };
        let proof: Option<Vec<Digest>> = shown.proof.iter().map(|hash| entry::digest(hash)).collect();
        let follows = proof.filter(|_| shown.from == kept.size()).is_some_and(|proof| {
            let (old, new) = (kept.root(), checkpoint.root());
            verify_consistency(kept.size(), &old, checkpoint.size(), &new, &proof).is_ok()
        });
        self.kept_is_shown = true;
        self.fault_unless(follows, Flaw::Consistency);
    }

    fn entry(&mut self, checked: Result<Checked, Refused>) {
        self.report.entries += 1;
        match checked {
            Err((flaw, header)) => {
                if let Some(header) = &header {
                    self.pass_over(header);
                }
                self.fault_at(flaw, header.map(|header| *header));
            }
            Ok(checked) => {
                if let Some(flaw) = self.chained(&checked) {
                    self.fault_at(flaw, Some(checked.header.clone()));
                }
                self.count(checked);
            }
        }
    }

    /// What does not fit between an entry and the one before it in its chain, as far as that is here.
    fn chained(&self, entry: &Checked) -> Option<Flaw> {
        let header = &entry.header;
        let beginning = Chain { seq: 0, hash: Some(Digest::ZERO), at: String::new() };
        let last = self.chains.get(&header.stream_id).unwrap_or(&beginning);
        if header.seq <= last.seq {
            return Some(Flaw::Sequence);
        }
        if header.seq == last.seq + 1 && last.hash.is_some_and(|hash| entry.facts.prev_hash != hash) {
            return Some(Flaw::Link);
        }
        if header.seq > last.seq + 1 && self.promises(&header.stream_id) {
            return Some(Flaw::Gap);
        }
        (entry.at < last.at).then_some(Flaw::Time)
    }

    /// An entry that does not hold is there all the same: what follows it in its chain is not to blame.
    fn pass_over(&mut self, header: &line::Header) {
        let last = self.chains.get(&header.stream_id);
        if header.seq == last.map_or(0, |chain| chain.seq) + 1 {
            let at = last.map_or_else(String::new, |chain| chain.at.clone());
            self.chains.insert(header.stream_id.clone(), Chain { seq: header.seq, hash: None, at });
        }
    }

    fn promises(&self, stream_id: &str) -> bool {
        self.coverage.as_ref().is_some_and(|coverage| match coverage.kind {
            CoverageKind::Whole => true,
            CoverageKind::Streams => coverage.stream_ids.iter().any(|id| id == stream_id),
            CoverageKind::Selection => false,
        })
    }

    fn count(&mut self, entry: Checked) {
        let Checked { header, at, facts } = entry;
        self.report.proven += u64::from(facts.proven);
        self.report.shown += u64::from(facts.shown_only);
        self.report.erased += u64::from(facts.erased);
        if let Some((frame, hash)) = facts.frame {
            self.frames.insert(frame, hash);
        }
        let chain = Chain { seq: header.seq, hash: Some(facts.entry_hash), at };
        let last = self.chains.get(&header.stream_id).map_or(0, |chain| chain.seq);
        if chain.seq > last {
            self.chains.insert(header.stream_id, chain);
        }
    }

    fn frame(&mut self, frame: &FrameLine) {
        self.report.frames += 1;
        let named = self.frames.get(&frame.context_frame_id);
        match entry::frame_holds(frame) {
            Ok(_) if named.is_some_and(|hash| *hash != frame.context_hash) => self.fault(Flaw::Frame),
            Ok(holds) => self.report.frames_proven += u64::from(holds && named.is_some()),
            Err(flaw) => self.fault(flaw),
        }
    }

    fn summary(&mut self, summary: &Summary) {
        self.summed_up = true;
        self.report.waiting = summary.waiting;
        let whole = self.coverage.as_ref().is_none_or(|coverage| coverage.kind != CoverageKind::Whole)
            || self.report.entries == self.report.size;
        let counted = summary.entries == self.report.entries && summary.frames == self.report.frames;
        self.fault_unless(counted && whole, Flaw::Count);
    }

    fn end(&mut self, closing: &Closing) {
        self.ended = true;
        self.fault_unless(self.summed_up, Flaw::Count);
        let hasher = std::mem::take(&mut self.hasher);
        let digest = Digest::from_bytes(sha2::Digest::finalize(hasher).into()).prefixed();
        self.fault_unless(closing.sha256 == digest, Flaw::Digest);
        let origin = self.origin.as_deref().unwrap_or_default();
        let text = format!("{FORMAT}\n{origin}\n{} lines\n{}\n", self.line - 1, closing.sha256);
        let signed = note::open(&closing.note, self.believed()).is_ok_and(|signed| signed == text);
        self.fault_unless(signed, Flaw::Signature);
    }
}

#[cfg(test)]
#[path = "auditing_tests.rs"]
mod tests;
