//! Cases that pages of golden data do not have: damage, empty and long names, small filters, keys that are
//! pressed where nothing should happen.

use serde_json::json;

use crate::client::{Running, testdata, without_last_table};
use crate::tour::{assert_quiet, open, text};
use crate::webdriver::Browser;
use crate::{axe, browser, databases};

const DATABASE: &str = "databases/rocksdb-leveled-bloom";
const TABLE: &str = "tables/fv7-bloom10.sst";
const LEVELDB: &str = "databases/leveldb-bloom-snappy";
const RIBBON: &str = "tables/filter-ribbonfilter_10-fv7.sst";
const PARTITIONED: &str = "tables/partitioned-decoupled-bloom-fv7.sst";
const ENTER: &str = "\u{e007}";
const TAILS: &str = "document.querySelector('.page').dataset.ready === 'tails'";
const WHAT_IF: &str = "document.querySelector('.page').dataset.ready === 'whatif'";

/// What has the focus: its text, or its tag.
fn focused(browser: &Browser) -> String {
    let what = browser.run(
        "const it = document.activeElement; return it.innerText || it.getAttribute('aria-label') || it.id || it.tagName",
    );
    what.as_str().unwrap().to_owned()
}

fn focus(browser: &Browser, selector: &str) {
    browser.run(&format!("document.querySelector({selector:?}).focus()"));
}

#[test]
fn the_focus_stays_where_it_was_put() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[DATABASE, TABLE]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/database");
    browser.wait_for(TAILS);
    // A choice is made with the keyboard, and then another one.
    focus(&browser, "[aria-label='Colour of files'] [data-value=age]");
    browser.press(ENTER);
    assert_eq!(focused(&browser), "Age");
    let pressed = "return [...document.querySelectorAll('[aria-label=\"Colour of files\"] [aria-pressed=true]')].map((it) => it.innerText)";
    assert_eq!(browser.run(pressed), json!(["Age"]));
    // The theme redraws the page.
    focus(&browser, "[data-action=theme]");
    browser.press(ENTER);
    browser.wait_for("document.activeElement.dataset.action === 'theme'");
    browser.press(ENTER);
    browser.wait_for("document.activeElement.dataset.action === 'theme'");
    browser.wait_for(TAILS);
    // Behind the list of keys, no other page is opened.
    browser.press("?");
    browser.wait_for("document.querySelector('#help').open");
    browser.press("2/?");
    assert_eq!(browser.run("return location.pathname"), "/0/database");
    browser.press("\u{e00c}");
    browser.wait_for("!document.querySelector('#help').open");
    // The lookup waits for a key.
    browser.press("4");
    browser.wait_for("document.activeElement.id === 'lookup-key'");
    browser.press("user00003/post0007");
    browser.press(ENTER);
    browser.wait_for("document.querySelector('.page').dataset.ready === 'lookup'");
    browser.wait_for("document.activeElement.id === 'main'");
    // A verification has one button, from its start to its end.
    open(&browser, &server, "/0/health");
    focus(&browser, "button.primary");
    browser.press(ENTER);
    browser.wait_for("document.querySelector('.page').dataset.ready === 'verified'");
    assert_eq!(focused(&browser), "Verify everything");
    assert_quiet(&browser, &server);
}

