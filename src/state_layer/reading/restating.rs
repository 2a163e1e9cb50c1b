//! Whether a written fact replaces another one under another key.

use super::Bearing;
use crate::state_layer::fact::Fact;

/// Whether a written fact restates an older one.
#[must_use]
pub fn restates(_old: &Fact, _new: &Fact) -> Option<Bearing> {
    None
}
