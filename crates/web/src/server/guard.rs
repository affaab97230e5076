//! Refuses requests of other sites, and beyond this machine those without the token.
//!
//! | attack | what stops it |
//! |---|---|
//! | a page of another site requests `http://127.0.0.1:PORT` | `Origin` and `Sec-Fetch-Site`; no CORS headers |
//! | its name leads to 127.0.0.1 (DNS rebinding) | `Host`: only `localhost`, addresses, and given names |
//! | another machine | loopback by default; else the token |
//! | another user of this machine | the token, with `--token` |

use std::io;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};

use super::head::Head;
use super::response::Refusal;

/// Bytes of a token.
const TOKEN_LENGTH: usize = 16;

pub(super) struct Guard {
    /// Whether only this machine can reach the server.
    is_loopback: bool,
    hosts: Vec<String>,
    token: Option<String>,
    /// The name of the cookie that holds the token. Browsers send a cookie to all ports of a host, so
    /// that two servers need two names.
    cookie: String,
}

impl Guard {
    /// Guards a server at this address.
    pub(super) fn new(
        address: SocketAddr,
        needs_token: bool,
        hosts: &[String],
    ) -> io::Result<Self> {
        let is_loopback = address.ip().is_loopback();
        let cookie = format!("sst_token_{}", address.port());
        let token = match needs_token || !is_loopback {
            true => Some(new_token()?),
            false => None,
        };
        let hosts = hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Ok(Self { is_loopback, hosts, token, cookie })
    }

    pub(super) fn token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub(super) fn cookie(&self) -> &str {
        &self.cookie
    }

    /// Refuses what no page of ours requests. `is_page` is whether the answer is a page that other
    /// sites may link to.
    pub(super) fn check(&self, head: &Head, is_page: bool) -> Result<(), Refusal> {
        if !matches!(&head.method[..], "GET" | "HEAD") {
            return Err(Refusal::new(405, "only GET and HEAD"));
        }
        if !self.is_our_host(&head.host) {
            let what =
                "this host name is not served; use localhost, or sst serve --allow-host NAME";
            return Err(Refusal::new(421, what));
        }
        let is_foreign = head.origin.as_ref().is_some_and(|origin| {
            // Only browsers send it, and for pages of ours it names this host.
            origin.strip_prefix("http://") != Some(&head.host)
        });
        if is_foreign {
            return Err(Refusal::new(403, "requests of other origins are refused"));
        }
        let is_link = is_page && head.fetch_mode.as_deref() == Some("navigate");
        match head.fetch_site.as_deref() {
            None | Some("same-origin" | "none") => Ok(()),
            Some(_) if is_link => Ok(()),
            Some(_) => Err(Refusal::new(403, "requests of other sites are refused")),
        }
    }

    /// Whether a `Host` leads here, and not a name that another party controls.
    fn is_our_host(&self, host: &str) -> bool {
        let Some(name) = host_name(host) else { return false };
        if name == "localhost" || self.hosts.iter().any(|it| it == name) {
            return true;
        }
        let ip = match name.strip_prefix('[') {
            Some(rest) => {
                rest.strip_suffix(']').and_then(|it| it.parse::<Ipv6Addr>().ok()).map(IpAddr::V6)
            }
            None => name.parse().ok().filter(IpAddr::is_ipv4),
        };
        // An address cannot be made to lead elsewhere. The port may be another one that is forwarded.
        ip.is_some_and(|ip| !self.is_loopback || ip.is_loopback())
    }

    /// Whether a request has the token, if one is needed. `given` is that of the address.
    pub(super) fn has_token(&self, head: &Head, given: Option<&str>) -> bool {
        let Some(token) = &self.token else { return true };
        let bearer = head.authorization.as_deref().and_then(|it| it.strip_prefix("Bearer "));
        let cookies = head.cookie.iter().flat_map(|cookie| cookie.split(';'));
        let cookies = cookies.filter_map(|pair| pair.trim().split_once('='));
        let cookie = cookies.filter(|(name, _)| *name == self.cookie).map(|(_, value)| value);
        cookie.chain(bearer).chain(given).any(|it| is_same(it.as_bytes(), token.as_bytes()))
    }
}

