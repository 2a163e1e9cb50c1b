//! Checks a slot's value against the shape that the pack gives it.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};

use super::slots::{ShapeType, SlotRules, SlotShape};
use super::{LoadedPack, PolicyError, SlotStorage};

/// Bytes that one compiled pattern may take. Compiling is what a hostile pattern makes slow, so this is small.
const PATTERN_SIZE_BYTES: usize = 128 * 1024;

/// A pattern, compiled when the pack was loaded.
pub(super) type CompiledPattern = Arc<Validator>;

/// Why a value may not be written into a slot. Never holds the value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlotRefusal {
    /// The pack refuses this slot.
    Refused,
    /// It is not of the type the pack asks for.
    WrongType(ShapeType),
    /// It is longer than the pack allows; holds that limit in bytes of compact JSON.
    TooLong(u32),
    /// It does not match the pack's pattern.
    PatternMismatch,
}

impl fmt::Display for SlotRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused => f.write_str("the policy pack refuses this slot"),
            Self::WrongType(ShapeType::String) => f.write_str("the value must be a string"),
            Self::WrongType(_) => f.write_str("the value must be an object"),
            Self::TooLong(limit) => {
                write!(f, "the value is longer than {limit} bytes of compact JSON")
            }
            Self::PatternMismatch => f.write_str("the value does not match the pattern of the policy pack"),
        }
    }
}

impl LoadedPack {
    /// Whether this value may be written into this slot. Which slots exist and who may write them is not asked here.
    pub fn check_slot(&self, slot: &str, value: &Value) -> Result<(), SlotRefusal> {
        let rules = &self.pack.slots;
        if rules.storage_of(slot) == SlotStorage::Refuse {
            return Err(SlotRefusal::Refused);
        }
        let Some(shape) = rules.shapes.get(slot) else {
            return Ok(());
        };
        let fits = match shape.kind {
            ShapeType::String => value.is_string(),
            ShapeType::Object => value.is_object(),
            ShapeType::Any => true,
        };
        if !fits {
            return Err(SlotRefusal::WrongType(shape.kind));
        }
        if value.to_string().len() > shape.max_bytes as usize {
            return Err(SlotRefusal::TooLong(shape.max_bytes));
        }
        match self.patterns.get(slot) {
            Some(pattern) if !pattern.is_valid(value) => Err(SlotRefusal::PatternMismatch),
            _ => Ok(()),
        }
    }
}

/// Compiles every pattern once.
pub(super) fn compile(slots: &SlotRules) -> (BTreeMap<String, CompiledPattern>, Vec<PolicyError>) {
    let mut patterns = BTreeMap::new();
    let mut errors = Vec::new();
    for (slot, SlotShape { pattern, .. }) in &slots.shapes {
        let Some(pattern) = pattern else { continue };
        let built = jsonschema::draft202012::options()
            .with_pattern_options(PatternOptions::regex().size_limit(PATTERN_SIZE_BYTES))
            .build(&json!({ "pattern": pattern }));
        match built {
            Ok(validator) => {
                patterns.insert(slot.clone(), Arc::new(validator));
            }
            Err(_) => errors.push(PolicyError::at(
                format!("/slots/shapes/{slot}/pattern"),
                "this is not a regular expression the server can run, or it is too large",
                "Write one without look-around and back-references, and with small repetition counts, such as \
                 `^[A-Z0-9-]{1,64}$`.",
            )),
        }
    }
    (patterns, errors)
}
