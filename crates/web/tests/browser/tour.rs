//! A person looks around: clicks, zooms, types, uses the keyboard.

use serde_json::json;

use crate::client::{Running, source};
use crate::databases::{self, HOSTILE};
use crate::webdriver::Browser;
use crate::{axe, browser};

const DATABASE: &str = "databases/rocksdb-leveled-bloom";
const TABLE: &str = "tables/fv7-bloom10.sst";
const ENTER: &str = "\u{e007}";

/// Waits until a page is complete.
pub(crate) fn open(browser: &Browser, server: &Running, address: &str) {
    browser.go(&format!("{}{}", server.url, address.trim_start_matches('/')));
    ready(browser);
}

fn ready(browser: &Browser) {
    browser.wait_for("document.querySelector('.page')?.dataset.ready");
}

/// Nothing went wrong, and nothing was loaded from elsewhere.
pub(crate) fn assert_quiet(browser: &Browser, server: &Running) {
    let console = browser.console();
    assert!(console.is_empty(), "{console:#?}");
    let own = format!("http://127.0.0.1:{}/", server.port);
    let foreign: Vec<String> = browser
        .requests()
        .into_iter()
        .filter(|url| {
            !url.starts_with(&own) && !url.starts_with("data:") && !url.starts_with("chrome")
        })
        .collect();
    assert!(foreign.is_empty(), "{foreign:#?}");
}

/// Nothing moved by itself since the page was opened, but for less than a thousandth of it: the text of
/// a progress.
pub(crate) fn assert_still(browser: &Browser, page: &str) {
    browser.run(
        "window.shifts = [];
         new PerformanceObserver((list) => window.shifts.push(...list.getEntries().filter((it) => !it.hadRecentInput)))
           .observe({ type: 'layout-shift', buffered: true });
         setTimeout(() => { window.looked = true; }, 50);",
    );
    browser.wait_for("window.looked");
    let shifts = browser.run(
        "return window.shifts.filter((it) => it.value >= 0.001)
           .map((it) => `${it.value.toFixed(4)} ${it.sources.map((at) => at.node?.className ?? at.node?.nodeName)}`)",
    );
    assert_eq!(shifts, json!([]), "{page}");
}

fn text(browser: &Browser, selector: &str) -> String {
    let text =
        browser.run(&format!("return document.querySelector({selector:?})?.innerText ?? ''"));
    text.as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_tour_of_all_pages() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[
        DATABASE,
        TABLE,
        "databases/leveldb-bloom-snappy",
        "tables/filter-ribbonfilter_10-fv7.sst",
    ]);
    let browser = Browser::start(&binary, 1280, 900);

    // Home: a card for each source.
    open(&browser, &server, "/");
    assert_eq!(browser.run("return document.querySelectorAll('.card').length"), 4);
    browser.click(".card:nth-child(1) a.button");
    browser.wait_for("location.pathname === '/0/database'");
    ready(&browser);

    // Database: select a file in the map, open it with the keyboard.
    browser.wait_for("document.querySelector('.page').dataset.ready === 'tails'");
    browser.click_at("canvas.map", 600.0, 80.0);
    browser.wait_for("document.querySelector('.selection').innerText.includes('Table 42')");
    browser.click("[aria-label='Colour of files'] [data-value=filter]");
    browser.click("[aria-label='Scale of the key axis'] [data-value=rank]");
    browser.wait_for(
        "location.search.includes('colour=filter') && location.search.includes('axis=rank')",
    );
    browser.run("document.querySelector('.history input').focus()");
    browser.press("\u{e011}"); // Home: before the first edit.
    browser
        .wait_for("document.querySelector('.edit').innerText.startsWith('Before the first edit')");
    browser.press("\u{e014}\u{e014}"); // Right, twice.
    browser.wait_for("document.querySelector('.edit').innerText.startsWith('Edit 2 of')");
    browser.press("\u{e010}"); // End.
    browser.wait_for("document.querySelector('.edit').innerText.includes('(now)')");
    browser.click_at("canvas.map", 600.0, 80.0);
    browser.press(ENTER);
    browser.wait_for("location.pathname === '/0/table' && location.search.includes('file=42')");
    ready(&browser);
    assert_quiet(&browser, &server);

    table(&browser, &server);
    filter(&browser, &server);
    lookup(&browser, &server);
    scan(&browser, &server);
    health(&browser, &server);
    assert_quiet(&browser, &server);
}

