//! A server that is taken away and comes back, for tests that start one of their own.

use crate::postgres::Cluster;

const TRIES: u32 = 10;

impl Cluster {
    /// Ends the server as its crash would: every process is told to leave as it is, and none gets to tidy up.
    pub(crate) fn stop_immediate(&mut self) {
        self.tell("stop").unwrap();
    }

    /// Starts it again at the same address. It recovers what had been committed.
    pub(crate) fn start_again(&mut self) {
        let word = format!("start {}", self.port);
        let mut started = self.tell(&word);
        // The last process of the old one may not be gone yet.
        for _ in 0..TRIES {
            if started.is_ok() {
                break;
            }
            started = self.tell(&word);
        }
        started.unwrap();
    }
}
