//! Signatures of deliveries: whether one is by somebody who knows the secret, and is not old.
//!
//! It is pure: secrets and the time, it is told. What a delivery means is in [`super::hooks`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use tidewheel::Timestamp;
use tidewheel_flow::{SignatureForm, Webhook};

use super::hooks::Delivery;

/// Bytes of an id.
const ID_MAX: usize = 255;

/// Signatures of one delivery that are looked at: whoever changes a secret sends two.
const SIGNATURES_MAX: usize = 8;

/// What a secret of the Standard Webhooks begins with; behind it are its bytes in base64.
const SECRET_PREFIX: &str = "whsec_";

/// Compared with where there is no hook, so that this takes as long.
pub(super) const NOBODYS: &str = "a secret that signs nothing";

/// The id of a delivery, if it is signed with one of these secrets and not too old or too new.
pub(super) fn check(
    webhook: &Webhook,
    secrets: &[String],
    delivery: &Delivery,
    now: Timestamp,
) -> Option<String> {
    if webhook.is_insecure {
        return unsigned(delivery, now);
    }
    match webhook.signature {
        SignatureForm::Standard => standard(secrets, delivery, now, webhook.tolerance),
        SignatureForm::Github => github(secrets, delivery),
    }
}

/// Over id, time and body, with dots between them.
fn standard(
    secrets: &[String],
    delivery: &Delivery,
    now: Timestamp,
    tolerance: Duration,
) -> Option<String> {
    let id = delivery.header("webhook-id").unwrap_or_default();
    let time = delivery.header("webhook-timestamp").unwrap_or_default();
    let said = delivery.header("webhook-signature").unwrap_or_default();
    let given = said.split(' ').filter_map(|one| one.strip_prefix("v1,"));
    let given = given.filter_map(|text| BASE64_STANDARD.decode(text).ok());
    let given: Vec<Vec<u8>> = given.take(SIGNATURES_MAX).collect();
    let parts: [&[u8]; 5] = [id.as_bytes(), b".", time.as_bytes(), b".", &delivery.body];
    let is_signed = is_signed(secrets, &parts, &given);
    let is_fresh = time.parse::<i64>().is_ok_and(|seconds| {
        let distance = i128::from(seconds) * 1_000_000 - i128::from(now.as_micros());
        distance.unsigned_abs() <= tolerance.as_micros()
    });
    (is_signed && is_fresh && is_id(id)).then(|| id.to_owned())
}

/// Not signed at all: only whoever is on this machine is believed. Without an id each is another one.
fn unsigned(delivery: &Delivery, now: Timestamp) -> Option<String> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let id = match delivery.header("webhook-id") {
        Some(id) => id.to_owned(),
        None => format!("{:x}-{count:x}", now.as_micros()),
    };
    (delivery.is_from_here && is_id(&id)).then_some(id)
}

/// Over the body. The id is not part of it.
fn github(secrets: &[String], delivery: &Delivery) -> Option<String> {
    let said = delivery.header("x-hub-signature-256").unwrap_or_default();
    let given: Vec<Vec<u8>> = said.strip_prefix("sha256=").and_then(hex).into_iter().collect();
    if !is_signed(secrets, &[&delivery.body], &given) {
        return None;
    }
    let id = ["x-github-delivery", "x-gitea-delivery", "x-forgejo-delivery"];
    let id = id.iter().find_map(|name| delivery.header(name));
    match id {
        Some(id) => is_id(id).then(|| id.to_owned()),
        // What is not told apart is the same.
        None => Some(said.to_owned()),
    }
}

/// Whether one of the signatures is that of one of the secrets. All are looked at, however soon one fits.
fn is_signed(secrets: &[String], parts: &[&[u8]], given: &[Vec<u8>]) -> bool {
    let mut found = false;
    for secret in secrets {
        let mut made = Hmac::<Sha256>::new_from_slice(&key(secret)).expect("keys of any length");
        for part in parts {
            made.update(part);
        }
        for given in given {
            found |= made.clone().verify_slice(given).is_ok();
        }
    }
    found
}

fn key(secret: &str) -> Vec<u8> {
    let encoded = secret.strip_prefix(SECRET_PREFIX);
    let decoded = encoded.and_then(|text| BASE64_STANDARD.decode(text).ok());
    decoded.filter(|key| !key.is_empty()).unwrap_or_else(|| secret.as_bytes().to_vec())
}

fn is_id(id: &str) -> bool {
    (1..=ID_MAX).contains(&id.len()) && id.bytes().all(|it| it.is_ascii_graphic())
}

