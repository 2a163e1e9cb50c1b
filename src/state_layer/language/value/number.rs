//! Numbers as people write them: `1.500,00`, `1,500.00`, `18,400`, `1.5k`, `200K`, `três`.

/// A number in millionths.
pub(super) type Millionths = u128;

const ONE: Millionths = 1_000_000;

/// Number words that mean nothing else in the other two languages.
const SMALL: &[(&str, u128)] = &[
    ("cinco", 5),
    ("cuatro", 4),
    ("dez", 10),
    ("diez", 10),
    ("dois", 2),
    ("doce", 12),
    ("duas", 2),
    ("eight", 8),
    ("eleven", 11),
    ("five", 5),
    ("four", 4),
    ("nine", 9),
    ("nove", 9),
    ("nueve", 9),
    ("ocho", 8),
    ("oito", 8),
    ("onze", 11),
    ("quatro", 4),
    ("quince", 15),
    ("quinze", 15),
    ("seis", 6),
    ("sete", 7),
    ("seven", 7),
    ("siete", 7),
    ("six", 6),
    ("ten", 10),
    ("three", 3),
    ("tres", 3),
    ("twelve", 12),
    ("twenty", 20),
    ("two", 2),
    ("veinte", 20),
    ("vinte", 20),
    ("doze", 12),
];

/// The number that a word in plain letters names.
pub(super) fn small(word: &str) -> Option<Millionths> {
    SMALL.iter().find(|(name, _)| *name == word).map(|(_, number)| number * ONE)
}

/// The words for a number in its shortest writing.
pub(super) fn words_of(shown: Option<&str>) -> impl Iterator<Item = &'static str> {
    let number: Option<u128> = shown.and_then(|shown| shown.parse().ok());
    SMALL.iter().filter(move |(_, own)| Some(*own) == number).map(|(name, _)| *name)
}

/// The words that name a number.
pub(super) fn small_words() -> impl Iterator<Item = &'static str> {
    SMALL.iter().map(|(name, _)| *name)
}

/// A number in digits, and nothing else around it.
pub(super) fn digits(text: &str) -> Option<Millionths> {
    let well_formed = text.starts_with(|sign: char| sign.is_ascii_digit())
        && text.ends_with(|sign: char| sign.is_ascii_digit())
        && text.len() <= 20
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b',');
    if !well_formed {
        return None;
    }
    let decimal = decimal_mark(text)?;
    let (whole, fraction) = match decimal {
        Some(at) => (text.get(..at)?, text.get(at + 1..)?),
        None => (text, ""),
    };
    let mut value: u128 = 0;
    for byte in whole.bytes().filter(u8::is_ascii_digit) {
        value = value.checked_mul(10)?.checked_add(u128::from(byte - b'0'))?;
    }
    value = value.checked_mul(ONE)?;
    let mut weight = ONE / 10;
    for byte in fraction.bytes() {
        value = value.checked_add(u128::from(byte - b'0') * weight)?;
        weight /= 10;
    }
    Some(value)
}

/// Where the decimal mark stands, if there is one; none at all for what is no number.
#[expect(clippy::option_option, reason = "a number without a mark is not the same as no number")]
fn decimal_mark(text: &str) -> Option<Option<usize>> {
    let marks: Vec<(usize, char)> = text.char_indices().filter(|(_, sign)| !sign.is_ascii_digit()).collect();
    let Some((last, sign)) = marks.last().copied() else {
        return Some(None);
    };
    let groups_of_three = |until: usize| {
        let groups: Vec<&str> = text.get(..until).unwrap_or_default().split(['.', ',']).collect();
        groups.first().is_some_and(|group| (1..=3).contains(&group.len()))
            && groups.iter().skip(1).all(|group| group.len() == 3)
    };
    let mixed = marks.iter().any(|(_, other)| *other != sign);
    if mixed {
        let once = marks.iter().filter(|(_, other)| *other == sign).count() == 1;
        return (once && groups_of_three(last)).then_some(Some(last));
    }
    if groups_of_three(text.len()) && !text.starts_with('0') {
        return Some(None);
    }
    (marks.len() == 1).then_some(Some(last))
}

/// What a word or letter after a number multiplies it by.
pub(super) fn scale(word: &str) -> Option<u128> {
    match word {
        "k" | "mil" | "thousand" => Some(1_000),
        "m" | "mi" | "mm" | "mio" | "million" | "millions" | "milhao" | "milhoes" | "millon" | "millones" => {
            Some(1_000_000)
        }
        "b" | "bi" | "bn" | "billion" | "bilhao" | "bilhoes" => Some(1_000_000_000),
        _ => None,
    }
}

/// A number in its shortest writing.
pub(super) fn shown(value: Millionths) -> String {
    let (whole, fraction) = (value / ONE, value % ONE);
    if fraction == 0 {
        return whole.to_string();
    }
    let fraction = format!("{fraction:06}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

/// The leading digits of a text as a number, and what follows them.
pub(super) fn leading(text: &str) -> Option<(Millionths, &str)> {
    let end = text.find(|sign: char| !sign.is_ascii_digit() && sign != '.' && sign != ',').unwrap_or(text.len());
    let figure = text.get(..end)?;
    let trimmed = figure.trim_end_matches(['.', ',']);
    (trimmed.len() == figure.len()).then_some(())?;
    Some((digits(figure)?, text.get(end..)?))
}