fn table(browser: &Browser, server: &Running) {
    open(browser, server, "/1/table");
    browser.click_at("canvas.map", 20.0, 60.0);
    browser
        .wait_for("document.querySelector('#block-title')?.innerText.includes('Data block at 0')");
    assert_eq!(browser.run("return document.querySelectorAll('.block-panel tbody tr').length"), 53);
    browser.wait_for("location.search.includes('block=0')");
    // The wheel zooms once the map has the focus, and the keyboard always does.
    let shown =
        "document.querySelector('canvas.map') && window.getComputedStyle(document.body) && true";
    browser.wait_for(shown);
    browser.run("document.querySelector('canvas.map').focus()");
    browser.press("++");
    browser.wheel("canvas.map", -300);
    browser.press("0");
    browser.press(".");
    browser.wait_for("document.querySelector('#block-title')?.innerText.includes('4,015')");
    browser.click(".block-panel [data-value=bytes]");
    browser.wait_for("document.querySelectorAll('.byte').length > 1000");
    // Fields are explained by name.
    browser.run("document.querySelector('.byte').dispatchEvent(new PointerEvent('pointerover', { bubbles: true }))");
    browser.wait_for("document.querySelector('.field-info').innerText.includes('shared')");
    browser.click(".block-panel [data-value=restarts]");
    browser.wait_for("document.querySelectorAll('.restart-box').length > 1");
    // The footer, and the index tree.
    browser.click(".tree button");
    browser
        .wait_for("document.querySelector('#block-title')?.innerText.includes('Data block at 0')");
    open(browser, server, "/1/table?block=49676");
    browser.wait_for("document.querySelector('#block-title')?.innerText.includes('Footer')");
    assert!(text(browser, ".hex").contains("f7 cf f4 85") || text(browser, ".hex").contains("f7"));
    assert_quiet(browser, server);
}

fn filter(browser: &Browser, server: &Running) {
    open(browser, server, "/1/filter");
    browser.click(".measurement button");
    browser.wait_for(
        "document.querySelector('.measurement').innerText.endsWith('of 10,000 absent keys')",
    );
    browser.type_into("#probe-key", "surely not in the table");
    browser.click(".probe button[type=submit]");
    browser.wait_for("document.querySelectorAll('.probes .bit').length > 0");
    // The bits that were probed are lit, in the line and by name.
    assert!(browser.run("return document.querySelectorAll('.line .hit, .line .miss').length") != 0);
    assert!(text(browser, ".lit-text").contains("line is"));
    let before = text(browser, ".what-if-result");
    browser.run("const s = document.querySelector('input[aria-label^=\"Bits per key\"]'); s.value = 20; s.dispatchEvent(new Event('input'))");
    assert_ne!(text(browser, ".what-if-result"), before);
    open(browser, server, "/3/filter?key=abc");
    browser.wait_for("document.querySelector('.segment')");
    // LevelDB: a filter for each 2 KiB.
    open(browser, server, "/2/database");
    let number = browser
        .run("return document.querySelector('table a').innerText")
        .as_str()
        .unwrap()
        .to_owned();
    open(browser, server, &format!("/2/filter?file={}", number.trim_start_matches('0')));
    browser.wait_for("document.querySelectorAll('.part').length > 1");
    browser.click(".part:nth-child(2)");
    browser.wait_for("location.search.includes('part=1')");
    ready(browser);
    assert_quiet(browser, server);
}

