//! Which characters of a text its reader cannot see.
//!
//! Folding drops them, so they are looked for here, in the text as it was sent: an answer is what people can see.

use unicode_properties::{EmojiStatus, GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};

const ZERO_WIDTH_JOINER: char = '\u{200D}';
const ENCLOSING_KEYCAP: char = '\u{20E3}';
const TEXT_STYLE: char = '\u{FE0E}';
const EMOJI_STYLE: char = '\u{FE0F}';

/// Characters without a shape whose general category does not say so: letters, marks and symbols. Those that Unicode
/// calls default-ignorable come first, then those that fonts leave blank.
const UNSEEN: &[(char, char)] = &[
    ('\u{34F}', '\u{34F}'),     // combining grapheme joiner
    ('\u{115F}', '\u{1160}'),   // Hangul choseong and jungseong fillers
    ('\u{17B4}', '\u{17B5}'),   // Khmer inherent vowels
    ('\u{180B}', '\u{180F}'),   // Mongolian variation selectors and vowel separator
    ('\u{3164}', '\u{3164}'),   // Hangul filler
    ('\u{FE00}', '\u{FE0F}'),   // variation selectors
    ('\u{FFA0}', '\u{FFA0}'),   // halfwidth Hangul filler
    ('\u{E0100}', '\u{E01EF}'), // variation selectors supplement
    ('\u{2800}', '\u{2800}'),   // braille pattern blank
    ('\u{16FE4}', '\u{16FE4}'), // Khitan small script filler
    ('\u{13441}', '\u{13442}'), // Egyptian hieroglyph blanks
    ('\u{1D159}', '\u{1D159}'), // musical symbol null notehead
];

/// Whether a text has a character that its reader cannot see, or that moves or joins others, where it has no business.
///
/// White space, the parts of an emoji, and direction marks around the whole text have their business.
#[must_use]
pub fn has_hidden(text: &str) -> bool {
    let chars: Vec<char> = text.chars().collect();
    let body = without_direction(&chars);
    (0..body.len()).any(|at| is_hidden(body, at))
}

/// The text without the characters that [`has_hidden`] finds, and without direction marks around it; `instead` stands
/// where a hidden character stood.
pub(super) fn without_hidden(text: &str, instead: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let body = without_direction(&chars);
    let mut out = String::with_capacity(text.len());
    for (at, c) in body.iter().enumerate() {
        if is_hidden(body, at) {
            out.push_str(instead);
        } else {
            out.push(*c);
        }
    }
    out
}

/// What stands inside white space, direction marks, and pairs of direction signs around the whole text. Phones put
/// them there so that a line runs the right way.
fn without_direction(mut text: &[char]) -> &[char] {
    let is_outside = |c: &char| is_white_space(*c) || is_direction_mark(*c);
    loop {
        while let Some((_, rest)) = text.split_first().filter(|(first, _)| is_outside(first)) {
            text = rest;
        }
        while let Some((_, rest)) = text.split_last().filter(|(last, _)| is_outside(last)) {
            text = rest;
        }
        match text {
            [open, inside @ .., close] if closing_direction(*open) == Some(*close) => text = inside,
            _ => return text,
        }
    }
}

fn is_direction_mark(c: char) -> bool {
    matches!(c, '\u{200E}' | '\u{200F}' | '\u{61C}')
}

/// What ends an embedding or an isolate. Overrides are not here: they show letters in another order than they have.
fn closing_direction(open: char) -> Option<char> {
    match open {
        '\u{202A}' | '\u{202B}' => Some('\u{202C}'),
        '\u{2066}'..='\u{2068}' => Some('\u{2069}'),
        _ => None,
    }
}

/// White space that people type. Not the control characters that count as white space elsewhere, which no keyboard
/// has, and not the Ogham space, which looks like a dash.
fn is_white_space(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{B}' | '\u{C}' | '\u{85}' | '\u{1680}')
}

fn is_hidden(text: &[char], at: usize) -> bool {
    let Some(c) = text.get(at).copied() else { return false };
    if c.is_ascii_graphic() || is_white_space(c) {
        return false;
    }
    let before = at.checked_sub(1).and_then(|before| text.get(before)).copied();
    let after = text.get(at + 1).copied();
    match c {
        ZERO_WIDTH_JOINER => !(before.is_some_and(ends_emoji) && after.is_some_and(is_emoji)),
        TEXT_STYLE | EMOJI_STYLE => !before.is_some_and(|before| takes_style(before, after)),
        ENCLOSING_KEYCAP => !ends_keycap(text.get(..at).unwrap_or_default()),
        _ if is_skin_tone(c) => !before.is_some_and(takes_skin_tone),
        _ => is_unseen(c),
    }
}

/// Whether no place makes this character visible.
fn is_unseen(c: char) -> bool {
    let is_without_shape = matches!(
        c.general_category(),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::Surrogate
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
    );
    // The Ogham space is the one white space that comes here and has no such category.
    is_without_shape || c.is_whitespace() || UNSEEN.iter().any(|(first, last)| (*first..=*last).contains(&c))
}

fn is_emoji(c: char) -> bool {
    !c.is_ascii() && c.is_emoji_char()
}

fn is_skin_tone(c: char) -> bool {
    c.emoji_status() == EmojiStatus::EmojiPresentationAndModifierAndEmojiComponent
}

fn takes_skin_tone(c: char) -> bool {
    matches!(c.emoji_status(), EmojiStatus::EmojiModifierBase | EmojiStatus::EmojiPresentationAndModifierBase)
}

/// Whether an emoji, with its style, can end here.
fn ends_emoji(c: char) -> bool {
    is_emoji(c) || c == EMOJI_STYLE
}

/// Whether a style selector may follow: after an emoji, some phones also after its skin tone, or inside a keycap.
fn takes_style(before: char, after: Option<char>) -> bool {
    is_emoji(before) || (is_key(before) && after == Some(ENCLOSING_KEYCAP))
}

fn ends_keycap(before: &[char]) -> bool {
    matches!(before, [.., key] | [.., key, EMOJI_STYLE] if is_key(*key))
}

fn is_key(c: char) -> bool {
    c.is_ascii_digit() || matches!(c, '#' | '*')
}
