//! Which messages answer, with the lexicons as shipped.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use cscp::domain::lexicon::{Composing, Lexicon, LexiconFile, Reading, normalise, read_number};
use proptest::prelude::*;

mod answers;
mod characters;
mod outside;
mod withdrawals;

const PT: &str = include_str!("../../policies/lexicons/pt-BR.yaml");
const ES: &str = include_str!("../../policies/lexicons/es.yaml");
const EN: &str = include_str!("../../policies/lexicons/en.yaml");

fn files() -> Vec<LexiconFile> {
    [PT, ES, EN].map(|text| serde_saphyr::from_str(text).unwrap()).into()
}

fn shipped() -> &'static Lexicon {
    static LEXICON: std::sync::OnceLock<Lexicon> = std::sync::OnceLock::new();
    LEXICON.get_or_init(|| Lexicon::build(&files()).unwrap())
}

#[derive(Debug, Clone, Copy, PartialEq)]
#[rustfmt::skip]
enum Kind { Yes, No, Qualified, Other }
use Kind::{No, Other, Qualified, Yes};

fn kind(reading: &Reading) -> Kind {
    match reading {
        Reading::Affirmative { .. } => Yes,
        Reading::Negative { .. } => No,
        Reading::Qualified { .. } => Qualified,
        Reading::Other => Other,
    }
}

fn check(lexicon: &Lexicon, expected: Kind, texts: &[&str]) {
    let read = texts.iter().map(|text| (*text, lexicon.read(text)));
    let wrong: Vec<_> = read.filter(|(_, reading)| kind(reading) != expected).collect();
    assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
}

#[test]
fn a_plain_yes_confirms() {
    #[rustfmt::skip]
    check(shipped(), Yes, &[
        "sim", "Sim", "SIM!", " sim. ", "sim!!!", "*sim*", "_Sim_", "\"sim\"", "s", "S", "ss", "sss",
        "simm", "siiiim", "SIMMMM", "sim sim", "Sim, sim, simmm", "sim senhor", "claro", "claroooo",
        "claro que sim", "com certeza", "pode", "pode sim", "Pode mandar", "confirmo",
        "Confirmado.", "eu confirmo", "sim, confirmo", "isso", "issooo", "Isso mesmo!", "é isso aí",
        "blz", "blzzz", "beleza", "fechado", "bora", "tá bom", "ta bom", "tá ok", "manda ver",
        "de acordo", "aceito", "sim, por favor", "Sim por favor!", "sim obrigada", "quero", "quero sim",
        "ok", "OK", "Ok.", "okk", "okkkk", "o.k.", "okay", "okayyy", "okey",
        "sí", "Sí", "si", "SI", "síííí", "siii", "¡Sí!", "sí sí", "si, por favor", "sí señor", "dale",
        "dale dale", "daleee", "vale", "vale vale", "de acuerdo", "está bien", "esta bien",
        "claro que sí", "por supuesto", "así es", "adelante", "hágalo", "acepto", "sí, confirmo",
        "yes", "Yes!", "YES", "yess", "yesss", "yep", "yeah", "yeahhh", "yup", "sure", "Sure thing",
        "go ahead", "Do it", "confirm", "confirmed", "yes please", "Yes, please!", "that's right",
        "That’s right", "thats right", "yes ma'am", "of course", "sounds good", "all right",
        "👍", "👍👍👍", "👍🏽", "👍🏿👍🏻", "👍️", "✅", "✅✅", "👌", "✔️", "☑️", "🆗", "👍 ✅",
        "sim 👍", "👍 sim", "sim👍👍", "sim ✅👍🏾", "👍 ok 👍", "yes 👍", "sí 👌🏼", "sim 🙏", "sim 🙏🏽🙏🏽",
        "ＳＩＭ", "ｓｉｍ", "\u{200F}sim\u{200F}", "\u{202A}ok\u{202C}",
        "sim.", "sim!", "sim!!", "sim❗", "sim :)", "ok :-)", "(sim)", "- sim",
        "si\u{301}", "sim\n", "sim\r\n\t", "sim\u{A0}", "𝐬𝐢𝐦",
    ]);
}

