//! Verifies a bundle while it is read from a file or from a server.

use std::num::NonZero;

use crate::evidence::auditing::{Auditor, BundleReport, Looked, Looker, Trusted};

const BATCH: usize = 1_024;
/// Bytes checked together, so that long lines do not fill the memory.
const BATCH_BYTES: usize = 8 << 20;
/// The longest line. The server writes far shorter ones.
const MAX_LINE: usize = 64 << 20;

/// Lines in one buffer, so that there is no allocation per line.
#[derive(Debug, Default)]
struct Lines {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Lines {
    fn push(&mut self, line: &[u8]) {
        self.bytes.extend_from_slice(line);
        self.ends.push(self.bytes.len());
    }

    fn is_full(&self) -> bool {
        self.ends.len() >= BATCH || self.bytes.len() >= BATCH_BYTES
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    fn line(&self, at: usize) -> &[u8] {
        let end = self.ends.get(at).copied().unwrap_or_default();
        let begin = at.checked_sub(1).and_then(|before| self.ends.get(before)).copied().unwrap_or_default();
        self.bytes.get(begin..end).unwrap_or_default()
    }
}

/// A bundle that is being verified. Lines are checked by themselves on all processors while the lines before them are
/// checked in order; memory does not grow with the number of entries.
#[derive(Debug)]
pub struct BundleCheck {
    auditor: Auditor,
    looker: Option<Looker>,
    threads: usize,
    /// The beginning of an incomplete line.
    rest: Vec<u8>,
    lines: Lines,
    /// Lines that were checked by themselves and not yet in order, with their results.
    seen: (Lines, Vec<Looked>),
}

impl BundleCheck {
    #[must_use]
    pub fn new(trusted: Trusted) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let auditor = Auditor::new(trusted);
        let seen = (Lines::default(), Vec::new());
        Self { auditor, looker: None, threads, rest: Vec::new(), lines: Lines::default(), seen }
    }

    /// Adds the next bytes, which may end anywhere.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = bytes.split_at(end);
            if self.rest.is_empty() {
                self.push(line);
            } else {
                let mut whole = std::mem::take(&mut self.rest);
                whole.extend_from_slice(line);
                self.push(&whole);
            }
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() > MAX_LINE {
            // The line is too long to be valid, so only its beginning is kept.
            self.rest.truncate(MAX_LINE);
        }
    }

    #[must_use]
    pub fn finish(mut self) -> BundleReport {
        if !self.rest.is_empty() {
            let last = std::mem::take(&mut self.rest);
            self.push(&last);
        }
        self.look();
        self.look();
        self.auditor.finish()
    }

    fn push(&mut self, line: &[u8]) {
        if self.looker.is_none() {
            self.auditor.line(line);
            self.looker = self.auditor.looker();
            return;
        }
        self.lines.push(line);
        if self.lines.is_full() {
            self.look();
        }
    }

    /// Checks lines by themselves in parallel, and those checked before in their order.
    fn look(&mut self) {
        let Some(looker) = &self.looker else { return };
        let (auditor, lines, (before, seen)) = (&mut self.auditor, &self.lines, &mut self.seen);
        let count = lines.ends.len();
        let share = count.div_ceil(self.threads.max(1)).max(1);
        let look = |from: usize| (from..count.min(from + share)).map(|at| looker.look(lines.line(at))).collect();
        let mut parts: Vec<Vec<Looked>> = std::thread::scope(|scope| {
            let parts: Vec<_> = (0..count).step_by(share).map(|from| (from, scope.spawn(move || look(from)))).collect();
            seen.drain(..).enumerate().for_each(|(at, looked)| auditor.take(before.line(at), looked));
            // If a thread panicked, its lines are checked on this one.
            parts.into_iter().map(|(from, part)| part.join().unwrap_or_else(|_| look(from))).collect()
        });
        parts.drain(..).for_each(|part| seen.extend(part));
        before.clear();
        std::mem::swap(before, &mut self.lines);
    }
}
