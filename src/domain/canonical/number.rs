//! Numbers as they were written, against the one that every reader makes of them.
//!
//! Readers of JSON keep a number as an IEEE double, and canonical JSON writes a double in its shortest form. A number whose
//! decimal value is not that of its double's shortest form would be compared, hashed and executed as another number.

use super::{JsonError, MAX_SAFE_INTEGER, canonical};

/// The most significant digits that the shortest form of a double has.
const MOST_DIGITS: usize = 17;
/// Every double that is not zero lies between 10 to the power of minus this and of this.
const LARGEST_EXPONENT: i64 = 400;

/// One step of the way from the top of a document to one of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// To the member of this name.
    Member(String),
    /// To the item at this place, counted from 0.
    Item(usize),
}

/// Complains about the first number that would not survive being read and written. The text before it is valid JSON.
pub(super) fn check(text: &[u8]) -> Result<(), JsonError> {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        let end = match byte {
            b'"' => end_of_string(text, at),
            b'-' | b'0'..=b'9' => {
                let end = end_of_number(text, at);
                if let Some(fault) = fault(text.get(at..end).unwrap_or_default()) {
                    return Err(told(fault, text, at));
                }
                end
            }
            _ => at + 1,
        };
        at = end;
    }
    Ok(())
}

/// What keeps a number from surviving.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    /// It is an integer beyond ±(2^53−1).
    Unsafe,
    /// Its value is not that of the double's shortest form, or it is a negative zero, whose sign is lost.
    Inexact,
}

fn told(fault: Fault, text: &[u8], at: usize) -> JsonError {
    let before = text.get(..at).unwrap_or_default();
    let line = 1 + memchr::memchr_iter(b'\n', before).count();
    let column = 1 + before.iter().rev().take_while(|byte| **byte != b'\n').count();
    match fault {
        Fault::Unsafe => JsonError::UnsafeInteger { line, column },
        Fault::Inexact => JsonError::NumberNotExact { line, column, path: path_to(before) },
    }
}

fn fault(token: &[u8]) -> Option<Fault> {
    let digits = token.strip_prefix(b"-").unwrap_or(token);
    if digits.iter().all(u8::is_ascii_digit) {
        let number = digits.iter().try_fold(0_u64, |number, digit| {
            number.checked_mul(10).and_then(|number| number.checked_add(u64::from(digit - b'0')))
        });
        return match number {
            Some(0) if digits.len() < token.len() => Some(Fault::Inexact),
            Some(0..=MAX_SAFE_INTEGER) => None,
            _ => Some(Fault::Unsafe),
        };
    }
    let Some(double) = exact_double(token) else { return Some(Fault::Inexact) };
    // The first double beyond the safe integers is 2^53; from there on every double is an integer.
    (double.abs() >= 9_007_199_254_740_992.0).then_some(Fault::Unsafe)
}

/// The double that a number is exactly, in the sense of its shortest form.
fn exact_double(token: &[u8]) -> Option<f64> {
    let written = Decimal::read(token)?;
    if written.digits.is_empty() {
        return (!token.starts_with(b"-")).then_some(0.0);
    }
    if written.exponent.abs() > LARGEST_EXPONENT {
        return None;
    }
    // At most 17 digits and a small exponent, however long the number was written.
    let double: f64 = format!("0.{}e{}", written.digits, written.exponent).parse().ok()?;
    if !double.is_finite() {
        return None;
    }
    // Of a double that lies halfway between two shortest forms canonical JSON writes the even one, as JavaScript does.
    let shortest = Decimal::read(&canonical(&double))?;
    (shortest == written).then_some(double)
}

