//! Days and times of day.

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

/// Weekdays, Monday first.
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

/// Whether a word in plain letters may open a day.
pub(super) fn is_day_word(word: &str) -> bool {
    let bare = word.trim_end_matches("-feira").trim_end_matches("'s");
    let singular = bare.strip_suffix('s').unwrap_or(bare);
    month(bare).is_some()
        || WEEKDAYS.iter().any(|(name, _)| *name == bare || *name == singular)
        || RELATIVE.iter().any(|(phrase, _)| phrase.split(' ').next() == Some(bare))
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
    let word = chunks.first()?.plain.as_str();
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
        let ordinal = matches!(first.plain.as_str(), "segunda" | "quarta" | "quinta" | "terca" | "sexta")
            && chunks.get(1).is_some_and(|word| {
                !first.closed
                    && matches!(
                        word.plain.as_str(),
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
        return named.then(|| match year {
            Some(year) => (format!("{year}-{number:02}"), 2),
            None => (format!("--{number:02}"), 1),
        });
    }
    let day = day_of_month(&first.plain)?;
    let joined = second.is_some_and(|word| matches!(word.plain.as_str(), "de" | "of"));
    let at = 1 + usize::from(joined);
    let number = month(&chunks.get(at)?.plain).filter(|_| !first.closed)?;
    let more = usize::from(chunks.get(at + 1).is_some_and(|word| matches!(word.plain.as_str(), "de" | "del")));
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
    match first.plain.as_str() {
        "dia" => Some((format!("day-{}", day_of_month(&second.plain)?), 2)),
        "the" if is_ordinal(&second.plain) && !chunks.get(2).is_some_and(|word| word.plain == "floor") => {
            Some((format!("day-{}", day_of_month(&second.plain)?), 2))
        }
        _ => None,
    }
}

/// `15h`, `15h30`, `3pm`, `3 p.m.`, `14:00`, `às 15`, `a las 3 de la tarde`, `noon`.
pub(super) fn time(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    let read =
        |minutes: u16, taken| Some((ValueKind::Time, format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60), taken));
    match first.plain.as_str() {
        "noon" | "mediodia" | "meio-dia" | "midday" => return read(720, 1),
        "midnight" | "medianoche" | "meia-noite" => return read(0, 1),
        "meio" if chunks.get(1).is_some_and(|word| word.plain == "dia") => return read(720, 2),
        "as" | "at" => return spoken(chunks, 1),
        "a" if chunks.get(1).is_some_and(|word| word.plain == "las") => return spoken(chunks, 2),
        "las" => return spoken(chunks, 1),
        _ => {}
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
                word.plain.as_str(),
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
        (!counted && !(at && hour > 12)).then_some((hour * 60, 1))
    })?;
    let (minutes, more) = half_of_day(minutes, rest.get(taken..).unwrap_or_default());
    Some((ValueKind::Time, format!("{:02}:{:02}", minutes / 60 % 24, minutes % 60), skip + taken + more))
}

/// `y media`, `da tarde`, `de la mañana`: what follows a time, as minutes added, and how many chunks it takes.
fn half_of_day(minutes: u16, rest: &[Chunk<'_>]) -> (u16, usize) {
    let word = |at: usize| rest.get(at).map(|chunk| chunk.plain.as_str());
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
    let next = chunks.get(1).map(|chunk| chunk.plain.as_str());
    let noon = |minutes: u16, half: &str| if half.starts_with('p') { minutes % 720 + 720 } else { minutes % 720 };
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
