//! A strict YAML reader: duplicate keys, anchors, merges and second documents are errors; only `true` and `false` are
//! booleans; sizes and depths are bounded.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};

use super::text::{Document, MAX_FILE_BYTES, below, count, number};
use crate::domain::policy::PolicyError;

/// The most values in one file.
const MAX_NODES: usize = 20_000;
const MAX_DEPTH: usize = 16;

pub(super) fn read(text: &str) -> Result<Document, PolicyError> {
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_nodes: MAX_NODES,
            max_events: 3 * MAX_NODES,
            max_depth: MAX_DEPTH,
            max_aliases: 0,
            max_anchors: 0,
            max_merge_keys: 0,
            max_documents: 1,
            max_total_scalar_bytes: MAX_FILE_BYTES,
        },
    };
    let tree: Spanned<Tree> = serde_saphyr::from_str_with_options(text, options).map_err(|error| complaint(&error))?;
    let mut places = HashMap::new();
    let value = unfold(tree, String::new(), None, &mut places);
    Ok(Document { value, places })
}

fn complaint(error: &serde_saphyr::Error) -> PolicyError {
    let place = error.location();
    let text = error.without_snippet().to_string();
    let first_line = text.lines().next().unwrap_or_default();
    PolicyError {
        line: place.map(|at| count(at.line())),
        column: place.map(|at| count(at.column())),
        ..PolicyError::at(
            "",
            format!("this is not YAML the reader takes ({first_line})"),
            "Write plain YAML: each key once, no anchors or aliases, one document, `true` and `false` for booleans.",
        )
    }
}

enum Tree {
    Leaf(Value),
    List(Vec<Spanned<Tree>>),
    Map(Vec<(Spanned<String>, Spanned<Tree>)>),
}

fn unfold(
    tree: Spanned<Tree>,
    pointer: String,
    key_at: Option<Location>,
    places: &mut HashMap<String, (u32, u32)>,
) -> Value {
    let at = key_at.unwrap_or(tree.referenced);
    let value = match tree.value {
        Tree::Leaf(value) => value,
        Tree::List(items) => items
            .into_iter()
            .enumerate()
            .map(|(n, item)| unfold(item, format!("{pointer}/{n}"), None, places))
            .collect(),
        Tree::Map(members) => {
            let mut map = Map::new();
            for (key, member) in members {
                let inner = below(&pointer, &key.value);
                let member = unfold(member, inner, Some(key.referenced), places);
                map.insert(key.value, member);
            }
            Value::Object(map)
        }
    };
    places.insert(pointer, (count(at.line()), count(at.column())));
    value
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Leaf(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Tree, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Leaf(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Tree, E> {
        Ok(Tree::Leaf(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Tree, E> {
        Ok(Tree::Leaf(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Tree, E> {
        let number = number(value).ok_or_else(|| E::custom("a number must be finite"))?;
        Ok(Tree::Leaf(Value::Number(number)))
    }

    fn visit_str<E>(self, value: &str) -> Result<Tree, E> {
        Ok(Tree::Leaf(value.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Tree, A::Error> {
        let mut map: Vec<(Spanned<String>, Spanned<Tree>)> = Vec::new();
        while let Some(key) = members.next_key::<Spanned<String>>()? {
            // The YAML library refuses duplicates as well; this check does not depend on its settings.
            if map.iter().any(|(earlier, _)| earlier.value == key.value) {
                return Err(A::Error::custom(format!("duplicate key `{}`", key.value)));
            }
            map.push((key, members.next_value()?));
        }
        Ok(Tree::Map(map))
    }
}
