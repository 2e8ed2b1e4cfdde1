//! [`Registry`]: the server, what tests ask of it, and how faults look on the wire.
//!
//! What a truthful answer is, is said by the protocols.

use std::collections::{BTreeMap, BTreeSet};
use std::net::TcpStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use jiff::fmt::rfc2822::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value as Json;

use super::fault::{Fault, Faults, RetryAfter};
use super::http::{Answer, Connection, Head};
use super::listen::{Listening, Port};
use super::protocol::{Asked, Protocol, What};
use super::seen::{Request, Upload};
use super::shelf::{Brought, Delivery, Hiding, Package, Shelf, StoredFile};
use super::trust::Given;
use super::{cargo, npm, python};

/// A registry on a free port of loopback, until it is dropped.
pub struct Registry {
    shared: Arc<Shared>,
    listening: Listening,
}

/// What wakes those who wait for a registry, whoever rings it.
#[derive(Clone)]
pub struct Bell(Arc<Shared>);

impl Bell {
    pub fn ring(&self) {
        // Whoever looks now sees what it is rung for, or hears it.
        drop(self.0.lock());
        self.0.changed.notify_all();
    }
}

struct Shared {
    protocol: Protocol,
    base: String,
    token: String,
    began: Instant,
    inside: Mutex<Inside>,
    /// Told when something was heard, and when it has been dealt with.
    changed: Condvar,
}

#[derive(Default)]
struct Inside {
    shelf: Shelf,
    faults: Faults,
    requests: Vec<Request>,
    uploads: Vec<Upload>,
    /// Requests that are dealt with now.
    open: usize,
    /// How often all was forgotten; connections of an earlier time are served no more.
    age: u32,
    open_uploads: usize,
    open_uploads_max: usize,
    settings: Settings,
    /// Whether answers that were held are sent.
    is_released: bool,
    /// Packages that may only be read.
    read_only: BTreeSet<String>,
    given: Given,
}

#[derive(Debug, Clone, Copy, Default)]
struct Settings {
    is_private: bool,
    is_html_only: bool,
    is_without_digests: bool,
    upload_time: Duration,
}

impl Registry {
    pub fn start(protocol: Protocol) -> Self {
        let port = Port::take().unwrap();
        let address = port.address();
        let shared = Arc::new(Shared {
            protocol,
            base: format!("http://{address}"),
            // Long and odd, so that it is found wherever it should not be.
            token: format!("tok-{:016x}-canary", 0x5eed_0000_0000_u64 + u64::from(address.port())),
            began: Instant::now(),
            inside: Mutex::default(),
            changed: Condvar::new(),
        });
        let serving = Arc::clone(&shared);
        Self { shared, listening: port.serve(move |stream| serving.serve(stream)) }
    }

    pub fn protocol(&self) -> Protocol {
        self.shared.protocol
    }

    /// Where it is, without a slash at the end.
    pub fn url(&self) -> &str {
        &self.shared.base
    }

    pub fn port(&self) -> u16 {
        self.listening.address().port()
    }

    /// Where those who resolve look: `sparse+http://…/index/` for cargo, the registry for npm, `…/simple/` for Python.
    pub fn index_url(&self) -> String {
        match self.shared.protocol {
            Protocol::Cargo => format!("sparse+{}/index/", self.url()),
            Protocol::Npm => format!("{}/", self.url()),
            Protocol::Python => format!("{}/simple/", self.url()),
        }
    }

    /// Where uploads go; cargo finds it out by the index.
    pub fn upload_url(&self) -> String {
        match self.shared.protocol {
            Protocol::Cargo => format!("{}/api/v1/crates/new", self.url()),
            Protocol::Npm => format!("{}/", self.url()),
            Protocol::Python => format!("{}/legacy/", self.url()),
        }
    }

    /// What uploads are let in by.
    pub fn token(&self) -> &str {
        &self.shared.token
    }

    /// From now on these faults, and none of those before.
    pub fn script(&self, faults: Faults) {
        self.shared.lock().faults = faults;
    }

