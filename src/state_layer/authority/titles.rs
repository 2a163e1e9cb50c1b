//! What titles mean: a class and a seniority inside it. Words of English, Portuguese and Spanish; none of any company.

/// Words of a title, folded.
pub(super) fn words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

/// Classes of titles, the least authoritative first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    Guest,
    Employee,
    Manager,
    Executive,
    Policy,
}

/// Where a title stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) class: Class,
    pub(super) within: u8,
}

impl Place {
    /// The seniority of a level that policy made up.
    pub(super) const UNKNOWN_SENIORITY: u8 = 70;
    pub(super) const BOARD: Self = Self { class: Class::Executive, within: 45 };
    pub(super) const CHIEF_EXECUTIVE: Self = Self { class: Class::Executive, within: 40 };
    pub(super) const C_SUITE: Self = Self { class: Class::Executive, within: 30 };
    pub(super) const SENIOR_VICE_PRESIDENT: Self = Self { class: Class::Executive, within: 25 };
    pub(super) const VICE_PRESIDENT: Self = Self { class: Class::Executive, within: 20 };
    pub(super) const DIRECTOR: Self = Self { class: Class::Manager, within: 30 };
    pub(super) const HEAD: Self = Self { class: Class::Manager, within: 25 };
    pub(super) const MANAGER: Self = Self { class: Class::Manager, within: 20 };
    pub(super) const LEAD: Self = Self { class: Class::Manager, within: 10 };
    pub(super) const EMPLOYEE: Self = Self { class: Class::Employee, within: 20 };
    const RULES: Self = Self { class: Class::Policy, within: 20 };
    const LAWYERS: Self = Self { class: Class::Policy, within: 10 };
    const CONTRACTOR: Self = Self { class: Class::Guest, within: 30 };
    const JUNIOR: Self = Self { class: Class::Guest, within: 20 };
    const VISITOR: Self = Self { class: Class::Guest, within: 10 };

    /// Comparable across classes, so that an order which lacks a level still tells its titles apart.
    pub(super) fn seniority(self) -> u8 {
        let class = match self.class {
            Class::Guest => 0,
            Class::Employee => 50,
            Class::Manager => 100,
            Class::Executive => 150,
            Class::Policy => 200,
        };
        class + self.within
    }

    fn moved(self, by: i8) -> Self {
        Self { within: self.within.saturating_add_signed(by), ..self }
    }
}

/// Titles that mean something only when nothing else is said.
const ALONE: &[(&str, Place)] = &[
    ("policy", Place::RULES),
    ("policies", Place::RULES),
    ("company policy", Place::RULES),
    ("system", Place::RULES),
    ("system policy", Place::RULES),
    ("regulation", Place::RULES),
    ("regulator", Place::RULES),
    ("law", Place::RULES),
    ("politica", Place::RULES),
    ("politica da empresa", Place::RULES),
    ("politica de la empresa", Place::RULES),
    ("norma", Place::RULES),
    ("regulamento", Place::RULES),
    ("reglamento", Place::RULES),
    ("sistema", Place::RULES),
    ("lei", Place::RULES),
    ("ley", Place::RULES),
    ("legal", Place::LAWYERS),
    ("legal team", Place::LAWYERS),
    ("legal department", Place::LAWYERS),
    ("juridico", Place::LAWYERS),
    ("compliance", Place::LAWYERS),
    ("compliance team", Place::LAWYERS),
    ("compliance department", Place::LAWYERS),
    ("executive", Place::VICE_PRESIDENT),
    ("executives", Place::VICE_PRESIDENT),
    ("executive team", Place::VICE_PRESIDENT),
    ("executivo", Place::VICE_PRESIDENT),
    ("executiva", Place::VICE_PRESIDENT),
    ("ejecutivo", Place::VICE_PRESIDENT),
    ("ejecutiva", Place::VICE_PRESIDENT),
    ("admin", Place::VICE_PRESIDENT),
    ("administrator", Place::VICE_PRESIDENT),
    ("administrador", Place::VICE_PRESIDENT),
    ("owner", Place::C_SUITE),
    ("business owner", Place::C_SUITE),
    ("dono", Place::C_SUITE),
    ("dona", Place::C_SUITE),
    ("dueno", Place::C_SUITE),
    ("duena", Place::C_SUITE),
    ("proprietario", Place::C_SUITE),
    ("propietario", Place::C_SUITE),
    ("c level", Place::C_SUITE),
    ("c suite", Place::C_SUITE),
    ("csuite", Place::C_SUITE),
    ("clevel", Place::C_SUITE),
    ("chief of staff", Place::HEAD),
    ("product owner", Place::EMPLOYEE),
    ("process owner", Place::EMPLOYEE),
];

