//! Something is no more in one part of what is said, and something else is in its place in another:
//! "Ingrid moved out and Zoe took her room".

use super::clause::{Clause, Span};
use super::forms;
use super::lexicon::Sign;
use crate::state_layer::language::titles::is_title_word;
use crate::state_layer::language::value::ValueKind;

/// The classes of words that say that something is no more.
const GONE: &[Sign] = &[Sign::Gone, Sign::End, Sign::Leave, Sign::NoLonger];

/// The classes of words after which something new comes.
const NEW: &[Sign] =
    &[Sign::Begin, Sign::Choose, Sign::Direct, Sign::Is, Sign::Now, Sign::Make, Sign::Over, Sign::Request];

/// The part that says what is no more, the part that says what is new, and where in it.
pub(super) fn pair(parts: &[(usize, Clause)]) -> Option<(&Clause, &Clause, Span)> {
    for (at, (sentence, gone)) in parts.iter().enumerate() {
        if gone.has(&[Sign::Remind, Sign::If]) || negated(gone) {
            continue;
        }
        let after = parts.iter().skip(at + 1).take(2);
        let before = parts.iter().take(at).rev().take(1);
        for (own, other) in after.chain(before) {
            if other.has(&[Sign::Gone, Sign::NoLonger, Sign::Past, Sign::Once, Sign::Part, Sign::If]) {
                continue;
            }
            if !gone.has(GONE) && !other.has(&[Sign::Stead]) {
                continue;
            }
            if let Some(new) = new_in(other, gone, own == sentence) {
                return Some((gone, other, new));
            }
        }
    }
    None
}

/// Whether it is denied that something is no more.
fn negated(gone: &Clause) -> bool {
    gone.each(Sign::Gone).chain(gone.each(Sign::Leave)).any(|mark| {
        mark.at > 0
            && gone.word(mark.at - 1).is_some_and(|word| {
                matches!(word.plain.as_str(), "nao" | "no" | "not" | "nunca" | "never" | "didn't" | "hasn't")
            })
    })
}

/// What a part names as new. Another sentence may speak of something else: it has to say that something begins.
/// It is the one name in it, or a typed value, or what follows its verb.
fn new_in(part: &Clause, gone: &Clause, same: bool) -> Option<Span> {
    let begins = [Sign::Begin, Sign::Choose, Sign::Direct, Sign::Stead, Sign::Over, Sign::Now];
    if forms::goes_on(part) || (!same && !part.has(&begins)) {
        return None;
    }
    let names = names(part, gone);
    if let [name] = names.as_slice() {
        return Some(name.clone());
    }
    if names.len() > 1 {
        return None;
    }
    let typed = (0..part.words.len())
        .find(|at| part.kind(*at).is_some_and(|kind| !matches!(kind, ValueKind::Number) || part.words.len() < 6));
    if let Some(at) = typed {
        return Some(at..part.measured(at));
    }
    let mark =
        part.marks.iter().filter(|mark| NEW.contains(&mark.sign)).filter(|mark| !part.starts(mark.at, Sign::Not));
    let span = mark.filter_map(|mark| part.phrase_from(mark.end)).next_back()?;
    (!forms::is_vague(part, &span)).then(|| part.with_what_it_is_of(span))
}

/// The runs of words in capitals that the other part does not have.
fn names(part: &Clause, gone: &Clause) -> Vec<Span> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(word) = part.word(at) {
        let own = word.name && word.value.is_none() && !word.sign && word.plain.len() > 1;
        if !own {
            at += 1;
            continue;
        }
        let start = at;
        while part.word(at).is_some_and(|word| word.name && word.value.is_none() && !word.sign) {
            at += 1;
        }
        let titled = (start..at).all(|at| part.word(at).is_some_and(|word| is_title_word(&word.plain)));
        let known = (start..at)
            .all(|at| part.word(at).is_some_and(|word| gone.words.iter().any(|other| other.stem == word.stem)));
        if !titled && !known {
            let span = part.with_what_it_is_of(part.with_noun_before(start)..at);
            at = at.max(span.end);
            found.push(span);
        }
    }
    found
}

impl Clause {
    /// A phrase with what it is of: "casa" in "casa do Jardim Europa".
    pub(super) fn with_what_it_is_of(&self, span: Span) -> Span {
        let joins = |at: usize| {
            self.word(at).is_some_and(|word| {
                matches!(
                    word.plain.as_str(),
                    "de" | "do" | "da" | "del" | "dos" | "das" | "of" | "com" | "con" | "with"
                )
            })
        };
        let mut end = span.end;
        if joins(end) && self.word(end + 1).is_some_and(|word| word.name) {
            end += 2;
            while self.word(end).is_some_and(|word| word.name && word.value.is_none()) {
                end += 1;
            }
        } else if joins(end)
            && self.word(end + 1).is_some_and(|word| !word.sign && word.value.is_none())
            && !self.small(end + 1)
        {
            end += 2;
        }
        span.start..end
    }

    /// Where a name starts with the noun before it: "a maga Estrella".
    fn with_noun_before(&self, start: usize) -> usize {
        let noun = start.checked_sub(1).filter(|at| {
            self.word(*at).is_some_and(|word| !word.sign && word.value.is_none() && !word.name)
                && !self.small(*at)
                && !self.marks.iter().any(|mark| mark.at <= *at && *at < mark.end)
        });
        let determined = noun.and_then(|at| at.checked_sub(1)).is_some_and(|at| {
            self.word(at).is_some_and(|word| {
                matches!(
                    word.plain.as_str(),
                    "o" | "a" | "os" | "as" | "el" | "la" | "los" | "las" | "the" | "una" | "un"
                )
            })
        });
        let of = start.checked_sub(2).filter(|at| {
            let joint =
                self.word(at + 1).is_some_and(|word| matches!(word.plain.as_str(), "do" | "da" | "de" | "del" | "of"));
            joint
                && !self.small(*at)
                && self.word(*at).is_some_and(|word| !word.sign && word.value.is_none())
                && !self.marks.iter().any(|mark| mark.at <= *at && *at < mark.end)
        });
        of.or(noun.filter(|_| determined)).unwrap_or(start)
    }
}
