//! Scopes: what a credential may do, and which kind of credential gets which.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::domain::operation::CredentialKind;

/// What a credential may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Scope {
    #[serde(rename = "message:ingest")]
    MessageIngest,
    /// Read contexts, items and commands.
    #[serde(rename = "context:read")]
    ContextRead,
    /// Open and move contexts, set slots, ask questions.
    #[serde(rename = "context:write")]
    ContextWrite,
    /// Bind commands and report results.
    #[serde(rename = "command:bind")]
    CommandBind,
    #[serde(rename = "approval:decide")]
    ApprovalDecide,
    #[serde(rename = "principal:write")]
    PrincipalWrite,
    /// Ask what is going on, redacted.
    #[serde(rename = "ooc:read")]
    OocRead,
    #[serde(rename = "ooc:raw")]
    OocRaw,
    #[serde(rename = "evidence:read")]
    EvidenceRead,
    /// Read facts, and have context packs assembled.
    #[serde(rename = "fact:read")]
    FactRead,
    /// Write facts, signals and working sets; post observations.
    #[serde(rename = "fact:write")]
    FactWrite,
    /// Erase and export what is held about somebody, and place legal holds.
    #[serde(rename = "privacy:erase")]
    PrivacyErase,
    #[serde(rename = "tenant:admin")]
    TenantAdmin,
}

impl Scope {
    pub const ALL: [Self; 13] = [
        Self::MessageIngest,
        Self::ContextRead,
        Self::ContextWrite,
        Self::CommandBind,
        Self::ApprovalDecide,
        Self::PrincipalWrite,
        Self::OocRead,
        Self::OocRaw,
        Self::EvidenceRead,
        Self::FactRead,
        Self::FactWrite,
        Self::PrivacyErase,
        Self::TenantAdmin,
    ];

    /// The scope's word on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MessageIngest => "message:ingest",
            Self::ContextRead => "context:read",
            Self::ContextWrite => "context:write",
            Self::CommandBind => "command:bind",
            Self::ApprovalDecide => "approval:decide",
            Self::PrincipalWrite => "principal:write",
            Self::OocRead => "ooc:read",
            Self::OocRaw => "ooc:raw",
            Self::EvidenceRead => "evidence:read",
            Self::FactRead => "fact:read",
            Self::FactWrite => "fact:write",
            Self::PrivacyErase => "privacy:erase",
            Self::TenantAdmin => "tenant:admin",
        }
    }

    /// What a key of this kind gets when nobody says otherwise.
    #[must_use]
    pub fn defaults(kind: CredentialKind) -> BTreeSet<Self> {
        let scopes: &[Self] = match kind {
            CredentialKind::Handler => &[
                Self::MessageIngest,
                Self::ContextRead,
                Self::ContextWrite,
                Self::CommandBind,
                Self::PrincipalWrite,
                Self::FactRead,
                Self::FactWrite,
            ],
            CredentialKind::Operator => {
                &[Self::ContextRead, Self::OocRead, Self::ApprovalDecide, Self::FactRead, Self::FactWrite]
            }
            CredentialKind::Auditor => &[Self::OocRead, Self::EvidenceRead],
            CredentialKind::Agent => &[Self::ContextRead, Self::ContextWrite, Self::FactRead, Self::FactWrite],
            CredentialKind::Admin => &Self::ALL,
        };
        scopes.iter().copied().collect()
    }

    /// Whether a key of this kind may hold it at all. An agent proposes: it neither utters a "yes" nor binds.
    #[must_use]
    pub fn allowed_for(self, kind: CredentialKind) -> bool {
        kind != CredentialKind::Agent
            || matches!(self, Self::ContextRead | Self::ContextWrite | Self::FactRead | Self::FactWrite)
    }
}