/// A decimal without its sign: 0.`digits` times ten to the power of `exponent`. The digits neither begin nor end with a
/// zero; zero has none. So two decimals are of the same value if and only if they are equal.
#[derive(Debug, PartialEq, Eq)]
struct Decimal {
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Reads a JSON number once from left to right; none if it has more significant digits than a double could need.
    fn read(token: &[u8]) -> Option<Self> {
        let mut digits = String::new();
        let (mut zeros, mut exponent, mut fraction) = (0_usize, 0_i64, false);
        let mut bytes = token.iter();
        for byte in bytes.by_ref() {
            match byte {
                b'.' => fraction = true,
                b'e' | b'E' => break,
                b'0' if digits.is_empty() => exponent -= i64::from(fraction),
                b'0'..=b'9' => {
                    exponent += i64::from(!fraction);
                    if *byte == b'0' {
                        zeros += 1;
                        continue;
                    }
                    if digits.len() + zeros >= MOST_DIGITS {
                        return None;
                    }
                    digits.extend(std::iter::repeat_n('0', std::mem::take(&mut zeros)));
                    digits.push(char::from(*byte));
                }
                _ => {}
            }
        }
        let mut written = 0_i64;
        let negative = bytes.as_slice().starts_with(b"-");
        for digit in bytes.filter(|byte| byte.is_ascii_digit()) {
            written = written.saturating_mul(10).saturating_add(i64::from(digit - b'0'));
        }
        let written = if negative { -written } else { written };
        let exponent = if digits.is_empty() { 0 } else { exponent.saturating_add(written) };
        Some(Self { digits, exponent })
    }
}

/// Where the string that begins here has ended.
fn end_of_string(text: &[u8], at: usize) -> usize {
    let mut end = at + 1;
    while let Some(found) = memchr::memchr2(b'"', b'\\', text.get(end..).unwrap_or_default()) {
        end += found;
        if text.get(end) == Some(&b'"') {
            return end + 1;
        }
        end += 2;
    }
    text.len()
}

fn end_of_number(text: &[u8], at: usize) -> usize {
    let is_part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let rest = text.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !is_part(byte)).unwrap_or(rest.len())
}

