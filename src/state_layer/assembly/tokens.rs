//! Exact token counts. Vocabularies ship with the build and are loaded when the first count needs them.

use super::Estimator;

/// The version of the tokenizer crate; `Cargo.toml` says the same, and a test compares known counts.
const TOKENIZER_VERSION: &str = "4.1.2";

/// Counts tokens in one vocabulary.
#[derive(Clone, Copy)]
pub struct Counter(Option<&'static tiktoken::CoreBpe>);

impl std::fmt::Debug for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Counter")
    }
}

impl Estimator {
    /// The vocabulary's own name.
    #[must_use]
    pub fn vocabulary(self) -> &'static str {
        match self {
            Self::Cl100kBase => "cl100k_base",
            Self::O200kBase => "o200k_base",
        }
    }

    /// What goes into a pack as `estimator_id`: tokenizer, vocabulary, version.
    #[must_use]
    pub fn id(self) -> String {
        format!("tiktoken/{}@{TOKENIZER_VERSION}", self.vocabulary())
    }

    /// The counter; the first one of a vocabulary takes a tenth of a second.
    #[must_use]
    pub fn counter(self) -> Counter {
        Counter(tiktoken::get_encoding(self.vocabulary()))
    }
}

impl Counter {
    /// The tokens of a text. Counts add up over lines that end in a line feed and begin with `- ` or `## `, because no
    /// token of either vocabulary spans the gap; what such a line holds else has no say in it.
    #[must_use]
    pub fn count(self, text: &str) -> u32 {
        // Both vocabularies are built in; without one, bytes are a bound that no text exceeds.
        let tokens = self.0.map_or(text.len(), |vocabulary| vocabulary.count(text));
        u32::try_from(tokens).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_are_those_of_the_vocabulary() {
        for (estimator, text, tokens) in [
            (Estimator::Cl100kBase, "hello world", 2),
            (Estimator::O200kBase, "hello world", 2),
            (Estimator::Cl100kBase, "- project_budget: $150,000\n", 9),
            (Estimator::Cl100kBase, "", 0),
        ] {
            assert_eq!(estimator.counter().count(text), tokens, "{text}");
        }
        assert_eq!(Estimator::O200kBase.id(), "tiktoken/o200k_base@4.1.2");
        assert!(
            include_str!("../../../Cargo.toml").contains(&format!("tiktoken = {{ version = \"{TOKENIZER_VERSION}\""))
        );
    }

    proptest! {
        #[test]
        fn lines_add_up(lines in proptest::collection::vec("(- |## )(\\PC|[.:!#$é👍🏽 ]){0,30}[a-z.)!:]", 1..6)) {
            for estimator in [Estimator::Cl100kBase, Estimator::O200kBase] {
                let counter = estimator.counter();
                let whole = format!("{}\n", lines.join("\n"));
                let sum: u32 = lines.iter().map(|line| counter.count(&format!("{line}\n"))).sum();
                prop_assert_eq!(counter.count(&whole), sum);
            }
        }
    }
}
