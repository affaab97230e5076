//! Chromium over WebDriver: starts `chromedriver`, and sends it JSON.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// The longest time for anything on a page of golden data.
const PATIENCE: Duration = Duration::from_secs(180);

/// Where Chromium and its driver are; `None` says what is missing.
pub(crate) fn installed() -> Option<PathBuf> {
    let in_path = |name: &str| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|it| it.is_file())
    };
    let browser = in_path("chromium").or_else(|| in_path("google-chrome"));
    browser.filter(|_| in_path("chromedriver").is_some())
}

/// A driver and one window of a browser.
pub(crate) struct Browser {
    driver: Child,
    port: u16,
    session: String,
    /// The profile, which is removed in the end.
    _profile: tempfile::TempDir,
}

impl Browser {
    pub(crate) fn start(binary: &Path, width: u32, height: u32) -> Self {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let output = driver.stdout.take().expect("its output");
        let mut lines = BufReader::new(output).lines().map_while(Result::ok);
        let started = lines.find(|line| line.contains("started successfully on port"));
        let started = started.expect("chromedriver says its port");
        let port = started.trim_end_matches('.').rsplit(' ').next().and_then(|it| it.parse().ok());
        // So that it never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        let profile = tempfile::tempdir().expect("a folder");
        let mut browser =
            Self { driver, port: port.expect("a port"), session: String::new(), _profile: profile };
        browser.session = browser.new_session(binary, width, height);
        browser
    }

    fn new_session(&self, binary: &Path, width: u32, height: u32) -> String {
        let arguments = json!([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            "--force-prefers-reduced-motion",
            format!("--user-data-dir={}", self._profile.path().display()),
            format!("--window-size={width},{height}"),
        ]);
        let capabilities = json!({ "capabilities": { "alwaysMatch": {
            // Shorter than the wait for the answer, so that the driver says what took so long.
            "timeouts": { "script": 150_000 },
            "goog:chromeOptions": { "args": arguments, "binary": binary },
            "goog:loggingPrefs": { "browser": "ALL", "performance": "ALL" },
        } } });
        let session = self.call("POST", "/session", &capabilities);
        let id = session["sessionId"].as_str().expect("an id");
        format!("/session/{id}")
    }

    /// Calls the driver; its errors end the test.
    fn call(&self, method: &str, path: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the driver listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("the driver reads");
        let value: Value = serde_json::from_slice(&read_body(&stream)).expect("JSON");
        let error = &value["value"]["error"];
        assert!(error.is_null() || !error.is_string(), "{path}: {}", value["value"]);
        value["value"].clone()
    }

    fn post(&self, path: &str, body: &Value) -> Value {
        self.call("POST", &format!("{}{path}", self.session), body)
    }

    pub(crate) fn go(&self, url: &str) {
        self.post("/url", &json!({ "url": url }));
    }

