//! How fast one API key may call, where its tenant's policy says so.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex, PoisonError};

use axum::http::StatusCode;
use axum::http::header::{HeaderName, RETRY_AFTER};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};

use super::problem::Problem;
use crate::domain::id::KeyId;
use crate::domain::rulebook::Rulebook;
use crate::service::Caller;

/// How many keys are remembered; past that, all begin anew.
const REMEMBERED: usize = 10_000;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Requests per second and at once.
type Pace = (NonZeroU32, NonZeroU32);
/// What a key was allowed when it was last seen, and what it has used of it.
type Used = (Pace, Arc<DefaultDirectRateLimiter>);

/// The pace of every key that was seen.
#[derive(Default)]
pub(crate) struct Rates {
    clock: DefaultClock,
    keys: Mutex<HashMap<KeyId, Used>>,
}

impl std::fmt::Debug for Rates {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rates").finish_non_exhaustive()
    }
}

impl Rates {
    /// Refuses a caller that is too fast.
    pub(crate) fn check(&self, caller: &Caller, rules: &Rulebook) -> Result<(), Problem> {
        let scope = caller.tenant.policy_scope();
        let Some(limits) = rules.rules(&scope).policy.pack().rate_limits.clone() else { return Ok(()) };
        let (Some(rate), Some(burst)) = (NonZeroU32::new(limits.requests_per_second), NonZeroU32::new(limits.burst))
        else {
            return Ok(());
        };
        let Err(not_until) = self.limiter(&caller.key_id, (rate, burst)).check() else { return Ok(()) };
        let wait = not_until.wait_time_from(self.clock.now());
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let seconds = seconds.max(1);
        Err(Problem::new(
            StatusCode::TOO_MANY_REQUESTS,
            "rate_limited",
            "this API key calls faster than its policy allows; wait as long as Retry-After says",
        )
        .header(RETRY_AFTER, &seconds.to_string())
        .header(RATE_LIMIT, &format!("\"key\";r=0;t={seconds}"))
        .header(RATE_LIMIT_POLICY, &format!("\"key\";q={burst};w=1")))
    }

    fn limiter(&self, key_id: &KeyId, pace: Pace) -> Arc<DefaultDirectRateLimiter> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, limiter)) = keys.get(key_id)
            && *known == pace
        {
            return Arc::clone(limiter);
        }
        if keys.len() >= REMEMBERED {
            keys.clear();
        }
        let quota = Quota::per_second(pace.0).allow_burst(pace.1);
        let limiter = Arc::new(RateLimiter::direct_with_clock(quota, self.clock.clone()));
        keys.insert(key_id.clone(), (pace, Arc::clone(&limiter)));
        limiter
    }
}