#[test]
fn a_verification_can_be_stopped() {
    let Some(binary) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("orders");
    databases::large(&large);
    let server = Running::serve(&[large.to_str().unwrap()]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/health");
    // In one step: two thousand tables are not verified in between.
    browser.run("const b = document.querySelector('button.primary'); b.click(); b.click()");
    browser.wait_for("document.querySelector('.page').dataset.ready === 'stopped'");
    assert!(text(&browser, "[role=status]").starts_with("Stopped after"));
    // It stops on the server, too, and can be started again.
    browser.wait_for("document.querySelector('button.primary').innerText === 'Verify everything'");
    browser.wait_for_async(
        "fetch('/0/health.json').then((it) => it.json()).then((it) => !it.running)",
    );
    browser.click("button.primary");
    browser.wait_for("document.querySelector('.page').dataset.ready === 'verified'");
    assert_quiet(&browser, &server);
}

#[test]
fn runs_at_a_key_are_for_the_keyboard_too() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[DATABASE]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/database");
    browser.wait_for(TAILS);
    assert!(text(&browser, ".runs").starts_with("Up to "), "{}", text(&browser, ".runs"));
    focus(&browser, "canvas.map");
    browser.press("]");
    let keys = server.json("/0/database.json")["axis"]["keys"].take();
    let first = text(&browser, ".runs");
    assert!(first.contains(&format!("from {} on", keys[0].as_str().unwrap())), "{first}");
    browser.press("]]");
    assert!(text(&browser, ".runs").contains(keys[2].as_str().unwrap()));
    browser.press("[");
    assert!(text(&browser, ".runs").contains(keys[1].as_str().unwrap()));
    browser.press(".");
    assert!(text(&browser, ".selection").contains("runs at its keys"));
    assert_quiet(&browser, &server);
}

#[test]
fn unreadable_tables_are_marked() {
    let Some(binary) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("db");
    let missing = without_last_table(DATABASE, &path);
    let server = Running::serve(&[path.to_str().unwrap()]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/database");
    browser.wait_for(TAILS);
    let problem = text(&browser, ".page .problem");
    assert!(problem.starts_with("1 table cannot be read"), "{problem}");
    assert!(problem.contains(&format!("table {missing}")), "{problem}");
    assert!(text(&browser, ".bars").contains("without 1 unreadable table"));
    // The last file of the last level.
    focus(&browser, "canvas.map");
    browser.press(",");
    assert!(text(&browser, ".selection").contains("problem"), "{}", text(&browser, ".selection"));
    // A lookup in its range shows the steps before it.
    let map = server.json("/0/database.json");
    let file =
        map["levels"].as_array().unwrap().last().unwrap()["files"].as_array().unwrap().last();
    let slot = file.unwrap()["last"].as_u64().unwrap() as usize;
    let key = map["axis"]["keys"][slot].as_str().unwrap();
    open(&browser, &server, &format!("/0/lookup?key={key}"));
    assert!(text(&browser, ".answer").contains("Not known"), "{}", text(&browser, ".answer"));
    let steps = text(&browser, ".steps");
    assert!(steps.contains("Memtable") && steps.contains("The lookup ends here"), "{steps}");
}

#[test]
fn blobs_and_operands_have_names_of_their_own() {
    let Some(binary) = browser() else { return };
    let server =
        Running::serve(&["databases/rocksdb-blobs", "databases/rocksdb-merge-stringappend"]);
    let browser = Browser::start(&binary, 1280, 900);
    let mut seen = Vec::new();
    for source in 0..2 {
        let rows =
            server.json(&format!("/{source}/scan.json?encoding=hex&limit=1000"))["rows"].take();
        for row in rows.as_array().unwrap() {
            let target = format!("encoding=hex&key={}", row["key"].as_str().unwrap());
            let found = server.json(&format!("/{source}/lookup.json?{target}"));
            let is_part = |it: &serde_json::Value| it["answer"] == "unresolved";
            if !found["steps"].as_array().unwrap().iter().any(is_part) {
                continue;
            }
            open(&browser, &server, &format!("/{source}/lookup?{target}"));
            let steps = text(&browser, ".steps");
            assert!(!steps.contains("cannot be merged"), "{target}: {steps}");
            let name = ["Refers to a blob file", "Merge operand"][source];
            assert!(steps.contains(name), "{target}: {steps}");
            if source == 0 {
                assert!(steps.contains("Blob file"), "{target}: {steps}");
                let figures = text(&browser, ".figures");
                assert!(figures.contains("value read from a blob file"), "{figures}");
            }
            seen.push(source);
            break;
        }
    }
    assert!(seen.contains(&0), "{seen:?}");
    assert_quiet(&browser, &server);
}

#[test]
fn an_empty_key_has_an_address() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[TABLE, DATABASE]);
    let browser = Browser::start(&binary, 1280, 900);
    for page in ["/0/lookup?key=", "/1/lookup?key="] {
        open(&browser, &server, page);
        browser.wait_for("document.querySelector('.page').dataset.ready === 'lookup'");
        assert!(text(&browser, ".answer").contains("empty"), "{}", text(&browser, ".answer"));
    }
    open(&browser, &server, "/0/filter?key=");
    browser.wait_for("document.querySelector('.probe-result')");
    let twin = browser.run("return document.querySelector('a.twin').search");
    assert_eq!(twin, "?key=");
    assert_quiet(&browser, &server);
}