/// Titles of several words that may stand inside longer ones; longer ones first.
const PHRASES: &[(&[&str], Place)] = &[
    (&["senior", "vice", "president"], Place::SENIOR_VICE_PRESIDENT),
    (&["executive", "vice", "president"], Place::SENIOR_VICE_PRESIDENT),
    (&["chief", "executive"], Place::CHIEF_EXECUTIVE),
    (&["diretor", "executivo"], Place::CHIEF_EXECUTIVE),
    (&["diretora", "executiva"], Place::CHIEF_EXECUTIVE),
    (&["director", "ejecutivo"], Place::CHIEF_EXECUTIVE),
    (&["directora", "ejecutiva"], Place::CHIEF_EXECUTIVE),
    (&["general", "counsel"], Place::C_SUITE),
    (&["managing", "director"], Place::C_SUITE),
    (&["managing", "partner"], Place::C_SUITE),
    (&["executive", "director"], Place::C_SUITE),
    (&["director", "general"], Place::C_SUITE),
    (&["directora", "general"], Place::C_SUITE),
    (&["diretor", "geral"], Place::C_SUITE),
    (&["diretora", "geral"], Place::C_SUITE),
    (&["vice", "president"], Place::VICE_PRESIDENT),
    (&["vice", "presidente"], Place::VICE_PRESIDENT),
    (&["general", "manager"], Place::DIRECTOR),
    (&["gerente", "geral"], Place::DIRECTOR),
    (&["gerente", "general"], Place::DIRECTOR),
    (&["account", "executive"], Place::EMPLOYEE),
    (&["sales", "executive"], Place::EMPLOYEE),
];

/// Titles of one word.
const WORDS: &[(&[&str], Place)] = &[
    (
        &[
            "board",
            "shareholders",
            "conselho",
            "conselheiro",
            "conselheira",
            "junta",
            "chairman",
            "chairwoman",
            "chair",
        ],
        Place::BOARD,
    ),
    (&["ceo"], Place::CHIEF_EXECUTIVE),
    (
        &[
            "cfo",
            "coo",
            "cto",
            "cio",
            "ciso",
            "cmo",
            "cro",
            "chro",
            "cpo",
            "cso",
            "cdo",
            "cao",
            "clo",
            "cco",
            "cxo",
            "president",
            "presidente",
            "presidenta",
            "founder",
            "cofounder",
            "fundador",
            "fundadora",
            "socio",
            "socia",
        ],
        Place::C_SUITE,
    ),
    (&["svp", "evp"], Place::SENIOR_VICE_PRESIDENT),
    (&["vp", "vicepresident", "vicepresidente", "vicepresidenta"], Place::VICE_PRESIDENT),
    (&["director", "diretor", "diretora", "directora", "diretoria"], Place::DIRECTOR),
    (&["head", "chief", "superintendent", "superintendente"], Place::HEAD),
    (
        &["manager", "management", "mgr", "gerente", "gerencia", "chefe", "chefia", "chefa", "jefe", "jefa", "boss"],
        Place::MANAGER,
    ),
    (
        &[
            "lead",
            "leader",
            "supervisor",
            "supervisora",
            "coordinator",
            "coordenador",
            "coordenadora",
            "coordinador",
            "coordinadora",
            "foreman",
            "lider",
            "encarregado",
            "encarregada",
            "encargado",
            "encargada",
        ],
        Place::LEAD,
    ),
    (
        &[
            "employee",
            "peer",
            "individual",
            "staff",
            "member",
            "colleague",
            "worker",
            "senior",
            "junior",
            "user",
            "engineer",
            "developer",
            "analyst",
            "specialist",
            "representative",
            "rep",
            "agent",
            "associate",
            "recruiter",
            "auditor",
            "designer",
            "accountant",
            "clerk",
            "operator",
            "technician",
            "architect",
            "consultant",
            "officer",
            "counsel",
            "buyer",
            "scientist",
            "programmer",
            "tester",
            "seller",
            "salesperson",
            "funcionario",
            "funcionaria",
            "empregado",
            "empregada",
            "colaborador",
            "colaboradora",
            "empleado",
            "empleada",
            "usuario",
            "usuaria",
            "analista",
            "especialista",
            "vendedor",
            "vendedora",
            "agente",
            "atendente",
            "tecnico",
            "tecnica",
            "engenheiro",
            "engenheira",
            "ingeniero",
            "ingeniera",
            "desenvolvedor",
            "desenvolvedora",
            "desarrollador",
            "desarrolladora",
            "colega",
            "par",
            "igual",
            "consultor",
            "consultora",
            "contador",
            "contadora",
            "advogado",
            "advogada",
            "abogado",
            "abogada",
            "comprador",
            "compradora",
        ],
        Place::EMPLOYEE,
    ),
];

