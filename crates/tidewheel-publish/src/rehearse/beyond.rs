//! [`Beyond`]: what packages need of others, which is looked up where it is: nothing is sent there but questions.
//!
//! Which those are is known to the registry that is asked first. Cargo is told by its index where others are, and asks there
//! itself.

use super::http::{Answer, Head, decoded};
use super::npm;
use super::protocol::{Asked, Protocol, What};
use crate::exchange::Client;
use crate::package::{Ecosystem, PackageId};
use crate::settings::{Surroundings, elsewhere};

/// The registries that settings name, for whoever only asks.
#[derive(Debug)]
pub(super) struct Beyond(Surroundings);

impl Beyond {
    /// Those of a workspace, whatever stands in for them.
    pub fn of(around: &Surroundings) -> Self {
        let mut around = around.clone();
        around.stage = None;
        Self(around)
    }

    /// What is said there; nothing if nobody is to be asked.
    pub fn answer(&self, protocol: Protocol, head: &Head, asked: &Asked) -> Option<Answer> {
        let is_look = asked.what == What::Look && head.method == "GET";
        let name = asked.package.as_deref().filter(|_| is_look)?;
        match protocol {
            Protocol::Cargo => None,
            Protocol::Npm => {
                let is_whole = decoded(head.path.trim_matches('/')) == name;
                is_whole.then(|| self.npm(name)).flatten()
            }
            Protocol::Python => self.python(name),
        }
    }

    /// Registries of npm may want to know who reads, as the settings say.
    fn npm(&self, name: &str) -> Option<Answer> {
        let target = elsewhere(&PackageId::new(Ecosystem::Npm, name), &self.0)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
        let client = Client::new(&self.0).ok()?;
        let asked = runtime.block_on(client.npm_document(&target, name));
        Some(match asked {
            Ok(document) => Answer::new(200, "application/json", document?),
            // Not one that npm would wait for and try again.
            Err(trouble) => npm::error(424, &format!("{}: {trouble}", target.address.name)),
        })
    }

    /// Whoever asks is told where it is: only there addresses on a page mean what they mean.
    fn python(&self, name: &str) -> Option<Answer> {
        let target = elsewhere(&PackageId::new(Ecosystem::Python, name), &self.0)?;
        let place = format!("{}{name}/", without_user(&target.address.index));
        Some(Answer::text(302, "").with("location", place))
    }
}

/// An address without what lets somebody in there.
fn without_user(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
    format!("{scheme}://{host}/{path}")
}

#[cfg(test)]
mod tests {
    use super::without_user;

    #[test]
    fn nobody_is_told_by_whose_leave_somebody_reads() {
        for (address, bare) in [
            ("https://me:secret@a.example/simple/", "https://a.example/simple/"),
            ("http://127.0.0.1:8080/simple/", "http://127.0.0.1:8080/simple/"),
            ("https://a.example", "https://a.example/"),
        ] {
            assert_eq!(without_user(address), bare);
        }
    }
}
