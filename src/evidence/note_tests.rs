//! Notes of the Go implementation are opened and written byte for byte; what was changed is refused.

use proptest::prelude::*;

use super::*;

const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
                    then you don't know what your problem is.\n";
/// The keys and signatures of the documentation of Go's `note` package.
const PETER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
const PETERS_SEED: &str = "810a1402d5146c8d84f2443330f54080ebf98ee17d9c74f6252fc5d5c7283173";
const PETERS_LINE: &str =
    "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
const ENOCH: &str = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop";
const ENOCHS_LINE: &str =
    "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n";

fn peter() -> SigningKey {
    SigningKey::from_seed("PeterNeumann", *crate::domain::canonical::Digest::from_hex(PETERS_SEED).unwrap().as_bytes())
        .unwrap()
}

fn enoch() -> SigningKey {
    SigningKey::from_seed("EnochRoot", [0; 32]).unwrap()
}

fn known(vkey: &str) -> VerifierKey {
    VerifierKey::parse(vkey).unwrap()
}

#[test]
fn the_known_note_opens() {
    let note = format!("{TEXT}\n{PETERS_LINE}");
    assert_eq!(open(&note, &[known(PETER)]), Ok(TEXT));
    assert_eq!(open(&note, &[known(ENOCH), known(PETER)]), Ok(TEXT));
    assert_eq!(open(&note, &[known(ENOCH)]), Err(NoteError::Unsigned));
    assert_eq!(open(&note, &[]), Err(NoteError::Unsigned));
}

#[test]
fn the_known_note_is_written() {
    assert_eq!(peter().verifier().to_string(), PETER);
    assert_eq!(enoch().verifier().to_string(), ENOCH);
    assert_eq!(sign(TEXT, &[peter()]).unwrap(), format!("{TEXT}\n{PETERS_LINE}"));
    let both = sign(TEXT, &[peter(), enoch()]).unwrap();
    assert_eq!(both, format!("{TEXT}\n{PETERS_LINE}{ENOCHS_LINE}"));
    for keys in [vec![known(PETER)], vec![known(ENOCH)], vec![known(PETER), known(ENOCH)]] {
        assert_eq!(open(&both, &keys), Ok(TEXT));
    }
}

#[test]
fn every_bit_of_text_and_signature_counts() {
    let note = format!("{TEXT}\n{PETERS_LINE}");
    let keys = [known(PETER)];
    for at in 0..note.len() {
        for bit in 0..8 {
            let mut bytes = note.clone().into_bytes();
            bytes[at] ^= 1 << bit;
            let Ok(changed) = String::from_utf8(bytes) else { continue };
            assert!(open(&changed, &keys).is_err(), "bit {bit} of byte {at}");
        }
    }
    for end in (0..note.len()).filter(|end| note.is_char_boundary(*end)) {
        assert!(open(&note[..end], &keys).is_err(), "cut at {end}");
    }
}

#[test]
fn one_forged_signature_of_a_known_key_fails_the_note() {
    let other = sign("another text\n", &[enoch()]).unwrap();
    let line = other.split_once("\n\n").unwrap().1;
    let note = format!("{TEXT}\n{PETERS_LINE}{line}");
    assert_eq!(open(&note, &[known(PETER)]), Ok(TEXT));
    assert_eq!(open(&note, &[known(PETER), known(ENOCH)]), Err(NoteError::Forged("EnochRoot".to_owned())));
    let short =
        format!("{TEXT}\n{PETERS_LINE}— EnochRoot {}\n", STANDARD.encode([enoch().id.as_slice(), &[1]].concat()));
    assert_eq!(open(&short, &[known(ENOCH)]), Err(NoteError::Forged("EnochRoot".to_owned())));
}

#[test]
fn a_key_is_known_by_name_and_id() {
    let namesake = SigningKey::from_seed("PeterNeumann", [9; 32]).unwrap();
    let note = sign(TEXT, &[namesake]).unwrap();
    assert_eq!(open(&note, &[known(PETER)]), Err(NoteError::Unsigned));
    let renamed = format!("{TEXT}\n{}", PETERS_LINE.replace("PeterNeumann", "EnochRoot"));
    assert_eq!(open(&renamed, &[known(PETER), known(ENOCH)]), Err(NoteError::Unsigned));
}

#[test]
fn many_signatures_are_read_and_too_many_are_not() {
    let stranger = "— example.org/witness AAAAAAEC\n";
    let note = |strangers: usize| format!("{TEXT}\n{}{PETERS_LINE}", stranger.repeat(strangers));
    assert_eq!(open(&note(16), &[known(PETER)]), Ok(TEXT));
    assert_eq!(open(&note(MAX_SIGNATURES - 1), &[known(PETER)]), Ok(TEXT));
    assert_eq!(open(&note(MAX_SIGNATURES), &[known(PETER)]), Err(NoteError::TooLarge));
    let long = format!("{}\n\n{PETERS_LINE}", "x".repeat(MAX_NOTE_BYTES));
    assert_eq!(open(&long, &[known(PETER)]), Err(NoteError::TooLarge));
}

