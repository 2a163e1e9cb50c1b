//! Comparing two rows: which members of the bodies and which columns differ.

use serde_json::Value;

use crate::domain::canonical::canonical;
use crate::storage::LiveRow;

use super::report::How;

/// The most differing places reported for one row.
const PLACES: usize = 8;

/// How a live row differs from the derived one; none if it does not.
pub(super) fn difference(derived: &LiveRow, live: &LiveRow) -> Option<How> {
    let mut members = Vec::new();
    places(&derived.body, &live.body, &mut String::new(), &mut members);
    // A value without a column of its own is in the body only.
    let kept = live.columns.as_object().into_iter().flatten();
    let columns: Vec<String> = kept
        .filter(|(name, column)| derived.columns.get(name.as_str()).unwrap_or(&Value::Null) != *column)
        .map(|(name, _)| name.clone())
        .collect();
    let same = members.is_empty() && columns.is_empty();
    (!same).then_some(How::Changed { members, columns })
}

/// Places at which two values differ, as JSON pointers.
fn places(derived: &Value, live: &Value, here: &mut String, found: &mut Vec<String>) {
    if found.len() >= PLACES {
        return;
    }
    match (derived, live) {
        (Value::Object(derived), Value::Object(live)) => {
            let names = derived.keys().chain(live.keys().filter(|name| !derived.contains_key(*name)));
            for name in names {
                let (one, other) = (derived.get(name), live.get(name));
                deeper(here, &name.replace('~', "~0").replace('/', "~1"), one, other, found);
            }
        }
        (Value::Array(derived), Value::Array(live)) => {
            for at in 0..derived.len().max(live.len()) {
                deeper(here, &at.to_string(), derived.get(at), live.get(at), found);
            }
        }
        (derived, live) if same(derived, live) => {}
        _ => found.push(here.clone()),
    }
}

fn deeper(here: &mut String, name: &str, one: Option<&Value>, other: Option<&Value>, found: &mut Vec<String>) {
    let length = here.len();
    here.push('/');
    here.push_str(name);
    match (one, other) {
        (Some(one), Some(other)) => places(one, other, here, found),
        _ if found.len() < PLACES => found.push(here.clone()),
        _ => {}
    }
    here.truncate(length);
}

/// Numbers are in canonical form in the log and as received in rows: 1.0 and 1 are the same number.
fn same(derived: &Value, live: &Value) -> bool {
    derived == live || (derived.is_number() && live.is_number() && canonical(derived) == canonical(live))
}

/// The path without text that a caller could have chosen: it stops where callers' content begins and at anything that
/// does not look like a member's name.
#[must_use]
pub fn covered(pointer: &str) -> String {
    const FREE: [&str; 4] = ["extensions", "value", "content", "target"];
    let mut told = String::new();
    for part in pointer.split('/').skip(1) {
        let is_name = part.len() <= 40
            && part.starts_with(|c: char| c.is_ascii_lowercase())
            && part.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
        let is_place = part.len() <= 4 && part.chars().all(|c| c.is_ascii_digit());
        told.push('/');
        told.push_str(if is_name || is_place { part } else { "*" });
        if FREE.contains(&part) {
            break;
        }
    }
    told
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::storage::LiveTable;

    fn row(columns: Value, body: Value) -> LiveRow {
        LiveRow { table: LiveTable::Contexts, id: "ctx_1".to_owned(), columns, body }
    }

    fn members(derived: Value, live: Value) -> Vec<String> {
        match difference(&row(json!({}), derived), &row(json!({}), live)) {
            Some(How::Changed { members, .. }) => members,
            _ => Vec::new(),
        }
    }

    #[test]
    fn the_place_that_differs_is_named() {
        let cases = [
            (json!({"a": 1}), json!({"a": 1}), vec![]),
            (json!({"a": 1}), json!({"a": 1.0}), vec![]),
            (json!({"a": 1}), json!({"a": 2}), vec!["/a"]),
            (json!({"a": 1}), json!({"a": "1"}), vec!["/a"]),
            (json!({"a": {"b": [1, 2]}}), json!({"a": {"b": [1, 3]}}), vec!["/a/b/1"]),
            (json!({"a": [1]}), json!({"a": [1, 2]}), vec!["/a/1"]),
            (json!({"a": 1}), json!({"a": 1, "b": 2}), vec!["/b"]),
            (json!({"a": 1, "b": null}), json!({"a": 1}), vec!["/b"]),
            (json!({"a/b~c": 1}), json!({"a/b~c": 2}), vec!["/a~1b~0c"]),
            (json!({"a": 1}), json!("not JSON"), vec![""]),
        ];
        for (derived, live, expected) in cases {
            assert_eq!(members(derived.clone(), live.clone()), expected, "{derived} {live}");
        }
    }

    #[test]
    fn a_column_that_a_database_does_not_keep_is_not_asked_for() {
        let derived = row(json!({"status": "active", "last_item_id": null}), json!({}));
        assert_eq!(difference(&derived, &row(json!({"status": "active"}), json!({}))), None);
        let changed = difference(&derived, &row(json!({"status": "closed"}), json!({})));
        assert_eq!(changed, Some(How::Changed { members: vec![], columns: vec!["status".to_owned()] }));
        let unknown = difference(&derived, &row(json!({"colour": "red"}), json!({})));
        assert!(unknown.is_some(), "a column that no row of ours has");
    }

    #[test]
    fn a_place_is_told_without_what_callers_put_into_it() {
        for (pointer, told) in [
            ("/slots/order_id", "/slots/order_id"),
            ("/slots/Ana Souza", "/slots/*"),
            ("/slots/5511999990000", "/slots/*"),
            ("/prompts/0/message_id", "/prompts/0/message_id"),
            ("/extensions/ana/phone", "/extensions"),
            ("/value/anything", "/value"),
            ("", ""),
        ] {
            assert_eq!(covered(pointer), told);
        }
    }
}
