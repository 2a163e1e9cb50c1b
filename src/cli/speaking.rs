//! Whom a key may speak for: the command line options and their display.

use super::Failure;
use crate::domain::id::PrincipalId;
use crate::domain::speaking::{Capability, SpeaksFor, Voice};

/// Whom a key may speak for when facts are read.
#[derive(Debug, clap::Args)]
pub(crate) struct Speaking {
    /// Whom it may speak for when facts are read: `nobody` (it sees what is open to everybody), `principal:ID` (what that
    /// one may see), or `anyone` (whom it names: for the program that serves every conversation). If not said: the key's
    /// own principal if it has one, else `anyone` for handlers and administrators and `nobody` for all others
    #[arg(long)]
    speaks_for: Option<String>,
    /// The capability whose memory it may read, with --organization
    #[arg(long, requires = "organization")]
    capability: Option<String>,
    /// The organisation that the capability belongs to
    #[arg(long, requires = "capability")]
    organization: Option<String>,
}

impl Speaking {
    /// The configured value, with defaults for what was not given.
    pub(super) fn read(&self, usual: SpeaksFor) -> Result<SpeaksFor, Failure> {
        let voice = match self.speaks_for.as_deref() {
            None => usual.voice,
            Some("nobody") => Voice::Nobody,
            Some("anyone") => Voice::Anyone,
            Some(text) => {
                let id = text.strip_prefix("principal:");
                let id = id.ok_or_else(|| Failure::new("--speaks-for takes nobody, anyone or principal:ID"))?;
                let id = PrincipalId::new(id).map_err(|error| Failure::new(format!("--speaks-for {error}")))?;
                Voice::Principal(id)
            }
        };
        let capability = match (&self.organization, &self.capability) {
            (Some(organization), Some(capability)) => {
                Some(Capability { organization: organization.clone(), capability: capability.clone() })
            }
            _ => usual.capability,
        };
        Ok(SpeaksFor { voice, capability })
    }
}

/// A description of whom a key speaks for.
pub(super) fn told(speaks_for: &SpeaksFor) -> String {
    let voice = match &speaks_for.voice {
        Voice::Nobody => "nobody".to_owned(),
        Voice::Principal(id) => format!("principal:{id}"),
        Voice::Anyone => "anyone".to_owned(),
    };
    match &speaks_for.capability {
        Some(Capability { organization, capability }) => format!("{voice}, capability {capability} of {organization}"),
        None => voice,
    }
}
