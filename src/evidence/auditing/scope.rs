//! What a bundle was asked for, what it promises to contain, and whether an entry belongs to it.

use std::collections::BTreeSet;

use super::asked::Asked;
use super::entry::moment;
use super::line::{Chain, Coverage, CoverageKind, Header, Opening, Selection};
use super::report::Completeness;
use crate::domain::canonical::Json;

const FORMATS: [&str; 2] = ["cscp-evidence-bundle/v1", "cscp-evidence-bundle/v2"];

/// The subject that a bundle was asked for.
#[derive(Debug, Clone)]
struct Subject {
    /// The member of artifacts that contains the subject.
    member: &'static str,
    named: String,
    /// Whether only whole chains are about it.
    in_chains_only: bool,
}

/// The scope stated by a bundle.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    format: &'static str,
    kind: Option<CoverageKind>,
    subject: Option<Subject>,
    from: Option<String>,
    until: Option<String>,
    chains: Vec<Chain>,
    /// A set of their ids, because an export may contain thousands of chains.
    ids: BTreeSet<String>,
}

impl Scope {
    /// Reads the first line of a bundle; none if the format is unknown or a time in it is invalid.
    pub(super) fn read(opening: &Opening) -> Option<Self> {
        let format = FORMATS.into_iter().find(|format| *format == opening.format)?;
        let chains = chains(format, &opening.coverage)?;
        let time = |at: &Option<String>| at.as_ref().map_or(Some(None), |at| moment(at).map(Some));
        Some(Self {
            format,
            kind: Some(opening.coverage.kind),
            subject: subject(&opening.selection),
            from: time(&opening.selection.from)?,
            until: time(&opening.selection.until)?,
            ids: chains.iter().map(|chain| chain.stream_id.clone()).collect(),
            chains,
        })
    }

    pub(super) fn format(&self) -> &'static str {
        self.format
    }

    /// Whether the coverage is one that the server states for this request: the whole log if nothing was selected,
    /// whole chains only if the selection has chains and no time limits.
    pub(super) fn is_promised(&self, selection: &Selection) -> bool {
        let has_window = self.from.is_some() || self.until.is_some();
        let has_chains =
            !matches!(&self.subject, Some(subject) if ["command_id", "context_id"].contains(&subject.member));
        match self.kind {
            Some(CoverageKind::Whole) => selection.named() == 0 && !has_window,
            Some(CoverageKind::Streams) => selection.named() == 1 && !has_window && has_chains,
            Some(CoverageKind::Selection) => selection.named() == 1 || selection.named() == 0 && has_window,
            None => false,
        }
    }

    /// Whether the bundle promises every leaf of the checkpoint's tree.
    pub(super) fn is_whole(&self) -> bool {
        self.kind == Some(CoverageKind::Whole)
    }

    /// Whether the bundle promises every entry of this chain, up to the checkpoint.
    pub(super) fn promises(&self, stream_id: &str) -> bool {
        self.is_whole() || self.has_chain(stream_id)
    }

    /// The chains whose ends are stated.
    pub(super) fn ends(&self) -> impl Iterator<Item = &Chain> {
        self.chains.iter().filter(|chain| chain.entries.is_some())
    }

    /// How far a valid bundle proves that nothing was left out.
    pub(super) fn completeness(&self) -> Completeness {
        match self.kind {
            Some(CoverageKind::Whole) => Completeness::Whole,
            Some(CoverageKind::Streams) if self.chains.iter().all(|chain| chain.entries.is_some()) => {
                Completeness::Chains
            }
            Some(CoverageKind::Streams) => Completeness::ChainsWithoutEnd,
            Some(CoverageKind::Selection) | None => Completeness::NotShown,
        }
    }

    /// Whether an entry matches the request, as far as it shows. With an erased payload, only its time and its chain
    /// are known.
    pub(super) fn holds(&self, header: &Header, at: &str, artifact: &Json<'_>) -> bool {
        let is_late_enough = self.from.as_ref().is_none_or(|from| at >= from.as_str());
        let is_early_enough = self.until.as_ref().is_none_or(|until| at < until.as_str());
        is_late_enough && is_early_enough && self.is_about(header, artifact)
    }

    fn is_about(&self, header: &Header, artifact: &Json<'_>) -> bool {
        let Some(subject) = &self.subject else { return true };
        let told = artifact.get(subject.member).map(|told| told.as_str() == Some(subject.named.as_str()));
        if self.kind == Some(CoverageKind::Selection) {
            // If times were limited, chains are not named: an entry without a visible subject may belong to the chain
            // that was asked for.
            let may_be_of_a_chain = !matches!(subject.member, "command_id" | "context_id");
            return told.unwrap_or(may_be_of_a_chain) || subject.member == "actor_id";
        }
        if self.has_chain(&header.stream_id) {
            // A principal's export contains its conversations, including what others did there.
            return told.unwrap_or(true) || subject.member == "actor_id";
        }
        !subject.in_chains_only && told == Some(true)
    }

    fn has_chain(&self, stream_id: &str) -> bool {
        self.ids.contains(stream_id)
    }
}

fn subject(selection: &Selection) -> Option<Subject> {
    let known = [
        ("command_id", &selection.command_id, false),
        ("context_id", &selection.context_id, false),
        ("conversation_id", &selection.conversation_id, false),
        ("actor_id", &selection.actor_id, true),
        ("space_id", &selection.fact_space, true),
    ];
    let mut named = known.into_iter().filter_map(|(member, value, in_chains_only)| {
        value.clone().map(|named| Subject { member, named, in_chains_only })
    });
    named.next()
}

/// The chains that a bundle promises, in the form of its version; none if the form is wrong.
fn chains(format: &str, coverage: &Coverage) -> Option<Vec<Chain>> {
    let is_first = FORMATS.first() == Some(&format);
    match (coverage.kind, &coverage.stream_ids, &coverage.chains) {
        (CoverageKind::Streams, Some(ids), None) if is_first => {
            Some(ids.iter().map(|id| Chain { stream_id: id.clone(), entries: None, last: None }).collect())
        }
        (CoverageKind::Streams, None, Some(chains)) if !is_first => {
            chains.iter().all(|chain| chain.entries.is_some()).then(|| chains.clone())
        }
        (CoverageKind::Whole | CoverageKind::Selection, None, None) => Some(Vec::new()),
        _ => None,
    }
}

/// Whether the bundle answers the request.
pub(super) fn answers(asked: &Asked, selection: &Selection) -> bool {
    let told = selection.told();
    let alike = |name: &str| {
        let (wanted, told) = (asked.value(name), told.get(name).map(String::as_str));
        match name {
            "from" | "until" => wanted.map(moment) == told.map(moment),
            "nonce" => wanted.is_none() || wanted == told,
            _ => wanted == told,
        }
    };
    super::asked::NAMES.into_iter().all(alike)
}
