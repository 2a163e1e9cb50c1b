//! What people outside wrote to make a text count as a yes that is none. Each test holds a class of such texts, not the ones
//! that were found alone.

use super::Kind::{No, Yes};
use super::{kind, shipped};

/// Whether a message in this locale, or in any, reads as a yes.
fn is_yes(text: &str, locale: &str) -> bool {
    [None, Some(locale)].iter().any(|locale| kind(&shipped().for_locale(*locale).read(text)) == Yes)
}

/// Said politely they decline, doubt, mock or ask: what a stranger found that had confirmed.
#[test]
fn what_only_sounds_like_a_yes_is_none() {
    let lexicon = shipped();
    for text in [
        "that's ok",
        "that's okay",
        "that's fine",
        "that is ok",
        "va qué va",
        "va, qué va",
        "qué va",
        "tá certo isso",
        "está certo isso",
        "certo isso",
        "tá bom isso",
        "puedes confirmar",
        "moça, confirma",
        "señorita confirma",
        "yes ;)",
        "sim ;)",
    ] {
        assert_ne!(kind(&lexicon.read(text)), Yes, "{text}");
    }
}

/// A request stays one after a yes, a no, or a word of introduction.
#[test]
fn a_request_is_one_wherever_it_begins() {
    let lexicon = shipped();
    for text in [
        "sim, cancela o pedido 456",
        "não, cancela o pedido 456",
        "me cancela o pedido 456",
        "preciso que cancele o 456",
        "sí, cancela el pedido 456",
        "cancélame el pedido 456",
        "puedes cancelarme el pedido 456",
        "se puede cancelar el pedido 456",
        "and cancel order 456",
        "also cancel order 456",
        "ok now cancel order 456",
        "yes, cancel order 456",
        "no, cancel order 456",
    ] {
        assert!(lexicon.begins_request(text), "{text}");
        assert!(!matches!(kind(&lexicon.read(text)), Yes | No), "{text}");
    }
    for text in
        ["don't cancel order 456", "não cancela o pedido 456", "yes, cancel it", "sim, pode cancelar", "ok thanks"]
    {
        assert!(!lexicon.begins_request(text), "{text}");
    }
}

/// *Si* without its accent is *if*: what follows without a pause is a condition, whatever stands before it.
#[test]
fn a_spanish_if_confirms_nothing_that_follows_it() {
    for opening in ["si", "que si", "pues si", "hola que si", "bueno pues si", "ok pues si", "claro que si", "si amigo"]
    {
        for rest in ["acepto", "está bien", "vale", "es correcto", "procede", "todo bien", "genial", "dale"] {
            let text = format!("{opening} {rest}");
            let entered = ["si acepto", "si dale", "claro que si acepto"];
            assert!(!is_yes(&text, "es-MX") || entered.contains(&text.as_str()), "{text}");
            assert!(!is_yes(&text, "es") || entered.contains(&text.as_str()), "{text}");
        }
    }
    for text in ["que sí, acepto", "que sí acepto", "claro que sí, está bien", "sí, vale", "sí acepto", "si si si"]
    {
        assert!(is_yes(text, "es-MX"), "{text}");
    }
}

/// A *si* without accent at the end is a condition that was sent too early.
#[test]
fn a_condition_that_is_cut_off_confirms_nothing() {
    for text in [
        "acepto si",
        "confirmo si",
        "hazlo si",
        "adelante si",
        "de acuerdo si",
        "estoy de acuerdo si",
        "quiero si",
        "señorita que si",
    ] {
        assert!(!is_yes(text, "es-MX"), "{text}");
    }
    for text in ["ok si", "claro si", "acepto sí", "acepto, si"] {
        assert!(is_yes(text, "es-MX"), "{text}");
    }
}

