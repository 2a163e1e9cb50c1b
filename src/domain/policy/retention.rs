//! How long each kind of record is kept, and what is past its time at an instant (RFC-WF-0034 XI.B).

use serde::{Deserialize, Serialize};

use crate::domain::time::Timestamp;

/// How long each kind of record is kept (RFC-WF-0034 XI.B). Deadlines that were given out are not shortened by a new
/// policy; what is merely kept is: these periods apply to everything that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetentionRules {
    /// Days after closing until a context's row goes.
    pub closed_context_days: u32,
    /// Days after expiry until a context's row goes.
    pub expired_context_days: u32,
    /// Days until the content of a context frame goes; its hash stays.
    pub frame_days: u32,
    /// Days until the payload and salt of an evidence entry go; the entry itself stays.
    pub evidence_payload_days: u32,
    /// Days until the reading of a message goes; at least 8, because deliveries may repeat for 7.
    pub message_days: u32,
    /// Hours for which a repeated `Idempotency-Key` gets its first answer again.
    pub idempotency_hours: u32,
    /// Days after a fact was superseded or deleted until its row goes, and what it leaves in readings and in the facts
    /// that came after it; none keeps it for as long as its fact space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fact_history_days: Option<u32>,
    /// Days after the end of a working item, and after a signal went stale, until its row goes; none keeps it until its
    /// task is closed or it is overwritten.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_item_days: Option<u32>,
    /// Days until a saved context pack goes; its hash stays with the commands that cite it. None keeps it for as long
    /// as its fact space.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub saved_pack_days: Option<u32>,
}

/// What retention tells apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordKind {
    /// What was answered to requests with an `Idempotency-Key`.
    IdempotencyAnswer,
    /// The reading of a message, which also tells a repeated delivery.
    Message,
    /// Payload and salt of an evidence entry.
    EvidencePayload,
    /// A context frame, with the payload that captured it.
    Frame,
    /// A context that was closed, with its questions and commands.
    ClosedContext,
    /// A context that expired, with its questions and commands.
    ExpiredContext,
    /// A fact that no longer stands, and readings of which nothing is left.
    FactHistory,
    /// An item of the working set that has ended, or a signal that is stale.
    WorkingItem,
    /// A saved context pack.
    SavedPack,
}

impl RecordKind {
    /// Every kind, in the order in which a round looks at them: payloads go before frames, and both before the contexts
    /// that they are found by.
    pub const ALL: [Self; 9] = [
        Self::IdempotencyAnswer,
        Self::Message,
        Self::EvidencePayload,
        Self::Frame,
        Self::ClosedContext,
        Self::ExpiredContext,
        Self::FactHistory,
        Self::WorkingItem,
        Self::SavedPack,
    ];

    /// The kind's word, for metrics, evidence and people.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::IdempotencyAnswer => "idempotency_answer",
            Self::Message => "message",
            Self::EvidencePayload => "evidence_payload",
            Self::Frame => "frame",
            Self::ClosedContext => "closed_context",
            Self::ExpiredContext => "expired_context",
            Self::FactHistory => "fact_history",
            Self::WorkingItem => "working_item",
            Self::SavedPack => "saved_pack",
        }
    }
}

const DAY: u32 = 24 * 60 * 60;

impl RetentionRules {
    /// The cut-off at `now`: a record of this kind whose time is at or before it is past its time. None where the kind is
    /// kept without a limit.
    ///
    /// A record's time is when it was written; of a context when it ended; of a fact since when it no longer stands, and
    /// not before it was written; of a working item its end. An answer's time is the end that was given out with it: how
    /// long it is repeated was promised then.
    #[must_use]
    pub fn cutoff(&self, kind: RecordKind, now: Timestamp) -> Option<Timestamp> {
        let days = match kind {
            RecordKind::IdempotencyAnswer => 0,
            RecordKind::Message => self.message_days,
            RecordKind::EvidencePayload => self.evidence_payload_days,
            RecordKind::Frame => self.frame_days,
            RecordKind::ClosedContext => self.closed_context_days,
            RecordKind::ExpiredContext => self.expired_context_days,
            RecordKind::FactHistory => self.fact_history_days?,
            RecordKind::WorkingItem => self.working_item_days?,
            RecordKind::SavedPack => self.saved_pack_days?,
        };
        Some(now.minus_seconds(days.saturating_mul(DAY)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MICROS_OF_A_DAY: i64 = 86_400_000_000;

    fn rules() -> RetentionRules {
        RetentionRules {
            closed_context_days: 1,
            expired_context_days: 2,
            frame_days: 3,
            evidence_payload_days: 4,
            message_days: 8,
            idempotency_hours: 5,
            fact_history_days: Some(6),
            working_item_days: Some(7),
            saved_pack_days: Some(9),
        }
    }

    #[test]
    fn every_kind_has_its_own_period_and_ends_exactly_with_it() {
        let now = Timestamp::from_micros(1_800_000_000_000_001);
        let days = [
            (RecordKind::IdempotencyAnswer, 0),
            (RecordKind::Message, 8),
            (RecordKind::EvidencePayload, 4),
            (RecordKind::Frame, 3),
            (RecordKind::ClosedContext, 1),
            (RecordKind::ExpiredContext, 2),
            (RecordKind::FactHistory, 6),
            (RecordKind::WorkingItem, 7),
            (RecordKind::SavedPack, 9),
        ];
        assert_eq!(days.map(|(kind, _)| kind).as_slice(), RecordKind::ALL.as_slice());
        for (kind, days) in days {
            let cutoff = rules().cutoff(kind, now).unwrap();
            assert_eq!(now.as_micros() - cutoff.as_micros(), days * MICROS_OF_A_DAY, "{kind:?}");
            let written = serde_json::to_value(kind).unwrap();
            assert_eq!(written, kind.as_str());
        }
    }

    #[test]
    fn what_has_no_period_is_kept() {
        let rules =
            RetentionRules { fact_history_days: None, working_item_days: None, saved_pack_days: None, ..rules() };
        let now = Timestamp::from_micros(i64::MAX);
        for kind in [RecordKind::FactHistory, RecordKind::WorkingItem, RecordKind::SavedPack] {
            assert_eq!(rules.cutoff(kind, now), None, "{kind:?}");
        }
    }

    #[test]
    fn the_longest_period_does_not_run_out_of_time() {
        let rules = RetentionRules { frame_days: u32::MAX, ..rules() };
        let cutoff = rules.cutoff(RecordKind::Frame, Timestamp::from_micros(0)).unwrap();
        assert!(cutoff < Timestamp::from_micros(0));
    }
}
