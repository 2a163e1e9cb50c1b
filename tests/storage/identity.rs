//! What a decision sees of a person whom its operation does not name: the database brings that record along.

use cscp::domain::id::PrincipalId;
use cscp::domain::operation::{Operation, PutPrincipal};
use cscp::domain::principal::{Alias, AliasKind, PrincipalKind};
use serde_json::json;

use crate::harness::{House, code};

fn number(value: &str) -> Operation {
    Operation::PutPrincipal(PutPrincipal {
        principal_id: PrincipalId::new("ana").unwrap(),
        kind: PrincipalKind::Person,
        roles: Vec::new(),
        person_id: None,
        aliases: vec![Alias { kind: AliasKind::Phone, value: value.to_owned() }],
        maturity: None,
        locale: None,
        if_revision: None,
    })
}

#[tokio::test]
async fn what_was_agreed_to_before_an_identity_changed_is_void_for_operations_that_name_no_person() {
    let house = House::new().await;
    house.answer(number("+1 202 555 0101")).await.unwrap();
    let context_id = house.context().await;
    let (item, buttons) = house.ask(&context_id, "k").await;
    assert_eq!(code(&house.post("wamid.yes", json!({"button_id": buttons[0]})).await), "confirmed");
    house.answer(number("+1 202 555 0199")).await.unwrap();
    assert!(house.answer(House::bind(&context_id, "k", "try")).await.is_err());
    let item = house.store.item(&house.tenant.tenant_id, &item).await.unwrap().unwrap();
    assert_eq!(item.state_word(), "voided");
}
