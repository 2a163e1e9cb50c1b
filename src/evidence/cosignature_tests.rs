//! Cosignatures that another program made (Python's `cryptography`, with the seed 00 01 … 1f) are read; what was changed is
//! refused.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::Signer as _;
use proptest::prelude::*;

use super::*;
use crate::evidence::note::VerifierKey;

const TEXT: &str = "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
const NAME: &str = "witness.example.com/w1";
const WITNESS: &str = "witness.example.com/w1+a0059f11+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4";
/// The same public key as one that signs notes.
const AS_A_LOG: &str = "witness.example.com/w1+1c55deb1+AQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4";
const TIME: u64 = 1_679_315_147;
const LINE: &str = "— witness.example.com/w1 oAWfEQAAAABkGFDLBuRDazBLVac2NE+Y+IjbjQOcXLfF9CSDZVUIoS83rE1nFZsVE8YiWV6Ngr7lV8H6bdoBQGP/l73euDMQ9k+bBQ==";
const LATER: &str = "— witness.example.com/w1 oAWfEQAAAABq/YbAKAPAMHdo1XBETtzdtNTZPvhxt8RHYc+IT+KZ+bO5VAMnun0nibf6eW18ljHeg7QedQqCYOt/035xlYZLu52jAw==";
const LATER_TIME: u64 = 1_795_000_000;
/// The signatures of the specification's own example: of a log and of a witness whose keys it does not tell.
const LOGS_LINE: &str = "— example.com/behind-the-sofa Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=";
const ANOTHERS_LINE: &str = "— witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==";

fn witness() -> WitnessKey {
    WitnessKey::parse(WITNESS).unwrap()
}

/// A line of this witness, as the specification says it.
fn line(id: [u8; 4], time: u64, signed: &str) -> String {
    let seed: [u8; 32] = std::array::from_fn(|at| u8::try_from(at).unwrap());
    let signature = ed25519_dalek::SigningKey::from_bytes(&seed).sign(signed.as_bytes()).to_bytes();
    let bytes = [id.as_slice(), &time.to_be_bytes(), &signature].concat();
    format!("— {NAME} {}", STANDARD.encode(bytes))
}

fn with_bytes(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let (dashed, encoded) = LINE.rsplit_once(' ').unwrap();
    let mut bytes = STANDARD.decode(encoded).unwrap();
    change(&mut bytes);
    format!("{dashed} {}", STANDARD.encode(bytes))
}

#[test]
fn what_another_program_cosigned_is_read() {
    let witness = witness();
    assert_eq!((witness.to_string().as_str(), witness.name()), (WITNESS, NAME));
    assert_eq!(witness.open(LINE, TEXT), Ok(Some(TIME)));
    assert_eq!(witness.open(LATER, TEXT), Ok(Some(LATER_TIME)));
    assert_eq!(line(witness.id(), TIME, &format!("cosignature/v1\ntime {TIME}\n{TEXT}")), LINE);
    let note = format!("{TEXT}\n{LOGS_LINE}\n{LATER}\n{LINE}\n");
    assert_eq!(witness.cosigned(&note), Ok(LATER_TIME));
}

#[test]
fn a_witness_is_not_a_log_though_the_key_be_the_same() {
    let log = VerifierKey::parse(AS_A_LOG).unwrap();
    assert_eq!(log.fingerprint(), witness().fingerprint());
    assert_eq!(WitnessKey::parse(AS_A_LOG), Err(NoteError::Key));
    assert_eq!(VerifierKey::parse(WITNESS), Err(NoteError::Key));
}

#[test]
fn other_forms_of_a_key_are_refused() {
    let others = [
        "",
        NAME,
        "witness.example.com/w1+a0059f11",
        // Another key id, one in capitals, another name, another algorithm, a byte more and a byte less.
        "witness.example.com/w1+a0059f12+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
        "witness.example.com/w1+A0059F11+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
        "witness.example.com/w2+a0059f11+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
        "witness.example.com/w1+a0059f11+BQOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
        "witness.example.com/w1+a0059f11+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4AA==",
        "witness.example.com/w1+a0059f11+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTE=",
        " witness.example.com/w1+a0059f11+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4",
        "witness.example.com/w1+a0059f11+BAOhB7/zzhC+HXDdGOdLwJln5NYwm6UNXx3chmQSVTG4\n",
    ];
    for other in others {
        assert_eq!(WitnessKey::parse(other), Err(NoteError::Key), "{other}");
    }
}

