//! `keyhole serve`: the page of the browser analyzer, from this program.

mod http;
mod site;

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::cli::Ending;

/// The port asked for when the user names none; another is taken when it is
/// in use.
const PORT: u16 = 7375;

/// Serves the web page that analyzes dropped files in the browser.
///
/// The files stay in the browser: the page is all that is served.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Address to listen on. Any other than a loopback address makes the page
    /// reachable from other machines.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    address: IpAddr,
    /// Port to listen on; 0 takes a free one [default: 7375, or a free one]
    #[arg(long)]
    port: Option<u16>,
    /// Do not open a browser.
    #[arg(long)]
    no_open: bool,
}

/// Serves until the process is ended.
///
/// # Errors
/// This build carries no page, or the address cannot be listened on.
pub(crate) fn run(arguments: &Arguments) -> Result<Ending> {
    if site::FILES.is_empty() {
        bail!(
            "this keyhole was built without the page; `cargo xtask web` builds the page, \
             and building keyhole again takes it in"
        );
    }
    let listener = listen(arguments.address, arguments.port)?;
    let url = format!("http://{}/", listener.local_addr()?);
    println!("Keyhole's page is at {url} (end with Ctrl-C)");
    if !arguments.address.is_loopback() {
        eprintln!("keyhole: other machines can reach this address");
    }
    if !arguments.no_open {
        open_browser(&url);
    }
    http::serve(&listener, site::file)?;
    Ok(Ending::Answered)
}

fn listen(address: IpAddr, port: Option<u16>) -> Result<TcpListener> {
    let wanted = SocketAddr::new(address, port.unwrap_or(PORT));
    match TcpListener::bind(wanted) {
        Err(error) if port.is_none() && error.kind() == io::ErrorKind::AddrInUse => {
            TcpListener::bind(SocketAddr::new(address, 0))
        }
        other => other,
    }
    .with_context(|| format!("cannot listen on {wanted}"))
}

/// Opens the browser where there is a screen. Nothing depends on it: the
/// address is printed.
fn open_browser(url: &str) {
    let screen = ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
    if !screen {
        return;
    }
    let quiet = || Stdio::null();
    let opened =
        Command::new("xdg-open").arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if let Ok(mut child) = opened {
        // Reaped in the background, whatever it says.
        std::thread::spawn(move || child.wait());
    }
}
