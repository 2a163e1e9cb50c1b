//! Typed identifiers: opaque ones that callers choose, and prefixed ones that this server mints.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::canonical::{Digest, Purpose, hash};
use super::time::Timestamp;

pub use super::item_id::{ItemId, ItemKind};
pub use super::space_id::{SpaceId, SpaceIdError};

/// Why a caller's identifier was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("must not be empty")]
    Empty,
    /// Longer than the limit, in bytes of UTF-8.
    #[error("must be at most {max_bytes} bytes long")]
    TooLong { max_bytes: usize },
    /// Control characters would let one identifier pose as another in a log or on a screen.
    #[error("must not contain control characters")]
    ControlCharacter,
}

fn check(text: &str, max_bytes: usize) -> Result<(), IdError> {
    if text.is_empty() {
        return Err(IdError::Empty);
    }
    if text.len() > max_bytes {
        return Err(IdError::TooLong { max_bytes });
    }
    if text.chars().any(char::is_control) {
        return Err(IdError::ControlCharacter);
    }
    Ok(())
}

macro_rules! text_id {
    ($($(#[$doc:meta])* $name:ident: $max:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The longest accepted form, in bytes of UTF-8.
            pub const MAX_BYTES: usize = $max;

            /// Checks and takes a text.
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                check(&text, $max)?;
                Ok(Self(text))
            }

            /// The text as it was given.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::new(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    )*};
}

text_id! {
    /// One customer of this server; the first part of every key. Chosen by the administrator.
    TenantId: 64;
    /// The caller's opaque id of a conversation. May contain a phone number: never in a URL or a log.
    ConversationId: 256;
    /// Whoever acts (RFC wire name `actor_id`). Opaque, the caller's; never derived from a number.
    PrincipalId: 256;
    /// The natural person behind one or more principals; separation of duties compares this.
    PersonId: 256;
    /// The channel's message id. A wamid contains the user's phone number.
    MessageId: 512;
    /// The channel account a message id is unique in.
    Channel: 64;
    /// The id of a command envelope (CCP `command_id`), chosen by the caller.
    CommandId: 256;
    /// The name of a command, as policy packs list it.
    CommandName: 128;
    /// The command engine's own idempotency key (CCP).
    IdempotencyKey: 256;
    /// One worker's try to execute a command; the same attempt may be repeated.
    AttemptId: 256;
    /// Ties records of several services together.
    CorrelationId: 256;
    /// A role that policy names, such as `approver`.
    RoleName: 64;
    /// A writer's own label of a fact. Repeats.
    FactLabel: 256;
}

/// Why a text cannot name an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a random UUID (version 4 or 7, as 3f2b8c1e-9d4a-4c6b-8e21-5a7f0c9d1b34) made by the worker that will \
     execute; a name derived from the command would let two workers pass for one, and both would execute"
)]
pub struct NotRandom;

impl AttemptId {
    /// Takes a worker's name for its own try: a UUID of a random version, in lower case. Attempts that are stored may
    /// be older than this rule and are read by [`AttemptId::new`].
    pub fn random(text: &str) -> Result<Self, NotRandom> {
        let uuid = uuid::Uuid::try_parse(text).map_err(|_| NotRandom)?;
        let random = matches!(uuid.get_version_num(), 4 | 7) && uuid.get_variant() == uuid::Variant::RFC4122;
        let hyphenated = uuid.hyphenated().to_string();
        if random && hyphenated.eq_ignore_ascii_case(text) { Ok(Self(hyphenated)) } else { Err(NotRandom) }
    }
}

impl Default for Channel {
    /// The channel of a caller that names none.
    fn default() -> Self {
        Self("whatsapp".to_owned())
    }
}

macro_rules! minted_id {
    ($($(#[$doc:meta])* $name:ident: $prefix:literal;)*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// What every id of this kind begins with.
            pub const PREFIX: &'static str = $prefix;

            /// Reads an id that this server minted earlier; `None` if it cannot be one.
            #[must_use]
            pub fn parse(text: &str) -> Option<Self> {
                let rest = text.strip_prefix($prefix)?.strip_prefix('_')?;
                let minted = rest.len() == 32 && rest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
                minted.then(|| Self(text.to_owned()))
            }

            fn from_uuid(uuid: uuid::Uuid) -> Self {
                Self(format!("{}_{}", $prefix, uuid.simple()))
            }

            /// The id as it stands on the wire.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = &'static str;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::parse(&text).ok_or(concat!("not an id of the form ", $prefix, "_<32 hex digits>"))
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0
            }
        }
    )*};
}

minted_id! {
    /// A context record (RFC VI.A).
    ContextId: "ctx";
    /// A frozen context (RFC IV, "context frame").
    ContextFrameId: "frm";
    /// One lock and one hash chain. Random, so a header that carries it says nothing about a person.
    StreamId: "str";
    /// One entry of the evidence log in its wire form.
    ArtifactId: "art";
    /// An API key's public name.
    KeyId: "key";
    /// One write of a fact.
    FactUid: "fct";
    /// What one utterance was read as.
    ReadingId: "rdg";
    /// A saved context pack.
    PackId: "pck";
    /// A ruling about a fact: restored, deleted, its scope ended.
    RulingId: "rul";
    /// An erasure of everything that is held about somebody.
    ErasureId: "ers";
    HoldId: "hld";
}