#[test]
fn timestamps_are_numbers() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&["databases/rocksdb-timestamps", "databases/rocksdb-wal-only"]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/scan");
    let row = &server.json("/0/scan.json?encoding=hex")["rows"][0];
    let bytes = row["timestamp"].as_str().unwrap();
    let bytes: Vec<u8> =
        (0..8).map(|at| u8::from_str_radix(&bytes[2 * at..2 * at + 2], 16).unwrap()).collect();
    let timestamp = u64::from_le_bytes(bytes.try_into().unwrap()).to_string();
    assert_eq!(text(&browser, "tbody .timestamp"), timestamp);
    browser.run("[...document.querySelectorAll('tbody button')].find((b) => b.innerText === 'Versions').click()");
    browser.wait_for("document.querySelector('[aria-label=\"Versions\"] table')");
    let versions = text(&browser, "[aria-label=\"Versions\"] table");
    assert!(versions.contains("Timestamp") && versions.contains(&timestamp), "{versions}");
    // In the log, with its value.
    open(&browser, &server, "/1/scan");
    browser.run("[...document.querySelectorAll('tbody button')].find((b) => b.innerText === 'Versions').click()");
    browser.wait_for("document.querySelector('[aria-label=\"Versions\"] table')");
    assert!(text(&browser, "[aria-label=\"Versions\"] table").contains("write-ahead log"));
    let value = text(&browser, "[aria-label=\"Versions\"] table pre.value");
    assert!(!value.is_empty());
    assert_quiet(&browser, &server);
}

#[test]
fn the_history_forgets_files_that_are_gone() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[DATABASE]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/database");
    browser.wait_for("!document.querySelector('.history input').disabled");
    let history = server.json("/0/history.json");
    let edits = history["edits"].as_array().unwrap();
    let slide = |to: usize| {
        browser.run(&format!(
            "const s = document.querySelector('.history input'); s.value = {to}; s.dispatchEvent(new Event('input'))"
        ));
    };
    // A state with a file that a later edit deletes.
    let at = edits.iter().position(|edit| !edit["deleted"].as_array().unwrap().is_empty()).unwrap();
    let number = edits[at]["deleted"][0][1].as_u64().unwrap();
    slide(at);
    focus(&browser, "canvas.map");
    for _ in 0..64 {
        browser.press(".");
        if text(&browser, ".selection").contains(&format!("Table {number}")) {
            break;
        }
    }
    let selection = text(&browser, ".selection");
    assert!(selection.contains(&format!("Table {number}")), "{selection}");
    assert!(selection.contains("was deleted since") && !selection.contains("Open"), "{selection}");
    browser.press(ENTER);
    assert_eq!(browser.run("return location.pathname"), "/0/database");
    slide(edits.len());
    browser.wait_for("!document.querySelector('.selection').classList.contains('chosen')");
    assert_quiet(&browser, &server);
}

#[test]
fn filters_of_leveldb_have_colours_and_whole_bits() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[LEVELDB, "tables/one-entry.sst"]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/database?colour=filter");
    browser.wait_for(TAILS);
    let scale = text(&browser, ".ramp-labels");
    assert!(scale.contains("no filter") && scale.contains("% of the file"), "{scale}");
    let files = server.json("/0/database.json")["levels"].take();
    let mut files: Vec<_> =
        files.as_array().unwrap().iter().flat_map(|it| it["files"].as_array().unwrap()).collect();
    files.sort_by_key(|it| it["size"].as_u64());
    let largest = &files.last().unwrap()["number"];
    open(&browser, &server, &format!("/0/filter?file={largest}"));
    browser.wait_for(WHAT_IF);
    // The filter as it is: the policy of the database, and no change.
    let result = text(&browser, ".what-if-result");
    assert!(result.starts_with("LevelDB Bloom, 10 bits per key"), "{result}");
    let step =
        browser.run("return document.querySelector('input[aria-label^=\"Bits per key\"]').step");
    assert_eq!(step, "1");
    // A filter of one key has a whole line.
    open(&browser, &server, "/1/filter");
    browser.wait_for(WHAT_IF);
    let result = text(&browser, ".what-if-result");
    assert!(result.contains("69 B for 1 key") && result.contains("+0 B"), "{result}");
    assert_quiet(&browser, &server);
}

