//! What folding takes, counted as it goes: the same for the same statements on every machine.

/// The most work of one request: whoever asks for more is told to ask in parts. One statement alone is never refused for it.
pub const MAX_WORK: usize = 40_000;
/// The most facts of one key that stand and disagree.
pub const MAX_DISAGREEING: usize = 32;

/// Why folding was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GivenUp {
    /// There was more to do than one request may.
    TooMuch,
    /// More facts of one key would disagree than may.
    Disagreement,
}

/// Work done, in units of about a microsecond.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Work {
    done: usize,
    disagreement: bool,
}

impl Work {
    pub(super) fn spend(&mut self, units: usize) {
        self.done = self.done.saturating_add(units);
    }

    /// How much was done.
    pub(super) fn done(self) -> usize {
        self.done
    }

    /// Notes that more facts of one key would disagree than may.
    pub(super) fn disagrees(&mut self) {
        self.disagreement = true;
    }

    /// Whether to go on with the next statement.
    pub(super) fn may_go_on(self) -> Result<(), GivenUp> {
        self.may_stay()?;
        if self.done > MAX_WORK { Err(GivenUp::TooMuch) } else { Ok(()) }
    }

    /// Whether what was done may stay.
    pub(super) fn may_stay(self) -> Result<(), GivenUp> {
        if self.disagreement { Err(GivenUp::Disagreement) } else { Ok(()) }
    }
}