#[test]
fn a_plain_no_declines() {
    #[rustfmt::skip]
    check(shipped(), No, &[
        "não", "nao", "Não!", "NÃO", "nãooo", "naoooo", "na\u{303}o", "n", "nn", "não não", "não, não, não",
        "não obrigado", "Não, obrigada.", "não quero", "não confirmo", "não autorizo", "cancela",
        "Cancelaaa", "cancelar", "pode cancelar", "deixa pra lá", "deixa", "nem", "nem pensar",
        "negativo", "claro que não", "com certeza não", "de jeito nenhum", "agora não", "melhor não",
        "desisto", "não ok", "não pode",
        "no", "No.", "nooo", "no no", "no gracias", "No, gracias", "no quiero", "no acepto",
        "no está bien", "no ok", "claro que no", "que no", "para nada", "mejor no", "cancélalo", "ahora no",
        "nope", "nah", "no thanks", "No, thank you", "cancel", "cancel it", "stop", "don't", "dont",
        "don’t", "don´t", "DON'T DO IT", "never mind", "not ok", "no way", "not now",
        "👎", "👎🏿👎🏿", "❌", "❌❌❌", "🚫", "🙅", "🙅🏽‍♀️", "🙅‍♂️", "não 👎", "👎 no", "no ❌❌", "Ｎ\u{C3}Ｏ",
    ]);
}

#[test]
fn an_answer_that_says_more_never_binds() {
    #[rustfmt::skip]
    check(shipped(), Qualified, &[
        // Taken back, or on a condition.
        "sim, mas só amanhã", "sim mas", "ok mas muda o endereço para a rua de cima por favor",
        "sim, se chegar hoje", "pode ser, só que depois das 18h porque estou trabalhando",
        "sí pero no", "sí, pero mañana", "vale, pero cambia la dirección de entrega a la otra",
        "yes but", "yes, but tomorrow", "yes if it arrives before friday at the latest please",
        "ok wait", "no wait", "yes, wait", "sim espera", "ok, actually I'd like to change the colour",
        // Hedged.
        "pode ser", "Pode ser!", "sim pode ser", "ok pode ser", "pode ser sim", "acho que sim", "sim, acho", "talvez sim",
        "creo que sí", "supongo que sí", "sí, supongo", "sí, puede ser", "ok, tal vez", "yes I guess", "I guess yes",
        "yes maybe", "ok I suppose", "sure, could be", "yes, I think so, if nobody else is against it today",
        // Both.
        "sim e não", "sim não", "sim/não", "não, sim", "s/n", "y/n", "sí o no", "yes no", "sim 👎",
        "👍👎", "👎 sim", "👍 não", "👍 sim 👎", "ok ❌", "sim, quer dizer, pensando bem acho que não",
        // Asked.
        "sim?", "Sim??", "sim ?", "não?", "ok?", "yes?", "¿sí?", "¿si", "pode?", "vale?", "👍?", "👍❓",
        "sim!?", "sim⁉️", "ok？", "yes؟", "confirmo?", "sim sim?", "sim⹔", "sim⳺", "sim꘏", "sim \u{1F679}", "sim𞥟",
        // Negated.
        "ok não", "não sim", "pode não", "nunca ok", "sim n", "pode n",
        // A negative that is negated.
        "não cancela", "nao cancelar", "no cancela", "no cancel", "don't cancel",
        "não deixa", "não para não",
        // Saying something more.
        "sim 🤔", "ok 🙄", "sim 😂", "ok kkkk", "ok obrigado", "ok gracias", "ok thanks", "sim 2",
        "não sei", "não entendi", "no entiendo", "no sé", "sim amanhã", "não é não", "ainda não",
        "not sure", "si puede", "si vale", "si está bien", "https://example.com/sim", "sim ≠", "sim ¬", "sim + frete", "sim 100%", "sim amor",
        "ok pare", "quase ok", "pode esperar?", "pode esperar", "no-one", "isso não é isso", "sim dale",
        // As WhatsApp shows it: struck through, quoted.
        "~sim~", "~sim~ 👍", "> sim", "~ok~", "sim\n> sim",
        // With a negation sign before it, or in a form that is not filled in.
        "!sim", "! sim", "！sim", "❗sim", "¬sim", "¬ sim", "~sim", "-sim", "*!sim*", "ok !sí", "!não", "!👍",
        "( ) sim", "() sim", "[ ] sim", "[] sim", "[_] sim", "☐ sim", "⬜ sim", "sim [ ]", "[ ] não",
        // With a sad face.
        "sim :(", "sim:(", "ok :/", "yes :'(", "yes :´(", "sim =(", "sim ;(", "sim :-(", "sim :|", "sim :\\", ":( sim",
        "): sim", "sim -_-", "sim >_<", "não :(",
        // Trailing off.
        "sim,", "sim:", "sim;", "sim —", "sim -", "sim...", "ok…", "sim..", "sim . . .", "sim, ", "\"sim,\"", "*ok…*",
        "sim... sim", "...sim", "ok,\u{200D}", "ok,\u{301}", "👍…", "não,", "não...", "no…", "no -",
    ]);
}

