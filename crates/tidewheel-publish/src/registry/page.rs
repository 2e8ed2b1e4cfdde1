//! Links of a page: what the simple index of a Python registry is in HTML.
//!
//! Only links are looked for; what else is on a page says nothing about files.

/// A file that a page links to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Link {
    /// What the link says: the name of the file.
    pub file: String,
    /// The digest behind its address, if there is one.
    pub sha256: Option<String>,
    /// Its address, without that.
    pub url: String,
    /// Whether it says that it was taken back.
    pub is_yanked: bool,
}

/// The links of a page, in order.
pub(super) fn links(page: &str) -> Vec<Link> {
    let mut links = Vec::new();
    let mut rest = page;
    while let Some((tag, after)) = opened(rest) {
        let text = after.split('<').next().unwrap_or_default();
        let href = attribute(tag, "href").unwrap_or_default();
        let (url, digest) = href.split_once('#').unwrap_or((href, ""));
        let sha256 = digest.split('&').find_map(|it| it.strip_prefix("sha256="));
        links.push(Link {
            file: plain(text.trim()),
            sha256: sha256.map(str::to_owned),
            url: plain(url),
            is_yanked: attribute(tag, "data-yanked").is_some(),
        });
        rest = after;
    }
    links
}

/// The next `<a …>`: what is in it, and what comes after it.
fn opened(page: &str) -> Option<(&str, &str)> {
    let mut rest = page;
    loop {
        rest = &rest[rest.find('<')? + 1..];
        let tag = rest.strip_prefix(['a', 'A']).filter(|it| it.starts_with(char::is_whitespace));
        if let Some(tag) = tag {
            return tag.split_once('>');
        }
    }
}

/// The value of an attribute, quoted either way; nothing in it if it has none.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut rest = tag;
    loop {
        rest = rest.trim_start().trim_start_matches('/');
        let end = rest.find(|sign: char| sign == '=' || sign.is_whitespace()).unwrap_or(rest.len());
        let (own, after) = rest.split_at(end);
        if own.is_empty() && after.is_empty() {
            return None;
        }
        let (value, after) = match after.trim_start().strip_prefix('=') {
            None => ("", after),
            Some(after) => quoted(after.trim_start()),
        };
        if own.eq_ignore_ascii_case(name) {
            return Some(value);
        }
        rest = after;
    }
}

/// A value, and what comes after it.
fn quoted(text: &str) -> (&str, &str) {
    let quote = text.chars().next().filter(|sign| ['"', '\''].contains(sign));
    match quote {
        Some(quote) => text[1..].split_once(quote).unwrap_or((&text[1..], "")),
        None => text.split_at(text.find(char::is_whitespace).unwrap_or(text.len())),
    }
}

/// Text in which `&amp;` and the like are what they mean. Names of files have no others.
fn plain(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&#43;", "+").replace("&amp;", "&")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(file: &str, sha256: Option<&str>, url: &str, is_yanked: bool) -> Link {
        let (file, url) = (file.to_owned(), url.to_owned());
        Link { file, sha256: sha256.map(str::to_owned), url, is_yanked }
    }

    #[test]
    fn links_are_found_however_they_are_written() {
        let page = "<!DOCTYPE html><html><body><abbr>no</abbr><h1>Links</h1>
            <a href=\"/files/a-1.0.tar.gz#sha256=ab\">a-1.0.tar.gz</a><br/>
            <A data-requires-python='&gt;=3.8' HREF='x#sha256=cd' data-yanked=''> a-1.0-py3.whl </A>
            <a data-yanked href=y>b&amp;c</a><a
              href = \"z#md5=ef\" >z</a></body></html>";
        let expected = [
            link("a-1.0.tar.gz", Some("ab"), "/files/a-1.0.tar.gz", false),
            link("a-1.0-py3.whl", Some("cd"), "x", true),
            link("b&c", None, "y", true),
            link("z", None, "z", false),
        ];
        assert_eq!(links(page), expected);
    }

    #[test]
    fn what_is_cut_off_or_no_page_at_all_does_no_harm() {
        let whole = "<a href=\"x#sha256=ab\" data-yanked=\"\">n</a>";
        for end in 0..whole.len() {
            links(&whole[..end]);
        }
        for text in
            ["", "<", "<a", "<a ", "<a =>", "<a ==='>", "<a href=\"", "<a / / =", "ä<a ö=ü>ß"]
        {
            links(text);
        }
        assert_eq!(links("{}"), []);
    }
}
