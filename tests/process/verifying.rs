//! `cscp verify` of bundles: whose word is taken, and for what.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Output;
use std::time::Duration;

use cscp::domain::canonical::Digest;
use cscp::evidence::checkpoint::Checkpoint;
use cscp::evidence::note::SigningKey;
use serde_json::Value;

use crate::caller::{Caller, Sent, hello};
use crate::folder::{Folder, TENANT, complained, printed};
use crate::server::Server;
use crate::waiting::until;

/// A server that signs, with an auditor's key and a checkpoint that was kept.
struct Signing {
    folder: Folder,
    server: Server,
    secret: String,
    vkey: String,
    kept: String,
    seeds: String,
}

impl Signing {
    async fn new() -> Self {
        let folder = Folder::with_tenant();
        let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (seeds, guard) = (place("signing-key"), place("guard"));
        let signs = ["--metrics-listen", "off", "--signing-key", &seeds, "--log-guard", &guard];
        let server = Server::start_with(&folder, &signs);
        let caller = Caller::new(&server.base, &folder.key("handler"));
        caller.send(&hello("wamid.1", "talk")).await.done();
        let secret = folder.key("auditor");
        let auditor = Caller::new(&server.base, &secret);
        let checkpoint = Sent::get("/v1/evidence/checkpoint");
        let signed = async || Some(auditor.send(&checkpoint).await).filter(|answer| answer.status == 200);
        let signed = until("a checkpoint", Duration::from_secs(20), signed).await;
        let (vkey, kept) = (signed.text("/keys/0").to_owned(), place("kept.json"));
        fs::write(&kept, signed.body.to_string()).unwrap();
        Self { folder, server, secret, vkey, kept, seeds }
    }

    /// `cscp verify --server` with the log's key.
    fn asks(&self, base: &str, more: &[&str]) -> Output {
        let mut command = self.folder.command(&["verify", "--server", base, "--key", &self.vkey]);
        command.args(more).env("CSCP_API_KEY", &self.secret).output().unwrap()
    }
}

/// A bundle as a server gives it out.
async fn exported(base: &str, secret: &str, query: &str) -> String {
    let bundle = reqwest::Client::new().get(format!("{base}/v1/evidence/export{query}")).bearer_auth(secret);
    bundle.send().await.unwrap().error_for_status().unwrap().text().await.unwrap()
}

/// Answers every request with this bundle, as somebody between auditor and server can who has no key. It ends with the
/// test's process.
fn replaying(bundle: String) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut caller in listener.incoming().map_while(Result::ok) {
            let mut asked = Vec::new();
            let mut chunk = [0; 4_096];
            // The request is done when its body, an object of this program's own, is.
            while !asked.ends_with(b"}") {
                match caller.read(&mut chunk) {
                    Ok(0) | Err(_) => break,
                    Ok(count) => asked.extend_from_slice(&chunk[..count]),
                }
            }
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", bundle.len());
            // Whoever asked may have gone.
            drop(caller.write_all(head.as_bytes()).and_then(|()| caller.write_all(bundle.as_bytes())));
        }
    });
    base
}