impl FactUid {
    /// The uid of a fact that is made from a reading: the same whenever the reading is folded in again.
    #[must_use]
    pub fn of_reading(reading: &ReadingId, claim: usize) -> Self {
        let made = hash(Purpose::Reading, &[reading.as_str().as_bytes(), claim.to_string().as_bytes()]);
        let mut sixteen = [0_u8; 16];
        sixteen.copy_from_slice(&made.as_bytes()[..16]);
        Self::from_uuid(uuid::Builder::from_random_bytes(sixteen).into_uuid())
    }
}

/// Where unpredictable bytes come from. The operating system in production, a seed in tests.
pub trait Entropy: Send {
    /// 32 fresh bytes.
    fn bytes(&mut self) -> [u8; 32];
}

/// Mints ids, salts and nonces for one decision.
pub struct Ids<'a> {
    now: Timestamp,
    source: &'a mut dyn Entropy,
}

impl fmt::Debug for Ids<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ids").field("now", &self.now).finish_non_exhaustive()
    }
}

impl<'a> Ids<'a> {
    /// Ids that sort by `now` and are otherwise as unpredictable as `source`.
    pub fn new(now: Timestamp, source: &'a mut dyn Entropy) -> Self {
        Self { now, source }
    }

    fn uuid(&mut self) -> uuid::Uuid {
        let random = self.source.bytes();
        let mut ten = [0_u8; 10];
        ten.copy_from_slice(&random[..10]);
        let millis = u64::try_from(self.now.as_micros() / 1_000).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &ten).into_uuid()
    }

    /// A new context id.
    pub fn context(&mut self) -> ContextId {
        ContextId::from_uuid(self.uuid())
    }

    /// A new context frame id.
    pub fn frame(&mut self) -> ContextFrameId {
        ContextFrameId::from_uuid(self.uuid())
    }

    /// A new artifact id; artifacts sort by time across streams.
    pub fn artifact(&mut self) -> ArtifactId {
        ArtifactId::from_uuid(self.uuid())
    }

    /// A new fact's uid.
    pub fn fact(&mut self) -> FactUid {
        FactUid::from_uuid(self.uuid())
    }

    /// A new reading's id.
    pub fn reading(&mut self) -> ReadingId {
        ReadingId::from_uuid(self.uuid())
    }

    /// A new ruling's id.
    pub fn ruling(&mut self) -> RulingId {
        RulingId::from_uuid(self.uuid())
    }

    /// A new context pack's id.
    pub fn pack(&mut self) -> PackId {
        PackId::from_uuid(self.uuid())
    }

    /// A new erasure's id.
    pub fn erasure(&mut self) -> ErasureId {
        ErasureId::from_uuid(self.uuid())
    }

    /// A new legal hold's id.
    pub fn hold(&mut self) -> HoldId {
        HoldId::from_uuid(self.uuid())
    }

    /// A new API key id.
    pub fn key(&mut self) -> KeyId {
        KeyId::from_uuid(self.uuid())
    }

    /// A new stream id: all random, so that it does not even say when the conversation began.
    pub fn stream(&mut self) -> StreamId {
        let random = self.source.bytes();
        let mut sixteen = [0_u8; 16];
        sixteen.copy_from_slice(&random[..16]);
        StreamId::from_uuid(uuid::Builder::from_random_bytes(sixteen).into_uuid())
    }

    /// A new pending item's id.
    pub fn item(&mut self, kind: ItemKind) -> ItemId {
        ItemId::minted(kind, self.uuid())
    }

    /// 256 bits that nobody can guess: salts, keys, nonces.
    pub fn secret(&mut self) -> Digest {
        Digest::from_bytes(self.source.bytes())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn caller_ids_are_bounded_and_printable() {
        assert!(ConversationId::new("5511999990000@c.us").is_ok());
        assert_eq!(ConversationId::new(""), Err(IdError::Empty));
        assert_eq!(ConversationId::new("a\nb"), Err(IdError::ControlCharacter));
        assert_eq!(TenantId::new("x".repeat(65)), Err(IdError::TooLong { max_bytes: 64 }));
    }

    proptest! {
        #[test]
        fn any_text_is_an_id_or_refused(text in "\\PC{0,40}|(cnf|apr|dis|ctx|frm)_[0-9a-f]{30,34}") {
            if let Some(id) = ItemId::parse(&text) {
                prop_assert_eq!(id.as_str(), text.as_str());
                prop_assert!(text.starts_with(id.kind().prefix()));
            }
            prop_assert_eq!(ContextId::parse(&text).is_some(), text.starts_with("ctx_") && text.len() == 36);
            prop_assert_eq!(ConversationId::new(text.clone()).is_ok(), !text.is_empty() && text.len() <= 256);
        }
    }

    #[test]
    fn minted_ids_are_recognised_and_foreign_ones_are_not() {
        struct Fixed;
        impl Entropy for Fixed {
            fn bytes(&mut self) -> [u8; 32] {
                [7; 32]
            }
        }
        let mut source = Fixed;
        let mut ids = Ids::new(Timestamp::from_micros(1_700_000_000_000_000), &mut source);
        for kind in ItemKind::ALL {
            let id = ids.item(kind);
            assert_eq!(ItemId::parse(id.as_str()), Some(id.clone()));
            assert_eq!(id.kind(), kind);
        }
        let context = ids.context();
        assert_eq!(ContextId::parse(context.as_str()), Some(context));
        assert_eq!(ContextId::parse("ctx_short"), None);
        assert_eq!(ItemId::parse("ctx_018bcfe568007707870707070707070707"), None);
        assert_eq!(ItemId::parse("ção_018bcfe56800770787070707070707"), None);
    }
}
