//! How long the first view takes, and interactions from the click until the answer is painted. The times are
//! kept beside the pictures. Elapsed time depends on what else the machine does, so only the time of the
//! processor is checked.

use serde_json::{Value, json};

use crate::client::Running;
use crate::tour::open;
use crate::webdriver::Browser;
use crate::{axe, browser};

/// The most milliseconds of the page's thread for an interaction.
const LIMIT: f64 = 100.0;

/// A page, what is done there, and what is true afterwards.
const INTERACTIONS: [(&str, &str, &str, &str); 15] = [
    (
        "slide through the history",
        "/0/database",
        "const s = document.querySelector('.history input'); s.value = 3; s.dispatchEvent(new Event('input'))",
        "document.querySelector('.edit').innerText.startsWith('Edit 3 ')",
    ),
    (
        "pan",
        "/0/database",
        "const c = document.querySelector('canvas.map'); c.focus(); c.dispatchEvent(new KeyboardEvent('keydown', { key: '+', bubbles: true })); c.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))",
        "true",
    ),
    (
        "wheel",
        "/1/table",
        "const c = document.querySelector('canvas.map'); c.focus(); c.dispatchEvent(new WheelEvent('wheel', { deltaY: -300, bubbles: true, cancelable: true }))",
        "true",
    ),
    (
        "a filter of LevelDB",
        "/2/filter?file=FILE",
        "document.querySelector('canvas.map').focus(); document.querySelector('canvas.map').dispatchEvent(new KeyboardEvent('keydown', { key: '.', bubbles: true }))",
        "document.querySelector('.page').innerText.includes('Filter 1:')",
    ),
    (
        "probe a Ribbon",
        "/3/filter",
        "document.querySelector('#probe-key').value = 'abc'; document.querySelector('.probe button').click()",
        "document.querySelector('.segment .cell')",
    ),
    (
        "another partition",
        "/4/filter",
        "document.querySelectorAll('.parts .part')[1].click()",
        "location.search.includes('part=1') && document.querySelector('.part[aria-current]').title.startsWith('part 1')",
    ),
    (
        "runs at a key",
        "/0/database",
        "document.querySelector('canvas.map').dispatchEvent(new KeyboardEvent('keydown', { key: ']', bubbles: true }))",
        "!document.querySelector('.runs').innerText.startsWith('Up to')",
    ),
    (
        "colour of files",
        "/0/database",
        "document.querySelector('[aria-label=\"Colour of files\"] [data-value=age]').click()",
        "location.search.includes('colour=age')",
    ),
    (
        "zoom",
        "/0/database",
        "document.querySelector('[aria-label=\"Zoom\"] button').click()",
        "true",
    ),
    (
        "open a table",
        "/0/database",
        "document.querySelector('table a').click()",
        "document.querySelector('.page').dataset.page === 'table' && document.querySelector('.page .grid')",
    ),
    (
        "open the filter",
        "/1/table",
        "document.querySelector('.heading a.button').click()",
        "document.querySelector('canvas.heat')",
    ),
    (
        "probe a key",
        "/1/filter",
        "document.querySelector('#probe-key').value = 'abc'; document.querySelector('.probe button').click()",
        "document.querySelector('.probe-result')",
    ),
    (
        "what if",
        "/1/filter",
        "const s = document.querySelector('input[aria-label^=\"Bits per key\"]'); s.value = 20; s.dispatchEvent(new Event('input'))",
        "document.querySelector('.what-if-result').innerText",
    ),
    (
        "look up a key",
        "/0/lookup",
        "document.querySelector('#lookup-key').value = 'user00003/post0007'; document.querySelector('.page form button.primary').click()",
        "document.querySelector('.page .steps')",
    ),
    (
        "last keys",
        "/0/scan",
        "window.before = document.querySelector('.page table').innerText; [...document.querySelectorAll('button')].find((it) => it.innerText === 'Last').click()",
        "document.querySelector('.page table') && document.querySelector('.page table').innerText !== window.before",
    ),
];

