//! Which witnesses can be told from one another and from the log.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::*;

fn witness(name: &str, seed: u8) -> WitnessKey {
    let key = ed25519_dalek::SigningKey::from_bytes(&[seed; 32]).verifying_key();
    let public = [&[4], key.as_bytes().as_slice()].concat();
    let id = Sha256::digest([name.as_bytes(), b"\n", &public].concat());
    WitnessKey::parse(&format!("{name}+{}+{}", hex::encode(&id[..4]), STANDARD.encode(public))).unwrap()
}

fn refused(keys: Vec<WitnessKey>, quorum: usize) -> Option<WitnessesError> {
    let signer = Signer::new("log.example".to_owned(), vec![[1; 32], [2; 32]]);
    Witnesses::new(keys, quorum).and_then(|witnesses| witnesses.others_than(&signer)).err()
}

#[test]
fn witnesses_have_names_and_keys_of_their_own() {
    let (a, b) = (witness("w/a", 11), witness("w/b", 12));
    for (keys, quorum, expected) in [
        (vec![], 0, None),
        (vec![a.clone(), b.clone()], 2, None),
        (vec![a.clone(), b.clone()], 3, Some(WitnessesError::Quorum { quorum: 3, named: 2 })),
        (vec![a.clone(), witness("w/a", 12)], 0, Some(WitnessesError::SameName("w/a".to_owned()))),
        (vec![a.clone(), witness("w/c", 11)], 0, Some(WitnessesError::SameKey("w/c".to_owned()))),
        // The log's own names begin with log.example/; its keys have the seeds 1 and 2.
        (vec![witness("log.example", 11)], 0, Some(WitnessesError::TheLog("log.example".to_owned()))),
        (vec![witness("log.example/prod/t", 11)], 0, Some(WitnessesError::TheLog("log.example/prod/t".to_owned()))),
        (vec![witness("log.example.org", 11)], 0, None),
        (vec![b, witness("w/old", 2)], 0, Some(WitnessesError::TheLog("w/old".to_owned()))),
        (
            (0..=32).map(|seed| witness(&format!("w/{seed}"), 100 + seed)).collect(),
            0,
            Some(WitnessesError::TooMany(33)),
        ),
    ] {
        assert_eq!(refused(keys, quorum), expected);
    }
}

/// A key id has four bytes: among some hundred thousand names two share one.
#[test]
fn two_of_one_key_id_are_refused() {
    let keys = [11, 12].map(|seed| ed25519_dalek::SigningKey::from_bytes(&[seed; 32]).verifying_key());
    let mut known: BTreeMap<[u8; 4], (u32, usize)> = BTreeMap::new();
    let pair = (0..400_000_u32).find_map(|number| {
        let which = usize::from(number % 2 == 1);
        let named = [format!("w/{number}").as_bytes(), b"\n\x04", keys[which].as_bytes()].concat();
        let digest: [u8; 32] = Sha256::digest(named).into();
        let other = known.insert(*digest.first_chunk().unwrap(), (number, which));
        other.filter(|(_, other)| *other != which).map(|(other, of)| ((other, of), (number, which)))
    });
    let ((one, of_one), (other, of_other)) = pair.unwrap();
    let named = |number: u32, which: usize| witness(&format!("w/{number}"), [11, 12][which]);
    let keys = vec![named(one, of_one), named(other, of_other)];
    assert_eq!(keys[0].id(), keys[1].id());
    assert_eq!(refused(keys, 0), Some(WitnessesError::SameId(format!("w/{other}"))));
}
