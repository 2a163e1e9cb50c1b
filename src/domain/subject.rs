//! Somebody, as records name them: which texts mean this person, where they stand in a record, and how they go out of one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use serde_json::{Map, Value};

/// The shortest identifier that is looked for inside longer texts; a shorter one has to be all of a text.
const SHORTEST_INSIDE: usize = 6;
/// How many digits in a row are taken for a telephone number with its country code (E.164).
const NUMBER: std::ops::RangeInclusive<usize> = 10..=15;

/// The texts by which records name somebody.
///
/// An identifier counts where it stands by itself: whole, or between characters that are neither letter nor digit. A
/// telephone number counts in whatever it is written into: with a plus, inside an address of a channel, and encoded
/// inside a message id (a wamid is Base64 and holds the number).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Identifiers {
    exact: Vec<String>,
    whole: Vec<String>,
    numbers: Vec<String>,
    encoded: Vec<Encoded>,
}

/// A number in Base64, with so many bytes of a group of three before it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Encoded {
    number: String,
    offset: usize,
    /// The characters that do not depend on what stands beside it.
    certain: String,
}

impl Identifiers {
    /// Takes in another text that means this person.
    pub fn add(&mut self, text: &str) {
        if text.is_empty() || self.exact.iter().any(|known| known == text) {
            return;
        }
        self.exact.push(text.to_owned());
        let runs = text.split(|c: char| !c.is_ascii_digit()).filter(|run| NUMBER.contains(&run.len()));
        for number in runs {
            if !self.numbers.iter().any(|known| known == number) {
                self.numbers.push(number.to_owned());
                self.encoded.extend((0..3).map(|offset| Encoded::of(number, offset)));
            }
        }
    }

    /// Takes in a text that means something of this person's only where it is all of a text: the id of a conversation.
    pub fn add_whole(&mut self, text: &str) {
        if !text.is_empty() && !self.whole.iter().any(|known| known == text) {
            self.whole.push(text.to_owned());
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.whole.is_empty()
    }

    /// What a database looks for in the text of a record: whatever has none of these names nobody. More than what counts.
    #[must_use]
    pub fn needles(&self) -> Vec<String> {
        let written = |text: &String| {
            let quoted = Value::String(text.clone()).to_string();
            quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default().to_owned()
        };
        self.exact
            .iter()
            .chain(&self.whole)
            .map(written)
            .chain(self.numbers.iter().chain(self.encoded.iter().map(|encoded| &encoded.certain)).cloned())
            .collect()
    }

    /// Whether a text names this person.
    #[must_use]
    pub fn name(&self, text: &str) -> bool {
        self.whole.iter().any(|whole| text == whole)
            || self.exact.iter().any(|exact| text == exact || stands_in(text, exact))
            || self.numbers.iter().any(|number| places(text, number, |c| c.is_ascii_digit()).next().is_some())
            || self.encoded.iter().any(|encoded| encoded.stands_in(text))
    }

    /// Whether a record names this person, in a value or in the name of a member.
    #[must_use]
    pub fn occur_in(&self, record: &Value) -> bool {
        match record {
            Value::String(text) => self.name(text),
            Value::Array(items) => items.iter().any(|item| self.occur_in(item)),
            Value::Object(members) => members.iter().any(|(name, value)| self.name(name) || self.occur_in(value)),
            // A number that was written as one.
            Value::Number(number) => self.numbers.iter().any(|known| number.to_string() == *known),
            Value::Null | Value::Bool(_) => false,
        }
    }

    /// Puts a pseudonym in the place of every text that names this person.
    #[must_use]
    pub fn scrubbed(&self, record: Value, pseudonym: &str) -> Value {
        match record {
            Value::String(text) if self.name(&text) => Value::String(self.without(&text, pseudonym)),
            Value::Array(items) => items.into_iter().map(|item| self.scrubbed(item, pseudonym)).collect(),
            Value::Object(members) => {
                let scrubbed = members.into_iter().map(|(name, value)| {
                    let name = if self.name(&name) { self.without(&name, pseudonym) } else { name };
                    (name, self.scrubbed(value, pseudonym))
                });
                Value::Object(scrubbed.collect::<Map<_, _>>())
            }
            Value::Number(_) if self.occur_in(&record) => Value::String(pseudonym.to_owned()),
            other => other,
        }
    }

    /// The rest of a text stays where the identifier stands by itself in it.
    fn without(&self, text: &str, pseudonym: &str) -> String {
        let mut left = text.to_owned();
        for exact in self.exact.iter().filter(|exact| exact.len() >= SHORTEST_INSIDE) {
            left = replaced(&left, exact, pseudonym, char::is_alphanumeric);
        }
        for number in &self.numbers {
            left = replaced(&left, number, pseudonym, |c| c.is_ascii_digit());
        }
        if self.name(&left) { pseudonym.to_owned() } else { left }
    }
}

fn stands_in(text: &str, exact: &str) -> bool {
    exact.len() >= SHORTEST_INSIDE && places(text, exact, char::is_alphanumeric).next().is_some()
}

/// Where a text occurs in another without being the part of a longer word; `joins` says what makes a word longer.
fn places<'a>(text: &'a str, wanted: &'a str, joins: impl Fn(char) -> bool + 'a) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(wanted).map(|(at, _)| at).filter(move |at| {
        let before = text.get(..*at).and_then(|before| before.chars().next_back());
        let after = text.get(at + wanted.len()..).and_then(|after| after.chars().next());
        !before.is_some_and(&joins) && !after.is_some_and(&joins)
    })
}

