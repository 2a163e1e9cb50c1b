//! Words by which a fact's reach and force are told, folded, in English, Portuguese and Spanish. Whole words only.

/// A folded text with one space between its words and around it, so that lists can be looked for with spaces around.
pub(super) fn spaced(folded: &str) -> String {
    let mut text = String::with_capacity(folded.len() + 2);
    text.push(' ');
    for word in folded.split(|sign: char| !sign.is_alphanumeric() && sign != '\'').filter(|word| !word.is_empty()) {
        text.push_str(word);
        text.push(' ');
    }
    text
}

/// Whether a spaced text has any of these words or phrases.
pub(super) fn has_any(spaced: &str, list: &[&str]) -> bool {
    list.iter().any(|phrase| {
        spaced.match_indices(phrase).any(|(at, found)| {
            let before = at.checked_sub(1).and_then(|before| spaced.as_bytes().get(before));
            before == Some(&b' ') && spaced.as_bytes().get(at + found.len()) == Some(&b' ')
        })
    })
}

/// A sentence with these decides something.
pub(super) const DECIDED: &[&str] = &[
    "decided", "approved", "agreed", "confirmed", "signed", "finalized", "finalised", "in force", "must", "effective",
    "decidido", "decidimos", "aprovado", "aprovada", "confirmado", "confirmada", "assinado", "em vigor", "deve",
    "aprobado", "aprobada", "firmado", "acordado", "en vigor", "vigente", "debe",
];
pub(super) const IMAGINED_FIRST: &[&str] = &[
    "what if", "suppose", "supposing", "imagine", "if we were", "e se", "suponha", "suponhamos", "supondo", "imagina",
    "imaginemos", "y si", "supongamos", "suponiendo", "digamos que",
];
pub(super) const IMAGINED: &[&str] = &[
    "hypothetically", "hypothetical", "let's say", "in theory", "for the sake of argument", "hipoteticamente",
    "hipotetico", "hipotetica", "vamos supor", "vamos imaginar", "em tese", "hipotesis", "en teoria",
];
pub(super) const DRAFT_FIRST: &[&str] = &["draft", "proposal", "proposed", "rascunho", "proposta", "borrador", "propuesta"];
pub(super) const DRAFT: &[&str] = &[
    "tentative", "tentatively", "preliminary", "not final", "not yet final", "work in progress", "first draft",
    "still a draft", "just a draft", "preliminar", "provisorio", "provisoria", "ainda nao e final", "ainda e rascunho",
    "em rascunho", "primeira versao", "provisional", "tentativo", "tentativa", "todavia no es final", "primer borrador",
];
pub(super) const TASK: &[&str] = &[
    "for this task", "just for this", "only for this", "just this once", "only this once", "only this time",
    "para esta tarefa", "nesta tarefa", "so desta vez", "somente desta vez", "apenas desta vez", "solo por esta vez",
    "solo esta vez", "para esta tarea", "en esta tarea",
];
pub(super) const SESSION: &[&str] = &[
    "for this session", "in this session", "during this session", "for this call", "nesta sessao", "durante esta sessao",
    "en esta sesion", "durante esta sesion", "nesta ligacao", "en esta llamada",
];
/// A sentence with these binds.
pub(super) const BINDING: &[&str] = &[
    "must", "must not", "mandatory", "limit is", "limit of", "limited to", "maximum", "max", "minimum", "min",
    "at most", "no more than", "not more than", "up to a maximum", "cannot exceed", "can't exceed", "may not exceed",
    "not to exceed", "capped at", "cap of", "hard cap", "not allowed", "not permitted", "prohibited", "forbidden",
    "approval required", "needs approval", "requires approval", "require approval", "requires", "require", "is required",
    "are required", "policy", "authority to", "without approval", "deadline is", "no exceptions", "deve", "devem",
    "nao deve", "obrigatorio", "obrigatoria", "limite de", "limite e", "maximo", "maxima", "minimo", "minima",
    "nao pode", "nao podem", "nao e permitido", "proibido", "proibida", "precisa de aprovacao", "exige", "exigem",
    "requer", "politica", "sem excecao", "prazo e", "debe", "deben", "no debe", "obligatorio", "obligatoria",
    "el limite es", "como maximo", "no puede", "no pueden", "no se permite", "prohibido", "prohibida", "requiere",
    "requieren", "exige aprobacion", "necesita aprobacion", "sin excepcion", "el plazo es",
];
/// News, asides and corrections: they tell, and do not bind.
pub(super) const NOT_BINDING: &[&str] = &[
    "invalidated", "correction", "delayed", "changed", "let's go with", "just fyi", "fyi", "btw", "by the way", "hold on",
    "wait", "correcao", "atrasado", "atrasada", "mudou", "so para avisar", "a proposito", "espera", "vamos com",
    "correccion", "retrasado", "retrasada", "cambio", "por cierto", "vamos a usar",
];
pub(super) const BUDGET: &[&str] = &[
    "budget", "budgets", "spend", "spending", "cost", "costs", "price", "prices", "discount", "discounts", "expense",
    "expenses", "orcamento", "gasto", "gastos", "custo", "custos", "preco", "precos", "desconto", "descontos", "despesa",
    "presupuesto", "coste", "costo", "costos", "precio", "precios", "descuento", "descuentos",
];
pub(super) const DEADLINE: &[&str] = &[
    "deadline", "deadlines", "due date", "due by", "due on", "no later than", "prazo", "vencimento", "data limite",
    "plazo", "vencimiento", "fecha limite", "a mas tardar", "no maximo ate",
];
/// With a day, these make a deadline; alone they do not.
pub(super) const LATEST: &[&str] =
    &["by", "before", "until", "due", "within", "ate", "antes de", "antes do", "dentro de", "em ate", "hasta", "antes del"];
pub(super) const CAPACITY: &[&str] = &[
    "capacity", "headcount", "seats", "people", "engineers", "employees", "users", "attendees", "guests", "units",
    "hours per week", "concurrent", "slots", "capacidade", "vagas", "pessoas", "lugares", "usuarios", "unidades",
    "participantes", "capacidad", "plazas", "personas", "cupos", "asientos",
];
