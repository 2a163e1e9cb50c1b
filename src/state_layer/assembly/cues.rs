//! Words that say how a sentence of a conversation is meant, in three languages, folded. They are looked for as whole
//! words, in a row of words between single spaces.

use std::collections::HashMap;
use std::sync::LazyLock;

/// A list of phrases, read when it is first needed.
pub(super) type Phrases = LazyLock<Table>;

/// Phrases by their first word.
#[derive(Debug)]
pub(super) struct Table(HashMap<&'static str, Vec<&'static str>>);

impl Table {
    /// All of them, in no order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.0.values().flatten().copied()
    }

    /// Whether this is one of them.
    pub(super) fn contains(&self, phrase: &str) -> bool {
        self.starting(phrase).any(|known| known == phrase)
    }

    fn starting(&self, row: &str) -> impl Iterator<Item = &'static str> {
        let first = row.split(' ').next().unwrap_or_default();
        self.0.get(first).into_iter().flatten().copied()
    }
}

/// What did not happen and is not decided.
pub(super) static IMAGINED: Phrases = LazyLock::new(|| {
    parted(
        "what if|hypothetically|hypothetical|suppose|supposing|imagine|let's say|lets say|say we|in theory|\
     theoretically|for the sake of argument|thought experiment|if we were to|would it be possible|\
     in an ideal world|e se|hipoteticamente|hipotese|hipotetico|suponha|suponhamos|supondo|vamos supor|\
     imagina que|imagine que|digamos|em tese|em teoria|teoricamente|num mundo ideal|y si|que tal si|\
     que pasaria si|hipotetica|supon|supongamos|suponiendo|pongamos que|en teoria|en un mundo ideal",
    )
});

/// What is only considered.
pub(super) static CONSIDERED: Phrases = LazyLock::new(|| {
    parted(
        "draft|tentative|tentatively|preliminary|not final|not decided|maybe|perhaps|might|could be|\
     we could|i could|could use|could maybe|possibly|thinking about|thinking of|considering|toying with|\
     what about|just an idea|hard to say|worst case|not sure|probably|rascunho|minuta|preliminar|talvez|\
     quem sabe|pensando em|estou pensando|poderiamos|poderia ser|a gente podia|provavelmente|\
     ainda nao decidi|ainda nao decidimos|nao tenho certeza|so uma ideia|borrador|quizas|quiza|tal vez|\
     a lo mejor|pensando en|estoy pensando|podriamos|podria ser|probablemente|todavia no decidi|\
     aun no decidimos|no estoy seguro|no estoy segura|solo una idea",
    )
});

/// What was so before.
pub(super) static PAST: Phrases = LazyLock::new(|| {
    parted(
        "originally|initially|at first|in the beginning|previously|formerly|used to|back then|was going to|\
     were going to|had planned|had been|the original|was considered|the previous|the old|earlier plan|\
     our previous|my previous|no longer|originalmente|inicialmente|no comeco|a principio|anteriormente|\
     antes era|antes eram|antigamente|o original|a original|o plano original|ia ser|tinha sido|tinhamos|\
     o anterior|a anterior|o antigo|a antiga|nao e mais|al principio|al comienzo|antes eran|solia|\
     iba a ser|habiamos|habia sido|el original|la original|el plan original|el anterior|la anterior|\
     el antiguo|la antigua|ya no es",
    )
});

/// What tells a model to behave otherwise, and informs it of nothing.
pub(super) static INJECTED: Phrases = LazyLock::new(|| {
    parted(
        "ignore all previous|ignore previous|ignore the previous|ignore all prior|ignore your instructions|\
     ignore the above|ignore all instructions|disregard previous|disregard all|disregard your|\
     forget your instructions|forget all previous|forget previous|you are now|system prompt|developer mode|\
     admin mode|jailbreak|override your instructions|as an admin|ignore todas as instrucoes|\
     ignore as instrucoes|ignore suas instrucoes|desconsidere as instrucoes|desconsidere todas|\
     esqueca as instrucoes|esqueca suas instrucoes|agora voce e|voce agora e|modo administrador|\
     modo desenvolvedor|ignora todas las instrucciones|ignora las instrucciones|ignora tus instrucciones|\
     olvida las instrucciones|olvida tus instrucciones|ahora eres|modo desarrollador",
    )
});

/// What opens a block that explores and commits to nothing.
pub(super) static EXPLORING: Phrases = LazyLock::new(|| {
    parted(
        "exploratory|just exploring|just brainstorming|let's brainstorm|lets brainstorm|brainstorming session|\
     hypothetically|thinking out loud|thought experiment|for the sake of argument|blue sky|no commitment|\
     just playing|just a simulation|this is only a test|dry run|exploratorio|exploratoria|so explorando|\
     apenas explorando|so uma ideia|pensando alto|pensando em voz alta|sem compromisso|chuva de ideias|\
     vamos imaginar|um brainstorm|brainstorming|e so uma simulacao|so um teste|hipoteticamente|\
     solo explorando|solo una idea|pensando en voz alta|sin compromiso|lluvia de ideas|vamos a imaginar|\
     es solo una simulacion|solo una prueba",
    )
});

/// What closes such a block.
pub(super) static EXPLORED: Phrases = LazyLock::new(|| {
    parted(
        "that's enough|thats enough|enough of that|enough brainstorming|enough exploring|back to real|\
     back to reality|real commitments|for real now|seriously now|in all seriousness|end of the exercise|\
     end of exercise|ja chega|chega de|de volta a realidade|voltando a realidade|agora e serio|\
     falando serio|agora a serio|compromissos reais|fim do exercicio|ya basta|basta de|\
     suficiente por ahora|de vuelta a la realidad|volviendo a la realidad|ahora en serio|hablando en serio|\
     compromisos reales|fin del ejercicio",
    )
});

