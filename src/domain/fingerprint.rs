//! Target fingerprints: what binds a "yes" to exactly this command on exactly this target.

use serde_json::{Map, Value};

use super::canonical::{Digest, Purpose, canonical, keyed};
use super::id::{CommandName, IdempotencyKey};

/// A field that policy calls material is missing from the target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the target lacks the material field {field}")]
pub struct MissingField {
    /// Its dotted path.
    pub field: String,
}

/// The part of the target that the fingerprint covers: the material fields policy lists, or all of it.
pub fn material(target: &Value, material_fields: &[String]) -> Result<Value, MissingField> {
    if material_fields.is_empty() {
        return Ok(target.clone());
    }
    let mut covered = Map::new();
    for field in material_fields {
        let value = field.split('.').try_fold(target, |value, name| value.get(name));
        let value = value.filter(|value| !value.is_null()).ok_or_else(|| MissingField { field: field.clone() })?;
        covered.insert(field.clone(), value.clone());
    }
    Ok(Value::Object(covered))
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

    fn print(target: &Value, fields: &[&str]) -> String {
        let fields: Vec<String> = fields.iter().map(|f| (*f).to_owned()).collect();
        let name = CommandName::new("payment.send").unwrap();
        let key = IdempotencyKey::new("k-1").unwrap();
        fingerprint(&Digest::from_bytes([9; 32]), &name, &key, &material(target, &fields).unwrap())
    }

    #[test]
    fn every_material_field_changes_it_and_no_other_does() {
        let target = json!({"amount": "82000", "payee": {"iban": "X1"}, "note": "a"});
        let fields = ["amount", "payee.iban"];
        let base = print(&target, &fields);
        assert_ne!(base, print(&json!({"amount": "820000", "payee": {"iban": "X1"}, "note": "a"}), &fields));
        assert_ne!(base, print(&json!({"amount": "82000", "payee": {"iban": "X2"}, "note": "a"}), &fields));
        assert_eq!(base, print(&json!({"amount": "82000", "payee": {"iban": "X1"}, "note": "b"}), &fields));
    }

    #[test]
    fn without_a_list_everything_is_material() {
        assert_ne!(print(&json!({"a": 1}), &[]), print(&json!({"a": 1, "b": null}), &[]));
        assert_ne!(
            print(&json!({"a": "é"}), &[]),
            print(&json!({"a": "e\u{301}"}), &[]),
            "NFC and NFD are different targets"
        );
    }

    #[test]
    fn a_missing_or_null_material_field_is_named() {
        let fields = ["order_id".to_owned()];
        assert_eq!(material(&json!({"order_id": null}), &fields).unwrap_err().field, "order_id");
        assert_eq!(material(&json!("text"), &fields).unwrap_err().field, "order_id");
    }
}
