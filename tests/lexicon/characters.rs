//! Every character that Unicode has, before, inside and after a yes: an answer is what people can see.

use std::collections::BTreeMap;

use cscp::domain::lexicon::{is_plain, read_number};
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

use crate::{No, Qualified, Yes, check, kind, shipped};

/// White space that people type, and direction marks at an end of the text.
const AROUND: &str = " \t\n\r\u{2028}\u{2029}\u{200E}\u{200F}\u{61C}";
const ACCENTS: &str = "\u{300}\u{301}\u{302}\u{303}\u{308}\u{30A}\u{30C}\u{327}";
const APOSTROPHES: &str = "'`‘’‛ʼʹʻ";
const SIGNS: &str = "👍👌✅✔✓☑🆗";

/// Punctuation and emoji that leave a yes as it is when they follow it.
const ENDS: &str = ".!❗❕。۔।॥\")]}*_«»‹›“”‟¡🙏";

/// Emoji of good will, which may stand beside a yes.
const GOOD_WILL: &str = "😊🙂😀😃😄😁🥰😍🤗❤💙💚💛🧡💜💕💖☺🎉🙌👏💪🤝✨🌹🌸🎊⭐";

/// Punctuation that leaves a yes as it is when it stands before it: everything visible that is not known to ask, to
/// negate or to strike through.
const STARTS: &str = "\"#&()*,./:;<=@[\\]^_{|}¡«»·،؛۔।॥、。〃〈〉《》「」『』【】〔〕〖〗〘〙〚〛〝〞〟〰";
const START_RANGES: &[(char, char)] = &[('\u{2014}', '\u{2027}'), ('\u{2032}', '\u{205E}'), ('\u{2E00}', '\u{2E5D}')];

/// What would be allowed by its parts and is not: leaders of several dots, spacing accents that are typed for a comma or
/// a tilde, and before a yes what asks, or negates as a tilde does.
const NOT_AFTER: &str = "‥…︙︰¸˜";
const NOT_BEFORE: &str = "‥…︙︰˜\u{37E}‼⁇⁈⁉‽⸘⸮⹔⁓";

/// Whether `c` is made of these characters only, whatever its style or width.
fn is_made_of(c: char, allowed: &[&str], ranges: &[(char, char)]) -> bool {
    let is_allowed = |part: char| {
        let is_listed = allowed.iter().any(|list| list.contains(part));
        is_listed || ranges.iter().any(|(first, last)| (*first..=*last).contains(&part))
    };
    // A letter in a circle or a square is a sign, not that letter.
    let is_enclosed = matches!(c, '\u{2460}'..='\u{24FF}' | '\u{1F100}'..='\u{1F1AD}');
    (!is_enclosed || SIGNS.contains(c)) && std::iter::once(c).nfkd().flat_map(char::to_lowercase).all(is_allowed)
}

fn may_follow(c: char) -> bool {
    is_made_of(c, &["m", AROUND, ACCENTS, APOSTROPHES, SIGNS, ENDS, GOOD_WILL], &[]) && !NOT_AFTER.contains(c)
}

fn may_precede(c: char) -> bool {
    is_made_of(c, &["🙏", AROUND, ACCENTS, APOSTROPHES, SIGNS, STARTS, GOOD_WILL], START_RANGES)
        && !NOT_BEFORE.contains(c)
}

fn may_stand_inside(c: char) -> bool {
    // Whoever drags the first letter out hesitates.
    is_made_of(c, &["i", ACCENTS, APOSTROPHES, "′"], &[]) || c == '´'
}

