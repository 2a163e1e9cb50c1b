//! A small lexer: enough Rust to tell code from comments and strings, and to read paths.

/// One file, split into three texts of the same line structure. What belongs to another text is blank.
pub(crate) struct Views {
    /// Code without comments and without the insides of string literals.
    pub(crate) code: String,
    /// Comments only.
    pub(crate) comments: String,
    /// The insides of string literals only.
    pub(crate) literals: String,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Views {
    /// Splits Rust source.
    pub(crate) fn of_rust(text: &str) -> Self {
        let chars: Vec<char> = text.chars().collect();
        let mut kinds = vec![Kind::Code; chars.len()];
        let mut at = 0;
        while at < chars.len() {
            let (kind, end) = next_piece(&chars, at);
            kinds[at..end].fill(kind);
            at = end;
        }
        let view = |wanted: Kind| -> String {
            let keep = |(c, kind): (&char, &Kind)| {
                if *c == '\n' || *kind == wanted { *c } else { ' ' }
            };
            chars.iter().zip(&kinds).map(keep).collect()
        };
        Self { code: view(Kind::Code), comments: view(Kind::Comment), literals: view(Kind::Literal) }
    }
}

/// The kind of the piece that starts at `at`, and where it ends (always beyond `at`).
fn next_piece(chars: &[char], at: usize) -> (Kind, usize) {
    let peek = |offset: usize| chars.get(at + offset).copied().unwrap_or('\0');
    let after_word = at > 0 && is_word(chars[at - 1]);
    match peek(0) {
        '/' if peek(1) == '/' => {
            let line = chars[at..].iter().position(|c| *c == '\n');
            (Kind::Comment, line.map_or(chars.len(), |n| at + n))
        }
        '/' if peek(1) == '*' => (Kind::Comment, block_comment_end(chars, at)),
        '"' => (Kind::Literal, quoted_end(chars, at)),
        'b' | 'c' if !after_word && peek(1) == '"' => (Kind::Literal, quoted_end(chars, at + 1)),
        'b' | 'c' if !after_word && peek(1) == 'r' => raw_string(chars, at, at + 2),
        'r' if !after_word => raw_string(chars, at, at + 1),
        '\'' if peek(1) == '\\' => {
            // An escaped character: its closing quote is the first one after the escaped character.
            let close = chars.iter().skip(at + 3).position(|c| *c == '\'');
            (Kind::Literal, close.map_or(chars.len(), |n| at + 3 + n + 1))
        }
        // `'x'` is a character; `'x` without a closing quote is a lifetime.
        '\'' if peek(2) == '\'' => (Kind::Literal, at + 3),
        _ => (Kind::Code, at + 1),
    }
}

fn block_comment_end(chars: &[char], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < chars.len() {
        match (chars[at], chars.get(at + 1)) {
            ('/', Some('*')) => {
                depth += 1;
                at += 2;
            }
            ('*', Some('/')) => {
                depth = depth.saturating_sub(1);
                at += 2;
                if depth == 0 {
                    return at;
                }
            }
            _ => at += 1,
        }
    }
    chars.len()
}

fn quoted_end(chars: &[char], open: usize) -> usize {
    let mut at = open + 1;
    while at < chars.len() {
        match chars[at] {
            '\\' => at += 2,
            '"' => return at + 1,
            _ => at += 1,
        }
    }
    chars.len()
}

/// A raw string if one starts at `start`, whose hashes start at `hashes`; else one character of code.
fn raw_string(chars: &[char], start: usize, hashes: usize) -> (Kind, usize) {
    let count = chars[hashes.min(chars.len())..].iter().take_while(|c| **c == '#').count();
    let open = hashes + count;
    if chars.get(open) != Some(&'"') {
        return (Kind::Code, start + 1);
    }
    let mut at = open + 1;
    while at < chars.len() {
        let closing =
            chars[at] == '"' && chars.len() - at > count && chars[at + 1..=at + count].iter().all(|c| *c == '#');
        if closing {
            return (Kind::Literal, at + count + 1);
        }
        at += 1;
    }
    (Kind::Literal, chars.len())
}

/// A word, or one character of punctuation, and the line it stands on.
#[derive(Clone, Debug)]
pub(crate) struct Token {
    /// The text.
    pub(crate) text: String,
    /// The line, from 1.
    pub(crate) line: usize,
}

/// Words and punctuation of a text; `::` is one token.
pub(crate) fn tokens(code: &str) -> Vec<Token> {
    let mut found: Vec<Token> = Vec::new();
    let mut line = 1;
    let mut word_open = false;
    let mut colon_open = false;
    for c in code.chars() {
        let joins = (is_word(c) && word_open) || (c == ':' && colon_open);
        match found.last_mut() {
            Some(last) if joins => last.text.push(c),
            _ if !c.is_whitespace() => found.push(Token { text: c.to_string(), line }),
            _ => {}
        }
        colon_open = c == ':' && !joins;
        word_open = is_word(c);
        line += usize::from(c == '\n');
    }
    found
}

/// Whether the character may stand in an identifier.
pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the token is an identifier or keyword.
pub(crate) fn is_ident(token: &Token) -> bool {
    token.text.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
}

/// A path as written, groups expanded: `a::{b, c::d}` is `a::b` and `a::c::d`.
pub(crate) struct Path {
    /// The segments, `super` and `self` unresolved.
    pub(crate) segments: Vec<String>,
    /// The line of the last segment.
    pub(crate) line: usize,
    /// The names of the inline modules around it.
    pub(crate) inside: Vec<String>,
}

impl Path {
    /// Whether the path begins with these segments.
    pub(crate) fn starts_with(&self, wanted: &[&str]) -> bool {
        self.segments.len() >= wanted.len() && self.segments.iter().zip(wanted).all(|(a, b)| a == b)
    }

