//! One sentence of an utterance: its words, what they are a sign of, and the phrases that can be a value.

use super::lexicon::{self, Mark, Sign};
use super::words::{Tongue, Word, stem};
use crate::state_layer::language::value::ValueKind;

#[derive(Debug, Clone)]
pub(super) struct Clause {
    pub words: Vec<Word>,
    /// What they are a sign of, in order.
    pub marks: Vec<Mark>,
    /// Whether it ends in a question mark.
    pub asks: bool,
    /// In which tongue it is.
    pub tongue: Tongue,
}

/// The words from one up to another.
pub(super) type Span = std::ops::Range<usize>;

/// Words that turn a value into its absence and belong to it.
const WITHOUT: &[&str] = &["no", "sem", "sin", "without", "zero"];

/// Words that join two nouns into one value.
const OF: &[&str] = &["de", "of", "com", "con", "with", "sem", "sin"];

/// The most words of a value that is not typed.
const LONGEST: usize = 5;

/// Measures that belong to the amount before them: `per unit`, `a week`, `por dia`.
const PER: &str = "per por a an al ao a each every cada";

impl Clause {
    /// The sentences of an utterance.
    pub(super) fn all(words: Vec<Word>, tongue: Tongue) -> Vec<Self> {
        let mut clauses = Vec::new();
        let mut current: Vec<Word> = Vec::new();
        let mut asks = false;
        for word in words {
            let ends = word.sign && matches!(word.plain.as_str(), "." | "!" | "?" | ";" | "\n");
            if !ends {
                current.push(word);
                continue;
            }
            asks |= word.is('?');
            if !current.is_empty() {
                clauses.push(Self::of(std::mem::take(&mut current), asks, tongue));
                asks = false;
            } else if let Some(last) = clauses.last_mut() {
                last.asks |= asks;
                asks = false;
            }
        }
        if !current.is_empty() {
            clauses.push(Self::of(current, asks, tongue));
        }
        clauses
    }

    /// A sentence or a part of one.
    pub(super) fn of(words: Vec<Word>, asks: bool, tongue: Tongue) -> Self {
        let mut marks = lexicon::marks(&words, tongue);
        // A word inside a typed value, or inside a longer phrase that says something else, is no sign.
        marks.retain(|mark| {
            words.get(mark.at).is_none_or(|word| {
                // "New York" is not new, and the A of "Plan A" is no article.
                let named =
                    word.name && (matches!(mark.sign, Sign::Now) || (word.plain.len() == 1 && word.plain != "i"));
                word.value.is_none() && !named
            })
        });
        let all = marks.clone();
        marks.retain(|mark| {
            !all.iter().any(|other| {
                let longer = other.end - other.at > mark.end - mark.at;
                longer && other.at <= mark.at && other.end >= mark.end && outranks(other.sign, mark.sign)
            })
        });
        Self { words, marks, asks, tongue }
    }

    /// The first phrase of a class.
    pub(super) fn first(&self, sign: Sign) -> Option<Mark> {
        self.marks.iter().find(|mark| mark.sign == sign).copied()
    }

