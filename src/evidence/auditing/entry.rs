//! Checks of an entry that need no other entry. Every hash is computed from the bytes as received; only SHA-256 is
//! shared with the code that writes them.

use sha2::{Digest as _, Sha256};

use super::Flaw;
use super::line::{Entry, FrameLine, Header, Pack};
use super::scope::Scope;
use super::shown::{tells_content, tells_header, tells_payload};
use crate::domain::canonical::{Digest, Json, parse_borrowed};
use crate::evidence::checkpoint::Checkpoint;
use crate::evidence::tree::verify_inclusion;

/// The checkpoint that entries are proven against.
#[derive(Debug, Clone, Default)]
pub(super) enum Anchor {
    /// No checkpoint has come yet, so no entry can be proven.
    #[default]
    Missing,
    /// The checkpoint is not one of the log. That is one fault; the entries after it do not repeat it.
    Refused,
    Held(Checkpoint),
}

/// What the lines of a bundle are checked against.
#[derive(Debug, Clone, Default)]
pub(super) struct Known {
    pub(super) tenant_id: String,
    pub(super) scope: Scope,
    pub(super) anchor: Anchor,
}

/// An entry that passed every check that needs no other entry.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) header: Header,
    /// Its time, in a form that sorts by time.
    pub(super) at: String,
    pub(super) facts: Facts,
}

/// What is known about an entry from its hashes and its artifact.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) prev_hash: Digest,
    pub(super) entry_hash: Digest,
    /// Its index in the tree, if the proof is valid.
    pub(super) leaf: Option<u64>,
    /// Its artifact contains data that no payload proves.
    pub(super) shown_only: bool,
    /// Its payload is present and matches the commitment.
    pub(super) proven: bool,
    /// The artifact says that the payload was erased.
    pub(super) erased: bool,
    /// The frame that the proven payload names, and the frame's hash.
    pub(super) frame: Option<(String, String)>,
}

/// A fault, with the entry's header if that could be read.
pub(super) type Refused = (Flaw, Option<Box<Header>>);

/// Checks an entry by itself.
pub(super) fn check(entry: &Entry<'_>, known: &Known) -> Result<Checked, Refused> {
    let header: Header = serde_json::from_str(&entry.header)
        .ok()
        .filter(|header: &Header| header.v == 1 && header.seq > 0)
        .ok_or((Flaw::Header, None))?;
    let Some(at) = moment(&header.at) else { return Err((Flaw::Header, Some(Box::new(header)))) };
    match facts(entry, &header, &at, known) {
        Ok(facts) => Ok(Checked { header, at, facts }),
        Err(flaw) => Err((flaw, Some(Box::new(header)))),
    }
}

/// An instant as text that sorts by time: UTC, down to microseconds.
pub(super) fn moment(at: &str) -> Option<String> {
    let (seconds, fraction) = at.strip_suffix('Z').map(|at| at.split_once('.').unwrap_or((at, "")))?;
    let form = b"0000-00-00T00:00:00";
    let same = |(byte, form): (u8, &u8)| if *form == b'0' { byte.is_ascii_digit() } else { byte == *form };
    let fits = seconds.len() == form.len() && seconds.bytes().zip(form).all(same);
    let fine = fraction.len() <= 6 && fraction.bytes().all(|byte| byte.is_ascii_digit());
    (fits && fine).then(|| format!("{seconds}{fraction:0<6}"))
}

fn facts(entry: &Entry<'_>, header: &Header, at: &str, known: &Known) -> Result<Facts, Flaw> {
    if header.tenant_id != known.tenant_id {
        return Err(Flaw::Foreign);
    }
    let digests = (digest(&entry.prev_hash), digest(&entry.payload_commitment), digest(&entry.entry_hash));
    let (Some(prev_hash), Some(commitment), Some(entry_hash)) = digests else { return Err(Flaw::EntryHash) };
    if entry_hash != sha256(&[b"cscp.entry.v1", prev_hash.as_bytes(), entry.header.as_bytes(), commitment.as_bytes()]) {
        return Err(Flaw::EntryHash);
    }
    let leaf = match &known.anchor {
        Anchor::Missing => return Err(Flaw::NoCheckpoint),
        Anchor::Refused => None,
        Anchor::Held(checkpoint) if is_in(entry, &entry_hash, checkpoint) => Some(entry.leaf_index),
        Anchor::Held(_) => return Err(Flaw::NotInLog),
    };
    let payload = match (&entry.payload, &entry.salt) {
        (None, None) => None,
        (Some(payload), Some(salt)) => Some(opened(payload, salt, &commitment).ok_or(Flaw::Payload)?),
        _ => return Err(Flaw::Payload),
    };
    let artifact = &entry.artifact;
    let tells = tells_header(artifact, header, entry)
        && payload.as_ref().is_none_or(|payload| tells_payload(artifact, payload));
    if !tells {
        return Err(Flaw::Artifact);
    }
    if !known.scope.holds(header, at, artifact) {
        return Err(Flaw::Scope);
    }
    Ok(Facts {
        prev_hash,
        entry_hash,
        leaf,
        shown_only: payload.is_none() && tells_content(artifact),
        proven: payload.is_some(),
        erased: artifact.get("erased") == Some(&Json::Bool(true)),
        frame: payload.as_ref().and_then(frame_named),
    })
}