/// A bundle is verified from a file and from a server; a kept checkpoint and the right keys are asked for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_takes_bundles_and_servers() {
    let Signing { folder, server, secret, vkey, kept, seeds } = Signing::new().await;
    let place = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let mut asked = folder.command(&["verify", "--server", &server.base, "--key", &vkey, "--kept", &kept, "--json"]);
    let output = asked.env("CSCP_API_KEY", &secret).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report: Value = serde_json::from_str(&printed(&output)).unwrap();
    assert_eq!((&report["sound"], &report["keys"]), (&true.into(), &"given".into()));
    assert_eq!(report["entries"], report["size"], "the whole log");
    // A checkpoint of a longer log, signed with the same key: this server has gone back.
    let file = fs::read_to_string(&seeds).unwrap();
    let seed = file.lines().find(|line| line.len() == 64 && !line.starts_with('#')).unwrap();
    let seed: [u8; 32] = hex::decode(seed).unwrap().try_into().unwrap();
    let log = vkey.split('+').next().unwrap();
    let longer = Checkpoint::new(log, 1 << 20, Digest::ZERO).unwrap();
    let later = place("later");
    fs::write(&later, longer.sign(&[SigningKey::from_seed(log, seed).unwrap()]).unwrap()).unwrap();
    let mut asked = folder.command(&["verify", "--server", &server.base, "--key", &vkey, "--kept", &later]);
    let output = asked.env("CSCP_API_KEY", &secret).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(printed(&output).contains("(rolled_back)"), "{output:?}");
    let refused = folder.command(&["verify", "--server", &server.base]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");

    let bundle = exported(&server.base, &secret, "").await;
    let (whole, cut) = (place("whole"), place("cut"));
    fs::write(&whole, &bundle).unwrap();
    fs::write(&cut, &bundle[..bundle.len() / 2]).unwrap();
    let told = folder.done(&["verify", &whole, "--key", &vkey, "--expect", "whole"]);
    assert!(told.contains("Everything in it holds.") && told.contains("every leaf of the tree"), "{told}");
    let output = folder.run(&["verify", &cut, "--key", &vkey]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(printed(&output).contains("(truncated)"), "{output:?}");
    for (arguments, says) in [
        (vec!["verify", "/nowhere/bundle"], "nowhere"),
        (vec!["verify", &whole, "--key", "nonsense"], "--key"),
        (vec!["verify", &whole, "--kept", "/nowhere"], "--kept"),
        (vec!["verify", "--kept", &kept], "--tenant"),
        (vec!["verify", "--unauthenticated"], "of a bundle"),
        (vec!["verify", "--expect", "whole"], "of a bundle"),
        (vec!["verify", &whole, "--expect", "everything"], "NAME=VALUE"),
        (vec!["verify", &whole, "--expect", "whole", "--expect", "command_id=c"], "contradicts"),
        (vec!["verify", &whole, "--expect", "from=yesterday"], "UTC"),
        (vec!["verify", &whole, "--key", &vkey, "--unauthenticated"], "--unauthenticated"),
    ] {
        let output = folder.run(&arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(complained(&output).contains(says), "{output:?}");
    }
    server.stop().await;
    let database = ["verify", "--tenant", TENANT, "--key", &vkey, "--kept", &kept];
    assert!(folder.done(&database).contains("Every tree holds."));
    folder.changed("DELETE FROM log_checkpoints WHERE size > 0 RETURNING note").await;
    let output = folder.run(&database);
    assert_eq!(output.status.code(), Some(1), "the checkpoints are gone: {output:?}");
    assert!(printed(&output).contains("BROKEN CHECKPOINT"), "{output:?}");
}

/// A genuine bundle is no answer to another request: not a smaller one for the whole log, and not yesterday's for today's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_refuses_a_replayed_bundle() {
    let signing = Signing::new().await;
    let Signing { server, secret, kept, .. } = &signing;
    let small = exported(&server.base, secret, "?from=2000-01-01T00:00:00Z&until=2000-01-02T00:00:00Z").await;
    let stale = exported(&server.base, secret, "").await;
    let noted = exported(&server.base, secret, "?nonce=nonce-of-another-request").await;
    for (name, bundle) in [("a smaller one", small), ("an older one", stale), ("one with a nonce", noted)] {
        let proxy = replaying(bundle.clone());
        for more in [&[] as &[&str], &["--kept", kept.as_str()], &["--expect", "whole"]] {
            let output = signing.asks(&proxy, more);
            assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
            assert!(printed(&output).contains("BROKEN line 1 (other_request)"), "{name}: {output:?}");
        }
        // Without a key, whoever is in between could have made all of it.
        let mut asked = signing.folder.command(&["verify", "--server", &proxy]);
        assert_eq!(asked.env("CSCP_API_KEY", secret).output().unwrap().status.code(), Some(1), "{name}");
    }
    let talk = signing.asks(&server.base, &["--expect", "conversation_id=talk"]);
    let told = printed(&talk);
    assert_eq!(talk.status.code(), Some(0), "{talk:?}");
    assert!(told.contains("asked for: conversation_id=talk") && told.contains("complete for the chains"), "{told}");
    signing.server.stop().await;
}

/// Without a key that was named anybody may have made the bundle: that is said, and it is no success.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn verify_wants_to_know_who_has_signed() {
    let signing = Signing::new().await;
    let bundle = signing.folder.path().join("bundle");
    fs::write(&bundle, exported(&signing.server.base, &signing.secret, "").await).unwrap();
    let bundle = bundle.to_str().unwrap();
    let nobody = "It is self-consistent, and signed by nobody you named";
    let output = signing.folder.run(&["verify", bundle]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(printed(&output).contains(nobody) && printed(&output).contains("--unauthenticated"), "{output:?}");
    let told: Value = serde_json::from_str(&printed(&signing.folder.run(&["verify", bundle, "--json"]))).unwrap();
    assert_eq!((&told["sound"], &told["keys"], &told["fault_count"]), (&false.into(), &"bundle".into(), &0.into()));
    let accepted = signing.folder.done(&["verify", bundle, "--unauthenticated"]);
    assert!(accepted.contains(nobody) && !accepted.contains("Everything in it holds"), "{accepted}");
    let told: Value =
        serde_json::from_str(&signing.folder.done(&["verify", bundle, "--unauthenticated", "--json"])).unwrap();
    assert_eq!((&told["sound"], &told["completeness"]), (&true.into(), &"whole".into()));
    signing.server.stop().await;
}

/// Tiles that are gone are told, and rebuilt from the leaves; without being told to, nothing is written.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tiles_that_are_gone_are_rebuilt_from_the_leaves() {
    let Signing { folder, server, .. } = Signing::new().await;
    drop(server);
    assert!(folder.done(&["verify", "--rebuild-tree"]).contains("nothing to rebuild"));
    folder.changed("DELETE FROM log_tiles WHERE level = 0 RETURNING tenant_id").await;
    let fails = |arguments: &[&str], says: &str| {
        let output = folder.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {output:?}");
        assert!(printed(&output).contains(says), "{arguments:?}: {output:?}");
    };
    fails(&["verify"], "tile 0/0 is missing");
    fails(&["verify", "--rebuild-tree"], "would be rebuilt");
    fails(&["verify"], "tile 0/0 is missing");
    assert!(folder.done(&["verify", "--rebuild-tree", "--write"]).contains("tile 0/0: written"));
    assert!(folder.done(&["verify"]).contains("Every tree holds."));
    assert_eq!(folder.run(&["verify", "--write"]).status.code(), Some(2), "it writes nothing by itself");
}
