//! Reading one pack: strict text, form, and the hash that names it.

use std::fmt::Write as _;
use std::time::Instant;

use super::{MAX_FILE_BYTES, read_pack, shipped};

const BASIC: &str = shipped::PACKS[0].1;

fn complaints(file: &str, text: &str) -> Vec<String> {
    match read_pack(file, text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

#[test]
fn the_hash_of_basic_is_what_it_was() {
    let pack = read_pack("basic.yaml", BASIC).unwrap();
    // Also computed from the file with another language's YAML and canonical JSON libraries.
    assert_eq!(pack.reference().hash, "sha256:2d9b6cd0bd612e7947c55d1e7ef66856d519b39125d42c7bdd0b8c00c9822a8f");
    assert_eq!(pack.reference().version, "1.2.0");
}

#[test]
fn comments_and_spelling_of_numbers_do_not_change_the_hash_and_rules_do() {
    let hash = |text: &str| read_pack("x.yaml", text).unwrap().reference().hash.clone();
    let noted = BASIC
        .replace("0.9 }", "0.90 } # high")
        .replace("1800", "1800.0")
        .replace("future_tolerance_seconds: 2", "future_tolerance_seconds: 2.0");
    assert_ne!(noted, BASIC);
    assert_eq!(hash(&noted), hash(BASIC));
    assert_ne!(hash(&BASIC.replace("1800", "1801")), hash(BASIC));
}

#[test]
fn json_is_read_like_yaml() {
    let value: serde_json::Value = serde_saphyr::from_str(BASIC).unwrap();
    let json = serde_json::to_string_pretty(&value).unwrap();
    let (one, other) = (read_pack("b.yaml", BASIC).unwrap(), read_pack("b.JSON", &json).unwrap());
    assert_eq!(one.pack(), other.pack());
    assert_eq!(one.reference(), other.reference());
    let twice = json.replacen("\"pack_id\"", "\"pack_id\": \"a\", \"pack_id\"", 1);
    let said = complaints("b.json", &twice);
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("the same member twice"), "{said:?}");
    assert!(said[0].starts_with("b.json:"), "{said:?}");
}

#[test]
fn a_duplicate_key_is_refused_with_its_line() {
    let text = BASIC.replace("  bind_within_seconds: 60", "  bind_within_seconds: 60\n  ttl_seconds: 10");
    let said = complaints("a.yaml", &text);
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].starts_with("a.yaml:19:3: this is not YAML the reader takes"), "{said:?}");
    assert!(said[0].contains("duplicate"), "{said:?}");
}

#[test]
fn only_true_and_false_are_booleans() {
    let said = complaints("a.yaml", &BASIC.replace("reactions: false", "reactions: no"));
    assert_eq!(said, ["a.yaml:71:3 /answers/reactions: \"no\" is not of type \"boolean\". Write true or false."]);
}

#[test]
fn anchors_are_refused_even_unused() {
    let said = complaints("a.yaml", &BASIC.replace("pack_id: basic", "pack_id: &name basic"));
    assert_eq!(said.len(), 1, "{said:?}");
    assert!(said[0].contains("no anchors or aliases"), "{said:?}");
}

#[test]
fn bombs_are_refused_quickly() {
    let mut aliases = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for n in 1..9 {
        let before = format!("*a{}", n - 1);
        writeln!(aliases, "a{n}: &a{n} [{}]", [before.as_str(); 9].join(", ")).unwrap();
    }
    let bombs = [
        aliases,
        "[".repeat(100_000),
        format!("{}1{}", "{a: ".repeat(5_000), "}".repeat(5_000)),
        format!("[{}]", "1,".repeat(100_000)),
        "x".repeat(MAX_FILE_BYTES + 1),
        "- ".repeat(50_000),
        "a: 1\n---\nb: 2\n".to_owned(),
        "a: .nan\n".to_owned(),
        "a: 340282366920938463463374607431768211456\n".to_owned(),
        String::new(),
    ];
    for bomb in bombs {
        for file in ["bomb.yaml", "bomb.json"] {
            let start = Instant::now();
            assert!(!complaints(file, &bomb).is_empty(), "{file}");
            assert!(start.elapsed().as_millis() < 1_500, "{file}: {:?}", start.elapsed());
        }
    }
}

#[test]
fn hostile_patterns_are_refused_quickly() {
    for pattern in ["(a)\\\\1", "(?=x)y", "(\\\\p{L}{1,500}){1,50}", "["] {
        let text = BASIC.replace(
            "active_target: { type: any, max_bytes: 512 }",
            &format!("active_target: {{ type: string, max_bytes: 512, pattern: \"{pattern}\" }}"),
        );
        assert_ne!(text, BASIC);
        let start = Instant::now();
        let said = complaints("a.yaml", &text);
        assert_eq!(said.len(), 1, "{pattern}: {said:?}");
        assert!(
            said[0].starts_with("a.yaml:89:52 /slots/shapes/active_target/pattern: this is not a regular expression"),
            "{said:?}"
        );
        assert!(start.elapsed().as_millis() < 1_500, "{pattern}: {:?}", start.elapsed());
    }
}

#[test]
fn complaints_stay_short_and_few() {
    let long = BASIC.replace("pack_id: basic", &format!("pack_id: {}", "é".repeat(100_000)));
    let said = complaints("a.yaml", &long);
    assert_eq!(said.len(), 1);
    assert!(said[0].chars().count() < 400, "{}", said[0]);

    let many: String = (0..5_000).fold(BASIC.to_owned(), |text, n| text + &format!("x{n}: 1\n"));
    let said = complaints("a.yaml", &many);
    assert_eq!(said.len(), 101);
    assert_eq!(said[100], "a.yaml: 4900 more complaints are not shown. Mend the ones above first.");
}
