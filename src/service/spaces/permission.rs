//! Asks a permission service who may see what. Without a clear answer nothing is shown.

use std::collections::BTreeSet;
use std::time::Duration;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::domain::id::{FactUid, SpaceId, TenantId};
use crate::domain::policy::AccessCallback;
use crate::state_layer::authority::Viewer;

/// The largest answer that is read, in bytes.
const MOST: usize = 1024 * 1024;

/// The question to the service: which of these facts may this viewer see? It contains no values.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PermissionQuestion {
    pub tenant_id: TenantId,
    pub fact_space: SpaceId,
    pub viewer: Viewer,
    pub facts: Vec<AskedFact>,
}

/// A fact that is asked about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AskedFact {
    pub uid: FactUid,
    pub key: String,
}

#[async_trait]
pub trait Permissions: Send + Sync {
    /// The facts that may be shown; `None` if there is no answer in time.
    async fn allowed(&self, callback: &AccessCallback, question: &PermissionQuestion) -> Option<BTreeSet<FactUid>>;
}

#[derive(Debug, Default)]
pub struct OverHttp {
    client: std::sync::OnceLock<Option<reqwest::Client>>,
}

#[derive(Deserialize)]
struct Allowed {
    allowed: Vec<FactUid>,
}

impl OverHttp {
    /// No connection is opened before it is needed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    async fn ask(&self, callback: &AccessCallback, question: &PermissionQuestion) -> Option<Vec<FactUid>> {
        let build = || reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).build().ok();
        let client = self.client.get_or_init(build).as_ref()?;
        let mut answer = client.post(&callback.url).json(question).send().await.ok()?;
        if !answer.status().is_success() {
            return None;
        }
        let mut body = Vec::new();
        while let Some(part) = answer.chunk().await.ok()? {
            if body.len() + part.len() > MOST {
                return None;
            }
            body.extend_from_slice(&part);
        }
        serde_json::from_slice::<Allowed>(&body).ok().map(|answer| answer.allowed)
    }
}

#[async_trait]
impl Permissions for OverHttp {
    async fn allowed(&self, callback: &AccessCallback, question: &PermissionQuestion) -> Option<BTreeSet<FactUid>> {
        let patience = Duration::from_millis(u64::from(callback.timeout_milliseconds));
        let answer = tokio::time::timeout(patience, self.ask(callback, question)).await.ok().flatten();
        let outcome = if answer.is_some() { "answered" } else { "failed" };
        metrics::counter!("cscp_permission_questions_total", "outcome" => outcome).increment(1);
        answer.map(|allowed| allowed.into_iter().collect())
    }
}
