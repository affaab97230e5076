//! A person looks around: clicks, zooms, types, uses the keyboard.

use serde_json::{Value, json};

use crate::client::{Running, source};
use crate::databases::{self, HOSTILE};
use crate::webdriver::Browser;
use crate::{axe, browser};

const DATABASE: &str = "databases/rocksdb-leveled-bloom";
const TABLE: &str = "tables/fv7-bloom10.sst";
const ENTER: &str = "\u{e007}";
const ESCAPE: &str = "\u{e00c}";

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

pub(crate) fn text(browser: &Browser, selector: &str) -> String {
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
    assert_eq!(browser.run("return document.querySelectorAll('.cards .card').length"), 4);
    browser.press("?");
    browser.wait_for("document.querySelector('#help').open");
    browser.press(ESCAPE);
    browser.wait_for("!document.querySelector('#help').open");
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
    browser.wait_for("!document.querySelector('.history input').disabled");
    browser.run("document.querySelector('.history input').focus()");
    let top = "return document.querySelector('.history input').getBoundingClientRect().top";
    let before = browser.run(top);
    browser.press("\u{e011}"); // Home: before the first edit.
    browser
        .wait_for("document.querySelector('.edit').innerText.startsWith('Before the first edit')");
    browser.press("\u{e014}\u{e014}"); // Right, twice.
    browser.wait_for("document.querySelector('.edit').innerText.startsWith('Edit 2 of')");
    // The map has other levels, but the slider stays where it is.
    assert_eq!(browser.run(top), before);
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
    browser.run("document.querySelector('canvas.map').focus()");
    browser.press("++");
    browser.wheel("canvas.map", -300);
    // Near enough, the map has the fields of the block, and says what they are.
    browser.press("0++++++++++");
    browser.wait_for(
        "(() => {
           const canvas = document.querySelector('canvas.map');
           const { left, top } = canvas.getBoundingClientRect();
           canvas.dispatchEvent(new PointerEvent('pointermove', { clientX: left + 600, clientY: top + 70, bubbles: true }));
           return /^value.*entry \\d+, bytes 24,\\d+ to 24,\\d+$/s.test(document.querySelector('#tooltip').innerText);
         })()",
    );
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
    // RocksDB's magic number.
    let bytes = browser.run(
        "return [...document.querySelectorAll('.hex .byte')].map((it) => it.textContent).join('')",
    );
    assert!(bytes.as_str().unwrap().ends_with("f7cff485b741e288"), "{bytes}");
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
    assert!(text(browser, ".lit-text").contains("bits are in line"));
    let before = text(browser, ".what-if-result");
    browser.run("const s = document.querySelector('input[aria-label^=\"Bits per key\"]'); s.value = 20; s.dispatchEvent(new Event('input'))");
    assert_ne!(text(browser, ".what-if-result"), before);
    // The curve shows the point of the slider, beside that of the filter.
    browser.wait_for("document.querySelectorAll('.chart .mark').length === 2");
    open(browser, server, "/3/filter?key=abc");
    browser.wait_for("document.querySelector('.segment')");
    // The budget over the levels, as `sst advise` has it, and with less memory.
    open(browser, server, "/0/filter?file=42");
    browser.wait_for("document.querySelector('.page').dataset.ready === 'whatif'");
    let plan = &server.json("/0/budget.json")["plan"];
    let policies = "[...document.querySelectorAll('[aria-label=\"Filters by level\"] tbody code')].map((it) => it.innerText)";
    let shown = browser.run(&format!("return {policies}"));
    let levels = plan["levels"].as_array().unwrap();
    assert_eq!(shown, levels.iter().map(|it| it["policy"].clone()).collect::<Value>());
    browser.run("const s = document.querySelector('input[aria-label=\"Memory of all filters\"]'); s.value = 0; s.dispatchEvent(new Event('input'))");
    browser.wait_for(&format!("{policies}.every((it) => it === 'none')"));
    // LevelDB: a filter for each 2 KiB. The one that a key is probed in is shown, and the address follows.
    let map = server.json("/2/database.json");
    let files =
        map["levels"].as_array().unwrap().iter().flat_map(|it| it["files"].as_array().unwrap());
    let largest = files.max_by_key(|it| it["size"].as_u64()).unwrap();
    let address = format!("/2/filter?file={}", largest["number"]);
    let key = map["axis"]["keys"][largest["last"].as_u64().unwrap() as usize].as_str().unwrap();
    let probes =
        &server.json(&format!("/2/probe.json?file={}&key={key}", largest["number"]))["probes"];
    let probed = probes[0]["part"].as_u64().unwrap();
    assert!(probed > 0);
    open(browser, server, &format!("{address}&key={key}"));
    browser.wait_for(&format!("location.search.includes('part={probed}')"));
    assert!(text(browser, ".page").contains(&format!("Filter {probed}:")));
    browser.click_at("canvas.map", 100.0, 70.0);
    browser.wait_for("!location.search.includes('part=')");
    browser.wait_for("document.querySelector('.page').innerText.includes('Filter 0:')");
    assert!(text(browser, ".lit-text").contains(&format!("part {probed}")));
    browser.press(".");
    browser.wait_for("document.querySelector('.page').innerText.includes('Filter 1:')");
    let twin = browser.run("return document.querySelector('a.twin').search");
    assert!(twin.as_str().unwrap().contains("part=1"), "{twin}");
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
    browser.wait_for("location.search.includes('prefix=')");
    ready(browser);
    assert!(text(browser, "tbody tr td").starts_with("user00074/"));
    browser.click("[aria-label='View of keys'] [data-value=hex]");
    assert!(text(browser, "tbody tr td").starts_with("75 73 65 72 30 30 30 37 34 2f"));
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

