//! Reads one file into one loaded pack.

use serde_json::Value;
use sha2::{Digest, Sha256};

use super::schema;
use super::text::{Document, pointer_of};
use crate::domain::policy::{LoadedPack, PolicyError, PolicyPack};

/// The prefix of the hash of a pack, so that no other kind of hash equals it.
const HASH_DOMAIN: &[u8] = b"cscp.policy.v1";

/// The most errors that are reported for one file.
const MAX_COMPLAINTS: usize = 100;

/// Reads one pack from YAML, or from JSON if the file name ends in `.json`. All errors are reported together, except
/// that a wrong form prevents the semantic checks.
pub fn read_pack(file: &str, text: &str) -> Result<LoadedPack, Vec<PolicyError>> {
    let document = Document::read(file, text).map_err(|error| vec![error])?;
    let place = |errors: Vec<PolicyError>| {
        let more = errors.len().saturating_sub(MAX_COMPLAINTS);
        let shown = errors.into_iter().take(MAX_COMPLAINTS);
        let mut placed: Vec<_> = shown.map(|error| document.place(file, error)).collect();
        if more > 0 {
            let problem = format!("{more} more complaints are not shown");
            placed.push(PolicyError::at("", problem, "Mend the ones above first.").in_file(file));
        }
        placed
    };
    let errors = schema::check(&document.value);
    if !errors.is_empty() {
        return Err(place(errors));
    }
    let pack: PolicyPack =
        serde_path_to_error::deserialize(&document.value).map_err(|error| place(vec![mistyped(&error)]))?;
    let canonical = canonical_text(&document.value).map_err(|error| place(vec![error]))?;
    let loaded = LoadedPack::new(pack, hash_of(&canonical), file).map_err(place)?;
    Ok(loaded.written_as(canonical))
}

/// The hash that identifies a pack: `sha256:` and the hex SHA-256 of `cscp.policy.v1` followed by the canonical JSON
/// (RFC 8785) of the document as its author wrote it, without defaults. So anyone can compute it from the file.
pub fn pack_hash(document: &Value) -> Result<String, PolicyError> {
    canonical_text(document).map(|canonical| hash_of(&canonical))
}

/// The hash and the canonical text of a pack, even if this program would no longer accept the pack: old evidence refers
/// to it.
#[must_use]
pub fn pack_document(file: &str, text: &str) -> Option<(String, String)> {
    let document = Document::read(file, text).ok()?;
    let canonical = canonical_text(&document.value).ok()?;
    Some((hash_of(&canonical), canonical))
}

fn canonical_text(document: &Value) -> Result<String, PolicyError> {
    serde_json_canonicalizer::to_string(document).map_err(|error| {
        PolicyError::at("", format!("the pack has no canonical form ({error})"), "Write numbers that JSON can hold.")
    })
}

fn hash_of(canonical: &str) -> String {
    let digest = Sha256::new().chain_update(HASH_DOMAIN).chain_update(canonical).finalize();
    format!("sha256:{}", hex::encode(digest))
}

/// An error for a document that the schema accepts and the types do not. A test ensures that this does not happen.
fn mistyped(error: &serde_path_to_error::Error<serde_json::Error>) -> PolicyError {
    PolicyError::at(
        pointer_of(error.path()),
        format!("this cannot be read ({})", error.inner()),
        "Compare with the packs that ship with the program.",
    )
}
