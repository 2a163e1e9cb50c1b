//! Verifying a bundle as it is read: from a file, or while a server still sends it.

use std::num::NonZero;

use crate::evidence::auditing::{Auditor, BundleReport, Looked, Trusted};

/// Lines looked at together.
const BATCH: usize = 1_024;
/// Bytes looked at together, so that long lines do not fill the memory.
const BATCH_BYTES: usize = 8 << 20;
/// The longest line. The server writes none that comes near.
const MAX_LINE: usize = 64 << 20;

/// A bundle that is being verified. What can be said of a line alone is found out on all processors; memory does not
/// grow with the number of entries.
#[derive(Debug)]
pub struct BundleCheck {
    auditor: Auditor,
    threads: usize,
    rest: Vec<u8>,
    lines: Vec<Vec<u8>>,
    bytes: usize,
}

impl BundleCheck {
    /// Begins a bundle.
    #[must_use]
    pub fn new(trusted: Trusted) -> Self {
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        Self { auditor: Auditor::new(trusted), threads, rest: Vec::new(), lines: Vec::new(), bytes: 0 }
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
        self.take();
        self.auditor.finish()
    }

    fn push(&mut self, line: Vec<u8>) {
        if !self.auditor.is_open() {
            return self.auditor.line(&line);
        }
        self.bytes += line.len();
        self.lines.push(line);
        if self.lines.len() >= BATCH || self.bytes >= BATCH_BYTES {
            self.take();
        }
    }

    /// Looks at the lines side by side, and takes them in in their order.
    fn take(&mut self) {
        let lines = std::mem::take(&mut self.lines);
        self.bytes = 0;
        let share = lines.len().div_ceil(self.threads.max(1)).max(1);
        let auditor = &self.auditor;
        let look = |part: &[Vec<u8>]| part.iter().map(|line| auditor.look(line)).collect::<Vec<Looked>>();
        let looked: Vec<Option<Vec<Looked>>> = std::thread::scope(|scope| {
            let parts: Vec<_> = lines.chunks(share).map(|part| scope.spawn(move || look(part))).collect();
            parts.into_iter().map(|part| part.join().ok()).collect()
        });
        for (part, looked) in lines.chunks(share).zip(looked) {
            // A thread that ended badly leaves its lines to this one.
            let looked = looked.unwrap_or_else(|| part.iter().map(|line| self.auditor.look(line)).collect());
            part.iter().zip(looked).for_each(|(line, looked)| self.auditor.take(line, looked));
        }
    }
}
