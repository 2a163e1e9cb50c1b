//! `cscp lexicon …`: shows how a text reads as an answer.

use std::process::ExitCode;

use clap::Subcommand;

use super::Failure;
use crate::config::Settings;
use crate::domain::lexicon::{Explained, Naming, ReadBy, Reading, Withdrawal};
use crate::domain::policy::PolicyScope;
use crate::domain::rulebook::Rulebook;
use crate::domain::trying::{Outcome, try_text};
use crate::domain::verdict::Reason;

#[derive(Debug, Subcommand)]
pub(crate) enum LexiconCommand {
    /// Show how a text reads, by which rule, and what would follow for a question of each class. Asks no database
    Test {
        /// The text, as a person would send it
        text: String,
        /// The message's locale, as pt-BR; without it, all lexicons of the pack read
        #[arg(long)]
        locale: Option<String>,
        /// The pack whose lexicons and rules count, of those that --policies names or the program brings along
        #[arg(long, default_value = "basic")]
        pack: String,
        /// The command that is asked about, as order.cancel: the words that name it then count
        #[arg(long)]
        command: Option<String>,
    },
}

/// `cscp lexicon …`.
pub(super) fn run(settings: &Settings, command: &LexiconCommand) -> Result<ExitCode, Failure> {
    let LexiconCommand::Test { text, locale, pack, command } = command;
    let rulebook = settings.pack_source().load().map_err(|errors| {
        for error in &errors {
            println!("{error}");
        }
        Failure::new(format!("{} complaints; nothing was loaded", errors.len()))
    })?;
    if rulebook.book().pack(pack).is_none() {
        return Err(Failure::new(format!("no pack is called {pack}; see cscp policy check")));
    }
    test(&rulebook, text, locale.as_deref(), pack, command.as_deref());
    Ok(ExitCode::SUCCESS)
}

fn test(rulebook: &Rulebook, text: &str, locale: Option<&str>, pack: &str, command: Option<&str>) {
    let scope = PolicyScope {
        tenant_id: "none".to_owned(),
        environment: "none".to_owned(),
        attached_pack: Some(pack.to_owned()),
    };
    let trial = try_text(&rulebook.rules(&scope), text, locale, command);
    let read_by: Vec<&str> = trial.lexicons.iter().map(|version| version.locale.as_str()).collect();
    println!("lexicons   {}", read_by.join(", "));
    show(&trial.explained);
    let takes_back = trial.takes_back.map_or("nothing", |heard| match heard {
        Withdrawal::Refusal => "a refusal",
        Withdrawal::CallOff => "a call-off",
        Withdrawal::Hesitation => "a hesitation",
    });
    println!("after a yes that is not bound yet: {takes_back}");
    for under in &trial.under {
        let what = match &under.command {
            Some(name) => {
                println!("under {name}: {}", under.naming.as_ref().map_or("its name is not in it", named));
                format!("{name} ({})", under.class)
            }
            None => under.class.to_string(),
        };
        println!("{what}: bare {}; quoting the question {}", told(under.bare), told(under.quoted));
    }
}

/// A verdict in the words of the contract, and what the bot does.
fn told(Outcome { code, reason, .. }: Outcome) -> String {
    match reason {
        Reason::Bare | Reason::Quote => code.as_str().to_owned(),
        Reason::OrdinaryMessage => format!("{}: route it", code.as_str()),
        Reason::NewRequest => format!("{}, new_request: route it", code.as_str()),
        reason => format!("{}, {}: put the question again", code.as_str(), reason.code()),
    }
}

fn show(explained: &Explained) {
    let reading = match &explained.reading {
        Reading::Affirmative { locale, entry, version } => format!("affirmative ({entry:?}, {locale} {version})"),
        Reading::Negative { locale, entry, version } => format!("negative ({entry:?}, {locale} {version})"),
        Reading::Qualified { locale, entry, version } => format!("qualified ({entry:?}, {locale} {version})"),
        Reading::Other => "other".to_owned(),
    };
    let rule = match explained.read_by {
        ReadBy::Entry => "the whole text is one entry",
        ReadBy::Composed => "composed of entries and of words that may stand beside them",
        ReadBy::NotPlain => "an answer by its words that asks, trails off, is struck through or the like",
        ReadBy::More => "begins or ends with an entry and says more",
        ReadBy::Nothing => "nothing in it reads as an answer",
    };
    println!("reading    {reading}\nrule       {rule}");
    for part in &explained.parts {
        let entry = part.entry.as_ref().map(|entry| format!(", entry {entry:?}")).unwrap_or_default();
        println!("           {:?}: {}{entry}", part.words, part.class);
    }
}

fn named(naming: &Naming) -> &'static str {
    match naming {
        Naming::Yes(_) => "it names the command and says yes",
        Naming::No(_) => "it names the command and says no",
        Naming::Unclear(_) => "it names the command or lets things go on, which says neither yes nor no to it",
    }
}
