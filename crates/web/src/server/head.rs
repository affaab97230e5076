//! The head of a request: its first line and its headers.

use super::response::Refusal;

/// Bytes of a head.
pub(super) const MAX_HEAD: usize = 16 << 10;
/// Bytes of an address, which may contain a key.
const MAX_TARGET: usize = 8 << 10;
const MAX_HEADERS: usize = 64;

/// The head of a request, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) method: String,
    /// Path and query.
    pub(super) target: String,
    pub(super) host: String,
    pub(super) origin: Option<String>,
    /// `Sec-Fetch-Site`: where the request comes from, as the browser says.
    pub(super) fetch_site: Option<String>,
    /// `Sec-Fetch-Mode`: `navigate` for a page that a person opens.
    pub(super) fetch_mode: Option<String>,
    pub(super) cookie: Option<String>,
    pub(super) authorization: Option<String>,
    pub(super) prefers_json: bool,
    /// Whether a person is likely to see the answer.
    pub(super) accepts_html: bool,
    pub(super) keep_alive: bool,
}

impl Head {
    pub(super) fn is_head(&self) -> bool {
        self.method == "HEAD"
    }

    /// Parses a head: it and its length, or `None` if the input ends before it does.
    pub(super) fn parse(input: &[u8]) -> Result<Option<(Self, usize)>, Refusal> {
        let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
        let mut request = httparse::Request::new(&mut headers);
        let length = match request.parse(input) {
            Ok(httparse::Status::Complete(length)) if length <= MAX_HEAD => length,
            Ok(httparse::Status::Partial) if input.len() < MAX_HEAD => return Ok(None),
            Ok(_) | Err(httparse::Error::TooManyHeaders) => {
                return Err(Refusal::new(431, "the head of the request is too large"));
            }
            Err(_) => return Err(Refusal::new(400, "this is not HTTP")),
        };
        let mut head = Self {
            method: request.method.unwrap_or_default().to_owned(),
            target: request.path.unwrap_or_default().to_owned(),
            keep_alive: request.version == Some(1),
            ..Self::default()
        };
        if head.target.len() > MAX_TARGET {
            return Err(Refusal::new(414, "the address is too long"));
        }
        let mut hosts = 0;
        for header in request.headers {
            let value = std::str::from_utf8(header.value).unwrap_or("\u{fffd}").trim();
            let name = header.name.to_ascii_lowercase();
            match &name[..] {
                "host" => {
                    hosts += 1;
                    head.host = value.to_ascii_lowercase();
                }
                "origin" => head.origin = Some(value.to_ascii_lowercase()),
                "sec-fetch-site" => head.fetch_site = Some(value.to_ascii_lowercase()),
                "sec-fetch-mode" => head.fetch_mode = Some(value.to_ascii_lowercase()),
                "cookie" => head.cookie = Some(value.to_owned()),
                "authorization" => head.authorization = Some(value.to_owned()),
                "accept" => {
                    head.accepts_html = value.contains("text/html");
                    head.prefers_json = value.contains("application/json") && !head.accepts_html;
                }
                "connection" => {
                    let has =
                        |token| value.split(',').any(|it| it.trim().eq_ignore_ascii_case(token));
                    head.keep_alive = !has("close") && (head.keep_alive || has("keep-alive"));
                }
                // No page takes a body. What would follow is not read, so that it cannot be mistaken for
                // the next request.
                "content-length" if value == "0" => {}
                "content-length" | "transfer-encoding" | "upgrade" | "expect" => {
                    return Err(Refusal::new(400, "requests have no body"));
                }
                _ => {}
            }
        }
        if hosts != 1 {
            return Err(Refusal::new(400, "a request needs exactly one Host"));
        }
        Ok(Some((head, length)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Option<(Head, usize)>, u16> {
        Head::parse(text.as_bytes()).map_err(|refusal| refusal.status)
    }

    #[test]
    fn a_head_is_parsed_when_it_is_whole() {
        let text = "GET /0/table?file=1 HTTP/1.1\r\nHOST: LocalHost:80\r\nAccept: application/json\r\n\r\nrest";
        for end in 0..text.len() - 4 {
            assert_eq!(parse(&text[..end]), Ok(None), "{end}");
        }
        let (head, length) = parse(text).unwrap().unwrap();
        assert_eq!((&head.method[..], &head.target[..]), ("GET", "/0/table?file=1"));
        assert_eq!((&head.host[..], length), ("localhost:80", text.len() - 4));
        assert!(head.prefers_json && head.keep_alive);
    }

    #[test]
    fn what_is_no_head_is_refused() {
        let long = "x".repeat(MAX_TARGET + 1);
        let many = "A: b\r\n".repeat(MAX_HEADERS + 1);
        let large = format!("GET / HTTP/1.1\r\nA: {}", "x".repeat(MAX_HEAD));
        for (text, status) in [
            ("\u{1}\u{2}", 400),
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
            ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", 400),
            (&format!("GET /{long} HTTP/1.1\r\nHost: a\r\n\r\n"), 414),
            (&format!("GET / HTTP/1.1\r\n{many}\r\n"), 431),
            (&large, 431),
        ] {
            assert_eq!(parse(text).unwrap_err(), status, "{text:.60}");
        }
    }

    #[test]
    fn connections_stay_open_in_version_1_1() {
        let keep = |text: &str| parse(text).unwrap().unwrap().0.keep_alive;
        assert!(keep("GET / HTTP/1.1\r\nHost: a\r\n\r\n"));
        assert!(!keep("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n"));
        assert!(!keep("GET / HTTP/1.0\r\nHost: a\r\n\r\n"));
        assert!(keep("GET / HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n"));
    }
}
