//! A WhatsApp Cloud API webhook in front of cscp. See `examples/README.md` for how to run it.
//!
//! `signature`: is it Meta? `payload`, `normalise`, `message`, `identity`: what did it send, with every piece
//! accounted for? `cscp`: what does it mean? `shop`: what follows from that? `server` puts them in order.
//! `journal`, `recovery`: what happens to a command when this process dies?

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use reqwest::Url;

mod cscp;
mod event;
mod identity;
mod journal;
mod message;
mod normalise;
mod outside;
mod payload;
mod printing;
mod recovery;
mod server;
mod shop;
mod signature;
mod tasks;

use crate::cscp::Cscp;
use crate::journal::Journal;
use crate::printing::Printing;
use crate::recovery::Recovered;
use crate::server::{App, router};
use crate::shop::Shop;
use crate::signature::AppSecret;
use crate::tasks::Tasks;

/// How often it is looked for commands whose worker did not report.
const EVERY: Duration = Duration::from_mins(1);

/// A WhatsApp webhook that asks cscp what each message means, and prints what it would send and execute.
#[derive(Parser)]
struct Options {
    /// Where to listen. Meta needs HTTPS, so something in front terminates TLS.
    #[arg(long, env = "WEBHOOK_LISTEN", default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// Where cscp is: an address on this host or a private network, since this client speaks plain HTTP.
    #[arg(long, env = "CSCP_URL", default_value = "http://127.0.0.1:8080")]
    cscp: Url,
    /// The API key for cscp. In the environment, because arguments are visible to every user of a host.
    #[arg(long, env = "CSCP_API_KEY", hide_env_values = true)]
    cscp_key: String,
    /// The app secret from Meta's dashboard: the key of every signature. Not the verify token.
    #[arg(long, env = "WHATSAPP_APP_SECRET", hide_env_values = true)]
    app_secret: AppSecret,
    /// The token that you invent and also give to Meta when you set the webhook up.
    #[arg(long, env = "WHATSAPP_VERIFY_TOKEN", hide_env_values = true, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    verify_token: String,
    /// What this process is about to execute, so that the next one can go on after a crash. One process at a time may
    /// use it.
    #[arg(long, env = "WEBHOOK_JOURNAL", default_value = "data/whatsapp_webhook/journal.jsonl")]
    journal: PathBuf,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt().with_writer(std::io::stderr).init();
    let options = Options::parse();
    let journal = Journal::open(&options.journal).map_err(|error| format!("{}: {error}", options.journal.display()))?;
    let printing = Arc::new(Printing::new(options.journal.with_file_name("cancelled.txt")));
    let app = App {
        secret: options.app_secret.clone(),
        verify_token: options.verify_token,
        shop: Shop {
            cscp: Cscp::new(options.cscp, options.cscp_key)?,
            sender: Arc::clone(&printing) as _,
            orders: printing,
            tasks: Tasks::default(),
            journal,
            secret: options.app_secret,
        },
    };
    let listener = tokio::net::TcpListener::bind(options.listen).await?;
    tracing::info!(address = %listener.local_addr()?, "listening");
    let app = Arc::new(app);
    tokio::spawn(keep_looking(Arc::clone(&app)));
    axum::serve(listener, router(app)).await?;
    Ok(())
}

/// Ends what processes that died left behind: at the start, and every minute from then on.
async fn keep_looking(app: Arc<App>) {
    let mut next = tokio::time::interval(EVERY);
    loop {
        next.tick().await;
        match app.shop.recover().await {
            Ok(recovered) if recovered == Recovered::default() => {}
            Ok(Recovered { recorded, executed, left }) => {
                tracing::info!(recorded, executed, "commands whose worker did not report");
                if left > 0 {
                    tracing::warn!(left, "commands are left to an operator, who finds them with `list unreported`");
                }
            }
            Err(why) => tracing::warn!(%why, "could not look for commands whose worker did not report"),
        }
    }
}
