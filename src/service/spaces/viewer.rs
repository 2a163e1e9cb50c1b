//! Determines on whose behalf a caller reads: by the key first, then by registration, and last by the request.

use super::PackViewer;
use super::gate::{Gate, Looker};
use crate::domain::id::{PrincipalId, RoleName};
use crate::domain::operation::CredentialKind;
use crate::domain::speaking::Voice;
use crate::service::{Caller, Service, ServiceError};
use crate::state_layer::authority::{AuthorityOrder, Viewer};
use crate::state_layer::space::{Identity, SpaceRecord};

impl Service {
    /// The gate for a caller who names no viewer.
    pub(super) async fn gate<'a>(
        &self,
        caller: &'a Caller,
        space: Option<&SpaceRecord>,
    ) -> Result<Gate<'a>, ServiceError> {
        let identity = space.and_then(|record| record.identity.as_ref());
        let looker = match &caller.speaks_for.voice {
            Voice::Anyone => Looker::Anyone,
            Voice::Principal(id) => Looker::Viewer(self.known(caller, id.as_str(), None, identity).await?),
            Voice::Nobody => Looker::Viewer(Viewer::default()),
        };
        Ok(self.gate_for(caller, looker))
    }

    /// The gate for a viewer.
    pub(super) fn gate_for<'a>(&self, caller: &'a Caller, looker: Looker) -> Gate<'a> {
        let rules = self.state_rules(caller);
        Gate { caller, looker, order: AuthorityOrder::new(&rules.authority_order), rules }
    }

    /// The viewer of a pack. A key that speaks for one principal, or for nobody, cannot name another.
    pub(super) async fn viewer(
        &self,
        caller: &Caller,
        asked: Option<&PackViewer>,
        space: Option<&SpaceRecord>,
    ) -> Result<Viewer, ServiceError> {
        let identity = space.and_then(|record| record.identity.as_ref());
        if asked.is_some_and(|asked| !caller.speaks_for.may_name(&asked.user_id)) {
            return Err(ServiceError::OtherViewer);
        }
        let user_id = match (&caller.speaks_for.voice, asked, identity) {
            (Voice::Principal(own), _, _) => own.as_str(),
            (Voice::Anyone, Some(asked), _) => &asked.user_id,
            (Voice::Anyone, None, Some(identity)) => &identity.user_id,
            (Voice::Nobody, _, _) | (Voice::Anyone, None, None) => return Ok(Viewer::default()),
        };
        // A rank in the request counts neither for a program nor for a person who speaks for themselves.
        let believed = caller.speaks_for.voice == Voice::Anyone && caller.kind != CredentialKind::Agent;
        self.known(caller, user_id, asked.filter(|_| believed), identity).await
    }

    /// A viewer's rights: by the space's identity, then by registration, and last by the request.
    pub(super) async fn known(
        &self,
        caller: &Caller,
        user_id: &str,
        believed: Option<&PackViewer>,
        identity: Option<&Identity>,
    ) -> Result<Viewer, ServiceError> {
        let identity = identity.filter(|identity| identity.user_id == user_id);
        let said = Viewer { user_id: user_id.to_owned(), ..Viewer::default() };
        let said = match identity {
            Some(identity) => Viewer {
                authority: identity.authority.clone(),
                department: identity.department.clone(),
                permissions: identity.permissions.clone(),
                ..said
            },
            None => Viewer {
                authority: believed.and_then(|asked| asked.authority.clone()),
                department: believed.and_then(|asked| asked.department.clone()),
                ..said
            },
        };
        self.as_registered(caller, said).await
    }

    /// The same with the current roles of the registered principal.
    pub(super) async fn as_registered(&self, caller: &Caller, viewer: Viewer) -> Result<Viewer, ServiceError> {
        let Ok(id) = PrincipalId::new(viewer.user_id.clone()) else {
            return Ok(Viewer { roles: Vec::new(), ..viewer });
        };
        let principal = self.store.principal(&caller.tenant.tenant_id, id.as_str()).await?;
        let held = principal.filter(|principal| principal.registered).map(|principal| principal.roles);
        let roles = held.unwrap_or_default().iter().map(RoleName::as_str).map(str::to_owned).collect();
        Ok(Viewer { roles, ..viewer })
    }
}