/// Words that lower whatever else the title says.
const LOWERED: &[(&[&str], Place)] = &[
    (&["contractor", "freelancer", "subcontractor", "terceirizado", "terceirizada", "contratista"], Place::CONTRACTOR),
    (
        &[
            "temp",
            "temporary",
            "intern",
            "trainee",
            "apprentice",
            "subordinate",
            "subordinado",
            "subordinada",
            "estagiario",
            "estagiaria",
            "aprendiz",
            "becario",
            "becaria",
            "practicante",
            "temporario",
            "temporal",
        ],
        Place::JUNIOR,
    ),
];

/// Whoever comes from outside, if the title ends so: a customer, and not a customer success manager.
const OUTSIDE: &[&str] = &[
    "guest",
    "customer",
    "client",
    "visitor",
    "vendor",
    "supplier",
    "anonymous",
    "convidado",
    "convidada",
    "cliente",
    "visitante",
    "fornecedor",
    "invitado",
    "invitada",
    "proveedor",
    "external",
    "externo",
    "externa",
    "public",
];

/// Assistants of somebody: employees, whoever they assist.
const ASSISTING: &[&str] = &["secretary", "secretario", "secretaria", "aide", "pa"];
const ASSISTANT: &[&str] = &["assistant", "assistente", "asistente", "auxiliar"];
const PAST: &[&str] = &["former", "ex", "retired", "antigo", "antiga", "antiguo", "antigua", "past", "previous"];
const PREPOSITIONS: &[&str] =
    &["of", "for", "to", "de", "da", "do", "das", "dos", "del", "para", "at", "in", "na", "no"];
const RAISED: &[&str] = &["senior", "sr", "group"];
const DEPUTY: &[&str] =
    &["deputy", "associate", "vice", "sub", "adjunto", "adjunta", "acting", "interim", "interino", "interina"];

/// Where a title stands; it is given folded and trimmed. None for words that name no standing.
pub(super) fn place(title: &str) -> Option<Place> {
    let all = words(title);
    let joined = all.join(" ");
    if let Some((_, place)) = ALONE.iter().find(|(alone, _)| *alone == joined) {
        return Some(*place);
    }
    if all.iter().any(|word| PAST.contains(word)) {
        return None;
    }
    // "Director of Board Relations" is a director: what stands before the first preposition says what somebody is.
    let head_len = all.iter().skip(1).position(|word| PREPOSITIONS.contains(word)).map_or(all.len(), |at| at + 1);
    let head = all.get(..head_len).unwrap_or(&all);
    head_place(head).or_else(|| head_place(&all))
}

/// Whether a list knows a word, or its singular.
fn known(list: &[&str], word: &str) -> bool {
    list.contains(&word) || word.strip_suffix('s').is_some_and(|singular| list.contains(&singular))
}

fn head_place(head: &[&str]) -> Option<Place> {
    for (lowered, place) in LOWERED {
        if head.iter().any(|word| known(lowered, word)) {
            return Some(*place);
        }
    }
    if head.last().is_some_and(|word| known(OUTSIDE, word)) {
        return Some(Place::VISITOR);
    }
    let assisting = head.iter().any(|word| ASSISTING.contains(word))
        || head.last().is_some_and(|word| ASSISTANT.contains(word))
        || (head.first().is_some_and(|word| ASSISTANT.contains(word)) && head.len() == 1);
    if assisting {
        return Some(Place::EMPLOYEE);
    }
    if let Some((_, place)) = PHRASES.iter().find(|(phrase, _)| head.windows(phrase.len()).any(|part| part == *phrase))
    {
        return Some(*place);
    }
    if head.contains(&"chief") && head.last() == Some(&"officer") {
        return Some(Place::C_SUITE);
    }
    let best =
        WORDS.iter().filter(|(list, _)| head.iter().any(|word| known(list, word))).map(|(_, place)| *place).max()?;
    if !matches!(best.class, Class::Manager) || best.within <= Place::LEAD.within {
        return Some(best);
    }
    let has = |list: &[&str]| head.first().is_some_and(|word| list.contains(word));
    if has(RAISED) {
        Some(best.moved(2))
    } else if has(DEPUTY) || has(ASSISTANT) {
        Some(best.moved(-2))
    } else {
        Some(best)
    }
}