fn lookup(browser: &Browser, server: &Running) {
    open(browser, server, "/0/database");
    browser.press("/");
    browser.wait_for("document.activeElement.name === 'key'");
    browser.press("user00003/post0007");
    browser.press(ENTER);
    browser.wait_for("location.pathname === '/0/lookup'");
    browser.wait_for("document.querySelector('.page').dataset.ready === 'lookup'");
    assert!(text(browser, ".answer").contains("Found"), "{}", text(browser, ".answer"));
    assert!(text(browser, ".steps").contains("Filter"));
    browser.click(".steps summary");
    // The address is the view.
    let address = browser.run("return location.pathname + location.search");
    open(browser, server, address.as_str().unwrap());
    assert!(text(browser, ".answer").contains("user00003/post0007"));
    open(browser, server, "/0/lookup?key=user00003/nothing");
    assert!(text(browser, ".answer").contains("Not found"));
    assert_quiet(browser, server);
}

fn scan(browser: &Browser, server: &Running) {
    open(browser, server, "/0/scan");
    let first = text(browser, "tbody tr td");
    assert_eq!(first, "user00000/post0001");
    browser.run("[...document.querySelectorAll('.card button')].find((b) => b.innerText === 'Next').click()");
    browser.wait_for("location.search.includes('after=')");
    ready(browser);
    assert_ne!(text(browser, "tbody tr td"), first);
    browser.run("[...document.querySelectorAll('.card button')].find((b) => b.innerText === 'Previous').click()");
    browser.wait_for("location.search.includes('before=')");
    ready(browser);
    assert_eq!(text(browser, "tbody tr td"), first);
    browser.type_into("#scan-prefix", "user00074/");
    browser.press(ENTER);
    browser.wait_for("location.search.includes('find=')");
    ready(browser);
    assert!(text(browser, "tbody tr td").starts_with("user00074/"));
    browser.click("[aria-label='View of values'] [data-value=hex]");
    let value = text(browser, "pre.value");
    assert!(value.split(' ').all(|byte| byte.len() == 2), "{value}");
    browser.run("[...document.querySelectorAll('tbody button')].find((b) => b.innerText === 'Versions').click()");
    browser.wait_for("document.querySelector('[aria-label=\"Versions\"]')");
    assert_quiet(browser, server);
}

fn health(browser: &Browser, server: &Running) {
    open(browser, server, "/0/health");
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.page').dataset.ready === 'verified'");
    assert!(text(browser, "[role=status]").contains("Sound"));
    assert_quiet(browser, server);
}

