//! Episodes of a conversation: blocks that explore without committing to anything, and interruptions by another
//! matter. Both need an opening and a closing; without the closing, what follows is taken for the conversation itself.

use super::cues::{EXPLORED, EXPLORING, INTERRUPTING, RESUMING, begins, holds};
use super::said::{Word, spaced, words};

/// Where a turn belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belongs {
    Main,
    /// To a block that only explores, its opening and closing included.
    Exploring,
    /// To an interruption; the number tells one from the other.
    Aside(usize),
}

/// Where each turn belongs, in the order of time.
pub(super) fn episodes(texts: &[&str]) -> Vec<Belongs> {
    let rows: Vec<Vec<Word>> = texts.iter().map(|text| words(text)).collect();
    let spaced: Vec<String> = rows.iter().map(|row| self::spaced(row)).collect();
    let mut belongs = vec![Belongs::Main; texts.len()];
    let (mut exploring, mut aside): (Option<usize>, Option<usize>) = (None, None);
    for (place, row) in spaced.iter().enumerate() {
        if let Some(open) = exploring.filter(|_| holds(row, &EXPLORED)) {
            mark(&mut belongs, open..=place, Belongs::Exploring);
            (exploring, aside) = (None, None);
        } else if exploring.is_none() && holds(row, &EXPLORING) {
            exploring = Some(place);
        }
        let (Some(text), Some(words)) = (texts.get(place), rows.get(place)) else { continue };
        if let Some(open) = aside.filter(|_| resumes(text, words)) {
            mark(&mut belongs, open..=place, Belongs::Aside(open));
            aside = None;
        } else if aside.is_none() && interrupts(text, words, row) {
            aside = Some(place);
        }
    }
    // What only explores is marked where it is said, even if nobody closes it.
    if let Some(open) = exploring {
        mark(&mut belongs, open..=open, Belongs::Exploring);
    }
    belongs
}

fn mark(belongs: &mut [Belongs], range: std::ops::RangeInclusive<usize>, as_what: Belongs) {
    let inside = belongs.get_mut(range).unwrap_or_default();
    inside.iter_mut().filter(|one| **one == Belongs::Main).for_each(|one| *one = as_what);
}

/// Whether a turn begins with an interruption that is set off from what follows.
fn interrupts(text: &str, row: &[Word], spaced: &str) -> bool {
    let Some(phrase) = begins(spaced, &INTERRUPTING) else { return false };
    let last = phrase.split(' ').count();
    let Some(word) = row.get(last - 1) else { return false };
    let after = text.get(word.span.end..).unwrap_or_default().trim_start();
    after.is_empty() || after.starts_with(['-', '–', '—', ',', ':', ';', '.', '!', '…'])
}

/// Whether a clause of a turn takes up what was interrupted.
fn resumes(text: &str, row: &[Word]) -> bool {
    row.iter().enumerate().any(|(place, word)| {
        let before = text.get(..word.span.start).unwrap_or_default().trim_end();
        let opens = before.is_empty() || before.ends_with([',', '.', '!', ';', ':', '-', '–', '—', '…', ']']);
        opens
            && row
                .get(place..)
                .is_some_and(|rest| begins(&spaced(rest.get(..rest.len().min(6)).unwrap_or(rest)), &RESUMING).is_some())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_is_what_lies_between_its_opening_and_its_closing() {
        let cases: [(&[&str], &str); 8] = [
            (
                &[
                    "We ship Monday",
                    "Hold on - the server is down",
                    "Rebooted it",
                    "Ok, back to the shipment",
                    "Use the red box",
                ],
                "maaam",
            ),
            (
                &[
                    "Fechamos em R$ 500",
                    "Um momento, me ligaram da escola",
                    "Busco às 15h",
                    "Voltando ao pedido",
                    "Pode mandar",
                ],
                "maaam",
            ),
            (&["Son 3 cajas", "Antes de eso, otra cosa", "Llamó Pedro", "Volviendo al pedido: mejor 4"], "maaa"),
            (&["Hold on VendorA - they have litigation", "Fine", "We're back to square one"], "mmm"),
            (&["Hold on - call me later", "Budget is $5"], "mm"),
            (
                &[
                    "Let's do pricing. This is just exploratory.",
                    "Maybe $45",
                    "OK, that's enough for now.",
                    "The price is $50",
                ],
                "eeem",
            ),
            (
                &["Vamos fazer um brainstorm", "Desconto de 40%", "Chega de ideias, falando sério agora", "É 10%"],
                "eeem",
            ),
            (&["Hipotéticamente, ¿y si fuera 40%?", "El precio es 50"], "em"),
        ];
        for (texts, want) in cases {
            let found: String = episodes(texts)
                .into_iter()
                .map(|belongs| match belongs {
                    Belongs::Main => 'm',
                    Belongs::Exploring => 'e',
                    Belongs::Aside(_) => 'a',
                })
                .collect();
            assert_eq!(found, want, "{texts:?}");
        }
    }
}
