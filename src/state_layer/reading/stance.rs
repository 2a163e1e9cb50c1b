//! How a sentence is meant. Only an assertion changes facts.

use super::Stance;
use super::clause::Clause;
use super::lexicon::Sign;
use super::words::Tongue;
use crate::state_layer::language::value::ValueKind;

/// Questions at the end of a sentence that only ask for assent, in plain letters.
const TAGS: &[&str] = &[
    "pode ser",
    "ok",
    "okay",
    "ta",
    "ta bom",
    "ta bem",
    "blz",
    "beleza",
    "si",
    "vale",
    "dale",
    "please",
    "por favor",
    "pfv",
    "porfa",
    "alright",
    "tudo bem",
    "fechado",
    "de acordo",
    "esta bien",
    "sim",
    "puede ser",
    "esta bem",
    "viu",
    "entendeu",
    "fechou",
    "deal",
    "cool",
    "if possible",
    "se possivel",
    "si es posible",
];

/// The classes of words that ask for a change.
const CHANGES: &[Sign] = &[
    Sign::Move,
    Sign::Swap,
    Sign::End,
    Sign::Instead,
    Sign::Back,
    Sign::NoLonger,
    Sign::Over,
    Sign::Leave,
    Sign::Status,
];

/// How a sentence is meant.
pub(super) fn of(clause: &Clause) -> Stance {
    if question(clause) {
        return Stance::Question;
    }
    if clause.has(&[Sign::Draft]) {
        return Stance::Draft;
    }
    if conditional(clause) {
        return Stance::Hypothetical;
    }
    if clause.has(&[Sign::Wish]) {
        return Stance::Draft;
    }
    if clause.has(&[Sign::NoNeed, Sign::Remind]) {
        return Stance::Confirmation;
    }
    if negated(clause) {
        return Stance::Confirmation;
    }
    if clause.has(&[Sign::Once]) || only_that_day(clause) {
        return Stance::Exception;
    }
    if one_day(clause) {
        return Stance::Exception;
    }
    if past(clause) {
        return Stance::Narrative;
    }
    if clause.has(&[Sign::Hearsay]) && !clause.has(&[Sign::Ruler]) {
        return Stance::Narrative;
    }
    if clause.has(&[Sign::Keep]) && !kept_is_old(clause) {
        return Stance::Confirmation;
    }
    if partly(clause) && !moved_towards(clause) {
        return Stance::Narrative;
    }
    if clause.has(&[Sign::Add]) && !clause.has(CHANGES) {
        return Stance::Narrative;
    }
    Stance::Assertion
}

/// Whether it asks. A request in the form of a question tells what to do, and a tag asks for no more than assent.
fn question(clause: &Clause) -> bool {
    let opening = clause.words.iter().take_while(|word| word.sign || greeting(&word.plain)).count();
    let asked = clause
        .marks
        .iter()
        .find(|mark| mark.sign == Sign::Ask && mark.at == opening && mark.end > mark.at + 1)
        .copied();
    let request = clause
        .first(Sign::Request)
        .is_some_and(|mark| mark.at <= opening + 1 && asked.is_none_or(|ask| mark.end > ask.end));
    if !clause.asks {
        return clause.starts(opening, Sign::Ask)
            && !request
            && !clause.has(&[Sign::Correct, Sign::Now])
            && asks_alone(clause, opening);
    }
    if request && clause.has(&[Sign::Move, Sign::Swap, Sign::End, Sign::Instead, Sign::Back, Sign::Direct]) {
        return false;
    }
    let plain: Vec<&str> =
        clause.words.iter().rev().take_while(|word| !word.sign).map(|word| word.plain.as_str()).collect();
    let tag = plain.into_iter().rev().collect::<Vec<_>>().join(" ");
    !(TAGS.contains(&tag.as_str()) && clause.words.iter().any(|word| word.is(',')))
}

/// Whether an interrogative at the start asks although no question mark follows: not in "when you are done, …".
fn asks_alone(clause: &Clause, opening: usize) -> bool {
    let word = clause.word(opening).map_or("", |word| word.plain.as_str());
    // "quem vai fazer é a Gina"
    let answered =
        clause.each(Sign::Is).any(|is| (is.end..is.end + 2).any(|at| clause.word(at).is_some_and(|word| word.name)));
    if matches!(word, "quem" | "quien" | "who") && answered {
        return false;
    }
    !matches!(
        word,
        "quando"
            | "cuando"
            | "when"
            | "como"
            | "vc"
            | "voce"
            | "voces"
            | "vcs"
            | "have"
            | "do"
            | "will"
            | "hay"
            | "tem"
            | "hacen"
            | "fazem"
            | "entregam"
            | "entregan"
            | "any"
    ) || (matches!(word, "tem" | "hay" | "any" | "tienen") && !clause.has(CHANGES))
}

