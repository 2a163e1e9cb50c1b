//! API keys: their form, who presents one, and how new ones are made.

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
/// Hexadecimal digits of the checksum, by which a scanner tells a key from noise without asking anybody.
const CHECKSUM_DIGITS: usize = 8;
/// How many seconds a key that was found is believed without asking again. A revocation, a disabled tenant and a tenant's
/// other pack take effect within this.
const BELIEVED: u32 = 1;
/// How many keys are remembered; past that, all are forgotten and asked for again.
const REMEMBERED: usize = 10_000;

/// The digest of a well-formed key. A malformed one never reaches the database.
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

/// A key that has just been made: the only moment at which its secret exists here.
pub struct NewKey {
    pub record: ApiKey,
    /// What its owner gets, once.
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

    /// The same key, speaking for somebody else than its kind usually does.
    #[must_use]
    pub fn speaking_for(mut self, speaks_for: SpeaksFor) -> Self {
        self.record.speaks_for = speaks_for;
        self
    }
}

/// Looks keys up, and remembers for a moment what it found.
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
    /// Credentials kept in a database.
    #[must_use]
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Self {
        Self { store, clock, seen: Mutex::new(HashMap::new()) }
    }

    /// Who presents this key.
    pub async fn authenticate(&self, presented: &PresentedKey) -> Result<Caller, ServiceError> {
        if let Some(caller) = self.recall(&presented.0) {
            return Ok(caller);
        }
        // Before the question: what changes while it is answered is not believed for longer.
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
        // A clock that was set back would let it be believed for longer: then it is asked for again.
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
