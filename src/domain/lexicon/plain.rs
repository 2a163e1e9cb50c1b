//! Whether a text means just what its words say.
//!
//! Folding drops punctuation, and with it signs that turn an answer round: `!sim`, `[ ] sim`,
//! `sim…`, `sim :(`. They are looked for here, in the text as it was sent.

use super::hidden::has_hidden;
use super::normalise::{is_punctuation, shown};
use super::reading::MAX_ANSWER_CHARS;

/// Whether nothing about the text takes back, asks or doubts what its words say.
///
/// False if it asks (a question mark of any script, or an emoji of one), is or contains something
/// struck through (`~x~`), has a quoted line (`> x`), begins with a negation sign (`!x`, `¬x`) or
/// has an unticked box (`[ ] x`), trails off (`x,`, `x —`, `x...`), has a sad face of punctuation
/// (`x :(`), has a character that cannot be seen, or is longer than [`MAX_ANSWER_CHARS`]. A final
/// `.` or `!`, quotes, brackets, emphasis and a smiling `:)` are plain. So are white space, the
/// joiners, styles and skin tones of an emoji, and direction marks around the whole text; every
/// other character that is invisible, reorders or controls is not.
///
/// Says nothing about the words: a text may be plain and no answer.
///
/// ```
/// use cscp::domain::lexicon::is_plain;
/// assert!(is_plain("sim!"));
/// assert!(!is_plain("sim,"));
/// ```
#[must_use]
pub fn is_plain(text: &str) -> bool {
    if text.chars().nth(MAX_ANSWER_CHARS).is_some() || text.chars().any(is_question_mark) {
        return false;
    }
    // Nothing that could turn a text round is a letter, a digit or a space: most texts are seen to be plain at once.
    if text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b' ') {
        return true;
    }
    if has_hidden(text) {
        return false;
    }
    let shown: Vec<char> = shown(text).collect();
    let is_undone = |line: &[char]| begins_undone(line) || has_empty_box(line) || has_sad_face(line);
    let is_struck = shown.iter().filter(|c| **c == '~').count() > 1;
    !(is_struck || shown.contains(&'?') || trails_off(&shown) || shown.split(|c| is_line_end(*c)).any(is_undone))
}

/// Every character that Unicode names a question mark or interrobang, and signs that show one.
/// Those with a compatibility decomposition are also seen by the `?` in it.
fn is_question_mark(c: char) -> bool {
    let is_punctuation = matches!(
        c,
        '?' | '？'
            | '﹖'
            | '︖'
            | '¿'
            | '‽'
            | '⸘'
            | '⸮'
            | '⹔'
            | '⁇'
            | '⁈'
            | '⁉'
            | '\u{37E}'
            | '՞'
            | '؟'
            | '፧'
            | '\u{1945}'
            | '\u{2CFA}'
            | '\u{2CFB}'
            | '\u{A60F}'
            | '\u{A6F7}'
            | '\u{11143}'
            | '\u{1E95F}'
            | '\u{E003F}'
    );
    let is_sign =
        matches!(c, '❓' | '❔' | '≟' | '⍰' | '⩻' | '⩼' | '㉄' | '\u{2BD1}' | '\u{1F679}'..='\u{1F67B}' | '\u{1FBC4}');
    is_punctuation || is_sign
}

fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{B}' | '\u{C}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || c == '\u{2800}'
}

fn is_exclamation(c: char) -> bool {
    matches!(c, '!' | '❗' | '❕')
}

/// What may stand around a text that is plain: quotes (not the low ones, which end a text like a
/// comma), emphasis, brackets.
fn is_wrapping(c: char) -> bool {
    matches!(
        c,
        '"' | '\''
            | '`'
            | '*'
            | '_'
            | '('
            | ')'
            | '['
            | ']'
            | '{'
            | '}'
            | '«'
            | '»'
            | '‹'
            | '›'
            | '‘'
            | '’'
            | '‛'
            | '“'
            | '”'
            | '‟'
            | '¡'
    )
}

/// Whether a line begins with the sign of a quotation or of a negation.
fn begins_undone(line: &[char]) -> bool {
    let is_start = |c: &char| is_blank(*c) || is_wrapping(*c);
    let start = line.iter().take_while(|c| is_start(c)).count();
    let next = line.get(start + 1).is_some_and(|c| c.is_alphanumeric());
    match line.get(start) {
        Some('>' | '~' | '⁓' | '〜' | '¬' | '⌐' | '⌙' | '⫬' | '⫭') => true,
        // With a space after it, a dash is the bullet of a list.
        Some('-' | '\u{2010}'..='\u{2013}' | '\u{2212}') => next,
        Some(c) if is_exclamation(*c) => true,
        _ => line.windows(3).any(is_negated_word),
    }
}

