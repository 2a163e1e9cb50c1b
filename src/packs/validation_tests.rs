//! One bad pack per rule: how it is made from `basic`, and how it is judged. The rows are in `form_tests` and `meaning_tests`.

use super::{read_pack, shipped};

const BASIC: &str = shipped::PACKS[0].1;
pub(super) const S1: &str = "  S1: { confirmation: required, bare_answers: true, approval: none }";
pub(super) const S2: &str = "  S2: { confirmation: required, bare_answers: false, approval: none }";
pub(super) const S3: &str = "  S3: { confirmation: required, bare_answers: false, approval: none }";
pub(super) const CANCEL: &str = "{ name: order.cancel, group: orders, class: S2 }";

/// The text with every command in one line, and without the words that name it.
fn plainly(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut entry: Option<Vec<&str>> = None;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("  - name: ") {
            lines.extend(entry.take().map(|entry| in_one_line(&entry)));
            entry = Some(vec!["name", name]);
            continue;
        }
        let member = line.strip_prefix("    ").and_then(|member| member.split_once(": "));
        match (&mut entry, member) {
            (Some(entry), Some((name, value))) if name.chars().all(char::is_alphabetic) => entry.extend([name, value]),
            (Some(_), _) if line.starts_with("    ") => {}
            _ => {
                lines.extend(entry.take().map(|entry| in_one_line(&entry)));
                lines.push(line.to_owned());
            }
        }
    }
    lines.join("\n") + "\n"
}

fn in_one_line(entry: &[&str]) -> String {
    let members: Vec<String> = entry.chunks(2).map(|member| member.join(": ")).collect();
    format!("  - {{ {} }}", members.join(", "))
}

/// `basic` with some text replaced, and everything that is said about it.
fn told(changes: &[(&str, &str)]) -> Vec<String> {
    let mut text = plainly(BASIC);
    for (from, to) in changes {
        assert_eq!(text.matches(from).count(), 1, "`{from}` must occur once");
        text = text.replace(from, to);
    }
    match read_pack("p.yaml", &text) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.iter().map(ToString::to_string).collect(),
    }
}

/// Changes to `basic`, and all that must be said about them.
pub(super) type Row = (&'static [(&'static str, &'static str)], &'static [&'static str]);

pub(super) fn check(rows: &[Row]) {
    for (changes, expected) in rows {
        assert_eq!(told(changes), *expected, "{changes:?}");
    }
}
