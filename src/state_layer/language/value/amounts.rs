//! Money, percentages, durations, measures and counts.

use super::chunks::Chunk;
use super::number::{Millionths, digits, leading, scale, shown, small};
use super::{Read, ValueKind};

/// Signs before an amount, the longer first, and what they stand for.
const SIGNS: &[(&str, &str)] = &[
    ("us$", "$"),
    ("u$s", "$"),
    ("ar$", "$"),
    ("mx$", "$"),
    ("r$", "R$"),
    ("$", "$"),
    ("€", "€"),
    ("£", "£"),
    ("eur", "€"),
    ("usd", "$"),
    ("brl", "R$"),
];

/// What a word or sign after an amount stands for.
fn currency(word: &str) -> Option<&'static str> {
    Some(match word {
        "€" | "eur" | "euro" | "euros" => "€",
        "$" | "usd" | "dollar" | "dollars" | "dolar" | "dolares" | "bucks" | "us$" | "peso" | "pesos" | "mxn"
        | "ars" | "clp" | "soles" => "$",
        "reais" | "brl" | "conto" | "contos" | "pila" => "R$",
        "£" | "gbp" | "pounds" => "£",
        _ => return None,
    })
}

/// An amount with an optional scale in the same chunk or the next: `1.5k`, `200K`, `1,5 mil`, `2 milhões de`.
fn scaled<'a>(figure: &'a str, rest: &[Chunk<'_>]) -> Option<(Millionths, usize, &'a str)> {
    let (amount, tail) = leading(figure)?;
    // A price may name its unit: `$1.55/kg`, `R$ 8,50/kg`.
    let tail = tail.split('/').next().unwrap_or_default();
    if let Some(factor) = scale(tail) {
        return Some((amount.checked_mul(factor)?, 0, ""));
    }
    if tail.is_empty()
        && let Some(factor) = rest
            .first()
            .filter(|word| word.plain.len() > 1 || word.text == "k" || word.text == "K")
            .and_then(|word| scale(&word.plain))
    {
        let joined = rest.get(1).is_some_and(|word| word.plain == "de");
        let unit = joined && rest.get(2).and_then(|word| currency(&word.plain)).is_some();
        return Some((amount.checked_mul(factor)?, 1 + usize::from(unit), ""));
    }
    Some((amount, 0, tail))
}

/// `R$ 1.500,00`, `$1,500`, `1.500 €`, `200K reais`, `US$ 2 mil`.
pub(super) fn money(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    let rest = chunks.get(1..)?;
    for (sign, unit) in SIGNS {
        let Some(figure) = first.plain.strip_prefix(sign) else {
            continue;
        };
        let read = |amount, taken| Some((ValueKind::Money, format!("{unit}{}", shown(amount)), taken));
        if figure.is_empty() {
            let (amount, more, tail) = scaled(&rest.first()?.plain, rest.get(1..)?)?;
            return if tail.is_empty() { read(amount, 2 + more) } else { None };
        }
        if let Some((amount, more, tail)) = scaled(figure, rest)
            && (tail.is_empty() || tail.starts_with('-'))
        {
            return read(amount, 1 + more);
        }
    }
    let (amount, more, tail) = scaled(&first.plain, rest)?;
    let read = |unit: &str, taken| Some((ValueKind::Money, format!("{unit}{}", shown(amount)), taken));
    if let Some(unit) = currency(tail) {
        return read(unit, 1 + more);
    }
    let next = rest.get(more).filter(|_| tail.is_empty())?;
    read(currency(&next.plain)?, 2 + more)
}

