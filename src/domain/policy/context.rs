//! The parts of a pack that hold times, limits and what counts as an answer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// How long a context lives (RFC-WF-0034 VI.A `expires_at`, VII).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ContextRules {
    /// Seconds from the last ordinary inbound message to expiry; each such message starts it anew.
    pub ttl_seconds: u32,
    /// Seconds from creation after which a context expires however lively it is; none means no such limit.
    #[serde(default)]
    pub max_lifetime_seconds: Option<u32>,
    /// Seconds a context may stay blocked before it expires.
    pub blocked_timeout_seconds: u32,
    /// How many ordinary messages in a row void the open question; none means that none do.
    #[serde(default)]
    pub void_question_after_unrelated_messages: Option<u32>,
}

/// How long a confirmation may be answered and used (RFC-WF-0034 VIII.B).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfirmationTimes {
    /// Seconds from asking to the end of the window. Above 600 only with a reason.
    pub ttl_seconds: u32,
    /// Why this pack needs a window above 600 seconds.
    #[serde(default)]
    pub long_ttl_reason: Option<String>,
    /// Seconds from the answer (or the last approval) until the command must be bound.
    pub bind_within_seconds: u32,
}

/// How long an approval may be decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ApprovalTimes {
    /// Seconds from asking to the end of the window.
    pub ttl_seconds: u32,
}

/// How long a choice between options may be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DisambiguationTimes {
    /// Seconds from asking to the end of the window.
    pub ttl_seconds: u32,
}

/// What counts as an answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AnswerRules {
    /// Whether an emoji reaction to the prompt may answer it.
    pub reactions: bool,
    /// Whether a transcribed voice note may answer.
    pub voice: VoiceRules,
    /// Locales of the lexicons that recognise a yes and a no, in the order they are tried.
    pub lexicons: Vec<String>,
    /// Whether a bare number or option title picks an option of the open disambiguation.
    pub disambiguation_bare: bool,
    /// Seconds that a message's `sent_at` may lie in the future and still answer something.
    pub future_tolerance_seconds: u32,
}

/// Whether and when a transcribed voice note may answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VoiceRules {
    /// Whether voice notes answer at all.
    pub accepted: bool,
    /// Lowest transcription confidence, 0.5 to 1, at which they do.
    pub min_confidence: f64,
}

/// How fast one API key may call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimits {
    /// Requests per second of one key, sustained.
    pub requests_per_second: u32,
    /// Requests of one key that may come at once.
    pub burst: u32,
    /// The same of all keys of a tenant together; none means that more keys may call more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<Pace>,
}

/// How fast somebody may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pace {
    /// Requests per second, sustained.
    pub requests_per_second: u32,
    /// Requests that may come at once.
    pub burst: u32,
}

/// What is expected of whoever executes a bound command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExecutionRules {
    /// Seconds from the binding within which a first result is to be reported.
    pub report_within_seconds: u32,
}

impl ExecutionRules {
    /// What a pack without an `execution` section gets, and what rows from before that section mean. It never changes:
    /// packs are hashed as they were written, without what they leave out.
    pub const DEFAULT_REPORT_WITHIN_SECONDS: u32 = 300;
}

impl Default for ExecutionRules {
    fn default() -> Self {
        Self { report_within_seconds: Self::DEFAULT_REPORT_WITHIN_SECONDS }
    }
}

/// Settings of the state layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateLayerRules {
    /// Share of a context pack's budget that facts may take, above 0 and below 1.
    pub facts_share: f64,
    /// Sources of facts, the most authoritative first.
    pub authority_order: Vec<String>,
    /// Fact keys for which the later statement wins however the sources rank.
    pub time_sensitive_keys: Vec<String>,
    /// How long an item of the working set lives that does not say so itself, in seconds.
    #[serde(default = "working_item_seconds")]
    pub working_item_seconds: u32,
    /// The zone of timestamps that come without an offset, by its IANA name.
    #[serde(default = "time_zone")]
    pub time_zone: String,
    /// Services that decide who may see what, by the name that fact spaces use.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub access_callbacks: BTreeMap<String, AccessCallback>,
}

/// A service that is asked at query time who may see what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AccessCallback {
    /// Where to post the question: an `http` or `https` address.
    pub url: String,
    /// How long an answer may take, in milliseconds. No answer in time is a no.
    #[serde(default = "callback_milliseconds")]
    pub timeout_milliseconds: u32,
}

fn working_item_seconds() -> u32 {
    86_400
}

fn time_zone() -> String {
    "UTC".to_owned()
}

fn callback_milliseconds() -> u32 {
    1_000
}

impl Default for StateLayerRules {
    /// What a pack without a `state_layer` section gets.
    fn default() -> Self {
        Self {
            facts_share: 0.7,
            authority_order: ["policy", "executive", "manager", "employee", "guest"].map(str::to_owned).to_vec(),
            time_sensitive_keys: Vec::new(),
            working_item_seconds: working_item_seconds(),
            time_zone: time_zone(),
            access_callbacks: BTreeMap::new(),
        }
    }
}
