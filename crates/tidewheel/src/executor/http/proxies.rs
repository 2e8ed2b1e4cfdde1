//! [`Proxies`]: which requests go through which proxy.
//!
//! Nothing is read from the environment here: whoever wants its variables to count hands them over.

use reqwest::{NoProxy, Proxy, Url};

/// Which requests go through which proxy. None, unless said.
#[derive(Clone, Default)]
pub struct Proxies {
    http: Option<String>,
    https: Option<String>,
    except: Option<String>,
}

impl Proxies {
    /// All requests go through one.
    pub fn all(url: impl Into<String>) -> Self {
        let url = url.into();
        Self { http: Some(url.clone()), https: Some(url), except: None }
    }

    /// As the usual variables say, of which the spelling in small letters counts first and an empty one
    /// is none:
    ///
    /// - `http_proxy`, `HTTP_PROXY` for requests by http, `https_proxy`, `HTTPS_PROXY` for those by
    ///   https, `all_proxy`, `ALL_PROXY` for both;
    /// - `no_proxy`, `NO_PROXY`: hosts that are spoken to directly, with commas between. A name stands
    ///   for itself and all below it, `10.0.0.0/8` for a network, `*` for everything.
    ///
    /// Where there is `REQUEST_METHOD`, we are run for a web server, and `HTTP_PROXY` is what a stranger
    /// has sent as the header `Proxy`: it does not count.
    pub fn of_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let said = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let either = |name: &str| said(name).or_else(|| said(&name.to_ascii_uppercase()));
        let is_for_a_stranger = variable("REQUEST_METHOD").is_some();
        let http = match is_for_a_stranger {
            true => said("http_proxy"),
            false => either("http_proxy"),
        };
        let all = || either("all_proxy");
        Self {
            http: http.or_else(all),
            https: either("https_proxy").or_else(all),
            except: either("no_proxy"),
        }
    }

    pub(super) fn is_none(&self) -> bool {
        self.http.is_none() && self.https.is_none()
    }

    /// As the client wants them.
    pub(super) fn to_rules(&self) -> Result<Vec<Proxy>, String> {
        let except = self.except.as_deref().and_then(NoProxy::from_string);
        let mut rules = Vec::new();
        if let Some(url) = &self.http {
            let rule = Proxy::http(checked(url, "http")?).map_err(|error| error.to_string())?;
            rules.push(rule.no_proxy(except.clone()));
        }
        if let Some(url) = &self.https {
            let rule = Proxy::https(checked(url, "https")?).map_err(|error| error.to_string())?;
            rules.push(rule.no_proxy(except));
        }
        Ok(rules)
    }
}

/// Shows no addresses: they may have a password.
impl std::fmt::Debug for Proxies {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.is_some())
            .field("https", &self.https.is_some())
            .field("except", &self.except)
            .finish()
    }
}

/// A proxy that the client would not understand it would pass over, and go directly. The text is not
/// told: it may have a password in it.
fn checked(text: &str, requests: &str) -> Result<Url, String> {
    let text = text.trim();
    let whole = if text.contains("://") { text.to_owned() } else { format!("http://{text}") };
    let bad =
        |why: String| format!("the proxy for {requests} requests {why}; write http://host:port");
    let url = Url::parse(&whole).map_err(|error| bad(format!("is no URL ({error})")))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(bad(format!("speaks `{other}`, and only http and https are known here"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> (Option<String>, Option<String>, Option<String>) {
        let find = |name: &str| {
            let found = variables.iter().find(|(own, _)| *own == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let Proxies { http, https, except } = Proxies::of_variables(find);
        (http, https, except)
    }

    #[test]
    fn small_letters_count_first_and_empty_is_none() {
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(of(&[]), (None, None, None));
        assert_eq!(of(&[("HTTP_PROXY", "a"), ("http_proxy", "b")]).0, some("b"));
        assert_eq!(of(&[("HTTP_PROXY", "a"), ("http_proxy", " ")]).0, some("a"));
        assert_eq!(of(&[("HTTPS_PROXY", "a"), ("NO_PROXY", "x")]), (None, some("a"), some("x")));
        assert_eq!(of(&[("https_proxy", "a"), ("ALL_PROXY", "b")]), (some("b"), some("a"), None));
    }

    #[test]
    fn a_stranger_chooses_no_proxy() {
        let web = ("REQUEST_METHOD", "GET");
        assert_eq!(of(&[web, ("HTTP_PROXY", "evil")]).0, None);
        assert_eq!(of(&[web, ("http_proxy", "ours")]).0, Some("ours".to_owned()));
        assert_eq!(of(&[web, ("HTTPS_PROXY", "ours")]).1, Some("ours".to_owned()));
    }

    #[test]
    fn what_cannot_be_spoken_to_is_refused_and_not_told() {
        for bad in
            ["socks5://user:word@host:1080", "http://", "http://user:word@:x", "ftp://word@h"]
        {
            let error = Proxies::all(bad).to_rules().unwrap_err();
            assert!(error.starts_with("the proxy for http requests"), "{error}");
            assert!(!error.contains("word"), "{error}");
        }
        for good in ["proxy.test:3128", "http://user:word@proxy.test", "127.0.0.1:8080"] {
            assert_eq!(Proxies::all(good).to_rules().unwrap().len(), 2, "{good}");
        }
    }
}
