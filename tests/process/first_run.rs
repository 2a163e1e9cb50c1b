//! The first run in an empty folder: nothing is configured, and what is printed works when it is pasted. On
//! PostgreSQL the database's address is configured, and nothing else.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::folder::{Folder, cscp, has_tool, printed, program};
use crate::leg;
use crate::server::Server;

fn start(folder: &Folder) -> Server {
    let arguments = ["--listen", "127.0.0.1:0", "--metrics-listen", "off"];
    let mut command = cscp();
    command.current_dir(folder.path()).args(arguments);
    if leg::on_postgres() {
        command.arg("--database").arg(folder.database());
    }
    Server::spawn(&mut command)
}

/// The keys that a text shows.
pub(crate) fn keys(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("cscp_") && word.len() > 70).collect()
}

/// The commands that a text shows: lines that begin with `curl`, and those that they are continued on.
fn curl_lines(text: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let mut goes_on = false;
    for line in text.lines() {
        if goes_on {
            let last = commands.last_mut().unwrap();
            last.push('\n');
            last.push_str(line);
        } else if line.starts_with("curl ") {
            commands.push(line.to_owned());
        }
        goes_on = line.ends_with('\\') && (goes_on || line.starts_with("curl "));
    }
    commands
}

/// What a shell makes of a command: status and body.
fn pasted(command: &str) -> (String, Value) {
    let script = format!("{command} -w '\\n%{{http_code}}'");
    // Proxies of the machine's are not what is tested.
    let output = program("sh").args(["-c", &script]).env("no_proxy", "*").output().unwrap();
    let text = printed(&output);
    let (body, status) = text.rsplit_once('\n').unwrap_or_else(|| panic!("{command}: {output:?}"));
    (status.to_owned(), serde_json::from_str(body).unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_empty_folder_is_all_it_takes() {
    let folder = Folder::empty();
    let server = start(&folder);
    assert_eq!(folder.path().join("data").join("cscp.db").is_file(), !leg::on_postgres());
    let said = server.said();
    assert_eq!(keys(&said).len(), 3, "{said}");
    let commands = curl_lines(&said);
    assert_eq!(commands.len(), 3, "{said}");
    if has_tool("curl", "the lines that the first run prints") {
        let answers: Vec<Value> = commands
            .iter()
            .map(|command| {
                let (status, body) = pasted(command);
                assert_eq!(status, "200", "{command}\n{body}");
                body
            })
            .collect();
        assert_eq!(answers[0]["verdict"]["code"], "not_an_answer");
        assert!(answers[1]["text"].as_str().unwrap().contains("Active context"), "{}", answers[1]);
        assert!(!answers[2]["items"].as_array().unwrap().is_empty(), "{}", answers[2]);
    }
    let (_, logged) = server.stop().await;
    assert!(keys(&logged).is_empty(), "keys are shown, not logged");

    let (said, _) = start(&folder).stop().await;
    assert!(keys(&said).is_empty() && curl_lines(&said).is_empty(), "keys are shown once: {said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_with_a_tenant_gets_no_demo_tenant() {
    let folder = Folder::with_tenant();
    let (said, _) = Server::start_with(&folder, &["--metrics-listen", "off"]).stop().await;
    assert!(keys(&said).is_empty(), "{said}");
    assert_eq!(folder.done(&["tenant", "list"]).lines().count(), 1);
}
