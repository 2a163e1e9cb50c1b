//! Policy packs: the versioned rules a tenant lives under (RFC-WF-0034 XII).
//!
//! A pack is plain, typed text. This module holds its types, the rules that decide whether it may load at all
//! ([`LoadedPack::new`]), and the choice of the pack that applies ([`PolicyBook`], [`PolicyView`]). Reading files is
//! the work of [`crate::packs`].
//!
//! Two promises shape everything here. A pack that would weaken a safety rule does not load. And two packs never
//! compete silently: the most specific selector wins, and an undecidable pair refuses to load.

mod class;
mod context;
mod error;
mod immaterial;
mod pack;
mod retention;
mod rules;
mod select;
mod shapes;
mod slots;
mod validate;
mod viewing;

pub use class::SafetyClass;
pub use context::{
    AccessCallback, AnswerRules, ApprovalTimes, ConfirmationTimes, ContextRules, DisambiguationTimes, ExecutionRules,
    Pace, RateLimits, StateLayerRules, VoiceRules,
};
pub use error::PolicyError;
pub use immaterial::ImmaterialFields;
pub use pack::{
    ClassRules, ClassTable, CommandEntry, Confirmation, LoadedPack, PolicyPack, PolicyRef, Profile, Selector,
};
pub use retention::{RecordKind, RetentionRules};
pub use rules::{ApprovalRule, CommandRules};
pub use select::{PolicyBook, PolicyScope, PolicyView};
pub use shapes::SlotRefusal;
pub use slots::{ShapeType, SlotRules, SlotShape, SlotStorage};
pub use viewing::{DetailLevel, OocRules, RedactionMethod, RedactionRules};

#[cfg(test)]
mod rules_tests;
#[cfg(test)]
mod section_tests;
#[cfg(test)]
mod select_tests;
