//! A checkpoint has one form, and is believed only with a known signature.

use super::*;
use crate::evidence::tree::empty_root;

const ORIGIN: &str = "example.org/log/t_1";
const EMPTY: &str = "example.org/log/t_1\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n";

fn key(seed: u8) -> SigningKey {
    SigningKey::from_seed(ORIGIN, [seed; 32]).unwrap()
}

#[test]
fn the_body_has_three_lines() {
    let checkpoint = Checkpoint::new(ORIGIN, 0, empty_root()).unwrap();
    assert_eq!(checkpoint.body(), EMPTY);
    assert_eq!(Checkpoint::parse(EMPTY), Ok(checkpoint));
    let largest = Checkpoint::new(ORIGIN, MAX_SIZE, empty_root()).unwrap();
    assert_eq!(Checkpoint::parse(&largest.body()), Ok(largest));
}

#[test]
fn the_published_example_is_read() {
    let body = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
    let checkpoint = Checkpoint::parse(body).unwrap();
    assert_eq!((checkpoint.origin(), checkpoint.size()), ("example.com/behind-the-sofa", 20_852_163));
    assert_eq!(checkpoint.root().to_hex(), "0ac5186a91863e8e1d90c808014aa89bf5da8e3ee1d9f07630f0378f68f1ab62");
}

#[test]
fn another_form_is_no_checkpoint() {
    let size = |size: &str| EMPTY.replace("\n0\n", &format!("\n{size}\n"));
    for body in [
        String::new(),
        "\n\n\n".to_owned(),
        EMPTY.trim_end().to_owned(),
        format!("{EMPTY}\n"),
        format!("{EMPTY}an extension\n"),
        format!("\n{EMPTY}"),
        EMPTY.replace(ORIGIN, ""),
        EMPTY.replace('\n', "\r\n"),
        size(""),
        size("00"),
        size("01"),
        size("+1"),
        size("-1"),
        size(" 1"),
        size("0x1"),
        size("9223372036854775809"),
        size("18446744073709551616"),
        EMPTY.replace('=', ""),
        EMPTY.replace("FU=", "FV="),
        EMPTY.replace("47DE", ""),
        EMPTY.replace("+/", "-_"),
    ] {
        assert_eq!(Checkpoint::parse(&body), Err(NoteError::Checkpoint), "{body:?}");
    }
    for (origin, size) in [("", 0), ("a\nb", 0), ("a\tb", 0), ("a", MAX_SIZE + 1)] {
        assert_eq!(Checkpoint::new(origin, size, empty_root()), Err(NoteError::Checkpoint));
    }
}

#[test]
fn a_checkpoint_is_opened_with_the_old_key_and_the_new_one() {
    let checkpoint = Checkpoint::new(ORIGIN, 70_000, empty_root()).unwrap();
    let note = checkpoint.sign(&[key(1), key(2)]).unwrap();
    for keys in [vec![key(1).verifier()], vec![key(2).verifier()], vec![key(3).verifier(), key(2).verifier()]] {
        assert_eq!(Checkpoint::open(&note, &keys), Ok(checkpoint.clone()));
    }
    assert_eq!(Checkpoint::open(&note, &[key(3).verifier()]), Err(NoteError::Unsigned));
    let other = note.replace("70000", "70001");
    assert_eq!(Checkpoint::open(&other, &[key(2).verifier()]), Err(NoteError::Forged(ORIGIN.to_owned())));
    assert!(Checkpoint::open(&checkpoint.sign(&[]).unwrap(), &[key(1).verifier()]).is_err());
}

#[test]
fn another_signed_text_is_no_checkpoint() {
    let note = note::sign("I owe you nothing.\n", &[key(1)]).unwrap();
    assert_eq!(Checkpoint::open(&note, &[key(1).verifier()]), Err(NoteError::Checkpoint));
}
