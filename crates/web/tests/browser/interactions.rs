//! How long interactions take, from the click until the answer is painted. The times are kept beside
//! the pictures, and not checked: they depend on the machine.

use serde_json::{Map, Value, json};

use crate::client::Running;
use crate::tour::open;
use crate::webdriver::Browser;
use crate::{axe, browser};

/// A page, what is done there, and what is true afterwards.
const INTERACTIONS: [(&str, &str, &str, &str); 8] = [
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
fn interactions_are_measured() {
    let Some(binary) = browser() else { return };
    let server = Running::serve(&["databases/rocksdb-leveled-bloom", "tables/fv7-bloom10.sst"]);
    let browser = Browser::start(&binary, 1280, 900);
    let mut milliseconds = Map::new();
    for (name, page, action, answer) in INTERACTIONS {
        open(&browser, &server, page);
        browser.wait_for("!['shown', undefined].includes(document.querySelector('.page').dataset.ready) || document.querySelector('.page form')");
        // A frame after the one in which the answer is there, it is painted.
        let taken = browser.run_async(&format!(
            "new Promise((resolve) => {{
               const start = performance.now();
               {action};
               const look = () => ({answer}) ? requestAnimationFrame(() => resolve(performance.now() - start)) : requestAnimationFrame(look);
               requestAnimationFrame(look);
             }})"
        ));
        assert!(taken.is_number(), "{name}: {taken}");
        milliseconds.insert(name.to_owned(), taken);
    }
    let folder = axe::target().join("screenshots");
    std::fs::create_dir_all(&folder).expect("the folder");
    let text =
        serde_json::to_string_pretty(&json!({ "milliseconds": Value::Object(milliseconds) }));
    std::fs::write(folder.join("interactions.json"), text.expect("JSON")).expect("written");
}
