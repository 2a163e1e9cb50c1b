//! Half-sent heads, too many connections, and the end, over real sockets.

use std::sync::Arc;

use axum::routing::get;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use super::*;

const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: cscp\r\n\r\n";
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(100);

/// A listener that answers at `/`, and at `/slow` when it is told to.
struct Listening {
    address: std::net::SocketAddr,
    go_on: Arc<Notify>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<bool>,
}

impl Listening {
    async fn new(limits: ListenLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let go_on = Arc::new(Notify::new());
        let told = Arc::clone(&go_on);
        let slow = move || async move {
            told.notified().await;
            "slow"
        };
        let app = Router::new().route("/", get(async || "quick")).route("/slow", get(slow));
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(listen(listener, app, limits, async { drop(stopped.await) }));
        Self { address, go_on, stop, ended }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

fn limits(head_timeout: Duration) -> ListenLimits {
    ListenLimits { connections: 2, head_timeout, drain: LONG }
}

/// What comes until the other side closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    // A reset is an end as well.
    drop(tokio::time::timeout(LONG, stream.read_to_end(&mut text)).await.unwrap());
    String::from_utf8(text).unwrap()
}

async fn answer(stream: &mut TcpStream) -> String {
    let mut text = vec![0; 1_024];
    let length = tokio::time::timeout(LONG, stream.read(&mut text)).await.unwrap().unwrap();
    String::from_utf8(text[..length].to_vec()).unwrap()
}

#[tokio::test]
async fn a_half_sent_head_is_given_up_and_so_is_an_idle_connection() {
    let listening = Listening::new(limits(SHORT)).await;
    let mut half = listening.connect().await;
    half.write_all(b"GET / HTTP/1.1\r\nHost: cs").await.unwrap();
    assert!(!rest(&mut half).await.contains("200 OK"));
    let mut idle = listening.connect().await;
    idle.write_all(ASKED).await.unwrap();
    assert!(rest(&mut idle).await.ends_with("quick"), "answered, and closed although nobody asked for that");
    let mut slow = listening.connect().await;
    slow.write_all(b"GET /slow HTTP/1.1\r\nHost: cscp\r\n\r\n").await.unwrap();
    assert!(tokio::time::timeout(SHORT * 3, slow.read_u8()).await.is_err(), "an answer may take longer than a head");
    listening.go_on.notify_one();
    assert!(rest(&mut slow).await.ends_with("slow"));
}

#[tokio::test]
async fn a_connection_too_many_waits_until_another_ends() {
    let listening = Listening::new(limits(LONG)).await;
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut stream = listening.connect().await;
        stream.write_all(ASKED).await.unwrap();
        assert!(answer(&mut stream).await.ends_with("quick"));
        open.push(stream);
    }
    let mut third = listening.connect().await;
    third.write_all(ASKED).await.unwrap();
    assert!(tokio::time::timeout(SHORT, third.read_u8()).await.is_err(), "two are open and no more may be");
    open.pop();
    assert!(answer(&mut third).await.ends_with("quick"));
}

#[tokio::test]
async fn a_stop_finishes_what_was_accepted_and_waits_for_nobody_else() {
    let listening = Listening::new(ListenLimits { connections: 9, ..limits(LONG) }).await;
    let mut silent = listening.connect().await;
    let mut idle = listening.connect().await;
    idle.write_all(ASKED).await.unwrap();
    assert!(answer(&mut idle).await.ends_with("quick"));
    let mut slow = listening.connect().await;
    slow.write_all(b"GET /slow HTTP/1.1\r\nHost: cscp\r\n\r\n").await.unwrap();
    // Connections are taken in order: when a later one is answered, this one has been taken.
    let mut later = listening.connect().await;
    later.write_all(ASKED).await.unwrap();
    assert!(answer(&mut later).await.ends_with("quick"));
    listening.stop.send(()).unwrap();
    for stream in [&mut silent, &mut idle, &mut later] {
        assert_eq!(rest(stream).await, "");
    }
    assert!(!listening.ended.is_finished());
    listening.go_on.notify_one();
    assert!(rest(&mut slow).await.ends_with("slow"));
    assert!(listening.ended.await.unwrap(), "all ended in time");
    assert!(TcpStream::connect(listening.address).await.is_err());
}

#[tokio::test]
async fn what_does_not_end_in_time_is_given_up() {
    let listening = Listening::new(ListenLimits { drain: SHORT, ..limits(LONG) }).await;
    let mut slow = listening.connect().await;
    slow.write_all(b"GET /slow HTTP/1.1\r\nHost: cscp\r\n\r\n").await.unwrap();
    let mut later = listening.connect().await;
    later.write_all(ASKED).await.unwrap();
    assert!(answer(&mut later).await.ends_with("quick"));
    listening.stop.send(()).unwrap();
    assert!(!listening.ended.await.unwrap());
    assert_eq!(rest(&mut slow).await, "");
}
