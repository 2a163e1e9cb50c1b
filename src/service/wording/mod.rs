//! Sentences for people, in three languages, as data. Redaction is decided elsewhere.

mod codes;
mod phrases;

use crate::domain::time::Timestamp;

pub(super) use codes::{
    bind_refusal, blocked_on, event_word, outcome, reading, reason, settled, status, verdict, void_reason,
};
pub(super) use phrases::Say;

/// One text in English, Spanish and Portuguese, in this order.
pub(super) type Words = [&'static str; 3];

/// The longest text of one WhatsApp message, in UTF-16 units.
pub const WHATSAPP_TEXT_UNITS: usize = 4_096;
/// Room for the line that says how much was left out.
const ENDING_UNITS: usize = 96;
/// The longest value in a sentence, in characters.
const VALUE_CHARS: usize = 120;

/// A language with texts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    /// `en`
    #[default]
    English,
    /// `es`
    Spanish,
    /// `pt-BR`
    Portuguese,
}

impl Language {
    pub const ALL: [Self; 3] = [Self::English, Self::Spanish, Self::Portuguese];

    /// The language of a BCP 47 tag; none if there are no texts in it.
    #[must_use]
    pub fn of(locale: &str) -> Option<Self> {
        let primary = locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        match primary.as_str() {
            "en" => Some(Self::English),
            "es" => Some(Self::Spanish),
            "pt" => Some(Self::Portuguese),
            _ => None,
        }
    }

    /// The first of these locales with texts; English otherwise.
    pub fn choose<'a>(locales: impl IntoIterator<Item = Option<&'a str>>) -> Self {
        locales.into_iter().flatten().find_map(Self::of).unwrap_or_default()
    }

    #[must_use]
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Spanish => "es",
            Self::Portuguese => "pt-BR",
        }
    }

    /// The text in this language.
    pub(super) fn pick(self, words: Words) -> &'static str {
        let [english, spanish, portuguese] = words;
        match self {
            Self::English => english,
            Self::Spanish => spanish,
            Self::Portuguese => portuguese,
        }
    }

    /// A phrase without gaps.
    pub(super) fn say(self, phrase: Say) -> &'static str {
        self.pick(phrase.words())
    }

    /// Fills the gaps of a phrase. Values are shortened and cannot begin a line of their own.
    pub(super) fn fill(self, phrase: Say, values: &[&str]) -> String {
        let mut text = String::new();
        let mut values = values.iter();
        for (at, piece) in self.say(phrase).split("{}").enumerate() {
            if at > 0 {
                text.push_str(&one_line(values.next().unwrap_or(&"…")));
            }
            text.push_str(piece);
        }
        text
    }
}