fn greeting(word: &str) -> bool {
    matches!(
        word,
        "hi" | "hey"
            | "hello"
            | "ok"
            | "oi"
            | "ola"
            | "hola"
            | "bom"
            | "boa"
            | "dia"
            | "tarde"
            | "noite"
            | "buenas"
            | "buenos"
            | "dias"
            | "tardes"
            | "and"
            | "e"
            | "y"
            | "so"
            | "but"
            | "mas"
            | "pero"
            | "oh"
            | "gente"
            | "pessoal"
            | "team"
            | "guys"
    )
}

/// Whether it is bound to a condition: the word for "if" opens a part of the sentence.
fn conditional(clause: &Clause) -> bool {
    clause.each(Sign::If).any(|mark| {
        let Some(word) = clause.word(mark.at) else { return false };
        if !matches!(word.plain.as_str(), "se" | "si") {
            return true;
        }
        let before = mark.at.checked_sub(1).and_then(|at| clause.word(at));
        let opens = before.is_none_or(|word| {
            word.sign || matches!(word.plain.as_str(), "e" | "y" | "mas" | "pero" | "que" | "so" | "solo")
        });
        let after = clause.word(mark.end);
        opens && after.is_some_and(|word| !word.sign)
    })
}

/// Whether it tells of what was: not where it goes on to say what is.
fn past(clause: &Clause) -> bool {
    let Some(mark) = clause.each(Sign::Past).last() else {
        return yesterday(clause) || imperfect(clause);
    };
    // "já foi despachado" tells of a state that was reached.
    if clause.word(mark.at).is_some_and(|word| word.plain == "ja") && clause.starts(mark.end, Sign::Status) {
        return false;
    }
    let goes_on = clause.each(Sign::Now).chain(clause.each(Sign::Correct)).any(|now| {
        now.at >= mark.end || (now.end <= mark.at && clause.word(now.at).is_some_and(|word| word.plain == "now"))
    });
    !goes_on
}

/// Whether it says what was so on the day before: "yesterday the soup was …".
fn yesterday(clause: &Clause) -> bool {
    let then = (0..clause.words.len()).any(|at| {
        clause.word(at).is_some_and(|word| matches!(word.plain.as_str(), "yesterday" | "ontem" | "ayer" | "anoche"))
    });
    let done = |at: usize| {
        clause.starts(at, Sign::Status)
            || clause.word(at).is_some_and(|word| {
                ["ado", "ada", "ido", "ida", "ados", "adas", "ed"].iter().any(|end| word.plain.ends_with(end))
            })
    };
    let was = clause.words.iter().enumerate().any(|(at, word)| {
        matches!(word.plain.as_str(), "was" | "were" | "foi" | "foram" | "fue" | "fueron") && !done(at + 1)
    });
    then && was && !clause.has(&[Sign::Move, Sign::Swap, Sign::Now, Sign::End, Sign::Leave])
}

/// Whether its verb tells how things used to be: "en la 2.2 pasaba eso".
fn imperfect(clause: &Clause) -> bool {
    const ENDINGS: &[&str] = &["aba", "aban", "abamos", "ava", "avam", "avamos"];
    clause.tongue != Tongue::English
        && !clause.has(&[Sign::Move, Sign::Swap, Sign::Now, Sign::Correct])
        && clause.words.iter().any(|word| {
            word.value.is_none()
                && !word.name
                && word.plain.len() > 5
                && word.plain != "agrava"
                && ENDINGS.iter().any(|ending| word.plain.ends_with(ending))
        })
}