/// What opens an interruption, at the start of a turn and followed by a mark.
pub(super) static INTERRUPTING: Phrases = LazyLock::new(|| {
    parted(
        "hold on|hang on|wait another thing|wait one thing|one moment|one second|one sec|just a moment|\
     just a second|give me a second|before that|before we continue|before we go on|sorry to interrupt|\
     quick interruption|something urgent|something else came up|need to jump on something else|\
     on another topic|on a different note|another thing|side note|espera|espera ai|pera|perai|um momento|\
     um minuto|um segundo|so um momento|so um minuto|so um segundo|antes disso|antes de continuar|\
     outra coisa|outro assunto|mudando de assunto|desculpa interromper|surgiu uma urgencia|interrompendo|\
     un momento|un minuto|un segundo|espera un momento|solo un momento|antes de eso|antes de seguir|\
     otra cosa|otro tema|otro asunto|cambiando de tema|perdon por interrumpir|surgio algo|\
     surgio una urgencia",
    )
});

/// What closes an interruption, at the start of a clause.
pub(super) static RESUMING: Phrases = LazyLock::new(|| {
    parted(
        "back to|ok back to|okay back to|now back to|so back to|and back to|let's get back to|\
     lets get back to|let's go back to|lets go back to|getting back to|going back to|returning to|\
     continuing|resuming|let's resume|lets resume|let's continue|lets continue|where were we|\
     as i was saying|as we were saying|picking up where|voltando|voltando a|ok voltando|bom voltando|\
     vamos voltar|de volta a|de volta ao|continuando|retomando|onde estavamos|onde a gente estava|\
     como eu dizia|como eu estava dizendo|volviendo|ok volviendo|bueno volviendo|volvamos a|de vuelta a|\
     de vuelta al|sigamos con|retomemos|donde estabamos|como decia|como te decia",
    )
});

/// What stands before a value that no longer holds, inside a sentence that gives the one that does.
pub(super) static REPLACED: Phrases = LazyLock::new(|| {
    parted(
        "instead of|rather than|in place of|and not|but not|not|no longer|previously|formerly|originally|\
     up from|down from|was|were|from|replacing|replaces|used to be|before it was|changed from|\
     em vez de|em vez da|em vez do|ao inves de|ao inves da|ao inves do|no lugar de|no lugar da|\
     no lugar do|e nao|mas nao|nao|nao mais|antes|antes era|anteriormente|era|eram|de|do|da|\
     substituindo|substitui|en vez de|en vez del|en lugar de|en lugar del|y no|pero no|sino|no|ya no|\
     eran|del|reemplazando|reemplaza|sustituyendo",
    )
});

/// What begins an aside about what was so before.
pub(super) static ASIDE: Phrases = LazyLock::new(|| {
    parted(
        "was|were|formerly|previously|originally|before|instead of|rather than|not|ex|old|previous|\
     replaces|replacing|corrected from|changed from|up from|down from|superseded|era|eram|antes|\
     anteriormente|originalmente|em vez de|ao inves de|no lugar de|nao|antigo|antiga|anterior|substitui|\
     corrigido de|eran|en vez de|en lugar de|no|antiguo|antigua|reemplaza|corregido de",
    )
});

/// What a speaker says of the message rather than of the matter.
pub(super) static OF_THE_MESSAGE: Phrases = LazyLock::new(|| {
    parted(
        "note|noted|update|fyi|reminder|confirm|confirming|confirmed|just|please|ok|okay|so|based|\
     currently|also|correction|value|actually|\
     nota|anotado|atualizacao|lembrete|confirmo|confirmando|confirmado|por|favor|entao|tambem|\
     correcao|valor|actualizacion|recordatorio|entonces|tambien|correccion",
    )
});

/// Points back to what was said just before.
pub(super) static POINTING: Phrases = LazyLock::new(|| {
    parted(
        "this|that|it|these|those|they|them|then|isso|isto|esse|essa|este|esta|ele|ela|dai|entao|\
     eso|esto|ese|esa|lo|entonces|luego|depois|despues",
    )
});

fn parted(list: &'static str) -> Table {
    let mut table: HashMap<&str, Vec<&str>> = HashMap::new();
    for phrase in list.split('|') {
        table.entry(phrase.split(' ').next().unwrap_or_default()).or_default().push(phrase);
    }
    Table(table)
}

/// Whether a row of words between spaces holds one of these phrases.
pub(super) fn holds(row: &str, phrases: &Table) -> bool {
    let starts = row.match_indices(' ').map(|(at, space)| at + space.len());
    starts.filter_map(|at| row.get(at..)).any(|rest| begins(rest, phrases).is_some())
}

/// The longest of these phrases that a row of words begins with.
pub(super) fn begins(row: &str, phrases: &Table) -> Option<&'static str> {
    let row = row.strip_prefix(' ').unwrap_or(row);
    let fits = |phrase: &&str| row.strip_prefix(*phrase).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
    phrases.starting(row).filter(fits).max_by_key(|phrase| phrase.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phrases_are_whole_words() {
        assert!(holds(" and what if we ", &IMAGINED));
        assert!(!holds(" the draftsman left ", &CONSIDERED));
        assert_eq!(begins(" so um minuto por favor ", &INTERRUPTING), Some("so um minuto"));
        assert_eq!(begins(" backwards ", &RESUMING), None);
    }
}