#[test]
fn what_only_looks_like_an_answer_is_none() {
    #[rustfmt::skip]
    check(shipped(), Other, &[
        "", " ", "\n\t", ".", "?", "!!!", "…", "\u{200B}", "\u{FE0F}", "🏽", "\u{301}", "'",
        // One letter off, or another word.
        "certa", "poder", "podem", "caro", "carro", "isto", "iso", "now", "know", "nono", "sin",
        "son", "simn", "smi", "sino", "simnão", "nome", "nose", "yest", "yesterday", "oky doky", "0k",
        "cancelou", "fecha", "acept", "coreto", "borra", "borrra", "valle", "stoop", "sure1", "simples",
        "pode1", "ѕim", "sım",
        // Backchannel, praise, thanks, laughter.
        "tá", "sei", "show", "top", "joia", "perfeito", "obrigado", "valeu", "gracias", "thanks",
        "k", "kk", "kkkkkk", "hahaha", "é", "e", "y", "ya", "va", "bueno", "bien", "great", "cool", "fine",
        "right", "got it", "listo", "seguro", "🙏", "❤️", "🙂", "👏", "💯", "🤔", "🤷", "👍\u{20E0}", "👨‍👩‍👧",
        "sin duda", "talvez", "maybe", "quizás", "puede ser", "supongo", "i guess", "i guess so", "could be", "i suppose",
        // Struck through letter by letter.
        "s\u{336}i\u{336}m\u{336}",
        // Overlined, crossed or dotted: marks that no supported language spells with.
        "s\u{305}i\u{305}m\u{305}", "s\u{33D}i\u{33D}m\u{33D}", "s\u{353}i\u{353}m\u{353}", "o\u{332}k\u{332}",
        "sim\u{309}", "sīm", "ye\u{307}s", "s\u{489}im",
        // Ordinary messages.
        "No me llegó el pedido de ayer y quiero saber", "qual o valor do frete para Campinas",
        "Não recebi meu pedido de ontem e preciso dele", "what time do you open tomorrow",
        "quero dois desses para entregar amanhã cedo", "👍 vou querer dois desses para amanhã cedo",
        "2", "12/03", "https://example.com/pedido", "11999990000",
    ].iter().filter(|text| !["pode esperar?!", "no-one"].contains(*text)).copied().collect::<Vec<_>>());
    check(shipped(), Qualified, &["pode esperar?", "pode esperar", "no-one"]);
}

#[test]
fn a_reading_names_the_entry_it_stands_on() {
    let lexicon = shipped();
    let expected = |locale: &str, entry: &str| Reading::Affirmative {
        locale: locale.into(),
        entry: entry.into(),
        version: "1.2.0".into(),
    };
    assert_eq!(lexicon.read("SIMMM!! 👍"), expected("pt-BR", "sim"));
    assert_eq!(lexicon.read("si"), expected("es", "sí"));
    assert_eq!(lexicon.read("thats right"), expected("en", "that's right"));
    assert_eq!(
        lexicon.read("no entiendo"),
        Reading::Qualified { locale: "es".into(), entry: "no".into(), version: "1.2.0".into() }
    );
    let names: Vec<_> = lexicon.versions().iter().map(|v| v.locale.as_str()).collect();
    assert_eq!(names, ["pt-BR", "es", "en"]);
}

#[test]
fn every_shipped_entry_reads_as_its_own_polarity() {
    let all = shipped();
    for file in files() {
        let alone = Lexicon::build(std::slice::from_ref(&file)).unwrap();
        for (entries, expected) in [(&file.affirmative, Yes), (&file.negative, No)] {
            for entry in entries {
                assert_eq!(kind(&alone.read(entry)), expected, "{}: {entry}", file.locale);
                let expected = if file.composing.only_here.contains(entry) { None } else { Some(expected) };
                if let Some(expected) = expected {
                    assert_eq!(kind(&all.read(entry)), expected, "merged, {}: {entry}", file.locale);
                }
            }
        }
    }
}

