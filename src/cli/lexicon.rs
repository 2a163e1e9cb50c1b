//! `cscp lexicon …`: shows how a text reads as an answer.

use std::process::ExitCode;

use clap::Subcommand;

use super::Failure;
use crate::config::Settings;
use crate::domain::lexicon::{Explained, Naming, ReadBy, Reading};
use crate::domain::policy::{PolicyScope, SafetyClass};
use crate::domain::rulebook::Rulebook;

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
    let rules = rulebook.rules(&scope);
    let lexicon = rules.lexicon.for_locale(locale);
    let read_by: Vec<&str> = lexicon.versions().iter().map(|version| version.locale.as_str()).collect();
    println!("lexicons   {}", read_by.join(", "));
    let explained = lexicon.explain(text);
    show(&explained);
    let stops = rules.lexicon.withdrawal(text).map_or("nothing", |heard| match heard {
        crate::domain::lexicon::Withdrawal::Refusal => "a refusal",
        crate::domain::lexicon::Withdrawal::CallOff => "a call-off",
        crate::domain::lexicon::Withdrawal::Hesitation => "a hesitation",
    });
    println!("after a yes that is not bound yet: {stops}");
    let naming = command.and_then(|name| lexicon.read_naming(text, &rules.policy.says(name)));
    let is_request = naming.is_none() && rules.lexicon.begins_request(text);
    if let Some(name) = command {
        println!("under {name}: {}", naming.as_ref().map_or("its name is not in it", named));
        follows(
            &format!("{name} ({})", rules.policy.command(name, None).class),
            &explained.reading,
            naming.as_ref(),
            is_request,
            rules.policy.command(name, None).bare_answers,
        );
        return;
    }
    for class in [SafetyClass::S0, SafetyClass::S1, SafetyClass::S2, SafetyClass::S3] {
        let bare = rules.policy.pack().classes.of(class).bare_answers;
        follows(&class.to_string(), &explained.reading, None, is_request, bare);
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
        Naming::Unclear(_) => "it names the command, which says neither yes nor no",
    }
}

/// What follows for an open question, bare and quoting it.
fn follows(what: &str, reading: &Reading, naming: Option<&Naming>, is_request: bool, bare_answers: bool) {
    let reading = naming.map_or(reading, Naming::reading);
    let (quoted, counts) = match (reading, naming) {
        (_, Some(Naming::Unclear(_))) => ("ambiguous, names_command: put the question again, with its buttons", false),
        (Reading::Affirmative { .. }, _) => ("confirmed", true),
        (Reading::Negative { .. }, _) => ("declined", true),
        _ if is_request => ("not_an_answer, new_request: route it", false),
        (Reading::Qualified { .. }, _) => ("ambiguous, qualified_answer: put the question again", false),
        (Reading::Other, _) => ("not_an_answer: route it", false),
    };
    let bare =
        if counts && !bare_answers { "ambiguous, bare_answer_not_allowed: put the question again" } else { quoted };
    println!("{what}: bare {bare}; quoting the question {quoted}");
}
