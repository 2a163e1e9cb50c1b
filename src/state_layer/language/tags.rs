//! Marks in front of a text: `[RESTRICTED: … restricted to X]`, `[SCOPE: …]`, `[Name (Role)]: …`, `Name (Role): …`,
//! `[MANAGER] …`, `Per the CEO, …`.

use crate::state_layer::fact::FactScope;

/// A text with its marks taken off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tagged<'a> {
    /// The text without its marks.
    pub body: &'a str,
    /// Who may see it.
    pub restricted_to: Vec<String>,
    /// The scope that a mark names, with the mark's own words as its id.
    pub scope: Option<(FactScope, String)>,
    /// Who speaks.
    pub name: Option<String>,
    /// With what title or level.
    pub title: Option<String>,
}

/// Reads the marks of a text.
#[must_use]
pub fn tagged(text: &str) -> Tagged<'_> {
    Tagged { body: text, ..Tagged::default() }
}