fn hex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes().chunks(2).map(|pair| {
        let text = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        let is_hex = text.bytes().all(|it| it.is_ascii_hexdigit());
        is_hex.then(|| u8::from_str_radix(text, 16).ok()).flatten()
    });
    digits.collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn hook(signature: SignatureForm) -> Webhook {
        let mut hook = Webhook::new(vec!["hook".to_owned()]);
        hook.signature = signature;
        hook
    }

    fn delivery(headers: &[(&str, &str)], body: &str) -> Delivery {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let (headers, body) = (headers.collect::<BTreeMap<_, _>>(), body.as_bytes().to_vec());
        Delivery { headers, body, is_from_here: false }
    }

    #[test]
    fn what_is_not_signed_counts_only_from_this_machine_and_each_without_an_id_anew() {
        let now = Timestamp::from_micros(1_800_000_000_000_000);
        let check = |headers: &[(&str, &str)], is_from_here| {
            let delivery = Delivery { is_from_here, ..delivery(headers, "{}") };
            check(&Webhook::insecure(), &[], &delivery, now)
        };
        assert_eq!(check(&[], false), None);
        assert_eq!(check(&[("webhook-id", "1")], false), None);
        assert_eq!(check(&[("webhook-id", "1")], true).as_deref(), Some("1"));
        assert_eq!(check(&[("webhook-id", "no id")], true), None);
        let (one, other) = (check(&[], true), check(&[], true));
        assert!(one.is_some() && other.is_some() && one != other);
    }

    /// The example of GitHub's documentation, "Validating webhook deliveries".
    #[test]
    fn the_published_example_of_a_forge_is_signed() {
        let secrets = ["It's a Secret to Everybody".to_owned()];
        let signature = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
        let good = [("x-hub-signature-256", signature), ("x-github-delivery", "72d3162e")];
        let check = |headers: &[(&str, &str)], body: &str, secrets: &[String]| {
            let hook = hook(SignatureForm::Github);
            super::check(&hook, secrets, &delivery(headers, body), Timestamp::UNIX_EPOCH)
        };
        assert_eq!(check(&good, "Hello, World!", &secrets).as_deref(), Some("72d3162e"));
        assert_eq!(check(&good[..1], "Hello, World!", &secrets).as_deref(), Some(signature));
        assert_eq!(check(&good, "Hello, World?", &secrets), None);
        assert_eq!(check(&good, "Hello, World!", &["another".to_owned()]), None);
        let rotated = ["new".to_owned(), secrets[0].clone()];
        assert!(check(&good, "Hello, World!", &rotated).is_some(), "the old one still counts");
        assert_eq!(check(&[], "Hello, World!", &secrets), None);
        let upper = signature.to_uppercase().replace("SHA256", "sha256");
        assert!(check(&[("x-hub-signature-256", &upper)], "Hello, World!", &secrets).is_some());
        for odd in ["sha1=757107", "sha256=", "sha256=7", "sha256=zz", &signature[..70], "+1"] {
            assert_eq!(check(&[("x-hub-signature-256", odd)], "Hello, World!", &secrets), None);
        }
    }

    /// The example of the Standard Webhooks' own libraries.
    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const BODY: &str = r#"{"test": 2432232314}"#;
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_micros(seconds * 1_000_000)
    }

    fn check_standard(change: &[(&str, &str)], body: &str, now: Timestamp) -> Option<String> {
        let mut headers = vec![
            ("webhook-id", ID),
            ("webhook-timestamp", "1614265330"),
            ("webhook-signature", SIGNATURE),
        ];
        for (name, value) in change {
            headers.retain(|(known, _)| known != name);
            headers.push((name, value));
        }
        let secrets = [SECRET.to_owned()];
        check(&hook(SignatureForm::Standard), &secrets, &delivery(&headers, body), now)
    }

    #[test]
    fn the_published_example_of_the_standard_is_signed() {
        let now = at(1_614_265_330);
        assert_eq!(check_standard(&[], BODY, now).as_deref(), Some(ID));
        let several = format!("v2,xyz v1,AAAA {SIGNATURE}");
        assert!(check_standard(&[("webhook-signature", &several)], BODY, now).is_some());
        assert_eq!(check_standard(&[], "{}", now), None);
        assert_eq!(check_standard(&[("webhook-id", "msg_other")], BODY, now), None);
        assert_eq!(check_standard(&[("webhook-timestamp", "1614265331")], BODY, now), None);
        assert_eq!(check_standard(&[("webhook-signature", "")], BODY, now), None);
        let unnamed = SIGNATURE.trim_start_matches("v1,");
        assert_eq!(check_standard(&[("webhook-signature", unnamed)], BODY, now), None);
    }

    #[test]
    fn what_is_older_or_newer_than_the_tolerance_is_not_taken() {
        let sent = 1_614_265_330;
        for (now, is_taken) in [
            (at(sent + 300), true),
            (at(sent - 300), true),
            (at(sent + 301), false),
            (at(sent - 301), false),
            (Timestamp::from_micros(i64::MAX), false),
        ] {
            assert_eq!(check_standard(&[], BODY, now).is_some(), is_taken, "{now}");
        }
    }
}
