//! What somebody does, from a title or a department: finance, security, customer success.

/// A function of an organisation: its words, the first of which is its name. Longer phrases come first.
const FUNCTIONS: &[(&str, &[&str])] = &[
    (
        "human resources",
        &[
            "human resources",
            "human capital",
            "people operations",
            "people ops",
            "people team",
            "people and culture",
            "recursos humanos",
            "talent acquisition",
            "hr",
            "chro",
            "rh",
            "rrhh",
            "people",
            "talent",
            "recruiting",
            "recruiter",
            "recruitment",
            "payroll",
            "recrutador",
            "recrutadora",
            "reclutador",
            "reclutadora",
        ],
    ),
    (
        "customer success",
        &["customer success", "client success", "sucesso do cliente", "exito del cliente", "cs", "csm"],
    ),
    (
        "support",
        &[
            "customer support",
            "customer service",
            "technical support",
            "help desk",
            "service desk",
            "atendimento ao cliente",
            "atencion al cliente",
            "support",
            "helpdesk",
            "suporte",
            "soporte",
            "atendimento",
            "atendente",
        ],
    ),
    (
        "finance",
        &[
            "finance",
            "financial",
            "finances",
            "accounting",
            "accountant",
            "accounts payable",
            "controller",
            "controlling",
            "treasury",
            "treasurer",
            "cfo",
            "financeiro",
            "financeira",
            "financas",
            "finanzas",
            "financiero",
            "financiera",
            "contabilidade",
            "contabilidad",
            "contador",
            "contadora",
            "tesouraria",
            "tesoreria",
            "fiscal",
        ],
    ),
    (
        "security",
        &[
            "information security",
            "security",
            "infosec",
            "cybersecurity",
            "ciso",
            "seguranca",
            "seguridad",
            "ciberseguranca",
            "ciberseguridad",
        ],
    ),
    (
        "engineering",
        &[
            "engineering",
            "engineer",
            "developer",
            "development",
            "software",
            "backend",
            "frontend",
            "devops",
            "sre",
            "architect",
            "cto",
            "technology",
            "programmer",
            "engenharia",
            "engenheiro",
            "engenheira",
            "ingenieria",
            "ingeniero",
            "ingeniera",
            "desenvolvimento",
            "desenvolvedor",
            "desenvolvedora",
            "desarrollo",
            "desarrollador",
            "desarrolladora",
            "tecnologia",
            "tech",
        ],
    ),
    ("information technology", &["information technology", "tecnologia da informacao", "it", "cio", "ti", "sysadmin"]),
    (
        "sales",
        &[
            "account executive",
            "sales",
            "cro",
            "revenue",
            "vendas",
            "vendedor",
            "vendedora",
            "ventas",
            "comercial",
            "business development",
        ],
    ),
    ("marketing", &["marketing", "cmo", "brand"]),
    ("product", &["product", "produto", "producto", "cpo"]),
    (
        "legal",
        &[
            "general counsel",
            "legal",
            "counsel",
            "attorney",
            "lawyer",
            "juridico",
            "juridica",
            "advogado",
            "advogada",
            "abogado",
            "abogada",
            "clo",
        ],
    ),
    ("compliance", &["compliance", "conformidade", "cumplimiento"]),
    (
        "procurement",
        &[
            "procurement",
            "purchasing",
            "sourcing",
            "buyer",
            "vendor",
            "compras",
            "comprador",
            "compradora",
            "suprimentos",
        ],
    ),
    ("operations", &["operations", "ops", "coo", "operacoes", "operaciones", "logistics", "logistica", "supply chain"]),
    ("design", &["design", "designer", "ux"]),
    ("data", &["data", "analytics", "dados", "datos"]),
    ("research", &["research", "pesquisa", "investigacion"]),
    ("audit", &["internal audit", "audit", "auditor", "auditoria"]),
    ("project", &["project", "projects", "projeto", "projetos", "proyecto", "proyectos", "pmo"]),
];

/// The functions that words name, sorted. A word counts once: "People Ops" is human resources and not operations.
pub(super) fn functions(words: &[&str]) -> Vec<&'static str> {
    let mut left: Vec<&str> = words.to_vec();
    let mut found = Vec::new();
    for several in [true, false] {
        for (name, spellings) in FUNCTIONS {
            for spelling in spellings.iter().filter(|spelling| spelling.contains(' ') == several) {
                let phrase: Vec<&str> = spelling.split(' ').collect();
                if let Some(at) = left.windows(phrase.len()).position(|part| part == phrase.as_slice()) {
                    // Replaced and not removed, so that words around it do not become neighbours.
                    left.iter_mut().skip(at).take(phrase.len()).for_each(|word| *word = "");
                    found.push(*name);
                }
            }
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// A title with its abbreviations written out, as a sorted set of words: "CFO" is "Chief Financial Officer".
pub(super) fn written_out<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let mut full: Vec<&str> = words
        .iter()
        .flat_map(|word| -> Vec<&str> {
            match *word {
                "ceo" => vec!["chief", "executive", "officer"],
                "cfo" => vec!["chief", "financial", "officer"],
                "coo" => vec!["chief", "operating", "officer"],
                "cto" => vec!["chief", "technology", "officer"],
                "cio" => vec!["chief", "information", "officer"],
                "ciso" => vec!["chief", "information", "security", "officer"],
                "cmo" => vec!["chief", "marketing", "officer"],
                "cro" => vec!["chief", "revenue", "officer"],
                "chro" => vec!["chief", "human", "resources", "officer"],
                "vp" => vec!["vice", "president"],
                "svp" => vec!["senior", "vice", "president"],
                "hr" => vec!["human", "resources"],
                "cs" => vec!["customer", "success"],
                "of" | "the" => Vec::new(),
                other => vec![other],
            }
        })
        .collect();
    full.sort_unstable();
    full.dedup();
    full
}