    /// Runs the body of a function, and returns what it returns.
    pub(crate) fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// The same, of a promise.
    pub(crate) fn run_async(&self, promise: &str) -> Value {
        let script = format!(
            "const done = arguments[0]; ({promise}).then(done, (error) => done({{ failed: String(error) }}));"
        );
        self.post("/execute/async", &json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression is true.
    pub(crate) fn wait_for(&self, expression: &str) {
        let start = Instant::now();
        while self.run(&format!("return Boolean({expression})")) != true {
            assert!(
                start.elapsed() < PATIENCE,
                "never true: {expression}\n{}",
                self.run("return document.body.innerText.slice(0, 2000)")
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until a promise is of something true.
    pub(crate) fn wait_for_async(&self, promise: &str) {
        let start = Instant::now();
        while self.run_async(promise) != true {
            assert!(start.elapsed() < PATIENCE, "never true: {promise}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn element(&self, selector: &str) -> String {
        let found = self.post("/element", &json!({ "using": "css selector", "value": selector }));
        let id = found.as_object().and_then(|it| it.values().next()).and_then(Value::as_str);
        id.expect("an element").to_owned()
    }

    /// Clicks as a person does: it must be visible, and nothing may cover it.
    pub(crate) fn click(&self, selector: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    /// Types into an element.
    pub(crate) fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.post(&format!("/element/{element}/clear"), &json!({}));
        self.post(&format!("/element/{element}/value"), &json!({ "text": text }));
    }

    /// Presses keys wherever the focus is. Special keys are those of WebDriver, such as `\u{e007}`.
    pub(crate) fn press(&self, keys: &str) {
        let actions: Vec<Value> = keys
            .chars()
            .flat_map(|key| {
                ["keyDown", "keyUp"].map(|kind| json!({ "type": kind, "value": key.to_string() }))
            })
            .collect();
        let source = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.post("/actions", &json!({ "actions": [source] }));
    }

    /// Clicks at a point of an element, from its upper left corner.
    pub(crate) fn click_at(&self, selector: &str, x: f64, y: f64) {
        let corner = self.run(&format!(
            "const e = document.querySelector({selector:?}); e.scrollIntoView({{block: 'center'}}); \
             const b = e.getBoundingClientRect(); return [b.left, b.top];"
        ));
        let at = |axis: usize, by: f64| (corner[axis].as_f64().unwrap_or(0.0) + by).round();
        let pointer = json!({ "type": "pointer", "id": "mouse", "actions": [
            { "type": "pointerMove", "duration": 0, "x": at(0, x), "y": at(1, y) },
            { "type": "pointerDown", "button": 0 },
            { "type": "pointerUp", "button": 0 },
        ] });
        self.post("/actions", &json!({ "actions": [pointer] }));
    }

    /// Moves the wheel over an element.
    pub(crate) fn wheel(&self, selector: &str, by: i32) {
        let middle = self.run(&format!(
            "const b = document.querySelector({selector:?}).getBoundingClientRect(); \
             return [Math.round(b.left + b.width / 2), Math.round(b.top + b.height / 2)];"
        ));
        let wheel = json!({ "type": "wheel", "id": "wheel", "actions": [
            { "type": "scroll", "x": middle[0], "y": middle[1], "deltaX": 0, "deltaY": by, "duration": 0 },
        ] });
        self.post("/actions", &json!({ "actions": [wheel] }));
    }

    /// A command of the DevTools protocol.
    pub(crate) fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }))
    }

    /// Sets the size of the page.
    pub(crate) fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.devtools("Emulation.setDeviceMetricsOverride", size);
    }

    pub(crate) fn prefer_dark(&self, is_dark: bool) {
        let value = if is_dark { "dark" } else { "light" };
        let features = json!([{ "name": "prefers-color-scheme", "value": value }]);
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": features }));
    }

    /// Writes a picture of the whole page, up to `most` pixels high.
    pub(crate) fn screenshot(&self, path: &Path, width: u32, most: u32) {
        let height = self.run("return document.documentElement.scrollHeight").as_u64();
        let height = u32::try_from(height.unwrap_or(900)).unwrap_or(most).clamp(300, most);
        self.resize(width, height);
        // Two frames: canvases are drawn again in the new size.
        self.run_async("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 60))))");
        let picture = self.call("GET", &format!("{}/screenshot", self.session), &Value::Null);
        let picture = decode_base64(picture.as_str().expect("base64"));
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("the folder");
        std::fs::write(path, picture).expect("the picture");
    }

    fn log(&self, kind: &str) -> Vec<Value> {
        let log = self.post("/se/log", &json!({ "type": kind }));
        log.as_array().cloned().unwrap_or_default()
    }

    /// What the console says since the last call.
    pub(crate) fn console(&self) -> Vec<String> {
        let lines = self.log("browser");
        lines.iter().map(|line| format!("{} {}", line["level"], line["message"])).collect()
    }

    /// The addresses that were requested since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        let events = self.log("performance");
        let messages = events.iter().filter_map(|event| {
            let message: Value = serde_json::from_str(event["message"].as_str()?).ok()?;
            let message = &message["message"];
            let is_request = message["method"] == "Network.requestWillBeSent";
            is_request.then(|| message["params"]["request"]["url"].as_str().map(str::to_owned))?
        });
        messages.collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !self.session.is_empty() && !std::thread::panicking() {
            self.call("DELETE", &self.session, &Value::Null);
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// The body of a response. The driver does not close connections.
fn read_body(stream: &TcpStream) -> Vec<u8> {
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("the driver answers");
        if line.trim().is_empty() {
            break;
        }
        let header = line.split_once(':');
        if let Some((_, value)) = header.filter(|it| it.0.eq_ignore_ascii_case("content-length")) {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("the whole answer");
    body
}

fn decode_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|byte| ALPHABET.iter().position(|it| *it == byte));
    let (mut bits, mut count, mut bytes) = (0u32, 0, Vec::new());
    for digit in digits {
        bits = bits << 6 | digit as u32;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
        }
    }
    bytes
}
