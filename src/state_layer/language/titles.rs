//! Words that name a function or a level in an organisation, in plain letters, and how a text names one in passing:
//! `Per the CEO, …`, `segundo o diretor`, `según la gerente`.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::folding::plain_text;

/// Function and level words, sorted.
const TITLE_WORDS: &str = "
    admin administracao administracion administrator agent agente analista analyst architect arquitecta
    arquitecto arquiteta arquiteto asistente assistant assistente atendente auditor auditora board boss c_level
    cco ceo cfo chair chairman chairwoman chefe chief chro ciso cliente cmo comite committee company compliance
    comprador compradora consejo conselho consultant consultor consultora contador contadora contractor
    controller coo coordenacao coordenador coordenadora coordinador coordinadora coordinator counsel cpo cro cso
    cto customer delegado desarrollador desarrolladora desenvolvedor desenvolvedora developer direcao direccion
    director directora directores directorio directors diretor diretora diretoria dona dono duena dueno
    encargada encargado engenheira engenheiro engineer engineering executiva executive executivo external
    financas finance financeiro finanzas fornecedor founder fundador fundadora gerencia gerenta gerente gestor
    gestora head hr individual ingeniera ingeniero intern it jefa jefe juridico lead leader legal lider
    management manager marketing matriz mayordomo officer operations owner partner peer pm policy politica
    presidencia president presidenta presidente procurement programador programadora proveedor rep
    representative rh rrhh sales security sindica sindico sistema socia socio spokesperson staff stakeholder
    subordinate supervisor supervisora suporte supplier support system team tech technician tecnica tecnico ti
    treasurer user usuario vendor vice vp vps
";

/// Title words that are common words in lower case.
const ONLY_IN_CAPITALS: &[&str] = &["it", "ti"];

/// Words that join a title: "VP of Sales", "jefe de obra".
const JOINING: &[&str] = &["da", "das", "de", "del", "do", "dos", "e", "for", "la", "of", "y"];

/// Determiners before a title.
const DETERMINERS: &[&str] =
    &["a", "as", "el", "la", "las", "los", "my", "nossa", "nosso", "nuestra", "nuestro", "o", "os", "our", "the"];

/// How a text names whose word it passes on, in plain letters; the title follows.
const PASSING_ON: &[&str] = &[
    "according to",
    "announcement from",
    "as per",
    "aviso da",
    "aviso de",
    "aviso del",
    "aviso do",
    "by order of",
    "comunicado da",
    "comunicado de",
    "comunicado del",
    "comunicado do",
    "conforme",
    "conforme a",
    "de acordo com",
    "de acuerdo a",
    "de acuerdo al",
    "de acuerdo con",
    "message from",
    "note from",
    "on behalf of",
    "por decisao da",
    "por decisao do",
    "por decision de",
    "por decision del",
    "por determinacao da",
    "por determinacao do",
    "por orden de",
    "por orden del",
    "por ordem da",
    "por ordem do",
    "per",
    "segun",
    "segundo",
    "word from",
];

/// How much of a text is looked at for whose word it passes on.
const MAX_OPENING: usize = 120;

static TITLES: LazyLock<HashSet<&str>> = LazyLock::new(|| TITLE_WORDS.split_whitespace().collect());

/// Whether a word, in plain letters, names a function or a level.
#[must_use]
pub fn is_title_word(word: &str) -> bool {
    TITLES.contains(word) || (word.len() > 4 && word.strip_suffix('s').is_some_and(|one| TITLES.contains(one)))
}

/// The same for a word as it is written.
fn is_written_title(word: &str) -> bool {
    let plain = plain_text(word);
    is_title_word(&plain) && !(ONLY_IN_CAPITALS.contains(&plain.as_str()) && word.chars().any(char::is_lowercase))
}

/// Whether a phrase names a function or a level.
#[must_use]
pub fn is_title(phrase: &str) -> bool {
    phrase.split(|sign: char| !sign.is_alphanumeric() && sign != '_').any(is_written_title)
}

/// The title on whose word a text is said to rest, if it opens with one.
#[must_use]
pub fn passed_on(text: &str) -> Option<String> {
    // Few texts begin like that, and this is asked of many.
    let first = plain_text(text.split_whitespace().next().filter(|word| word.len() <= MAX_OPENING)?);
    if !PASSING_ON.iter().any(|phrase| phrase.split(' ').next() == Some(first.as_str())) {
        return None;
    }
    let opening: String = text.chars().take(MAX_OPENING).collect();
    let words: Vec<&str> = opening.split_whitespace().take(12).collect();
    let plain: Vec<String> = words.iter().map(|word| plain_text(word)).collect();
    let rest = PASSING_ON.iter().filter_map(|phrase| after(&plain, phrase)).max()?;
    let rest = rest + usize::from(plain.get(rest).is_some_and(|word| DETERMINERS.contains(&word.as_str())));
    title_at(words.get(rest..)?)
}

/// How many words a phrase takes at the start, if the text starts with it.
fn after(words: &[String], phrase: &str) -> Option<usize> {
    let mut count = 0;
    for part in phrase.split(' ') {
        if words.get(count).map(String::as_str) != Some(part) {
            return None;
        }
        count += 1;
    }
    Some(count)
}

/// The title that these words start with: up to a comma or colon, or else up to the last word that belongs to one.
fn title_at(words: &[&str]) -> Option<String> {
    let mut taken: Vec<&str> = Vec::new();
    let mut known = 0;
    let mut closed = false;
    for word in words.iter().take(5) {
        let bare = word.trim_end_matches([',', ':', ';', '.', '!']);
        let bare = bare.trim_end_matches("'s").trim_matches(['"', '(', ')']);
        if bare.is_empty() {
            break;
        }
        taken.push(bare);
        let plain = plain_text(bare);
        if is_written_title(bare) {
            known = taken.len();
        } else if !JOINING.contains(&plain.as_str()) && known == 0 && taken.len() > 2 {
            return None;
        }
        if word.len() > bare.len() {
            closed = true;
            break;
        }
    }
    if known == 0 {
        return None;
    }
    let length = if closed { taken.len() } else { known };
    Some(taken.get(..length)?.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_word_is_passed_on() {
        for (text, title) in [
            ("Per the CEO, we'll do 4 days", Some("CEO")),
            ("per the CFO the limit is 5k", Some("CFO")),
            ("According to Legal, this is void", Some("Legal")),
            ("segundo o diretor comercial, o máximo é 6x", Some("diretor comercial")),
            ("según la gerente de ventas, son 20", Some("gerente de ventas")),
            ("Comunicado de presidencia: desde mayo …", Some("presidencia")),
            ("Announcement from the CEO: starting in May", Some("CEO")),
            ("por ordem da diretoria o prazo é sexta", Some("diretoria")),
            ("Per unit it costs $3", None),
            ("according to plan, we start on Monday", None),
            ("segundo andar, sala 4", None),
            ("", None),
        ] {
            assert_eq!(passed_on(text).as_deref(), title, "{text}");
        }
    }
}
