//! A server process of a test's own: what it says is collected, and it never outlives the test.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::folder::{Folder, program};
use crate::waiting::until;

const LISTENS: &str = "cscp listens on ";
/// A debug build on a machine that is busy with other tests.
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// A running server.
pub(crate) struct Server {
    child: Child,
    /// `http://…`
    pub(crate) base: String,
    said: Arc<Mutex<String>>,
    logged: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

/// Collects what comes out of a pipe line by line; sends on each line that begins in a way.
fn collect(
    pipe: impl Read + Send + 'static,
    into: Arc<Mutex<String>>,
    heard: Option<Sender<String>>,
) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if let (Some(heard), Some(base)) = (&heard, line.strip_prefix(LISTENS)) {
                // The test may be over.
                drop(heard.send(base.to_owned()));
            }
            let mut text = into.lock().unwrap();
            text.push_str(&line);
            text.push('\n');
        }
    })
}

impl Server {
    /// Starts one on the folder's database.
    pub(crate) fn start(folder: &Folder) -> Self {
        Self::start_with(folder, &["--no-demo-tenant", "--metrics-listen", "off"])
    }

    /// Starts one on the folder's database with further arguments.
    pub(crate) fn start_with(folder: &Folder, arguments: &[&str]) -> Self {
        let mut command = folder.command(&["--listen", "127.0.0.1:0"]);
        // Tests ask faster than any bot that means well.
        Self::spawn(command.args(arguments).env("CSCP_NO_RATE_LIMITS", "true"))
    }

    /// Starts what this command starts.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (said, logged) = (Arc::default(), Arc::default());
        let (heard, base) = channel();
        let readers = vec![
            collect(child.stdout.take().unwrap(), Arc::clone(&said), Some(heard)),
            collect(child.stderr.take().unwrap(), Arc::clone(&logged), None),
        ];
        // Made before it is waited for, so that it is stopped when the waiting fails.
        let mut server = Self { child, base: String::new(), said, logged, readers };
        let Ok(base) = base.recv_timeout(STARTS_WITHIN) else {
            panic!("the server did not start: {}{}", server.said(), server.logged());
        };
        server.base = base;
        server
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to standard output.
    pub(crate) fn said(&self) -> String {
        self.said.lock().unwrap().clone()
    }

    /// What it has written to standard error.
    pub(crate) fn logged(&self) -> String {
        self.logged.lock().unwrap().clone()
    }

    /// Ends it as a power failure of its process would: SIGKILL, no time for anything.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Asks it to stop: SIGTERM.
    pub(crate) fn ask_to_stop(&self) {
        assert!(signal("TERM", &self.pid().to_string()));
    }

    /// Has it stand still, as a machine that swaps or is moved would: SIGSTOP.
    pub(crate) fn pause(&self) {
        assert!(signal("STOP", &self.pid().to_string()));
    }

    /// Has it go on where it stood still: SIGCONT.
    pub(crate) fn go_on(&self) {
        assert!(signal("CONT", &self.pid().to_string()));
    }

    /// Waits for its end.
    pub(crate) async fn ended(&mut self, within: Duration) -> ExitStatus {
        until("the server's end", within, async || self.child.try_wait().unwrap()).await
    }

    /// Asks it to stop and waits until it has said its last word.
    pub(crate) async fn stop(mut self) -> (String, String) {
        self.ask_to_stop();
        let status = self.ended(Duration::from_secs(20)).await;
        assert!(status.success(), "{status}: {}", self.logged());
        self.readers.drain(..).for_each(|reader| reader.join().unwrap());
        (self.said(), self.logged())
    }
}

fn signal(name: &str, whom: &str) -> bool {
    program("sh").args(["-c", "kill -s \"$1\" -- \"$2\" 2>/dev/null", "kill", name, whom]).status().unwrap().success()
}

impl Drop for Server {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            // The whole group: a shell may stand between this process and the server.
            signal("KILL", &format!("-{}", self.child.id()));
            drop(self.child.wait());
        }
    }
}