#[test]
fn what_is_not_this_witness_s_cosignature_of_this_text_is_refused() {
    let (witness, id) = (witness(), witness().id());
    let forged = Err(NoteError::Forged(NAME.to_owned()));
    let said = |time: u64| format!("cosignature/v1\ntime {time}\n{TEXT}");
    let cases = [
        // Another name or key id is another witness.
        (LINE.replace("/w1", "/w2"), Ok(None)),
        (ANOTHERS_LINE.to_owned(), Ok(None)),
        (LOGS_LINE.to_owned(), Ok(None)),
        // The time is signed, and is one that a clock shows.
        (with_bytes(|bytes| bytes[11] ^= 1), forged.clone()),
        (line(id, TIME + 1, &said(TIME)), forged.clone()),
        (line(id, 0, &said(0)), forged.clone()),
        (line(id, LAST_SECOND + 1, &said(LAST_SECOND + 1)), forged.clone()),
        (line(id, LAST_SECOND, &said(LAST_SECOND)), Ok(Some(LAST_SECOND))),
        (line(id, TIME, &format!("cosignature/v1\ntime 0{TIME}\n{TEXT}")), forged.clone()),
        // Another statement, also the one that a log signs.
        (line(id, TIME, TEXT), forged.clone()),
        (line(id, TIME, &format!("cosignature/v2\ntime {TIME}\n{TEXT}")), forged.clone()),
        (line(id, TIME, said(TIME).trim_end()), forged.clone()),
        // More and fewer bytes.
        (with_bytes(|bytes| bytes.push(0)), forged.clone()),
        (with_bytes(|bytes| bytes.truncate(75)), forged.clone()),
        (with_bytes(|bytes| bytes.truncate(11)), forged.clone()),
        (with_bytes(|bytes| bytes.truncate(5)), forged.clone()),
        // No signature lines.
        (with_bytes(|bytes| bytes.truncate(4)), Err(NoteError::Malformed)),
        (LINE.replace('—', "-"), Err(NoteError::Malformed)),
        (LINE.replace("bBQ==", "bBQ"), Err(NoteError::Malformed)),
        (LINE.replace("bBQ==", "bBR=="), Err(NoteError::Malformed)),
        (format!("{LINE} "), Err(NoteError::Malformed)),
        (format!("{LINE}\n"), Err(NoteError::Malformed)),
        (String::new(), Err(NoteError::Malformed)),
    ];
    for (line, expected) in cases {
        assert_eq!(witness.open(&line, TEXT), expected, "{line:?}");
    }
    assert_eq!(witness.open(LINE, &TEXT.replace("20852163", "20852164")), forged);
}

#[test]
fn one_forged_line_fails_the_note_and_others_do_not() {
    let witness = witness();
    assert_eq!(witness.cosigned(&format!("{TEXT}\n{LOGS_LINE}\n{ANOTHERS_LINE}\n")), Err(NoteError::Unsigned));
    let forged = with_bytes(|bytes| bytes[70] ^= 1);
    let note = format!("{TEXT}\n{LINE}\n{forged}\n");
    assert_eq!(witness.cosigned(&note), Err(NoteError::Forged(NAME.to_owned())));
    assert_eq!(witness.cosigned(TEXT), Err(NoteError::Malformed));
}

proptest! {
    #[test]
    fn every_bit_of_a_cosignature_counts(at in 0..76_usize, bit in 0..8_u32) {
        let changed = with_bytes(|bytes| bytes[at] ^= 1 << bit);
        let expected = if at < 4 { Ok(None) } else { Err(NoteError::Forged(NAME.to_owned())) };
        prop_assert_eq!(witness().open(&changed, TEXT), expected);
    }

    #[test]
    fn whatever_is_cosigned_is_read(time in 1..=LAST_SECOND, lines in proptest::collection::vec("[ -~]{0,20}", 1..5)) {
        let text = lines.join("\n") + "\n";
        let line = line(witness().id(), time, &format!("cosignature/v1\ntime {time}\n{text}"));
        prop_assert_eq!(witness().open(&line, &text), Ok(Some(time)));
    }

    #[test]
    fn no_text_upsets_the_reader(text in ".{0,200}", line in ".{0,200}") {
        prop_assert!(!matches!(witness().open(&line, &text), Ok(Some(_))));
        prop_assert!(witness().cosigned(&text).is_err() && WitnessKey::parse(&text).is_err());
    }
}
