//! What this process is about to execute, on disk before it happens: after a crash nobody else knows it, because cscp
//! keeps a fingerprint of the target and not the target.
//!
//! One JSON object a line. A line is on disk (`fsync`) before the step that it announces; what is torn at the end was
//! never acted upon and is cut off. Nothing personal is in it: ids that derive from message ids, and order numbers. In
//! your system this is a table; and if several processes shared it, any of them could go on with a command of any other.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// A journal of which nothing is unfinished is emptied at the next start once it is larger than this.
const ENOUGH: u64 = 1 << 20;

/// A command that this process will bind, or take over, and execute.
#[expect(clippy::struct_field_names, reason = "they are called so in every body that they go into")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub(crate) command_id: String,
    pub(crate) context_id: String,
    pub(crate) order_id: String,
    pub(crate) attempt_id: String,
}

/// What the journal says of a command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) intent: Intent,
    /// How it ended, if that was written down.
    pub(crate) succeeded: Option<bool>,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "step", rename_all = "snake_case")]
enum Line {
    /// Written before binding and before taking over.
    Intended(Intent),
    /// Written after executing.
    Ended { command_id: String, succeeded: bool },
}

/// The journal of one process. A clone is the same journal.
#[derive(Clone)]
pub(crate) struct Journal(Arc<Mutex<Open>>);

struct Open {
    file: File,
    /// How much of the file are whole lines.
    whole: u64,
    noted: HashMap<String, Noted>,
}

impl Journal {
    /// Opens it, or begins one. Only one process at a time may have it, because two that go on with the same commands
    /// under the same attempts would pass for one.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::other("another process has this journal open"),
            TryLockError::Error(error) => error,
        })?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
        let mut noted = HashMap::new();
        for line in text[..whole].split_inclusive(|byte| *byte == b'\n') {
            note(&mut noted, serde_json::from_slice(line)?);
        }
        let mut open = Open { file, whole: whole as u64, noted };
        if open.whole > ENOUGH && open.noted.values().all(|noted| noted.succeeded.is_some()) {
            open.whole = 0;
            open.noted.clear();
        }
        open.file.set_len(open.whole)?;
        open.file.sync_all()?;
        Ok(Self(Arc::new(Mutex::new(open))))
    }

    /// What it says of a command.
    pub(crate) fn find(&self, command_id: &str) -> Option<Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).noted.get(command_id).cloned()
    }

    /// Writes down what is about to be done. It may be done once this has returned.
    pub(crate) async fn intend(&self, intent: Intent) -> io::Result<()> {
        self.append(Line::Intended(intent)).await
    }

    /// Writes down how it ended.
    pub(crate) async fn end(&self, command_id: &str, succeeded: bool) -> io::Result<()> {
        self.append(Line::Ended { command_id: command_id.to_owned(), succeeded }).await
    }

    async fn append(&self, line: Line) -> io::Result<()> {
        let journal = Arc::clone(&self.0);
        // `fsync` may take long, and must not hold up what else this thread has to do.
        let written = tokio::task::spawn_blocking(move || {
            let mut journal = journal.lock().unwrap_or_else(PoisonError::into_inner);
            journal.append(line)
        });
        written.await.map_err(io::Error::other)?
    }
}

impl Open {
    fn append(&mut self, line: Line) -> io::Result<()> {
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        // A line that failed half-way, on a full disk for instance, must not become the beginning of this one.
        self.file.set_len(self.whole)?;
        self.file.write_all(&text)?;
        self.file.sync_data()?;
        self.whole += text.len() as u64;
        note(&mut self.noted, line);
        Ok(())
    }
}

fn note(noted: &mut HashMap<String, Noted>, line: Line) {
    match line {
        Line::Intended(intent) => {
            noted.insert(intent.command_id.clone(), Noted { intent, succeeded: None });
        }
        Line::Ended { command_id, succeeded } => {
            if let Some(noted) = noted.get_mut(&command_id) {
                noted.succeeded = Some(succeeded);
            }
        }
    }
}
