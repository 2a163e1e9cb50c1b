//! The rules that the tests decide under: the shipped packs, and variants of them for special cells.

use std::sync::OnceLock;

use cscp::domain::lexicon::{Lexicon, LexiconFile};
use cscp::domain::policy::{ApprovalRule, LoadedPack, PolicyBook, PolicyPack, PolicyScope, SafetyClass};
use cscp::packs::{PackSource, read_pack};

/// Which rules are in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pack {
    /// As shipped.
    Basic,
    /// As shipped.
    Strong,
    /// Basic, with commands that need approvals.
    House,
    /// House, where voice and reactions answer.
    Loose,
    /// House, with short deadlines and no bare answers.
    Tight,
    /// House, where contexts live shorter than questions.
    Brief,
    /// House, where an ordinary message voids the open question and the target is kept as a digest.
    Wary,
    /// House, where options are chosen by button or quote only.
    Named,
}

impl Pack {
    pub(crate) const ALL: [Self; 8] =
        [Self::Basic, Self::Strong, Self::House, Self::Loose, Self::Tight, Self::Brief, Self::Wary, Self::Named];
}

/// Everything that is read once.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) lexicon: Lexicon,
    books: Vec<PolicyBook>,
}

impl House {
    pub(crate) fn book(&self, pack: Pack) -> &PolicyBook {
        &self.books[pack as usize]
    }
}

/// Whose rules they are.
pub(crate) fn scope() -> PolicyScope {
    PolicyScope { tenant_id: "t-1".to_owned(), environment: "test".to_owned(), attached_pack: None }
}

pub(crate) fn house() -> &'static House {
    static HOUSE: OnceLock<House> = OnceLock::new();
    HOUSE.get_or_init(|| House { lexicon: lexicon(), books: Pack::ALL.map(book).to_vec() })
}

fn lexicon() -> Lexicon {
    let files = [
        include_str!("../../policies/lexicons/pt-BR.yaml"),
        include_str!("../../policies/lexicons/es.yaml"),
        include_str!("../../policies/lexicons/en.yaml"),
    ];
    let files = files.map(|text| serde_saphyr::from_str::<LexiconFile>(text).unwrap());
    Lexicon::build(&files).unwrap()
}

fn shipped(name: &str) -> PolicyPack {
    let files = PackSource::Shipped.files().unwrap();
    let (file, text) = files.packs.iter().find(|(file, _)| file == name).unwrap();
    read_pack(file, text).unwrap().pack().clone()
}

/// A book with one pack that applies to everything.
pub(crate) fn book_of(mut pack: PolicyPack, id: &str) -> PolicyBook {
    pack.pack_id = String::from(id);
    pack.selectors = vec![cscp::domain::policy::Selector::default()];
    let loaded = LoadedPack::new(pack, format!("sha256:{id}"), id).unwrap();
    PolicyBook::new(vec![loaded]).unwrap()
}

/// The house's book, where these fields of a command's target may change.
pub(crate) fn book_ignoring(command: &str, paths: &[&str], id: &str) -> PolicyBook {
    let mut pack = house_pack();
    let entry = pack.commands.iter_mut().find(|entry| entry.name == command).unwrap();
    entry.immaterial_fields = paths.iter().map(|path| (*path).to_owned()).collect();
    book_of(pack, id)
}

pub(crate) fn rule(required: u32) -> ApprovalRule {
    ApprovalRule { role: "approver".to_owned(), also_roles: Vec::new(), required, separate_person: true }
}

/// Basic, with `wire.send` (one approval), `wire.big` (two) and `wire.only` (one, and no confirmation).
pub(crate) fn house_pack() -> PolicyPack {
    let mut pack = shipped("basic.yaml");
    // Longer than the context lives: the earlier of the two deadlines counts.
    pack.approval.ttl_seconds = 3_600;
    let template = pack.commands.iter().find(|entry| entry.name == "payment.send").unwrap().clone();
    for (name, required) in [("wire.send", 1), ("wire.big", 2)] {
        let mut entry = template.clone();
        entry.name = String::from(name);
        entry.approval = Some(rule(required));
        pack.commands.push(entry);
    }
    let mut only = template;
    "wire.only".clone_into(&mut only.name);
    only.class = SafetyClass::S0;
    only.approval = Some(rule(1));
    pack.commands.push(only);
    pack
}

fn book(pack: Pack) -> PolicyBook {
    let mut base = match pack {
        Pack::Basic => shipped("basic.yaml"),
        Pack::Strong => shipped("strong.yaml"),
        _ => house_pack(),
    };
    match pack {
        Pack::Basic | Pack::Strong | Pack::House => {}
        Pack::Loose => {
            base.answers.voice.accepted = true;
            base.answers.reactions = true;
        }
        Pack::Tight => {
            base.confirmation.ttl_seconds = 60;
            base.confirmation.bind_within_seconds = 10;
            base.approval.ttl_seconds = 120;
            base.context.ttl_seconds = 300;
            base.context.max_lifetime_seconds = Some(600);
            base.classes.s1.bare_answers = false;
            base.answers.disambiguation_bare = false;
        }
        Pack::Brief => base.context.ttl_seconds = 200,
        Pack::Named => base.answers.disambiguation_bare = false,
        Pack::Wary => {
            base.context.void_question_after_unrelated_messages = Some(1);
            let digest = cscp::domain::policy::SlotStorage::Digest;
            base.slots.storage.insert("active_target".to_owned(), digest);
        }
    }
    book_of(base, &format!("{pack:?}").to_lowercase())
}