    /// The phrases of a class.
    pub(super) fn each(&self, sign: Sign) -> impl Iterator<Item = Mark> + '_ {
        self.marks.iter().filter(move |mark| mark.sign == sign).copied()
    }

    /// Whether there is a phrase of one of these classes.
    pub(super) fn has(&self, signs: &[Sign]) -> bool {
        self.marks.iter().any(|mark| signs.contains(&mark.sign))
    }

    /// Whether a phrase of this class starts here.
    pub(super) fn starts(&self, at: usize, sign: Sign) -> bool {
        self.marks.iter().any(|mark| mark.sign == sign && mark.at == at)
    }

    /// Whether a phrase of this class covers this word.
    pub(super) fn covers(&self, at: usize, sign: Sign) -> bool {
        self.marks.iter().any(|mark| mark.sign == sign && mark.at <= at && at < mark.end)
    }

    /// The word, if there is one.
    pub(super) fn word(&self, at: usize) -> Option<&Word> {
        self.words.get(at)
    }

    /// The kind of the typed value here.
    pub(super) fn kind(&self, at: usize) -> Option<ValueKind> {
        self.word(at).and_then(|word| word.value.as_ref()).map(|value| value.kind)
    }

    /// Whether this word is small: it holds no content.
    pub(super) fn small(&self, at: usize) -> bool {
        self.starts(at, Sign::Stop)
    }

    /// Whether a word points at somebody's own: "my", "os nossos".
    pub(super) fn small_word(word: &Word) -> bool {
        const OWN: &[&str] =
            &["my", "our", "mi", "mis", "nuestros", "meu", "minha", "meus", "minhas", "nossos", "the", "os", "as"];
        OWN.contains(&word.plain.as_str())
    }

    /// Whether a value phrase ends before this word.
    fn bounds(&self, at: usize) -> bool {
        const BOUNDS: &[Sign] = &[
            Sign::And,
            Sign::Instead,
            Sign::Now,
            Sign::Correct,
            Sign::NoLonger,
            Sign::From,
            Sign::Is,
            Sign::If,
            Sign::Request,
            Sign::Once,
            Sign::Over,
            Sign::To,
        ];
        self.word(at).is_none_or(|word| word.sign) || self.small(at) || BOUNDS.iter().any(|sign| self.starts(at, *sign))
    }

    /// The value phrase that starts here, after words that only lead to it.
    pub(super) fn phrase_from(&self, start: usize) -> Option<Span> {
        let mut at = start;
        let mut skipped = 0;
        while skipped < 5
            && self
                .word(at)
                .is_some_and(|word| word.value.is_none() && (word.is(':') || (!word.sign && self.leads(at))))
        {
            at += 1;
            skipped += 1;
        }
        if self.kind(at).is_some() {
            return Some(at..self.measured(at));
        }
        let mut end = at;
        if self.word(at).is_some_and(|word| word.value.is_none() && WITHOUT.contains(&word.plain.as_str()))
            && self.tongue_has(at)
        {
            end += 1;
        }
        while end - at < LONGEST {
            let joins = end > at
                && self.word(end).is_some_and(|word| OF.contains(&word.plain.as_str()))
                && !self.bounds(end + 1)
                && self.word(end + 1).is_some_and(|word| word.value.is_none() && !word.name);
            if self.bounds(end) && !joins {
                break;
            }
            end += 1 + usize::from(joins);
        }
        (end > at).then(|| at..self.carried(end))
    }

    /// Whether a word only leads to a value: articles, prepositions, forms of "to be", "now".
    fn leads(&self, at: usize) -> bool {
        if self.word(at).is_some_and(|word| WITHOUT.contains(&word.plain.as_str())) {
            return false;
        }
        self.small(at) || self.starts(at, Sign::To) || self.starts(at, Sign::Is) || self.starts(at, Sign::Now)
    }

    /// Whether "no" here says "without": in Spanish it says "not".
    fn tongue_has(&self, at: usize) -> bool {
        self.tongue == Tongue::English || self.word(at).is_some_and(|word| word.plain != "no")
    }

    /// A phrase of words may go on with a preposition and a typed value: `cartão em 3x`.
    fn carried(&self, end: usize) -> usize {
        if self.kind(end).is_some() {
            return self.measured(end);
        }
        if self.word(end).is_some_and(|word| matches!(word.plain.as_str(), "em" | "en" | "in"))
            && self.kind(end + 1) == Some(ValueKind::Number)
        {
            return self.measured(end + 1);
        }
        end
    }

    /// Where a typed value ends with what belongs to it: a time after a day, a unit after an amount.
    pub(super) fn measured(&self, at: usize) -> usize {
        let mut end = at + 1;
        let Some(kind) = self.kind(at) else { return end };
        loop {
            let joined = match self.word(end) {
                Some(word) if word.value.is_some() => Some(end),
                Some(word)
                    if word.is('-')
                        || matches!(
                            word.plain.as_str(),
                            "a" | "as" | "to" | "at" | "às" | "y" | "e" | "and" | "ate"
                        ) =>
                {
                    Some(end + 1)
                }
                _ => None,
            };
            let next = joined.filter(|next| {
                let follows = self.kind(*next);
                matches!((kind, follows), (ValueKind::Date | ValueKind::Time, Some(ValueKind::Date | ValueKind::Time)))
                    && !(*next > end && follows == Some(ValueKind::Date) && kind == ValueKind::Date)
            });
            match next {
                Some(next) => end = next + 1,
                None => break,
            }
        }
        if !matches!(kind, ValueKind::Number | ValueKind::Money | ValueKind::Percent | ValueKind::Duration) {
            return end;
        }
        if kind == ValueKind::Number
            && !self.bounds(end)
            && self.word(end).is_some_and(|word| word.value.is_none())
            && !self.covers(end, Sign::Request)
        {
            end += 1;
        }
        let per = |at: usize| self.word(at).is_some_and(|word| PER.split(' ').any(|small| small == word.plain));
        if per(end) {
            let counted = self.word(end).is_some_and(|word| matches!(word.plain.as_str(), "each"));
            let noun = self
                .word(end + 1)
                .is_some_and(|word| !word.sign && word.value.is_none() && !self.small(end + 1) && word.plain.len() > 2);
            let unit = matches!(kind, ValueKind::Money | ValueKind::Number | ValueKind::Duration);
            if counted {
                end += 1;
            } else if noun && unit && is_unit(self.word(end + 1).map_or("", |word| word.plain.as_str())) {
                end += 2;
            }
        }
        end
    }

    /// The value phrase that ends before this word.
    pub(super) fn phrase_until(&self, end: usize) -> Option<Span> {
        let mut last = end;
        while last > 0 && self.word(last - 1).is_some_and(|word| word.sign) {
            last -= 1;
        }
        let typed = (0..last).rev().take(4).find(|at| self.kind(*at).is_some());
        if let Some(at) = typed
            && self.measured(at) >= last
        {
            return Some(at..last);
        }
        let mut start = last;
        while start > 0 && last - start < LONGEST {
            let at = start - 1;
            let verb = self.starts(at, Sign::Choose) || self.starts(at, Sign::Direct) || self.starts(at, Sign::Move);
            if self.bounds(at) || verb || self.covers(at, Sign::Choose) || self.kind(at).is_some() {
                let without = start < last && self.word(at).is_some_and(|word| WITHOUT.contains(&word.plain.as_str()));
                start -= usize::from(without && self.tongue_has(at));
                break;
            }
            start = at;
        }
        (start < last).then_some(start..last)
    }

    /// The stems of the words in a span that hold content.
    pub(super) fn stems(&self, span: Span) -> Vec<String> {
        span.filter(|at| !self.small(*at))
            .filter_map(|at| self.word(at))
            .filter(|word| !word.sign)
            .flat_map(|word| word.plain.split(|letter: char| !letter.is_alphanumeric()).map(stem).collect::<Vec<_>>())
            .filter(|stem| !stem.is_empty())
            .collect()
    }
}

