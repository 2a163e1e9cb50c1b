//! Half-sent heads, too many connections, bodies that nobody waited for, and the end, over real sockets.

use std::sync::Arc;

use axum::routing::{get, post};
use tokio::io::AsyncReadExt as _;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use super::*;

const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: cscp\r\n\r\n";
const LONG: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(100);

/// A listener that answers at `/`, and at `/slow` when it is told to.
struct Listening {
    address: std::net::SocketAddr,
    /// A slow request has come.
    slow_came: Arc<Notify>,
    go_on: Arc<Notify>,
    stop: oneshot::Sender<()>,
    ended: JoinHandle<bool>,
}

impl Listening {
    async fn new(limits: ListenLimits) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (slow_came, go_on) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (came, told) = (Arc::clone(&slow_came), Arc::clone(&go_on));
        let slow = move || async move {
            came.notify_one();
            told.notified().await;
            "slow"
        };
        let refused = async || (StatusCode::UNAUTHORIZED, "refused");
        let app =
            Router::new().route("/", get(async || "quick")).route("/slow", get(slow)).route("/refused", post(refused));
        let (stop, stopped) = oneshot::channel();
        let ended = tokio::spawn(listen(listener, app, limits, async { drop(stopped.await) }));
        Self { address, slow_came, go_on, stop, ended }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }
}

fn limits(wait: Duration) -> ListenLimits {
    let patience = Patience { head: wait, idle: wait, taking: LONG };
    ListenLimits { connections: 2, of_one_address: 2, patience, drain: LONG }
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
async fn a_connection_too_many_takes_the_place_of_one_that_waits_or_is_told_that_there_is_none() {
    let listening = Listening::new(limits(LONG)).await;
    let mut silent = listening.connect().await;
    let mut idle = listening.connect().await;
    idle.write_all(ASKED).await.unwrap();
    assert!(answer(&mut idle).await.ends_with("quick"));
    let mut slow = Vec::new();
    for replaced in [&mut silent, &mut idle] {
        let mut stream = listening.connect().await;
        stream.write_all(b"GET /slow HTTP/1.1\r\nHost: cscp\r\n\r\n").await.unwrap();
        assert_eq!(rest(replaced).await, "", "who never asked goes first, then who was idle");
        listening.slow_came.notified().await;
        slow.push(stream);
    }
    let mut late = listening.connect().await;
    late.write_all(ASKED).await.unwrap();
    let told = rest(&mut late).await;
    assert!(told.starts_with("HTTP/1.1 503"), "{told}");
    assert!(told.contains("Connection: close") && told.contains("Retry-After: 1"), "{told}");
    assert!(told.contains(PROBLEM_JSON) && told.contains("urn:cscp:problem:too_many_connections"), "{told}");
    listening.go_on.notify_waiters();
    for stream in &mut slow {
        assert!(answer(stream).await.ends_with("slow"), "nobody is sent away who is being answered");
    }
}

#[tokio::test]
async fn a_head_has_bounds() {
    let listening = Listening::new(limits(LONG)).await;
    let filler = |bytes: usize| format!("GET / HTTP/1.1\r\nHost: cscp\r\nX-Filler: {}\r\n\r\n", "x".repeat(bytes));
    let mut fits = listening.connect().await;
    fits.write_all(filler(HEAD_BYTES - 1_024).as_bytes()).await.unwrap();
    assert!(answer(&mut fits).await.ends_with("quick"));
    let fields = "X-Field: x\r\n".repeat(101);
    let many = format!("GET / HTTP/1.1\r\nHost: cscp\r\n{fields}\r\n");
    for head in [filler(HEAD_BYTES), filler(400_000), many] {
        let mut stream = listening.connect().await;
        stream.write_all(head.as_bytes()).await.unwrap();
        let told = rest(&mut stream).await;
        assert!(told.starts_with("HTTP/1.1 431"), "{} bytes: {told}", head.len());
    }
}

/// How a body comes after its head.
#[derive(Debug, Clone, Copy)]
enum Comes {
    Together,
    Apart,
    Later(Duration),
}

/// Sends a request that is refused by its head, and says whether the answer announced that the connection closes.
async fn refused(stream: &mut TcpStream, bytes: usize, comes: Comes) -> bool {
    let head = format!("POST /refused HTTP/1.1\r\nHost: cscp\r\nContent-Length: {bytes}\r\n\r\n");
    let body = vec![b'x'; bytes];
    match comes {
        Comes::Together => stream.write_all(&[head.as_bytes(), &body].concat()).await.unwrap(),
        Comes::Apart => {
            stream.write_all(head.as_bytes()).await.unwrap();
            stream.write_all(&body).await.unwrap();
        }
        Comes::Later(pause) => {
            stream.write_all(head.as_bytes()).await.unwrap();
            // The other side has nothing to say meanwhile.
            assert!(tokio::time::timeout(pause, stream.readable()).await.is_err());
            stream.write_all(&body).await.unwrap();
        }
    }
    let told = answer(stream).await;
    assert!(told.starts_with("HTTP/1.1 401"), "{told}");
    told.to_lowercase().contains("connection: close")
}

#[tokio::test]
async fn no_request_is_lost_behind_a_body_that_nobody_waited_for() {
    let listening = Listening::new(limits(LONG)).await;
    for bytes in [20, 4_000, 100_000] {
        for comes in [Comes::Together, Comes::Apart, Comes::Later(Duration::from_millis(2))] {
            let mut stream = listening.connect().await;
            for _ in 0..20 {
                assert!(!refused(&mut stream, bytes, comes).await, "{bytes} {comes:?}: it is read and thrown away");
                stream.write_all(ASKED).await.unwrap();
                assert!(answer(&mut stream).await.ends_with("quick"), "{bytes} {comes:?}");
            }
        }
    }
}

#[tokio::test]
async fn a_connection_that_is_not_kept_says_so() {
    let listening = Listening::new(limits(LONG)).await;
    let mut large = listening.connect().await;
    assert!(refused(&mut large, 3_000_000, Comes::Together).await, "too large to be thrown away");
    let mut asks_first = listening.connect().await;
    let head = b"POST /refused HTTP/1.1\r\nHost: cscp\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n";
    asks_first.write_all(head).await.unwrap();
    let told = rest(&mut asks_first).await.to_lowercase();
    assert!(told.starts_with("http/1.1 401") && told.contains("connection: close"), "{told}");
    let mut never = listening.connect().await;
    never.write_all(b"POST /refused HTTP/1.1\r\nHost: cscp\r\nContent-Length: 9\r\n\r\nabc").await.unwrap();
    let told = rest(&mut never).await.to_lowercase();
    assert!(told.starts_with("http/1.1 401") && told.contains("connection: close"), "{told}");
}

#[tokio::test]
async fn an_answer_that_nobody_takes_is_given_up() {
    let patience = Patience { head: LONG, idle: LONG, taking: SHORT };
    let listening = Listening::new(ListenLimits { patience, ..limits(LONG) }).await;
    let mut deaf = listening.connect().await;
    // More answers than any buffer on the way holds; the other side reads none of them.
    let asked = ASKED.repeat(10_000);
    let mut broke_off = false;
    for _ in 0..1_000 {
        let sent = tokio::time::timeout(LONG, deaf.write_all(&asked)).await.expect("nobody waits for ever");
        if sent.is_err() {
            broke_off = true;
            break;
        }
    }
    assert!(broke_off);
}

#[tokio::test]
async fn a_stop_finishes_what_was_accepted_and_waits_for_nobody_else() {
    let listening = Listening::new(ListenLimits { connections: 9, of_one_address: 9, ..limits(LONG) }).await;
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
