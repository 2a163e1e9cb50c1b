//! The client: every answer is held against `openapi.yaml`, and every body that should be accepted too.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

static DOCUMENT: LazyLock<Value> =
    LazyLock::new(|| serde_saphyr::from_str(include_str!("../../openapi.yaml")).unwrap());
static VALIDATORS: LazyLock<Mutex<HashMap<String, Arc<jsonschema::Validator>>>> = LazyLock::new(Mutex::default);

/// The interface as it is written down.
pub(crate) fn document() -> &'static Value {
    &DOCUMENT
}

fn validator(schema: &Value) -> Arc<jsonschema::Validator> {
    let key = schema.to_string();
    if let Some(known) = VALIDATORS.lock().unwrap().get(&key) {
        return Arc::clone(known);
    }
    let whole = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "components": DOCUMENT["components"], "allOf": [schema],
    });
    let built = Arc::new(jsonschema::validator_for(&whole).unwrap());
    VALIDATORS.lock().unwrap().insert(key, Arc::clone(&built));
    built
}

fn check(what: &str, schema: &Value, value: &Value) {
    let errors: Vec<String> =
        validator(schema).iter_errors(value).map(|e| format!("{} at {}", e, e.instance_path())).collect();
    assert!(errors.is_empty(), "{what}: {errors:#?}\n{value:#}");
}

/// The path template that a path belongs to.
fn template(path: &str) -> Option<&'static str> {
    let paths = DOCUMENT["paths"].as_object().unwrap();
    if let Some((exact, _)) = paths.get_key_value(path) {
        return Some(exact);
    }
    let fits = |template: &&String| {
        let (a, b): (Vec<&str>, Vec<&str>) = (template.split('/').collect(), path.split('/').collect());
        a.len() == b.len() && a.iter().zip(&b).all(|(a, b)| a == b || (a.starts_with('{') && !b.is_empty()))
    };
    paths.keys().find(fits).map(String::as_str)
}

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Got {
    /// Stops the test unless the status is this one.
    pub(crate) fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{:#}", self.body);
        self
    }

    /// Stops the test unless it is this problem.
    pub(crate) fn problem(self, status: u16, code: &str) -> Self {
        assert_eq!((self.status, self.code()), (status, code), "{:#}", self.body);
        self
    }

    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    pub(crate) fn text(&self, pointer: &str) -> String {
        self.body
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("no {pointer} in {:#}", self.body))
            .to_owned()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    pub(crate) fn replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    /// The body without what differs between two requests that were answered alike.
    pub(crate) fn essence(&self) -> (u16, Value) {
        let mut body = self.body.clone();
        if let Some(members) = body.as_object_mut() {
            members.remove("request_id");
        }
        (self.status, body)
    }
}

/// One request.
pub(crate) struct Ask {
    client: Client,
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Option<Vec<u8>>,
}

/// A client with a key, or without one.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) base: String,
    pub(crate) key: Option<String>,
    pub(crate) http: reqwest::Client,
}

impl Client {
    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let ask = Ask { client: self.clone(), method, path: path.to_owned(), headers: HeaderMap::new(), body: None };
        match &self.key {
            Some(key) => ask.header("authorization", &format!("Bearer {key}")),
            None => ask,
        }
    }

    /// A body under a fresh key where one is needed, and valid by the document.
    pub(crate) async fn post(&self, path: &str, body: Value) -> Got {
        self.ask("POST", path).fresh_key().valid(&body).send().await
    }

    /// A body that the document may forbid.
    pub(crate) async fn post_unchecked(&self, path: &str, body: &Value) -> Got {
        self.ask("POST", path).fresh_key().json(body).send().await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Got {
        self.ask("PUT", path).valid(&body).send().await
    }

    pub(crate) async fn get(&self, path: &str) -> Got {
        self.ask("GET", path).send().await
    }
}

impl Ask {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.insert(HeaderName::from_bytes(name.as_bytes()).unwrap(), HeaderValue::from_str(value).unwrap());
        self
    }

    pub(crate) fn key(self, key: &str) -> Self {
        self.header("idempotency-key", key)
    }

    pub(crate) fn fresh_key(self) -> Self {
        self.key(&crate::house::fresh("key"))
    }

    /// A body that the document allows.
    pub(crate) fn valid(self, body: &Value) -> Self {
        let place = template(&self.path).unwrap();
        let method = self.method.as_str().to_lowercase();
        let schema = &DOCUMENT["paths"][place][&method]["requestBody"]["content"]["application/json"]["schema"];
        check(&format!("request to {place}"), schema, body);
        self.json(body)
    }

    pub(crate) fn json(self, body: &Value) -> Self {
        self.raw(body.to_string().into_bytes())
    }

    pub(crate) fn raw(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = Some(body.into());
        if self.headers.contains_key("content-type") { self } else { self.header("content-type", "application/json") }
    }

    pub(crate) async fn send(self) -> Got {
        let url = format!("{}{}", self.client.base, self.path);
        let mut request = self.client.http.request(self.method.clone(), url).headers(self.headers);
        if let Some(body) = self.body {
            request = request.body(body);
        }
        let response = request.send().await.unwrap();
        let (status, headers) = (response.status(), response.headers().clone());
        let bytes = response.bytes().await.unwrap();
        let path = self.path.split('?').next().unwrap().to_owned();
        let body = judge(&self.method, &path, status, &headers, &bytes);
        Got { status: status.as_u16(), headers, body }
    }
}

/// Holds an answer against the document.
fn judge(method: &Method, path: &str, status: StatusCode, headers: &HeaderMap, bytes: &[u8]) -> Value {
    assert!(headers.contains_key("x-request-id"), "{method} {path}: every answer has an id");
    if bytes.is_empty() {
        return Value::Null;
    }
    let media = headers["content-type"].to_str().unwrap();
    let body: Value = serde_json::from_slice(bytes).unwrap_or_else(|_| json!(String::from_utf8_lossy(bytes)));
    let what = format!("{method} {path} → {status}");
    let problem = json!({"$ref": "#/components/schemas/Problem"});
    if status.is_client_error() || status.is_server_error() {
        if media == "application/problem+json" {
            check(&what, &problem, &body);
            assert_eq!(headers["x-request-id"], body["request_id"].as_str().unwrap());
        }
        if [404, 405].contains(&status.as_u16())
            && ["route_not_found", "method_not_allowed"].contains(&body["code"].as_str().unwrap())
        {
            return body;
        }
    }
    let place = template(path).unwrap_or_else(|| panic!("{what}: no such path in the document"));
    let operation = &DOCUMENT["paths"][place][method.as_str().to_lowercase()];
    let mut declared = &operation["responses"][status.as_str()];
    assert!(declared.is_object(), "{what}: the status is not declared\n{body:#}");
    if let Some(reference) = declared["$ref"].as_str() {
        declared = DOCUMENT.pointer(reference.trim_start_matches('#')).unwrap();
    }
    let schema = &declared["content"][media]["schema"];
    assert!(schema.is_object(), "{what}: the media type {media} is not declared");
    check(&what, schema, &body);
    body
}