#[test]
fn what_is_no_note_is_malformed() {
    let signed = |text: &str| format!("{text}\n{}", peter().signature_line(text));
    assert_eq!(open(&signed("one\n\nline and one\n"), &[known(PETER)]), Ok("one\n\nline and one\n"));
    for note in [
        String::new(),
        "\n".to_owned(),
        "\n\n".to_owned(),
        TEXT.to_owned(),
        format!("{TEXT}\n"),
        format!("{TEXT}{PETERS_LINE}"),
        format!("{TEXT}\n{PETERS_LINE}\n"),
        format!("{TEXT}\n{PETERS_LINE}and more\n"),
        format!("{TEXT}\n{}", PETERS_LINE.replace('—', "-")),
        format!("{TEXT}\n{}", PETERS_LINE.replace("PeterNeumann", "Peter Neumann")),
        format!("{TEXT}\n{}", PETERS_LINE.replace("PeterNeumann", "Peter+Neumann")),
        format!("{TEXT}\n{}", PETERS_LINE.replace('=', "")),
        format!("{TEXT}\n{}", PETERS_LINE.trim_end()),
        format!("{TEXT}\n— PeterNeumann x08gow==\n"),
        signed("a\ttab\n"),
        signed("a return\r\n"),
    ] {
        assert_eq!(open(&note, &[known(PETER)]), Err(NoteError::Malformed), "{note:?}");
    }
    for text in ["", "no line", "a\0\n"] {
        assert_eq!(sign(text, &[peter()]), Err(NoteError::Malformed), "{text:?}");
    }
}

#[test]
fn other_keys_are_refused() {
    let vkey = |name: &str, public: &[u8; 32]| {
        let form = STANDARD.encode(public_form(ED25519, public));
        format!("{name}+{}+{form}", hex::encode(key_id(ED25519, name, public)))
    };
    let public = *known(PETER).key.as_bytes();
    assert_eq!(vkey("PeterNeumann", &public), PETER);
    let mut neutral = [0; 32];
    neutral[0] = 1;
    for text in [
        String::new(),
        "PeterNeumann".to_owned(),
        PETER.replace("c74f20a3", "c74f20a4"),
        PETER.replace("c74f20a3", "C74F20A3"),
        PETER.replace("+ARpc", "+AhpC"),
        PETER.replace("+ARpc", "+AhpC").replace("c74f20a3", "00000000"),
        PETER.replace("PeterNeumann", "EnochRoot"),
        format!("{PETER}\n"),
        format!(" {PETER}"),
        format!("{PETER}="),
        vkey("", &public),
        vkey("Peter Neumann", &public),
        // The neutral element verifies anything, in the lenient reading of the standard.
        vkey("weak", &neutral),
        // No point has this form.
        vkey("none", &[2; 32]),
    ] {
        assert_eq!(VerifierKey::parse(&text), Err(NoteError::Key), "{text:?}");
    }
    for name in ["", "a b", "a+b", "a\nb", "a\u{a0}b", "\u{7f}"] {
        assert_eq!(SigningKey::from_seed(name, [1; 32]).err(), Some(NoteError::Name), "{name:?}");
    }
}

#[test]
fn debug_does_not_tell_the_seed() {
    let shown = format!("{:?} {:#?}", peter(), peter());
    assert!(shown.contains("PeterNeumann") && shown.contains("c74f20a3"), "{shown}");
    assert!(!shown.contains(&PETERS_SEED[..8]) && !shown.contains("129, 10, 20"), "{shown}");
    assert!(!shown.contains("key:"), "{shown}");
}

proptest! {
    #[test]
    fn any_text_is_opened_or_refused(note in "\\PC{0,40}(\n{0,2}(— )?[a-z]{0,3} ?[A-Za-z0-9+/=]{0,12}\n?){0,3}") {
        prop_assert!(open(&note, &[known(PETER)]).is_err());
        prop_assert!(VerifierKey::parse(&note).is_err());
    }

    #[test]
    fn what_is_signed_opens(lines in proptest::collection::vec("[^\\x00-\\x1f]{0,20}", 1..5), seed in any::<[u8; 32]>()) {
        let key = SigningKey::from_seed("example.org/log", seed).unwrap();
        let text = lines.join("\n") + "\n";
        let verifier = VerifierKey::parse(&key.verifier().to_string()).unwrap();
        let note = sign(&text, &[peter(), key]).unwrap();
        prop_assert_eq!(open(&note, &[verifier]), Ok(text.as_str()));
    }
}
