//! What lists of facts can be asked for.

use crate::domain::query::Position;

/// Which facts of a space.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FactQuery {
    /// Those that no longer stand too.
    pub include_invalid: bool,
    pub key: Option<String>,
    /// Where the page begins.
    pub after: Option<Position>,
    /// At most so many.
    pub limit: u32,
}