/// The JSON of a page, at the address that it links to, has the data that it shows.
#[test]
fn twins_have_the_data_that_is_shown() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[DATABASE, TABLE]);
    let browser = Browser::start(&binary, 1280, 900);
    let twin = |expression: &str| {
        browser.run_async(&format!(
            "(async () => {{
               const twin = await (await fetch(document.querySelector('a.twin').href)).json();
               return {expression};
             }})()"
        ))
    };
    // Prefix, next page, previous page: each has its own address.
    open(&browser, &server, "/0/scan");
    browser.type_into("#scan-prefix", "user0000");
    browser.press(ENTER);
    browser.wait_for("location.search.includes('prefix=')");
    for (label, parameter) in
        [("", "prefix="), ("Next", "after="), ("Previous", "before="), ("Last", "last=")]
    {
        if !label.is_empty() {
            browser.run(&format!("[...document.querySelectorAll('.card button')].find((b) => b.innerText === {label:?}).click()"));
        }
        browser.wait_for(&format!("location.search.includes({parameter:?}) && document.querySelector('.page').dataset.ready === 'scan'"));
        let shown = browser.run("return [...document.querySelectorAll('tbody tr')].map((tr) => tr.querySelector('td').innerText)");
        assert!(shown.as_array().unwrap().len() > 5, "{label}");
        let keys = twin(
            "twin.rows.map((row) => row.key.replace(/../g, (hex) => String.fromCharCode(parseInt(hex, 16))))",
        );
        assert_eq!(keys, shown, "{label}");
    }
    // Keys in the address may be in any encoding.
    open(&browser, &server, "/0/scan?from=user00003/");
    assert_eq!(twin("twin.rows[0].key"), json!(text(&browser, "tbody tr td")));
    for (address, expression, selector) in [
        ("/0/database", "twin.file.split('/').pop()", "h1"),
        ("/0/table?file=42", "twin.info.file.split('/').pop()", "h1"),
        ("/1/filter", "`Filter of ${twin.report.file.split('/').pop()}`", "h1"),
        ("/0/lookup?key=user00003/post0007", "twin.value", ".answer code.value"),
    ] {
        open(&browser, &server, address);
        assert_eq!(twin(expression), json!(text(&browser, selector)), "{address}");
    }
}

/// All links keep the column family, and a table knows its own.
#[test]
fn pages_stay_in_their_column_family() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&["databases/rocksdb-column-families"]);
    let map = server.json("/0/database.json");
    let mut families = map["column_families"].as_array().unwrap().iter();
    let family = families.find(|it| it["name"] != "default" && it["files"] != 0).unwrap();
    let name = family["name"].as_str().unwrap();
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, &format!("/0/database?cf={name}"));
    let link = browser.run("return document.querySelector('table a[href*=\"/table\"]').search");
    assert!(link.as_str().unwrap().contains(&format!("cf={name}")), "{link}");
    let file =
        &server.json(&format!("/0/database.json?cf={name}"))["levels"][0]["files"][0]["number"];
    open(&browser, &server, &format!("/0/filter?file={file}"));
    browser.wait_for("document.querySelector('.page').dataset.ready === 'whatif'");
    let tabs =
        browser.run("return [...document.querySelectorAll('#header .tab')].map((it) => it.search)");
    for tab in tabs.as_array().unwrap() {
        assert!(tab.as_str().unwrap().contains(&format!("cf={name}")), "{tab}");
    }
    browser.press("/");
    browser.press("abc");
    browser.press(ENTER);
    browser.wait_for("location.pathname === '/0/lookup'");
    let search = browser.run("return location.search");
    assert!(search.as_str().unwrap().contains(&format!("cf={name}")), "{search}");
    // No page, though every object has one of this name.
    open(&browser, &server, "/0/constructor");
    assert!(text(&browser, ".problem").contains("Nothing is at this address"));
}