/// The way to the value that follows this text.
fn path_to(before: &[u8]) -> Vec<Step> {
    let mut path = Vec::new();
    let mut at = 0;
    while let Some(byte) = before.get(at) {
        let mut end = at + 1;
        match byte {
            b'"' => {
                end = end_of_string(before, at);
                // Of the strings in an object the last one before a value is its name.
                if let Some(Step::Member(name)) = path.last_mut() {
                    *name = before.get(at..end).and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default();
                }
            }
            b'{' => path.push(Step::Member(String::new())),
            b'[' => path.push(Step::Item(0)),
            b'}' | b']' => drop(path.pop()),
            b',' => {
                if let Some(Step::Item(place)) = path.last_mut() {
                    *place += 1;
                }
            }
            _ => {}
        }
        at = end;
    }
    path
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;
    use crate::domain::canonical::parse;

    fn survives(token: &str) -> bool {
        fault(token.as_bytes()) != Some(Fault::Inexact)
    }

    #[test]
    fn a_number_survives_if_its_value_does() {
        for token in [
            "0",
            "0.0",
            "0e5",
            "0.000e-999999999999",
            "1.10",
            "1e2",
            "0.1",
            "82000.50",
            "1E+2",
            "0.10000",
            "-2.5",
            "9007199254740991",
            "9007199254740991.0",
            "-9007199254740991",
            "123456789012345.6",
            "1e22",
            "5e-324",
            "1.7976931348623157e308",
            "2.2250738585072014e-308",
            "100e-2",
            "1000000000000000.2",
            "0.30000000000000004",
        ] {
            assert!(survives(token), "{token}");
        }
        for token in [
            "0.12345678901234567890",
            "0.1000000000000000055511151231257827",
            "0.10000000000000001",
            "9007199254740993.5",
            "9007199254740993e0",
            "1e400",
            "-1e400",
            "1e-400",
            "1e999999999",
            "1e-99999999999999999999999999",
            "4.9e-324",
            "0.3333333333333333333",
            "1000000000000000.3",
            "-0",
            "-0.0",
            "-0e7",
        ] {
            assert!(!survives(token), "{token}");
        }
    }

    #[test]
    fn integers_are_safe_or_refused_however_they_are_written() {
        for token in ["9007199254740992", "-9007199254740992", "1e16", "9007199254740992.0", "1.5e300"] {
            assert_eq!(fault(token.as_bytes()), Some(Fault::Unsafe), "{token}");
        }
        let long = "1".repeat(400);
        assert_eq!(fault(long.as_bytes()), Some(Fault::Unsafe));
        assert!(matches!(parse(long.as_bytes()), Err(JsonError::UnsafeInteger { line: 1, column: 1 })));
    }

    #[test]
    fn the_place_of_the_first_one_is_told() {
        let member = |name: &str| Step::Member(name.to_owned());
        for (text, path, (line, column)) in [
            ("0.10000000000000001", vec![], (1, 1)),
            ("[1, 2.5,\n 1e400]", vec![Step::Item(2)], (2, 2)),
            (
                r#"{"a": {"x": [1, {"y": "z"}]}, "b\u0065": [[], {"c": 1, "d": -0.0}], "e": 1e400}"#,
                vec![member("be"), Step::Item(1), member("d")],
                (1, 61),
            ),
            (r#"{"\"": "1e400, \\", "n": 1e-400}"#, vec![member("n")], (1, 26)),
        ] {
            let expected = Err(JsonError::NumberNotExact { line, column, path });
            assert_eq!(parse(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_told_first() {
        for text in ["[1e400", "[0.10000000000000001}", "[-0,]", "1e", "-", "0.1.2", "[1e400 2]"] {
            let told = parse(text.as_bytes());
            // A number that no double holds ends the reading where it stands.
            let ended = text.contains("1e400") && matches!(told, Err(JsonError::NumberNotExact { .. }));
            assert!(ended || matches!(told, Err(JsonError::Syntax { .. })), "{text}: {told:?}");
        }
    }

    #[test]
    fn a_megabyte_of_digits_is_read_once() {
        for token in [
            format!("0.{}", "3".repeat(1 << 20)),
            format!("1{}.5", "0".repeat(1 << 20)),
            format!("1e{}", "9".repeat(1 << 20)),
            format!("1e-{}", "9".repeat(1 << 20)),
        ] {
            assert!(!survives(&token) && parse(token.as_bytes()).is_err());
        }
        let zeros = "0".repeat(1 << 20);
        for token in [format!("1.5{zeros}"), format!("0.{zeros}15e{}", (1 << 20) + 1)] {
            assert_eq!(exact_double(token.as_bytes()), Some(1.5), "its value is 1.5");
        }
    }

    /// A number written out in full, without an exponent and without needless zeros: the big decimal of the poor.
    fn written_out(token: &str) -> String {
        let (sign, rest) = token.strip_prefix('-').map_or(("", token), |rest| ("-", rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let exponent: i32 = exponent.parse().unwrap();
        let left = "0".repeat(usize::try_from(-exponent).unwrap_or(0));
        let right = "0".repeat(usize::try_from(exponent).unwrap_or(0));
        let digits = format!("{left}{whole}{part}{right}");
        let point = i32::try_from(left.len() + whole.len()).unwrap() + exponent;
        let (whole, part) = digits.split_at(usize::try_from(point).unwrap());
        format!("{sign}{}.{}", whole.trim_start_matches('0'), part.trim_end_matches('0'))
    }

    /// Whether what the library makes of it is written out in full as what was sent.
    fn comes_back(token: &str) -> bool {
        let Ok(read) = serde_json::from_str::<Value>(token) else { return false };
        let again = String::from_utf8(canonical(&read)).unwrap();
        written_out(&again) == written_out(token)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn what_survives_is_what_comes_back(
            token in r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,22})?([eE][+-]?[0-9]{1,3})?"
        ) {
            let is_integer = token.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit());
            if !is_integer || token == "-0" {
                prop_assert_eq!(survives(&token), comes_back(&token), "{}", token);
            }
        }

        #[test]
        fn what_a_program_writes_of_a_double_survives(double in any::<f64>(), scale in -8_i32..9) {
            let rounded = (double % 1e6 * 10_f64.powi(scale)).round() / 10_f64.powi(scale);
            for double in [double, rounded].into_iter().filter(|double| double.is_finite()) {
                let sent = String::from_utf8(canonical(&double)).unwrap();
                prop_assert!(survives(&sent), "{}", sent);
            }
            if rounded != 0.0 {
                for sent in [format!("{rounded:?}"), format!("{rounded:e}"), format!("{rounded:.8}")] {
                    prop_assert!(survives(&sent), "{}", sent);
                }
            }
        }
    }
}
