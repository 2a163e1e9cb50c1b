//! Typed values in a text: money, percentages, dates, times, numbers, codes, places.

mod amounts;
mod chunks;
mod dates;
mod number;
mod places;
mod times;

use std::ops::Range;

use serde::{Deserialize, Serialize};

use chunks::{Chunk, Chunks};

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
    Values::of(text).collect()
}

/// The values of a text one after the other, read as far as they are asked for.
#[derive(Debug)]
pub struct Values<'a> {
    text: &'a str,
    coming: Chunks<'a>,
    /// The chunks that were cut so far.
    cut: Vec<Chunk<'a>>,
    /// The chunk where the next value may start.
    at: usize,
}

impl<'a> Values<'a> {
    /// The values of this text.
    #[must_use]
    pub fn of(text: &'a str) -> Self {
        Self { text, coming: Chunks::of(text), cut: Vec::with_capacity(LONGEST), at: 0 }
    }

    /// Whether the text was read to its end.
    #[must_use]
    pub fn is_done(&self) -> bool {
        self.at >= self.cut.len() && self.coming.is_done()
    }

    /// The value that starts at the next chunk, if one does, and how many chunks were gone through.
    fn step(&mut self) -> Option<(Option<TypedValue>, usize)> {
        while self.cut.len() < self.at + LONGEST
            && let Some(chunk) = self.coming.next()
        {
            self.cut.push(chunk);
        }
        let window = self.cut.get(self.at..)?;
        let window = window.get(..LONGEST.min(window.len())).unwrap_or(window);
        let first = window.first()?;
        let read = first.may_hold_value().then(|| READERS.iter().find_map(|reader| reader(window))).flatten();
        let Some((kind, canonical, taken)) = read else { return Some((None, 1)) };
        let taken = taken.clamp(1, window.len());
        let span = first.start..window.get(taken - 1).map_or(first.end, |last| last.end);
        let text = self.text.get(span.clone()).unwrap_or_default().to_owned();
        Some((Some(TypedValue { kind, canonical, text, span }), taken))
    }
}

impl Iterator for Values<'_> {
    type Item = TypedValue;

    fn next(&mut self) -> Option<TypedValue> {
        loop {
            let (value, taken) = self.step()?;
            self.at += taken;
            if value.is_some() {
                return value;
            }
        }
    }
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
