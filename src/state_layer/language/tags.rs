//! Marks in front of a text: `[RESTRICTED: … restricted to X]`, `[SCOPE: …]`, `[Name (Role)]: …`, `Name (Role): …`,
//! `[MANAGER] …`, `Per the CEO, …`.

use super::folding::plain_text;
use super::titles::{is_title, passed_on};
use crate::state_layer::fact::FactScope;

/// The most marks that are taken off one text.
const MAX_MARKS: usize = 8;
/// The longest mark, in bytes.
const MAX_MARK: usize = 240;
/// The longest name or role, in letters.
const MAX_NAME: usize = 60;

/// What stands before the audience of a restriction, in plain letters.
const RESTRICTED_TO: &[&str] = &[
    "restricted to",
    "restrito ao",
    "restrito aos",
    "restrito a",
    "restrita ao",
    "restrita aos",
    "restrita a",
    "restringido al",
    "restringido a",
    "restringida al",
    "restringida a",
    "limited to",
    "limitado a",
];

/// A text with its marks taken off.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tagged<'a> {
    /// The text without its marks.
    pub body: &'a str,
    /// Who may see it.
    pub restricted_to: Vec<String>,
    /// The scope that a mark names, with the mark's own words as its id.
    pub scope: Option<(FactScope, String)>,
    pub name: Option<String>,
    /// With what title or level: of several marks the first, since levels are put in front of names.
    pub title: Option<String>,
}

/// Reads the marks of a text, one inside the other. Whose word it passes on ("Per the CEO, …") is read, but stays in
/// the body.
#[must_use]
pub fn tagged(text: &str) -> Tagged<'_> {
    let mut tagged = Tagged { body: text, ..Tagged::default() };
    for _ in 0..MAX_MARKS {
        let body = tagged.body.trim_start();
        let Some(rest) = bracketed(body, &mut tagged).or_else(|| signed(body, &mut tagged)) else {
            break;
        };
        tagged.body = rest.trim_start();
    }
    if tagged.title.is_none() {
        tagged.title = passed_on(tagged.body);
    }
    tagged
}

/// Takes a mark in brackets off; none where the brackets hold something else.
fn bracketed<'a>(body: &'a str, tagged: &mut Tagged<'a>) -> Option<&'a str> {
    let inner = body.strip_prefix('[')?;
    let end = inner.find(']').filter(|end| *end <= MAX_MARK)?;
    let (mark, rest) = (inner.get(..end)?.trim(), inner.get(end + 1..)?);
    let after_colon = rest.strip_prefix(':');
    let plain = plain_text(mark);
    if let Some(what) =
        plain.strip_prefix("scope").or_else(|| plain.strip_prefix("escopo")).or_else(|| plain.strip_prefix("ambito"))
    {
        let name = mark.split_once(':').filter(|_| what.trim_start().starts_with(':'))?.1.trim();
        tagged.scope.get_or_insert_with(|| (scope_of(name), name.to_owned()));
        return Some(after_colon.unwrap_or(rest));
    }
    if plain.starts_with("restri") || plain.starts_with("confidential") || plain.starts_with("confidencial") {
        tagged.restricted_to.extend(audience(mark));
        return Some(after_colon.unwrap_or(rest));
    }
    if let Some((name, role)) = name_and_role(mark) {
        let rest = after_colon?;
        tagged.name.get_or_insert_with(|| name.to_owned());
        tagged.title.get_or_insert_with(|| role.to_owned());
        return Some(rest);
    }
    let words = mark.split_whitespace().count();
    let letters = mark.chars().all(|sign| sign.is_alphabetic() || matches!(sign, ' ' | '_' | '-' | '+'));
    if !letters || words == 0 || words > 4 {
        return None;
    }
    match scope_of(mark) {
        scope @ (FactScope::Draft | FactScope::Hypothetical) => {
            tagged.scope.get_or_insert_with(|| (scope, mark.to_owned()));
        }
        _ if is_title(mark) => {
            tagged.title.get_or_insert_with(|| mark.to_owned());
        }
        _ => return None,
    }
    Some(after_colon.unwrap_or(rest))
}

/// Takes `Name (Role):` off.
fn signed<'a>(body: &'a str, tagged: &mut Tagged<'a>) -> Option<&'a str> {
    let end = body.find("):").filter(|end| *end <= MAX_MARK)?;
    let (name, role) = name_and_role(body.get(..=end)?)?;
    tagged.name.get_or_insert_with(|| name.to_owned());
    tagged.title.get_or_insert_with(|| role.to_owned());
    body.get(end + 2..)
}

/// The parts of `Name (Role)`, and nothing else around them.
fn name_and_role(mark: &str) -> Option<(&str, &str)> {
    let (name, role) = mark.strip_suffix(')')?.split_once('(')?;
    let (name, role) = (name.trim(), role.trim());
    let named = name.chars().next().is_some_and(char::is_uppercase)
        && name.chars().count() <= MAX_NAME
        && name.chars().all(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '.' | '\'' | '’' | '-' | '_'));
    let roled = !role.is_empty() && role.chars().count() <= MAX_NAME && !role.contains(['(', ')', '[', ']', ':', '\n']);
    (named && roled).then_some((name, role))
}

/// Who a restriction lets through. One that names nobody restricts to its own words, which nobody is.
fn audience(mark: &str) -> Vec<String> {
    // Folding keeps the number of letters, so a position found in plain letters is counted in letters.
    let plain: Vec<char> = mark.chars().map(super::folding::plain).collect();
    let plain_words: String = plain.iter().collect();
    let found = RESTRICTED_TO
        .iter()
        .filter_map(|phrase| plain_words.rfind(&format!("{phrase} ")).map(|at| (at, at + phrase.len() + 1)))
        .max_by_key(|(at, end)| (*at, *end));
    let whole = mark.split_once(':').map_or(mark, |(_, rest)| rest).trim();
    let names = match found {
        Some((_, end)) => {
            let letters = plain_words.get(..end).map_or(0, |part| part.chars().count());
            mark.chars().skip(letters).collect::<String>()
        }
        None => whole.trim_end_matches("only").trim_end_matches(',').trim().to_owned(),
    };
    names.split([',', ';', '/']).map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// What kind of scope a name in plain words means.
fn scope_of(name: &str) -> FactScope {
    const DRAFT: &[&str] = &[
        "draft",
        "rascunho",
        "borrador",
        "proposal",
        "proposta",
        "propuesta",
        "tentative",
        "preliminary",
        "preliminar",
        "minuta",
    ];
    const HYPOTHETICAL: &[&str] = &[
        "what if",
        "what-if",
        "hypothe",
        "hipote",
        "brainstorm",
        "explora",
        "sandbox",
        "simula",
        "estimat",
        "estimac",
        "estimati",
        "scenario",
        "cenario",
        "escenario",
        "e se",
        "y si",
        "experiment",
        "lluvia de ideas",
    ];
    const SESSION: &[&str] = &["session", "sessao", "sesion"];
    let plain = plain_text(name);
    let names =
        |words: &[&str]| words.iter().any(|word| plain.starts_with(word) || plain.contains(&format!(" {word}")));
    if names(HYPOTHETICAL) {
        FactScope::Hypothetical
    } else if names(DRAFT) {
        FactScope::Draft
    } else if names(SESSION) {
        FactScope::Session
    } else {
        FactScope::Task
    }
}

#[cfg(test)]
#[path = "tags_tests.rs"]
mod tests;
