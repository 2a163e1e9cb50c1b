//! A throw-away PostgreSQL of this process's own. A shell keeps it (`cluster.sh`) and ends with this process.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU16, Ordering};

use super::setting;

const KEEPER: &str = include_str!("cluster.sh");
/// What every cluster is set to, before what a test asks for.
const SETTINGS: &[&str] = &["max_connections = 1000", "shared_buffers = 128MB"];
/// Who it runs as when the tests run as root, which PostgreSQL refuses to.
const USERS: &[&str] = &["postgres", "nobody"];
/// Below the ports that systems lend to outgoing calls: one of those may take the place of a stopped server.
const FIRST_PORT: u16 = 15_000;
const PORTS: u16 = 15_000;
const TRIES: u16 = 20;

/// A running cluster. It is stopped and removed when this is dropped, or when the process ends in any way.
pub(crate) struct Cluster {
    keeper: Child,
    words: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    pub(crate) port: u16,
}

impl Cluster {
    /// Starts one with further lines for `postgresql.conf`; says why there is none.
    pub(crate) fn start(settings: &[&str]) -> Result<Self, String> {
        let programs = programs().ok_or("initdb and pg_ctl are nowhere to be found")?;
        let mut command = Command::new("sh");
        command.args(["-c", KEEPER, "keep"]).arg(programs).args(SETTINGS).args(settings);
        // Of this process's environment nothing but where to find things: no locale, no PGDATA, no PGOPTIONS.
        let kept = ["PATH", "TMPDIR"].into_iter().filter_map(|name| Some((name, setting(name)?)));
        command.env_clear().envs(kept).current_dir("/");
        // A group of its own: who ends this process with all that belongs to it leaves the keeper to clean up.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        as_somebody_else(&mut command)?;
        let mut keeper = command.spawn().map_err(|error| format!("sh: {error}"))?;
        let (words, answers) = (keeper.stdin.take(), BufReader::new(keeper.stdout.take().ok_or("no answers")?));
        let mut cluster = Self { keeper, words, answers, port: 0 };
        cluster.answer().map_err(|why| format!("initdb: {why}"))?;
        let mut why = String::new();
        for port in free_ports().take(TRIES.into()) {
            cluster.port = port;
            match cluster.tell(&format!("start {port}")) {
                Ok(()) => return Ok(cluster),
                // Taken meanwhile, most likely.
                Err(error) => why = error,
            }
        }
        Err(format!("pg_ctl start: {why}"))
    }

    /// The address of its first database.
    pub(crate) fn url(&self) -> String {
        format!("postgres://cscp@127.0.0.1:{}/postgres", self.port)
    }

    /// Has the keeper do something; says why it could not.
    pub(crate) fn tell(&mut self, word: &str) -> Result<(), String> {
        let words = self.words.as_mut().ok_or("nobody listens")?;
        words.write_all(format!("{word}\n").as_bytes()).map_err(|error| error.to_string())?;
        self.answer()
    }

    /// Reads one answer of the keeper.
    fn answer(&mut self) -> Result<(), String> {
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|error| error.to_string())?;
        match line.trim_end() {
            "done" => Ok(()),
            "" => Err("the keeper is gone".to_owned()),
            why => Err(why.to_owned()),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.words = None;
        // Gone, or as good as gone: there is nobody to tell.
        drop(self.keeper.wait());
    }
}

/// Where PostgreSQL's programs are: in the path, or where Debian keeps its versions, the newest first.
fn programs() -> Option<PathBuf> {
    let path = setting("PATH").unwrap_or_default();
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = versions
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort_by(|a, b| b.cmp(a));
    let both = |folder: &Path| ["initdb", "pg_ctl"].iter().all(|name| folder.join(name).is_file());
    let mut folders = std::env::split_paths(&path).chain(versions.into_iter().map(|(_, folder)| folder));
    folders.find(|folder| both(folder))
}

/// What `id` says.
fn number(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}

/// Has a command run as another user if these tests run as root, which many servers refuse to; says which.
pub(crate) fn as_somebody_else(command: &mut Command) -> Result<Option<(u32, u32)>, String> {
    if number(&["-u"]) != Some(0) {
        return Ok(None);
    }
    let (user, group) = other_user().ok_or("it does not run as root, and nobody else is there")?;
    command.uid(user).gid(group);
    Ok(Some((user, group)))
}

fn other_user() -> Option<(u32, u32)> {
    USERS.iter().find_map(|name| Some((number(&["-u", name])?, number(&["-g", name])?)))
}

/// Ports that nobody listens on now, in another order in every process.
pub(crate) fn free_ports() -> impl Iterator<Item = u16> {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let mine = u16::try_from(std::process::id().wrapping_mul(7_919) % u32::from(PORTS)).unwrap_or_default();
    std::iter::repeat_with(move || FIRST_PORT + (mine + NEXT.fetch_add(1, Ordering::Relaxed) % PORTS) % PORTS)
        .filter(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
}
