//! API keys: their form, how they are looked up and made.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use super::{Caller, ServiceError};
use crate::domain::canonical::{Digest, Purpose, hash};
use crate::domain::id::{Ids, PrincipalId, TenantId};
use crate::domain::operation::CredentialKind;
use crate::domain::scope::Scope;
use crate::domain::speaking::SpeaksFor;
use crate::domain::time::{Clock, Timestamp};
use crate::storage::{ApiKey, Store};

const PREFIX: &str = "cscp_";
/// Hexadecimal digits of the secret: 256 bits.
const SECRET_DIGITS: usize = 64;
/// Hexadecimal digits of the checksum, by which a secret scanner recognises a key without asking a server.
const CHECKSUM_DIGITS: usize = 8;
/// How many seconds a looked-up key is cached. A revocation, a disabled tenant or a tenant's change of pack takes
/// effect within this time.
const BELIEVED: u32 = 1;
/// How many keys are cached; beyond that the cache is emptied.
const REMEMBERED: usize = 10_000;

/// The digest of a well-formed key. The database is never asked for a malformed one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PresentedKey(Digest);

impl PresentedKey {
    /// Reads `cscp_` + 64 digits + 8 digits of checksum.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix(PREFIX)?;
        if digits.len() != SECRET_DIGITS + CHECKSUM_DIGITS || !digits.is_ascii() {
            return None;
        }
        let (secret, checksum) = digits.split_at(SECRET_DIGITS);
        let secret = Digest::from_hex(secret)?;
        let digest = key_digest(&secret);
        (checksum_of(&secret) == checksum).then_some(Self(digest))
    }
}

fn key_digest(secret: &Digest) -> Digest {
    hash(Purpose::ApiKey, &[secret.as_bytes()])
}

fn checksum_of(secret: &Digest) -> String {
    let mut text = hash(Purpose::ApiKey, &[b"checksum", secret.as_bytes()]).to_hex();
    text.truncate(CHECKSUM_DIGITS);
    text
}

/// A key that was just made. Its secret exists on the server only now.
pub struct NewKey {
    pub record: ApiKey,
    /// The secret for its owner, shown once.
    pub secret: String,
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKey").field("record", &self.record).finish_non_exhaustive()
    }
}

impl NewKey {
    /// Makes a key. Scopes that its kind may not hold are dropped by the caller's own check, [`Scope::allowed_for`].
    #[must_use]
    pub fn mint(
        tenant_id: TenantId,
        kind: CredentialKind,
        scopes: Option<BTreeSet<Scope>>,
        principal_id: Option<PrincipalId>,
        label: String,
        now: Timestamp,
        ids: &mut Ids<'_>,
    ) -> Self {
        let secret = ids.secret();
        let record = ApiKey {
            key_id: ids.key(),
            tenant_id,
            digest: key_digest(&secret),
            kind,
            scopes: scopes.unwrap_or_else(|| Scope::defaults(kind)),
            speaks_for: SpeaksFor::usual(kind, principal_id.as_ref()),
            principal_id,
            label,
            created_at: now,
            revoked_at: None,
        };
        Self { record, secret: format!("{PREFIX}{}{}", secret.to_hex(), checksum_of(&secret)) }
    }

    /// The same key, with another right to speak for principals than its kind has by default.
    #[must_use]
    pub fn speaking_for(mut self, speaks_for: SpeaksFor) -> Self {
        self.record.speaks_for = speaks_for;
        self
    }
}

/// Looks keys up in the database, with a short cache.
pub struct Credentials {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    seen: Mutex<HashMap<Digest, (Timestamp, Caller)>>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Credentials").finish_non_exhaustive()
    }
}

impl Credentials {
    /// Credentials of this database.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, seen: Mutex::new(HashMap::new()) }
    }

    /// The caller that this key identifies.
    pub async fn authenticate(&self, presented: &PresentedKey) -> Result<Caller, ServiceError> {
        if let Some(caller) = self.recall(&presented.0) {
            return Ok(caller);
        }
        // Taken before the query: a change made during it must not be cached longer.
        let asked = self.clock.now();
        let found = self.store.find_key(&presented.0).await?;
        let Some((key, tenant)) = found.filter(|(key, tenant)| key.revoked_at.is_none() && tenant.enabled) else {
            return Err(ServiceError::Unauthenticated);
        };
        let caller = Caller {
            tenant: Arc::new(tenant),
            key_id: key.key_id,
            kind: key.kind,
            scopes: key.scopes,
            principal_id: key.principal_id,
            speaks_for: key.speaks_for,
        };
        self.remember(presented.0, asked, caller.clone());
        Ok(caller)
    }

    fn recall(&self, digest: &Digest) -> Option<Caller> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (asked, caller) = seen.get(digest)?;
        let now = self.clock.now();
        // If the clock was set back, the entry would live longer, so it is looked up again.
        (*asked <= now && now < asked.plus_seconds(BELIEVED)).then(|| caller.clone())
    }

    fn remember(&self, digest: Digest, asked: Timestamp, caller: Caller) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        seen.insert(digest, (asked, caller));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::id::Entropy;

    struct Fixed;
    impl Entropy for Fixed {
        fn bytes(&mut self) -> [u8; 32] {
            [42; 32]
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_a_key_or_refused(text in "\\PC{0,90}|cscp_[0-9a-fA-F]{70,74}") {
            // 2^-32 of well-formed texts carry the right checksum; none of these does.
            proptest::prop_assert!(PresentedKey::parse(&text).is_none());
        }
    }

    #[test]
    fn a_minted_key_reads_back_and_a_mistyped_one_does_not() {
        let mut source = Fixed;
        let now = Timestamp::from_micros(1);
        let mut ids = Ids::new(now, &mut source);
        let tenant = TenantId::new("t").unwrap();
        let key = NewKey::mint(tenant, CredentialKind::Handler, None, None, String::new(), now, &mut ids);
        assert_eq!(PresentedKey::parse(&key.secret), Some(PresentedKey(key.record.digest)));
        let mut mistyped = key.secret.clone();
        mistyped.replace_range(10..11, "0");
        assert_eq!(PresentedKey::parse(&mistyped), None);
        for text in ["", "cscp_", "Bearer x", &key.secret[1..], &format!("{}0", key.secret)] {
            assert_eq!(PresentedKey::parse(text), None);
        }
        assert!(!format!("{key:?}").contains(&key.secret[5..]), "Debug shows no secret");
    }
}
