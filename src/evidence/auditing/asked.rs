//! What whoever audits asked for: an older or smaller bundle is no answer to it, however genuine it is.

use std::collections::BTreeMap;

use super::entry::moment;

/// The members of a request that say what a bundle is to hold, and the text by which its answer is known.
pub(super) const NAMES: [&str; 8] =
    ["actor_id", "command_id", "context_id", "conversation_id", "fact_space", "from", "nonce", "until"];
/// How the whole log is asked for.
const WHOLE: &str = "whole";

/// What was asked for. Nothing is the whole log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked(BTreeMap<String, String>);

/// Why texts do not say what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AskedError {
    /// Not `whole`, and not a member of a request with its value.
    #[error(
        "`{0}`: write `whole`, or NAME=VALUE with one of actor_id, command_id, context_id, conversation_id, fact_space, \
         from, until and nonce"
    )]
    Unknown(String),
    /// One of them twice, or `whole` beside a selection.
    #[error("`{0}` contradicts what was said before it")]
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

    /// Demands that the answer names this text, which the request named.
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
