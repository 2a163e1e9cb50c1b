//! Bodies at their limits.

use std::fmt::Write as _;

use cscp::domain::time::Clock as _;
use cscp::system::SystemClock;
use serde_json::{Value, json};

/// A message of somebody, in a conversation.
pub(crate) fn message(run: &str, number: u64, conversation: u64) -> Value {
    json!({
        "message_id": format!("wamid.{run}.{number}"), "conversation_id": format!("conv-{run}-{conversation}"),
        "actor_id": format!("person-{run}-{conversation}"), "kind": "text", "sent_at": SystemClock.now().to_string(),
        "text": "please send it to my home address",
    })
}

/// A text of so many bytes, in words, with numbers that tell it from others.
pub(crate) fn words(seed: usize, bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 32);
    let mut number = seed;
    while text.len() < bytes {
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = ["the address", "costs", "R$", "must not", "Rua das Flores", "until friday", "not", "desconto"];
        text.push_str(word[number >> 33 & 7]);
        write!(text, " {} ", number >> 40 & 0xfff).unwrap();
    }
    text.truncate(bytes);
    text.trim_end().to_owned() + "."
}

/// A fact that depends on others.
pub(crate) fn based(number: usize, bases: impl Iterator<Item = String>) -> Value {
    json!({"key": format!("k{number}"), "value": format!("v {number}"), "depends_on": bases.collect::<Vec<_>>()})
}

/// So many facts, each based on as many before it as may be.
pub(crate) fn ladder(facts: usize, bases: usize) -> Value {
    let facts = (0..facts).map(|n| based(n, (n.saturating_sub(bases)..n).map(|base| format!("k{base}"))));
    json!({"facts": facts.collect::<Vec<_>>()})
}

/// Facts with short values of their own.
pub(crate) fn small(numbers: std::ops::Range<usize>) -> Value {
    let facts = numbers.map(|n| json!({"key": format!("slot_{n}"), "value": format!("value number {n} of the shop")}));
    json!({"facts": facts.collect::<Vec<_>>()})
}

/// Facts with values of so many bytes.
pub(crate) fn large(numbers: std::ops::Range<usize>, bytes: usize) -> Value {
    let facts = numbers.map(|n| json!({"key": format!("large_{n}"), "value": words(n, bytes)}));
    json!({"facts": facts.collect::<Vec<_>>()})
}

/// The same, of words that neither bind nor take anything back.
pub(crate) fn plain(numbers: std::ops::Range<usize>, bytes: usize) -> Value {
    let text = |n: usize| {
        let words = (0..).map(|word| format!("address{} ", (n * 31 + word * 17) % 997));
        let mut text = String::with_capacity(bytes + 16);
        words.take(bytes / 9).for_each(|word| text.push_str(&word));
        text.truncate(bytes);
        text
    };
    let facts = numbers.map(|n| json!({"key": format!("large_{n}"), "value": text(n)}));
    json!({"facts": facts.collect::<Vec<_>>()})
}
