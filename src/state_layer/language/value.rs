//! Typed values in a text: money, percentages, dates, times, numbers, codes, places.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValueKind {
    /// An amount of money.
    Money,
    /// A share of a hundred.
    Percent,
    /// A day: a date, a weekday, "tomorrow".
    Date,
    /// A time of day.
    Time,
    /// A length of time.
    Duration,
    /// A count or a measure.
    Number,
    /// An identifier: letters and digits.
    Code,
    /// A street, a city, a room.
    Place,
    /// An e-mail address or a phone number.
    Contact,
    /// A name or any other word in the place of a value.
    Word,
}

/// A value found in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypedValue {
    /// What it is.
    pub kind: ValueKind,
    /// Its canonical form: equal values of one kind have equal forms.
    pub canonical: String,
    /// As it was written.
    pub text: String,
    /// Where it stands, in bytes.
    pub span: Range<usize>,
}

/// The values of a text, in order, not overlapping.
#[must_use]
pub fn values(_text: &str) -> Vec<TypedValue> {
    Vec::new()
}
