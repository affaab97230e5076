//! Opens an address in the browser of the user.

use std::io;
use std::process::{Command, Stdio};

/// Opens `url` in the default browser, and does not wait for it.
///
/// # Errors
///
/// Fails if the command that opens addresses is missing.
pub fn open_browser(url: &str) -> io::Result<()> {
    let mut command = if cfg!(target_os = "macos") {
        Command::new("open")
    } else if cfg!(windows) {
        let mut command = Command::new("rundll32");
        command.arg("url.dll,FileProtocolHandler");
        command
    } else {
        Command::new("xdg-open")
    };
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn()?;
    // So that it does not stay a zombie.
    std::thread::spawn(move || child.wait());
    Ok(())
}