fn replaced(text: &str, wanted: &str, by: &str, joins: impl Fn(char) -> bool) -> String {
    let mut left = String::with_capacity(text.len());
    let mut from = 0;
    for at in places(text, wanted, joins) {
        left.push_str(text.get(from..at).unwrap_or_default());
        left.push_str(by);
        from = at + wanted.len();
    }
    left.push_str(text.get(from..).unwrap_or_default());
    left
}

impl Encoded {
    fn of(number: &str, offset: usize) -> Self {
        let bytes = [&[0_u8, 0][..offset], number.as_bytes()].concat();
        let (first, last) = ((offset * 8).div_ceil(6), bytes.len() * 8 / 6);
        let certain = STANDARD_NO_PAD.encode(&bytes).get(first..last).unwrap_or_default().to_owned();
        Self { number: number.to_owned(), offset, certain }
    }

    /// Whether the number, and no longer one, is encoded there: its last digit shares a character with what follows it.
    fn stands_in(&self, text: &str) -> bool {
        let (first, end) = ((self.offset * 8).div_ceil(6), self.offset + self.number.len());
        let mut starts = text.match_indices(&self.certain).filter_map(|(at, _)| at.checked_sub(first));
        starts.any(|start| {
            let bytes = decoded(text.as_bytes().get(start..).unwrap_or_default(), end + 1);
            let before = self.offset.checked_sub(1).and_then(|before| bytes.get(before));
            bytes.get(self.offset..end) == Some(self.number.as_bytes())
                && !bytes.get(end).is_some_and(u8::is_ascii_digit)
                && !before.is_some_and(u8::is_ascii_digit)
        })
    }
}

/// So many bytes of a text in Base64, or as many as there are.
fn decoded(text: &[u8], most: usize) -> Vec<u8> {
    let (mut bytes, mut bits, mut held) = (Vec::with_capacity(most), 0_u32, 0_u32);
    for character in text {
        let value = match character {
            b'A'..=b'Z' => character - b'A',
            b'a'..=b'z' => character - b'a' + 26,
            b'0'..=b'9' => character - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => break,
        };
        bits = ((bits << 6) | u32::from(value)) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push(u8::try_from((bits >> held) & 0xff).unwrap_or_default());
        }
        if bytes.len() == most {
            break;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn identifiers(texts: &[&str]) -> Identifiers {
        let mut identifiers = Identifiers::default();
        for text in texts {
            identifiers.add(text);
        }
        identifiers
    }

    #[test]
    fn an_identifier_counts_where_it_stands_by_itself() {
        let ana = identifiers(&["user-17", "ana", "+5511999990001"]);
        for (text, named) in [
            ("user-17", true),
            ("of user-17, twice", true),
            ("user-171", false),
            ("superuser-17", false),
            ("ana", true),
            ("for ana", false),
            ("banana", false),
            ("5511999990001@c.us", true),
            ("wa:5511999990001", true),
            ("55119999900012", false),
            ("15511999990001", false),
            ("order 5511 999990001", false),
        ] {
            assert_eq!(ana.name(text), named, "{text}");
        }
        assert!(ana.occur_in(&json!({"a": [1, {"user-17": null}]})));
        assert!(ana.occur_in(&json!({"a": 5_511_999_990_001_u64})));
        assert!(!ana.occur_in(&json!({"a": [1, {"user-1": null}], "b": true})));
    }

    #[test]
    fn a_number_is_found_inside_a_message_id_however_it_is_aligned() {
        let ana = identifiers(&["5511999990001"]);
        for before in ["", "a", "ab", "abc", "\u{1d}\u{7}"] {
            let id = format!("wamid.{}", STANDARD_NO_PAD.encode(format!("{before}5511999990001 and more")));
            assert!(ana.name(&id), "{id}");
            assert!(ana.needles().iter().any(|needle| id.contains(needle)), "{id}");
            for other in ["5511999990000", "5511999990002", "5511999990003", "55119999900012", "551199999000"] {
                let other = format!("wamid.{}", STANDARD_NO_PAD.encode(format!("{before}{other} and more")));
                assert!(!ana.name(&other), "{other}");
            }
        }
    }

    #[test]
    fn scrubbing_leaves_what_others_have_said() {
        let ana = identifiers(&["user-17", "+5511999990001"]);
        let record = json!({"note": "call +5511999990001 or user-18", "by": "user-17", "user-17": [5_511_999_990_001_u64],
                            "id": format!("wamid.{}", STANDARD_NO_PAD.encode("x5511999990001")), "kept": "user-170"});
        let scrubbed = ana.scrubbed(record, "erased-1");
        assert!(!ana.occur_in(&scrubbed));
        let expected = json!({"note": "call erased-1 or user-18", "by": "erased-1", "erased-1": ["erased-1"],
                              "id": "erased-1", "kept": "user-170"});
        assert_eq!(scrubbed, expected);
    }

    #[test]
    fn what_counts_is_found_by_a_needle() {
        let odd = identifiers(&["a \"quoted\" \\ name", "+5511999990001"]);
        for text in ["a \"quoted\" \\ name", "x +5511999990001"] {
            let record = json!({ "t": text });
            let written = record.to_string();
            assert!(odd.occur_in(&record) && odd.needles().iter().any(|needle| written.contains(needle)), "{text}");
        }
    }
}
