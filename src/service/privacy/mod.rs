//! What people may ask for about themselves: that everything is erased, and to see everything. And what must stay for the
//! time being: legal holds.

mod batch;
mod erasing;
mod exporting;
mod holds;
mod receipt;
mod scrubbing;
mod subject;
mod surveying;

pub use crate::storage::Held;
pub(super) use erasing::pseudonym;
pub use exporting::{Export, ExportPlace, Exported};
pub use holds::{HoldShown, NewHold};
pub use receipt::ErasureShown;
pub(super) use receipt::Progress;
pub use subject::Selector;
pub use surveying::Survey;

use serde_json::Value;

use self::erasing::Erasing;
use super::recording::{Looked, Unrecorded};
use super::{Caller, Service, ServiceError};
use crate::domain::canonical::{Digest, Purpose, canonical, keyed};
use crate::domain::id::{ErasureId, Ids};
use crate::domain::refusal::Refusal;
use crate::domain::subject::Identifiers;
use crate::storage::{Disposing, ErasureRow};

/// How often everything is searched again for what was written meanwhile.
const ROUNDS: u32 = 5;

/// An erasure that is asked for.
#[derive(Debug, Clone)]
pub struct Erase {
    pub selector: Selector,
    /// The same as it was sent: what the commitment is made over.
    pub named: Value,
    /// The `Idempotency-Key`: asking again with it goes on with what was begun.
    pub key: String,
    /// Why, in a word of letters and underscores; it is kept.
    pub reason: Option<String>,
}

impl Erase {
    fn request(&self, caller: &Caller) -> Digest {
        let owned = serde_json::json!({
            "erasure": true, "kind": caller.kind, "principal_id": caller.principal_id, "key": self.key,
        });
        caller.keyed(Purpose::Request, &canonical(&owned))
    }

    /// A digest of the key is kept: a key that names the person would keep the person.
    fn check(&self, identifiers: &Identifiers) -> Result<(), ServiceError> {
        if identifiers.name(&self.key) { Err(ServiceError::KeyNamesSubject) } else { Ok(()) }
    }
}

/// What an erasure came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Erased {
    pub shown: ErasureShown,
    /// The secret of the commitment. Given out once and kept nowhere.
    pub subject_salt: Option<Digest>,
    /// Whether it had been completed before.
    pub replayed: bool,
}

impl Service {
    /// Counts what an erasure would find, and says whether something is held. Writes nothing.
    pub async fn survey_subject(
        &self,
        caller: &Caller,
        selector: &Selector,
    ) -> Result<Unrecorded<Survey>, ServiceError> {
        let survey = self.survey(caller, selector).await?;
        let people = self.people_named(caller, selector).await?;
        Ok(Unrecorded::new(survey, Looked::at("privacy.survey", people)))
    }

    /// Erases everything about somebody, or goes on with what was begun with the same key.
    ///
    /// Fails with [`ServiceError::LegalHold`] where something of it is held, and has then erased nothing of that.
    pub async fn erase_subject(&self, caller: &Caller, asked: &Erase) -> Result<Erased, ServiceError> {
        // One at a time in this process; another process is kept apart by the locks of the streams.
        let _turn = self.erasing.lock().await;
        let tenant_id = &caller.tenant.tenant_id;
        let request = asked.request(caller);
        let begun = self.store.erasure_by_request(tenant_id, &request).await?;
        if let Some(row) = begun.as_ref().filter(|row| row.finished_at.is_some()) {
            // Nothing that is kept tells whom it was about; whoever has something left was it not.
            if !self.survey(caller, &asked.selector).await?.counts.is_empty() {
                return Err(ServiceError::Refused(Refusal::IdempotencyKeyReused));
            }
            self.store.scour().await?;
            return Ok(Erased { shown: ErasureShown::of(row)?, subject_salt: None, replayed: true });
        }
        let mut erasing = self.begun(caller, asked, request, begun).await?;
        for _ in 0..ROUNDS {
            let subject = self.subject(tenant_id, &asked.selector).await?;
            if !erasing.round(&subject).await? {
                let salt = self.fresh_secret();
                let commitment = keyed(&salt, Purpose::Subject, &canonical(&asked.named));
                erasing.finish(&subject, commitment).await?;
                self.store.scour().await?;
                metrics::counter!("cscp_erasures_total").increment(1);
                let shown = ErasureShown::of(&erasing.row)?;
                return Ok(Erased { shown, subject_salt: Some(salt), replayed: false });
            }
        }
        // Somebody writes faster than this erases.
        Err(ServiceError::Busy { retry_after_seconds: 5 })
    }

    /// The erasure with this request's key: as it stands, or begun now.
    async fn begun<'a>(
        &'a self,
        caller: &'a Caller,
        asked: &Erase,
        request: Digest,
        begun: Option<ErasureRow>,
    ) -> Result<Erasing<'a>, ServiceError> {
        let rules = self.rules.now();
        let policy = rules.rules(&caller.tenant.policy_scope()).policy.reference().clone();
        if let Some(row) = begun {
            let progress = Progress::read(&row)?;
            return Ok(Erasing { service: self, caller, policy, row, progress });
        }
        let subject = self.subject(&caller.tenant.tenant_id, &asked.selector).await?;
        asked.check(&subject.identifiers)?;
        // Refused before anything is written, if anything is held now; what is held later stops it where it is.
        if self.survey(caller, &asked.selector).await?.held {
            return Err(ServiceError::LegalHold);
        }
        let mut disposing = Disposing::begin(self.store.as_ref(), &caller.tenant, []).await?;
        let erasure_id = {
            let mut entropy = self.entropy.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            Ids::new(disposing.now(), entropy.as_mut()).erasure()
        };
        let progress = Progress { reason: asked.reason.clone(), ..Progress::default() };
        let row = ErasureRow {
            erasure_id,
            request: Some(request),
            started_at: disposing.now(),
            finished_at: None,
            body: progress.text(),
        };
        let mut erasing = Erasing { service: self, caller, policy, row, progress };
        erasing.keep(&mut disposing).await?;
        disposing.commit().await?;
        Ok(erasing)
    }

    /// An erasure as it stands.
    pub async fn erasure(&self, caller: &Caller, id: &ErasureId) -> Result<Unrecorded<ErasureShown>, ServiceError> {
        let asked = Looked::at("privacy.erasure", [id]).asked();
        let found = async {
            let row = self.store.erasure(&caller.tenant.tenant_id, id).await?;
            let shown = ErasureShown::of(&row.ok_or(ServiceError::NotFound("erasure"))?)?;
            Ok(Unrecorded::new(shown, Looked::at("privacy.erasure", [id])))
        };
        Unrecorded::or_nothing(found.await, asked)
    }
}
