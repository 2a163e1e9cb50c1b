//! Reading JSON as strictly as what will be hashed has to be read.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Number, Value};

use super::number::{self, Step};

/// The largest integer that every JSON reader agrees on: 2^53 − 1.
pub const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;
/// The deepest nesting accepted; well under what the reader's stack allows.
pub const MAX_DEPTH: usize = 64;

/// Why a text is not JSON that can be hashed safely. Of the text it carries the names on the way to a place, and says none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Not JSON at all.
    #[error("not valid JSON at line {line}, column {column}")]
    Syntax {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// An object names one member twice.
    #[error("an object names the same member twice at line {line}, column {column}")]
    DuplicateKey {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// An integer that other readers would round.
    #[error("an integer lies beyond ±(2^53−1) at line {line}, column {column}; send it as a string")]
    UnsafeInteger {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
    },
    /// A number whose decimal value is not that of its IEEE double, so that other readers would take it for another.
    #[error("a number does not survive exactly as an IEEE double at line {line}, column {column}; send it as a string")]
    NumberNotExact {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// The way to the number, where it is known.
        path: Vec<Step>,
    },
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

const DUPLICATE: &str = "cscp:duplicate";
const UNSAFE: &str = "cscp:unsafe";
const DEEP: &str = "cscp:deep";
/// What the library says of a number that is too large for a double.
const OUT_OF_RANGE: &str = "number out of range";

/// Reads JSON strictly: no duplicate members at any depth, no number that would be rounded, bounded depth.
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    match read(bytes) {
        // Nothing but its numbers is wrong with it as far as it was read. The first of them is told.
        read @ (Ok(_) | Err(JsonError::UnsafeInteger { .. } | JsonError::NumberNotExact { .. })) => {
            number::check(bytes).and(read)
        }
        read => read,
    }
}

/// Reads into a tree that borrows what it can, for whoever only looks at what was written in canonical form. Fractions are
/// not held against their text.
pub fn parse_borrowed(bytes: &[u8]) -> Result<Json<'_>, JsonError> {
    read(bytes)
}

fn read<'a, T: Tree<'a>>(bytes: &'a [u8]) -> Result<T, JsonError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = Strict::new(0).deserialize(&mut reader).and_then(|value| reader.end().map(|()| value));
    value.map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let text = error.to_string();
        if text.starts_with(DUPLICATE) {
            JsonError::DuplicateKey { line, column }
        } else if text.starts_with(UNSAFE) {
            JsonError::UnsafeInteger { line, column }
        } else if text.starts_with(OUT_OF_RANGE) {
            JsonError::NumberNotExact { line, column, path: Vec::new() }
        } else if text.starts_with(DEEP) || text.starts_with("recursion limit") {
            JsonError::TooDeep
        } else {
            JsonError::Syntax { line, column }
        }
    })
}

/// A text of JSON, borrowed unless something in it is escaped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Text<'a>(Cow<'a, str>);

impl std::ops::Deref for Text<'_> {
    type Target = str;
    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
            fn visit_string<E>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }
        reader.deserialize_string(Read)
    }
}