/// Whether a change is denied: the word for "not" stands right before it.
fn negated(clause: &Clause) -> bool {
    const NOT: &[&str] = &[
        "nao", "n", "no", "not", "don't", "never", "nunca", "jamais", "jamas", "didn't", "won't", "wasn't", "isn't",
        "doesn't", "hasn't", "can't",
    ];
    const BETWEEN: &[&str] =
        &["se", "me", "lo", "la", "le", "been", "foi", "fue", "be", "being", "get", "esta", "ha", "han", "vai", "va"];
    let not = |at: usize| clause.word(at).is_some_and(|word| NOT.contains(&word.plain.as_str()));
    [Sign::Move, Sign::End, Sign::Swap, Sign::Choose, Sign::Status, Sign::Back]
        .iter()
        .flat_map(|sign| clause.each(*sign))
        .any(|mark| {
            let close = mark.at > 0 && not(mark.at - 1);
            let near = mark.at > 1
                && not(mark.at - 2)
                && clause.word(mark.at - 1).is_some_and(|word| BETWEEN.contains(&word.plain.as_str()));
            // "no longer moving" and the like are phrases of their own.
            (close || near) && !clause.covers(mark.at, Sign::NoLonger) && !clause.has(&[Sign::Instead])
        })
}

/// Whether it holds for one day: "tomorrow only", "só na sexta".
fn only_that_day(clause: &Clause) -> bool {
    let only: &[&str] = match clause.tongue {
        Tongue::English => &["only", "just"],
        _ => &["so", "solo", "apenas", "somente", "solamente", "unicamente"],
    };
    let is_only = |at: usize| clause.word(at).is_some_and(|word| only.contains(&word.plain.as_str()));
    (0..clause.words.len())
        .filter(|at| clause.kind(*at) == Some(ValueKind::Date))
        .any(|at| is_only(at + 1) || (at > 0 && is_only(at - 1)) || (at > 1 && is_only(at - 2) && clause.small(at - 1)))
}

/// Whether a plain statement is about a day near by, with the hour or place on that day: "tomorrow we close at 4".
fn one_day(clause: &Clause) -> bool {
    const NEAR: &[&str] = &["tomorrow", "amanha", "manana", "tonight"];
    let near = clause.words.iter().position(|word| NEAR.contains(&word.plain.as_str()));
    let plain = !clause.has(CHANGES) && !clause.has(&[Sign::Now, Sign::Correct, Sign::Choose, Sign::Make, Sign::Not]);
    let joined = |at: usize| {
        [at.checked_sub(1), Some(at + 1)]
            .into_iter()
            .flatten()
            .any(|next| clause.kind(next) == Some(ValueKind::Time) || clause.kind(next) == Some(ValueKind::Date))
    };
    near.is_some_and(|at| {
        plain && !joined(at) && clause.words.iter().enumerate().any(|(other, word)| other != at && word.value.is_some())
    })
}

/// Whether it is about a part that was spent, paid or reached: not what "is paid", as a rule.
fn partly(clause: &Clause) -> bool {
    clause.each(Sign::Part).any(|mark| {
        let before = mark.at.checked_sub(1).and_then(|at| clause.word(at));
        !before
            .is_some_and(|word| matches!(word.plain.as_str(), "is" | "are" | "gets" | "get" | "be" | "se" | "es" | "e"))
    })
}

/// Whether something is moved to a value: "raised the fee to $49" is no sum that was raised.
fn moved_towards(clause: &Clause) -> bool {
    clause.first(Sign::Move).is_some_and(|mark| {
        (mark.at + 1..clause.words.len()).any(|at| {
            clause.kind(at + 1).is_some()
                && clause.word(at).is_some_and(|word| {
                    matches!(word.plain.as_str(), "to" | "para" | "pra" | "a" | "pro" | "al" | "hasta" | "ao" | "ate")
                })
        })
    })
}

/// Whether what is kept is only a part: "keep the location, but change the quantity", "still, it moved to Friday".
fn kept_is_old(clause: &Clause) -> bool {
    let Some(keep) = clause.each(Sign::Keep).last() else {
        return false;
    };
    // "make it 36, more people confirmed"
    let reason = keep.at > 2 && clause.word(keep.at).is_some_and(|word| word.plain.starts_with("confirm"));
    if reason && clause.has(&[Sign::Move, Sign::Swap, Sign::Make, Sign::Instead]) {
        return true;
    }
    clause.each(Sign::And).any(|but| {
        but.at >= keep.end
            && clause.word(but.at).is_some_and(|word| matches!(word.plain.as_str(), "but" | "mas" | "pero" | "porem"))
            && CHANGES.iter().any(|sign| clause.each(*sign).any(|mark| mark.at > but.at))
    })
}
