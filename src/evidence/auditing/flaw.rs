//! What can be wrong with a bundle. The codes are the contract: every verifier uses them.

/// What is wrong with a line of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Flaw {
    #[error("the first line does not open a bundle of a known format")]
    NotABundle,
    #[error("the line cannot be read, or does not belong there")]
    Line,
    #[error("a key is not an Ed25519 verifier key of this log")]
    Key,
    #[error("it answers another request than yours: an older or smaller bundle was put in its place")]
    OtherRequest,
    #[error("there is more than one checkpoint, it is not one of this log, or no known key has signed it")]
    Checkpoint,
    #[error("no checkpoint comes before it, so nothing shows that it is in the log")]
    NoCheckpoint,
    #[error("the checkpoint does not extend the known one, or the proof of that is missing")]
    Consistency,
    #[error("the checkpoint is older than the known one: the log was rolled back")]
    RolledBack,
    #[error("the checkpoint contradicts the known one: the log has two histories")]
    Forked,
    #[error("a named witness has not cosigned the checkpoint, or its cosignature is invalid")]
    Cosignature,
    #[error("a policy pack is not what its hash names, or is not one that entries name")]
    Policy,
    #[error("the header cannot be read")]
    Header,
    #[error("it belongs to another tenant")]
    Foreign,
    #[error("it is outside the request in the first line")]
    Scope,
    #[error("entry_hash is not the hash of header, link and commitment")]
    EntryHash,
    #[error("the proof does not lead from the entry to the checkpoint")]
    NotInLog,
    #[error("the entry is repeated or out of order in its chain")]
    Sequence,
    #[error("prev_hash is not the hash of the entry before")]
    Link,
    #[error("entries before it in its chain are missing")]
    Gap,
    #[error("it is not the next leaf of the tree, and the whole tree was promised")]
    Leaf,
    #[error("the chain does not end where the first line says")]
    ChainEnd,
    #[error("the time runs backwards")]
    Time,
    #[error("the payload is not what was committed to")]
    Payload,
    #[error("the artifact contradicts the entry")]
    Artifact,
    #[error("the frame is not what its hash names, or not what was captured")]
    Frame,
    #[error("there are not as many entries, frames or leaves as the bundle says")]
    Count,
    #[error("the lines are not those that the end names")]
    Digest,
    #[error("no known key has signed the end")]
    Signature,
    #[error("the end is missing")]
    Truncated,
}

impl Flaw {
    #[must_use]
    pub fn code(self) -> &'static str {
        match self {
            Self::NotABundle => "not_a_bundle",
            Self::Line => "line",
            Self::Key => "key",
            Self::OtherRequest => "other_request",
            Self::Checkpoint => "checkpoint",
            Self::NoCheckpoint => "no_checkpoint",
            Self::Consistency => "consistency",
            Self::RolledBack => "rolled_back",
            Self::Forked => "forked",
            Self::Cosignature => "cosignature",
            Self::Policy => "policy",
            Self::Header => "header",
            Self::Foreign => "foreign",
            Self::Scope => "scope",
            Self::EntryHash => "entry_hash",
            Self::NotInLog => "not_in_log",
            Self::Sequence => "sequence",
            Self::Link => "link",
            Self::Gap => "gap",
            Self::Leaf => "leaf",
            Self::ChainEnd => "chain_end",
            Self::Time => "time",
            Self::Payload => "payload",
            Self::Artifact => "artifact",
            Self::Frame => "frame",
            Self::Count => "count",
            Self::Digest => "digest",
            Self::Signature => "signature",
            Self::Truncated => "truncated",
        }
    }
}
