//! Relevance to a question: BM25 over the question's stems and character trigrams.
//!
//! Driven by the question: one pass over each text finds only the terms that the question has, so nothing need be
//! stored beside the facts, and a text costs little more than reading it. A word is stemmed only where its first
//! letters are those of a stem of the question.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use crate::state_layer::language::terms::{Language, Stemming, folded, language, words};

/// BM25: how soon repetition stops to count.
const K1: f64 = 1.2;
/// BM25: how much long texts lose.
const B: f64 = 0.75;
/// What a trigram weighs beside a stem: together they forgive spelling and language, alone they decide little.
const TRIGRAM_WEIGHT: f64 = 0.2;
/// The most terms of a question; longer ones are read from the start.
const MAX_TERMS: usize = 512;
/// What terms weigh that a question borrows from the texts that answer it best.
const BORROWED_WEIGHT: f64 = 0.3;

/// The terms of a question.
pub(super) struct Query {
    stemming: Stemming,
    stems: BTreeMap<String, usize>,
    /// Sorted, with the term's number.
    trigrams: Vec<(u32, usize)>,
    /// One bit for the hash of every trigram: most texts' trigrams stop here.
    sieve: Vec<u64>,
    /// The first letters of the stems.
    starts: Vec<[u8; 2]>,
    weights: Vec<f64>,
}

impl std::fmt::Debug for Query {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Query").field("stems", &self.stems).finish_non_exhaustive()
    }
}

const SIEVE_BITS: u32 = 12;

fn sieve_place(trigram: u32) -> (usize, u64) {
    let hash = trigram.wrapping_mul(0x9E37_79B1) >> (32 - SIEVE_BITS);
    ((hash >> 6) as usize, 1 << (hash & 63))
}

impl Query {
    /// The terms of this question.
    pub(super) fn new(question: &str) -> Self {
        Self::of(&[(question, 1.0)], language(question))
    }

    /// The terms of this question, and at a lower weight those of texts that answer it.
    pub(super) fn with_answers(question: &str, answers: &[String]) -> Self {
        let mut parts = vec![(question, 1.0)];
        parts.extend(answers.iter().map(|answer| (answer.as_str(), BORROWED_WEIGHT)));
        Self::of(&parts, language(question))
    }

    fn of(parts: &[(&str, f64)], language: Language) -> Self {
        let stemming = Stemming::of(language);
        let mut weights = Vec::new();
        let mut stems = BTreeMap::new();
        let mut trigrams: BTreeMap<u32, usize> = BTreeMap::new();
        for (text, weight) in parts {
            for word in words(text) {
                let Some(stem) = stemming.stem(word) else { continue };
                if weights.len() >= MAX_TERMS {
                    break;
                }
                stems.entry(stem).or_insert_with(|| number(&mut weights, *weight));
                for trigram in trigrams_of(&folded(word)) {
                    trigrams.entry(trigram).or_insert_with(|| number(&mut weights, *weight * TRIGRAM_WEIGHT));
                }
            }
        }
        let mut sieve = vec![0; 1 << (SIEVE_BITS - 6)];
        for trigram in trigrams.keys() {
            let (word, bit) = sieve_place(*trigram);
            if let Some(bits) = sieve.get_mut(word) {
                *bits |= bit;
            }
        }
        let mut starts: Vec<[u8; 2]> = stems.keys().map(|stem: &String| start(stem.as_bytes())).collect();
        starts.sort_unstable();
        starts.dedup();
        Self { stemming, stems, trigrams: trigrams.into_iter().collect(), sieve, starts, weights }
    }

