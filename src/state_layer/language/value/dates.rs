//! Days.

use super::chunks::Chunk;
use super::{Read, ValueKind};

/// Months, in plain letters: name, number, and whether the word means something else in lower case.
const MONTHS: &[(&str, u8)] = &[
    ("january", 1),
    ("jan", 1),
    ("janeiro", 1),
    ("enero", 1),
    ("ene", 1),
    ("february", 2),
    ("feb", 2),
    ("fevereiro", 2),
    ("fev", 2),
    ("febrero", 2),
    ("march", 3),
    ("mar", 3),
    ("marco", 3),
    ("marzo", 3),
    ("april", 4),
    ("apr", 4),
    ("abril", 4),
    ("abr", 4),
    ("may", 5),
    ("maio", 5),
    ("mai", 5),
    ("mayo", 5),
    ("june", 6),
    ("jun", 6),
    ("junho", 6),
    ("junio", 6),
    ("july", 7),
    ("jul", 7),
    ("julho", 7),
    ("julio", 7),
    ("august", 8),
    ("aug", 8),
    ("agosto", 8),
    ("ago", 8),
    ("september", 9),
    ("sept", 9),
    ("sep", 9),
    ("setembro", 9),
    ("set", 9),
    ("septiembre", 9),
    ("setiembre", 9),
    ("october", 10),
    ("oct", 10),
    ("outubro", 10),
    ("out", 10),
    ("octubre", 10),
    ("november", 11),
    ("nov", 11),
    ("novembro", 11),
    ("noviembre", 11),
    ("december", 12),
    ("dec", 12),
    ("dezembro", 12),
    ("dez", 12),
    ("diciembre", 12),
    ("dic", 12),
];

/// Month words that are other words too; they need a day beside them.
const WEAK_MONTHS: &str =
    "ago apr aug dec dez dic ene feb fev jan jul jun mai mar marco march may nov oct out sep sept set";

const WEEKDAYS: &[(&str, u8)] = &[
    ("monday", 1),
    ("mon", 1),
    ("segunda", 1),
    ("seg", 1),
    ("lunes", 1),
    ("tuesday", 2),
    ("tue", 2),
    ("tues", 2),
    ("terca", 2),
    ("martes", 2),
    ("wednesday", 3),
    ("wed", 3),
    ("quarta", 3),
    ("miercoles", 3),
    ("thursday", 4),
    ("thu", 4),
    ("thurs", 4),
    ("thur", 4),
    ("quinta", 4),
    ("jueves", 4),
    ("friday", 5),
    ("fri", 5),
    ("sexta", 5),
    ("viernes", 5),
    ("saturday", 6),
    ("sat", 6),
    ("sabado", 6),
    ("sunday", 7),
    ("sun", 7),
    ("domingo", 7),
];

/// Weekday words that are other words too in lower case.
const WEAK_WEEKDAYS: &str = "sat sun wed mon seg";

/// Phrases that name a day by today, in plain letters.
const RELATIVE: &[(&str, &str)] = &[
    ("end of the month", "month-end"),
    ("end of month", "month-end"),
    ("end of the week", "week-end"),
    ("end of the year", "year-end"),
    ("end of year", "year-end"),
    ("fim do mes", "month-end"),
    ("final do mes", "month-end"),
    ("fin de mes", "month-end"),
    ("fin de ano", "year-end"),
    ("fim do ano", "year-end"),
    ("final do ano", "year-end"),
    ("next week", "week+1"),
    ("this week", "week+0"),
    ("next month", "month+1"),
    ("this month", "month+0"),
    ("next year", "year+1"),
    ("semana que vem", "week+1"),
    ("semana que viene", "week+1"),
    ("proxima semana", "week+1"),
    ("esta semana", "week+0"),
    ("essa semana", "week+0"),
    ("mes que vem", "month+1"),
    ("mes que viene", "month+1"),
    ("proximo mes", "month+1"),
    ("este mes", "month+0"),
    ("day after tomorrow", "day+2"),
    ("depois de amanha", "day+2"),
    ("pasado manana", "day+2"),
    ("today", "day+0"),
    ("tonight", "day+0"),
    ("tomorrow", "day+1"),
    ("hoje", "day+0"),
    ("amanha", "day+1"),
    ("hoy", "day+0"),
    ("manana", "day+1"),
];

fn month(word: &str) -> Option<u8> {
    MONTHS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number)
}

