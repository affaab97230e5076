//! What pages are made of: plain files, embedded as they are.
//!
//! `MODULES` is in the order of their imports: a module imports only those before it. A report
//! joins them in this order.

/// A file of `assets/`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    pub(crate) name: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) text: &'static str,
}

const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

macro_rules! assets {
    ($content_type:expr; $($name:literal)+) => {
        &[$(Asset {
            name: $name,
            content_type: $content_type,
            text: include_str!(concat!("../assets/", $name)),
        }),+]
    };
}

/// The modules of the pages.
pub(crate) const MODULES: &[Asset] = assets! { JAVASCRIPT;
    "bytes.js" "dom.js" "data.js" "router.js" "colour.js" "chart.js" "viewport.js"
    "home.js" "levels.js" "history.js" "database.js" "hex.js" "block.js" "block_map.js" "table.js" "heat.js"
    "filter_map.js" "probe.js" "what_if.js" "budget.js" "filter.js" "lookup.js" "scan.js" "health.js" "app.js"
};

/// The HTML of all pages.
pub(crate) const SHELL: &str = include_str!("../assets/index.html");

/// The start of the lines by which the browser loads all modules at once.
pub(crate) const MODULE_PRELOAD: &str = "<link rel=\"modulepreload\" href=\"";

/// The style of all pages.
pub(crate) const STYLE: &Asset = &Asset {
    name: "style.css",
    content_type: "text/css; charset=utf-8",
    text: include_str!("../assets/style.css"),
};

const ICON: &Asset = &Asset {
    name: "icon.svg",
    content_type: "image/svg+xml",
    text: include_str!("../assets/icon.svg"),
};

/// The file with this name.
pub(crate) fn find(name: &str) -> Option<&'static Asset> {
    MODULES.iter().chain([STYLE, ICON]).find(|asset| asset.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the modules that a module imports.
    fn imports(text: &str) -> Vec<&str> {
        let lines =
            text.lines().filter(|line| line.starts_with("import ") || line.starts_with("} from "));
        lines.filter_map(|line| line.split_once("\"./")?.1.split_once('"')).map(|it| it.0).collect()
    }

    #[test]
    fn modules_import_what_is_before_them() {
        for (at, module) in MODULES.iter().enumerate() {
            for import in imports(module.text) {
                let place = MODULES.iter().position(|it| it.name == import);
                assert!(place.is_some_and(|place| place < at), "{}: {import}", module.name);
            }
        }
        assert!(!imports(MODULES[MODULES.len() - 1].text).is_empty());
    }

    /// The browser loads all modules at once.
    #[test]
    fn modules_are_preloaded() {
        let preloaded = SHELL.lines().filter_map(|line| {
            line.strip_prefix(MODULE_PRELOAD)?.strip_prefix("/assets/")?.strip_suffix("\">")
        });
        assert!(preloaded.eq(MODULES.iter().map(|module| module.name)));
    }

    /// What a module imports, the other one exports, and the module uses.
    #[test]
    fn imports_are_exported_and_used() {
        for module in MODULES {
            for line in module.text.lines() {
                let import =
                    line.strip_prefix("import { ").and_then(|it| it.split_once(" } from "));
                let Some((names, _)) = import else { continue };
                let source = imports(line).first().and_then(|name| find(name)).unwrap();
                for name in names.split(", ") {
                    let uses = words(module.text).filter(|word| *word == name).count();
                    assert!(uses > 1, "{}: {name} is not used", module.name);
                    let is_exported = source.text.lines().any(|line| {
                        line.starts_with("export ") && words(line).any(|word| word == name)
                    });
                    assert!(is_exported, "{}: {name} of {}", module.name, source.name);
                }
            }
        }
    }

    fn words(text: &str) -> impl Iterator<Item = &str> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_')
    }

    /// A colour of both themes is one line.
    #[test]
    fn variables_are_defined_once() {
        let mut names: Vec<&str> = STYLE
            .text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("--")?.split_once(':'))
            .map(|(name, _)| name)
            .collect();
        names.sort_unstable();
        assert!(names.len() > 40);
        for pair in names.windows(2) {
            assert_ne!(pair[0], pair[1]);
        }
    }

    /// Nothing is loaded from elsewhere, and nothing is written as HTML.
    #[test]
    fn modules_name_no_other_host_and_write_no_html() {
        for asset in MODULES.iter().chain([STYLE, ICON]) {
            for banned in [
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "document.write",
                "eval(",
                "new Function",
                "https://",
            ] {
                assert!(!asset.text.contains(banned), "{}: {banned}", asset.name);
            }
            let hosts = asset.text.matches("http://").count();
            let namespaces = asset.text.matches("http://www.w3.org/").count();
            assert_eq!(hosts, namespaces, "{}", asset.name);
        }
    }
}