/// Zoomed in, a compressed block has its bytes.
#[test]
fn compressed_blocks_are_zoomed_to_bytes() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&["tables/compress-snappy-fv7.sst"]);
    let browser = Browser::start(&binary, 1280, 900);
    let blocks = server.json("/0/blocks.json");
    let page = server.json("/0/block.json?offset=0&stored=1");
    assert_eq!((&page["compression"], &blocks["blocks"][0][0]), (&"snappy".into(), &"data".into()));
    open(&browser, &server, "/0/table?block=0");
    browser.wait_for("document.querySelector('.page').dataset.ready === 'details'");
    // What is written on the canvas.
    browser.run(
        "window.written = [];
         const { fillText } = CanvasRenderingContext2D.prototype;
         CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.written.push(text); return fillText.call(this, text, ...at); };
         document.querySelector('canvas.map').focus()",
    );
    browser.press("++++++++++++++++++++");
    browser.wait_for("window.written.some((it) => /^[0-9a-f]{2}$/.test(it))");
    browser.wait_for("window.written.some((it) => it.startsWith('snappy: select the block'))");
    assert_quiet(&browser, &server);
}

/// All segments that a probe of a Ribbon filter reads are marked, and its bits are drawn.
#[test]
fn ribbon_probes_are_drawn_bit_by_bit() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[RIBBON]);
    let browser = Browser::start(&binary, 1280, 900);
    for key in ["abc", "key00000010", "nothing", "zzz"] {
        open(&browser, &server, &format!("/0/filter?key={key}"));
        browser.wait_for("document.querySelector('.segment .cell')");
        // The sum of the lit bits is what was found.
        let sums = browser.run(
            "return [...document.querySelectorAll('[aria-label=Columns] tbody tr')].map((tr) => {
               const found = tr.children[3].innerText;
               return found === 'not probed' ? true : tr.querySelectorAll('.hit').length % 2 === Number(found[0]);
             })",
        );
        let sums = sums.as_array().unwrap();
        assert!(sums.len() > 3 && sums.iter().all(|it| it == true), "{key}: {sums:?}");
        let lit = text(&browser, ".lit-text");
        assert!(lit.contains("segments"), "{lit}");
    }
    assert_quiet(&browser, &server);
}

/// The token is in a cookie, and not in the address.
#[test]
fn the_token_leaves_the_address() {
    let Some(binary) = browser() else { return };
    let options = sstkit_web::ServerOptions::default().needs_token(true);
    let server = Running::serve_with(&[TABLE], &options);
    let (start, token) = server.url.split_once("?token=").unwrap();
    let browser = Browser::start(&binary, 1280, 900);
    browser.go(&format!("{start}0/scan?token={token}&view=hex&encoding=hex"));
    browser.wait_for("document.querySelector('.page')?.dataset.ready === 'scan'");
    assert_eq!(browser.run("return location.search"), "?view=hex&encoding=hex");
    browser.go(&format!("{start}0/scan?view=hex&encoding=hex"));
    browser.wait_for("document.querySelector('.page')?.dataset.ready === 'scan'");
    assert_eq!(browser.run("return document.querySelectorAll('tbody tr').length"), 50);
    assert!(browser.console().is_empty());
}

