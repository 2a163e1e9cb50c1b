//! What a lexicon file says of answers that are put together of several pieces.

use serde::{Deserialize, Serialize};

use super::build::{fold, phrases};
use super::composing::Grammar;
use super::phrases::{Entries, Entry, Phrases, Polarity, SpokenPhrases};
use super::{LexiconError, LexiconFile};

/// How answers of several pieces are put together. Without it, no answer of the file is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Composing {
    /// Entries that say nothing but yes or nothing but no, as `sim`: other entries may stand directly beside them.
    #[serde(default)]
    pub particles: Vec<String>,
    /// Affirmative entries that also say no more than "I have heard", as `ok`: with nothing but thanks beside them they
    /// answer nothing.
    #[serde(default)]
    pub acknowledgements: Vec<String>,
    /// Affirmative entries that with "please" or a greeting beside them may also ask the reader to confirm: there they
    /// answer only beside a particle.
    #[serde(default)]
    pub asks_too: Vec<String>,
    /// Affirmative entries that say something of the word beside them, as `indeed`: they answer alone, beside other entries
    /// or after a pause. `thank you indeed` and `it is lovely` are no answers.
    #[serde(default)]
    pub leaning: Vec<String>,
    /// Affirmative entries that say that things are right or go on, as `looks good`: under a command that undoes something
    /// they answer nothing, since they may mean what would be undone.
    #[serde(default)]
    pub carry_on: Vec<String>,
    /// Affirmative entries that also say what somebody else did or says, as `agreed`: right after a form of address they answer
    /// nothing (`my friend agreed`).
    #[serde(default)]
    pub reported: Vec<String>,
    /// Letters that, written at the end of a longer word, make another form of it: `confirmó` is not `confirmo`.
    #[serde(default)]
    pub endings: Vec<String>,
    /// Entries that answer only where this language alone is read: because the message's locale picks it, or because no
    /// other is loaded.
    #[serde(default)]
    pub only_here: Vec<String>,
    /// Entries whose letters must not be repeated, because that turns them round: `suuure`.
    #[serde(default)]
    pub not_prolonged: Vec<String>,
    /// Words that together mean something else than each of them does: no composed answer has them.
    #[serde(default)]
    pub apart: Vec<String>,
    /// Words that open a condition if they are written just so, accents included, and more follows without a pause: `si`.
    #[serde(default)]
    pub conditions: Vec<String>,
    /// Words that say what has happened, as `cancelled`. A command that is named by one is not confirmed: "yes, cancelled".
    #[serde(default)]
    pub states: Vec<String>,
    /// Phrases that ask to stop something and may have an object: `cancela`. With an object of their own they are a new
    /// request ([`super::Lexicon::begins_request`]).
    #[serde(default)]
    pub request_verbs: Vec<String>,
    /// Objects that name nothing new: `that`, `everything`.
    #[serde(default)]
    pub objects: Vec<String>,
    /// What may stand beside an answer.
    #[serde(default)]
    pub beside: Beside,
}

/// The kinds of words that may stand beside an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum BesideClass {
    /// "Bom dia".
    Greeting,
    /// "Obrigada". Beside nothing but an acknowledgement ("ok, thanks") it leaves open what is meant, as does a greeting.
    Thanks,
    /// "Please".
    Politeness,
    /// How somebody is addressed: "moça", "mate".
    Vocative,
    /// What leads up to an answer and stands before all of it: "pues", "opa".
    Filler,
    /// "Perfeito".
    Praise,
    /// "Tudo bem": praise that also says how somebody is. With thanks or a greeting it answers "how are you".
    Wellbeing,
    /// "Sorry": beside a no only.
    Regret,
    /// An emoji that shows good will.
    Emoji,
}

impl BesideClass {
    /// Its name in lexicon files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Greeting => "greetings",
            Self::Thanks => "thanks",
            Self::Politeness => "politeness",
            Self::Vocative => "vocatives",
            Self::Filler => "fillers",
            Self::Praise => "praise",
            Self::Wellbeing => "wellbeing",
            Self::Regret => "regrets",
            Self::Emoji => "emoji",
        }
    }
}

/// Words that may stand beside an answer, by what they do ([`BesideClass`]).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    #[serde(default)]
    pub greetings: Vec<String>,
    #[serde(default)]
    pub thanks: Vec<String>,
    #[serde(default)]
    pub politeness: Vec<String>,
    #[serde(default)]
    pub vocatives: Vec<String>,
    #[serde(default)]
    pub fillers: Vec<String>,
    #[serde(default)]
    pub praise: Vec<String>,
    #[serde(default)]
    pub wellbeing: Vec<String>,
    #[serde(default)]
    pub regrets: Vec<String>,
    #[serde(default)]
    pub emoji: Vec<String>,
}