#[test]
fn every_affirmative_entry_is_undone_by_a_negation_a_question_or_a_condition() {
    let lexicon = shipped();
    let files = files();
    let only_here: Vec<_> = files.iter().flat_map(|file| &file.composing.only_here).filter(|w| *w != "s").collect();
    let against: BTreeSet<_> = files.iter().flat_map(|f| f.negations.iter().chain(&f.qualifiers)).collect();
    for entry in files.iter().flat_map(|file| &file.affirmative) {
        for word in &against {
            for text in [format!("{word} {entry}"), format!("{entry} {word}")] {
                // Spanish *o*, or, makes an "o.k." of a single letter.
                assert!(text.starts_with("o k") || kind(&lexicon.read(&text)) != Yes, "{text}");
            }
        }
        for sign in ["", "!", "¬", "( ) ", "[ ] ", "☐ ", "> ", "~", "¿", ":( "] {
            for end in ["", "?", "⹔", " :(", ",", ":", ";", " -", " —", "...", "…", " 👎", "~"] {
                let text = format!("{sign}{entry}{end}");
                assert_eq!(
                    kind(&lexicon.read(&text)) == Yes,
                    sign.is_empty() && end.is_empty() && !only_here.contains(&entry),
                    "{text}"
                );
            }
        }
    }
}

#[test]
fn long_texts_are_no_answer_and_cost_nothing() {
    let lexicon = shipped();
    let many = 200_000;
    let mut texts: Vec<String> = ["s", "n", "i", "👍", "sim ", "não ", "?", " ", "\u{301}", "\u{336}", "\u{200D}"]
        .map(|unit| unit.repeat(many))
        .into();
    texts.push(format!("sim{}", "m".repeat(many)));
    texts.push(format!("sim{}", " ".repeat(many)));
    texts.push("\u{FDFA}".repeat(many));
    let start = Instant::now();
    for text in &texts {
        assert_eq!((lexicon.read(text), lexicon.read_option(text)), (Reading::Other, None));
    }
    assert!(start.elapsed() < Duration::from_millis(500), "{:?}", start.elapsed());
    for text in &texts {
        let once = normalise(text);
        assert_eq!(normalise(&once), once);
    }
    let rest = "lorem ipsum ".repeat(100);
    check(lexicon, Qualified, &[&format!("sim, mas {rest}")]);
    check(lexicon, Other, &[&format!("sim, {rest}")]);
    assert_eq!(kind(&lexicon.read(&format!("s{}m", "i".repeat(198)))), Yes);
    assert_eq!(kind(&lexicon.read(&format!("s{}m", "i".repeat(199)))), Other);
}

#[test]
fn options_are_named_by_number() {
    let lexicon = shipped();
    #[rustfmt::skip]
    let named = [
        ("2", 2), ("2️⃣", 2), ("2.", 2), ("2)", 2), ("opção 2", 2), ("Opcao 2.", 2), ("OPÇÃO  2", 2), ("opça\u{303}o 2", 2),
        ("opción 3", 3), ("la opción 3", 3), ("option 4", 4), ("Option: 4", 4), ("número 10", 10), ("op 1", 1),
        ("opção 2️⃣", 2), ("the option 12", 12),
    ];
    for (text, option) in named {
        assert_eq!(lexicon.read_option(text), Some(option), "{text:?}");
    }
    #[rustfmt::skip]
    let unnamed = [
        "", "opção", "opção dois", "opção -2", "opção - 2", "-opção 2", "opção 2?", "opção? 2", "não opção 2",
        "sim 2", "R$ 2", "a 2", "2 opção", "opção 1 2", "opção 1 ou 2", "opção 0", "opção 100", "opção2",
        "2,", "2:", "2;", "2 -", "2…", "2...", "~2~", "> 2", "!2", "[ ] 2", "2 :(", "2⹔", "opção 2,", "opção 2...",
        "\n> opção 2", "opção 2 👍", "opção ~2~", "~opção 2~", "option 2,5", "quero a opção 2",
    ];
    for text in unnamed {
        assert_eq!(lexicon.read_option(text), None, "{text:?}");
    }
    assert_eq!(read_number("opção 2"), None);
}

