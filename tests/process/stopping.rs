//! SIGTERM: what was accepted is answered and durable, what comes later is refused, and the end comes soon.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use tokio::task::JoinSet;

use crate::caller::{Caller, Sent, hello};
use crate::folder::Folder;
use crate::server::Server;
use crate::talk::Talk;
use crate::waiting::{pass, until};

const SOON: Duration = Duration::from_secs(8);
const HALF_SENT: usize = 8;

fn connect(server: &Server) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect(server.base.trim_start_matches("http://"))?;
    stream.set_read_timeout(Some(SOON))?;
    Ok(stream)
}

/// A request whose head the server has taken, and whose body it waits for.
struct Accepted {
    stream: TcpStream,
    sent: Sent,
}

impl Accepted {
    fn new(server: &Server, key: &str, sent: Sent) -> Self {
        let mut stream = connect(server).unwrap();
        let length = sent.bytes().len();
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nHost: cscp\r\nAuthorization: Bearer {key}\r\nContent-Length: {length}\r\n\
             Content-Type: application/json\r\nExpect: 100-continue\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut go_on = [0; 25];
        stream.read_exact(&mut go_on).unwrap();
        assert_eq!(go_on, *b"HTTP/1.1 100 Continue\r\n\r\n");
        Self { stream, sent }
    }

    /// Sends the rest and reads until the server closes.
    fn finish(mut self) -> (Sent, String) {
        self.stream.write_all(&self.sent.bytes()).unwrap();
        let mut answer = String::new();
        self.stream.read_to_string(&mut answer).unwrap();
        (self.sent, answer)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_finishes_what_was_accepted() {
    let folder = Folder::with_tenant();
    let key = folder.key("handler");
    let mut server = Server::start(&folder);
    let accepted: Vec<Accepted> = (0..HALF_SENT)
        .map(|n| Accepted::new(&server, &key, hello(&format!("wamid.{n}"), &format!("talk-{}", n % 3))))
        .collect();
    // Connections that want nothing at the moment hold nobody up: one that has never asked, one that will again.
    let silent = connect(&server).unwrap();
    let caller = Caller::new(&server.base, &key);
    caller.send(&Sent::get("/healthz")).await.done();

    server.ask_to_stop();
    until("later connections are refused", SOON, async || connect(&server).is_err().then_some(())).await;
    let mut answered = Vec::new();
    for accepted in accepted {
        let (sent, answer) = accepted.finish();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(answer.contains("\"duplicate\":false"), "{answer}");
        answered.push(sent);
    }
    assert!(server.ended(SOON).await.success(), "{}", server.logged());
    drop(silent);

    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &key);
    for sent in &answered {
        assert_eq!(caller.send(sent).await.done().body["duplicate"], true, "acknowledged and lost: {sent:?}");
    }
    server.stop().await;
    folder.expect_sound().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_under_load_loses_nothing_and_answers_no_5xx() {
    let folder = Folder::with_tenant();
    let key = folder.key("handler");
    let mut talks: Vec<Talk> = (0..12).map(|n| Talk::new(&format!("talk-{n}"))).collect();
    for round in 0..3 {
        let mut server = Server::start(&folder);
        let caller = Caller::new(&server.base, &key);
        for talk in &mut talks {
            talk.ledger.check_news(&caller).await;
        }
        let mut talking = JoinSet::new();
        for mut talk in talks {
            let caller = caller.clone();
            talking.spawn(async move {
                // It fails a request that is answered with anything but its due.
                talk.go_on(&caller).await;
                talk
            });
        }
        pass(Duration::from_millis(300 + 70 * round)).await;
        server.ask_to_stop();
        talks = talking.join_all().await;
        assert!(server.ended(SOON).await.success(), "{}", server.logged());
    }
    let server = Server::start(&folder);
    let caller = Caller::new(&server.base, &key);
    for talk in &mut talks {
        talk.ledger.check_all(&caller).await;
    }
    server.stop().await;
    assert!(talks.iter().map(|talk| talk.ledger.bindings()).sum::<usize>() > 0, "nothing was bound");
    folder.expect_sound().await;
}
