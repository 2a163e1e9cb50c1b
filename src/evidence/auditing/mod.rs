//! Auditing a bundle: every hash is computed again from the bytes, every entry is proven against the signed checkpoint,
//! and every mismatch is reported.
//!
//! Only SHA-256, Ed25519 and the JSON reader are shared with the code that writes evidence. A program in another
//! language does the same (`clients/python/cscp_verify.py`), and a test compares the two.

mod asked;
mod entry;
mod flaw;
mod line;
mod report;
mod scope;
mod shown;
mod signed;

use std::collections::{BTreeMap, BTreeSet};

pub use asked::{Asked, AskedError};
pub use flaw::Flaw;
pub use report::{BundleReport, Completeness, Found, Trust};

use self::entry::{Anchor, Checked, Known, Refused};
use self::line::{Closing, FrameLine, Line, Opening, Summary};
use self::scope::Scope;
use crate::domain::canonical::Digest;
use crate::evidence::cosignature::WitnessKey;
use crate::evidence::note::{self, VerifierKey};

/// The report keeps only this many faults.
const MOST: usize = 100;

/// The last entry of a chain so far.
#[derive(Debug)]
struct Chain {
    seq: u64,
    /// None after an invalid entry: the right hash is unknown.
    hash: Option<Digest>,
    at: String,
}

/// What the auditor knows before reading the bundle.
#[derive(Debug, Clone, Default)]
pub struct Trusted {
    /// The log's keys. Without any, the keys in the bundle itself are trusted, and the report says so.
    pub keys: Vec<VerifierKey>,
    /// A signed checkpoint kept earlier: the bundle's must not contradict it.
    pub kept: Option<String>,
    /// Witnesses: each of them must have cosigned the bundle's checkpoint.
    pub witnesses: Vec<WitnessKey>,
    /// What was asked for: a bundle that answers something else is rejected. Without it, the bundle's own statement of
    /// what was asked is accepted.
    pub asked: Option<Asked>,
}

/// The result of checking a line by itself; none if it cannot be read. Lines may be checked in any order and in
/// parallel.
#[derive(Debug)]
pub struct Looked(Option<Line<Result<Checked, Refused>>>);

impl Looked {
    fn at(bytes: &[u8], known: &Known) -> Self {
        Self(line::read(bytes).map(|line| line.map(|entry| entry::check(entry, known))))
    }
}

/// Checks lines by themselves: this is most of the work, and none of it depends on other entries.
#[derive(Debug, Clone)]
pub struct Looker(Known);

impl Looker {
    /// Checks a line, without its line break.
    #[must_use]
    pub fn look(&self, bytes: &[u8]) -> Looked {
        Looked::at(bytes, &self.0)
    }
}

/// Audits a bundle line by line.
#[derive(Debug)]
pub struct Auditor {
    trusted: Trusted,
    known: Known,
    origin: Option<String>,
    /// The keys that the bundle names; none before the keys line.
    keys: Option<Vec<VerifierKey>>,
    chains: BTreeMap<String, Chain>,
    /// The hashes of frames that proven entries name.
    frames: BTreeMap<String, String>,
    /// The hashes of frames that came before an entry that names them.
    early_frames: BTreeMap<String, String>,
    /// The hashes of the policy packs that came, and of those that entries name.
    packs: BTreeSet<String>,
    named_packs: BTreeSet<String>,
    /// The leaf that comes next where the whole tree is promised.
    next_leaf: u64,
    kept_is_shown: bool,
    line: u64,
    hasher: sha2::Sha256,
    summed_up: bool,
    ended: bool,
    report: BundleReport,
}