    /// Whether the path ends with these segments.
    pub(crate) fn ends_with(&self, wanted: &[&str]) -> bool {
        let from = self.segments.len().checked_sub(wanted.len());
        from.is_some_and(|n| self.segments[n..].iter().zip(wanted).all(|(a, b)| a == b))
    }
}

/// All paths of two or more segments, and all that a `use` names.
pub(crate) fn paths(tokens: &[Token]) -> Vec<Path> {
    let mut found = Vec::new();
    let mut modules: Vec<(String, usize)> = Vec::new();
    let mut depth = 0_usize;
    let mut at = 0;
    while at < tokens.len() {
        let text = tokens[at].text.as_str();
        let follows = |offset: usize| tokens.get(at + offset).map_or("", |t| t.text.as_str());
        match text {
            "{" => depth += 1,
            "}" => {
                depth = depth.saturating_sub(1);
                modules.retain(|(_, opened_at)| *opened_at <= depth);
            }
            "mod" if follows(2) == "{" => modules.push((follows(1).to_owned(), depth + 1)),
            _ => {}
        }
        let in_use = at > 0 && tokens[at - 1].text == "use";
        let continued = at > 0 && tokens[at - 1].text == "::" && at > 1 && is_ident(&tokens[at - 2]);
        if is_ident(&tokens[at]) && !continued && (in_use || follows(1) == "::") {
            let inside: Vec<String> = modules.iter().map(|(name, _)| name.clone()).collect();
            let end = tree(tokens, at, &[], &inside, &mut found);
            at = end.max(at + 1);
        } else {
            at += 1;
        }
    }
    found
}

/// Reads the path or use tree at `at`, adds its paths, returns where it ends.
fn tree(tokens: &[Token], at: usize, prefix: &[String], inside: &[String], out: &mut Vec<Path>) -> usize {
    let mut segments = prefix.to_vec();
    let mut at = at;
    let mut line = tokens.get(at).map_or(0, |t| t.line);
    while let Some(token) = tokens.get(at) {
        if is_ident(token) || token.text == "*" {
            line = token.line;
            segments.push(token.text.clone());
            at += 1;
            if tokens.get(at).is_some_and(|t| t.text == "::") {
                at += 1;
                continue;
            }
        } else if token.text == "{" && segments.len() > prefix.len() {
            return group(tokens, at + 1, &segments, inside, out);
        }
        break;
    }
    if segments.len() > prefix.len() {
        out.push(Path { segments, line, inside: inside.to_vec() });
    }
    at
}

/// Reads `a, b::c}` after an opening brace, returns what follows the closing one.
fn group(tokens: &[Token], at: usize, prefix: &[String], inside: &[String], out: &mut Vec<Path>) -> usize {
    let mut at = at;
    while let Some(token) = tokens.get(at) {
        match token.text.as_str() {
            "}" => return at + 1,
            "," => at += 1,
            // The alias of an import is no part of its path.
            "as" => at += 2,
            _ => at = tree(tokens, at, prefix, inside, out).max(at + 1),
        }
    }
    at
}

/// The position after the brace that closes the one at `open`.
pub(crate) fn closing_brace(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => return at + 1,
            "}" => depth -= 1,
            _ => {}
        }
    }
    tokens.len()
}