/// `15%`, `15 %`, `15 por cento`, `15 percent`.
pub(super) fn percent(chunks: &[Chunk<'_>]) -> Option<Read> {
    let (amount, tail) = leading(&chunks.first()?.plain)?;
    let read = |taken| Some((ValueKind::Percent, shown(amount), taken));
    if tail == "%" {
        return read(1);
    }
    let next = &chunks.get(1).filter(|_| tail.is_empty())?.plain;
    match next.as_ref() {
        "%" | "percent" => read(2),
        "por" if chunks.get(2).is_some_and(|word| matches!(word.plain.as_ref(), "cento" | "ciento")) => read(3),
        _ => None,
    }
}

/// The base unit of a length of time, and how many of it the word means.
fn time_unit(word: &str) -> Option<(&'static str, u128)> {
    Some(match word {
        "second" | "seconds" | "segundo" | "segundos" | "sec" | "secs" => ("s", 1),
        "minute" | "minutes" | "minuto" | "minutos" | "min" | "mins" => ("s", 60),
        "hour" | "hours" | "hora" | "horas" | "hr" | "hrs" => ("s", 3_600),
        "day" | "days" | "dia" | "dias" => ("d", 1),
        "week" | "weeks" | "semana" | "semanas" => ("d", 7),
        "month" | "months" | "mes" | "meses" => ("m", 1),
        "year" | "years" | "ano" | "anos" => ("m", 12),
        _ => return None,
    })
}

/// `30 days`, `2 semanas`, `5 dias úteis`, `30-day`.
pub(super) fn duration(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    let (amount, tail) = leading(&first.plain).or_else(|| small(&first.plain).map(|number| (number, "")))?;
    let (unit, taken) = if tail.is_empty() {
        let second = chunks.get(1).filter(|_| !first.closed)?;
        // "3 business days", "5 working days"
        let business = matches!(second.plain.as_ref(), "business" | "working" | "calendar");
        (chunks.get(1 + usize::from(business))?.plain.as_ref(), 2 + usize::from(business))
    } else {
        (tail.trim_start_matches('-'), 1)
    };
    let (base, factor) = time_unit(unit)?;
    let more = usize::from(
        chunks
            .get(taken)
            .is_some_and(|word| matches!(word.plain.as_ref(), "uteis" | "habiles" | "corridos" | "corridas")),
    );
    let working = if more == 1 || taken == 3 { "w" } else { "" };
    Some((ValueKind::Duration, format!("{}{base}{working}", shown(amount.checked_mul(factor)?)), taken + more))
}

/// Measures: the unit belongs to the value.
const UNITS: &str = "mg g kg t ml l gb mb tb mbps gbps km m cm mm pt px kw kwh hz mcg kb km/h m2 lb lbs oz ft mi x";

/// `20 mg`, `12pt`, `600 Mbps`, `6x`.
pub(super) fn measure(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    let below = first.plain.strip_prefix('-');
    let (amount, tail) = leading(below.unwrap_or(&first.plain))?;
    let is_degree = |word: &str| matches!(word, "°c" | "°f" | "oc" | "ºc");
    let sign = if below.is_some() { "-" } else { "" };
    if is_degree(tail) {
        return Some((ValueKind::Number, format!("{sign}{} °c", shown(amount)), 1));
    }
    if tail.is_empty() && chunks.get(1).is_some_and(|next| !first.closed && is_degree(&next.plain)) {
        return Some((ValueKind::Number, format!("{sign}{} °c", shown(amount)), 2));
    }
    if below.is_some() {
        return None;
    }
    let is_unit = |word: &str| UNITS.split_whitespace().any(|unit| unit == word);
    if is_unit(tail) {
        return Some((ValueKind::Number, format!("{} {tail}", shown(amount)), 1));
    }
    let next = chunks.get(1).filter(|_| tail.is_empty() && !first.closed)?;
    (is_unit(&next.plain) && next.plain != "x")
        .then(|| (ValueKind::Number, format!("{} {}", shown(amount), next.plain), 2))
}

/// `55`, `18,400`, `1.5k`, `três`.
pub(super) fn count(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    let read = |amount, taken| Some((ValueKind::Number, shown(amount), taken));
    // A number word in capitals inside a sentence belongs to a name.
    let named = first.text.starts_with(char::is_uppercase) && !first.opens;
    if let Some(number) = small(&first.plain).filter(|_| !named) {
        return read(number, 1);
    }
    if let Some((amount, more, tail)) = scaled(&first.plain, chunks.get(1..)?)
        && tail.is_empty()
    {
        return read(amount, 1 + more);
    }
    read(digits(&first.plain)?, 1)
}