/// `!word` inside a line: "ok !sí".
fn is_negated_word(window: &[char]) -> bool {
    match window {
        [before, sign, word] => is_blank(*before) && is_exclamation(*sign) && word.is_alphanumeric(),
        _ => false,
    }
}

/// Whether a line has a box that nobody ticked: `☐`, or brackets without a word or a sign in them.
fn has_empty_box(line: &[char]) -> bool {
    let is_box = |c: &char| matches!(c, '☐' | '□' | '▢' | '◻' | '◽' | '⬜' | '❏'..='❒' | '🔲');
    let is_empty = |(open, c): (usize, &char)| {
        let Some(close) = closing(*c) else { return false };
        let inside = line.iter().skip(open + 1).take_while(|c| **c != close);
        let length = inside.clone().take_while(|c| is_blank(**c) || is_punctuation(**c)).count();
        line.get(open + 1 + length) == Some(&close)
    };
    line.iter().any(is_box) || line.iter().enumerate().any(is_empty)
}

fn closing(open: char) -> Option<char> {
    match open {
        '(' => Some(')'),
        '[' => Some(']'),
        '{' => Some('}'),
        '<' => Some('>'),
        '【' => Some('】'),
        '〔' => Some('〕'),
        _ => None,
    }
}

fn is_eye(c: char) -> bool {
    matches!(c, ':' | ';' | '=')
}

fn is_nose(c: char) -> bool {
    matches!(
        c,
        '-' | '\'' | '"' | '`' | '’' | '‘' | ',' | '.' | '^' | '~' | '*' | '_' | '\u{2010}'..='\u{2015}' | '\u{2212}'
    )
}

fn is_smile(c: char) -> bool {
    matches!(c, ')' | ']' | '}')
}

/// Whether a line has a face of punctuation that does not smile: `:(`, `:'(`, `=/`, `):`, `-_-`.
fn has_sad_face(line: &[char]) -> bool {
    let is_upright =
        |at: usize| matches!(mouth(line, at), Some('(' | '[' | '{' | '<' | '/' | '\\' | '|' | '@' | '#' | '&'));
    let is_mouth = |c: &char| is_smile(*c) || matches!(c, '/' | '\\' | '|');
    let is_reversed = |word: &[char]| {
        let mouth = word.iter().take_while(|c| is_mouth(c)).count();
        let nose = word.iter().skip(mouth).take_while(|c| is_nose(**c)).count();
        mouth > 0 && word.get(mouth + nose).is_some_and(|c| is_eye(*c))
    };
    let mut words = line.split(|c| is_blank(*c));
    (0..line.len()).any(is_upright) || words.any(|word| is_reversed(word) || is_flat(word))
}

/// What follows the eyes at this place and the nose or tear below them, if there are eyes.
fn mouth(line: &[char], at: usize) -> Option<char> {
    line.get(at).filter(|c| is_eye(**c))?;
    line.iter().skip(at + 1).find(|c| !is_nose(**c)).copied()
}

/// Two eyes and a mouth between them: `-_-`, `>.<`, `;-;`.
fn is_flat(word: &[char]) -> bool {
    let is_eye = |c: &char| matches!(c, '-' | '.' | ',' | ';' | '=' | '<' | '>' | '\'' | '~');
    match word {
        [left, middle @ .., right] if is_eye(left) && is_eye(right) => {
            let is_mouth = |c: &char| matches!(c, '_' | '.' | '-') && c != left;
            !middle.is_empty() && middle.iter().all(is_mouth)
        }
        _ => false,
    }
}

/// Whether the text breaks off: dots in a row anywhere, or an end that is punctuation other than
/// `.` and `!`. What is not known to end a sentence is taken to leave it open.
fn trails_off(shown: &[char]) -> bool {
    let text: Vec<char> = shown.iter().copied().filter(|c| !is_blank(*c)).collect();
    let is_stop = |c: char| matches!(c, '.' | '。' | '।' | '॥' | '۔');
    let has_dots = text.windows(2).any(|pair| pair.iter().all(|c| is_stop(*c)));
    let is_end = |c: char| is_stop(c) || is_exclamation(c) || is_wrapping(c);
    let mut end = text.as_slice();
    while let Some((last, before)) = end.split_last() {
        if let Some(eyes) = smile_at_end(end) {
            end = eyes;
        } else if is_end(*last) && closing(*last).is_none() {
            end = before;
        } else {
            break;
        }
    }
    has_dots || end.last().is_some_and(|c| is_punctuation(*c))
}