fn is_unit(word: &str) -> bool {
    const UNITS: &str = "unit unidade unidad day dia week semana month mes year ano hour hora person pessoa persona seat asiento kilo kg quilo litro liter \
        head piece user usuario night noite noche page pagina box caixa caja item student aluno alumno metro meter mile pack";
    UNITS.split_whitespace().any(|unit| unit == word)
}

/// Whether a longer phrase of one class hides a word of another inside it.
fn outranks(longer: Sign, inner: Sign) -> bool {
    use Sign::{
        Add, Ask, Back, Choose, Correct, Draft, End, From, Gone, Hearsay, If, Instead, Is, Keep, Leave, Move, NoLonger,
        NoNeed, Not, Now, Once, Other, Over, Past, Relation, Request, Status, Swap, To, Wish,
    };
    match longer {
        Request => matches!(inner, Wish | Ask | Is),
        Correct => matches!(
            inner,
            Other | Relation | Wish | Not | Is | Move | Status | End | Swap | Choose | Ask | NoNeed | Now | Draft
        ),
        Leave => matches!(inner, Hearsay | Keep | Ask | Past),
        NoNeed => matches!(inner, Move | End | Status | Swap | Not | Choose),
        NoLonger => matches!(inner, Not | Status | Keep),
        Instead => matches!(inner, To | From | Move | Swap),
        Keep => matches!(inner, Move | Status | Not | Is),
        Past | Once => matches!(inner, Now | Is | To),
        Back => matches!(inner, Move | Choose | To),
        Choose => matches!(inner, Wish | Is | To | Hearsay | Move | End | Status),
        End => matches!(inner, Not | Move | Status | NoNeed),
        Over => matches!(inner, Is | Move | Now | Swap | Add),
        Gone => matches!(inner, Add | Not | Over),
        Status => matches!(inner, Move | End | Not),
        Wish => matches!(inner, Move | Choose | Is | Status),
        If => matches!(inner, Wish),
        _ => false,
    }
}
