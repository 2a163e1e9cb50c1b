//! Assembly: the bounded context that a model should see.

mod admit;
mod clean;
mod cues;
mod dead;
mod episodes;
mod finding;
mod gate;
mod lines;
mod order;
mod pack;
mod rank;
mod repair;
mod said;
mod signals;
mod stems;
mod tokens;
mod turns;

use serde::{Deserialize, Serialize};

pub use gate::is_for;
pub use pack::assemble;
pub use tokens::Counter;

use super::authority::Viewer;
use super::fact::{Fact, Pointer};
use super::space::{Identity, Signal, WorkingItem};
use crate::domain::canonical::{Purpose, canonical, hash};
use crate::domain::id::{FactUid, PackId, SpaceId};
use crate::domain::policy::PolicyRef;
use crate::domain::time::Timestamp;

/// A turn given with the request. Used and not kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// `user`, `assistant`, or a name.
    pub speaker: String,
    pub text: String,
    /// When it was said.
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Estimator {
    /// `OpenAI`'s `cl100k_base`.
    #[default]
    Cl100kBase,
    /// `OpenAI`'s `o200k_base`.
    O200kBase,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct PackRequest {
    /// The question that the model will answer.
    pub query: String,
    /// The present, as far as the pack is concerned.
    pub as_of: Timestamp,
    /// Who it is for.
    pub viewer: Viewer,
    pub token_budget: u32,
    /// The share of them that facts may take.
    pub facts_share: f64,
    /// Facts that must be in it.
    pub include: Vec<Pointer>,
    /// Facts that must not be.
    pub exclude: Vec<Pointer>,
    /// Show superseded facts too, flagged.
    pub include_superseded: bool,
    /// Scope ids in which the question is asked: facts of these tasks, sessions and scenarios may show.
    pub scopes: Vec<String>,
    pub recent_turns: Vec<Turn>,
    pub estimator: Estimator,
}

/// What it is assembled from; gates on whole partitions have been applied.
#[derive(Debug, Clone, Default)]
pub struct Sources<'a> {
    /// Layer 1.
    pub identity: Option<&'a Identity>,
    /// Layer 2: facts of the space and its wider partitions, the valid ones, and with `include_superseded` the others.
    pub facts: Vec<&'a Fact>,
    /// Layer 3.
    pub items: Vec<&'a WorkingItem>,
    /// Layer 4.
    pub signals: Vec<&'a Signal>,
    /// Facts that this viewer may not see in partitions that are open to them: named in `omitted`, otherwise not looked at.
    pub denied: Vec<FactUid>,
    /// Partitions of which this viewer may see nothing: named in `omitted`, and nothing in them is.
    pub closed: Vec<SpaceId>,
}

/// A rendered part of a pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// `identity`, `environment`, `conflicts`, `constraints`, `needs_review`, `facts`, `working_set`, `turns`,
    /// `superseded`.
    pub section: String,
    /// Its text, as it stands in the context.
    pub text: String,
    pub tokens: u32,
}

/// Why something is not in a pack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Omission {
    /// It no longer stands.
    Superseded,
    /// The viewer may not see it.
    NotPermitted,
    /// Its scope is not the question's.
    OutOfScope,
    /// It is older than its limit, or something newer says otherwise.
    Stale,
    /// It is later than `as_of`.
    NotYet,
    /// The caller left it out.
    Excluded,
    /// The facts' share is used up.
    FactsShare,
    /// The budget is used up.
    Budget,
    /// It says nothing about the question.
    NotRelevant,
}

/// Something that is not in a pack.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Omitted {
    /// A fact's uid, `signal:<key>`, `item:<key>` or `turn:<n>`.
    pub id: String,
    pub reason: Omission,
}

/// How the budget was spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenSummary {
    pub budget: u32,
    pub used: u32,
    pub remaining: u32,
    pub facts: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPack {
    /// What the model should see: the segments, one after the other.
    pub context: String,
    pub segments: Vec<Segment>,
    /// Facts in it, in order.
    pub facts_included: Vec<FactUid>,
    /// What is not, and why; sorted.
    pub omitted: Vec<Omitted>,
    /// How the budget was spent.
    pub token_summary: TokenSummary,
    /// Commitment to what the model sees, what it was asked as of, and who counted. No ids and no clock in it.
    pub pack_hash: String,
    /// The tokenizer and its version.
    pub estimator_id: String,
}

impl ContextPack {
    /// The commitment that a pack with this content has, asked for as of this time.
    #[must_use]
    pub fn commitment(&self, as_of: Timestamp) -> String {
        let (budget, context, estimator_id) = (self.token_summary.budget, &self.context, &self.estimator_id);
        let committed = serde_json::json!({
            "as_of": as_of, "budget": budget, "context": context, "estimator_id": estimator_id,
        });
        hash(Purpose::Pack, &[&canonical(&committed)]).prefixed()
    }

    /// Whether its segments, one after the other, are its context.
    #[must_use]
    pub fn is_made_of_its_segments(&self) -> bool {
        let mut rest = self.context.as_str();
        let follows = |segment: &Segment| rest.strip_prefix(segment.text.as_str()).map(|after| rest = after).is_some();
        self.segments.iter().all(follows) && rest.is_empty()
    }
}

/// Why no pack could be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PackRefusal {
    /// What must be there does not fit.
    #[error("what must be in the pack needs {required} tokens; ask with a token_budget of at least that")]
    BudgetTooSmall {
        /// The size that would do.
        required: u32,
    },
    /// A fact was both included and excluded, or a constraint excluded.
    #[error("{name} must be in the pack: it cannot be excluded")]
    CannotExclude {
        /// As the caller named it.
        name: String,
    },
    /// A fact to include is not there, or may not be shown.
    #[error("{name} names no fact that may be shown")]
    CannotInclude {
        /// As the caller named it.
        name: String,
    },
}

/// A pack as it is kept: what was shown, without what it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SavedPack {
    pub pack_id: PackId,
    pub space_id: SpaceId,
    /// The wider spaces that were looked at. Unknown of packs from before this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wider: Option<Vec<SpaceId>>,
    pub viewer: Viewer,
    pub as_of: Timestamp,
    /// When it was saved.
    pub created_at: Timestamp,
    pub pack: ContextPack,
    /// The policy in force.
    pub policy: PolicyRef,
}