/// What stands before the smiling face at the end, if there is one.
fn smile_at_end(text: &[char]) -> Option<&[char]> {
    let mouth = text.iter().rev().take_while(|c| is_smile(**c)).count();
    let nose = text.iter().rev().skip(mouth).take_while(|c| is_nose(**c)).count();
    let (eye, before) = text.get(..text.len() - mouth - nose)?.split_last()?;
    // A wink takes back what it ends.
    (mouth > 0 && is_eye(*eye) && *eye != ';').then_some(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_an_end_or_something_around_them_are_plain() {
        for text in [
            "",
            "sim",
            "sim.",
            "sim!",
            "sim!!",
            "sim❗",
            "¡Sí!",
            "si¡",
            "\"sim\"",
            "“sim.”",
            "*sim*",
            "_Sim!_",
            "```sim```",
            "(sim)",
            "o.k.",
            "sim, sim",
            "sim\nsim.",
            "- sim",
            "sim :)",
            "sim :-)",
            "sim =)",
            "sim! :))",
            "sim 👍",
            "👍",
            "2",
            "2.",
            "2)",
            "2️⃣",
            "Tamanho: (P) - azul / verde",
            "Camiseta (azul): R$ 10,50",
            "10:00/11:00",
            "100%",
            "C++",
            " \u{200E}sim\u{200F}\n",
            "\u{2068}\u{202A}sim\u{202C}\u{2069}",
            "sim\u{A0}🙅🏽\u{200D}♀\u{FE0F}",
        ] {
            assert!(is_plain(text), "{text:?}");
        }
        assert!(is_plain(&"s".repeat(MAX_ANSWER_CHARS)));
        assert!(!is_plain(&"s".repeat(MAX_ANSWER_CHARS + 1)));
    }

    #[test]
    fn signs_that_turn_a_text_round_are_seen() {
        #[rustfmt::skip]
        let texts = [
            // Struck through, quoted.
            "~x~", "a ~x~ b", "～x～", "> x", " > x", "a\n> x", "＞ x",
            // Negated.
            "!x", "! x", "!!x", "！x", "❗x", "¬x", "¬ x", "￢x", "~x", "˜x", "〜x", "‒x", "-x", "\u{2212}5", "*!x*", "\"!x\"", "a\n!x", "a !x",
            "!\u{301}x", "\u{200D}!x",
            // Unticked.
            "( ) x", "() x", "[ ] x", "[] x", "[_] x", "[\u{200B}] x", "{ } x", "（ ） x", "☐ x", "⬜ x", "x [ ]", "a\n[ ] x", "<> x",
            // Sad.
            "x :(", "x:(", ":( x", "x :/", "x :\\", "x :|", "x :[", "x :'(", "x :´(", "x :-(", "x :'-(", "x =(", "x =/", "x ;(",
            "x ;-(", "x >:(", "): x", ")': x", "x ):", "-_- x", "x >_<", "x ._.", ";-; x", "x ：（",
            // Trailing off.
            "x,", "x ,", "x:", "x;", "x -", "x —", "x –", "x..", "x...", "x…", "x‥", "x . . .", "...x", "x... x", "x。。", "x、", "x‚", "x¸", "x˜",
            "x،", "x /", "x (", "x =", "x ~", "\"x,\"", "*x…*", "x,!", "x,.", "x,\u{200D}", "x,\u{301}", "x,\u{20E3}", "x,\u{2800}",
            // A wink.
            "x ;)", "x ;-)",
        ];
        for text in texts {
            assert!(!is_plain(text), "{text:?}");
        }
    }

    #[test]
    fn a_question_mark_of_any_script_is_seen() {
        let marks = "?？﹖︖¿‽⸘⸮⹔⁇⁈⁉\u{37E}՞؟፧᥅⳺⳻꘏꛷𑅃𞥟❓❔⍰≟㉄🙹🙺🙻🯄\u{2BD1}\u{E003F}";
        for mark in marks.chars() {
            assert!(!is_plain(&format!("x{mark}")) && !is_plain(&format!("{mark} x")), "{mark:?}");
        }
    }
}
