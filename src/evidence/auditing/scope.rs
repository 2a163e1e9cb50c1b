//! What a bundle was asked for, what it promises to hold of it, and whether an entry belongs to that.

use std::collections::BTreeSet;

use super::asked::Asked;
use super::entry::moment;
use super::line::{Chain, Coverage, CoverageKind, Header, Opening, Selection};
use super::report::Completeness;
use crate::domain::canonical::Json;

/// The formats that are known.
const FORMATS: [&str; 2] = ["cscp-evidence-bundle/v1", "cscp-evidence-bundle/v2"];

/// The one thing that a bundle was asked for, where it is one.
#[derive(Debug, Clone)]
struct Subject {
    /// The member of artifacts that names it.
    member: &'static str,
    named: String,
    /// Whether only chains that come as a whole are about it.
    in_chains_only: bool,
}

/// What a bundle says that it holds.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    format: &'static str,
    kind: Option<CoverageKind>,
    subject: Option<Subject>,
    from: Option<String>,
    until: Option<String>,
    chains: Vec<Chain>,
    /// Their ids, since an export may promise as many chains as somebody had conversations.
    ids: BTreeSet<String>,
}

impl Scope {
    /// Reads the first line of a bundle; none if it is of another format, or a time in it cannot be read.
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

    /// The format of the bundle.
    pub(super) fn format(&self) -> &'static str {
        self.format
    }

    /// Whether the promise is one that the server makes for what was asked: the whole log exactly where nothing was
    /// selected, whole chains only where what was selected has some and no time was named.
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

    /// Whether every leaf of the checkpoint's tree is promised.
    pub(super) fn is_whole(&self) -> bool {
        self.kind == Some(CoverageKind::Whole)
    }

    /// Whether every entry of this chain is promised, as far as the checkpoint goes.
    pub(super) fn promises(&self, stream_id: &str) -> bool {
        self.is_whole() || self.has_chain(stream_id)
    }

    /// The chains whose ends are stated.
    pub(super) fn ends(&self) -> impl Iterator<Item = &Chain> {
        self.chains.iter().filter(|chain| chain.entries.is_some())
    }

    /// What a bundle that holds shows of what might have been left out.
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

    /// Whether an entry is of what was asked for, as far as it tells. One whose payload was erased tells only when it
    /// was, and which chain it belongs to.
    pub(super) fn holds(&self, header: &Header, at: &str, artifact: &Json<'_>) -> bool {
        let is_late_enough = self.from.as_ref().is_none_or(|from| at >= from.as_str());
        let is_early_enough = self.until.as_ref().is_none_or(|until| at < until.as_str());
        is_late_enough && is_early_enough && self.is_about(header, artifact)
    }

    fn is_about(&self, header: &Header, artifact: &Json<'_>) -> bool {
        let Some(subject) = &self.subject else { return true };
        let told = artifact.get(subject.member).map(|told| told.as_str() == Some(subject.named.as_str()));
        if self.kind == Some(CoverageKind::Selection) {
            // A chain that a time was cut out of is not named: what does not say whom it is about may be of it.
            let may_be_of_a_chain = !matches!(subject.member, "command_id" | "context_id");
            return told.unwrap_or(may_be_of_a_chain) || subject.member == "actor_id";
        }
        if self.has_chain(&header.stream_id) {
            // A principal's export holds the conversations it took part in, with what others did there.
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

/// The chains that a bundle promises, in the form of its version; none if it is not in that form.
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

/// Whether the bundle answers what was asked.
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
