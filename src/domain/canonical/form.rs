//! Whether a text is in canonical form already: read once, with nothing built.

use std::cmp::Ordering;

use super::{MAX_SAFE_INTEGER, canonical};

/// The deepest nesting looked into: as deep as the reader of typed records goes. Records hold callers' values, each of
/// which may be [`MAX_DEPTH`](super::MAX_DEPTH) deep.
const DEEPEST: usize = 127;
/// An integer with fewer digits is safe, whatever they are.
const SAFE_DIGITS: usize = 15;

/// Whether a text is JSON exactly as RFC 8785 writes it: no space, members in order and each once, every text and every
/// number in its one form. What [`canonical`] makes of any value is; what is, [`canonical`] makes again of its value.
#[must_use]
pub fn is_canonical(text: &str) -> bool {
    let mut scan = Scan { text, at: 0 };
    scan.value(0).is_some() && scan.at == text.len()
}

/// A text as far as it was read. Whatever is not in form reads as none.
struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scan<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn take(&mut self, token: &str) -> Option<()> {
        let follows = self.text.as_bytes().get(self.at..)?.starts_with(token.as_bytes());
        self.at += if follows { token.len() } else { return None };
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<()> {
        match self.peek()? {
            b'"' => self.string().map(drop),
            b'{' if depth < DEEPEST => self.object(depth + 1),
            b'[' if depth < DEEPEST => self.array(depth + 1),
            b't' => self.take("true"),
            b'f' => self.take("false"),
            b'n' => self.take("null"),
            _ => self.number(),
        }
    }

    fn object(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        if self.peek()? == b'}' {
            self.at += 1;
            return Some(());
        }
        let mut before: Option<&str> = None;
        loop {
            let name = self.string()?;
            if before.is_some_and(|before| order(before, name) != Ordering::Less) {
                return None;
            }
            before = Some(name);
            self.take(":")?;
            self.value(depth)?;
            if self.ends(b'}')? {
                return Some(());
            }
        }
    }

    fn array(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        if self.peek()? == b']' {
            self.at += 1;
            return Some(());
        }
        loop {
            self.value(depth)?;
            if self.ends(b']')? {
                return Some(());
            }
        }
    }

    /// Whether this is the end, or a comma before one more.
    fn ends(&mut self, end: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.at += 1;
        if byte == end { Some(true) } else { (byte == b',').then_some(false) }
    }

    /// A text as it is written, between its quotes.
    fn string(&mut self) -> Option<&'a str> {
        self.take("\"")?;
        let begun = self.at;
        loop {
            let rest = self.text.as_bytes().get(self.at..)?;
            self.at += rest.iter().position(|byte| matches!(byte, b'"' | b'\\' | 0..0x20))?;
            match self.peek()? {
                b'"' => break,
                b'\\' => self.escape()?,
                _ => return None,
            }
        }
        let written = self.text.get(begun..self.at);
        self.at += 1;
        written
    }

    /// Only what must be escaped is, and each in its shortest form.
    fn escape(&mut self) -> Option<()> {
        let bytes = self.text.as_bytes().get(self.at + 1..)?;
        self.at += match bytes {
            [b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't', ..] => 2,
            [b'u', b'0', b'0', high @ b'0'..=b'1', low @ (b'0'..=b'9' | b'a'..=b'f'), ..]
                if !(*high == b'0' && matches!(low, b'8' | b'9' | b'a' | b'c' | b'd')) =>
            {
                6
            }
            _ => return None,
        };
        Some(())
    }

    fn number(&mut self) -> Option<()> {
        let rest = self.text.get(self.at..)?;
        let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e');
        let token = rest.get(..rest.bytes().position(|byte| !is_part(&byte)).unwrap_or(rest.len()))?;
        self.at += token.len();
        let digits = token.strip_prefix('-').unwrap_or(token);
        let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole && !digits.starts_with('0') && digits.len() <= SAFE_DIGITS || token == "0" {
            return Some(());
        }
        if whole {
            let safe = digits.parse::<u64>().is_ok_and(|number| number <= MAX_SAFE_INTEGER);
            return (safe && !digits.starts_with('0')).then_some(());
        }
        // Rare: the one form of any other number is what writing it again gives.
        let number: f64 = serde_json::from_str(token).ok()?;
        (canonical(&number) == token.as_bytes()).then_some(())
    }
}

