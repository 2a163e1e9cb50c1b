//! Streets, rooms, contacts, codes and sizes.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use super::chunks::Chunk;
use super::{Read, ValueKind};

/// Words that end an English street name.
const STREET_ENDS: &str =
    "st street ave avenue rd road lane ln blvd boulevard dr drive way place pl court ct square terrace highway hwy";
/// Words that open a Portuguese or Spanish one.
const STREET_STARTS: &str = "rua r av avenida travessa alameda praca rodovia estrada largo calle c/ cl carrera cra plaza paseo camino jiron pasaje \
    calzada ruta bulevar";
/// Things that are told apart by a number: the noun and its common name.
const NUMBERED: &[(&str, &str)] = &[
    ("room", "room"),
    ("sala", "room"),
    ("salon", "room"),
    ("salao", "room"),
    ("quarto", "bedroom"),
    ("habitacion", "bedroom"),
    ("suite", "suite"),
    ("dock", "dock"),
    ("doca", "dock"),
    ("muelle", "dock"),
    ("gate", "gate"),
    ("portao", "gate"),
    ("puerta", "gate"),
    ("terminal", "terminal"),
    ("floor", "floor"),
    ("andar", "floor"),
    ("piso", "floor"),
    ("planta", "floor"),
    ("building", "building"),
    ("bloco", "building"),
    ("edificio", "building"),
    ("predio", "building"),
    ("apto", "flat"),
    ("apartamento", "flat"),
    ("apt", "flat"),
    ("apartment", "flat"),
    ("depto", "flat"),
    ("departamento", "flat"),
    ("table", "table"),
    ("mesa", "table"),
    ("aula", "classroom"),
    ("classroom", "classroom"),
    ("platform", "platform"),
    ("plataforma", "platform"),
    ("anden", "platform"),
    ("loja", "shop"),
    ("local", "shop"),
    ("warehouse", "warehouse"),
    ("galpao", "warehouse"),
    ("bodega", "warehouse"),
    ("nave", "warehouse"),
    ("auditorium", "auditorium"),
    ("auditorio", "auditorium"),
    ("lane", "lane"),
    ("seat", "seat"),
    ("assento", "seat"),
    ("asiento", "seat"),
    ("desk", "desk"),
    ("bay", "bay"),
    ("vaga", "bay"),
];
const SIZES: &[&str] = &["XS", "S", "M", "L", "XL", "XXL", "XXXL", "PP", "P", "G", "GG", "XG", "XXG"];

/// Words that join the parts of a street's name.
const STREET_JOINS: &str = "da de do das dos del la los las e y n no nro numero num";

/// The words of a list, found at once.
type Words = LazyLock<HashSet<&'static str>>;

static ENDS: Words = LazyLock::new(|| STREET_ENDS.split_whitespace().collect());
static STARTS: Words = LazyLock::new(|| STREET_STARTS.split_whitespace().collect());
static JOINS: Words = LazyLock::new(|| STREET_JOINS.split_whitespace().collect());
static NAMES: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| NUMBERED.iter().copied().collect());

/// Words that may open a place, in plain letters.
pub(super) fn opening_words() -> impl Iterator<Item = &'static str> {
    NUMBERED.iter().map(|(noun, _)| *noun).chain(STREET_STARTS.split_whitespace())
}

fn numeric(text: &str) -> bool {
    text.starts_with(|sign: char| sign.is_ascii_digit())
        && text.len() <= 6
        && text.bytes().filter(u8::is_ascii_alphabetic).count() <= 1
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

fn capital(chunk: &Chunk<'_>) -> bool {
    chunk.text.starts_with(|sign: char| sign.is_uppercase() || sign.is_ascii_digit())
}

/// E-mail addresses, handles, web addresses and phone numbers.
pub(super) fn contact(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    if let Some((before, after)) = first.plain.split_once('@') {
        let address = !before.is_empty() && after.contains('.');
        let handle = before.is_empty() && after.chars().filter(|sign| sign.is_alphanumeric()).count() >= 2;
        return (address || handle).then(|| (ValueKind::Contact, first.plain.clone().into_owned(), 1));
    }
    let mut digits = String::new();
    let mut taken = 0;
    let mut long = 0;
    let mut joined = false;
    for chunk in chunks {
        let part = chunk.text;
        let phone = part.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'(' | b')' | b'.'));
        let starts = taken == 0 || !part.starts_with('+');
        if !phone || !starts || !part.bytes().any(|byte| byte.is_ascii_digit()) {
            break;
        }
        joined |= part.contains(['-', '+', '(']);
        let figures: String = part.chars().filter(char::is_ascii_digit).collect();
        long = long.max(figures.len());
        digits.push_str(&figures);
        taken += 1;
        if chunk.closed || digits.len() > 15 {
            break;
        }
    }
    let date = taken == 1 && super::dates::date(chunks).is_some();
    let amount = taken == 1 && first.text.contains('.') && !joined;
    let plausible =
        (7..=15).contains(&digits.len()) && !date && !amount && (joined || (long >= 8 && taken == 1) || taken >= 3);
    plausible.then_some((ValueKind::Contact, digits, taken))
}

