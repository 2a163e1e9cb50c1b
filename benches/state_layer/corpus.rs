//! Facts as they occur in conversations of a small business, in three languages, as many as are wanted.

use serde_json::{Value, json};

const SLOTS: [(&str, &str); 12] = [
    ("delivery_address", "Rua das Flores, {}, apto 31, entregar na portaria"),
    ("order_total", "R$ {},90 com desconto à vista"),
    ("horario_reuniao", "quinta-feira às 15h30 com a equipe {}"),
    ("direccion_entrega", "Calle Mayor {}, segundo piso, timbre B"),
    ("fecha_limite", "el pedido {} tiene que salir antes del viernes"),
    ("proveedor", "Transportes Ribera {}, contacto por la mañana"),
    ("contract_length", "{} months, renewed every year unless cancelled"),
    ("project_lead", "Dana leads team {} until the end of March"),
    ("max_discount", "Maximum discount is {}% without approval"),
    ("preferred_channel", "customer {} prefers short answers over WhatsApp"),
    ("ticket_status", "ticket OPS-{} is waiting for a part"),
    ("budget_limit", "Must not exceed ${},000 per quarter"),
];

/// The key and value of one fact.
pub(crate) fn fact(number: usize) -> (String, String) {
    let (key, value) = SLOTS[number % SLOTS.len()];
    (format!("{key}_{number}"), value.replace("{}", &(number + 10).to_string()))
}

/// Facts as a batch takes them.
pub(crate) fn batch(numbers: std::ops::Range<usize>) -> Value {
    let facts = numbers.map(|number| {
        let (key, value) = fact(number);
        json!({"key": key, "value": value, "source": {"type": "user"}})
    });
    json!({"facts": facts.collect::<Vec<_>>()})
}

/// What is asked.
pub(crate) const QUERY: &str = "Which address do we deliver to, and what discount can the team approve for order 42?";
