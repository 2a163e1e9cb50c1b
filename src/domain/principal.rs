//! Principals: whoever acts, with roles, aliases and an identity epoch.

use serde::{Deserialize, Serialize};

use super::id::{PersonId, PrincipalId, RoleName};
use super::time::Timestamp;

/// The most aliases and roles of one principal.
pub const MAX_ALIASES: usize = 32;
/// The most roles of one principal.
pub const MAX_ROLES: usize = 32;

/// What kind of principal it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalKind {
    Person,
    /// A language model or another program that proposes.
    Agent,
    System,
}

/// How far a writer of capability memory has come: what it may write follows from it (paper 3.2, learning tiers).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Maturity {
    #[default]
    Junior,
    Senior,
    Master,
}

/// What an alias is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AliasKind {
    /// A phone number, spelled as the channel spells it.
    Phone,
    /// A business-scoped user id.
    Bsuid,
    /// The id that spans linked portfolios.
    ParentBsuid,
    /// The channel's identity key hash.
    IdentityKey,
}

/// One external name of a principal. Two spellings are two aliases; nothing is normalised.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Alias {
    pub kind: AliasKind,
    /// As the channel gave it.
    pub value: String,
}

impl Alias {
    /// Whether two aliases are one external name. Telephone numbers are compared by their digits: one caller writes a
    /// plus sign and another none.
    fn is_same(&self, other: &Self) -> bool {
        self.kind == other.kind && self.names(&other.value)
    }

    fn names(&self, value: &str) -> bool {
        self.value == value || (self.kind == AliasKind::Phone && same_digits(&self.value, value))
    }
}

/// Whether a text is written as a telephone number is: digits, and what they are spelled with. Other blanks, hyphens and
/// digits, or a scheme before it, would make two people of one.
#[must_use]
pub fn is_telephone_number(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || SPELLING.contains(&c);
    text.chars().all(is_part) && text.chars().any(|c| c.is_ascii_digit())
}

/// Whether both are telephone numbers with the same digits.
fn same_digits(one: &str, another: &str) -> bool {
    let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
    is_telephone_number(one)
        && is_telephone_number(another)
        && digits(one).len() >= MIN_PHONE_DIGITS
        && digits(one) == digits(another)
}

/// What telephone numbers are spelled with besides digits. Indexes of the databases leave out the same.
const SPELLING: [char; 5] = ['+', ' ', '-', '(', ')'];
/// The fewest digits of a telephone number that names somebody.
const MIN_PHONE_DIGITS: usize = 7;

/// An alias that no longer holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastAlias {
    #[serde(flatten)]
    pub alias: Alias,
    pub until: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    pub principal_id: PrincipalId,
    pub kind: PrincipalKind,
    /// What it may be asked for.
    pub roles: Vec<RoleName>,
    /// The natural person, where known; one person may be several principals.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub person_id: Option<PersonId>,
    /// External names in force.
    pub aliases: Vec<Alias>,
    /// External names of the past, newest last.
    pub past_aliases: Vec<PastAlias>,
    /// How far it has come as a writer of capability memory; none for whoever writes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maturity: Option<Maturity>,
    /// The language for texts sent back to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// Whether it stands as it was registered. News about its identity ends that until it is registered again; till
    /// then it holds no role.
    pub registered: bool,
    /// Counts identity changes. What was asked of an earlier epoch is void.
    pub identity_epoch: u64,
    /// Counts changes; the `ETag`.
    pub revision: u64,
    /// When it was first recorded.
    pub created_at: Timestamp,
    /// When it last changed.
    pub updated_at: Timestamp,
}

impl Principal {
    /// Whether it holds a role. An unregistered principal holds none.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.registered && self.roles.iter().any(|held| held.as_str() == role)
    }
}

/// What tells whether two principals are one person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity<'a> {
    pub principal_id: &'a PrincipalId,
    /// The person behind it, where known.
    pub person_id: Option<&'a PersonId>,
    /// Its external names in force.
    pub aliases: &'a [Alias],
}

impl Identity<'_> {
    /// Whether both are one person: the same principal, the same person id, or a common alias. Two different person ids
    /// say that two people share the alias.
    #[must_use]
    pub fn is_same_person(&self, other: &Identity<'_>) -> bool {
        if self.principal_id == other.principal_id || self.is_named_by(other) || other.is_named_by(self) {
            return true;
        }
        match (self.person_id, other.person_id) {
            (Some(one), Some(another)) => one == another,
            _ => self.aliases.iter().any(|alias| other.aliases.iter().any(|held| held.is_same(alias))),
        }
    }

    /// Whether the other's person id, or an alias of the other, is this principal's own id: callers name people by what
    /// they have.
    fn is_named_by(&self, other: &Identity<'_>) -> bool {
        let id = self.principal_id.as_str();
        other.person_id.is_some_and(|person| person.as_str() == id) || other.aliases.iter().any(|alias| alias.names(id))
    }
}

