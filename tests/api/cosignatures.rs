//! What witnesses cosign: taken in once it holds, given out with the checkpoint, and checked by both verifiers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cscp::domain::operation::CredentialKind;
use cscp::evidence::auditing::Trusted;
use cscp::evidence::cosignature::WitnessKey;
use ed25519_dalek::{Signer as _, SigningKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use crate::bundles::{export, faults, history, known, sequence, verified};
use crate::client::Client;
use crate::house::House;

/// When a witness saw a checkpoint, in seconds since 1970.
const SEEN: u64 = 1_795_000_000;

/// A witness as the specification has it (C2SP tlog-cosignature).
pub(crate) struct Witness {
    name: &'static str,
    key: SigningKey,
}

/// Two whom the houses of these tests trust.
pub(crate) fn trusted_witnesses() -> [Witness; 2] {
    [Witness::new("witness.example/one", 21), Witness::new("witness.example/two", 22)]
}

impl Witness {
    fn new(name: &'static str, seed: u8) -> Self {
        Self { name, key: SigningKey::from_bytes(&[seed; 32]) }
    }

    fn id(&self) -> Vec<u8> {
        let named = [self.name.as_bytes(), b"\n\x04", self.key.verifying_key().as_bytes()].concat();
        Sha256::digest(named)[..4].to_vec()
    }

    pub(crate) fn vkey(&self) -> WitnessKey {
        let public = STANDARD.encode([&[4], self.key.verifying_key().as_bytes().as_slice()].concat());
        let id = hex::encode(self.id());
        WitnessKey::parse(&format!("{}+{id}+{public}", self.name)).unwrap()
    }

    /// The signature line under the text of a note.
    pub(crate) fn line(&self, note: &str, time: u64) -> String {
        let text = &note[..=note.rfind("\n\n").unwrap()];
        let signature = self.key.sign(format!("cosignature/v1\ntime {time}\n{text}").as_bytes());
        let bytes = [self.id().as_slice(), &time.to_be_bytes(), &signature.to_bytes()].concat();
        format!("— {} {}\n", self.name, STANDARD.encode(bytes))
    }

    /// A note with this witness's signature below the others.
    pub(crate) fn cosigned(&self, note: &str) -> String {
        format!("{note}{}", self.line(note, SEEN))
    }
}

async fn auditor(house: &House, tenant: &str) -> Client {
    house.client(tenant, CredentialKind::Auditor, None, None).await
}

pub(crate) async fn newest(auditor: &Client) -> String {
    auditor.get("/v1/evidence/checkpoint").await.expect(200).text("/note")
}

const PATH: &str = "/v1/evidence/cosignatures";

fn lines(answer: &Value) -> Vec<&str> {
    answer["cosignatures"].as_array().unwrap().iter().map(|one| one["line"].as_str().unwrap()).collect()
}

/// Lets the log grow and be signed.
async fn grow(house: &House, tenant: &str) {
    house.opened(&house.handler(tenant).await, &crate::house::fresh("conv")).await;
    sequence(house).await;
}

#[tokio::test]
async fn what_a_witness_cosigned_is_kept_and_given_out() {
    let house = House::new().await;
    let [one, two] = trusted_witnesses();
    history(&house, "a").await;
    let auditor = auditor(&house, "a").await;
    let note = newest(&auditor).await;
    let answer = auditor.post(PATH, json!({"note": one.cosigned(&note)})).await.expect(200).body;
    assert_eq!(answer["note"], one.cosigned(&note));
    assert_eq!(answer["cosignatures"][0]["witness"], one.vkey().to_string());
    assert_eq!(answer["cosignatures"][0]["time"], "2026-11-18T11:06:40.000000Z");
    assert_eq!(one.vkey().cosigned(&newest(&auditor).await), Ok(SEEN));

    // The same again, and a later one of the same witness, change nothing.
    for again in [one.cosigned(&note), one.cosigned(&one.cosigned(&note)), note.clone() + &one.line(&note, SEEN + 9)] {
        assert_eq!(auditor.post(PATH, json!({"note": again})).await.expect(200).body, answer);
    }
    let answer = auditor.post(PATH, json!({"note": two.cosigned(&note)})).await.expect(200).body;
    assert_eq!(lines(&answer), [one.line(&note, SEEN).trim_end(), two.line(&note, SEEN).trim_end()]);
    let proof = auditor.get("/v1/evidence/consistency?from=1").await.expect(200).body;
    assert_eq!(proof["checkpoint"], answer["note"]);

    // One under an older checkpoint is taken in too, and does not move to a newer one.
    grow(&house, "a").await;
    let newer = newest(&auditor).await;
    assert_ne!(newer, answer["note"].as_str().unwrap());
    assert!(one.vkey().cosigned(&newer).is_err() && two.vkey().cosigned(&newer).is_err());
    assert_eq!(auditor.post(PATH, json!({"note": two.cosigned(&note)})).await.expect(200).body, answer);
}

#[tokio::test]
async fn what_is_no_cosignature_of_this_log_s_checkpoint_is_refused() {
    let house = House::new().await;
    let [one, two] = trusted_witnesses();
    grow(&house, "a").await;
    grow(&house, "b").await;
    let (here, there) = (auditor(&house, "a").await, auditor(&house, "b").await);
    let older = newest(&here).await;
    grow(&house, "a").await;
    let (note, foreign) = (newest(&here).await, newest(&there).await);
    let size: u64 = note.lines().nth(1).unwrap().parse().unwrap();
    let other_size = note.replacen(&format!("\n{size}\n"), &format!("\n{}\n", size + 1), 1);
    let other_root = {
        let root = note.lines().nth(2).unwrap();
        let mut changed = STANDARD.decode(root).unwrap();
        changed[0] ^= 1;
        note.replacen(root, &STANDARD.encode(changed), 1)
    };
    let zero = note.replacen(&format!("\n{size}\n"), "\n0\n", 1);
    let stranger = Witness::new("witness.example/three", 23);
    // Somebody else under a trusted witness's name: its own id, and the trusted one's.
    let namesake = Witness::new("witness.example/one", 24);
    let with_id_of = |line: String, id: Vec<u8>| {
        let (dashed, encoded) = line.trim_end().rsplit_once(' ').unwrap();
        let mut bytes = STANDARD.decode(encoded).unwrap();
        bytes[..4].copy_from_slice(&id);
        format!("{dashed} {}\n", STANDARD.encode(bytes))
    };
    let impostor = with_id_of(namesake.line(&note, SEEN), one.id());
    let cases = [
        ("nothing", String::new(), 422, "not_a_checkpoint"),
        ("a text", "hello\n".to_owned(), 422, "not_a_checkpoint"),
        ("another note", one.cosigned("one line\n\n"), 422, "not_a_checkpoint"),
        ("an extension", one.cosigned(&note.replacen("\n\n", "\nmore\n\n", 1)), 422, "not_a_checkpoint"),
        ("a broken line", format!("{note}— x\n"), 422, "not_a_checkpoint"),
        ("no line break", one.cosigned(&note).trim_end().to_owned(), 422, "not_a_checkpoint"),
        ("another size", one.cosigned(&other_size), 409, "unknown_checkpoint"),
        ("no size", one.cosigned(&zero), 409, "unknown_checkpoint"),
        ("another root", one.cosigned(&other_root), 409, "unknown_checkpoint"),
        ("another tenant's", one.cosigned(&foreign), 409, "unknown_checkpoint"),
        ("nobody's", note.clone(), 422, "cosignature_missing"),
        ("a stranger's", stranger.cosigned(&note), 422, "unknown_witness"),
        ("a namesake's", namesake.cosigned(&note), 422, "unknown_witness"),
        ("an impostor's", format!("{note}{impostor}"), 422, "cosignature_invalid"),
        ("replayed from an older one", format!("{note}{}", one.line(&older, SEEN)), 422, "cosignature_invalid"),
        ("of a later checkpoint", format!("{older}{}", one.line(&note, SEEN)), 422, "cosignature_invalid"),
        (
            "a good one and a bad one",
            format!("{}{}", two.cosigned(&note), one.line(&older, SEEN)),
            422,
            "cosignature_invalid",
        ),
        ("a good one and a stranger's", stranger.cosigned(&one.cosigned(&note)), 422, "unknown_witness"),
    ];
    for (what, given, status, code) in cases {
        println!("{what}");
        here.post(PATH, json!({"note": given})).await.problem(status, code);
    }
    let too_long = json!({"note": one.cosigned(&note) + &"x".repeat(70_000)});
    here.ask("POST", PATH).json(&too_long).send().await.problem(422, "invalid_value");
    here.ask("POST", PATH).json(&json!({"note": note, "more": 1})).send().await.problem(422, "unknown_field");
    assert_eq!(newest(&here).await, note, "nothing of it was kept");
    assert_eq!(newest(&there).await, foreign);
    // The other tenant's key does not get at this log either.
    there.post(PATH, json!({"note": one.cosigned(&note)})).await.problem(409, "unknown_checkpoint");
    let handler = house.handler("a").await;
    handler.post(PATH, json!({"note": one.cosigned(&note)})).await.problem(403, "scope_denied");
    house.stranger().post(PATH, json!({"note": note})).await.problem(401, "unauthenticated");
}

#[tokio::test]
async fn a_bundle_carries_cosignatures_and_both_verifiers_check_them_if_asked() {
    let house = House::new().await;
    let [one, two] = trusted_witnesses();
    history(&house, "a").await;
    let auditor = auditor(&house, "a").await;
    let plain = export(&auditor, json!({})).await;
    let note = newest(&auditor).await;
    auditor.post(PATH, json!({"note": one.cosigned(&note)})).await.expect(200);
    let trusted = known(&auditor).await;
    let bundle = export(&auditor, json!({})).await;
    let asked = |witnesses: Vec<WitnessKey>| Trusted { witnesses, kept: None, ..trusted.clone() };
    let place = bundle.iter().position(|line| line.contains("witness.example/one")).unwrap();
    let at = |count: usize| vec![(u64::try_from(place).unwrap() + 1, "cosignature".to_owned()); count];
    for (lines, witnesses, wrong) in [
        // Who asks for no witness passes over what witnesses have signed.
        (&bundle, vec![], 0),
        (&bundle, vec![one.vkey()], 0),
        (&bundle, vec![one.vkey(), two.vkey()], 1),
        (&bundle, vec![two.vkey(), Witness::new("witness.example/one", 9).vkey()], 2),
        (&plain, vec![], 0),
        (&plain, vec![one.vkey()], 1),
    ] {
        assert_eq!(faults(&verified(lines, &asked(witnesses))), at(wrong));
    }
}

#[tokio::test]
async fn a_forged_cosignature_in_a_bundle_is_told_by_both_verifiers() {
    let house = House::new().await;
    let [one, _] = trusted_witnesses();
    history(&house, "a").await;
    let auditor = auditor(&house, "a").await;
    let trusted = known(&auditor).await;
    let bundle = export(&auditor, json!({})).await;
    let place = bundle.iter().position(|line| line.contains("\"checkpoint\"")).unwrap();
    let note = newest(&auditor).await;
    let line = one.line(&note, SEEN);
    let changed = |at: usize, more: &[u8]| {
        let (dashed, encoded) = line.trim_end().rsplit_once(' ').unwrap();
        let mut bytes = STANDARD.decode(encoded).unwrap();
        bytes[at] ^= 1;
        bytes.extend_from_slice(more);
        format!("{dashed} {}\n", STANDARD.encode(bytes))
    };
    let forged =
        [changed(11, &[]), changed(40, &[]), changed(75, &[]), one.line(&note, 0), one.line("another\n\n", SEEN)];
    let twice = format!("{line}{}", changed(40, &[]));
    let longer = {
        let (dashed, encoded) = line.trim_end().rsplit_once(' ').unwrap();
        let bytes = [STANDARD.decode(encoded).unwrap(), vec![0]].concat();
        format!("{dashed} {}\n", STANDARD.encode(bytes))
    };
    for lines in forged.into_iter().chain([twice, longer]) {
        let mut told: Value = serde_json::from_str(&bundle[place]).unwrap();
        let kept = told["checkpoint"].as_str().unwrap().to_owned();
        told["checkpoint"] = json!(format!("{kept}{lines}"));
        let mut forgery = bundle.clone();
        forgery[place] = told.to_string();
        let codes = |witnesses: Vec<WitnessKey>| {
            let trusted = Trusted { witnesses, kept: None, ..trusted.clone() };
            let report = verified(&forgery, &trusted);
            faults(&report).into_iter().map(|(_, code)| code).collect::<Vec<_>>()
        };
        // The end covers every line: that one was changed shows anyway.
        assert_eq!(codes(vec![one.vkey()]), ["cosignature", "digest"]);
        assert_eq!(codes(vec![]), ["digest"]);
    }
}