/// Reads a yes with every character there is, and names those of which the reading is not what `may` says.
///
/// Reading takes most of the time, and a text that is not plain is never an answer. So of these, nine in ten of the
/// million, one in 61 is read.
fn no_other_reads_as_yes(may: impl Fn(char) -> bool, text: impl Fn(char) -> String) {
    let lexicon = shipped();
    let mut wrong: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (number, c) in ('\0'..=char::MAX).enumerate() {
        let (may, text) = (may(c), text(c));
        let is_read = may || number.is_multiple_of(61) || is_plain(&text);
        if is_read && (kind(&lexicon.read(&text)) == Yes) != may {
            let group = format!("{:?}, may: {may}", c.general_category());
            wrong.entry(group).or_default().push(format!("U+{:04X} {c}", u32::from(c)));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn no_character_hides_after_a_yes() {
    no_other_reads_as_yes(may_follow, |c| format!("sim{c}"));
}

#[test]
fn no_character_hides_before_a_yes() {
    no_other_reads_as_yes(may_precede, |c| format!("{c}sim"));
}

#[test]
fn no_character_hides_inside_a_yes() {
    no_other_reads_as_yes(may_stand_inside, |c| format!("s{c}im"));
}

/// Whether nobody can see the character, wherever it stands.
fn is_invisible(c: char) -> bool {
    use GeneralCategory::{Control, Format, PrivateUse, Unassigned};
    let of_category = matches!(c.general_category(), Control | Format | PrivateUse | Unassigned);
    let is_ignorable = matches!(c,
        '\u{34F}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{2800}'
        | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FFA0}' | '\u{E0100}'..='\u{E01EF}');
    (of_category || is_ignorable) && !matches!(c, '\t' | '\n' | '\r')
}

#[test]
fn a_text_with_a_character_that_nobody_sees_is_not_plain() {
    let mut seen = Vec::new();
    for c in ('\0'..=char::MAX).filter(|c| is_invisible(*c)) {
        let is_mark = AROUND.contains(c);
        let texts = [(format!("a{c}b"), false), (format!("a {c}"), is_mark), (format!("{c} a"), is_mark)];
        seen.extend(texts.into_iter().filter(|(text, expected)| is_plain(text) != *expected));
    }
    assert!(seen.is_empty(), "{seen:?}");
}

#[test]
fn direction_marks_around_the_whole_text_are_allowed() {
    #[rustfmt::skip]
    check(shipped(), Yes, &[
        "\u{200E}sim", "sim\u{200F}", "\u{61C}sim\u{61C}", " \u{200E} sim \u{200F}\n", "\u{202A}sim\u{202C}",
        "\u{202B}sim!\u{202C}", "\u{2066}sim\u{2069}", "\u{2067}sim\u{2069}", "\u{2068}sim 👍\u{2069}",
        "\u{200E}\u{2068}\u{202A}sim\u{202C}\u{2069}\u{200E}",
    ]);
    #[rustfmt::skip]
    check(shipped(), Qualified, &[
        "s\u{200E}im", "sim\u{200E}!", "sim \u{200F}👍", "\u{202A}sim", "sim\u{202C}", "\u{2068}sim\u{202C}",
        "\u{202A}sim\u{2069}", "\u{2068}sim\u{2069}!", "\u{202D}sim\u{202C}", "\u{202E}sim\u{202C}",
        "\u{2069}sim\u{2068}", "\u{2068}sim\u{2069} \u{2068}sim\u{2069}",
    ]);
}

#[test]
fn joiners_styles_and_skin_tones_belong_to_emoji() {
    let lexicon = shipped();
    check(lexicon, Yes, &["👍\u{FE0F}", "👍🏽", "👍🏽\u{FE0F}", "✔\u{FE0E}", "☑\u{FE0F} sim", "sim 🙏🏿", "sim❗\u{FE0F}"]);
    check(lexicon, No, &["🙅🏽\u{200D}♀\u{FE0F}", "🙅\u{200D}♂", "❌\u{FE0F}"]);
    #[rustfmt::skip]
    check(lexicon, Qualified, &[
        "sim\u{FE0F}", "sim\u{200D}", "s\u{200D}im", "s\u{200C}im", "sim🏽", "sim 🏽", "✅🏽", "👍🏽🏽", "👍\u{200D}",
        "👍\u{200D} sim", "👍\u{FE0F}\u{FE0F}", "\u{FE0F}👍", "sim\u{20E3}", "sim \u{FE0F}", "👍\u{FE00}",
        "👍\u{E0067}\u{E007F}", "✓\u{FE0F}", "sim\u{E0100}", "sim ❤\u{FE0F}\u{200D}🔥",
    ]);
    for text in ["2\u{FE0F}\u{20E3}", "2\u{20E3}", "\u{200E}2\u{FE0F}\u{20E3}", "\u{2068}2.\u{2069}"] {
        assert_eq!((read_number(text), lexicon.read_option(text)), (Some(2), Some(2)), "{text:?}");
    }
    for text in ["2\u{FE0F}", "2\u{200B}", "2\u{0}", "1\u{200E}2", "2\u{E0032}", "opção\u{200B} 2", "opção 2\u{AD}"]
    {
        assert_eq!((read_number(text), lexicon.read_option(text)), (None, None), "{text:?}");
    }
}

#[test]
fn what_was_sent_to_hide_something_is_qualified() {
    #[rustfmt::skip]
    check(shipped(), Qualified, &[
        "sim\u{0}", "sim\u{0}nao", "sim\u{7}", "sim\u{1B}[2K", "sim\u{8}\u{8}\u{8}", "sim\u{7F}", "sim\u{85}", "sim\u{C}",
        "sim\u{E006E}\u{E0061}\u{E006F}", "sim\u{E0001}", "si\u{202E}m", "si\u{2066}m", "si\u{200B}m", "s\u{AD}im",
        "\u{FEFF}sim", "sim\u{FEFF}", "sim\u{2060}", "sim\u{2063}", "sim\u{180E}", "sim\u{3164}", "sim\u{FFA0}", "sim\u{115F}",
        "sim\u{34F}", "sim\u{2800}", "sim\u{17B4}", "sim\u{E000}", "sim\u{F8FF}", "sim\u{FFFF}", "sim\u{FDD0}", "sim\u{378}",
        "sim\u{1D173}", "sim\u{FFF9}", "sim\u{1680}", "👍\u{200B}", "no\u{200B}", "yes\u{2061}", "s\u{ED}\u{0}",
    ]);
}