    /// How relevant each text is, in millionths; 0 where it shares nothing with the question.
    pub(super) fn relevance<'t>(&self, texts: impl Iterator<Item = [&'t str; 2]>) -> Vec<u64> {
        let mut counts = vec![0_u16; self.weights.len()];
        let mut frequency = vec![0_u32; self.weights.len()];
        let mut hits: Vec<(usize, u16)> = Vec::new();
        let mut documents: Vec<(usize, u32)> = Vec::new();
        let mut reader = Reader::default();
        let mut touched = Vec::new();
        for parts in texts {
            let length = parts.into_iter().map(|part| reader.read(part, self, &mut counts, &mut touched)).sum();
            touched.sort_unstable();
            touched.dedup();
            for term in touched.drain(..) {
                hits.push((term, counts.get(term).copied().unwrap_or(0)));
                counts[term] = 0;
                frequency[term] += 1;
            }
            documents.push((hits.len(), length));
        }
        self.score(&documents, &hits, &frequency)
    }

    #[expect(clippy::cast_precision_loss, reason = "counts far below 2^52")]
    fn score(&self, documents: &[(usize, u32)], hits: &[(usize, u16)], frequency: &[u32]) -> Vec<u64> {
        let count = documents.len() as f64;
        let average = documents.iter().map(|(_, length)| f64::from(*length)).sum::<f64>() / count.max(1.0);
        let rarity: Vec<f64> = frequency
            .iter()
            .zip(&self.weights)
            .map(|(n, weight)| weight * (1.0 + (count - f64::from(*n) + 0.5) / (f64::from(*n) + 0.5)).ln())
            .collect();
        let mut from = 0;
        documents
            .iter()
            .map(|(to, length)| {
                let norm = K1 * (1.0 - B + B * f64::from(*length) / average.max(1.0));
                let found = hits.get(from..*to).unwrap_or_default();
                from = *to;
                let score = found.iter().fold(0.0, |score, (term, times)| {
                    let times = f64::from(*times);
                    score + rarity.get(*term).copied().unwrap_or(0.0) * times * (K1 + 1.0) / (times + norm)
                });
                millionths(score)
            })
            .collect()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "scores are positive and small")]
fn millionths(score: f64) -> u64 {
    (score * 1_000_000.0).round() as u64
}

fn number(weights: &mut Vec<f64>, weight: f64) -> usize {
    weights.push(weight);
    weights.len() - 1
}

fn start(bytes: &[u8]) -> [u8; 2] {
    [bytes.first().copied().unwrap_or(0), bytes.get(1).copied().unwrap_or(0)]
}

/// The trigrams of a folded word, with a space before and after it.
fn trigrams_of(folded: &str) -> impl Iterator<Item = u32> {
    let padded: Vec<u8> = std::iter::once(b' ').chain(folded.chars().map(sign)).chain(std::iter::once(b' ')).collect();
    let found: Vec<u32> = padded.windows(3).map(|three| pack(three[0], three[1], three[2])).collect();
    found.into_iter()
}

fn pack(a: u8, b: u8, c: u8) -> u32 {
    u32::from(a) << 16 | u32::from(b) << 8 | u32::from(c)
}

/// A letter as one byte; letters beyond ASCII share what is left.
fn sign(c: char) -> u8 {
    u8::try_from(c).ok().filter(u8::is_ascii).unwrap_or_else(|| u8::try_from(u32::from(c) % 127).unwrap_or(0) | 0x80)
}

/// Folded forms of the Latin letters beyond ASCII, each a single letter or none.
fn latin() -> &'static [Option<u8>] {
    static LATIN: OnceLock<Vec<Option<u8>>> = OnceLock::new();
    LATIN.get_or_init(|| {
        (0x80..0x250_u32)
            .map(|code| {
                let folded = folded(&char::from_u32(code)?.to_string());
                let mut signs = folded.bytes();
                signs.next().filter(|sign| sign.is_ascii_alphanumeric() && signs.next().is_none())
            })
            .collect()
    })
}

/// The first letter of a text as one byte, if it is one, and how many bytes it takes.
fn beyond_ascii(rest: &str) -> (Option<u8>, usize) {
    let Some(c) = rest.chars().next() else { return (None, 1) };
    let latin = (c as usize).checked_sub(0x80).and_then(|place| latin().get(place).copied());
    (latin.unwrap_or_else(|| c.is_alphanumeric().then(|| sign(c))), c.len_utf8())
}

