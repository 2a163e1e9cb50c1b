//! Whom a credential may speak for when what is kept of people is read.

use serde::{Deserialize, Serialize};

use super::id::PrincipalId;
use super::operation::CredentialKind;

/// A capability in an organisation: whose memory agents share (paper 3.2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capability {
    pub organization: String,
    pub capability: String,
}

/// In whose name a credential may look.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Voice {
    /// In nobody's: it sees what is open to everybody.
    #[default]
    Nobody,
    /// In this principal's alone.
    Principal(PrincipalId),
    /// In anyone's, whom it names.
    Anyone,
}

/// Whom a credential may speak for. Chosen when a key is made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SpeaksFor {
    /// In whose name it may look.
    pub voice: Voice,
    /// The capability whose memory it may read besides.
    pub capability: Option<Capability>,
}

impl SpeaksFor {
    /// What holds where nobody has chosen: a key that acts for a principal speaks for it; the one that serves every
    /// conversation and the one that administers the tenant speak for anyone; all others for nobody.
    #[must_use]
    pub fn usual(kind: CredentialKind, principal_id: Option<&PrincipalId>) -> Self {
        let voice = match (principal_id, kind) {
            (Some(id), _) => Voice::Principal(id.clone()),
            (None, CredentialKind::Handler | CredentialKind::Admin) => Voice::Anyone,
            (None, CredentialKind::Operator | CredentialKind::Auditor | CredentialKind::Agent) => Voice::Nobody,
        };
        Self { voice, capability: None }
    }

    /// Whether it may read the memory of this capability.
    #[must_use]
    pub fn has_capability(&self, organization: &str, capability: &str) -> bool {
        let own = self.capability.as_ref();
        self.voice == Voice::Anyone
            || own.is_some_and(|own| own.organization == organization && own.capability == capability)
    }

    /// Whether it may speak for this one.
    #[must_use]
    pub fn may_name(&self, user_id: &str) -> bool {
        match &self.voice {
            Voice::Anyone => true,
            Voice::Principal(own) => own.as_str() == user_id,
            Voice::Nobody => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_a_key_speaks_for_where_nobody_chose_is_the_least_that_its_kind_needs() {
        use CredentialKind::{Admin, Agent, Auditor, Handler, Operator};
        let ana = PrincipalId::new("ana").unwrap();
        for kind in [Handler, Operator, Auditor, Agent, Admin] {
            let bound = SpeaksFor::usual(kind, Some(&ana));
            assert!(bound.may_name("ana") && !bound.may_name("bea"), "{kind:?}");
            let free = SpeaksFor::usual(kind, None);
            assert_eq!(free.may_name("bea"), matches!(kind, Handler | Admin), "{kind:?}");
            assert_eq!(free.has_capability("acme", "sales"), matches!(kind, Handler | Admin), "{kind:?}");
        }
    }

    #[test]
    fn a_capability_is_one_of_one_organisation() {
        let own = Capability { organization: "acme".to_owned(), capability: "sales".to_owned() };
        let speaks = SpeaksFor { capability: Some(own), ..SpeaksFor::default() };
        for (organization, capability, expected) in
            [("acme", "sales", true), ("acme", "support", false), ("other", "sales", false)]
        {
            assert_eq!(speaks.has_capability(organization, capability), expected, "{organization} {capability}");
        }
        assert!(!speaks.may_name(""), "nobody is nobody");
    }
}