    /// Forgets everything that it was given and asked. Whoever is connected must have gone, or goes now.
    pub fn forget(&self) {
        let mut inside = self.shared.lock();
        inside.age += 1;
        inside.is_released = true;
        self.shared.changed.notify_all();
        // What the dead have sent is read to its end first.
        while inside.open > 0 {
            inside = self.shared.changed.wait(inside).unwrap();
        }
        *inside = Inside { age: inside.age, settings: inside.settings, ..Inside::default() };
    }

    /// Sends the answers that are held, and holds no more of them.
    pub fn release(&self) {
        self.shared.lock().is_released = true;
        self.shared.changed.notify_all();
    }

    /// Shows those who look everything that was hidden.
    pub fn reveal(&self) {
        let packages = &mut self.shared.lock().shelf.packages;
        let versions = packages.values_mut().flat_map(|it| &mut it.versions);
        for file in versions.flat_map(|it| &mut it.files) {
            file.hiding = Hiding::default();
        }
    }

    /// How many requests are not answered yet.
    pub fn open_requests(&self) -> usize {
        self.shared.lock().open
    }

    /// Whether all faults of the script have happened.
    pub fn is_script_over(&self) -> bool {
        self.shared.lock().faults.is_over()
    }

    /// Looks and downloads want the token too.
    pub fn be_private(&self) {
        self.shared.lock().settings.is_private = true;
    }

    /// A Python registry without the JSON form of its index.
    pub fn be_html_only(&self) {
        self.shared.lock().settings.is_html_only = true;
    }

    /// A Python registry whose pages say nothing of contents.
    pub fn be_without_digests(&self) {
        let settings = &mut self.shared.lock().settings;
        (settings.is_html_only, settings.is_without_digests) = (true, true);
    }

    /// Whoever has the token may only read this package (npm).
    pub fn be_read_only(&self, package: &str) {
        self.shared.lock().read_only.insert(package.to_owned());
    }

    /// Tokens that pipelines are given are good for one upload.
    pub fn trust_once(&self) {
        self.shared.lock().given.once = true;
    }

    /// How many tokens pipelines were given.
    pub fn given(&self) -> usize {
        self.shared.lock().given.count
    }

    /// Every upload takes so long.
    pub fn take_for_uploads(&self, time: Duration) {
        self.shared.lock().settings.upload_time = time;
    }

    /// What somebody else has put there, in any form.
    pub fn put(&self, package: &str, version: &str, file: &str, bytes: &[u8]) {
        let told = match self.shared.protocol {
            Protocol::Cargo => serde_json::json!({
                "name": package, "vers": version, "deps": [], "features": {}
            }),
            Protocol::Npm => serde_json::json!({ "name": package, "version": version, "dist": {} }),
            Protocol::Python => Json::Null,
        };
        let file = StoredFile::new(file, bytes.to_vec(), Json::Null);
        self.shared.lock().shelf.bring(package, version, told, file);
    }

    /// A crate that somebody else has published, with its line as another index has it.
    pub fn put_line(&self, line: Json, file: &str, bytes: &[u8]) {
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        let (name, version) = (cargo::shelf_name(&text("name")), text("vers"));
        let file = StoredFile::new(file, bytes.to_vec(), Json::Null);
        self.shared.lock().shelf.bring(&name, &version, line, file);
    }

    /// A version is taken back (by its owner, on a page of the registry).
    pub fn yank(&self, package: &str, version: &str) {
        let mut inside = self.shared.lock();
        inside.shelf.version_mut(package, version).expect("it is there").is_yanked = true;
    }

    /// What is kept, whether those who look see it or not.
    pub fn packages(&self) -> BTreeMap<String, Package> {
        self.shared.lock().shelf.packages.clone()
    }

    /// Each file that is kept: package, version, file and digest. What two runs must have in common.
    pub fn census(&self) -> Vec<(String, String, String, String)> {
        let packages = self.packages();
        let mut census = Vec::new();
        for (name, package) in packages {
            for stored in package.versions {
                for file in stored.files {
                    census.push((name.clone(), stored.version.clone(), file.name, file.sha256));
                }
            }
        }
        census.sort();
        census
    }

    /// Everything it was asked, in order.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// How much it was asked.
    pub fn requests_count(&self) -> usize {
        self.shared.lock().requests.len()
    }

    /// Every file that arrived whole, in order.
    pub fn uploads(&self) -> Vec<Upload> {
        self.shared.lock().uploads.clone()
    }