impl Auditor {
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
            keys: None,
            chains: BTreeMap::new(),
            frames: BTreeMap::new(),
            early_frames: BTreeMap::new(),
            packs: BTreeSet::new(),
            named_packs: BTreeSet::new(),
            next_leaf: 0,
            kept_is_shown: false,
            line: 0,
            hasher: sha2::Sha256::default(),
            summed_up: false,
            ended: false,
            report,
        }
    }

    /// Checks the lines from here on in parallel; none until keys and checkpoint are known, which do not change
    /// afterwards.
    #[must_use]
    pub fn looker(&self) -> Option<Looker> {
        matches!(self.known.anchor, Anchor::Held(_)).then(|| Looker(self.known.clone()))
    }

    /// Adds the next line, without its line break.
    pub fn line(&mut self, bytes: &[u8]) {
        self.take(bytes, Looked::at(bytes, &self.known));
    }

    /// Adds the next line, already checked by itself.
    pub fn take(&mut self, bytes: &[u8], looked: Looked) {
        self.line += 1;
        let before = self.ended;
        let misplaced = self.is_out_of_place(&looked);
        if !misplaced && self.is_too_early(&looked) {
            self.fault(Flaw::NoCheckpoint);
        }
        match looked.0 {
            _ if misplaced => self.fault(if self.line == 1 { Flaw::NotABundle } else { Flaw::Line }),
            None | Some(Line::Schema(_)) => {}
            Some(Line::Bundle(opening)) => self.open(*opening),
            Some(Line::Entry(checked)) => self.entry(*checked),
            Some(Line::Keys(keys)) => self.learn(&keys),
            Some(Line::Checkpoint(note)) => self.checkpoint(&note),
            Some(Line::Consistency(shown)) => self.consistency(&shown),
            Some(Line::Policy(pack)) => {
                self.report.policies += 1;
                let holds = entry::pack_holds(&pack);
                let is_new = self.packs.insert(pack.hash);
                self.fault_unless(is_new && holds, Flaw::Policy);
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

    /// Whether the line is in the wrong order: the opening comes first and once, the keys once and before the
    /// checkpoint, what is counted before the summary, and nothing after the end. An unreadable line is always out of
    /// place.
    fn is_out_of_place(&self, looked: &Looked) -> bool {
        let Some(line) = &looked.0 else { return true };
        let counted = matches!(line, Line::Entry(_) | Line::Frame(_) | Line::Summary(_));
        let opens = matches!(line, Line::Bundle(_));
        let late_keys = matches!(line, Line::Keys(_)) && (self.keys.is_some() || !self.has_no_checkpoint());
        self.ended || opens != (self.line == 1) || self.summed_up && counted || late_keys
    }

    /// Only the opening and the keys come before the checkpoint. An entry before it is rejected by its own check.
    fn is_too_early(&self, looked: &Looked) -> bool {
        let may_be =
            |line: &Line<_>| matches!(line, Line::Bundle(_) | Line::Keys(_) | Line::Checkpoint(_) | Line::Entry(_));
        self.has_no_checkpoint() && looked.0.as_ref().is_some_and(|line| !may_be(line))
    }

    fn has_no_checkpoint(&self) -> bool {
        matches!(self.known.anchor, Anchor::Missing)
    }

    #[must_use]
    pub fn finish(mut self) -> BundleReport {
        self.line += 1;
        if self.line == 1 {
            self.fault(Flaw::NotABundle);
        }
        if !self.ended {
            self.fault(Flaw::Truncated);
        }
        if self.has_no_checkpoint() {
            self.fault(Flaw::NoCheckpoint);
        }
        if self.trusted.kept.is_some() && !self.kept_is_shown {
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
        let named = header.map_or((None, None, None), |h| (Some(h.artifact_id), Some(h.stream_id), Some(h.seq)));
        self.found(flaw, named);
    }

    fn found(&mut self, flaw: Flaw, named: (Option<String>, Option<String>, Option<u64>)) {
        self.report.count += 1;
        if self.report.found.len() < MOST {
            let (artifact_id, stream_id, seq) = named;
            self.report.found.push(Found { line: self.line, flaw, artifact_id, stream_id, seq });
        }
    }

    fn open(&mut self, opening: Opening) {
        let Some(scope) = Scope::read(&opening) else { return self.fault(Flaw::NotABundle) };
        let of = format!("/{}/{}", opening.environment, opening.tenant_id);
        self.fault_unless(opening.origin.ends_with(&of), Flaw::Foreign);
        self.fault_unless(scope.is_promised(&opening.selection), Flaw::Scope);
        let answered = |asked: &Asked| scope::answers(asked, &opening.selection);
        self.fault_unless(self.trusted.asked.as_ref().is_none_or(answered), Flaw::OtherRequest);
        self.report.completeness = scope.completeness();
        self.report.selection = opening.selection.told();
        self.known.scope = scope;
        self.known.tenant_id.clone_from(&opening.tenant_id);
        self.report.origin.clone_from(&opening.origin);
        self.report.tenant_id = opening.tenant_id;
        self.origin = Some(opening.origin);
    }

    fn entry(&mut self, checked: Result<Checked, Refused>) {
        self.report.entries += 1;
        match checked {
            Err((flaw, header)) => {
                self.next_leaf += 1;
                if let Some(header) = &header {
                    self.pass_over(header);
                }
                self.fault_at(flaw, header.map(|header| *header));
            }
            Ok(checked) => {
                if let Some(flaw) = self.chained(&checked).or_else(|| self.in_turn(&checked)) {
                    self.fault_at(flaw, Some(checked.header.clone()));
                }
                self.count(checked);
            }
        }
    }

    /// Compares an entry with the one before it in its chain, if that is in the bundle.
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
        if header.seq > last.seq + 1 && self.known.scope.promises(&header.stream_id) {
            return Some(Flaw::Gap);
        }
        (entry.at < last.at).then_some(Flaw::Time)
    }

    /// Checks that the leaves of a whole tree come in order, so that none is missing or repeated.
    fn in_turn(&self, entry: &Checked) -> Option<Flaw> {
        let other = entry.facts.leaf.is_some_and(|leaf| leaf != self.next_leaf);
        (other && self.known.scope.is_whole()).then_some(Flaw::Leaf)
    }

    /// Advances the chain over an invalid entry, so that the entries after it are not reported too.
    fn pass_over(&mut self, header: &line::Header) {
        let last = self.chains.get(&header.stream_id);
        if header.seq == last.map_or(0, |chain| chain.seq) + 1 {
            let at = last.map_or_else(String::new, |chain| chain.at.clone());
            self.chains.insert(header.stream_id.clone(), Chain { seq: header.seq, hash: None, at });
        }
    }

    fn count(&mut self, entry: Checked) {
        let Checked { header, at, facts } = entry;
        self.next_leaf = facts.leaf.unwrap_or(self.next_leaf) + 1;
        self.report.in_tree += u64::from(facts.leaf.is_some());
        self.report.proven += u64::from(facts.proven);
        self.report.shown += u64::from(facts.shown_only);
        self.report.erased += u64::from(facts.erased);
        if let Some((frame, hash)) = facts.frame {
            let early = self.early_frames.remove(&frame);
            self.fault_unless(early.is_none_or(|early| early == hash), Flaw::Frame);
            self.frames.insert(frame, hash);
        }
        self.named_packs.insert(header.policy_hash);
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
            Ok(holds) if named.is_some() => self.report.frames_proven += u64::from(holds),
            Ok(_) => drop(self.early_frames.insert(frame.context_frame_id.clone(), frame.context_hash.clone())),
            Err(flaw) => self.fault(flaw),
        }
    }

    fn summary(&mut self, summary: &Summary) {
        self.summed_up = true;
        self.report.waiting = summary.waiting;
        self.compare_ends();
        let whole = !self.known.scope.is_whole() || self.report.entries == self.report.size;
        let counted = summary.entries == self.report.entries && summary.frames == self.report.frames;
        self.fault_unless(counted && whole, Flaw::Count);
        // After an invalid entry it is unknown which packs are named, and that entry is already reported.
        self.fault_unless(self.report.count > 0 || self.packs == self.named_packs, Flaw::Policy);
    }

    /// Compares the ends of the chains with those stated in the first line.
    fn compare_ends(&mut self) {
        let differs = |stated: &line::Chain| {
            let (seq, hash) = self.chains.get(&stated.stream_id).map_or((0, None), |chain| (chain.seq, chain.hash));
            let last = stated.last.as_deref().map(entry::digest);
            // The hash of an invalid entry is unknown, and that entry is already reported.
            stated.entries != Some(seq) || last.is_none() != (seq == 0) || hash.is_some() && last != Some(hash)
        };
        let wrong: Vec<line::Chain> = self.known.scope.ends().filter(|stated| differs(stated)).cloned().collect();
        for line::Chain { stream_id, entries, .. } in wrong {
            self.found(Flaw::ChainEnd, (None, Some(stream_id), entries));
        }
    }

    fn end(&mut self, closing: &Closing) {
        self.ended = true;
        self.fault_unless(self.summed_up, Flaw::Count);
        let hasher = std::mem::take(&mut self.hasher);
        let digest = Digest::from_bytes(sha2::Digest::finalize(hasher).into()).prefixed();
        self.fault_unless(closing.sha256 == digest, Flaw::Digest);
        let origin = self.origin.as_deref().unwrap_or_default();
        let format = self.known.scope.format();
        let text = format!("{format}\n{origin}\n{} lines\n{}\n", self.line - 1, closing.sha256);
        let signed = note::open(&closing.note, &self.believed()).is_ok_and(|signed| signed == text);
        self.fault_unless(signed, Flaw::Signature);
    }
}

#[cfg(test)]
#[path = "auditing_tests.rs"]
mod tests;