/// Reads texts word by word.
#[derive(Default)]
struct Reader {
    word: Vec<u8>,
    seen: BTreeMap<String, Option<usize>>,
}

impl Reader {
    /// Counts the question's terms in a text; returns its length in words.
    fn read(&mut self, text: &str, query: &Query, counts: &mut [u16], touched: &mut Vec<usize>) -> u32 {
        let mut length = 0;
        let mut begin = None;
        let mut at = 0;
        self.word.clear();
        while at <= text.len() {
            let (sign, width) = match text.as_bytes().get(at) {
                Some(byte) if byte.is_ascii_alphanumeric() => (Some(byte.to_ascii_lowercase()), 1),
                Some(byte) if !byte.is_ascii() => beyond_ascii(text.get(at..).unwrap_or_default()),
                _ => (None, 1),
            };
            if let Some(sign) = sign {
                begin.get_or_insert(at);
                self.word.push(sign);
            } else if let Some(begin) = begin.take() {
                length += 1;
                self.finish(text.get(begin..at).unwrap_or_default(), query, counts, touched);
                self.word.clear();
            }
            at += width;
        }
        length
    }

    fn finish(&mut self, word: &str, query: &Query, counts: &mut [u16], touched: &mut Vec<usize>) {
        let mut found = |term: usize| {
            if let Some(count) = counts.get_mut(term) {
                *count = count.saturating_add(1);
                touched.push(term);
            }
        };
        if query.starts.binary_search(&start(&self.word)).is_ok() || self.word.iter().any(|byte| !byte.is_ascii()) {
            let term = if let Some(term) = self.seen.get(word) {
                *term
            } else {
                let term = query.stemming.stem(word).and_then(|stem| query.stems.get(&stem).copied());
                // The words of the texts are bounded by the texts, those remembered by this.
                if self.seen.len() < 4096 {
                    self.seen.insert(word.to_owned(), term);
                }
                term
            };
            term.into_iter().for_each(&mut found);
        }
        let (mut a, mut b) = (b' ', self.word.first().copied().unwrap_or(b' '));
        for c in self.word.iter().skip(1).copied().chain(std::iter::once(b' ')) {
            let trigram = pack(a, b, c);
            let (word, bit) = sieve_place(trigram);
            if query.sieve.get(word).is_some_and(|bits| bits & bit != 0)
                && let Ok(place) = query.trigrams.binary_search_by_key(&trigram, |(trigram, _)| *trigram)
            {
                query.trigrams.get(place).into_iter().for_each(|(_, term)| found(*term));
            }
            (a, b) = (b, c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn best(question: &str, texts: &[&str]) -> usize {
        let scores = Query::new(question).relevance(texts.iter().map(|text| ["", *text]));
        scores.iter().enumerate().max_by_key(|(_, score)| **score).map_or(usize::MAX, |(place, _)| place)
    }

    #[test]
    fn the_text_that_answers_is_first() {
        let texts = [
            "delivery_address: Rua das Flores 12, Campinas",
            "discount_policy: no more than 15% without approval",
            "endereços antigos do cliente: Avenida Paulista",
            "reunión semanal: los jueves a las 10",
            "project_budget: $150,000",
        ];
        for (question, want) in [
            ("What is the budget of the project?", 4),
            ("which discounts are allowed?", 1),
            ("what's the delivary adress", 0),
            ("qual é o endereço do cliente?", 2),
            ("¿cuándo son las reuniones?", 3),
            ("cuando es la reunion", 3),
        ] {
            assert_eq!(best(question, &texts), want, "{question}");
        }
    }

    #[test]
    fn nothing_shared_is_nothing_scored() {
        let scores = Query::new("budget?").relevance(["xyz", ""].iter().map(|text| ["", *text]));
        assert_eq!(scores, [0, 0]);
        assert_eq!(Query::new("the of ¿?").relevance([["", "the of"]].into_iter()), [0]);
    }
}
