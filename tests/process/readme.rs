//! Every command of the README after the first start works when it is pasted, in the order in which it stands there, and answers
//! what the comment below it says.

use std::time::Duration;

use serde_json::Value;

use crate::caller::{Caller, Sent};
use crate::folder::{Folder, cscp, has_tool, printed, program, repository};
use crate::server::Server;
use crate::waiting::until;

/// Rules that were changed are in force within a second or two.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(10);

/// The lines of the shell blocks from the section about the two habits on, up to the table of verdicts.
fn lines() -> Vec<String> {
    let text = std::fs::read_to_string(repository().join("README.md")).unwrap();
    let (_, rest) = text.split_once("## Two habits").unwrap();
    let (part, _) = rest.split_once("\n## Verdicts").unwrap();
    let blocks = part.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    blocks.flat_map(str::lines).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

/// One thing to paste, or what is said of the answer to the one before it.
#[derive(Debug)]
enum Step {
    Paste(String),
    Answers(String),
}

/// Commands go on until their quotes are closed, comments until the next command.
fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    let (mut open, mut telling) = (false, false);
    for line in lines() {
        let comment = !open && line.starts_with('#');
        match steps.last_mut() {
            Some(Step::Paste(command)) if open => command.extend(["\n", line.as_str()]),
            Some(Step::Answers(said)) if comment && telling && line.starts_with("#  ") => said.push_str(&line),
            _ if comment => {
                telling = line.starts_with("# →");
                steps.extend(telling.then(|| Step::Answers(line.clone())));
                continue;
            }
            _ => steps.push(Step::Paste(line.clone())),
        }
        if !comment {
            // Not in a remark beside it.
            let pasted = line.split("  #").next().unwrap_or_default();
            open ^= pasted.matches('\'').count() % 2 == 1;
        }
    }
    steps
}

/// What a comment says of an answer: members with their whole values. What is left out is written as `…`.
fn promised(comment: &str) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (at, _) in comment.match_indices("\": ") {
        let name = comment[..at].rsplit('"').next().unwrap();
        let value: String = match comment[at + 3..].strip_prefix('"') {
            Some(text) => format!("\"{}\"", text.split('"').next().unwrap()),
            None => comment[at + 3..].chars().take_while(char::is_ascii_alphanumeric).collect(),
        };
        if let (false, Ok(value)) = (value.contains('…'), serde_json::from_str(&value)) {
            found.push((name.to_owned(), value));
        }
    }
    found
}

fn has(answer: &Value, name: &str, value: &Value) -> bool {
    match answer {
        Value::Object(members) => {
            members.get(name) == Some(value) || members.values().any(|inner| has(inner, name, value))
        }
        Value::Array(items) => items.iter().any(|inner| has(inner, name, value)),
        _ => false,
    }
}

/// The first text of an answer that begins so: what a person copies out of it.
fn copied(answer: &str, begins: &str) -> String {
    let mut texts = answer.split('"').filter(|text| text.starts_with(begins));
    texts.next().unwrap_or_else(|| panic!("nothing begins with {begins}: {answer}")).to_owned()
}

/// A shell that knows what was exported before.
fn shell(folder: &Folder, known: &str, command: &str) -> String {
    let mut bash = program("bash");
    let bin = std::path::Path::new(crate::folder::BINARY).parent().unwrap();
    let path = std::env::join_paths([bin.to_owned()].into_iter().chain(paths())).unwrap();
    bash.current_dir(folder.path()).env("no_proxy", "*").env("PATH", path).env("CSCP_DATABASE", folder.database());
    let output = bash.args(["-c", &format!("{known}\n{command}")]).output().unwrap();
    assert!(output.status.success(), "{command}: {output:?}");
    printed(&output)
}

#[expect(clippy::disallowed_methods, reason = "programs are found where whoever runs the tests has them")]
fn paths() -> Vec<std::path::PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_readme_shows_works_when_it_is_pasted() {
    if !has_tool("curl", "the README's commands") || !has_tool("bash", "the README's commands") {
        return;
    }
    let folder = Folder::empty();
    let mut command = cscp();
    command.current_dir(folder.path()).args(["--listen", "127.0.0.1:0", "--ops-listen", "off", "--create-database"]);
    let server = Server::spawn(command.arg("--database").arg(folder.database()));
    let said = server.said();
    let key = said.split_whitespace().find(|word| word.starts_with("cscp_") && word.len() > 70).unwrap().to_owned();
    let caller = Caller::new(&server.base, &key);
    let (mut known, mut answer, mut asked, mut told) = (String::new(), String::new(), 0, 0);
    for step in steps() {
        match step {
            Step::Paste(line) if line.starts_with("export ") => {
                let (name, value) = line.trim_start_matches("export ").split_once('=').unwrap();
                let value = value.split("  ").next().unwrap();
                let mut filled = if name == "HANDLER" { key.clone() } else { value.to_owned() };
                if name == "CONFIRMATION" {
                    // Two on one line.
                    let yes = copied(&answer, "cscp1.y.");
                    known.extend(["export YES=", &yes, "\n"]);
                    filled = copied(&answer, "cnf_");
                } else if filled.contains('…') {
                    filled = copied(&answer, value.trim_end_matches('…'));
                } else if filled.starts_with('$') {
                    filled = shell(&folder, &known, &format!("{line}\necho ${name}")).trim().to_owned();
                }
                known.extend(["export ", name, "=", &filled, "\n"]);
            }
            Step::Paste(line) if line.starts_with("post()") => {
                known.push_str(&line.replace("localhost:8080", server.base.trim_start_matches("http://")));
                known.push('\n');
            }
            Step::Paste(line) => {
                answer = shell(&folder, &known, &line);
                assert!(!answer.contains("urn:cscp:problem"), "{line}\n{answer}");
                asked += 1;
                if line.contains("attach-policy") {
                    let attached = async || {
                        let listed = caller.send(&Sent::get("/v1/policies")).await.body.to_string();
                        listed.contains("\"strong\"").then_some(())
                    };
                    until("the new rules", FOLLOWED_WITHIN, attached).await;
                }
            }
            Step::Answers(comment) => {
                let body: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{comment}\n{answer}"));
                for (name, value) in promised(&comment) {
                    assert!(has(&body, &name, &value), "{name} is not {value}\n{comment}\n{body:#}");
                    told += 1;
                }
            }
        }
    }
    assert!(asked > 12 && told > 15, "{asked} commands, {told} promises: the README's blocks were not found");
    server.stop().await;
}