    /// Waits until it is so, or for so long, and says whether it is. It is looked at each time something is heard or
    /// somebody rings.
    pub fn wait_until(
        &self,
        at_most: Duration,
        is_so: impl Fn(&[Request], &[Upload]) -> bool,
    ) -> bool {
        let is_not = |inside: &mut Inside| !is_so(&inside.requests, &inside.uploads);
        let inside = self.shared.lock();
        let (inside, waited) =
            self.shared.changed.wait_timeout_while(inside, at_most, is_not).unwrap();
        drop(inside);
        !waited.timed_out()
    }

    /// What wakes those who wait.
    pub fn bell(&self) -> Bell {
        Bell(Arc::clone(&self.shared))
    }

    /// The most uploads that were under way at once.
    pub fn uploads_at_once(&self) -> usize {
        self.shared.lock().open_uploads_max
    }

    /// Nothing was sent that was there already, and nothing with two contents.
    #[track_caller]
    pub fn assert_nothing_twice(&self) {
        let uploads = self.uploads();
        let again: Vec<&Upload> = uploads.iter().filter(|it| it.was_there).collect();
        assert!(again.is_empty(), "sent although it was there: {again:#?}");
        let mut contents: BTreeMap<(&str, &str), &str> = BTreeMap::new();
        for upload in &uploads {
            let known = contents.entry((&upload.package, &upload.file)).or_insert(&upload.sha256);
            assert_eq!(*known, upload.sha256, "{} has two contents", upload.file);
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap()
    }

    fn serve(&self, stream: TcpStream) {
        let mut connection = Connection::new(stream);
        let age = self.lock().age;
        while let Some(head) = connection.head() {
            let mut inside = self.lock();
            if inside.age != age {
                return;
            }
            inside.open += 1;
            drop(inside);
            let goes_on = self.exchange(&mut connection, head).is_some();
            self.lock().open -= 1;
            self.changed.notify_all();
            if !goes_on {
                return;
            }
        }
    }

    /// Answers one request; `None` when the connection is over.
    fn exchange(&self, connection: &mut Connection, head: Head) -> Option<()> {
        if head.header("transfer-encoding").is_some() {
            let _ = connection.send(&Answer::text(411, "say how long it is").bytes("POST"));
            return None;
        }
        connection.invite(&head).ok()?;
        let asked = self.asked(connection, &head)?;
        let (number, fault) = self.note(&head, &asked);
        if let Some(Fault::CutWhileReading(thousandths)) = fault {
            let length = Connection::body_length(&head) * usize::from(thousandths) / 1000;
            connection.body_up_to(&head, length);
            return None;
        }
        if fault == Some(Fault::Dripping) {
            for read in (0..Connection::body_length(&head)).step_by(1000) {
                connection.body_up_to(&head, read)?;
                // sleeps: the fault is a connection that is this slow
                thread::sleep(Duration::from_secs(1));
            }
            return None;
        }
        let body = connection.body(&head)?;
        let is_upload = asked.what == What::Upload;
        if is_upload {
            self.open_upload();
        }
        let answer = self.faulty_answer(&head, &asked, &body, fault.as_ref());
        if is_upload {
            self.lock().open_uploads -= 1;
        }
        self.send(connection, &head, number, fault, answer)
    }

    /// What is asked. Of an upload, no more is read than it takes to know.
    fn asked(&self, connection: &mut Connection, head: &Head) -> Option<Asked> {
        let asked = Asked::of(self.protocol, head);
        if asked.what != What::Upload {
            return Some(asked);
        }
        let mut wanted = 0;
        loop {
            let body = connection.body_up_to(head, wanted)?;
            let told = asked.clone().with_body(self.protocol, head, body);
            let is_known = told.package.is_some() && told.what == What::Upload;
            if is_known || body.len() == Connection::body_length(head) {
                return Some(told);
            }
            wanted = body.len() + 1;
        }
    }

    fn note(&self, head: &Head, asked: &Asked) -> (usize, Option<Fault>) {
        let mut inside = self.lock();
        let fault = inside.faults.take(asked);
        inside.requests.push(Request {
            at: self.began.elapsed(),
            asked: asked.clone(),
            method: head.method.clone(),
            path: head.path.clone(),
            headers: head.headers.clone(),
            status: None,
            fault: fault.clone(),
        });
        self.changed.notify_all();
        (inside.requests.len() - 1, fault)
    }

    fn open_upload(&self) {
        let mut inside = self.lock();
        inside.open_uploads += 1;
        inside.open_uploads_max = inside.open_uploads_max.max(inside.open_uploads);
        let time = inside.settings.upload_time;
        drop(inside);
        // sleeps: measurements say how long an upload takes its registry
        thread::sleep(time);
    }

    /// What is answered, after what is done; `None` if nothing ever is.
    fn faulty_answer(
        &self,
        head: &Head,
        asked: &Asked,
        body: &[u8],
        fault: Option<&Fault>,
    ) -> Option<Answer> {
        match fault {
            Some(Fault::TooMany(when)) => {
                let why = "You have published too many packages in a short period of time.";
                Some(self.put_off(429, why, when))
            }
            Some(Fault::Busy(when)) => Some(self.put_off(503, "Back in a while.", when)),
            Some(Fault::Refused(status, why)) => Some(self.error(*status, why)),
            Some(Fault::Unauthorised) => Some(self.protocol.unauthorised()),
            Some(Fault::CodeWanted) => Some(npm::code_wanted()),
            Some(Fault::CutBeforeDoing | Fault::Silent { is_done: false }) => None,
            Some(Fault::CutAfterDoing | Fault::Lost | Fault::Silent { is_done: true }) => {
                self.answer(head, asked, body, fault);
                None
            }
            Some(Fault::DoneThenRefused(status) | Fault::HiddenThenRefused(status, _)) => {
                self.answer(head, asked, body, fault);
                Some(self.error(*status, "something went wrong"))
            }
            Some(Fault::Garbled) => {
                self.answer(head, asked, body, fault);
                let page = "<!DOCTYPE html><html><body>Back in a minute.</body></html>";
                Some(Answer::new(200, "text/html", page))
            }
            _ => Some(self.answer(head, asked, body, fault)),
        }
    }

    fn send(
        &self,
        connection: &mut Connection,
        head: &Head,
        number: usize,
        fault: Option<Fault>,
        answer: Option<Answer>,
    ) -> Option<()> {
        if let Some(Fault::Silent { .. } | Fault::Lost) = fault {
            connection.wait_for_end();
        }
        let answer = answer?;
        if fault == Some(Fault::Endless) {
            let start = b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n";
            connection.send(start).ok()?;
            while connection.send(b" ").is_ok() {
                // sleeps: the fault is an answer that comes byte by byte
                thread::sleep(Duration::from_millis(10));
            }
            return None;
        }
        let bytes = answer.bytes(&head.method);
        if fault == Some(Fault::CutWhileAnswering) {
            let _ = connection.send(&bytes[..bytes.len() / 2]);
            return None;
        }
        if fault == Some(Fault::Held) {
            let inside = self.lock();
            drop(self.changed.wait_while(inside, |it| !it.is_released).unwrap());
        }
        // It is noted before the client can know.
        self.lock().requests[number].status = Some(answer.status);
        connection.send(&bytes).ok()?;
        (!head.is_last()).then_some(())
    }

    /// The truthful answer.
    fn answer(&self, head: &Head, asked: &Asked, body: &[u8], fault: Option<&Fault>) -> Answer {
        let settings = self.lock().settings;
        let is_reading = matches!(asked.what, What::Look | What::Download | What::Other)
            && !head.path.ends_with("whoami");
        let mut inside = self.lock();
        let Inside { given, shelf, .. } = &mut *inside;
        let knows = |name: &str| shelf.packages.contains_key(name);
        if let Some(answer) = given.answer(self.protocol, head, body, knows) {
            return answer;
        }
        let is_let_in = is_reading && !settings.is_private
            || self.protocol.is_authorised(head, &self.token)
            || given.is_good(self.protocol, head);
        drop(inside);
        if !is_let_in {
            return if is_reading { self.unread() } else { self.protocol.unauthorised() };
        }
        if asked.what == What::Upload {
            return match self.protocol.delivery(head, body) {
                Ok(delivery) => self.bring(delivery, fault),
                Err(answer) => answer,
            };
        }
        if let ["-", "package", package, "collaborators"] =
            head.parts().iter().map(String::as_str).collect::<Vec<_>>()[..]
        {
            let rights =
                if self.lock().read_only.contains(package) { "read-only" } else { "read-write" };
            return Answer::json(200, &serde_json::json!({ "tester": rights }));
        }
        let shelf = &mut self.lock().shelf;
        match self.protocol {
            Protocol::Cargo => cargo::answer(shelf, &self.base, settings.is_private, head),
            Protocol::Npm => npm::answer(shelf, &self.base, head, body),
            Protocol::Python => {
                let mut answer = python::answer(shelf, &self.base, !settings.is_html_only, head);
                if settings.is_without_digests && asked.what == What::Look {
                    let page = String::from_utf8(answer.body).unwrap();
                    let parts = page.split("#sha256=").enumerate();
                    let bare = parts.map(|(number, it)| if number == 0 { it } else { &it[64..] });
                    answer.body = bare.collect::<String>().into_bytes();
                }
                answer
            }
        }
    }

    /// Keeps what was brought, unless there is such a thing already.
    fn bring(&self, mut delivery: Delivery, fault: Option<&Fault>) -> Answer {
        let Delivery { package, version, .. } = delivery.clone();
        let sent = delivery.file.sha256.clone();
        let other = StoredFile::new(&delivery.file.name, b"\x1f\x8bother".to_vec(), Json::Null);
        let mut inside = self.lock();
        if fault == Some(&Fault::Taken) {
            inside.shelf.bring(&package, &version, delivery.told.clone(), other.clone());
        }
        if fault == Some(&Fault::OtherContent) {
            delivery.file = other;
        }
        delivery.file.hiding = match fault {
            Some(Fault::Hidden(looks) | Fault::HiddenThenRefused(_, looks)) => {
                Hiding { looks: *looks, is_flickering: false }
            }
            Some(Fault::Lost) => Hiding { looks: u32::MAX, is_flickering: false },
            Some(Fault::Flickering(looks)) => Hiding { looks: *looks, is_flickering: true },
            _ => Hiding::default(),
        };
        let brought = self.protocol.keep(&mut inside.shelf, &delivery);
        inside.uploads.push(Upload {
            package,
            version,
            file: delivery.file.name.clone(),
            sha256: sent,
            is_stored: brought == Brought::Stored,
            was_there: brought != Brought::Stored && fault != Some(&Fault::Taken),
            at: self.began.elapsed(),
        });
        drop(inside);
        self.changed.notify_all();
        self.protocol.brought(brought, &delivery)
    }

    /// To read is refused so that clients know to show what they have.
    fn unread(&self) -> Answer {
        let realm = match self.protocol {
            Protocol::Cargo => "Cargo login_url=\"https://example.invalid/me\"",
            Protocol::Npm => "Bearer",
            Protocol::Python => "Basic realm=\"tests\"",
        };
        self.error(401, "this action requires authentication").with("www-authenticate", realm)
    }

    fn error(&self, status: u16, why: &str) -> Answer {
        match self.protocol {
            Protocol::Cargo => cargo::error(status, why),
            Protocol::Npm => npm::error(status, why),
            Protocol::Python => python::error(status, why),
        }
    }

    fn put_off(&self, status: u16, why: &str, when: &RetryAfter) -> Answer {
        let plain = self.error(status, why);
        match when {
            RetryAfter::Seconds(seconds) => plain.with("retry-after", seconds.to_string()),
            RetryAfter::Date(seconds) => plain.with("retry-after", date(*seconds)),
            RetryAfter::Sentence(seconds) => self.error(
                status,
                &format!("{why} Please try again after {} or write to us.", date(*seconds)),
            ),
            RetryAfter::Missing => plain,
            RetryAfter::Text(text) => plain.with("retry-after", *text),
        }
    }
}

/// So many seconds from now, as HTTP writes it.
fn date(seconds: i64) -> String {
    let then = Timestamp::now() + SignedDuration::from_secs(seconds);
    DateTimePrinter::new().timestamp_to_rfc9110_string(&then).unwrap()
}
