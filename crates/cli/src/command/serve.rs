//! `sst serve`: shows tables and databases in a browser.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use anyhow::{Context as _, Result};
use sstkit_web::{Server, ServerOptions, open_browser};

use super::inspected::InspectedArgs;
use crate::interrupt;
use crate::output::{Page, print_message};
use crate::status::Status;

/// Show tables and databases in a browser
///
/// Pages: levels and files over the key axis, with the history of the MANIFEST; every block of a table
/// down to its bytes; the bits of a filter; the steps of a lookup; keys and values; verification. Each has
/// its JSON at the same address with .json after the path.
///
/// Listens on this machine only, on a free port, and opens the browser. Nothing is written, and nothing
/// is loaded from elsewhere. With --host, other machines can connect, with the token in the printed
/// address; the connection is not encrypted, so prefer an SSH tunnel. Ctrl-C stops it.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "\
Examples:
  sst serve /var/lib/mydb
  sst serve old.sst new.sst
  sst serve --no-open --port 8080 /var/lib/mydb
  curl http://127.0.0.1:8080/0/database.json")]
pub(crate) struct Args {
    #[command(flatten)]
    inspected: InspectedArgs,

    /// Do not open a browser
    #[arg(long, help_heading = "Server")]
    no_open: bool,

    /// Port to listen on [default: a free one]
    #[arg(long, value_name = "PORT", default_value_t, hide_default_value = true)]
    #[arg(help_heading = "Server")]
    port: u16,

    /// Address to listen on [default: 127.0.0.1]; another machine needs the printed token
    #[arg(long, value_name = "ADDRESS", help_heading = "Server")]
    host: Option<IpAddr>,

    /// Require a token on this machine, too: other users cannot connect without it
    #[arg(long, help_heading = "Server")]
    token: bool,

    /// Answer requests for this host name, besides localhost and addresses
    #[arg(long, value_name = "NAME", help_heading = "Server")]
    allow_host: Vec<String>,
}

impl Args {
    pub(crate) fn run(self) -> Result<Status> {
        let inspector = self.inspected.inspector()?;
        let ip = self.host.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
        let address = SocketAddr::new(ip, self.port);
        let mut options = ServerOptions::default().address(address).needs_token(self.token);
        for name in &self.allow_host {
            options = options.host(name);
        }
        let server =
            Server::bind(inspector, &options).with_context(|| format!("listening on {address}"))?;
        let url = server.url();
        // From here on Ctrl-C ends the loop, and not the process.
        interrupt::listen();
        let mut page = Page::stdout();
        writeln!(page, "{url}")?;
        page.finish()?;
        print_message("press Ctrl-C to stop");
        if !self.no_open
            && let Err(error) = open_browser(&url)
        {
            print_message(&format!("cannot open a browser: {error}; open {url}"));
        }
        server.run(interrupt::is_interrupted);
        interrupt::done();
        Ok(Status::Fine)
    }
}
