//! `cscp verify`: verifies every hash chain of a database, or a bundle from a file or a server.

mod bundle;
mod database;
mod rebuilding;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;

use super::Failure;
use crate::config::Settings;
use crate::evidence::auditing::{Asked, Trusted};
use crate::evidence::cosignature::WitnessKey;
use crate::evidence::note::VerifierKey;

/// The exit code if the verification could not be made.
const COULD_NOT: u8 = 2;

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct VerifyArguments {
    /// A bundle (`-` for standard input); without one, the database
    #[arg(conflicts_with_all = ["server", "tenant"])]
    bundle: Option<PathBuf>,
    /// A running server: what `--expect` names, by default the whole log of the API key's tenant
    #[arg(long, value_name = "URL", conflicts_with = "tenant")]
    server: Option<String>,
    /// An API key of that server with the scope evidence:read
    #[arg(long, env = "CSCP_API_KEY", hide_env_values = true)]
    api_key: Option<String>,
    /// A key that signs for the log (C2SP vkey), learned from somebody you trust; may be given several times
    #[arg(long = "key", value_name = "VKEY")]
    keys: Vec<String>,
    /// A witness that must have cosigned the bundle's checkpoint (C2SP vkey); may be given several times
    #[arg(long = "witness", value_name = "VKEY")]
    witnesses: Vec<String>,
    /// A checkpoint that you kept: the log must go on from there
    #[arg(long, value_name = "FILE")]
    kept: Option<PathBuf>,
    /// What the bundle has to be of: `whole`, or NAME=VALUE as in the request, such as `conversation_id=conv`; may be given
    /// several times. Without it a file is taken for what it says it is
    #[arg(long = "expect", value_name = "SELECTION")]
    expected: Vec<String>,
    /// Accept a bundle that nobody you named has signed: it shows that the bundle fits itself, and nothing more
    #[arg(long, conflicts_with = "keys")]
    unauthenticated: bool,
    /// Only this tenant's log
    #[arg(long)]
    tenant: Option<String>,
    /// Derive the log's tiles from its leaves, and say which are not stored so and what waits without an entry; a leaf is
    /// never made up. Nothing is written without --write
    #[arg(long, conflicts_with_all = ["bundle", "server", "keys", "witnesses", "kept", "expected", "unauthenticated"])]
    rebuild_tree: bool,
    /// With --rebuild-tree: put it right
    #[arg(long, requires = "rebuild_tree")]
    write: bool,
    /// Print one JSON object instead of text
    #[arg(long)]
    json: bool,
}

impl VerifyArguments {
    fn trusted(&self) -> Result<Trusted, Failure> {
        let read = |vkey: &String| {
            VerifierKey::parse(vkey).map_err(|error| Failure::new(format!("--key {error}: NAME+KEYID+BASE64")))
        };
        let keys = self.keys.iter().map(read).collect::<Result<_, _>>()?;
        let witness = |vkey: &String| {
            WitnessKey::parse(vkey).map_err(|_| Failure::new("--witness: not the key of a witness: NAME+KEYID+BASE64"))
        };
        let witnesses = self.witnesses.iter().map(witness).collect::<Result<_, _>>()?;
        let asked = (!self.expected.is_empty()).then(|| self.asked()).transpose()?;
        Ok(Trusted { keys, kept: self.kept.as_deref().map(kept).transpose()?, witnesses, asked })
    }

    fn asked(&self) -> Result<Asked, Failure> {
        let asked = Asked::read(self.expected.iter().map(String::as_str));
        asked.map_err(|error| Failure::new(format!("--expect {error}")))
    }
}

/// Reads a kept checkpoint: the signed note, or the server's JSON answer that contained it.
fn kept(path: &std::path::Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| Failure::new(format!("--kept {}: {error}", path.display())))?;
    if !text.starts_with('{') {
        return Ok(text);
    }
    let answer: Option<serde_json::Value> = serde_json::from_str(&text).ok();
    let note = answer.as_ref().and_then(|answer| answer.get("note")).and_then(serde_json::Value::as_str);
    let unfit = || Failure::new(format!("--kept {}: neither a note nor a server's answer", path.display()));
    note.map(str::to_owned).ok_or_else(unfit)
}

/// `cscp verify`. Exits with 0 if everything is valid, with 1 if something is not, and with 2 if the verification could
/// not be made.
pub(super) async fn run(settings: &Settings, arguments: &VerifyArguments) -> ExitCode {
    let looked = match (&arguments.bundle, &arguments.server) {
        (Some(path), _) => bundle::file(path, arguments),
        (None, Some(url)) => bundle::server(url, arguments).await,
        (None, None) if arguments.rebuild_tree => rebuilding::run(settings, arguments).await,
        (None, None) => database::run(settings, arguments).await,
    };
    match looked {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("cscp: {failure}");
            ExitCode::from(COULD_NOT)
        }
    }
}
