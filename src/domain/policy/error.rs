//! What is wrong with a pack, told to the person who wrote it.

use std::fmt;

/// One thing that keeps a pack from loading: where it is, what is wrong, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PolicyError {
    /// The file, as the reader named it. Empty when the complaint is about the set of packs as a whole.
    pub file: String,
    /// Line in that file, from 1, where known.
    pub line: Option<u32>,
    /// Column in that line, from 1, where known.
    pub column: Option<u32>,
    /// JSON pointer (RFC 6901) to the member at fault; empty means the whole document.
    pub pointer: String,
    /// What is wrong, as a clause.
    pub problem: String,
    /// What to write instead, as an instruction.
    pub instead: String,
}

impl PolicyError {
    /// A complaint about one member of a document whose file and position are not known yet.
    #[must_use]
    pub fn at(pointer: impl Into<String>, problem: impl Into<String>, instead: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), problem: problem.into(), instead: instead.into(), ..Self::default() }
    }

    /// The same complaint, with the file named.
    #[must_use]
    pub fn in_file(mut self, file: &str) -> Self {
        file.clone_into(&mut self.file);
        self
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut gap = "";
        if !self.file.is_empty() {
            write!(f, "{}", self.file)?;
            gap = " ";
        }
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
            if let Some(column) = self.column {
                write!(f, ":{column}")?;
            }
        }
        if !self.pointer.is_empty() {
            write!(f, "{gap}{}", self.pointer)?;
            gap = " ";
        }
        let colon = if gap.is_empty() { "" } else { ": " };
        write!(f, "{colon}{}. {}", self.problem, self.instead)
    }
}

impl std::error::Error for PolicyError {}
