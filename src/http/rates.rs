//! Rate limits per API key and per tenant, if the tenant's policy has them.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use axum::http::header::{HeaderName, RETRY_AFTER};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use super::problem::Problem;
use crate::domain::id::{KeyId, TenantId};
use crate::domain::policy::Pace;
use crate::domain::rulebook::Rulebook;
use crate::service::Caller;

/// How many keys and tenants are tracked; beyond that, all start again.
const REMEMBERED: usize = 10_000;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Requests per second, and the burst.
type Cells = (NonZeroU32, NonZeroU32);
/// The limits last applied, and their use so far.
type Used = (Cells, Arc<DefaultDirectRateLimiter>);

/// The subject of a limit.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Whose {
    Key(KeyId),
    Tenant(TenantId),
}

impl Whose {
    /// Its name in headers, and in sentences.
    fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Key(_) => ("key", "this API key calls"),
            Self::Tenant(_) => ("tenant", "the keys of this tenant together call"),
        }
    }
}

/// The limiters of all callers.
#[derive(Default)]
pub(crate) struct Rates {
    clock: DefaultClock,
    seen: Mutex<HashMap<Whose, Used>>,
}

impl std::fmt::Debug for Rates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rates").finish_non_exhaustive()
    }
}

impl Rates {
    /// Refuses a caller above its own limit, or above that of its tenant.
    pub(crate) fn check(&self, caller: &Caller, rules: &Rulebook) -> Result<(), Problem> {
        let scope = caller.tenant.policy_scope();
        let Some(limits) = rules.rules(&scope).policy.pack().rate_limits.clone() else { return Ok(()) };
        let of_key = Pace { requests_per_second: limits.requests_per_second, burst: limits.burst };
        self.count(Whose::Key(caller.key_id.clone()), of_key)?;
        limits.tenant.map_or(Ok(()), |pace| self.count(Whose::Tenant(caller.tenant.tenant_id.clone()), pace))
    }

    fn count(&self, whose: Whose, pace: Pace) -> Result<(), Problem> {
        let (Some(rate), Some(burst)) = (NonZeroU32::new(pace.requests_per_second), NonZeroU32::new(pace.burst)) else {
            return Ok(());
        };
        let (name, sentence) = whose.names();
        let Err(not_until) = self.limiter(whose, (rate, burst)).check() else { return Ok(()) };
        let wait = not_until.wait_time_from(self.clock.now());
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let seconds = seconds.max(1);
        let detail = format!("{sentence} faster than the policy allows; wait as long as Retry-After says");
        Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "rate_limited", detail)
            .header(RETRY_AFTER, &seconds.to_string())
            .header(RATE_LIMIT, &format!("\"{name}\";r=0;t={seconds}"))
            .header(RATE_LIMIT_POLICY, &format!("\"{name}\";q={burst};w=1")))
    }

    fn limiter(&self, whose: Whose, cells: Cells) -> Arc<DefaultDirectRateLimiter> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, limiter)) = seen.get(&whose)
            && *known == cells
        {
            return Arc::clone(limiter);
        }
        if seen.len() >= REMEMBERED {
            seen.clear();
        }
        let quota = Quota::per_second(cells.0).allow_burst(cells.1);
        let limiter = Arc::new(RateLimiter::direct_with_clock(quota, self.clock.clone()));
        seen.insert(whose, (cells, Arc::clone(&limiter)));
        limiter
    }
}