/// Databases that lack what most have: tables, a single value per key.
#[test]
fn unusual_databases_are_shown() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[
        "databases/rocksdb-wal-only",
        "databases/rocksdb-entities",
        "databases/rocksdb-blobs",
        "databases/rocksdb-range-deletes",
        "databases/rocksdb-timestamps",
    ]);
    let browser = Browser::start(&binary, 1280, 900);
    // Without tables there is no map, and nothing to scale it by.
    open(&browser, &server, "/0/database");
    browser.wait_for("document.querySelector('.page').dataset.ready === 'tails'");
    let shown = text(&browser, ".page");
    assert!(shown.contains("all data is in the write-ahead log"), "{shown}");
    assert!(!shown.contains("Infinity") && !shown.contains("NaN"), "{shown}");
    assert_eq!(browser.run("return document.querySelector('canvas.map').clientHeight"), 0);
    open(&browser, &server, "/0/table");
    assert!(text(&browser, ".page").contains("no tables"));
    open(&browser, &server, "/0/scan");
    let key = text(&browser, "tbody .key");
    open(&browser, &server, &format!("/0/lookup?key={key}"));
    assert!(text(&browser, ".answer").contains("Found"));
    // All columns of an entity.
    open(&browser, &server, "/1/scan");
    let columns = browser
        .run("return [...document.querySelector('.columns').children].map((it) => it.innerText)");
    let row = &server.json("/1/scan.json")["rows"][0];
    let expected = row["columns"].as_array().unwrap().iter().flat_map(|column| {
        let name = if column[0] == "" { "default".into() } else { column[0].clone() };
        [name, column[1].clone()]
    });
    assert_eq!(columns, expected.collect::<Value>());
    // Values in blob files, range tombstones, timestamps: a key of each is found.
    for source in 2..5 {
        let rows = server.json(&format!("/{source}/scan.json?encoding=hex"))["rows"].take();
        let key = rows[rows.as_array().unwrap().len() / 2]["key"].as_str().unwrap().to_owned();
        open(&browser, &server, &format!("/{source}/lookup?encoding=hex&key={key}"));
        assert!(text(&browser, ".answer").contains("Found"), "{source}: {key}");
        assert!(text(&browser, ".answer code.value").len() > 2, "{source}: {key}");
    }
    assert_quiet(&browser, &server);
}

/// Parts of the pages on their own.
#[test]
fn modules_compute_what_they_show() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[TABLE]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/table");
    let results = browser.run_async(
        r#"(async () => {
           const { asJson, asText, decodeBytes, escapeBytes } = await import('/assets/bytes.js');
           const { arrange } = await import('/assets/levels.js');
           const { Viewport } = await import('/assets/viewport.js');
           const bytes = (text) => new TextEncoder().encode(text);
           const files = [[0, 3], [4, 5], [2, 4], [6, 6], [0, 0], [5, 6]].map(([first, last]) => ({ first, last }));
           const rows = arrange([{ level: 0, size: 0, files }]).map((row) => row.files.map((it) => files.indexOf(it)));
           const view = new Viewport({ label: '', height: 10, total: 100 });
           view.move(20, 30);
           view.setTotal(1000);
           return [
             asJson(bytes('{"a":[9007199254740993,1e400],"b":{},"c":"}, \\" ["}')),
             asText(bytes('\ufeffx')).length,
             escapeBytes(decodeBytes('a\\x00\\\\é')),
             rows,
             [view.start, view.end],
           ];
         })()"#,
    );
    let indented = r#"{
  "a": [
    9007199254740993,
    1e400
  ],
  "b": {},
  "c": "}, \" ["
}"#;
    let rows = json!([[0, 1, 3], [2, 4, 5]]);
    assert_eq!(results, json!([indented, 2, r"a\x00\\\xc3\xa9", rows, [200, 300]]));
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
    // What needs a server is not offered.
    let offered = browser.run(
        "return [...document.querySelectorAll('.quick, #probe-key, input[aria-label=\"Memory of all filters\"]')].length + \
         [...document.querySelectorAll('.tab')].filter((it) => it.innerText === 'Lookup').length",
    );
    assert_eq!(offered, 0);
    browser.go(&format!("{url}#/0/health"));
    browser.wait_for("document.querySelector('h1')?.innerText === 'Health'");
    ready(&browser);
    assert!(text(&browser, ".page").contains("Sound"));
    let console = browser.console();
    assert!(console.is_empty(), "{console:#?}");
    let foreign: Vec<String> =
        browser.requests().into_iter().filter(|it| it.starts_with("http")).collect();
    assert!(foreign.is_empty(), "{foreign:#?}");

    // However small it must be, it says what it is about.
    let mut html = Vec::new();
    let options = sstkit_web::ReportOptions::default().max_bytes(1).verify(false);
    let summary = sstkit_web::write_report(&inspector, &mut html, &options, &mut |_| true).unwrap();
    assert_eq!(summary.pages, 1);
    std::fs::write(&path, html).unwrap();
    browser.go("about:blank");
    browser.go(&url);
    ready(&browser);
    assert_eq!(browser.run("return document.querySelectorAll('.cards .card').length"), 2);
}
