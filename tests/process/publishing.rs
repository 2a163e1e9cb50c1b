//! A published log, read as a monitor reads it: with the log's key and nothing else.

use std::collections::BTreeMap;
use std::time::Duration;

use cscp::evidence::checkpoint::Checkpoint;
use cscp::evidence::note::VerifierKey;
use sha2::{Digest as _, Sha256};

use crate::caller::{Caller, Sent, hello};
use crate::folder::{Folder, TENANT};
use crate::server::Server;
use crate::waiting::until;

/// More entries than a full tile has.
const MESSAGES: usize = 150;
const FULL: usize = 256;
const SIGNED_WITHIN: Duration = Duration::from_secs(30);

pub(crate) fn start(folder: &Folder, more: &[&str]) -> Server {
    let key = folder.path().join("key");
    let arguments = ["--no-demo-tenant", "--metrics-listen", "off", "--signing-key", key.to_str().unwrap()];
    Server::start_with(folder, &[&arguments, more].concat())
}

/// What is there for somebody without a key: status, type, how long it may be kept, and the bytes.
pub(crate) async fn fetched(server: &Server, path: &str) -> (u16, BTreeMap<String, String>, Vec<u8>) {
    let answer = reqwest::Client::builder().no_proxy().build().unwrap().get(format!("{}{path}", server.base));
    let answer = answer.send().await.unwrap();
    let header = |name: &str| answer.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let headers = ["content-type", "cache-control"].into_iter();
    let headers = headers.filter_map(|name| Some((name.to_owned(), header(name)?))).collect();
    (answer.status().as_u16(), headers, answer.bytes().await.unwrap().to_vec())
}

pub(crate) async fn found(server: &Server, path: &str) -> Vec<u8> {
    let (status, headers, bytes) = fetched(server, &format!("/log/{TENANT}/tile/{path}")).await;
    assert_eq!((status, headers["content-type"].as_str()), (200, "application/octet-stream"), "{path}");
    assert!(headers["cache-control"].contains("immutable"), "{headers:?}");
    bytes
}

pub(crate) type Hash = [u8; 32];

fn hash(parts: &[&[u8]]) -> Hash {
    Sha256::digest(parts.concat()).into()
}

/// The root as RFC 6962 defines it (section 2.1).
pub(crate) fn root(leaves: &[Hash]) -> Hash {
    if let [leaf] = leaves {
        return *leaf;
    }
    let (left, right) = leaves.split_at(leaves.len().next_power_of_two() / 2);
    hash(&[&[1], &root(left), &root(right)])
}

/// The paths of the tiles of level 0 of a tree of this size, and how wide each is.
pub(crate) fn tiles(size: usize) -> impl Iterator<Item = (String, usize)> {
    let full = (0..size / FULL).map(|index| (format!("{index:03}"), FULL));
    let rest = size % FULL;
    full.chain((rest > 0).then(|| (format!("{:03}.p/{rest}", size / FULL), rest)))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_monitor_rebuilds_the_tree_from_what_is_published() {
    let folder = Folder::with_tenant();
    let server = start(&folder, &["--publish-log"]);
    let caller = Caller::new(&server.base, &folder.key("handler"));
    for number in 0..MESSAGES {
        caller.send(&hello(&format!("wamid.{number}"), &format!("talk-{number}"))).await.done();
    }
    let auditor = Caller::new(&server.base, &folder.key("auditor"));
    let key = until("a checkpoint", SIGNED_WITHIN, async || {
        let answer = auditor.send(&Sent::get("/v1/evidence/checkpoint")).await;
        (answer.body["size"].as_u64() > Some(270)).then(|| VerifierKey::parse(answer.text("/keys/0")).unwrap())
    });
    let key = key.await;

    let (status, headers, note) = fetched(&server, &format!("/log/{TENANT}/checkpoint")).await;
    assert_eq!((status, headers["content-type"].as_str()), (200, "text/plain; charset=utf-8"));
    let checkpoint = Checkpoint::open(std::str::from_utf8(&note).unwrap(), &[key]).unwrap();
    let size = usize::try_from(checkpoint.size()).unwrap();
    let mut leaves = Vec::new();
    for (path, width) in tiles(size) {
        let (hashes, records) =
            (found(&server, &format!("0/{path}")).await, found(&server, &format!("entries/{path}")).await);
        assert_eq!((hashes.len(), records.len()), (width * 32, width * 34));
        for (leaf, record) in hashes.as_chunks::<32>().0.iter().zip(records.chunks(34)) {
            assert_eq!((&record[..2], *leaf), ([0, 32].as_slice(), hash(&[&[0], &record[2..]])));
            leaves.push(*leaf);
        }
    }
    assert_eq!(root(&leaves), *checkpoint.root().as_bytes());
    assert_eq!(found(&server, "1/000.p/1").await, root(&leaves[..FULL]), "the level above");
    assert_eq!(found(&server, "0/000.p/3").await, leaves[..3].concat(), "an older tree has narrower tiles");

    // What is not there is not there, and nobody learns which tenants are.
    let others = ["tile/0/x999/999", "tile/0/0", "tile/7/000", "tile/entries/900.p/2", "tile/0/../000", "elsewhere"];
    for path in others
        .iter()
        .map(|path| format!("/log/{TENANT}/{path}"))
        .chain(["/log/nobody/checkpoint".to_owned(), "/log/%ff/checkpoint".to_owned()])
    {
        assert_eq!(fetched(&server, &path).await.0, 404, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_published_unasked() {
    let folder = Folder::with_tenant();
    let server = start(&folder, &[]);
    Caller::new(&server.base, &folder.key("handler")).send(&hello("wamid.1", "talk")).await.done();
    let auditor = Caller::new(&server.base, &folder.key("auditor"));
    until("a checkpoint", SIGNED_WITHIN, async || {
        Some(auditor.send(&Sent::get("/v1/evidence/checkpoint")).await).filter(|answer| answer.status == 200)
    })
    .await;
    for path in ["checkpoint", "tile/0/000.p/1", "tile/entries/000.p/1"] {
        assert_eq!(fetched(&server, &format!("/log/{TENANT}/{path}")).await.0, 404, "{path}");
    }
}