/// Long names of sources and column families, and all kinds of filters and damage: nothing is wider than the
/// page, and nobody is kept out.
#[test]
fn everything_fits_on_a_phone() {
    let Some(binary) = browser() else { return };
    let script = axe::script();
    let folder = tempfile::tempdir().unwrap();
    let long = folder.path().join(format!("{}.sst", "a-very-long-name-without-a-space-".repeat(7)));
    std::fs::copy(testdata(TABLE), &long).unwrap();
    let families = folder.path().join("families");
    databases::with_family(&families, &"a_column_family_with_a_long_name_".repeat(8));
    let damaged = folder.path().join("damaged.sst");
    let mut bytes = std::fs::read(testdata(TABLE)).unwrap();
    bytes[5_000] ^= 1;
    std::fs::write(&damaged, bytes).unwrap();
    let missing = folder.path().join("missing");
    without_last_table(DATABASE, &missing);
    let names = [
        long.to_str().unwrap(),
        families.to_str().unwrap(),
        damaged.to_str().unwrap(),
        missing.to_str().unwrap(),
        LEVELDB,
        RIBBON,
        PARTITIONED,
        "databases/rocksdb-timestamps",
        "tables/one-entry.sst",
    ];
    let server = Running::serve(&names);
    let browser = Browser::start(&binary, 1280, 900);
    let file = &server.json("/4/database.json")["levels"][0]["files"][0]["number"];
    let family = "a_column_family_with_a_long_name_".repeat(8);
    let pages = [
        "/".to_owned(),
        "/0/table?block=0".into(),
        "/0/filter".into(),
        "/1/database".into(),
        format!("/1/database?cf={family}"),
        format!("/1/lookup?cf={family}&key=a"),
        format!("/1/scan?cf={family}"),
        "/2/table?block=4015".into(),
        "/3/database".into(),
        "/3/lookup?key=user00099/post9999".into(),
        "/4/database?colour=filter".into(),
        format!("/4/table?file={file}&block=0"),
        format!("/4/filter?file={file}&key=key"),
        "/5/filter?key=abc".into(),
        "/6/filter?key=abc&part=1".into(),
        "/7/scan".into(),
        "/8/filter?key=abc".into(),
    ];
    for (width, is_dark) in [(390, true), (390, false), (1280, false)] {
        browser.resize(width, 900);
        browser.prefer_dark(is_dark);
        for page in &pages {
            open(&browser, &server, page);
            if page.contains("/filter") {
                browser.wait_for(WHAT_IF);
            }
            let findings = axe::findings(&browser, &script);
            assert!(findings.is_empty(), "{page} at {width}: {findings:#?}");
            let wide = browser.run(
                "return [document.documentElement.scrollWidth - innerWidth, \
                 [...document.querySelectorAll('svg.chart text')].filter((it) => { const a = it.getBoundingClientRect(), b = it.closest('svg').getBoundingClientRect(); \
                   return a.left < b.left - 1 || a.right > b.right + 1; }).map((it) => it.textContent)]",
            );
            assert_eq!(wide, json!([0, []]), "{page} at {width}");
        }
    }
}

/// Of many parts, the first ones are drawn, and the page says so.
#[test]
fn parts_that_are_not_drawn_are_counted() {
    let Some(binary) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("many.sst");
    databases::many_partitions(&path);
    let server = Running::serve(&[path.to_str().unwrap()]);
    let count = server.json("/0/filter.json")["part_count"].as_u64().unwrap();
    assert!(count > 2_000, "{count}");
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/filter");
    browser.wait_for(WHAT_IF);
    assert_eq!(browser.run("return document.querySelectorAll('.parts .part').length"), 2_000);
    assert!(text(&browser, ".page").contains("The first 2,000 of"));
    // Any of them can be shown.
    let last = count - 1;
    browser.run(&format!(
        "const i = document.querySelector('input[type=number]'); i.value = {last}; i.dispatchEvent(new Event('change'))"
    ));
    browser.wait_for(&format!("location.search.includes('part={last}')"));
    open(&browser, &server, &format!("/0/filter?part={last}"));
    browser.wait_for("document.querySelector('canvas.heat')");
    assert_quiet(&browser, &server);
    // A report has some of them, and says that it has not the others.
    let report = report(&[&path], &folder.path().join("report.html"));
    for (part, is_there) in [(15, true), (16, false)] {
        browser.go("about:blank");
        browser.go(&format!("{report}#/0/filter?part={part}"));
        browser.wait_for(WHAT_IF);
        let problem = text(&browser, ".problem");
        assert_eq!(problem.is_empty(), is_there, "{part}: {problem}");
        assert!(is_there || problem.contains("Part 16 is not in the report"), "{problem}");
    }
    assert!(browser.console().is_empty());
}

