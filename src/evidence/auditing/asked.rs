//! What the auditor asked for. An older or smaller bundle does not answer that, even if it is genuine.

use std::collections::BTreeMap;

use super::entry::moment;

/// The members of a request that select a bundle's content, and the nonce by which its answer is recognised.
pub(super) const NAMES: [&str; 8] =
    ["actor_id", "command_id", "context_id", "conversation_id", "fact_space", "from", "nonce", "until"];
/// The word that asks for the whole log.
const WHOLE: &str = "whole";

/// What was asked for. Empty for the whole log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked(BTreeMap<String, String>);

/// Why texts are not a valid request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskedError {
    /// Neither `whole` nor NAME=VALUE with a known name.
    #[error(
        "`{0}`: write `whole`, or NAME=VALUE with one of actor_id, command_id, context_id, conversation_id, fact_space, \
         from, until and nonce"
    )]
    Unknown(String),
    /// A name given twice, or `whole` together with a selection.
    #[error("`{0}` contradicts an earlier argument: give each name once, and `whole` alone")]
    Contradicts(String),
    /// A time that is not in UTC.
    #[error("`{0}`: a time is written in UTC, such as 2026-11-20T15:04:05Z")]
    Time(String),
}

impl Asked {
    /// Reads `whole`, or members of a request, each as `NAME=VALUE`.
    pub fn read<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, AskedError> {
        let (mut members, mut whole) = (BTreeMap::new(), false);
        for text in texts {
            let refused = || AskedError::Contradicts(text.to_owned());
            if text == WHOLE {
                whole = true;
            } else {
                let named = text.split_once('=').filter(|(name, value)| NAMES.contains(name) && !value.is_empty());
                let (name, value) = named.ok_or_else(|| AskedError::Unknown(text.to_owned()))?;
                if matches!(name, "from" | "until") && moment(value).is_none() {
                    return Err(AskedError::Time(text.to_owned()));
                }
                if members.insert(name.to_owned(), value.to_owned()).is_some() {
                    return Err(refused());
                }
            }
            if whole && members.keys().any(|name| name != "nonce") {
                return Err(refused());
            }
        }
        Ok(Self(members))
    }

    /// Requires the answer to contain the nonce of the request.
    #[must_use]
    pub fn with_nonce(mut self, nonce: String) -> Self {
        self.0.insert("nonce".to_owned(), nonce);
        self
    }

    /// The members of the request.
    #[must_use]
    pub fn members(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }
}
