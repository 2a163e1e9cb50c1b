//! Several servers on one database: what one is told about keys and tenants, all go by within a second.

use cscp::domain::id::TenantId;

use crate::house::House;

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

#[tokio::test]
async fn a_revoked_key_works_nowhere_a_second_later() {
    let fleet = House::fleet(2).await;
    let [(here, _), (there, _)] = &fleet[..] else { panic!() };
    let doomed = here.handler("a").await;
    here.wait(1);
    let kept = here.handler("a").await;
    for house in [here, there] {
        house.reached_by(&doomed).get("/v1/policies").await.expect(200);
        house.reached_by(&kept).get("/v1/policies").await.expect(200);
    }
    let keys = here.store.keys(&tenant("a")).await.unwrap();
    assert!(here.store.revoke_key(&tenant("a"), &keys[0].key_id, keys[0].created_at).await.unwrap());
    for house in [here, there] {
        house.reached_by(&doomed).get("/v1/policies").await.expect(200);
    }
    here.wait(1);
    for house in [here, there] {
        house.reached_by(&doomed).get("/v1/policies").await.problem(401, "unauthenticated");
        house.reached_by(&kept).get("/v1/policies").await.expect(200);
    }
}

#[tokio::test]
async fn a_disabled_tenant_is_turned_away_everywhere_a_second_later_and_let_in_again() {
    let fleet = House::fleet(2).await;
    let client = fleet[0].0.handler("a").await;
    for (enabled, status) in [(true, 200), (false, 401), (true, 200)] {
        assert!(fleet[0].0.store.set_tenant_enabled(&tenant("a"), enabled).await.unwrap());
        fleet[0].0.wait(1);
        for (house, _) in &fleet {
            house.reached_by(&client).get("/v1/policies").await.expect(status);
        }
    }
}

#[tokio::test]
async fn a_tenant_attached_to_another_pack_is_decided_by_it_everywhere_a_second_later() {
    let fleet = House::fleet(2).await;
    let client = fleet[0].0.handler("a").await;
    for (pack, in_force) in [(Some("basic"), "basic"), (Some("strong"), "strong"), (None, "basic")] {
        assert!(fleet[1].0.store.set_tenant_policy(&tenant("a"), pack).await.unwrap());
        fleet[0].0.wait(1);
        for (house, _) in &fleet {
            let client = house.reached_by(&client);
            let context = house.opened(&client, &crate::house::fresh("conv")).await;
            let shown = client.get(&format!("/v1/contexts/{context}")).await.expect(200);
            assert_eq!(shown.text("/policy/pack_id"), in_force);
        }
    }
    assert!(!fleet[0].0.store.set_tenant_policy(&tenant("nobody"), None).await.unwrap());
}

#[tokio::test]
async fn a_clock_that_is_set_back_prolongs_no_belief() {
    let house = House::new().await;
    let client = house.handler("a").await;
    client.get("/v1/policies").await.expect(200);
    house.store.set_tenant_enabled(&tenant("a"), false).await.unwrap();
    house.wait(-3_600);
    client.get("/v1/policies").await.problem(401, "unauthenticated");
}
