//! Checkpoints (C2SP tlog-checkpoint): a signed statement of a log's size and root.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::domain::canonical::Digest;
use crate::evidence::note::{self, NoteError, SigningKey, VerifierKey};
use crate::evidence::tree::MAX_SIZE;

/// A statement about a log: at this size its tree has this root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    origin: String,
    size: u64,
    root: Digest,
}

impl Checkpoint {
    /// A statement about the log of this origin. Fails with [`NoteError::Checkpoint`] if the origin is empty or holds a
    /// control character, or the size is above [`MAX_SIZE`].
    pub fn new(origin: &str, size: u64, root: Digest) -> Result<Self, NoteError> {
        if origin.is_empty() || origin.contains(char::is_control) || size > MAX_SIZE {
            return Err(NoteError::Checkpoint);
        }
        Ok(Self { origin: origin.to_owned(), size, root })
    }

    /// The globally unique name of the log.
    #[must_use]
    pub fn origin(&self) -> &str {
        &self.origin
    }

    /// The leaves of its tree.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    #[must_use]
    pub fn root(&self) -> Digest {
        self.root
    }

    /// The text that is signed: origin, size in decimal and root in base64, each on a line.
    #[must_use]
    pub fn body(&self) -> String {
        format!("{}\n{}\n{}\n", self.origin, self.size, STANDARD.encode(self.root.as_bytes()))
    }

    /// Reads the signed text in exactly the form that [`body`](Self::body) writes. Extension lines of other logs are
    /// refused, because nothing here knows their meaning.
    pub fn parse(body: &str) -> Result<Self, NoteError> {
        Self::read(body).filter(|checkpoint| checkpoint.body() == body).ok_or(NoteError::Checkpoint)
    }

    fn read(body: &str) -> Option<Self> {
        let mut lines = body.split_terminator('\n');
        let (origin, size, root) = (lines.next()?, lines.next()?, lines.next()?);
        let root: [u8; 32] = STANDARD.decode(root).ok()?.try_into().ok()?;
        Self::new(origin, size.parse().ok()?, Digest::from_bytes(root)).ok()
    }

    /// The signed note, with a signature by each key.
    pub fn sign(&self, keys: &[SigningKey]) -> Result<String, NoteError> {
        note::sign(&self.body(), keys)
    }

    /// Opens a signed note as [`note::open`] does and reads the checkpoint in it.
    ///
    /// One key may sign for several logs: a caller that expects a certain log compares [`origin`](Self::origin).
    pub fn open(note: &str, keys: &[VerifierKey]) -> Result<Self, NoteError> {
        Self::parse(note::open(note, keys)?)
    }
}

#[cfg(test)]
#[path = "checkpoint_tests.rs"]
mod tests;
