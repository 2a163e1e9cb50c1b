//! The router and `openapi.yaml` say the same: the same operations, the same scopes, the same need for a key.

use std::collections::BTreeMap;

use serde_json::Value;

use super::v1;

fn document() -> Value {
    serde_saphyr::from_str(include_str!("../../openapi.yaml")).unwrap()
}

/// What one operation demands, as either side states it.
#[derive(Debug, PartialEq)]
struct Demands {
    scope: Option<String>,
    key: bool,
}

fn written() -> BTreeMap<(String, String), Demands> {
    let document = document();
    let mut found = BTreeMap::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let refers = |name: &str| {
                operation["parameters"].as_array().is_some_and(|parameters| {
                    parameters.iter().any(|p| p["$ref"] == format!("#/components/parameters/{name}"))
                })
            };
            let demands = Demands {
                scope: operation["security"][0]["bearer"][0].as_str().map(str::to_owned),
                key: refers("IdempotencyKey"),
            };
            found.insert((method.to_uppercase(), path.clone()), demands);
        }
    }
    found
}

#[test]
fn router_and_document_agree_both_ways() {
    let routed: BTreeMap<_, _> = v1::routes()
        .iter()
        .map(|route| {
            let endpoint = route.endpoint();
            let scope = endpoint.scopes.first().map(|scope| scope.as_str().to_owned());
            // A contract has no name for a parameter that holds slashes.
            let place = (endpoint.method.to_owned(), endpoint.path.replace("{*", "{"));
            (place, Demands { scope, key: endpoint.needs_key })
        })
        .collect();
    assert_eq!(routed, written());
}