fn weekday(chunk: &Chunk<'_>) -> Option<u8> {
    let word = chunk.plain.trim_end_matches("-feira").trim_end_matches("'s");
    let weak = WEAK_WEEKDAYS.split_whitespace().any(|other| other == word);
    if weak && chunk.text.chars().all(|sign| !sign.is_uppercase()) {
        return None;
    }
    let find = |word: &str| WEEKDAYS.iter().find(|(name, _)| *name == word).map(|(_, number)| *number);
    find(word).or_else(|| word.strip_suffix('s').filter(|word| word.len() > 4).and_then(find))
}

/// The names of the weekday of this number.
pub(super) fn weekdays_of(number: Option<&str>) -> impl Iterator<Item = &'static str> {
    let number: Option<u8> = number.and_then(|number| number.parse().ok());
    WEEKDAYS.iter().filter(move |(_, own)| Some(*own) == number).map(|(name, _)| *name)
}

/// Words that may open a day, in plain letters.
pub(super) fn opening_words() -> impl Iterator<Item = &'static str> {
    let named = MONTHS.iter().chain(WEEKDAYS).map(|(name, _)| *name);
    named.chain(RELATIVE.iter().filter_map(|(phrase, _)| phrase.split(' ').next()))
}

/// Whether a word in plain letters names a day or a month.
pub(super) fn is_day_word(word: &str) -> bool {
    let bare = word.trim_end_matches("-feira").trim_end_matches("'s");
    MONTHS.iter().chain(WEEKDAYS).any(|(name, _)| *name == bare)
        || matches!(bare, "hoje" | "hoy" | "today" | "amanha" | "manana" | "tomorrow")
}

/// A day of the month: `5`, `5th`, `1º`.
fn day_of_month(word: &str) -> Option<u8> {
    let figure = word
        .strip_suffix("st")
        .or_else(|| word.strip_suffix("nd"))
        .or_else(|| word.strip_suffix("rd"))
        .or_else(|| word.strip_suffix("th"))
        .or_else(|| word.strip_suffix('o'))
        .unwrap_or(word);
    figure.parse().ok().filter(|day| figure.len() <= 2 && (1..=31).contains(day))
}

fn is_ordinal(word: &str) -> bool {
    day_of_month(word).is_some() && word.ends_with(|sign: char| sign.is_ascii_alphabetic())
}

fn year(chunk: Option<&Chunk<'_>>) -> Option<u16> {
    chunk?.plain.parse().ok().filter(|year| (1900..=2199).contains(year))
}

fn dated(year: Option<u16>, month: u8, day: u8) -> String {
    year.map_or_else(|| format!("--{month:02}-{day:02}"), |year| format!("{year}-{month:02}-{day:02}"))
}