fn is_in(entry: &Entry<'_>, entry_hash: &Digest, checkpoint: &Checkpoint) -> bool {
    let proof: Option<Vec<Digest>> = entry.proof.iter().map(|hash| digest(hash)).collect();
    proof.is_some_and(|proof| {
        verify_inclusion(entry_hash, entry.leaf_index, checkpoint.size(), &proof, &checkpoint.root()).is_ok()
    })
}

/// The payload, if it and its salt match the commitment.
fn opened<'a>(payload: &'a str, salt: &str, commitment: &Digest) -> Option<Json<'a>> {
    let salt = digits(salt)?;
    let derived = sha256(&[b"cscp.payload.v1", salt.as_bytes(), payload.as_bytes()]);
    if derived == *commitment { parse_borrowed(payload.as_bytes()).ok() } else { None }
}

/// The frame that an entry captured, or that a command was bound with.
fn frame_named(payload: &Json<'_>) -> Option<(String, String)> {
    let event = payload.get("event")?;
    let (of, hash) = match event.get("event")?.as_str()? {
        "frame_captured" => (event.get("frame")?, event.get("context_hash")?),
        "command_bound" => {
            let command = event.get("command")?;
            (command, command.get("context_hash")?)
        }
        _ => return None,
    };
    Some((of.get("context_frame_id")?.as_str()?.to_owned(), hash.as_str()?.to_owned()))
}

/// Whether a frame matches its hash; false if the frame was not included.
pub(super) fn frame_holds(frame: &FrameLine) -> Result<bool, Flaw> {
    match (&frame.frame, &frame.salt, &frame.shown) {
        (None, None, Some(_)) => Ok(false),
        (Some(text), Some(salt), None) => frame_derives(frame, text, salt).ok_or(Flaw::Frame),
        _ => Err(Flaw::Frame),
    }
}

fn frame_derives(frame: &FrameLine, text: &str, salt: &str) -> Option<bool> {
    let salt = digits(salt)?;
    let derived = sha256(&[b"cscp.frame.v1", salt.as_bytes(), text.as_bytes()]);
    let says = parse_borrowed(text.as_bytes()).ok()?;
    let fits = digest(&frame.context_hash)? == derived
        && says.get("context_frame_id").and_then(Json::as_str) == Some(frame.context_frame_id.as_str());
    fits.then_some(true)
}

/// Whether a policy pack matches its hash.
pub(super) fn pack_holds(pack: &Pack) -> bool {
    let derived = |document: &String| sha256(&[b"cscp.policy.v1", document.as_bytes()]);
    pack.document.as_ref().is_none_or(|document| digest(&pack.hash) == Some(derived(document)))
}

/// `sha256:` and 64 hexadecimal digits in lower case.
pub(super) fn digest(text: &str) -> Option<Digest> {
    digits(text.strip_prefix("sha256:")?)
}

/// 64 hexadecimal digits in lower case only, so that a digest has one form. A third of a bundle is such digits, so this
/// code has no branch per digit.
fn digits(hex: &str) -> Option<Digest> {
    const NONE: u8 = 0x80;
    let value = |digit: u8| match digit {
        b'0'..=b'9' => digit - b'0',
        b'a'..=b'f' => digit - b'a' + 10,
        _ => NONE,
    };
    let (pairs, []) = hex.as_bytes().as_chunks::<2>() else { return None };
    let pairs: &[[u8; 2]; 32] = pairs.try_into().ok()?;
    let high = pairs.map(|[high, _]| value(high));
    let low = pairs.map(|[_, low]| value(low));
    let none = high.iter().chain(&low).fold(0, |seen, value| seen | value) & NONE;
    let mut bytes = high;
    bytes.iter_mut().zip(low).for_each(|(byte, low)| *byte = *byte << 4 | low);
    (none == 0).then(|| Digest::from_bytes(bytes))
}

fn sha256(parts: &[&[u8]]) -> Digest {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    Digest::from_bytes(hasher.finalize().into())
}
