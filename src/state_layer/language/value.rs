//! Typed values in a text: money, percentages, dates, times, numbers, codes, places.

mod amounts;
mod chunks;
mod dates;
mod number;
mod places;
mod times;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use chunks::{Chunk, chunks};

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

/// A value read at a chunk: its kind, its canonical form and how many chunks it takes.
type Read = (ValueKind, String, usize);

/// One class of values, tried at a position of the text.
type Reader = fn(&[Chunk<'_>]) -> Option<Read>;

/// The classes, the more telling first: what looks like a phone number is no count.
const READERS: &[Reader] = &[
    places::contact,
    places::street,
    places::numbered,
    amounts::money,
    amounts::percent,
    dates::date,
    times::time,
    amounts::duration,
    places::code,
    amounts::measure,
    amounts::count,
    places::size,
];

/// How many chunks one value may take.
const LONGEST: usize = 8;

/// The values of a text, in order, not overlapping. Takes time in proportion to the text.
#[must_use]
pub fn values(text: &str) -> Vec<TypedValue> {
    let chunks = chunks(text);
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = chunks.get(at..).filter(|rest| !rest.is_empty()) {
        let window = rest.get(..LONGEST.min(rest.len())).unwrap_or(rest);
        let read = window
            .first()
            .filter(|chunk| chunk.may_hold_value())
            .and_then(|_| READERS.iter().find_map(|reader| reader(window)));
        let Some((kind, canonical, taken)) = read else {
            at += 1;
            continue;
        };
        let taken = taken.clamp(1, window.len());
        if let (Some(first), Some(last)) = (window.first(), window.get(taken - 1)) {
            let span = first.start..last.end;
            let written = text.get(span.clone()).unwrap_or_default().to_owned();
            found.push(TypedValue { kind, canonical, text: written, span });
        }
        at += taken;
    }
    found
}

/// Words that name a value without a digit, in plain letters, for weekdays and numbers.
pub fn words_for(kind: ValueKind, form: &str) -> impl Iterator<Item = &'static str> {
    let weekday = form.strip_prefix("weekday-").filter(|_| kind == ValueKind::Date);
    let number = (kind == ValueKind::Number).then_some(form);
    dates::weekdays_of(weekday).chain(number::words_of(number))
}

#[cfg(test)]
#[path = "value_tests.rs"]
mod tests;