impl Beside {
    pub(super) fn lists(&self) -> [(BesideClass, &Vec<String>); 9] {
        [
            (BesideClass::Greeting, &self.greetings),
            (BesideClass::Thanks, &self.thanks),
            (BesideClass::Politeness, &self.politeness),
            (BesideClass::Vocative, &self.vocatives),
            (BesideClass::Filler, &self.fillers),
            (BesideClass::Praise, &self.praise),
            (BesideClass::Wellbeing, &self.wellbeing),
            (BesideClass::Regret, &self.regrets),
            (BesideClass::Emoji, &self.emoji),
        ]
    }
}

/// The language of a locale: "pt" of "pt-BR".
pub(super) fn language(locale: &str) -> String {
    locale.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase()
}

/// The grammar of one file: `listed` are its answers, `entries` those of them that are read here, and `negations` say not
/// in any language that is read.
pub(super) fn grammar(
    file: &LexiconFile,
    listed: &[Entry],
    entries: Entries,
    negations: &Phrases,
) -> Result<Grammar, LexiconError> {
    let own = std::slice::from_ref(file);
    let folded = |list: &Vec<String>| list.iter().map(|written| fold(file, written)).collect::<Result<_, _>>();
    let spoken = |list: &Vec<String>| -> Result<SpokenPhrases, LexiconError> {
        let mut phrases = Phrases::default();
        for written in list {
            phrases.add(fold(file, written)?);
        }
        Ok(SpokenPhrases::new(&phrases, &Phrases::default()))
    };
    let words = &file.composing;
    let qualifiers = phrases(own, |file| &file.qualifiers)?;
    let mut beside = Vec::new();
    for (class, list) in words.beside.lists() {
        refuse_meaning(file, list, [negations, &qualifiers])?;
        beside.push((class, spoken(list)?));
    }
    let either = |_: &Entry| true;
    let affirmative = |entry: &Entry| entry.polarity == Polarity::Affirmative;
    refuse_strangers(file, &words.particles, listed, either)?;
    refuse_strangers(file, &words.acknowledgements, listed, affirmative)?;
    refuse_strangers(file, &words.asks_too, listed, affirmative)?;
    refuse_strangers(file, &words.leaning, listed, affirmative)?;
    refuse_strangers(file, &words.reported, listed, affirmative)?;
    refuse_strangers(file, &words.carry_on, listed, affirmative)?;
    refuse_strangers(file, &words.only_here, listed, either)?;
    Ok(Grammar {
        entries,
        particles: folded(&words.particles)?,
        only_here: folded(&words.only_here)?,
        acknowledgements: folded(&words.acknowledgements)?,
        asks_too: folded(&words.asks_too)?,
        leaning: folded(&words.leaning)?,
        reported: folded(&words.reported)?,
        carry_on: folded(&words.carry_on)?,
        conditions: words.conditions.iter().map(|word| word.to_lowercase()).collect(),
        apart: phrases(own, |file| &file.composing.apart)?,
        negations: phrases(own, |file| &file.negations)?,
        beside,
        objects: spoken(&words.objects)?,
        call_offs: spoken(&words.request_verbs)?,
    })
}

/// Refuses words beside an answer that say something themselves: a negation or a condition.
fn refuse_meaning(file: &LexiconFile, list: &[String], meaning: [&Phrases; 2]) -> Result<(), LexiconError> {
    for written in list {
        let folded = fold(file, written)?;
        let tokens: Vec<&str> = folded.split(' ').collect();
        if let Some(found) = meaning.iter().find_map(|phrases| phrases.find_in(&tokens)) {
            let (locale, entry, word) = (file.locale.clone(), written.clone(), found.to_owned());
            return Err(LexiconError::MeansSomething { locale, entry, word });
        }
    }
    Ok(())
}

/// Refuses a class of entries that names what is no entry that may be in it.
fn refuse_strangers(
    file: &LexiconFile,
    list: &[String],
    listed: &[Entry],
    may_be: impl Fn(&Entry) -> bool,
) -> Result<(), LexiconError> {
    let is_known = |folded: &str| listed.iter().any(|entry| entry.folded == folded && may_be(entry));
    match list.iter().find(|written| !fold(file, written).is_ok_and(|folded| is_known(&folded))) {
        Some(entry) => Err(LexiconError::NoEntry { locale: file.locale.clone(), entry: entry.clone() }),
        None => Ok(()),
    }
}
