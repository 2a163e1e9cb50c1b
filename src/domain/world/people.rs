//! Who is who, as far as it was loaded.

use super::World;
use crate::domain::id::PrincipalId;
use crate::domain::principal::{Identity, count_people};

impl World {
    /// Who a principal is, as far as it is known here.
    #[must_use]
    pub fn identity<'a>(&'a self, principal_id: &'a PrincipalId) -> Identity<'a> {
        let principal = self.principals.get(principal_id);
        Identity {
            principal_id,
            person_id: principal.and_then(|principal| principal.person_id.as_ref()),
            aliases: principal.map_or(&[], |principal| &principal.aliases),
        }
    }

    /// How many different people these are, as far as it is known here.
    #[must_use]
    pub fn count_people(&self, identities: &[Identity<'_>]) -> usize {
        if self.people_unknown {
            return identities.len().min(1);
        }
        let links: Vec<Identity<'_>> = self.principals.keys().map(|id| self.identity(id)).collect();
        count_people(identities, &links)
    }

    /// Whether both are one person.
    #[must_use]
    pub fn is_one_person(&self, one: &Identity<'_>, other: &Identity<'_>) -> bool {
        self.count_people(&[*one, *other]) == 1
    }
}
