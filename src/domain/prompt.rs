//! Prompts as they will be shown, and the button ids that come back from them.
//!
//! What WhatsApp or an SDK would cut is refused: a person must have seen all of what they agree to.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::canonical::{Digest, Purpose, canonical, commit, hash};

/// Text without buttons, in UTF-16 units: the unit in which SDKs cut.
pub const MAX_TEXT_UNITS: usize = 4_096;
/// Text above buttons or a list.
pub const MAX_BODY_UNITS: usize = 1_024;
/// Reply buttons of one message.
pub const MAX_BUTTONS: usize = 3;
/// A reply button's title.
pub const MAX_TITLE_UNITS: usize = 20;
/// A list row's title.
pub const MAX_ROW_TITLE_UNITS: usize = 24;
/// Rows of a list.
pub const MAX_ROWS: usize = 10;

/// What a button of ours does when it is tapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ButtonAction {
    Accept,
    Refuse,
    /// Choose the option with this number, counted from 1.
    Choose(u8),
}

/// A tapped id that this server made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ButtonId {
    pub action: ButtonAction,
    /// Digest of its nonce; the nonce itself is never kept.
    pub nonce_digest: Digest,
}

const SCHEME: &str = "cscp1";

/// The nonce as it goes on the wire.
#[must_use]
pub fn nonce_text(nonce: &Digest) -> String {
    URL_SAFE_NO_PAD.encode(nonce.as_bytes())
}

/// What an item keeps of its nonce. 256 random bits need no salt. (An idempotency row repeats the answer that showed
/// the nonce, for as long as policy keeps such rows.)
#[must_use]
pub fn nonce_digest(nonce: &Digest) -> Digest {
    hash(Purpose::Nonce, &[nonce.as_bytes()])
}

/// Writes the id for a button.
#[must_use]
pub fn button_id(action: ButtonAction, nonce: &Digest) -> String {
    let action = match action {
        ButtonAction::Accept => "y".to_owned(),
        ButtonAction::Refuse => "n".to_owned(),
        ButtonAction::Choose(option) => option.to_string(),
    };
    format!("{SCHEME}.{action}.{}", nonce_text(nonce))
}

/// Reads an id; `None` for every id that is not of our making.
#[must_use]
pub fn read_button_id(text: &str) -> Option<ButtonId> {
    let mut parts = text.split('.');
    let (scheme, action, nonce) = (parts.next()?, parts.next()?, parts.next()?);
    if scheme != SCHEME || parts.next().is_some() {
        return None;
    }
    let action = match action {
        "y" => ButtonAction::Accept,
        "n" => ButtonAction::Refuse,
        digits => ButtonAction::Choose(
            digits.parse::<u8>().ok().filter(|option| *option > 0 && option.to_string() == digits)?,
        ),
    };
    let bytes = URL_SAFE_NO_PAD.decode(nonce).ok()?;
    let nonce = Digest::from_bytes(bytes.try_into().ok()?);
    Some(ButtonId { action, nonce_digest: nonce_digest(&nonce) })
}

/// A button as it will be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Button {
    pub title: String,
    pub action: ButtonAction,
}

/// A prompt as it will be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShownPrompt {
    pub text: String,
    /// Buttons, or rows of a list when there are more than three.
    pub buttons: Vec<Button>,
}

/// Why a prompt would not be shown as registered.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, thiserror::Error)]
#[error("{field} would not be shown as it is meant: {problem}")]
pub struct PromptError {
    /// Which part, as a JSON pointer inside the prompt.
    pub field: String,
    /// What is wrong and what fits.
    pub problem: String,
}

/// Whether a character of a text is not shown as it stands there: controls but for the ends of lines and tabulators, and the
/// two signs that turn the order of what follows around, whatever it is.
fn is_not_shown(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || matches!(c, '\u{202D}' | '\u{202E}')
}

fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

