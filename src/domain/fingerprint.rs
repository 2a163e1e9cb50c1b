//! Target fingerprints: what binds a "yes" to exactly this command on exactly this target.

use std::borrow::Cow;

use serde_json::Value;

use super::canonical::{Digest, Purpose, canonical, keyed};
use super::id::{CommandName, IdempotencyKey};
use super::policy::ImmaterialFields;

/// The part of the target that the fingerprint covers: all of it but for the fields that policy calls immaterial.
///
/// A path that names nothing takes nothing away. What held an immaterial member stays, empty if nothing else was in it,
/// so that its own coming and going is still a change.
#[must_use]
pub fn material<'a>(target: &'a Value, immaterial: &ImmaterialFields) -> Cow<'a, Value> {
    if immaterial.is_empty() {
        return Cow::Borrowed(target);
    }
    let mut covered = target.clone();
    for path in immaterial.paths() {
        remove(&mut covered, path);
    }
    Cow::Owned(covered)
}

/// Takes away the member that a path names. Only objects have members with names, so a list on the way ends it.
fn remove(target: &mut Value, path: &str) {
    let (holder, name) = match path.rsplit_once('.') {
        Some((above, name)) => (above.split('.').try_fold(target, |value, name| value.get_mut(name)), name),
        None => (Some(target), path),
    };
    if let Some(Value::Object(members)) = holder {
        members.remove(name);
    }
}

/// The keyed digest over command name, idempotency key and the covered part of the target.
#[must_use]
pub fn fingerprint(key: &Digest, name: &CommandName, idempotency_key: &IdempotencyKey, covered: &Value) -> String {
    let body =
        serde_json::json!({"idempotency_key": idempotency_key.as_str(), "name": name.as_str(), "target": covered});
    format!("hmac-sha256:{}", keyed(key, Purpose::Fingerprint, &canonical(&body)).to_hex())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn immaterial(paths: &[&str]) -> ImmaterialFields {
        paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>().into()
    }

    fn print(target: &Value, paths: &[&str]) -> String {
        let name = CommandName::new("payment.send").unwrap();
        let key = IdempotencyKey::new("k-1").unwrap();
        fingerprint(&Digest::from_bytes([9; 32]), &name, &key, &material(target, &immaterial(paths)))
    }

    #[test]
    fn every_field_changes_it_but_for_those_that_are_listed() {
        let target = json!({"amount": "82000", "payee": {"iban": "X1", "nickname": "Zé"}, "note": "a"});
        let paths = ["note", "payee.nickname"];
        let changed = |pointer: &str, value: Value| {
            let mut other = target.clone();
            *other.pointer_mut(pointer).unwrap() = value;
            print(&other, &paths) != print(&target, &paths)
        };
        assert!(changed("/amount", json!("820000")));
        assert!(changed("/payee/iban", json!("X2")));
        assert!(changed("/payee", json!({"iban": "X1", "nickname": "Zé", "bank": "9"})));
        assert!(!changed("/note", json!({"b": 1})));
        assert!(!changed("/payee/nickname", json!(null)));
        assert!(!changed("/payee", json!({"iban": "X1"})), "the nickname may go");
    }

    #[test]
    fn without_a_list_everything_is_material() {
        for (one, other) in [
            (json!({"a": 1}), json!({"a": 1, "b": null})),
            (json!({"a": "é"}), json!({"a": "e\u{301}"})),
            (json!({"a": [1, 2]}), json!({"a": [2, 1]})),
            (json!(null), json!({})),
        ] {
            assert_ne!(print(&one, &[]), print(&other, &[]), "{one} {other}");
        }
    }

    #[test]
    fn what_a_path_takes_away() {
        for (paths, target, left) in [
            (&["note"][..], json!({"a": 1, "note": [1]}), json!({"a": 1})),
            (&["note"], json!({"a": 1, "note": null}), json!({"a": 1})),
            (&["note"], json!({"a": {"note": 1}}), json!({"a": {"note": 1}})),
            (&["payee.nickname"], json!({"payee": {"nickname": "x"}}), json!({"payee": {}})),
            (&["payee.nickname"], json!({"payee": null}), json!({"payee": null})),
            (&["payee.nickname"], json!({"payee": "nickname"}), json!({"payee": "nickname"})),
            (&["payee.nickname"], json!({"payee.nickname": "x"}), json!({"payee.nickname": "x"})),
            (&["items.note"], json!({"items": [{"note": 1}]}), json!({"items": [{"note": 1}]})),
            (&["items.0"], json!({"items": [1, 2]}), json!({"items": [1, 2]})),
            (&["a.b.c", "a.d"], json!({"a": {"b": {"c": 1, "e": 2}, "d": 3}}), json!({"a": {"b": {"e": 2}}})),
            (&["note"], json!("note"), json!("note")),
            (&["note"], json!([{"note": 1}]), json!([{"note": 1}])),
        ] {
            assert_eq!(*material(&target, &immaterial(paths)), left, "{paths:?} of {target}");
        }
    }
}
