//! A witness that shares no line with the program: it reads the published log, looks whether that goes on from what it knows,
//! and cosigns (C2SP tlog-cosignature). What it signed comes back with the checkpoint.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, Signer as _, SigningKey, Verifier as _, VerifyingKey};
use serde_json::json;
use sha2::{Digest as _, Sha256};

use crate::caller::{Answer, Caller, Sent, hello};
use crate::folder::{Folder, TENANT, complained, printed};
use crate::publishing::{Hash, fetched, found, root, start, tiles};
use crate::server::Server;
use crate::waiting::until;

const SIGNED_WITHIN: Duration = Duration::from_secs(30);
/// When the witness sees a checkpoint, in seconds since 1970.
const SEEN: u64 = 1_795_000_000;

/// A checkpoint as the specification has it (C2SP tlog-checkpoint), and the lines below it.
struct Read {
    note: String,
    text: String,
    size: usize,
    root: Vec<u8>,
}

fn read(note: &str) -> Read {
    let (text, _) = note.split_once("\n\n").unwrap();
    let lines: Vec<&str> = text.split('\n').collect();
    let [_, size, root] = lines[..] else { panic!("{note}") };
    let (size, root) = (size.parse().unwrap(), STANDARD.decode(root).unwrap());
    Read { note: note.to_owned(), text: format!("{text}\n"), size, root }
}

/// A witness of its own: its key, and the leaves that it has seen.
struct Witness {
    name: &'static str,
    key: SigningKey,
    seen: Vec<Hash>,
}

impl Witness {
    fn new(name: &'static str, seed: u8) -> Self {
        Self { name, key: SigningKey::from_bytes(&[seed; 32]), seen: Vec::new() }
    }

    fn public(&self) -> VerifyingKey {
        self.key.verifying_key()
    }

    fn vkey_of(&self, algorithm: u8) -> String {
        let public = [&[algorithm], self.public().as_bytes().as_slice()].concat();
        let id = Sha256::digest([self.name.as_bytes(), b"\n", &public].concat());
        let id = hex::encode(&id[..4]);
        format!("{}+{id}+{}", self.name, STANDARD.encode(public))
    }

    fn vkey(&self) -> String {
        self.vkey_of(4)
    }

    fn id(&self) -> Vec<u8> {
        Sha256::digest([self.name.as_bytes(), b"\n\x04", self.public().as_bytes()].concat())[..4].to_vec()
    }

    /// The line of a cosignature, without looking.
    fn line(&self, checkpoint: &Read, time: u64) -> String {
        let signature = self.key.sign(format!("cosignature/v1\ntime {time}\n{}", checkpoint.text).as_bytes());
        let bytes = [self.id().as_slice(), &time.to_be_bytes(), &signature.to_bytes()].concat();
        format!("— {} {}\n", self.name, STANDARD.encode(bytes))
    }

    /// Looks at the tiles whether the log goes on from what was seen of it, and cosigns.
    async fn cosigned(&mut self, server: &Server, checkpoint: &Read) -> String {
        let mut leaves = Vec::new();
        for (path, width) in tiles(checkpoint.size) {
            let hashes = found(server, &format!("0/{path}")).await;
            assert_eq!(hashes.len(), width * 32);
            leaves.extend_from_slice(hashes.as_chunks::<32>().0);
        }
        assert_eq!(root(&leaves).as_slice(), checkpoint.root);
        assert!(leaves.starts_with(&self.seen), "another history than the one that was seen");
        self.seen = leaves;
        format!("{}{}", checkpoint.note, self.line(checkpoint, SEEN))
    }

    /// Whether a note has a cosignature of this witness that verifies.
    fn has_cosigned(&self, note: &str) -> bool {
        let text = read(note).text;
        let mut lines = note.lines().filter_map(|line| line.strip_prefix(&format!("— {} ", self.name)));
        lines.any(|line| {
            let bytes = STANDARD.decode(line).unwrap();
            let time = u64::from_be_bytes(bytes[4..12].try_into().unwrap());
            let signed = format!("cosignature/v1\ntime {time}\n{text}");
            let signature = Signature::from_slice(&bytes[12..]).unwrap();
            bytes[..4] == self.id() && self.public().verify(signed.as_bytes(), &signature).is_ok()
        })
    }
}

/// What anybody is given.
async fn published(server: &Server) -> Option<String> {
    let (status, _, note) = fetched(server, &format!("/log/{TENANT}/checkpoint")).await;
    (status == 200).then(|| String::from_utf8(note).unwrap())
}