impl ShownPrompt {
    /// Checks that the channel shows all of it. `rows` allows a list instead of reply buttons.
    pub fn check(&self, rows: bool) -> Result<(), PromptError> {
        let error = |field: String, problem: String| Err(PromptError { field, problem });
        let as_list = rows && self.buttons.len() > MAX_BUTTONS;
        let max_text = if self.buttons.is_empty() { MAX_TEXT_UNITS } else { MAX_BODY_UNITS };
        let max_title = if as_list { MAX_ROW_TITLE_UNITS } else { MAX_TITLE_UNITS };
        if self.text.trim().is_empty() {
            return error("/text".to_owned(), "it is empty".to_owned());
        }
        if self.text.chars().any(is_not_shown) {
            let problem = "it has a control character, or one that turns the text around".to_owned();
            return error("/text".to_owned(), problem);
        }
        if units(&self.text) > max_text {
            return error("/text".to_owned(), format!("{} UTF-16 units; at most {max_text} fit", units(&self.text)));
        }
        let max_buttons = if rows { MAX_ROWS } else { MAX_BUTTONS };
        if self.buttons.len() > max_buttons {
            return error("/buttons".to_owned(), format!("{} of them; at most {max_buttons} fit", self.buttons.len()));
        }
        for (index, button) in self.buttons.iter().enumerate() {
            let length = units(&button.title);
            if button.title.trim().is_empty() || length > max_title {
                return error(
                    format!("/buttons/{index}/title"),
                    format!("{length} UTF-16 units; 1 to {max_title} fit"),
                );
            }
        }
        Ok(())
    }

    /// Salted digest over everything shown, so that it can be proved later what the person saw.
    #[must_use]
    pub fn digest(&self, salt: &Digest) -> String {
        let buttons: Vec<_> = self.buttons.iter().map(|button| button.title.as_str()).collect();
        commit(Purpose::Prompt, salt, &canonical(&json!({"text": self.text, "buttons": buttons}))).prefixed()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn prompt(text: usize, titles: &[usize]) -> ShownPrompt {
        let buttons = titles.iter().map(|n| Button { title: "t".repeat(*n), action: ButtonAction::Accept }).collect();
        ShownPrompt { text: "x".repeat(text), buttons }
    }

    #[test]
    fn limits_are_exact() {
        assert!(prompt(1_024, &[20, 20, 20]).check(false).is_ok());
        assert_eq!(prompt(1_025, &[20]).check(false).unwrap_err().field, "/text");
        assert!(prompt(4_096, &[]).check(false).is_ok());
        assert!(prompt(4_097, &[]).check(false).is_err());
        assert_eq!(prompt(10, &[20, 21]).check(false).unwrap_err().field, "/buttons/1/title");
        assert_eq!(prompt(10, &[1, 1, 1, 1]).check(false).unwrap_err().field, "/buttons");
        assert!(prompt(10, &[24; 10]).check(true).is_ok());
        assert!(prompt(10, &[24; 3]).check(true).is_err(), "three options are buttons, not rows");
        assert!(prompt(10, &[1; 11]).check(true).is_err());
        assert!(prompt(10, &[0]).check(false).is_err());
        assert!(prompt(0, &[]).check(false).is_err());
    }

    #[test]
    fn an_emoji_at_the_edge_counts_as_sdks_count_it() {
        let title = format!("{}👍", "t".repeat(19));
        let shown =
            ShownPrompt { text: "ok?".to_owned(), buttons: vec![Button { title, action: ButtonAction::Accept }] };
        assert!(shown.check(false).is_err(), "20 characters, but 21 units");
    }

    proptest! {
        #[test]
        fn an_id_is_ours_only_in_the_form_we_write(text in "(cscp1)?\\.?[yn0-9]{0,4}\\.?\\PC{0,60}") {
            if let Some(button) = read_button_id(&text) {
                let nonce = text.rsplit('.').next().unwrap();
                let bytes = URL_SAFE_NO_PAD.decode(nonce).unwrap();
                let nonce = Digest::from_bytes(bytes.try_into().unwrap());
                prop_assert_eq!(button_id(button.action, &nonce), text);
            }
        }
    }

    #[test]
    fn ids_round_trip_and_foreign_ids_are_not_ours() {
        let nonce = Digest::from_bytes([200; 32]);
        for action in [ButtonAction::Accept, ButtonAction::Refuse, ButtonAction::Choose(1), ButtonAction::Choose(10)] {
            let id = button_id(action, &nonce);
            assert!(id.len() <= 200);
            assert_eq!(read_button_id(&id), Some(ButtonId { action, nonce_digest: nonce_digest(&nonce) }));
        }
        for id in [
            "",
            "yes",
            "cscp1.y",
            "cscp1.y.short",
            "cscp1.0.x",
            "cscp1.y.a.b",
            "cscp2.y.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
        ] {
            assert_eq!(read_button_id(id), None, "{id}");
        }
        let padded = button_id(ButtonAction::Choose(1), &nonce).replace(".1.", ".01.");
        assert_eq!(read_button_id(&padded), None);
    }
}