/// A JSON value that was read strictly and borrows what it can. Inside a larger type it is as strict.
#[derive(Debug, Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number that every reader agrees on.
    Number(Number),
    Text(Text<'a>),
    Array(Vec<Self>),
    /// An object's members, in the order of their names and each once.
    Object(Vec<(Text<'a>, Self)>),
}

impl<'a> Json<'a> {
    /// The member of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        let at = members.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        members.get(at).map(|(_, value)| value)
    }

    /// The text, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The number, if it is one that counts.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.as_u64() } else { None }
    }

    /// The members, if it is an object.
    #[must_use]
    pub fn members(&self) -> Option<&[(Text<'a>, Self)]> {
        if let Self::Object(members) = self { Some(members) } else { None }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        Strict::new(0).deserialize(reader)
    }
}

/// What a strict reader builds.
trait Tree<'a>: Sized {
    fn null() -> Self;
    fn bool(value: bool) -> Self;
    fn number(value: Number) -> Self;
    fn text(value: Text<'a>) -> Self;
    fn array(items: Vec<Self>) -> Self;
    /// None if a name comes twice.
    fn object(members: Vec<(Text<'a>, Self)>) -> Option<Self>;
}

impl<'a> Tree<'a> for Json<'a> {
    fn null() -> Self {
        Self::Null
    }
    fn bool(value: bool) -> Self {
        Self::Bool(value)
    }
    fn number(value: Number) -> Self {
        Self::Number(value)
    }
    fn text(value: Text<'a>) -> Self {
        Self::Text(value)
    }
    fn array(items: Vec<Self>) -> Self {
        Self::Array(items)
    }
    fn object(mut members: Vec<(Text<'a>, Self)>) -> Option<Self> {
        // What was written in order is in order, which is quickly seen.
        if !members.is_sorted_by(|(one, _), (next, _)| one < next) {
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        let once = members.is_sorted_by(|(one, _), (next, _)| one < next);
        once.then_some(Self::Object(members))
    }
}

impl<'a> Tree<'a> for Value {
    fn null() -> Self {
        Self::Null
    }
    fn bool(value: bool) -> Self {
        Self::Bool(value)
    }
    fn number(value: Number) -> Self {
        Self::Number(value)
    }
    fn text(value: Text<'a>) -> Self {
        Self::String(value.0.into_owned())
    }
    fn array(items: Vec<Self>) -> Self {
        Self::Array(items)
    }
    fn object(members: Vec<(Text<'a>, Self)>) -> Option<Self> {
        let count = members.len();
        let object: Map<String, Self> = members.into_iter().map(|(name, value)| (name.0.into_owned(), value)).collect();
        (object.len() == count).then_some(Self::Object(object))
    }
}

struct Strict<T> {
    depth: usize,
    tree: PhantomData<T>,
}

impl<T> Strict<T> {
    fn new(depth: usize) -> Self {
        Self { depth, tree: PhantomData }
    }

    fn deeper<E: serde::de::Error>(&self) -> Result<usize, E> {
        if self.depth >= MAX_DEPTH { Err(E::custom(DEEP)) } else { Ok(self.depth + 1) }
    }
}

impl<'de, T: Tree<'de>> DeserializeSeed<'de> for Strict<T> {
    type Value = T;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<T, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de, T: Tree<'de>> Visitor<'de> for Strict<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::null())
    }
    fn visit_bool<E>(self, value: bool) -> Result<T, E> {
        Ok(T::bool(value))
    }
    fn visit_borrowed_str<E>(self, value: &'de str) -> Result<T, E> {
        Ok(T::text(Text(Cow::Borrowed(value))))
    }
    fn visit_str<E>(self, value: &str) -> Result<T, E> {
        Ok(T::text(Text(Cow::Owned(value.to_owned()))))
    }
    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<T, E> {
        if value > MAX_SAFE_INTEGER { Err(E::custom(UNSAFE)) } else { Ok(T::number(value.into())) }
    }
    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<T, E> {
        if value.unsigned_abs() > MAX_SAFE_INTEGER { Err(E::custom(UNSAFE)) } else { Ok(T::number(value.into())) }
    }
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<T, E> {
        // 2^53 itself is excluded: 2^53 + 1 arrives here already rounded to it.
        if value.fract() == 0.0 && value.abs() >= 9_007_199_254_740_992.0 {
            return Err(E::custom(UNSAFE));
        }
        Number::from_f64(value).map(T::number).ok_or_else(|| E::custom(UNSAFE))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<T, A::Error> {
        let depth = self.deeper()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Strict::new(depth))? {
            list.push(item);
        }
        Ok(T::array(list))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<T, A::Error> {
        let depth = self.deeper()?;
        let mut object = Vec::new();
        while let Some(name) = members.next_key()? {
            object.push((name, members.next_value_seed(Strict::new(depth))?));
        }
        T::object(object).ok_or_else(|| A::Error::custom(DUPLICATE))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn duplicate_members_are_refused_at_every_depth() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"x":{"b":1,"b":1}}]"#, r#"{"a":1,"\u0061":2}"#] {
            assert!(matches!(parse(text.as_bytes()), Err(JsonError::DuplicateKey { .. })), "{text}");
        }
    }

    #[test]
    fn integers_that_would_be_rounded_are_refused() {
        for text in
            ["9007199254740992", "9007199254740993", "-9007199254740992", "[1e16]", "18446744073709551616", "1e999"]
        {
            assert!(parse(text.as_bytes()).is_err(), "{text}");
        }
        for text in ["9007199254740991", "-9007199254740991", "0.1", "1e3", "82000.5"] {
            assert!(parse(text.as_bytes()).is_ok(), "{text}");
        }
    }

    #[test]
    fn depth_and_trailing_bytes_are_bounded() {
        let deep = "[".repeat(MAX_DEPTH + 1) + &"]".repeat(MAX_DEPTH + 1);
        assert_eq!(parse(deep.as_bytes()), Err(JsonError::TooDeep));
        assert_eq!(parse("[".repeat(100_000).as_bytes()), Err(JsonError::TooDeep));
        assert!(matches!(parse(b"{} {}"), Err(JsonError::Syntax { .. })));
        assert!(matches!(parse(b""), Err(JsonError::Syntax { .. })));
    }

    #[test]
    fn a_tree_that_borrows_has_the_same_members_in_order() {
        let text = r#"{"b":[1,null,true,-2.5],"a":"x","\u00e9":{"z":"\n","y":{}}}"#;
        let tree = parse_borrowed(text.as_bytes()).unwrap();
        assert_eq!(tree.get("a").and_then(Json::as_str), Some("x"));
        assert_eq!(tree.get("\u{e9}").and_then(|inner| inner.get("z")).and_then(Json::as_str), Some("\n"));
        assert_eq!((tree.get("b").and_then(Json::as_u64), tree.get("c"), Json::Null.get("a")), (None, None, None));
        let names: Vec<&str> = tree.members().unwrap().iter().map(|(name, _)| &**name).collect();
        assert_eq!(names, ["a", "b", "\u{e9}"]);
        let plain = |text: &Text<'_>| matches!(text.0, Cow::Borrowed(_));
        assert!(tree.members().unwrap().iter().map(|(name, _)| plain(name)).eq([true, true, false]));
        assert_eq!(tree.get("b"), parse_borrowed(b"[1,null,true,-2.5]").ok().as_ref());
    }

    /// The tree as a value, by another way than reading it as one.
    fn value(tree: &Json<'_>) -> Value {
        match tree {
            Json::Null => Value::Null,
            Json::Bool(is) => json!(is),
            Json::Number(number) => Value::Number(number.clone()),
            Json::Text(text) => json!(**text),
            Json::Array(items) => items.iter().map(value).collect(),
            Json::Object(members) => members.iter().map(|(name, member)| (name.to_string(), value(member))).collect(),
        }
    }

    proptest! {
        #[test]
        fn strict_reading_agrees_with_the_library_on_what_it_accepts(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(value) = parse(&bytes) {
                prop_assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), value);
            }
        }

        #[test]
        fn both_trees_are_of_the_same_texts(text in r#"[\[\]{}:,"\\a-cu0-9.e -]{0,24}|(\{("[ab\\n]{0,2}":[0-9]{1,17},?){0,3}\})"#) {
            let (owned, borrowed) = (read::<Value>(text.as_bytes()), parse_borrowed(text.as_bytes()));
            prop_assert_eq!(owned.as_ref().err(), borrowed.as_ref().err());
            prop_assert_eq!(owned.ok(), borrowed.ok().as_ref().map(value));
        }
    }
}