/// A value on one line: control and direction characters are removed, and the rest is cut to a readable length.
fn one_line(value: &str) -> String {
    let invisible = |c: char| {
        c.is_control()
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    let mut kept: String = value.chars().filter(|c| !invisible(*c)).take(VALUE_CHARS + 1).collect();
    if kept.chars().count() > VALUE_CHARS {
        kept = kept.chars().take(VALUE_CHARS - 1).chain(['…']).collect();
    }
    kept
}

/// A duration in words: its two largest units.
pub(super) fn span(seconds: u64) -> String {
    let units = [(seconds / 86_400, "d"), (seconds / 3_600 % 24, "h"), (seconds / 60 % 60, "min"), (seconds % 60, "s")];
    let first = units.iter().position(|(count, _)| *count > 0).unwrap_or(units.len() - 1);
    let shown = units[first..].iter().take(2).filter(|(count, unit)| *count > 0 || (*unit == "s" && seconds == 0));
    shown.map(|(count, unit)| format!("{count} {unit}")).collect::<Vec<_>>().join(" ")
}

pub(super) fn instant(at: Timestamp) -> String {
    let text = at.to_string();
    match (text.get(..10), text.get(11..19)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => text,
    }
}

/// Builds a text that never exceeds the limit of WhatsApp.
#[derive(Debug)]
pub(super) struct Draft {
    language: Language,
    text: String,
    units: usize,
    left_out: usize,
}

impl Draft {
    pub(super) fn new(language: Language) -> Self {
        Self { language, text: String::new(), units: 0, left_out: 0 }
    }

    /// Adds a line, or counts it as left out. After the first one that does not fit, none is added.
    pub(super) fn line(&mut self, line: &str) {
        let units = line.encode_utf16().count() + 1;
        if self.left_out > 0 || self.units + units > WHATSAPP_TEXT_UNITS - ENDING_UNITS {
            self.left_out += 1;
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.units += units;
    }

    pub(super) fn say(&mut self, phrase: Say) {
        self.line(self.language.say(phrase));
    }

    /// Adds a phrase with its gaps filled.
    pub(super) fn fill(&mut self, phrase: Say, values: &[&str]) {
        self.line(&self.language.fill(phrase, values));
    }

    /// The text, with a line about what was left out: the number of lines that did not fit, or an unknown number if
    /// `more`.
    pub(super) fn finish(mut self, more: bool) -> String {
        let left_out = self.left_out + usize::from(more);
        if left_out > 0 {
            let count = left_out.to_string();
            let count = if more { self.language.fill(Say::AtLeast, &[&count]) } else { count };
            self.text.push('\n');
            self.text.push_str(&self.language.fill(Say::AndMore, &[&count]));
        }
        self.text
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_phrase_exists_in_every_language_with_the_same_gaps() {
        for phrase in Say::ALL {
            let gaps: Vec<usize> = phrase.words().iter().map(|text| text.matches("{}").count()).collect();
            assert!(gaps.iter().all(|count| *count == gaps[0]), "{phrase:?}: {gaps:?}");
            assert!(phrase.words().iter().all(|text| !text.trim().is_empty()), "{phrase:?}");
        }
        for language in Language::ALL {
            let count = language.fill(Say::AtLeast, &[&usize::MAX.to_string()]);
            let ending = language.fill(Say::AndMore, &[&count]);
            assert!(ending.encode_utf16().count() < ENDING_UNITS, "{ending}");
        }
    }

    #[test]
    fn a_language_is_found_by_its_primary_tag() {
        for (locale, language) in [
            ("pt-BR", Some(Language::Portuguese)),
            ("pt_PT", Some(Language::Portuguese)),
            ("ES-mx", Some(Language::Spanish)),
            ("en", Some(Language::English)),
            ("de", None),
            ("", None),
        ] {
            assert_eq!(Language::of(locale), language, "{locale}");
        }
        assert_eq!(Language::choose([None, Some("de"), Some("es")]), Language::Spanish);
        assert_eq!(Language::choose([None, Some("xx")]), Language::English);
    }

    #[test]
    fn spans_show_their_two_largest_units() {
        let cases = [(0, "0 s"), (59, "59 s"), (60, "1 min"), (200, "3 min 20 s"), (7_260, "2 h 1 min")];
        for (seconds, text) in cases {
            assert_eq!(span(seconds), text);
        }
        assert_eq!(span(86_400 * 3 + 5), "3 d");
        assert_eq!(span(86_400 * 3 + 3_600 * 4), "3 d 4 h");
    }

    #[test]
    fn a_value_cannot_begin_a_line_or_turn_the_text_around() {
        let text = Language::English.fill(Say::Target, &["a\n*Confirmed*\u{202e}x{}"]);
        assert_eq!(text, "Target: a*Confirmed*x{}");
    }

    #[test]
    fn instants_are_readable() {
        let at = Timestamp::from_micros(1_700_000_000_123_456);
        assert_eq!(instant(at), "2023-11-14 22:13:20 UTC");
    }

    proptest! {
        #[test]
        fn a_text_never_exceeds_what_whatsapp_takes(lines in proptest::collection::vec(".{0,900}", 0..40), more: bool) {
            for language in Language::ALL {
                let mut draft = Draft::new(language);
                for line in &lines {
                    draft.fill(Say::Target, &[line]);
                    draft.line(line);
                }
                let text = draft.finish(more);
                prop_assert!(text.encode_utf16().count() <= WHATSAPP_TEXT_UNITS);
            }
        }
    }
}