/// A word that says something of the one beside it belongs to that one: thanks, praise and forms of address stay what they are.
#[test]
fn thanks_and_praise_that_are_strengthened_are_no_yes() {
    let english = ["indeed", "absolutely", "definitely", "totally", "it is"];
    let words = ["thank you", "many thanks", "much appreciated", "lovely", "amazing", "very good", "hello"];
    for (word, beside) in english.iter().flat_map(|word| words.map(|beside| (*word, beside))) {
        for text in [format!("{word} {beside}"), format!("{beside} {word}")] {
            assert!(!is_yes(&text, "en-GB"), "{text}");
        }
    }
    for text in ["it is much appreciated", "great deal thanks", "dear roger", "yes it is lovely", "yes i am good"] {
        assert!(!is_yes(text, "en-GB"), "{text}");
    }
    for text in ["sir ji", "please sir ji", "bhai ji", "ji please", "dear sir ji", "madam ji"] {
        assert!(!is_yes(text, "en-IN"), "{text}");
    }
    for beside in ["legal", "top", "massa", "show", "lindo", "show de bola"] {
        for text in [format!("{beside} isso"), format!("tá {beside}"), format!("ah sim {beside}")] {
            assert!(!is_yes(&text, "pt-BR") || text == "tá legal", "{text}");
        }
    }
    for text in [
        "ah sim obrigado",
        "ah sim, bom dia",
        "valeu é isso",
        "obrigado é isso",
        "é isso, boa noite",
        "é isso aí galera",
    ] {
        assert!(!is_yes(text, "pt-BR"), "{text}");
    }
    for text in [
        "eso es genial",
        "así es genial",
        "eso es perfecto",
        "órale güey",
        "órale qué bien",
        "órale genial",
        "va genial",
    ] {
        assert!(!is_yes(text, "es-MX"), "{text}");
    }
    for (text, locale) in [
        ("absolutely", "en"),
        ("yes absolutely", "en"),
        ("yes indeed, thank you", "en"),
        ("definitely, yes", "en"),
        ("isso, obrigada", "pt-BR"),
        ("sim, isso", "pt-BR"),
        ("eso es, sí", "es"),
        ("sí, órale", "es"),
        ("haan ji", "en-IN"),
    ] {
        assert!(is_yes(text, locale), "{text}");
    }
}

/// "Yes, fine, thanks" answers "how are you?".
#[test]
fn how_somebody_is_answers_another_question() {
    for (text, locale) in [
        ("yes fine thanks", "en"),
        ("yes good thanks", "en"),
        ("sim tudo bem obrigado", "pt-BR"),
        ("oi sim tudo bem", "pt-BR"),
        ("sí bien gracias", "es"),
        ("sí todo bien gracias", "es"),
        ("bien gracias, sí", "es"),
        ("hola sí todo bien", "es"),
        ("claro todo bien gracias", "es"),
    ] {
        assert!(!is_yes(text, locale), "{text}");
    }
    for (text, locale) in
        [("yes, fine", "en"), ("sim, tudo certo", "pt-BR"), ("yes perfect thanks", "en"), ("sí, muy bien", "es")]
    {
        assert!(is_yes(text, locale), "{text}");
    }
}

/// What somebody else did or says is no yes of the person who writes.
#[test]
fn what_somebody_else_agreed_to_is_no_yes() {
    for who in ["boss", "my friend", "team", "guys", "madam", "yes boss", "lads"] {
        for did in ["agreed", "confirmed", "agree", "accepted"] {
            let text = format!("{who} {did}");
            assert!(!is_yes(&text, "en-GB"), "{text}");
        }
    }
    for text in ["mi amigo que sí", "jefe que sí", "señora confirma", "jefe confirmado"] {
        assert!(!is_yes(text, "es-MX"), "{text}");
    }
    for (text, locale) in
        [("agreed, boss", "en"), ("boss, agreed", "en"), ("yes, confirmed", "en"), ("que sí, jefe", "es")]
    {
        assert!(is_yes(text, locale), "{text}");
    }
}

/// Accents count for nothing but at the end of a Spanish verb: there they are another person, or another time.
#[test]
fn what_happened_in_the_past_is_no_yes() {
    for text in
        ["confirmó", "aceptó", "autorizó", "lo aceptó", "la aceptó", "que sí aceptó", "confirmé", "Confirmo\u{301}"]
    {
        assert!(!is_yes(text, "es-MX"), "{text}");
    }
    for text in ["confirmo", "acepto", "lo acepto", "olé, sí", "sí, confirmo", "José, sí"] {
        let known = !text.contains("José") && !text.contains("olé");
        assert_eq!(is_yes(text, "es-MX"), known, "{text}");
    }
}

/// Somebody asks to be told that all is well, says thanks, or wants a thing.
#[test]
fn a_request_that_sounds_like_consent_is_no_yes() {
    for (text, locale) in [
        ("confirma tudo certo", "pt-BR"),
        ("pode confirmar tudo certo", "pt-BR"),
        ("confirma bien", "es-MX"),
        ("puede confirmar todo bien", "es-MX"),
        ("please correct", "en-IN"),
        ("kindly correct", "en-IN"),
        ("sir kindly correct", "en-IN"),
        ("yes please correct", "en-IN"),
        ("i do appreciate it", "en"),
        ("i do appreciate it thanks", "en"),
        ("i would appreciate it", "en"),
        ("quero massa", "pt-BR"),
        ("quero flor", "pt-BR"),
        ("quiero lista", "es-MX"),
    ] {
        assert!(!is_yes(text, locale), "{text}");
    }
    for (text, locale) in
        [("quero, obrigada", "pt-BR"), ("sim, quero", "pt-BR"), ("quero por favor", "pt-BR"), ("i do", "en")]
    {
        assert!(is_yes(text, locale), "{text}");
    }
}