/// Writes a report about these paths. Returns its address.
fn report(paths: &[&std::path::Path], to: &std::path::Path) -> String {
    let sources = paths.iter().map(|path| crate::client::source(path)).collect();
    let inspector = sstkit_web::Inspector::new(sources);
    let mut html = Vec::new();
    let options = sstkit_web::ReportOptions::default();
    sstkit_web::write_report(&inspector, &mut html, &options, &mut |_| true).unwrap();
    std::fs::write(to, html).unwrap();
    format!("file://{}", to.display())
}

/// Zoomed in, a report has the fields of its blocks, and says so where it has none.
#[test]
fn a_report_has_the_fields_of_its_blocks() {
    let Some(binary) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("long.sst");
    databases::long_block(&path);
    let report = report(&[&path], &folder.path().join("report.html"));
    let browser = Browser::start(&binary, 1280, 900);
    browser.go(&format!("{report}#/0/table"));
    browser.wait_for("document.querySelector('.page')?.dataset.ready === 'details'");
    browser.run(
        "window.written = [];
         const { fillText } = CanvasRenderingContext2D.prototype;
         CanvasRenderingContext2D.prototype.fillText = function (text, ...at) { window.written.push(text); return fillText.call(this, text, ...at); };
         const canvas = document.querySelector('canvas.map');
         canvas.focus();
         window.zoom = (share) => {
           canvas.dispatchEvent(new KeyboardEvent('keydown', { key: '0' }));
           window.written.length = 0;
           for (let i = 0; i < 40; i += 1) canvas.dispatchEvent(new WheelEvent('wheel', { deltaY: -200, clientX: canvas.getBoundingClientRect().left + share * canvas.clientWidth, clientY: canvas.getBoundingClientRect().top + 60, cancelable: true }));
         }",
    );
    browser.run("window.zoom(0.1)");
    browser.wait_for("window.written.some((it) => /^[0-9a-f]{2}$/.test(it))");
    // Beyond the first bytes.
    browser.run("window.zoom(0.7)");
    browser.wait_for("window.written.includes('these bytes are not in the report')");
    assert!(browser.console().is_empty());
}

#[test]
fn restart_intervals_have_their_lengths_to_the_last() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[TABLE]);
    let browser = Browser::start(&binary, 1280, 900);
    open(&browser, &server, "/0/table?block=0");
    browser.click(".block-panel [data-value=restarts]");
    browser.wait_for("document.querySelectorAll('.restart-box').length > 1");
    let gaps = browser.run(
        "return [...document.querySelectorAll('.restart-box')].map((it) => Number(it.style.getPropertyValue('--gap')))",
    );
    let gaps: Vec<f64> = gaps.as_array().unwrap().iter().map(|it| it.as_f64().unwrap()).collect();
    // 53 entries, 16 in each interval, 5 in the last.
    let last = gaps.last().unwrap() / gaps[0];
    assert!(gaps.len() == 4 && (last - 5.0 / 16.0).abs() < 0.1, "{gaps:?}");
}

/// A column family without anything, and the keys of one table of a database.
#[test]
fn pages_say_what_they_are_of() {
    let Some(binary) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("empty");
    databases::empty(&path);
    let server = Running::serve(&[path.to_str().unwrap(), DATABASE]);
    let browser = Browser::start(&binary, 1280, 900);
    for page in ["/0/database", "/0/table"] {
        open(&browser, &server, page);
        let shown = text(&browser, ".page");
        assert!(shown.contains("the column family is empty"), "{page}: {shown}");
    }
    open(&browser, &server, "/1/scan?file=42");
    assert_eq!(text(&browser, "h1"), "Keys and values of table 42");
    assert_quiet(&browser, &server);
}
