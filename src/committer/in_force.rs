//! The rules in force. They may change while the server runs, but never during a batch.

use std::sync::Arc;

use tokio::sync::watch;

use crate::domain::rulebook::Rulebook;

/// The rules that decisions are made by. A batch keeps the rules it began with. Cheap to clone.
#[derive(Debug, Clone)]
pub struct RulesInForce(watch::Receiver<Arc<Rulebook>>);

impl RulesInForce {
    /// Rules that the holder of the sender can replace.
    #[must_use]
    pub fn replaceable(first: Arc<Rulebook>) -> (watch::Sender<Arc<Rulebook>>, Self) {
        let (sender, receiver) = watch::channel(first);
        (sender, Self(receiver))
    }

    /// The rules as they are now.
    #[must_use]
    pub fn now(&self) -> Arc<Rulebook> {
        Arc::clone(&self.0.borrow())
    }
}

/// Rules that are never replaced.
impl From<Arc<Rulebook>> for RulesInForce {
    fn from(rules: Arc<Rulebook>) -> Self {
        Self::replaceable(rules).1
    }
}
