//! The rights of persons: to have their data erased, and to see it. And legal holds, which forbid erasure.

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
use crate::storage::{Counts, Disposing, ErasureRow};

/// How often everything is searched for records written meanwhile, before the erasure asks the caller to repeat it.
const ROUNDS: u32 = 5;

/// A request for an erasure.
#[derive(Debug, Clone)]
pub struct Erase {
    pub selector: Selector,
    /// The selector as it was sent: the commitment is made over it.
    pub named: Value,
    /// The `Idempotency-Key`: a request with the same key continues the erasure.
    pub key: String,
    /// A reason in letters and underscores; it is kept.
    pub reason: Option<String>,
}

impl Erase {
    fn request(&self, caller: &Caller) -> Digest {
        let owned = serde_json::json!({
            "erasure": true, "kind": caller.kind, "principal_id": caller.principal_id, "key": self.key,
        });
        caller.keyed(Purpose::Request, &canonical(&owned))
    }

    /// Refuses a key that contains the person's name: a digest of the key is kept, and the name could be guessed from
    /// it.
    fn check(&self, identifiers: &Identifiers) -> Result<(), ServiceError> {
        if identifiers.name(&self.key) { Err(ServiceError::KeyNamesSubject) } else { Ok(()) }
    }
}

/// The result of an erasure.
#[derive(Debug, Clone, PartialEq)]
pub struct Erased {
    pub shown: ErasureShown,
    /// The secret of the commitment, returned once and stored nowhere.
    pub subject_salt: Option<Digest>,
    /// Whether it was completed by an earlier request.
    pub replayed: bool,
}

impl Service {
    /// Counts what an erasure would erase, and reports whether anything is held. Writes nothing.
    pub async fn survey_subject(
        &self,
        caller: &Caller,
        selector: &Selector,
    ) -> Result<Unrecorded<Survey>, ServiceError> {
        let survey = self.survey(caller, selector).await?;
        let people = self.people_named(caller, selector).await?;
        Ok(Unrecorded::new(survey, Looked::at("privacy.survey", people)))
    }

    /// Erases everything about a person, or continues an erasure with the same key.
    ///
    /// Fails with [`ServiceError::LegalHold`] if anything is held; held records are never erased.
    pub async fn erase_subject(&self, caller: &Caller, asked: &Erase) -> Result<Erased, ServiceError> {
        // One erasure at a time in this process; the locks of the streams keep other processes out.
        let _turn = self.erasing.lock().await;
        let tenant_id = &caller.tenant.tenant_id;
        let request = asked.request(caller);
        let begun = self.store.erasure_by_request(tenant_id, &request).await?;
        if let Some(row) = begun.as_ref().filter(|row| row.finished_at.is_some()) {
            // The record of an erasure does not name the person. If this person still has data, the key was used for
            // another one.
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
        // Data is written faster than it is erased.
        Err(ServiceError::Busy { retry_after_seconds: 5 })
    }

    /// The erasure of this request's key: the one begun before, or a new one.
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
            return Ok(Erasing { service: self, caller, policy, row, progress, drained: Counts::new() });
        }
        let subject = self.subject(&caller.tenant.tenant_id, &asked.selector).await?;
        asked.check(&subject.identifiers)?;
        // Refused before anything is written if anything is held now; a later hold stops the erasure where it is.
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
        let mut erasing = Erasing { service: self, caller, policy, row, progress, drained: Counts::new() };
        erasing.keep(&mut disposing).await?;
        disposing.commit().await?;
        Ok(erasing)
    }

    /// The state of an erasure.
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