/// Days of every writing.
pub(super) fn date(chunks: &[Chunk<'_>]) -> Option<Read> {
    let (form, taken) =
        numeric(chunks).or_else(|| named(chunks)).or_else(|| relative(chunks)).or_else(|| loose(chunks))?;
    Some((ValueKind::Date, form, taken))
}

/// `2025-03-12`, `12/03`, `12/03/2025`, `12.03.2025`, `Q3`.
fn numeric(chunks: &[Chunk<'_>]) -> Option<(String, usize)> {
    let word = chunks.first()?.plain.as_ref();
    if let Some(quarter) =
        word.strip_prefix('q').and_then(|rest| rest.parse::<u8>().ok()).filter(|quarter| (1..=4).contains(quarter))
    {
        let year = year(chunks.get(1));
        return Some((
            format!("{}Q{quarter}", year.map(|year| year.to_string()).unwrap_or_default()),
            1 + usize::from(year.is_some()),
        ));
    }
    let parts: Vec<&str> = word.split(['/', '-', '.']).collect();
    let number = |part: &str| part.parse::<u16>().ok().filter(|_| part.len() <= 4);
    let valid = |day: u16, month: u16| {
        let (day, month) = (u8::try_from(day).ok()?, u8::try_from(month).ok()?);
        if (1..=31).contains(&day) && (1..=12).contains(&month) {
            return Some((day, month));
        }
        ((1..=31).contains(&month) && (1..=12).contains(&day)).then_some((month, day))
    };
    match parts.as_slice() {
        [a, b] if word.contains('/') && a.len() <= 2 && b.len() <= 2 => {
            let (day, month) = valid(number(a)?, number(b)?)?;
            Some((dated(None, month, day), 1))
        }
        [a, b, c] if c.len() == 4 && a.len() <= 2 && b.len() <= 2 => {
            let (day, month) = valid(number(a)?, number(b)?)?;
            Some((dated(number(c), month, day), 1))
        }
        [a, b, c] if a.len() == 4 && b.len() == 2 && c.len() >= 2 => {
            let (day, month) = valid(number(c.get(..2)?)?, number(b)?)?;
            Some((dated(number(a), month, day), 1))
        }
        [a, b, c] if word.contains('/') && c.len() == 2 => {
            let (day, month) = valid(number(a)?, number(b)?)?;
            Some((dated(number(c).map(|year| 2000 + year), month, day), 1))
        }
        _ => None,
    }
}

/// `12 de março de 2025`, `March 12th, 2025`, `12 March`, `Friday`, `Saturday July 20`.
fn named(chunks: &[Chunk<'_>]) -> Option<(String, usize)> {
    let first = chunks.first()?;
    if let Some(number) = weekday(first) {
        // A weekday before a date belongs to it: the date is the more exact.
        if let Some(rest) = chunks.get(1..).filter(|rest| !rest.is_empty())
            && let Some((form, taken)) = numeric(rest).or_else(|| day_and_month(rest))
        {
            return Some((form, taken + 1));
        }
        // "the second half", "segunda via": ordinals, not days.
        let ordinal = matches!(first.plain.as_ref(), "segunda" | "quarta" | "quinta" | "terca" | "sexta")
            && chunks.get(1).is_some_and(|word| {
                !first.closed
                    && matches!(
                        word.plain.as_ref(),
                        "via"
                            | "vez"
                            | "parcela"
                            | "parte"
                            | "opcao"
                            | "etapa"
                            | "fase"
                            | "pessoa"
                            | "opcion"
                            | "cuota"
                    )
            });
        return (!ordinal).then(|| (format!("weekday-{number}"), 1));
    }
    day_and_month(chunks)
}

fn day_and_month(chunks: &[Chunk<'_>]) -> Option<(String, usize)> {
    let first = chunks.first()?;
    let second = chunks.get(1);
    if let Some(number) = month(&first.plain) {
        if let Some(day) = second.and_then(|word| day_of_month(&word.plain)).filter(|_| !first.closed) {
            let year = year(chunks.get(2));
            return Some((dated(year, number, day), 2 + usize::from(year.is_some())));
        }
        let weak = WEAK_MONTHS.split_whitespace().any(|word| word == first.plain);
        let named = !weak || (first.text.len() > 2 && first.text.starts_with(char::is_uppercase) && !first.opens);
        let year = year(second);
        // "Mar" alone is as well the sea: "Pousada Mar".
        let short = first.text.len() == 3 && !first.plain.starts_with("ma") || first.plain == "mar";
        if short && year.is_none() {
            return None;
        }
        return named.then(|| match year {
            Some(year) => (format!("{year}-{number:02}"), 2),
            None => (format!("--{number:02}"), 1),
        });
    }
    let day = day_of_month(&first.plain)?;
    let joined = second.is_some_and(|word| matches!(word.plain.as_ref(), "de" | "of"));
    let at = 1 + usize::from(joined);
    let number = month(&chunks.get(at)?.plain).filter(|_| !first.closed)?;
    let more = usize::from(chunks.get(at + 1).is_some_and(|word| matches!(word.plain.as_ref(), "de" | "del")));
    let year = year(chunks.get(at + 1 + more));
    Some((dated(year, number, day), at + 1 + if year.is_some() { 1 + more } else { 0 }))
}

/// `tomorrow`, `semana que vem`, `end of month`.
fn relative(chunks: &[Chunk<'_>]) -> Option<(String, usize)> {
    RELATIVE.iter().find_map(|(phrase, form)| {
        let mut taken = 0;
        for word in phrase.split(' ') {
            if chunks.get(taken).is_none_or(|chunk| chunk.plain != word) {
                return None;
            }
            taken += 1;
        }
        Some(((*form).to_owned(), taken))
    })
}

/// `dia 5`, `the 5th`, `5th`.
fn loose(chunks: &[Chunk<'_>]) -> Option<(String, usize)> {
    let first = chunks.first()?;
    if is_ordinal(&first.plain) && !first.plain.ends_with('o') {
        return Some((format!("day-{}", day_of_month(&first.plain)?), 1));
    }
    let second = chunks.get(1).filter(|_| !first.closed)?;
    match first.plain.as_ref() {
        // "dia 12 de junho" is as exact as "12 de junho".
        "dia" => chunks
            .get(1..)
            .and_then(day_and_month)
            .filter(|_| day_of_month(&second.plain).is_some())
            .map(|(form, taken)| (form, taken + 1))
            .or_else(|| Some((format!("day-{}", day_of_month(&second.plain)?), 2))),
        "the" if is_ordinal(&second.plain) && chunks.get(2).is_none_or(|word| word.plain != "floor") => {
            Some((format!("day-{}", day_of_month(&second.plain)?), 2))
        }
        _ => None,
    }
}
