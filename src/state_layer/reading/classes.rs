//! Closed classes of words that can stand in each other's place: colours, parts of the day, languages, tiers.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::words::stem;

/// The class of words that only say how somebody likes something.
pub(super) const OPINION: &str = "opinion";

/// Each class with its words in three languages, in plain letters. A word of two classes stands in the first.
const CLASSES: &[(&str, &str)] = &[
    (
        "colour",
        "red vermelho vermelha rojo roja blue azul green verde yellow amarelo amarela amarillo amarilla black preto preta negro \
        negra white branco branca blanco blanca grey gray cinza gris brown marrom marron castano pink purple roxo morado \
        orange laranja naranja beige bege navy marinho teal turquoise turquesa terracotta terracota ivory marfim marfil \
        lilac lilas lila sage burgundy bordo cobrizo rubio ruivo loiro violeta violet magenta dourado dorado prata plateado coral salmao graphite grafite",
    ),
    (
        "day_part",
        "morning manha matutino afternoon tarde vespertino evening night noite noche noturno nocturno madrugada",
    ),
    (
        "language",
        "english ingles spanish espanhol espanol portuguese portugues french frances german alemao aleman italian italiano \
        japanese japones chinese chines chino mandarin russian russo ruso arabic arabe dutch holandes korean coreano",
    ),
    (
        "tier",
        "basic basico standard premium gold silver bronze platinum ouro oro plata pro free gratuito gratis deluxe vip economy \
        business executive starter plus enterprise master",
    ),
    (
        "rhythm",
        "daily diario diaria weekly semanal biweekly quinzenal quincenal monthly mensal mensual quarterly trimestral yearly \
        annual anual semestral bimestral",
    ),
    (
        "payment",
        "pix boleto card cartao tarjeta cash dinheiro efectivo debit debito credit credito cheque check transferencia transfer paypal",
    ),
    ("tone", "formal informal casual plain friendly amigavel cercano serio playful divertido emoji"),
    (
        "activity",
        "yoga pilates natacao natacion swimming boxe boxeo boxing futebol futbol soccer football ballet bale judo karate \
        tennis tenis spinning spin zumba robotica robotics ajedrez xadrez chess",
    ),
    (
        OPINION,
        "delicious tasty great nice lovely beautiful amazing awesome good bad awful terrible expensive cheap pricey crowded \
        pretty ugly fun boring cute perfect excellent fantastic delicia delicioso deliciosa riquisimo riquisima rico rica lindo \
        linda bonito bonita feo feia feio otimo otima bom boa bueno buena ruim mal malo mala caro cara barato barata horrivel \
        horrible maravilhoso maravilhosa maravilloso maravillosa excelente perfecto perfecta perfeito perfeita divertido \
        incrivel increible fantastico genial chato show top legal hermoso hermosa famoso famosa chique importante interesante",
    ),
    ("yes_no", "yes no sim nao si"),
    (
        "kin",
        "mom mum mother dad father grandma grandpa grandmother grandfather aunt uncle mae pai avo tia tio madre padre mama papa \
        abuela abuelo sister brother irma irmao hermana hermano nanny baba ninera",
    ),
];

static BY_STEM: LazyLock<HashMap<String, &'static str>> = LazyLock::new(|| {
    let mut found = HashMap::new();
    for (class, words) in CLASSES {
        for word in words.split_whitespace() {
            found.entry(stem(word)).or_insert(*class);
        }
    }
    found
});

/// The stems of a class.
pub(super) fn stems_of(class: &str) -> impl Iterator<Item = &'static str> {
    BY_STEM.iter().filter(move |(_, own)| **own == class).map(|(stem, _)| stem.as_str())
}

/// The class of a stem.
pub(super) fn of(stem: &str) -> Option<&'static str> {
    BY_STEM.get(stem).copied()
}

/// The class of a few words: of the first of them that has one.
pub(super) fn of_words<'a>(mut stems: impl Iterator<Item = &'a String>) -> Option<&'static str> {
    stems.find_map(|stem| of(stem))
}