/// The order of members: by UTF-16, as RFC 8785 asks. Of ASCII that is the order of bytes.
fn order(one: &str, other: &str) -> Ordering {
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii() && byte != b'\\');
    if plain(one) && plain(other) {
        return one.cmp(other);
    }
    let read = |name: &str| serde_json::from_str::<String>(&format!("\"{name}\"")).unwrap_or_default();
    read(one).encode_utf16().cmp(read(other).encode_utf16())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    use super::*;
    use crate::domain::canonical::parse;

    /// Values with the members, texts and numbers that have more than one way to be written.
    fn values() -> impl Strategy<Value = Value> {
        let texts = prop_oneof![
            any::<String>(),
            "[\u{0}-\u{1f}\"\\\\/a\u{7f}\u{e000}\u{fb33}\u{1f600}]{0,4}".prop_map(String::from),
        ];
        let numbers = prop_oneof![
            any::<f64>().prop_filter("what can be hashed", |n| n.is_finite() && (n.fract() != 0.0 || n.abs() < 9e15)),
            (-9_007_199_254_740_991.0..=9_007_199_254_740_991.0).prop_map(f64::trunc),
            (-9_i32..9).prop_map(f64::from),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            numbers.prop_map(|n| parse(&canonical(&n)).unwrap()),
            texts.clone().prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 40, 5, move |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
                proptest::collection::vec((texts.clone(), inner), 0..5)
                    .prop_map(|members| Value::Object(Map::from_iter(members))),
            ]
        })
    }

    /// Whether all of these, separated by lines, are in form, as writing them again says too.
    fn all(lines: &str, expected: bool) {
        for text in lines.lines().map(str::trim) {
            assert_eq!(is_canonical(text), expected, "{text}");
            let again = parse(text.as_bytes()).map(|value| canonical(&value));
            assert_eq!(again.as_deref() == Ok(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn numbers_have_one_form() {
        all("0\n-1\n9007199254740991\n0.1\n1e-7\n-1.5\n100000000000000", true);
        all("-0\n01\n1.0\n1e3\n1E-7\n+1\n-\n.5\n1.\n9007199254740992\n1e21\n-9007199254740993\n1e999\n1-1\n0,1", false);
    }

    #[test]
    fn texts_have_one_form() {
        all("\"\"\n\"\u{7f}/\u{1f600}\"\n\"\\u0000\\b\\t\\n\\u000b\\f\\r\\u001f\\\"\\\\\"", true);
        let escapes = ["/", "u0041", "u000A", "u000a", "u0008", "u001F", "u0020", "x", "ud83d\\ude00", "u00", ""];
        for escape in escapes {
            all(&format!("\"\\{escape}\""), false);
        }
        all("\"\n\"\u{1}\"\n\"a", false);
    }

    #[test]
    fn values_have_one_form() {
        all("true\nfalse\nnull\n[]\n{}\n[1,\"x\",[]]\n{\"\":1,\"a\":{\"b\":[1,\"x\"]},\"aa\":2}", true);
        all("{\"a\":3,\"\u{1f600}\":2,\"\u{fb33}\":1}", true);
        all(
            "truE\nnul\n[1,]\n[,1]\n[1 ,2]\n[1\n]\n{\n{\"a\":1,}\n{\"a\": 1}\n{\"b\":1,\"a\":2}\n{\"a\":1,\"a\":2}",
            false,
        );
        all("{a:1}\n{\"a\"1}\n{\"\u{fb33}\":1,\"\u{1f600}\":2}\n{\"a\":1}{", false);
        assert!(!is_canonical("") && !is_canonical(" 0") && !is_canonical("0 "));
    }

    #[test]
    fn depth_is_bounded_where_the_reader_of_records_ends() {
        let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        for depth in [1, 64, 127, 128, 129, 100_000] {
            let text = nested(depth);
            assert_eq!(is_canonical(&text), serde_json::from_str::<Value>(&text).is_ok(), "{depth}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_in_form(value in values()) {
            let text = String::from_utf8(canonical(&value)).unwrap();
            prop_assert!(is_canonical(&text), "{}", text);
        }

        /// One change to a text in form: either it is no longer, or it is the form of another value.
        #[test]
        fn what_is_in_form_is_what_would_be_written(value in values(), place in any::<proptest::sample::Index>(),
                                                    new in "[ -~\u{0}\u{e9}\u{fb33}\u{1f600}]{0,2}", cut in 0_usize..3) {
            let text: Vec<char> = String::from_utf8(canonical(&value)).unwrap().chars().collect();
            let at = place.index(text.len());
            let until = (at + cut).min(text.len());
            let changed: String = text[..at].iter().copied().chain(new.chars()).chain(text[until..].iter().copied()).collect();
            let again = parse(changed.as_bytes()).map(|value| canonical(&value));
            prop_assert_eq!(is_canonical(&changed), again.as_deref() == Ok(changed.as_bytes()), "{}", changed);
        }
    }
}
