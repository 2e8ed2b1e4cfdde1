//! The code of `docs/reference/http.md`.
//!
//! `cargo run -p tidewheel --example requests --features http`

use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;
use tidewheel::executor::http::{Data, HttpClient, HttpRequest};
use tidewheel::task::BoxError;
use tidewheel::{Attempt, Tidewheel};

// [snippet: task]
/// Announces a release. Tried again where that can help, and not before the other side wants it.
async fn announce(client: HttpClient, url: String, attempt: Attempt) -> Result<Data, BoxError> {
    let request = HttpRequest::post(url).json(json!({ "tag": "v1" }));
    // The task is the `Idempotency-Key`, the same in each attempt; `?` keeps what a failure says.
    let end = client.run_attempt(&attempt, &request).await?;
    Ok(end.data)
}
// [end]

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let url = serve(&["503 Busy\r\nretry-after: 0", "200 OK"])?;
    // [snippet: submit]
    let client = HttpClient::builder().connections_max(4).build()?;
    let wheel = Tidewheel::builder().limit("registry", 2).start();
    let answer = wheel
        .task_with(move |attempt| announce(client.clone(), url.clone(), attempt))
        .retries(3)
        .base_delay(Duration::from_millis(1))
        .limit("registry")
        .submit()
        .await?;
    assert_eq!(answer, Data::Empty);
    // [end]
    Ok(())
}

/// Runs it as a test does.
#[cfg(test)]
pub fn run() -> Result<(), Box<dyn Error>> {
    main()
}

/// A server that gives these answers, one after the other.
fn serve(answers: &'static [&'static str]) -> Result<String, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}/releases", listener.local_addr()?);
    std::thread::spawn(move || -> std::io::Result<()> {
        for answer in answers {
            let (mut stream, _) = listener.accept()?;
            let mut request = Vec::new();
            while !request.ends_with(b"}") {
                let mut bytes = [0; 1024];
                let count = stream.read(&mut bytes)?;
                request.extend_from_slice(&bytes[..count]);
            }
            let rest = "content-length: 0\r\nconnection: close\r\n\r\n";
            write!(stream, "HTTP/1.1 {answer}\r\n{rest}")?;
        }
        Ok(())
    });
    Ok(url)
}
