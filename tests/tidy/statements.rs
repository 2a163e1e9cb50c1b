//! What statements of PostgreSQL may not do.

use crate::{Finding, SourceFile, expect_none, files_in};

/// The one file that may: it says why nobody else does.
const HOME: &str = "src/storage/sql/json.rs";

/// A cast of a stored text to `json` or `jsonb`. It fails for every row at once where one body holds U+0000.
fn bare_casts(file: &SourceFile) -> Vec<Finding> {
    let text = file.text.to_lowercase();
    let lines = text.lines().zip(1..).filter(|(line, _)| {
        let code = line.split("//").next().unwrap_or_default().replace("serde_json::json", "");
        let flat: String = code.chars().filter(|c| !c.is_whitespace()).collect();
        let import = code.trim_start().starts_with("use ");
        !import && (flat.contains("::json") || flat.contains("cast(") && flat.contains("asjson"))
    });
    lines.map(|(_, line)| Finding::new(&file.path, line, "take a body apart with `jsonb!`")).collect()
}

#[test]
fn statements_take_bodies_apart_in_one_way_only() {
    let files = files_in("src/storage");
    assert!(files.iter().any(|file| file.path == HOME && file.text.contains("::jsonb")));
    let findings = files.iter().filter(|file| file.path != HOME).flat_map(bare_casts).collect::<Vec<_>>();
    expect_none(&findings);
}

#[test]
fn bare_casts_are_found() {
    let found = |text: &str| bare_casts(&SourceFile::new("src/storage/postgres/a.rs", text)).len();
    for cast in ["body::jsonb ->> 'a'", "m.body :: json", "CAST(body AS jsonb)", "body::JSON"] {
        assert_eq!(found(cast), 1, "{cast}");
    }
    for other in ["use super::json::jsonb;", "serde_json::json!({})", "jsonb!(\"body\")", "jsonb_set(a, b, c)"] {
        assert_eq!(found(other), 0, "{other}");
    }
}
