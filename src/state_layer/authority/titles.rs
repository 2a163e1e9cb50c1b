//! What titles mean: a class and a seniority inside it.

use super::title_words::{
    ALONE, ASSISTANT, ASSISTING, DEPUTY, LOWERED, OUTSIDE, PAST, PHRASES, PREPOSITIONS, RAISED, WORDS,
};

/// Words of a title, folded.
pub(super) fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// Classes of titles, the least authoritative first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Guest,
    Employee,
    Manager,
    Executive,
    Policy,
}

/// Where a title stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) class: Class,
    pub(super) within: u8,
}

impl Place {
    /// The seniority of a level that policy made up.
    pub(super) const UNKNOWN_SENIORITY: u8 = 70;
    pub(super) const BOARD: Self = Self { class: Class::Executive, within: 45 };
    pub(super) const CHIEF_EXECUTIVE: Self = Self { class: Class::Executive, within: 40 };
    pub(super) const C_SUITE: Self = Self { class: Class::Executive, within: 30 };
    pub(super) const SENIOR_VICE_PRESIDENT: Self = Self { class: Class::Executive, within: 25 };
    pub(super) const VICE_PRESIDENT: Self = Self { class: Class::Executive, within: 20 };
    pub(super) const DIRECTOR: Self = Self { class: Class::Manager, within: 30 };
    pub(super) const HEAD: Self = Self { class: Class::Manager, within: 25 };
    pub(super) const MANAGER: Self = Self { class: Class::Manager, within: 20 };
    pub(super) const LEAD: Self = Self { class: Class::Manager, within: 10 };
    pub(super) const EMPLOYEE: Self = Self { class: Class::Employee, within: 20 };
    pub(super) const RULES: Self = Self { class: Class::Policy, within: 20 };
    pub(super) const LAWYERS: Self = Self { class: Class::Policy, within: 10 };
    pub(super) const CONTRACTOR: Self = Self { class: Class::Guest, within: 30 };
    pub(super) const JUNIOR: Self = Self { class: Class::Guest, within: 20 };
    pub(super) const VISITOR: Self = Self { class: Class::Guest, within: 10 };

    /// Comparable across classes, so that an order which lacks a level still tells its titles apart.
    pub(super) fn seniority(self) -> u8 {
        let class = match self.class {
            Class::Guest => 0,
            Class::Employee => 50,
            Class::Manager => 100,
            Class::Executive => 150,
            Class::Policy => 200,
        };
        class + self.within
    }

    fn moved(self, by: i8) -> Self {
        Self { within: self.within.saturating_add_signed(by), ..self }
    }
}

/// Where a title stands; it is given folded and trimmed. None for words that name no standing.
pub(super) fn place(title: &str) -> Option<Place> {
    let all = words(title);
    let joined = all.join(" ");
    if let Some((_, place)) = ALONE.iter().find(|(alone, _)| *alone == joined) {
        return Some(*place);
    }
    if all.iter().any(|word| PAST.contains(word)) {
        return None;
    }
    // "Director of Board Relations" is a director: what stands before the first preposition says what somebody is.
    let head_len = all.iter().skip(1).position(|word| PREPOSITIONS.contains(word)).map_or(all.len(), |at| at + 1);
    let head = all.get(..head_len).unwrap_or(&all);
    head_place(head).or_else(|| head_place(&all))
}

/// Whether a list knows a word, or its singular.
fn known(list: &[&str], word: &str) -> bool {
    list.contains(&word) || word.strip_suffix('s').is_some_and(|singular| list.contains(&singular))
}

fn head_place(head: &[&str]) -> Option<Place> {
    for (lowered, place) in LOWERED {
        if head.iter().any(|word| known(lowered, word)) {
            return Some(*place);
        }
    }
    if head.last().is_some_and(|word| known(OUTSIDE, word)) {
        return Some(Place::VISITOR);
    }
    let assisting = head.iter().any(|word| ASSISTING.contains(word))
        || head.last().is_some_and(|word| ASSISTANT.contains(word))
        || (head.first().is_some_and(|word| ASSISTANT.contains(word)) && head.len() == 1);
    if assisting {
        return Some(Place::EMPLOYEE);
    }
    if let Some((_, place)) = PHRASES.iter().find(|(phrase, _)| head.windows(phrase.len()).any(|part| part == *phrase))
    {
        return Some(*place);
    }
    if head.contains(&"chief") && head.last() == Some(&"officer") {
        return Some(Place::C_SUITE);
    }
    let best =
        WORDS.iter().filter(|(list, _)| head.iter().any(|word| known(list, word))).map(|(_, place)| *place).max()?;
    if !matches!(best.class, Class::Manager) || best.within <= Place::LEAD.within {
        return Some(best);
    }
    let has = |list: &[&str]| head.first().is_some_and(|word| list.contains(word));
    if has(RAISED) {
        Some(best.moved(2))
    } else if has(DEPUTY) || has(ASSISTANT) {
        Some(best.moved(-2))
    } else {
        Some(best)
    }
}