/// How many different people `counted` are, by themselves and by what links them. Whoever is the same person as one of two others
/// makes all three one, and need not be one of `counted` for that.
#[must_use]
pub fn count_people(counted: &[Identity<'_>], links: &[Identity<'_>]) -> usize {
    let mut left: Vec<(bool, Identity<'_>)> =
        counted.iter().map(|one| (true, *one)).chain(links.iter().map(|link| (false, *link))).collect();
    let mut people = 0;
    while let Some(at) = left.iter().position(|(counts, _)| *counts) {
        people += 1;
        let mut reached = vec![left.swap_remove(at).1];
        while let Some(one) = reached.pop() {
            let (own, others) = left.into_iter().partition(|(_, other)| other.is_same_person(&one));
            left = others;
            reached.extend(own.into_iter().map(|(_, other): (bool, Identity<'_>)| other));
        }
    }
    people
}

/// What a principal and others who may be the same person have in common, as it is searched by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct PersonKey(String);

impl PersonKey {
    /// A text without what telephone numbers are spelled with besides digits. Texts that name one person have one key; the
    /// other way round it need not be so.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(text.chars().filter(|c| !SPELLING.contains(c)).collect())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Principal {
    /// What whoever is the same person has in common with it: its id, its person id, its external names in force.
    pub fn person_keys(&self) -> impl Iterator<Item = PersonKey> {
        let person = self.person_id.iter().map(|person| PersonKey::of(person.as_str()));
        let aliases = self.aliases.iter().map(|alias| PersonKey::of(&alias.value));
        std::iter::once(PersonKey::of(self.principal_id.as_str())).chain(person).chain(aliases)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn principal(id: &str) -> PrincipalId {
        PrincipalId::new(id).unwrap()
    }

    #[test]
    fn people_are_told_apart_by_person_and_by_alias() {
        let phone = |value: &str| vec![Alias { kind: AliasKind::Phone, value: value.to_owned() }];
        let (one, two) = (phone("+55 1"), phone("+55 2"));
        let (a, b, c) = (principal("a"), principal("b"), principal("c"));
        let (number, plain, written) = (principal("5521990001111"), phone("5521990001111"), phone("+55 21 99000-1111"));
        let of_a = PersonId::new("a").unwrap();
        let (ana, bia) = (PersonId::new("ana").unwrap(), PersonId::new("bia").unwrap());
        let who = |id, person, aliases| Identity { principal_id: id, person_id: person, aliases };
        for (people, first, second, what) in [
            (1, who(&a, None, &one[..]), who(&a, Some(&ana), &two[..]), "one principal"),
            (1, who(&a, Some(&ana), &one[..]), who(&b, Some(&ana), &two[..]), "one person id"),
            (2, who(&a, Some(&ana), &one[..]), who(&b, Some(&bia), &one[..]), "two person ids share a phone"),
            (1, who(&a, None, &one[..]), who(&b, None, &one[..]), "one phone, nobody known"),
            (1, who(&a, Some(&ana), &one[..]), who(&b, None, &one[..]), "one phone, one known"),
            (2, who(&a, None, &one[..]), who(&b, None, &two[..]), "nothing in common"),
            (2, who(&a, None, &[]), who(&b, None, &[]), "nothing known"),
            (1, who(&a, None, &[]), who(&b, Some(&of_a), &[]), "a person id that is the other principal"),
            (1, who(&number, None, &[]), who(&b, None, &written[..]), "an id that is the other's number"),
            (1, who(&a, None, &plain[..]), who(&b, None, &written[..]), "one number, with and without a plus"),
        ] {
            assert_eq!(count_people(&[first, second], &[]), people, "{what}");
            assert_eq!(count_people(&[second, first], &[]), people, "{what}, the other way round");
        }
        // a and b share nothing; c is the same person as each of them.
        let both = [one[0].clone(), two[0].clone()];
        let linked = [who(&a, None, &one[..]), who(&b, None, &two[..]), who(&c, None, &both[..])];
        assert_eq!(count_people(&linked, &[]), 1);
        assert_eq!(count_people(&[linked[2], linked[1], linked[0]], &[]), 1);
        assert_eq!(count_people(&linked[..2], &linked[2..]), 1, "a link that does not count itself");
        assert_eq!(count_people(&linked[..2], &[]), 2);
        assert_eq!(count_people(&[], &linked), 0);
    }
}
