//! One bad pack per rule, and exactly what its author is told.

use super::{read_pack, shipped};

const BASIC: &str = shipped::PACKS[0].1;

/// `basic` with some text replaced, and everything that is said about it.
fn told(changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = BASIC.to_owned();
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "`{from}` must occur once");
        text = text.replace(from, to);
    }
    match read_pack("p.yaml", &text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn probe() {
    let table: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string("/tmp/policy_rules.json").unwrap()).unwrap();
    let mut result = serde_json::Map::new();
    for (part, rows) in table.as_object().unwrap() {
        let said: Vec<_> = rows
            .as_array()
            .unwrap()
            .iter()
            .map(|row| told(&[(row[0].as_str().unwrap(), row[1].as_str().unwrap())]))
            .collect();
        result.insert(part.clone(), serde_json::json!(said));
    }
    std::fs::write("/tmp/policy_said.json", serde_json::to_string(&result).unwrap()).unwrap();
}
