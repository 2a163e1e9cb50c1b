//! Which answers of people are understood, on sentences written by hand.
//!
//! `first` was written before the words were extended and shows what is missed; `second` was written after and never used to
//! choose words. In both, no text of `[neither]` may ever answer yes.

use cscp::domain::lexicon::Lexicon;

use crate::Kind::{self, No, Yes};
use crate::{kind, shipped};

/// The language, its locale, and the sentences.
type Set = (&'static str, &'static str, &'static str);

macro_rules! set {
    ($name:literal, $language:literal, $locale:literal) => {
        ($language, $locale, include_str!(concat!("../fixtures/answers/", $name, ".", $language, ".txt")))
    };
}

const FIRST: [Set; 3] = [set!("first", "pt", "pt-BR"), set!("first", "es", "es-MX"), set!("first", "en", "en-GB")];
const SECOND: [Set; 3] = [set!("second", "pt", "pt-BR"), set!("second", "es", "es-MX"), set!("second", "en", "en-GB")];

/// Texts of one section of a set.
fn section(text: &'static str, name: &str) -> Vec<&'static str> {
    let of_section = text.split_once(&format!("[{name}]\n")).unwrap().1;
    let lines = of_section.lines().take_while(|line| !line.starts_with('['));
    lines.map(str::trim).filter(|line| !line.is_empty()).collect()
}

/// Of how many texts in a hundred the reading is the expected one, and the others.
fn recall(lexicon: &Lexicon, texts: &[&'static str], expected: Kind) -> (usize, Vec<&'static str>) {
    let missed: Vec<_> = texts.iter().copied().filter(|text| kind(&lexicon.read(text)) != expected).collect();
    ((texts.len() - missed.len()) * 100 / texts.len(), missed)
}

/// Checks a set, with the locale of the sentences and without any: at least so many yes and no in a hundred, no false yes.
fn measure(name: &str, sets: &[Set], floors: &[(usize, usize)]) {
    let mut wrong = Vec::new();
    for ((language, locale, text), (yes_floor, no_floor)) in sets.iter().zip(floors) {
        for locale in [None, Some(*locale)] {
            let lexicon = shipped().for_locale(locale);
            let (yes, yes_missed) = recall(lexicon, &section(text, "yes"), Yes);
            let (no, no_missed) = recall(lexicon, &section(text, "no"), No);
            let neither = section(text, "neither");
            let reads = |expected| {
                let read = neither.iter().copied().filter(|text| kind(&lexicon.read(text)) == expected);
                read.collect::<Vec<_>>()
            };
            let against = section(text, "no").into_iter().filter(|text| kind(&lexicon.read(text)) == Yes);
            let false_yes: Vec<_> = reads(Yes).into_iter().chain(against).collect();
            let yes_as_no = section(text, "yes").into_iter().filter(|text| kind(&lexicon.read(text)) == No);
            let yes_as_no: Vec<_> = yes_as_no.collect();
            println!(
                "{name} {language} {locale:?}: yes {yes} %, no {no} %, false yes {}, false no {}",
                false_yes.len(),
                reads(No).len()
            );
            println!("  missed yes: {yes_missed:?}\n  missed no: {no_missed:?}\n  false no: {:?}", reads(No));
            if yes < *yes_floor || no < *no_floor || !false_yes.is_empty() || !yes_as_no.is_empty() {
                wrong.push((language, locale, yes, no, false_yes, yes_as_no));
            }
        }
    }
    assert!(wrong.is_empty(), "{name}: {wrong:#?}");
}

#[test]
fn what_was_written_before_the_words_is_understood() {
    measure("first", &FIRST, &[(85, 80), (85, 80), (85, 80)]);
}

#[test]
fn what_was_written_after_the_words_is_understood() {
    measure("second", &SECOND, &[(85, 80), (85, 80), (85, 80)]);
}
