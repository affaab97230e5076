//! Pictures of all pages, for people who review a change, and for the documents.

use crate::client::{Running, testdata};
use crate::tour::{assert_quiet, assert_still, open};
use crate::webdriver::Browser;
use crate::{axe, browser, databases};

/// Pages of a small and of a large database, the width, and whether they are dark.
#[test]
fn pictures_of_all_pages() {
    let Some(binary) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("orders");
    databases::large(&large);
    let names = ["databases/rocksdb-leveled-bloom", large.to_str().unwrap()];
    let server = Running::serve(&names);
    let browser = Browser::start(&binary, 1280, 900);
    let pictures = axe::target().join("screenshots");
    let map = server.json("/1/database.json");
    let file = &map["levels"][1]["files"][3]["number"];
    // In the lowest level, so that the lookup goes through all of them.
    let last = &map["levels"][3]["files"][700];
    let key = map["axis"]["keys"][last["first"].as_u64().unwrap() as usize].as_str().unwrap();
    let pages = [
        ("home", "/".to_owned()),
        ("small-database", "/0/database?colour=age".to_owned()),
        ("small-table", "/0/table?file=42&block=0".to_owned()),
        ("small-filter", "/0/filter?file=42&key=user00003/post0007".to_owned()),
        ("small-lookup", "/0/lookup?key=user00003/post0007".to_owned()),
        ("small-scan", "/0/scan".to_owned()),
        ("small-health", "/0/health".to_owned()),
        ("large-database", "/1/database".to_owned()),
        ("large-table", format!("/1/table?file={file}&block=0")),
        ("large-filter", format!("/1/filter?file={file}&key={key}")),
        ("large-lookup", format!("/1/lookup?key={key}")),
        ("large-scan", "/1/scan?from=customer/01&view=json".to_owned()),
        ("large-health", "/1/health".to_owned()),
    ];
    for (width, is_dark) in [(1280, false), (1280, true), (390, false)] {
        for (name, address) in &pages {
            browser.resize(width, 900);
            browser.prefer_dark(is_dark);
            open(&browser, &server, address);
            match *name {
                "small-database" | "large-database" => {
                    browser.wait_for("document.querySelector('.page').dataset.ready === 'tails'");
                }
                name if name.ends_with("-health") && width == 1280 => {
                    browser.click("button.primary");
                    browser
                        .wait_for("document.querySelector('.page').dataset.ready === 'verified'");
                    let verdict = browser
                        .run("return document.querySelector('[role=status] .badge')?.innerText");
                    assert_eq!(verdict, "Sound", "{name}");
                }
                name if name.ends_with("-filter") => {
                    browser.wait_for("document.querySelector('.probe-result')");
                }
                name if name.ends_with("-table") => {
                    browser.wait_for("document.querySelector('#block-title')");
                }
                _ => {}
            }
            assert_still(&browser, &format!("{name} at {width}"));
            let theme = if is_dark { "-dark" } else { "" };
            let path = pictures.join(format!("{name}-{width}{theme}.png"));
            browser.screenshot(&path, width, 2400);
            assert!(std::fs::metadata(&path).unwrap().len() > 4_000, "{}", path.display());
        }
    }
    assert_quiet(&browser, &server);
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        update_documents(&browser, &server, &pages);
    }
}

/// The height of a picture in the documents: the upper part of a page.
const DOCUMENT_HEIGHT: u32 = 900;

/// The pictures of the README and the guide: all pages of both databases.
fn update_documents(browser: &Browser, server: &Running, pages: &[(&str, String)]) {
    browser.prefer_dark(false);
    for (name, address) in pages.iter().filter(|(name, _)| name.contains('-')) {
        browser.resize(1280, DOCUMENT_HEIGHT);
        open(browser, server, address);
        browser.wait_for("document.querySelector('.page').dataset.ready !== 'shown'");
        let path = testdata("../docs/images").join(format!("{name}.png"));
        browser.screenshot(&path, 1280, DOCUMENT_HEIGHT);
    }
}