#[test]
fn damage_leads_to_its_place_in_the_map() {
    let Some(binary) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.sst");
    let mut bytes = std::fs::read(crate::client::testdata(TABLE)).unwrap();
    bytes[5_000] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let server = Running::serve(&[path.to_str().unwrap()]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/health");
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.problem-line a')");
    browser.click(".problem-line a");
    browser.wait_for("document.querySelector('#block-title')?.innerText.includes('4,015')");
    assert!(text(&browser, ".block-panel .problem").contains("checksum"));
    assert_quiet(&browser, &server);
}

#[test]
fn hostile_names_are_text() {
    let Some(binary) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("<img src=x onerror=document.title='owned'>");
    databases::hostile(&path);
    let server = Running::serve(&[path.to_str().unwrap()]);
    // What runs, should a name become markup after all.
    let policy = &server.get("/").headers["content-security-policy"];
    assert!(policy.contains("script-src 'self'"), "{policy}");
    let map = server.json("/0/database.json");
    assert_eq!(map["column_families"].as_array().unwrap().len(), HOSTILE.len() + 1);
    let browser = Browser::start(&binary, 1280, 900);
    let mut pages = vec!["/".to_owned(), "/0/health".to_owned(), "/0/table".to_owned()];
    for (at, name) in HOSTILE.iter().enumerate() {
        let encoded: String = name.bytes().map(|byte| format!("%{byte:02x}")).collect();
        pages.push(format!("/0/database?cf={encoded}"));
        pages.push(format!("/0/scan?cf={encoded}"));
        let hex: String = name.bytes().map(|byte| format!("{byte:02x}")).collect();
        pages.push(format!("/0/lookup?cf={encoded}&encoding=hex&key={hex}"));
        pages.push(format!("/0/lookup?cf={encoded}&key={encoded}"));
        pages.push(format!("/0/table?file={}", at + 8));
        pages.push(format!("/0/filter?key={encoded}&file={}", at + 8));
        pages.push(format!("/0/{encoded}"));
    }
    for page in pages {
        open(&browser, &server, &page);
        let state = browser.run(
            "return [document.title === 'owned', document.querySelectorAll('img, iframe, script:not([type=module])').length, \
             /[\\u202e\\u0000\\u001b]/.test(document.body.innerText)]",
        );
        assert_eq!(state, json!([false, 0, false]), "{page}");
    }
    // Errors of requests for wrong keys are in the console; nothing else is.
    let other: Vec<String> = browser
        .console()
        .into_iter()
        .filter(|it| !it.contains("Failed to load resource"))
        .collect();
    assert!(other.is_empty(), "{other:#?}");
}

#[test]
fn everybody_can_use_the_pages() {
    let Some(binary) = browser() else { return };
    let script = axe::script();
    let server = Running::serve(&[DATABASE, TABLE]);
    let browser = Browser::start(&binary, 1280, 900);
    for (width, is_dark) in [(1280, false), (1280, true), (390, false)] {
        browser.resize(width, 900);
        browser.prefer_dark(is_dark);
        for page in [
            "/",
            "/0/database",
            "/1/table?block=0",
            "/1/filter?key=abc",
            "/0/lookup?key=user00003/post0007",
            "/0/scan",
            "/0/health",
        ] {
            open(&browser, &server, page);
            let findings = axe::findings(&browser, &script);
            assert!(findings.is_empty(), "{page} at {width}, dark {is_dark}: {findings:#?}");
            // Nothing is wider than the screen.
            let overflow =
                browser.run("return document.documentElement.scrollWidth - window.innerWidth");
            assert!(overflow.as_i64().unwrap() <= 0, "{page} at {width}: {overflow}");
        }
    }
}

/// The report is the same pages, from a file.
#[test]
fn a_report_needs_no_server() {
    let Some(binary) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let names = [crate::client::testdata(DATABASE), crate::client::testdata(TABLE)];
    let inspector = sstkit_web::Inspector::new(names.iter().map(|path| source(path)).collect());
    let mut html = Vec::new();
    let options = sstkit_web::ReportOptions::default();
    let summary = sstkit_web::write_report(&inspector, &mut html, &options, &mut |_| true).unwrap();
    assert!(summary.pages > 50 && summary.left_out == 0, "{summary:?}");
    let path = folder.path().join("report.html");
    std::fs::write(&path, html).unwrap();
    let browser = Browser::start(&binary, 1280, 900);
    let url = format!("file://{}", path.display());
    for view in [
        "",
        "#/0/database",
        "#/0/table?file=42",
        "#/1/table?block=0",
        "#/1/filter",
        "#/0/scan",
        "#/0/health",
        "#/0/filter?file=42",
    ] {
        browser.go("about:blank");
        browser.go(&format!("{url}{view}"));
        ready(&browser);
        let problems = text(&browser, ".problem");
        assert_eq!(problems, "", "{view}");
    }
    assert!(text(&browser, "h1").contains("Filter of"));
    browser.go(&format!("{url}#/0/health"));
    browser.wait_for("document.querySelector('h1')?.innerText === 'Health'");
    ready(&browser);
    assert!(text(&browser, ".page").contains("Sound"));
    let console = browser.console();
    assert!(console.is_empty(), "{console:#?}");
    let foreign: Vec<String> =
        browser.requests().into_iter().filter(|it| it.starts_with("http")).collect();
    assert!(foreign.is_empty(), "{foreign:#?}");
}
