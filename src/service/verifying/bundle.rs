//! Verifying a bundle as it is read: from a file, or while a server still sends it.

use std::num::NonZero;

use crate::evidence::auditing::{Auditor, BundleReport, Looked, Looker, Trusted};

/// Lines looked at together.
const BATCH: usize = 1_024;
/// Bytes looked at together, so that long lines do not fill the memory.
const BATCH_BYTES: usize = 8 << 20;
/// The longest line. The server writes none that comes near.
const MAX_LINE: usize = 64 << 20;

/// Lines, and what was seen of each.
type Seen = (Vec<Vec<u8>>, Vec<Looked>);

/// A bundle that is being verified. What can be said of a line alone is found out on all processors, while the lines
/// before are taken in; memory does not grow with the number of entries.
#[derive(Debug)]
pub struct BundleCheck {
    auditor: Auditor,
    looker: Option<Looker>,
    threads: usize,
    rest: Vec<u8>,
    lines: Vec<Vec<u8>>,
    bytes: usize,
    /// Looked at, and not taken in yet.
    seen: Seen,
}

impl BundleCheck {
    /// Begins a bundle.
    #[must_use]
    pub fn new(trusted: Trusted) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        let auditor = Auditor::new(trusted);
        Self { auditor, looker: None, threads, rest: Vec::new(), lines: Vec::new(), bytes: 0, seen: Seen::default() }
    }

    /// Takes in the next bytes, wherever they end.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while let Some(end) = bytes.iter().position(|byte| *byte == b'\n') {
            let (line, rest) = bytes.split_at(end);
            let mut whole = std::mem::take(&mut self.rest);
            whole.extend_from_slice(line);
            self.push(whole);
            bytes = rest.get(1..).unwrap_or_default();
        }
        self.rest.extend_from_slice(bytes);
        if self.rest.len() > MAX_LINE {
            // Unreadable whatever follows: only what it is cut to is kept.
            self.rest.truncate(MAX_LINE);
        }
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> BundleReport {
        if !self.rest.is_empty() {
            let last = std::mem::take(&mut self.rest);
            self.push(last);
        }
        self.look();
        self.look();
        self.auditor.finish()
    }

    fn push(&mut self, line: Vec<u8>) {
        if self.looker.is_none() {
            self.auditor.line(&line);
            self.looker = self.auditor.looker();
            return;
        }
        self.bytes += line.len();
        self.lines.push(line);
        if self.lines.len() >= BATCH || self.bytes >= BATCH_BYTES {
            self.look();
        }
    }

    /// Looks at the lines side by side, and takes in those that were looked at before, in their order.
    fn look(&mut self) {
        let Some(looker) = &self.looker else { return };
        let lines = std::mem::take(&mut self.lines);
        self.bytes = 0;
        let share = lines.len().div_ceil(self.threads.max(1)).max(1);
        let look = |part: &[Vec<u8>]| part.iter().map(|line| looker.look(line)).collect::<Vec<Looked>>();
        let (auditor, (before, seen)) = (&mut self.auditor, std::mem::take(&mut self.seen));
        let seen_by_part: Vec<Option<Vec<Looked>>> = std::thread::scope(|scope| {
            let parts: Vec<_> = lines.chunks(share).map(|part| scope.spawn(move || look(part))).collect();
            before.iter().zip(seen).for_each(|(line, looked)| auditor.take(line, looked));
            parts.into_iter().map(|part| part.join().ok()).collect()
        });
        // A thread that ended badly leaves its lines to this one.
        let parts = lines.chunks(share).zip(seen_by_part);
        let seen = parts.flat_map(|(part, seen)| seen.unwrap_or_else(|| look(part))).collect();
        self.seen = (lines, seen);
    }
}