/// The name in a `Host` header; `None` if it is malformed.
fn host_name(host: &str) -> Option<&str> {
    let end = match host.strip_prefix('[') {
        Some(rest) => rest.find(']')? + 2,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at_checked(end)?;
    let is_port = |port: &str| port.len() <= 5 && port.bytes().all(|byte| byte.is_ascii_digit());
    let is_whole = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
    (is_whole && !name.is_empty()).then_some(name)
}

/// Compares in a time that does not depend on where they differ.
fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

fn new_token() -> io::Result<String> {
    let mut bytes = [0; TOKEN_LENGTH];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(ip: &str) -> Guard {
        let address = SocketAddr::new(ip.parse().unwrap(), 4711);
        Guard::new(address, false, &["Inspector.example".to_owned()]).unwrap()
    }

    #[test]
    fn hosts_that_somebody_else_controls_are_refused() {
        let local = guard("127.0.0.1");
        for host in [
            "localhost",
            "localhost:80",
            "127.0.0.1:4711",
            "[::1]:80",
            "127.0.0.2",
            "inspector.example:1",
        ] {
            assert!(local.is_our_host(host), "{host}");
        }
        for host in [
            "",
            ":80",
            "evil.example",
            "evil.example:80",
            "localhost.evil.example",
            "127.0.0.1.nip.io",
            "localhost:80:80",
            "localhost:x",
            "localhost@evil",
            "10.0.0.1",
            "[::1",
            "[::1]x",
            "[fe80::1]",
            "::1",
            "localhost.",
            "127.1",
            "0x7f000001",
            "localhost:123456",
        ] {
            assert!(!local.is_our_host(host), "{host}");
        }
        assert!(guard("0.0.0.0").is_our_host("10.0.0.1:80"));
        assert!(!guard("0.0.0.0").is_our_host("evil.example"));
    }

    #[test]
    fn requests_of_other_sites_are_refused() {
        let guard = guard("127.0.0.1");
        let head = Head { method: "GET".into(), host: "localhost:1".into(), ..Head::default() };
        let status = |head: &Head, is_page| guard.check(head, is_page).map_err(|it| it.status);
        assert_eq!(status(&head, false), Ok(()));
        let own = Head { origin: Some("http://localhost:1".into()), ..head.clone() };
        assert_eq!(status(&own, false), Ok(()));
        for origin in
            ["http://evil.example", "http://localhost:2", "https://localhost:1", "null", ""]
        {
            let head = Head { origin: Some(origin.into()), ..head.clone() };
            assert_eq!(status(&head, false), Err(403), "{origin}");
        }
        for site in ["cross-site", "same-site", "anything"] {
            let head = Head { fetch_site: Some(site.into()), ..head.clone() };
            assert_eq!(status(&head, false), Err(403), "{site}");
            assert_eq!(status(&head, true), Err(403), "{site}");
            let link = Head { fetch_mode: Some("navigate".into()), ..head };
            assert_eq!(status(&link, true), Ok(()), "{site}");
            assert_eq!(status(&link, false), Err(403), "{site}");
        }
        let post = Head { method: "POST".into(), ..head };
        assert_eq!(status(&post, false), Err(405));
    }

    #[test]
    fn beyond_this_machine_a_token_is_needed() {
        assert_eq!(guard("127.0.0.1").token(), None);
        let guard = guard("0.0.0.0");
        let token = guard.token().unwrap().to_owned();
        assert_eq!(token.len(), 2 * TOKEN_LENGTH);
        let head = Head::default();
        assert!(!guard.has_token(&head, None) && !guard.has_token(&head, Some("x")));
        assert!(guard.has_token(&head, Some(&token)));
        let cookie =
            Head { cookie: Some(format!("a=b; sst_token_4711={token}")), ..Head::default() };
        let bearer = Head { authorization: Some(format!("Bearer {token}")), ..Head::default() };
        assert!(guard.has_token(&cookie, None) && guard.has_token(&bearer, None));
        // That of another server on this machine.
        let wrong = Head { cookie: Some(format!("sst_token_4712={token}")), ..Head::default() };
        assert!(!guard.has_token(&wrong, None));
    }
}