/// The tokens that are compiled outside tests: items under `#[cfg(test)]` are left out.
pub(crate) fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let cfg_test = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let rest = &tokens[at..];
        let marked = rest.len() >= cfg_test.len() && rest.iter().zip(cfg_test).all(|(t, m)| t.text == m);
        if marked {
            let end = rest.iter().position(|t| t.text == "{" || t.text == ";");
            at = match end.map(|n| at + n) {
                Some(open) if tokens[open].text == "{" => closing_brace(tokens, open),
                Some(semicolon) => semicolon + 1,
                None => tokens.len(),
            };
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(code: &str) -> Vec<String> {
        let found = paths(&tokens(code));
        found.iter().map(|p| p.segments.join("::")).collect()
    }

    #[test]
    fn code_comments_and_strings_are_told_apart() {
        let views = Views::of_rust("let a = \"in // it\"; // out \"of\" it\n/* b /* c */ d */ let e = r#\"f\"g\"#;");
        assert!(views.code.contains("let a =") && views.code.contains("let e ="));
        assert!(!views.code.contains("in") && !views.code.contains("out") && !views.code.contains('d'));
        assert!(views.literals.contains("in // it") && views.literals.contains("f\"g"));
        assert!(views.comments.contains("out \"of\" it") && views.comments.contains("b /* c */ d"));
    }

    #[test]
    fn lifetimes_and_characters_are_told_apart() {
        let views = Views::of_rust(r"fn f<'a>(x: &'a str) { let q = '\''; let p = '{'; g(b'x') }");
        assert!(views.code.contains("<'a>") && views.code.contains("g(b"));
        assert!(!views.code.contains("'{'") && !views.literals.contains("fn"));
    }

    #[test]
    fn groups_and_aliases_are_expanded() {
        let code = "use crate::{domain::{Now, ids as i}, service}; use tokio;";
        let wanted = ["crate::domain::Now", "crate::domain::ids", "crate::service", "tokio"];
        assert_eq!(written(code), wanted);
        assert_eq!(written("let x = a::b::<T>(c::d());"), ["a::b", "c::d"]);
    }

    #[test]
    fn the_modules_around_a_path_are_known() {
        let found = paths(&tokens("mod a { fn f() { x::y } } use z::w;"));
        assert_eq!(found[0].inside, ["a"]);
        assert!(found[1].inside.is_empty());
    }

    #[test]
    fn test_modules_are_left_out() {
        let kept = without_tests(&tokens("fn a() {} #[cfg(test)] mod tests { fn b() {} } fn c() {}"));
        let words: Vec<_> = kept.iter().map(|t| t.text.as_str()).collect();
        assert!(words.contains(&"a") && words.contains(&"c") && !words.contains(&"b"));
    }
}
