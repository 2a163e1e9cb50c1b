//! The system: the only wall clock and the only source of unpredictable bytes.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::domain::id::Entropy;
use crate::domain::time::{Clock, Timestamp};

/// The machine's clock, in microseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the one place where the wall clock is read")]
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp::from_micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }
}

/// The operating system's random generator.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[expect(clippy::disallowed_methods, reason = "this is the one place where randomness comes from")]
    #[expect(clippy::expect_used, reason = "without randomness every nonce could be guessed: stopping is the answer")]
    fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
        bytes
    }
}
