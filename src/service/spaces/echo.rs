//! The answer to a writer: the result of its operation, as far as it may see it.

use super::gate::Pass;
use super::{Caller, Seen, Service, ServiceError};
use crate::domain::id::SpaceId;
use crate::state_layer::fact::Fact;
use crate::state_layer::operation::{Effects, SpaceAnswer};
use crate::state_layer::reading::Reading;
use crate::state_layer::space::{Signal, SpaceRecord, WorkingItem};

/// The answer to an operation on a space.
#[derive(Debug, Clone, PartialEq)]
pub enum SpaceShown {
    /// To a change of description or identity.
    Space {
        /// The space after the change.
        space: Box<Seen<SpaceRecord>>,
        /// Whether it is new.
        created: bool,
    },
    /// To every change of facts.
    Facts {
        /// The facts written, restored or deleted, after the change, in the order of the request.
        facts: Vec<Seen<Fact>>,
        effects: Seen<Effects>,
    },
    Observed {
        /// The reading of the utterance, which is the writer's own.
        reading: Box<Reading>,
        effects: Seen<Effects>,
        /// The facts it made.
        facts: Vec<Seen<Fact>>,
    },
    Signal {
        /// The signal in force.
        signal: Seen<Signal>,
        /// Whether that is the signal of the request.
        accepted: bool,
    },
    Item {
        item: Seen<WorkingItem>,
    },
    /// To a closed task.
    Closed {
        /// Keys of items that were turned into facts.
        promoted: Vec<String>,
        /// Keys of items that were dropped.
        dropped: Vec<String>,
        effects: Seen<Effects>,
    },
    /// To an operation without a result to show.
    Done,
}

impl Service {
    /// The answer as its writer may see it. The operation is durable by now, so if the writer's permission cannot be
    /// determined, the values are withheld.
    pub(super) async fn echo(&self, caller: &Caller, space_id: &SpaceId, answer: SpaceAnswer) -> SpaceShown {
        if matches!(answer, SpaceAnswer::Done | SpaceAnswer::Pack { .. }) {
            return SpaceShown::Done;
        }
        let pass = match self.pass_of_writer(caller, space_id, &answer).await {
            Ok(pass) => pass,
            Err(error) => {
                tracing::warn!(
                    echo.error = %error,
                    "the writer's permission could not be read; the answer is redacted"
                );
                Pass::nothing()
            }
        };
        shown(&pass, answer)
    }

    async fn pass_of_writer(
        &self,
        caller: &Caller,
        space_id: &SpaceId,
        answer: &SpaceAnswer,
    ) -> Result<Pass, ServiceError> {
        let facts: Vec<&Fact> = match answer {
            SpaceAnswer::Facts { facts, .. } | SpaceAnswer::Observed { facts, .. } => facts.iter().collect(),
            _ => Vec::new(),
        };
        let record = self.bare_space(caller, space_id).await?;
        self.pass(caller, space_id, record.as_ref(), &facts).await
    }
}

fn shown(pass: &Pass, answer: SpaceAnswer) -> SpaceShown {
    let echoed = |facts: Vec<Fact>| facts.into_iter().map(|fact| pass.echoed_fact(fact)).collect();
    match answer {
        SpaceAnswer::Space { space, created } => SpaceShown::Space { space: Box::new(pass.echoed(*space)), created },
        SpaceAnswer::Facts { facts, effects } => {
            SpaceShown::Facts { facts: echoed(facts), effects: pass.echoed(effects) }
        }
        SpaceAnswer::Observed { reading, effects, facts } => {
            SpaceShown::Observed { reading: Box::new(reading), effects: pass.echoed(effects), facts: echoed(facts) }
        }
        SpaceAnswer::Signal { signal, accepted } => SpaceShown::Signal { signal: pass.echoed(signal), accepted },
        SpaceAnswer::Item { item } => SpaceShown::Item { item: pass.echoed(item) },
        SpaceAnswer::Closed { promoted, dropped, effects } => {
            SpaceShown::Closed { promoted, dropped, effects: pass.echoed(effects) }
        }
        SpaceAnswer::Pack { .. } | SpaceAnswer::Done => SpaceShown::Done,
    }
}
