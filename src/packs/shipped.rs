//! The built-in packs.

/// Packs, by file name.
pub(super) const PACKS: [(&str, &str); 3] = [
    ("basic.yaml", include_str!("../../policies/basic.yaml")),
    ("operational.yaml", include_str!("../../policies/operational.yaml")),
    ("strong.yaml", include_str!("../../policies/strong.yaml")),
];

/// Lexicons, by file name.
pub(super) const LEXICONS: [(&str, &str); 3] = [
    ("en.yaml", include_str!("../../policies/lexicons/en.yaml")),
    ("es.yaml", include_str!("../../policies/lexicons/es.yaml")),
    ("pt-BR.yaml", include_str!("../../policies/lexicons/pt-BR.yaml")),
];