/// Has something written, and waits until it is in a checkpoint that is larger than before.
async fn grown(caller: &Caller, auditor: &Caller, number: u32, before: usize) -> Read {
    caller.send(&hello(&format!("wamid.{number}"), &format!("talk-{number}"))).await.done();
    until("a larger checkpoint", SIGNED_WITHIN, async || {
        let answer = auditor.send(&Sent::get("/v1/evidence/checkpoint")).await;
        Some(answer)
            .filter(|answer| answer.status == 200)
            .map(|answer| read(answer.text("/note")))
            .filter(|checkpoint| checkpoint.size > before)
    })
    .await
}

async fn post(auditor: &Caller, note: &str) -> Answer {
    auditor.send(&Sent::post("/v1/evidence/cosignatures", json!({"note": note}))).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_witness_cosigned_is_published_and_survives() {
    let folder = Folder::with_tenant();
    let mut witness = Witness::new("witness.example/one", 31);
    let vkey = witness.vkey();
    let arguments = ["--publish-log", "--witness", &vkey];
    let server = start(&folder, &arguments);
    let (handler, key) = (folder.key("handler"), folder.key("auditor"));
    let (caller, auditor) = (Caller::new(&server.base, &handler), Caller::new(&server.base, &key));
    let first = grown(&caller, &auditor, 1, 0).await;
    let seen = read(&published(&server).await.unwrap());
    assert_eq!(seen.size, first.size, "without a quorum the newest one is published");
    let cosigned = witness.cosigned(&server, &seen).await;
    assert_eq!(post(&auditor, &cosigned).await.done().text("/note"), cosigned);
    assert_eq!(published(&server).await.as_ref(), Some(&cosigned));
    assert!(witness.has_cosigned(&cosigned));

    // Forged, replayed from another size, of another log.
    let newer = grown(&caller, &auditor, 2, seen.size).await;
    let elsewhere = read(&newer.note.replace(TENANT, "elsewhere"));
    for (note, status, code) in [
        (format!("{}{}", newer.note, witness.line(&seen, SEEN)), 422, "cosignature_invalid"),
        (
            format!("{}{}", newer.note, Witness::new("witness.example/one", 32).line(&newer, SEEN)),
            422,
            "unknown_witness",
        ),
        (format!("{}{}", elsewhere.note, witness.line(&elsewhere, SEEN)), 409, "unknown_checkpoint"),
    ] {
        let answer = post(&auditor, &note).await;
        assert_eq!((answer.status, answer.text("/code")), (status, code));
    }
    assert_eq!(published(&server).await, Some(newer.note.clone()), "the newest, whom nobody has cosigned yet");
    let cosigned = witness.cosigned(&server, &newer).await;
    post(&auditor, &cosigned).await.done();
    server.stop().await;

    // A restart keeps it; so does the bundle, and both are verified.
    let server = start(&folder, &arguments);
    assert_eq!(published(&server).await, Some(cosigned));
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let bundle = client.get(format!("{}/v1/evidence/export", server.base)).bearer_auth(&key).send().await.unwrap();
    let path = folder.path().join("bundle");
    std::fs::write(&path, bundle.bytes().await.unwrap()).unwrap();
    let bundle = path.to_str().unwrap();
    let verified = |witness: &str| folder.run(&["verify", bundle, "--unauthenticated", "--witness", witness]);
    let (here, missing) = (verified(&vkey), verified(&Witness::new("witness.example/two", 33).vkey()));
    assert_eq!(here.status.code(), Some(0), "{here:?}");
    assert_eq!(missing.status.code(), Some(1));
    assert!(printed(&missing).contains("(cosignature)"), "{missing:?}");
    assert!(folder.done(&["verify"]).contains(" 2 cosignatures"));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_a_quorum_only_what_enough_witnesses_cosigned_is_published_and_never_an_older_one() {
    let folder = Folder::with_tenant();
    let (mut one, mut two) = (Witness::new("witness.example/one", 31), Witness::new("witness.example/two", 32));
    let named = format!("{} {}", one.vkey(), two.vkey());
    let with =
        |quorum: &'static str| start(&folder, &["--publish-log", "--witness", &named, "--witness-quorum", quorum]);
    let server = with("1");
    let (handler, key) = (folder.key("handler"), folder.key("auditor"));
    let (caller, auditor) = (Caller::new(&server.base, &handler), Caller::new(&server.base, &key));
    let first = grown(&caller, &auditor, 1, 0).await;
    let (status, _, problem) = fetched(&server, &format!("/log/{TENANT}/checkpoint")).await;
    assert_eq!(status, 404);
    assert!(String::from_utf8(problem).unwrap().contains("not_cosigned_yet"));

    let second = grown(&caller, &auditor, 2, first.size).await;
    let cosigned = one.cosigned(&server, &second).await;
    assert_eq!(post(&auditor, &cosigned).await.done().body["published"], second.size);
    assert_eq!(published(&server).await.as_ref(), Some(&cosigned));

    // An older one that is cosigned later is kept, and is not what is published; nor is a newer one that nobody cosigned.
    let third = grown(&caller, &auditor, 3, second.size).await;
    let older = format!("{}{}", first.note, two.line(&first, SEEN));
    assert_eq!(post(&auditor, &older).await.done().body["published"], second.size);
    assert_eq!(published(&server).await.as_ref(), Some(&cosigned));
    server.stop().await;

    // A larger quorum does not take back what was published; it counts for what comes.
    let server = with("2");
    let auditor = Caller::new(&server.base, &key);
    assert_eq!(published(&server).await.as_ref(), Some(&cosigned));
    let by_one = one.cosigned(&server, &third).await;
    post(&auditor, &by_one).await.done();
    assert_eq!(published(&server).await.as_ref(), Some(&cosigned), "one is not enough");
    let by_two = two.cosigned(&server, &third).await;
    let by_both = post(&auditor, &by_two).await.done();
    assert_eq!(by_both.body["published"], third.size);
    let note = published(&server).await.unwrap();
    assert!(one.has_cosigned(&note) && two.has_cosigned(&note) && read(&note).size == third.size);
    server.stop().await;

    // Where no quorum is asked for, the newest is given out, whoever cosigned it: also one that was signed while more was
    // required. Nobody is given an older one after that.
    let server = with("2");
    let (caller, auditor) = (Caller::new(&server.base, &handler), Caller::new(&server.base, &key));
    let fourth = grown(&caller, &auditor, 4, third.size).await;
    server.stop().await;
    for quorum in ["0", "1", "2"] {
        let server = with(quorum);
        assert_eq!(read(&published(&server).await.unwrap()).size, fourth.size, "{quorum}");
        server.stop().await;
    }
}

#[test]
fn witnesses_that_cannot_be_trusted_stop_the_start() {
    let folder = Folder::with_tenant();
    let seed = "05".repeat(32);
    let (one, two) = (Witness::new("witness.example/one", 31), Witness::new("witness.example/two", 32));
    let (namesake, twin) = (Witness::new("witness.example/one", 33), Witness::new("witness.example/other", 31));
    let (log, tenants, own) =
        (Witness::new("cscp", 34), Witness::new("cscp/prod/shop", 34), Witness::new("witness.example/own", 5));
    let cases = [
        (vec!["nonsense".to_owned()], "0", "not the key of a witness"),
        (vec![one.vkey_of(1)], "0", "not the key of a witness"),
        (vec![one.vkey().replace("one+", "two+")], "0", "not the key of a witness"),
        (vec![one.vkey(), two.vkey(), namesake.vkey()], "0", "two witnesses are called witness.example/one"),
        (vec![one.vkey(), one.vkey()], "0", "two witnesses are called witness.example/one"),
        (vec![one.vkey(), twin.vkey()], "0", "witness.example/other has the key of another one"),
        (vec![log.vkey()], "0", "the name or the key of this log"),
        (vec![tenants.vkey()], "0", "the name or the key of this log"),
        (vec![own.vkey()], "0", "the name or the key of this log"),
        (vec![one.vkey(), two.vkey()], "3", "a quorum of 3 was asked for and 2 witnesses were named"),
        (vec![], "1", "a quorum of 1 was asked for and 0 witnesses were named"),
    ];
    for (witnesses, quorum, says) in cases {
        let mut command = folder.command(&["--listen", "127.0.0.1:0", "--no-demo-tenant", "--metrics-listen", "off"]);
        command.args(["--witness-quorum", quorum]).env("CSCP_SIGNING_SEED", &seed);
        let output = command.env("CSCP_WITNESSES", witnesses.join(" ")).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{says}: {output:?}");
        let complaint = complained(&output);
        assert!(complaint.contains(says), "{says}: {complaint}");
    }
    // An empty variable names none, and an empty option is a mistake.
    for (option, variable, says) in [
        (vec!["--witness", ""], None, "the key is empty"),
        (vec!["--witness", "", "--witness-quorum", "1"], None, "the key is empty"),
        (vec!["--witness-quorum", "1"], Some(""), "a quorum of 1 was asked for and 0 witnesses were named"),
    ] {
        let mut command = folder.command(&["--listen", "127.0.0.1:0", "--no-demo-tenant", "--metrics-listen", "off"]);
        command.args(option).env("CSCP_SIGNING_SEED", &seed).env_remove("CSCP_WITNESSES");
        variable.map(|value| command.env("CSCP_WITNESSES", value));
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{says}: {output:?}");
        let complaint = complained(&output);
        assert!(complaint.contains(says), "{says}: {complaint}");
    }
}
