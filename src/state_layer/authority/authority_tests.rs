//! Ranks and audiences, title by title.

use super::*;

fn order() -> AuthorityOrder {
    AuthorityOrder::default()
}

#[test]
fn titles_are_ordered() {
    let descending: &[&[&str]] = &[
        &["policy", "system", "Company Policy", "política da empresa"],
        &["legal", "Compliance"],
        &["Board of Directors", "board", "Conselho"],
        &["CEO", "Chief Executive Officer", "Director Ejecutivo", "Diretora Executiva"],
        &["CFO", "Chief Revenue Officer", "c_level", "General Counsel", "President", "Founder", "dono"],
        &["SVP", "Senior Vice President, Sales"],
        &["VP", "VP Sales", "Vice President of People", "executive", "Vice-Presidente"],
        &["Senior Director"],
        &["Director", "Engineering Director", "Director of Board Relations", "Diretor de Vendas", "General Manager"],
        &["Deputy Director"],
        &["Head of Legal", "Chief Architect"],
        &["Senior Manager"],
        &["manager", "Sales Manager", "Gerente de Compras", "jefe", "Customer Success Manager", "chefe"],
        &["Assistant Manager"],
        &["Team Lead", "supervisor", "Coordenadora", "Lead Engineer"],
        &[
            "employee",
            "peer",
            "Senior Engineer",
            "Account Executive",
            "user",
            "Executive Assistant",
            "Support Agent",
            "Secretary to the CEO",
            "Product Owner",
            "individual",
            "funcionário",
            "Estimated Officer",
        ],
        &["contractor", "Contractor Architect"],
        &["intern", "Intern to the CEO", "subordinate", "estagiário", "becaria", "temp"],
        &["guest", "Customer", "cliente", "external"],
    ];
    let ranks: Vec<Vec<Rank>> = descending
        .iter()
        .map(|group| group.iter().map(|title| order().rank(title).unwrap_or_else(|| panic!("{title}"))).collect())
        .collect();
    for (group, titles) in ranks.iter().zip(descending) {
        assert!(group.iter().all(|rank| *rank == group[0]), "{titles:?} {group:?}");
    }
    for (pair, titles) in ranks.windows(2).zip(descending.windows(2)) {
        assert!(pair[0][0] > pair[1][0], "{titles:?}");
    }
}

#[test]
fn words_that_name_no_standing_have_no_rank() {
    for title in ["", "  ", "Zaphod", "former CEO", "ex-diretor", "Q4"] {
        assert_eq!(order().rank(title), None, "{title}");
    }
}

#[test]
fn an_order_of_other_words_takes_titles_in() {
    let renamed = AuthorityOrder { levels: ["Diretoria", "Gerência", "Funcionários"].map(str::to_owned).to_vec() };
    assert_eq!(renamed.rank("diretoria").map(|rank| rank.level), Some(2));
    assert_eq!(renamed.rank("CEO").map(|rank| rank.level), Some(2), "no executive level: the next lower class");
    assert!(renamed.rank("CEO") > renamed.rank("Director"));
    assert_eq!(renamed.rank("intern").map(|rank| rank.level), Some(0), "no guests: the lowest that is known");
    assert!(renamed.rank("intern") < renamed.rank("funcionário"));
    let own = AuthorityOrder { levels: ["gold", "silver"].map(str::to_owned).to_vec() };
    assert!(own.rank("Gold") > own.rank("silver"));
    assert_eq!(own.rank("CEO"), None, "an order whose words say nothing ranks only its own");
    assert_eq!(own.unnamed().level, 0);
    assert!(order().same_level("VP Sales", "CFO") && !order().same_level("VP", "manager"));
}

fn viewer(title: &str, department: &str) -> Viewer {
    Viewer {
        user_id: "u1".to_owned(),
        authority: (!title.is_empty()).then(|| title.to_owned()),
        department: (!department.is_empty()).then(|| department.to_owned()),
        ..Viewer::default()
    }
}

#[test]
fn audiences_admit_whom_they_name() {
    let cases: &[(&str, &str, &str)] = &[
        ("VP Sales", "Sales", "VP+"),
        ("CEO", "", "VP and above"),
        ("Chief Revenue Officer", "Sales", "C-suite"),
        ("HR Director", "", "HR"),
        ("CHRO", "", "HR"),
        ("People Ops", "", "Human Resources"),
        ("Product Director", "Project", "Director+"),
        ("CISO", "Project", "Security team"),
        ("CISO", "", "C-suite"),
        ("CFO", "Procurement", "Finance"),
        ("Customer Success Director", "Support", "CS leadership"),
        ("Analyst", "Finance", "Finance"),
        ("Team Lead", "Human Resources", "HR"),
        ("Gerente Financeiro", "", "Finance managers"),
        ("Engineering Manager", "", "HR, Engineering"),
        ("Engineering Manager", "", "Legal or Manager+"),
        ("CFO", "", "Chief Financial Officer"),
        ("Diretor de Vendas", "", "diretor ou superior"),
        ("intern", "Robotics", "Robotics team"),
        ("intern", "", "everyone"),
    ];
    for (title, department, audience) in cases {
        assert!(viewer(title, department).belongs_to(audience, &order()), "{title} ({department}) in {audience}");
    }
}

#[test]
fn audiences_refuse_whom_they_do_not_name_and_whom_they_cannot_tell() {
    let cases: &[(&str, &str, &str)] = &[
        ("Sales Rep", "Sales", "VP+"),
        ("Team Lead", "Hr", "VP+"),
        ("Engineering Manager", "Hr", "HR"),
        ("Support Agent", "Support", "CS leadership"),
        ("Customer Success Manager", "Support", "CS leadership"),
        ("Senior Engineer", "Project", "Director+"),
        ("Procurement Specialist", "Procurement", "Finance"),
        ("Account Executive", "Sales", "C-suite"),
        ("Executive Assistant", "", "C-suite"),
        ("VP Sales", "", "C-suite"),
        ("Backend Developer", "Project", "Security team"),
        ("People Ops", "", "Operations"),
        ("", "", "HR"),
        ("", "", ""),
        ("CEO", "", "role:auditor"),
        ("CEO", "", "user:u2"),
        ("CEO", "", "Zaphod+"),
        ("Zaphod", "", "guest+"),
        ("former CFO", "", "C-suite"),
        ("system", "", "Finance leadership"),
    ];
    for (title, department, audience) in cases {
        assert!(!viewer(title, department).belongs_to(audience, &order()), "{title} ({department}) in {audience}");
    }
}

#[test]
fn names_roles_and_grants_admit() {
    let mut person = viewer("intern", "");
    person.roles = vec!["auditor".to_owned()];
    person.permissions = vec!["Finance".to_owned(), "M&A, deals".to_owned()];
    for audience in
        ["role:auditor", "user:u1", "u1", "HR, role:auditor", "finance", "HR or Finance", "M&A, deals", "auditor"]
    {
        assert!(person.belongs_to(audience, &order()), "{audience}");
    }
    for audience in ["role:aud", "user:U1", "HR", "role:", "user:"] {
        assert!(!person.belongs_to(audience, &order()), "{audience}");
    }
}
