//! The policy packs that entries name, in the version that decided.

use super::{Export, ServiceError};
use crate::evidence::bundle::Pack;
use crate::packs::{PackSource, pack_document};
use crate::storage::PolicyVersion;

/// Published versions looked through at once.
const VERSIONS: u32 = 100;

impl Export {
    /// The pack with this hash: in force, built in, or once published. A pack from a folder that has changed since is
    /// no longer available.
    pub(super) async fn pack(&self, hash: &str) -> Result<Pack, ServiceError> {
        let document = match self.in_force(hash).or_else(|| among(&PackSource::Shipped, hash)) {
            Some(document) => Some(document),
            None => self.published(hash).await?,
        };
        Ok(Pack { hash: hash.to_owned(), document })
    }

    fn in_force(&self, hash: &str) -> Option<String> {
        let rules = self.service.rules();
        let book = rules.book();
        let loaded = book.packs().filter_map(|pack| book.pack(&pack.pack_id));
        let found = loaded.into_iter().find(|pack| pack.reference().hash == hash)?;
        found.document().map(str::to_owned)
    }

    async fn published(&self, hash: &str) -> Result<Option<String>, ServiceError> {
        let mut before = None;
        loop {
            let versions = self.service.store.policy_versions(before, VERSIONS).await?;
            let names = |version: &&PolicyVersion| version.packs.iter().any(|pack| pack.hash == hash);
            if let Some(version) = versions.iter().find(names) {
                let set = self.service.store.policy_set(version.version).await?;
                return Ok(set.and_then(|set| among(&PackSource::Published(set.files), hash)));
            }
            match versions.last() {
                Some(last) => before = Some(last.version),
                None => return Ok(None),
            }
        }
    }
}

/// The canonical text of a source's pack of this hash.
fn among(source: &PackSource, hash: &str) -> Option<String> {
    let files = source.files().ok()?;
    let documents = files.packs.iter().filter_map(|(file, text)| pack_document(file, text));
    documents.into_iter().find(|(found, _)| found == hash).map(|(_, document)| document)
}