#[test]
fn interactions_are_quick() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&[
        "databases/rocksdb-leveled-bloom",
        "tables/fv7-bloom10.sst",
        "databases/leveldb-bloom-snappy",
        "tables/filter-ribbonfilter_10-fv7.sst",
        "tables/partitioned-decoupled-bloom-fv7.sst",
    ]);
    let levels = server.json("/2/database.json")["levels"].take();
    let files = levels.as_array().unwrap().iter().flat_map(|it| it["files"].as_array().unwrap());
    let largest = files.max_by_key(|it| it["size"].as_u64()).unwrap()["number"].to_string();
    let browser = Browser::start(&binary, 1280, 900);
    browser.devtools("Performance.enable", json!({ "timeDomain": "threadTicks" }));
    let mut measured = Vec::new();
    for (name, page, action, answer) in INTERACTIONS {
        open(&browser, &server, &page.replace("FILE", &largest));
        browser.wait_for("!['shown', undefined].includes(document.querySelector('.page').dataset.ready) || document.querySelector('.page form')");
        browser.wait_for("!document.querySelector('.history input')?.disabled");
        let before = thread_milliseconds(&browser);
        // A frame after the one in which the answer is there, it is painted.
        let elapsed = browser.run_async(&format!(
            "new Promise((resolve) => {{
               const start = performance.now();
               {action};
               const look = () => ({answer}) ? requestAnimationFrame(() => resolve(performance.now() - start)) : requestAnimationFrame(look);
               requestAnimationFrame(look);
             }})"
        ));
        let processor = thread_milliseconds(&browser) - before;
        assert!(elapsed.is_number(), "{name}: {elapsed}");
        assert!(processor > 0.0 && processor < LIMIT, "{name}: {processor} ms");
        measured
            .push(json!({ "interaction": name, "elapsed_ms": elapsed, "processor_ms": processor }));
    }
    keep("interactions.json", &json!(measured));
}

/// The time that the page's thread has worked.
fn thread_milliseconds(browser: &Browser) -> f64 {
    let metrics = browser.devtools("Performance.getMetrics", json!({}));
    let metrics = metrics["metrics"].as_array().expect("metrics");
    let tasks = metrics.iter().find(|it| it["name"] == "TaskDuration").expect("the time of tasks");
    1_000.0 * tasks["value"].as_f64().expect("a number")
}

/// The first view of a database that no one has opened before: from the request to the map. `SSTKIT_VIEW` is
/// another database than the golden one, a large one for example.
#[test]
fn the_first_view_is_measured() {
    let Some(binary) = browser() else { return };
    let name = std::env::var("SSTKIT_VIEW");
    let name = name.as_deref().unwrap_or("databases/rocksdb-leveled-bloom");
    let browser = Browser::start(&binary, 1280, 900);
    let mut views = Vec::new();
    for _ in 0..3 {
        let server = Running::serve(&[name]);
        browser.go(&format!("{}0/database", server.url));
        let times = browser.run_async(
            "new Promise((resolve) => {
               const look = () => {
                 const canvas = document.querySelector('canvas.map');
                 // The height of the canvas is set when it is drawn for the first time.
                 if (!canvas || canvas.height === 150) return requestAnimationFrame(look);
                 const json = performance.getEntriesByType('resource').find((it) => it.name.includes('/database.json'));
                 const [paint] = performance.getEntriesByName('first-contentful-paint');
                 return resolve({ map_ms: performance.now(), first_paint_ms: paint?.startTime ?? null, json_ms: json.duration });
               };
               look();
             })",
        );
        assert!(times["map_ms"].as_f64() > times["json_ms"].as_f64(), "{times}");
        views.push(times);
    }
    keep("first_view.json", &json!({ "database": name, "views": views }));
}

fn keep(name: &str, measured: &Value) {
    let folder = axe::target().join("screenshots");
    std::fs::create_dir_all(&folder).expect("the folder");
    let text = serde_json::to_string_pretty(measured).expect("JSON");
    std::fs::write(folder.join(name), text).expect("written");
}
