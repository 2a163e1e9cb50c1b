//! Sentences: where one thing that is said ends and the next begins.

use super::terms::folded;

/// Words that end in a full stop without ending a sentence, folded. Whatever follows, they do not.
const TITLES: &[&str] = &[
    "approx", "aprox", "art", "av", "avda", "cf", "depto", "dept", "dr", "dra", "e.g", "eng", "ex", "exa", "excmo",
    "fig", "gov", "i.e", "ing", "lic", "mr", "mrs", "ms", "num", "p.ej", "p.ex", "pag", "prof", "profa", "sr", "sra",
    "srta", "sto", "tel", "vol", "vs",
];
/// Words that end in a full stop and may end a sentence too: they do where the next word is capitalised.
const EITHER: &[&str] = &[
    "a.m", "p.m", "am", "pm", "co", "corp", "etc", "inc", "jr", "ltd", "ltda", "s.a", "sa", "st", "ud", "uds", "u.s",
    "ee.uu", "hs", "hr", "hrs", "min", "seg", "jan", "feb", "fev", "mar", "apr", "abr", "ago", "aug", "sep", "sept",
    "set", "oct", "out", "nov", "dec", "dez", "dic",
];
/// Abbreviations of "number": they do not end a sentence before a digit.
const NUMBERS: &[&str] = &["n", "no", "nr", "nro", "num"];

/// The sentences of a text, in order; together they are the text. White space after a sentence belongs to it.
///
/// A sentence ends at a line's end, and at `.`, `!`, `?`, `;` or `…` before white space or the end, closing quotes and
/// brackets included: so not inside `$1.5`, `R$ 1.500,00` or an address, and not after `Dr.` or `e.g.`.
#[must_use]
pub fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(offset) = text.get(at..).and_then(|rest| rest.find(ends_something)) {
        let mark = at + offset;
        let (end, newline) = mark_end(text, mark);
        at = end;
        let rest = text.get(end..).unwrap_or_default();
        let spaced = rest.is_empty() || rest.starts_with(char::is_whitespace);
        if newline || (spaced && closes(text, start, mark, end)) {
            let space = rest.len() - rest.trim_start().len();
            at = end + space;
            found.extend(text.get(start..at).filter(|sentence| !sentence.is_empty()));
            start = at;
        }
    }
    found.extend(text.get(start..).filter(|sentence| !sentence.is_empty()));
    found
}

fn ends_something(c: char) -> bool {
    matches!(c, '.' | '!' | '?' | ';' | '…' | '\n')
}

/// Where a run of marks with its closing quotes and brackets ends, and whether it holds a line's end.
fn mark_end(text: &str, mark: usize) -> (usize, bool) {
    let run = text.get(mark..).unwrap_or_default();
    if run.starts_with('\n') {
        return (mark + 1, true);
    }
    let marks = run.find(|c: char| !ends_something(c) || c == '\n').unwrap_or(run.len());
    let after = run.get(marks..).unwrap_or_default();
    let closing = after.find(|c: char| !matches!(c, '"' | '\'' | ')' | ']' | '”' | '’' | '»')).unwrap_or(after.len());
    (mark + marks + closing, false)
}

/// Whether marks before white space end a sentence: all but a full stop that belongs to its word.
fn closes(text: &str, start: usize, mark: usize, end: usize) -> bool {
    let marks = text.get(mark..end).unwrap_or_default();
    let next = text.get(end..).unwrap_or_default().trim_start().chars().next();
    if marks.starts_with("..") || marks.starts_with('…') {
        return !next.is_some_and(char::is_lowercase);
    }
    if marks != "." {
        return true;
    }
    let before = text.get(start..mark).unwrap_or_default();
    let word = before
        .rsplit(|c: char| c.is_whitespace() || matches!(c, '(' | '[' | '"' | '¿' | '¡'))
        .next()
        .unwrap_or_default();
    if word.chars().count() > 8 {
        return true;
    }
    // `J. Silva`; at the very start of a sentence a single letter is rather a list's.
    if word.chars().count() == 1 && word.chars().all(char::is_uppercase) && before.trim().len() > word.len() {
        return next.is_none();
    }
    let word = folded(word);
    if TITLES.contains(&word.as_str()) {
        return false;
    }
    if NUMBERS.contains(&word.as_str()) && next.is_some_and(|c| c.is_ascii_digit()) {
        return false;
    }
    !EITHER.contains(&word.as_str()) || next.is_none_or(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sentence_ends_where_a_reader_ends_it() {
        let cases: [(&str, &[&str]); 16] = [
            ("", &[]),
            ("One.", &["One."]),
            ("One. Two! Three? four; five", &["One. ", "Two! ", "Three? ", "four; ", "five"]),
            ("It is $1.5 now. Pay R$ 1.500,00 today.", &["It is $1.5 now. ", "Pay R$ 1.500,00 today."]),
            ("Dr. Silva veio. O Sr. Souza não.", &["Dr. Silva veio. ", "O Sr. Souza não."]),
            ("Fruit, e.g. apples. Pears", &["Fruit, e.g. apples. ", "Pears"]),
            ("Sold to Acme Inc. for cash", &["Sold to Acme Inc. for cash"]),
            ("Sold to Acme Inc. Done", &["Sold to Acme Inc. ", "Done"]),
            ("manda pra rua x. depois eu pago", &["manda pra rua x. ", "depois eu pago"]),
            ("Well... maybe. Wait... No", &["Well... maybe. ", "Wait... ", "No"]),
            ("He said \"stop.\" Then left", &["He said \"stop.\" ", "Then left"]),
            ("a\n\nb", &["a\n\n", "b"]),
            ("see x.com/a?b=1;c now", &["see x.com/a?b=1;c now"]),
            ("Really?! Yes.", &["Really?! ", "Yes."]),
            ("It is No. 5. The end", &["It is No. 5. ", "The end"]),
            ("¿Cuánto? ¡Mucho!", &["¿Cuánto? ", "¡Mucho!"]),
        ];
        for (text, want) in cases {
            assert_eq!(sentences(text), want, "{text}");
        }
    }

    proptest! {
        #[test]
        fn sentences_together_are_the_text(text in "(\\PC|[.!?;\n \"…)]|Dr\\.|[0-9]){0,60}") {
            let found = sentences(&text);
            prop_assert_eq!(found.concat(), text.clone());
            prop_assert!(found.iter().all(|sentence| !sentence.is_empty()));
        }
    }
}
