//! By which proxy a server is asked. The client finds it in the environment by itself; what is known here is
//! what it leaves out: names with ports that are to be asked without one, and its name where it is away.

use std::env;
use std::error::Error;
use std::fmt;

use hyper_util::client::proxy::matcher::Matcher;
use object_store::ClientOptions;
use object_store::client::{ClientConfigKey, HttpRequest};

/// Variables that name one, the first of all.
const OF_HTTP: [&str; 4] = ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"];
const OF_HTTPS: [&str; 4] = ["HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"];
/// Variables that name who is asked without one.
const NONE: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// Who is asked by which proxy.
#[derive(Debug)]
pub(crate) struct Proxies {
    said: Matcher,
    none: Direct,
}

impl Proxies {
    /// Those that a client of these options has.
    pub fn of(options: &ClientOptions) -> Self {
        let option = |key| options.get_config_value(&key).unwrap_or_default();
        match option(ClientConfigKey::ProxyUrl) {
            none if none.is_empty() => {
                let said = NONE.into_iter().find_map(|it| env::var(it).ok()).unwrap_or_default();
                Proxies { said: Matcher::from_system(), none: Direct::of(&said) }
            }
            url => {
                let said = Matcher::builder().all(url).no(option(ClientConfigKey::ProxyExcludes)).build();
                Proxies { said, none: Direct::default() }
            }
        }
    }

    /// Options of a client that has none, if anybody is to be asked by it who has one otherwise. It goes without one
    /// wherever it is sent on to as well.
    pub fn without(&self, options: &ClientOptions) -> Option<ClientOptions> {
        // There is no other way to say so: one of which all are left out.
        let left_out = || options.clone().with_proxy_url("http://127.0.0.1").with_proxy_excludes("*,0.0.0.0/0,::/0");
        let has_proxy = |host: &str, scheme: &str| {
            format!("{scheme}://{host}").parse().is_ok_and(|uri| self.said.intercept(&uri).is_some())
        };
        let mut hosts = self.none.0.iter().map(|(host, _)| host);
        hosts.any(|host| has_proxy(host, "http") || has_proxy(host, "https")).then(left_out)
    }

    /// Whether this is to be asked without a proxy, which the client does not know.
    pub fn leave_out(&self, request: &HttpRequest) -> bool {
        let uri = request.uri();
        let port = uri.port_u16().unwrap_or(if uri.scheme_str() == Some("https") { 443 } else { 80 });
        uri.host().is_some_and(|host| self.none.has(host, port))
    }

    /// The proxy that this is asked by, and what names it.
    pub fn name(&self, request: &HttpRequest) -> Option<Named> {
        let found = self.said.intercept(request.uri())?;
        let variables = if request.uri().scheme_str() == Some("https") { OF_HTTPS } else { OF_HTTP };
        let proxy = found.uri().authority()?.to_string();
        let says_it = |name: &&str| env::var(name).is_ok_and(|it| it.contains(&proxy));
        Some(Named { by: variables.into_iter().find(says_it).unwrap_or("proxy_url"), proxy })
    }
}

/// A proxy and the setting that names it.
pub(crate) struct Named {
    proxy: String,
    by: &'static str,
}

/// Why a proxy cannot be connected to.
#[derive(Debug)]
pub(crate) struct Away(String);

impl Named {
    /// It cannot, for this reason.
    pub fn away(&self, why: &(dyn Error + 'static)) -> Away {
        let root = std::iter::successors(Some(why), |&it| it.source()).last().unwrap_or(why);
        Away(format!("by the proxy {} that {} names: {root}", self.proxy, self.by))
    }
}

impl fmt::Display for Away {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Away {}

/// Hosts with ports to ask without a proxy: each, and those below it. Hosts alone the client knows.
#[derive(Debug, Default)]
struct Direct(Vec<(String, u16)>);

impl Direct {
    fn of(said: &str) -> Self {
        let entry = |it: &str| {
            let (host, port) = it.trim().trim_start_matches('.').rsplit_once(':')?;
            // What has more colons than one is an address of IP version 6 without a port, unless it is in brackets.
            let is_host = !host.contains(':') || host.ends_with(']');
            Some((host.to_ascii_lowercase(), port.parse().ok()?)).filter(|_| is_host)
        };
        Direct(said.split(',').filter_map(entry).collect())
    }

    fn has(&self, host: &str, port: u16) -> bool {
        let host = host.to_ascii_lowercase();
        let is_of = |of: &str| host.strip_suffix(of).is_some_and(|it| it.is_empty() || it.ends_with('.'));
        self.0.iter().any(|(of, at)| *at == port && is_of(of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_without_a_proxy_is_made_where_there_is_one_to_go_without() {
        let is_made = |said: Matcher, none: &str| {
            let proxies = Proxies { said, none: Direct::of(none) };
            proxies.without(&ClientOptions::default()).is_some()
        };
        let proxy = "http://127.0.0.1:1";
        assert!(is_made(Matcher::builder().https(proxy).build(), "localhost:7401"));
        assert!(is_made(Matcher::builder().all(proxy).no("plain").build(), "plain:1,[::1]:5"));
        assert!(!is_made(Matcher::builder().build(), "localhost:7401"), "there is none");
        assert!(!is_made(Matcher::builder().all(proxy).no("plain").build(), "plain:1"), "it is left out anyway");
        assert!(!is_made(Matcher::builder().all(proxy).build(), "plain"));
    }

    #[test]
    fn who_is_left_out_with_a_port_is_asked_without_a_proxy_there() {
        let direct = Direct::of("localhost:7401, .Of.example:80,127.0.0.1:9,[::1]:5, ::1, plain,x:y,*,");
        for (host, port, expected) in [
            ("localhost", 7401, true),
            ("LOCALHOST", 7401, true),
            ("localhost", 80, false),
            ("of.example", 80, true),
            ("a.of.example", 80, true),
            ("notof.example", 80, false),
            ("127.0.0.1", 9, true),
            ("[::1]", 5, true),
            (":", 1, false),
            ("plain", 80, false),
            ("x", 80, false),
        ] {
            assert_eq!(direct.has(host, port), expected, "{host}:{port}");
        }
        assert!(Direct::of("localhost,10.0.0.0/8,*").0.is_empty());
    }
}
