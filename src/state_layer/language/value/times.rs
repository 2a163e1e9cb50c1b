//! Times of day.

use super::chunks::Chunk;
use super::dates::is_day_word;
use super::{Read, ValueKind};

/// `15h`, `15h30`, `3pm`, `3 p.m.`, `14:00`, `às 15`, `a las 3 de la tarde`, `noon`.
pub(super) fn time(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    let read =
        |minutes: u16, taken| Some((ValueKind::Time, format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60), taken));
    match first.plain.as_ref() {
        "noon" | "mediodia" | "meio-dia" | "midday" => return read(720, 1),
        "midnight" | "medianoche" | "meia-noite" => return read(0, 1),
        "meio" if chunks.get(1).is_some_and(|word| word.plain == "dia") => return read(720, 2),
        "as" | "at" | "las" => return spoken(chunks, 1),
        "a" if chunks.get(1).is_some_and(|word| word.plain == "las") => return spoken(chunks, 2),
        _ => {}
    }
    if let Some((from, until)) = first.plain.split_once('-') {
        // "7am-9pm"
        let one = |plain: &str| {
            clock(&[Chunk { plain: plain.to_owned().into(), ..first.clone() }]).map(|(minutes, _)| minutes)
        };
        // "1-3pm": the half of the day is said once.
        let half = until
            .strip_prefix(|sign: char| sign.is_ascii_digit())
            .map(|rest| rest.trim_start_matches(|sign: char| sign.is_ascii_digit()));
        let from = one(from).or_else(|| one(&format!("{from}{}", half.filter(|half| !half.is_empty())?)));
        let (from, until) = (from?, one(until)?);
        let form = |minutes: u16| format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60);
        return Some((ValueKind::Time, format!("{}-{}", form(from), form(until)), 1));
    }
    let (minutes, taken) = clock(chunks)?;
    let (minutes, more) = half_of_day(minutes, chunks.get(taken..).unwrap_or_default());
    read(minutes, taken + more)
}

/// A time after "às", "at" or "a las": a bare number counts.
fn spoken(chunks: &[Chunk<'_>], skip: usize) -> Option<Read> {
    let rest = chunks.get(skip..)?;
    let (minutes, taken) = clock(rest).or_else(|| {
        let first = rest.first()?;
        let hour: u16 = first.plain.parse().ok().filter(|hour| *hour <= 24)?;
        let unit = rest.get(1).filter(|_| !first.closed);
        // "at 20 percent", "at 5 dollars": not an hour.
        let counted = unit.is_some_and(|word| {
            !matches!(
                word.plain.as_ref(),
                "de" | "da"
                    | "del"
                    | "en"
                    | "y"
                    | "e"
                    | "now"
                    | "agora"
                    | "ahora"
                    | "on"
                    | "in"
                    | "for"
                    | "horas"
                    | "hs"
                    | "hoje"
                    | "hoy"
                    | "instead"
                    | "em"
                    | "no"
                    | "na"
            ) && !is_day_word(&word.plain)
        });
        let at = chunks.first().is_some_and(|word| word.plain == "at");
        (!counted && (!at || hour <= 12)).then_some((hour * 60, 1))
    })?;
    let (minutes, more) = half_of_day(minutes, rest.get(taken..).unwrap_or_default());
    Some((ValueKind::Time, format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60), skip + taken + more))
}

/// `y media`, `da tarde`, `de la mañana`: what follows a time, as minutes added, and how many chunks it takes.
fn half_of_day(minutes: u16, rest: &[Chunk<'_>]) -> (u16, usize) {
    let word = |at: usize| rest.get(at).map(|chunk| chunk.plain.as_ref());
    let (minutes, half) = match (word(0), word(1)) {
        (Some("y" | "e"), Some("media" | "meia")) => (minutes + 30, 2),
        (Some("horas" | "hs"), _) => (minutes, 1),
        _ => (minutes, 0),
    };
    let (of, part) = match (word(half), word(half + 1), word(half + 2)) {
        (Some("de"), Some("la"), Some(part)) => (3, part),
        (Some("da" | "de"), Some(part), _) => (2, part),
        _ => (0, ""),
    };
    match part {
        "tarde" | "noite" | "noche" => (if minutes < 720 { minutes + 720 } else { minutes }, half + of),
        "manha" | "manana" | "madrugada" => (minutes, half + of),
        _ => (minutes, half),
    }
}

/// A time in digits that needs no word before it, in minutes, and how many chunks it takes.
fn clock(chunks: &[Chunk<'_>]) -> Option<(u16, usize)> {
    let first = chunks.first()?;
    let word = first.plain.trim_end_matches("hs").trim_end_matches("hrs").trim_end_matches("min");
    let digits = word.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(word.len());
    let hour: u16 = word.get(..digits)?.parse().ok().filter(|hour| *hour <= 24 && digits <= 2)?;
    let rest = word.get(digits..)?;
    let next = chunks.get(1).map(|chunk| chunk.plain.as_ref());
    let noon = |minutes: u16, half: &str| {
        if half.starts_with('p') { minutes % 720 + 720 } else { minutes % 720 }
    };
    let half = |rest: &str| matches!(rest, "am" | "pm" | "a.m" | "p.m" | "a" | "p");
    if rest.is_empty() {
        if first.plain.len() > digits {
            return Some((hour * 60, 1));
        }
        return match next {
            Some(word @ ("am" | "pm" | "a.m" | "p.m")) if hour <= 12 => Some((noon(hour * 60, word), 2)),
            _ => None,
        };
    }
    if half(rest) && rest.len() > 1 && hour <= 12 {
        return Some((noon(hour * 60, rest), 1));
    }
    let tail = rest.strip_prefix(['h', ':'])?;
    if tail.is_empty() {
        return rest.starts_with('h').then_some((hour * 60, 1));
    }
    let minute: u16 = tail.get(..2)?.parse().ok().filter(|minute| *minute < 60)?;
    let minutes = hour * 60 + minute;
    match tail.get(2..)? {
        "" => match next {
            Some(word @ ("am" | "pm" | "a.m" | "p.m")) if hour <= 12 => Some((noon(minutes, word), 2)),
            _ => Some((minutes, 1)),
        },
        "h" | "m" | ":00" => Some((minutes, 1)),
        ending if half(ending) && hour <= 12 => Some((noon(minutes, ending), 1)),
        _ => None,
    }
}
