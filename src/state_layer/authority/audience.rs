//! Audiences: who may see what is restricted. What cannot be told is a no.

use super::functions::{functions, written_out};
use super::titles::{Class, Place, place, words};
use super::{AuthorityOrder, Viewer};
use crate::state_layer::language::terms::folded;

const AND_ABOVE: &[&str] = &[
    " and above",
    " or above",
    " and up",
    " or higher",
    " and higher",
    " e acima",
    " ou acima",
    " ou superior",
    " e superiores",
    " o superior",
    " y superiores",
    " en adelante",
    " para cima",
];
const BETWEEN: &[&str] = &[",", ";", "/", " and ", " or ", " & ", " e ", " ou ", " y ", " o "];
const EVERYBODY: &[&str] = &["everyone", "everybody", "anyone", "all", "public", "all staff", "all employees", "todos"];
const GROUP: &[&str] = &[
    "team",
    "teams",
    "department",
    "dept",
    "staff",
    "group",
    "members",
    "member",
    "people",
    "employees",
    "personnel",
    "organization",
    "org",
    "only",
    "the",
    "da",
    "do",
    "de",
    "del",
    "la",
    "el",
    "time",
    "equipe",
    "equipo",
    "area",
    "departamento",
    "setor",
    "somente",
    "apenas",
    "solo",
];
const LEADERS: &[&str] = &[
    "leadership",
    "leaders",
    "heads",
    "head",
    "directors",
    "director",
    "lideranca",
    "liderazgo",
    "diretoria",
    "diretores",
    "directores",
    "direccion",
];
const MANAGERS: &[&str] = &["managers", "management", "manager", "gerentes", "gerencia", "jefes", "chefes"];

/// Whether an audience admits a viewer: one of its parts has to.
pub(super) fn admits(audience: &str, viewer: &Viewer, order: &AuthorityOrder) -> bool {
    let mut text = folded(audience).replace('&', " & ");
    if viewer.permissions.iter().any(|grant| folded(grant).trim() == folded(audience).trim()) {
        return true;
    }
    for above in AND_ABOVE {
        text = text.replace(above, "+");
    }
    for between in BETWEEN {
        text = text.replace(between, "\n");
    }
    let named = audience.split([',', ';']).any(|part| by_name(part.trim(), viewer));
    named || text.split('\n').any(|part| part_admits(part.trim(), viewer, order))
}

/// Ids are compared as they are written.
fn by_name(part: &str, viewer: &Viewer) -> bool {
    if part.is_empty() {
        return false;
    }
    match part.split_once(':') {
        Some(("user", id)) => id.trim() == viewer.user_id,
        Some(("role", role)) => viewer.roles.iter().any(|held| held == role.trim()),
        _ => part == viewer.user_id || viewer.roles.iter().any(|held| held == part),
    }
}

fn part_admits(part: &str, viewer: &Viewer, order: &AuthorityOrder) -> bool {
    if part.is_empty() || part.contains(':') {
        return false;
    }
    if EVERYBODY.contains(&part) || viewer.permissions.iter().any(|grant| folded(grant).trim() == part) {
        return true;
    }
    let title = viewer.authority.as_deref().map(folded).unwrap_or_default();
    let title = title.trim();
    if let Some(least) = part.strip_suffix('+') {
        return match (order.rank(title), order.rank(least.trim())) {
            (Some(held), Some(least)) => held >= least,
            _ => false,
        };
    }
    if !title.is_empty() && written_out(&words(title)) == written_out(&words(part)) {
        return true;
    }
    let held = place(title);
    by_standing(part, held).unwrap_or_else(|| by_function(part, title, held, viewer))
}

/// Audiences that are told by standing alone; none for others.
fn by_standing(part: &str, held: Option<Place>) -> Option<bool> {
    let at_least = |least: Place| held.is_some_and(|held| held.class == least.class && held >= least);
    let asked = words(part).join(" ");
    Some(match asked.as_str() {
        "board" | "the board" | "board of directors" | "board members" | "conselho" | "junta directiva" => {
            at_least(Place::BOARD)
        }
        "c suite" | "csuite" | "c level" | "clevel" | "the c suite" => at_least(Place::C_SUITE),
        "executive"
        | "executives"
        | "executive team"
        | "leadership"
        | "senior leadership"
        | "leadership team"
        | "executive leadership"
        | "executivos"
        | "ejecutivos" => at_least(Place::VICE_PRESIDENT),
        "vps" | "vice presidents" => same(held, Place::VICE_PRESIDENT),
        "directors" | "diretores" | "directores" => same(held, Place::DIRECTOR),
        "managers" | "management" | "gerentes" => {
            held.is_some_and(|held| held.class == Class::Manager && held >= Place::MANAGER)
        }
        _ => return None,
    })
}

fn same(held: Option<Place>, asked: Place) -> bool {
    held == Some(asked)
}

/// Audiences that are told by function, and by standing in it: `Finance`, `Security team`, `CS leadership`.
fn by_function(part: &str, title: &str, held: Option<Place>, viewer: &Viewer) -> bool {
    let asked = words(part);
    let least = if asked.iter().any(|word| LEADERS.contains(word)) {
        Some(Place::HEAD)
    } else if asked.iter().any(|word| MANAGERS.contains(word)) {
        Some(Place::MANAGER)
    } else {
        None
    };
    if least.is_some_and(|least| held.is_none_or(|held| held < least || held.class == Class::Policy)) {
        return false;
    }
    let told = |words: &[&str]| {
        words
            .iter()
            .copied()
            .filter(|word| !GROUP.contains(word) && !LEADERS.contains(word) && !MANAGERS.contains(word))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    // "People team" is human resources: known phrases are looked for before the words of grouping are dropped.
    let wanted = functions(&asked);
    let left = told(&asked);
    let title_words = words(title);
    let of_title = functions(&title_words);
    let department = viewer.department.as_deref().map(folded).unwrap_or_default();
    let department = words(&department);
    if wanted.is_empty() {
        // A function that the table does not know: it has to be said in so many words.
        let said = |words: &[&str]| !left.is_empty() && left.iter().all(|word| words.contains(&word.as_str()));
        return said(&title_words) || (of_title.is_empty() && said(&department));
    }
    // The title says what somebody does. The department counts only where the title is silent.
    let own = if of_title.is_empty() { functions(&department) } else { of_title };
    wanted.iter().all(|function| own.contains(function))
}
