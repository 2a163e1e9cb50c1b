//! `cscp replay`: what it says, to people and to machines, and what it ends with.

use std::process::Output;

use serde_json::Value;

use crate::caller::{Caller, binding, hello, question, tap};
use crate::folder::{Folder, TENANT, complained, printed};
use crate::leg;
use crate::server::Server;

/// The conversation's name, and with it whatever else a caller chose, is nobody's business who reads a report.
const TALK: &str = "talk-5511999990001";

fn report(output: &Output) -> Value {
    serde_json::from_str(&printed(output)).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rows_that_are_not_as_the_log_says_are_named_without_what_is_personal() {
    let folder = Folder::with_tenant();
    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &folder.key("handler"));
    let opened = caller.send(&hello("wamid.1", TALK)).await.done();
    let context = opened.text("/context/context_id").to_owned();
    let asked = caller.send(&question(&context, "c-1").with_key("q-1")).await.done();
    caller.send(&tap("wamid.2", TALK, asked.text("/button_ids/0"))).await.done();
    caller.send(&binding(&context, "c-1", "one").with_key("b-1")).await.done();

    let running = folder.run(&["replay", "--verify", "--progress"]);
    assert!(running.status.success(), "{running:?}");
    assert!(printed(&running).contains("Every row that the log can tell of is as the log says."), "{running:?}");
    assert!(complained(&running).contains(" entries"), "{running:?}");
    server.stop().await;

    let sound = folder.run(&["replay", "--verify", "--json"]);
    let told = report(&sound);
    assert_eq!((sound.status.code(), &told["equal"]), (Some(0), &Value::Bool(true)));
    assert!(told["tenants"][0]["rows_equal"]["messages"].as_u64() >= Some(2), "{told}");
    assert_eq!(complained(&sound), "", "nobody watches");

    folder.changed("UPDATE contexts SET body = replace(body, '\"revision\"', '\"version\"') RETURNING body").await;
    folder.changed("UPDATE conversations SET body = '{}' RETURNING body").await;
    let found = folder.run(&["replay", "--verify"]);
    let words = printed(&found);
    assert_eq!(found.status.code(), Some(1));
    assert!(words.contains(&format!("DIFFERS: contexts {context}, /revision")), "{words}");
    assert!(words.contains("DIFFERS: conversations, /last_question (stream str_"), "{words}");
    assert!(words.contains("Rows are not as the log says."), "{words}");
    assert!(!words.contains("5511999990001"), "{words}");
    let machine = folder.run(&["replay", "--verify", "--json", "--tenant", TENANT]);
    let told = report(&machine);
    assert_eq!((machine.status.code(), told["tenants"][0]["rows_different"].as_u64()), (Some(1), Some(2)));
    assert!(!told.to_string().contains("5511999990001"), "{told}");
    let named = folder.run(&["replay", "--verify", "--show-ids"]);
    assert!(printed(&named).contains(&format!("DIFFERS: conversations {TALK}")), "{named:?}");
}

#[test]
fn what_cannot_be_compared_is_said_and_ends_with_two() {
    let folder = Folder::with_tenant();
    for (arguments, says) in [
        (&["replay"][..], "changes nothing"),
        (&["replay", "--verify", "--tenant", "nobody"], "no tenant nobody"),
        (&["replay", "--verify", "--tenant", ""], "--tenant"),
    ] {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(complained(&output).contains(says), "{output:?}");
    }
    let empty = Folder::empty();
    let output = empty.run(&["replay", "--verify"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    // An empty PostgreSQL is a database, and a file that is missing is none.
    let says = if leg::on_postgres() { "the database has no tenant" } else { "no database" };
    assert!(complained(&output).contains(says), "{output:?}");
}
