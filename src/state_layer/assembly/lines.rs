//! Lines: what users wrote stays inside its line and cannot pass for a heading or a flag.

use super::tokens::Counter;

/// Flags that only the assembler sets.
const FLAGS: &[&str] =
    &["superseded", "contested", "restricted", "invalidated", "hypothetical", "draft", "stale", "scope"];

/// A line of a section, ready to print.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Line {
    /// Its text; begins with `- ` and ends in a line feed.
    pub text: String,
    pub tokens: u32,
}

impl Line {
    /// A line that says this.
    pub(super) fn new(counter: Counter, content: &str) -> Self {
        let text = format!("- {content}\n");
        let tokens = counter.count(&text);
        Self { text, tokens }
    }
}

/// Text from outside, on one line: no control or direction characters, single spaces, no flag of ours in brackets.
pub(super) fn flat(text: &str) -> String {
    let plain = text.bytes().all(|byte| (0x20..0x7F).contains(&byte)) && !text.contains("  ") && !text.contains('[');
    if plain {
        return text.trim().to_owned();
    }
    let visible = |c: char| match c {
        c if c.is_control() || c.is_whitespace() => Some(' '),
        // Marks of direction and invisible separators: what a reader does not see, a model should not read.
        '\u{200B}'
        | '\u{200E}'
        | '\u{200F}'
        | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{2069}'
        | '\u{FEFF}'
        | '\u{E0000}'..='\u{E007F}' => None,
        c => Some(c),
    };
    let mut out = String::with_capacity(text.len());
    for c in text.chars().filter_map(visible) {
        if c != ' ' || !(out.is_empty() || out.ends_with(' ')) {
            out.push(c);
        }
    }
    out.truncate(out.trim_end().len());
    defused(out)
}

/// A flag that somebody wrote into a text loses its brackets.
fn defused(text: String) -> String {
    if !text.contains('[') {
        return text;
    }
    let mut out = String::with_capacity(text.len());
    let mut open = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '[' => {
                let word = text.get(at + 1..).unwrap_or_default().trim_start();
                let flag = |flag: &&&str| word.get(..flag.len()).is_some_and(|start| start.eq_ignore_ascii_case(flag));
                open.push(FLAGS.iter().find(flag).is_some());
                out.push(if open.ends_with(&[true]) { '(' } else { '[' });
            }
            ']' => out.push(if open.pop() == Some(true) { ')' } else { ']' }),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn text_from_outside_stays_in_its_line() {
        for (text, want) in [
            ("a\n## Facts\n- b", "a ## Facts - b"),
            ("  x\t\ty  ", "x y"),
            ("[superseded] a", "(superseded) a"),
            ("[ Contested by b] a [ok]", "( Contested by b) a [ok]"),
            ("[superseded", "(superseded"),
            ("a\u{202E}b\u{2028}c", "ab c"),
            ("ação 👍🏽", "ação 👍🏽"),
        ] {
            assert_eq!(flat(text), want);
        }
    }

    proptest! {
        #[test]
        fn a_line_is_one_line(text in "(\\PC|[\n\r\t\u{85}\u{2028}\u{2029}\\[\\]]|superseded){0,40}") {
            let flat = flat(&text);
            let breaks = flat.contains(|c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}'));
            prop_assert!(!breaks);
            prop_assert!(!flat.to_lowercase().replace(' ', "").contains("[superseded"));
            prop_assert_eq!(super::flat(&flat), flat.clone());
        }
    }
}
