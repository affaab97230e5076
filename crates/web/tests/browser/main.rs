//! The pages in a real browser: Chromium, driven over WebDriver.
//!
//! Pictures of all pages are left in `target/screenshots`. Those in `docs/images` are made from them
//! with `UPDATE_GOLDENS=1`.

mod axe;
mod cases;
#[path = "../server/client.rs"]
mod client;
mod databases;
mod interactions;
mod pictures;
mod tour;
mod webdriver;

use std::path::PathBuf;

/// The browser, or why there is none. On Linux it is an error: `.ci/run` installs it.
pub(crate) fn browser() -> Option<PathBuf> {
    let found = webdriver::installed();
    if found.is_none() {
        let what =
            "no Chromium: install chromium and chromium-driver (.ci/run does) to test the pages";
        if cfg!(target_os = "linux") {
            panic!("{what}");
        }
        println!("{what}");
    }
    found
}