/// `456 Oak Ave`, `Rua das Flores, 12`, `Calle Olmo 14`.
pub(super) fn street(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    let form = |taken: usize| {
        let words: Vec<String> = chunks
            .iter()
            .take(taken)
            .map(|chunk| chunk.plain.chars().filter(|sign| sign.is_alphanumeric()).collect())
            .collect();
        Some((ValueKind::Place, words.join(" "), taken))
    };
    if numeric(first.text) {
        for (at, chunk) in chunks.iter().enumerate().skip(1).take(4) {
            if !capital(chunk) {
                return None;
            }
            if at > 1 && ENDS.contains(chunk.plain.as_ref()) {
                return form(at + 1);
            }
            if chunk.closed {
                return None;
            }
        }
        return None;
    }
    if !STARTS.contains(first.plain.as_ref()) || (first.plain.len() == 1 && !first.text.starts_with('R')) {
        return None;
    }
    let mut named = false;
    for (at, chunk) in chunks.iter().enumerate().skip(1) {
        if numeric(chunk.text) {
            return if named { form(at + 1) } else { None };
        }
        let joining = JOINS.contains(chunk.plain.as_ref());
        if !capital(chunk) && !joining {
            break;
        }
        named |= !joining;
    }
    None
}

/// `Room 118`, `sala 4`, `dock B`.
pub(super) fn numbered(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first().filter(|chunk| !chunk.closed)?;
    let name = NAMES.get(first.plain.as_ref())?;
    let second = chunks.get(1)?;
    let letter = second.text.len() == 1 && second.text.starts_with(|sign: char| sign.is_ascii_uppercase());
    let lettered = letter && !matches!(second.text, "A" | "O" | "E" | "I" | "Y");
    let coded = second.text.len() <= 5
        && second.text.starts_with(|sign: char| sign.is_ascii_uppercase())
        && second.text.ends_with(|sign: char| sign.is_ascii_digit());
    let figure = numeric(second.text) && super::times::time(chunks.get(1..)?).is_none();
    (figure || lettered || coded || (letter && second.text == "A" && !second.opens))
        .then(|| (ValueKind::Place, format!("{name} {}", second.plain), 2))
}

/// `PO-4521`, `UA 231`, `B14`, `v2.1`.
pub(super) fn code(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    let upper = |text: &str| text.bytes().all(|byte| byte.is_ascii_uppercase());
    if (2..=4).contains(&first.text.len()) && upper(first.text) && !first.closed {
        let second = chunks.get(1)?;
        let figure = second.text.len() <= 5 && second.text.bytes().all(|byte| byte.is_ascii_digit());
        return figure.then(|| (ValueKind::Code, format!("{}{}", first.plain, second.plain), 2));
    }
    // "2-044": a desk or a shelf, and no range.
    if let Some((one, other)) = first.text.split_once('-')
        && (1..=2).contains(&one.len())
        && (3..=4).contains(&other.len())
        && one.bytes().chain(other.bytes()).all(|byte| byte.is_ascii_digit())
    {
        return Some((ValueKind::Code, format!("{one}{other}"), 1));
    }
    let letters = first.text.bytes().filter(u8::is_ascii_alphabetic).count();
    let digits = first.text.bytes().filter(u8::is_ascii_digit).count();
    let signs =
        first.text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'/' | b'.' | b'#'));
    let opens = first.text.starts_with(|sign: char| sign.is_ascii_alphabetic());
    let shaped = opens
        && digits >= 1
        && letters >= 1
        && signs
        && first.text.ends_with(|sign: char| sign.is_ascii_alphanumeric());
    let form = || first.plain.chars().filter(|sign| sign.is_alphanumeric()).collect();
    shaped.then(|| (ValueKind::Code, form(), 1))
}

/// `XL`, `M`, `GG`.
pub(super) fn size(chunks: &[Chunk<'_>]) -> Option<Read> {
    let first = chunks.first()?;
    (SIZES.contains(&first.text)).then(|| (ValueKind::Word, first.plain.clone().into_owned(), 1))
}