#[test]
fn another_languages_ordinary_word_is_no_answer() {
    let [pt, es, en]: [LexiconFile; 3] = files().try_into().unwrap();
    let read = |files: &[&LexiconFile], text: &str| {
        let files: Vec<_> = files.iter().copied().cloned().collect();
        kind(&Lexicon::build(&files).unwrap().read(text))
    };
    assert_eq!(read(&[&en], "y"), Yes);
    assert_eq!(read(&[&en, &es], "y"), Other);
    assert_eq!(read(&[&es, &en], "Y"), Other);
    assert_eq!(read(&[&pt, &es], "bora"), Yes);
    assert_eq!(read(&[&pt, &es], "borra"), Other);
    assert_eq!(read(&[&pt, &es], "boraaa"), Other);
    let other = LexiconFile { affirmative: vec!["k".into()], composing: Composing::default(), ..en.clone() };
    assert_eq!(read(&[&other], "kkkk"), Yes);
    assert_eq!(read(&[&other, &pt], "kkkk"), Other);
    assert_eq!(kind(&Lexicon::build(&[]).unwrap().read("sim")), Other);
    assert!(serde_saphyr::from_str::<LexiconFile>(&format!("{PT}\nfuzzy: []\n")).is_err());
}

/// Text made of the pieces that matter, to reach the corners that random characters do not.
fn replies() -> impl Strategy<Value = String> {
    let pieces = [
        "sim", "não", "nao", "ok", "pode", "si", "no", "yes", "don't", "mas", "but", "👍", "👎", "🏽", "\u{FE0F}",
        "\u{200D}", "\u{200B}", "\u{301}", "\u{336}", "?", "~", ">", "!", ":(", "…", "[ ]", " ", " ", " ", ",", "'",
        "s", "n", "2", "x", "\u{20E3}", "①", "\u{202E}", "\n",
    ];
    prop::collection::vec(prop::sample::select(pieces.to_vec()), 0..12).prop_map(|p| p.concat())
}

fn squeezed(word: &str) -> String {
    let mut chars: Vec<char> = word.chars().collect();
    chars.dedup();
    chars.into_iter().collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_makes_it_panic(text in any::<String>(), reply in replies()) {
        let lexicon = shipped();
        for text in [&text, &reply] {
            let _ = (lexicon.read(text), lexicon.read_option(text), read_number(text));
        }
    }

    #[test]
    fn folding_is_idempotent(text in any::<String>(), reply in replies()) {
        for text in [text, reply] {
            let once = normalise(&text);
            prop_assert_eq!(normalise(&once), once.clone());
            prop_assert!(!once.contains("  ") && once.trim() == once);
        }
    }

    #[test]
    fn a_plain_answer_reads_the_same_when_folded(reply in replies()) {
        let lexicon = shipped();
        let reading = lexicon.read(&reply);
        if matches!(kind(&reading), Yes | No) {
            prop_assert_eq!(lexicon.read(&normalise(&reply)), reading);
        }
    }

    #[test]
    fn no_yes_contains_a_no(reply in replies()) {
        if kind(&shipped().read(&reply)) == Yes {
            let folded = normalise(&reply);
            for no in ["nao", "no", "n", "dont", "👎", "mas", "but", "x"] {
                prop_assert!(folded.split(' ').all(|token| squeezed(token) != no), "{}", reply);
            }
            prop_assert!(!reply.contains('?'));
        }
    }

    #[test]
    fn a_token_that_is_no_entrys_leaves_no_plain_answer(
        entry in prop::sample::select(answers()),
        token in "[a-z]{1,8}|[0-9]{1,4}|[À-ÿ]{2,6}|😂|🤔|\\$",
        at_end in any::<bool>(),
    ) {
        let folded = normalise(&token);
        prop_assume!(!folded.is_empty());
        prop_assume!(folded.split(' ').all(|token| !known_tokens().contains(&squeezed(token))));
        let text = if at_end { format!("{entry} {token}") } else { format!("{token} {entry}") };
        prop_assert!(matches!(kind(&shipped().read(&text)), Qualified | Other), "{}", text);
    }
}

fn answers() -> Vec<String> {
    files().into_iter().flat_map(|file| [file.affirmative, file.negative].concat()).collect()
}

fn known_tokens() -> &'static BTreeSet<String> {
    static TOKENS: std::sync::OnceLock<BTreeSet<String>> = std::sync::OnceLock::new();
    TOKENS.get_or_init(|| {
        let beside = files().into_iter().flat_map(|file| {
            let beside = file.composing.beside;
            let polite = [beside.greetings, beside.thanks, beside.politeness, beside.vocatives].concat();
            [polite, beside.fillers, beside.praise, beside.regrets, beside.emoji].concat()
        });
        answers().into_iter().chain(beside).flat_map(|entry| words(&entry)).collect()
    })
}

fn words(entry: &str) -> Vec<String> {
    normalise(entry).split(' ').map(squeezed).collect()
}
