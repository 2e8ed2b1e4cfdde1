//! Answers of registries, as they give them, read.
//!
//! The digests are those of `printf hello`, made by sha256sum, sha1sum and openssl.

use super::*;

const SHA256: &str = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const SHA1: &str = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d";
const SHA512: &str = "9b71d224bd62f3785d96d46ad3ea3d73319bfbc2890caadae2dff72519673ca72323c3d99ba5c11d7c7acc6e14b8c5da0c4663475c2e5c3adef46f73bcdec043";
const INTEGRITY: &str = "sha512-m3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw==";

fn versions(listing: &Listing) -> Vec<(&str, bool, usize)> {
    let told = listing.versions.iter();
    told.map(|(version, it)| (version.as_str(), it.is_yanked, it.files.len())).collect()
}

#[test]
fn the_file_of_a_crate_is_where_cargo_looks_for_it() {
    for (name, path) in [
        ("a", "1/a"),
        ("ab", "2/ab"),
        ("abc", "3/a/abc"),
        ("Serde_JSON", "se/rd/serde_json"),
        ("häß", "h\u{e4}/__/häß"),
    ] {
        if name.is_ascii() {
            assert_eq!(index_path(name), path);
        } else {
            // Nothing is there, and nobody panics.
            assert!(index_path(name).ends_with(name));
        }
    }
}

#[test]
fn versions_of_a_crate_are_read_line_by_line() {
    let text = format!(
        "{{\"name\":\"a\",\"vers\":\"1.0.0\",\"deps\":[],\"cksum\":\"{SHA256}\",\"features\":{{}},\"yanked\":false}}\n\
         {{\"name\":\"A\",\"vers\":\"1.1.0+metadata\",\"deps\":[],\"cksum\":\"{SHA256}\",\"yanked\":true,\"v\":2}}\n\n"
    );
    let listing = read_index("a", &text).unwrap();
    assert_eq!(versions(&listing), [("1.0.0", false, 1), ("1.1.0", true, 1)]);
    let digest = &listing.versions["1.0.0"].files[0].digests[0];
    assert_eq!(digest.to_string(), format!("sha256:{SHA256}"));
    assert!(read_index("a", "").unwrap().is_new());
    for (text, why) in [
        ("<html>", "expected value"),
        (
            &*format!("{{\"name\":\"b\",\"vers\":\"1.0.0\",\"cksum\":\"{SHA256}\"}}"),
            "it is about `b`",
        ),
        ("{\"name\":\"a\",\"vers\":\"1.0.0\",\"cksum\":\"12\"}", "`12` is no checksum"),
    ] {
        let error = read_index("a", text).unwrap_err();
        assert!(error.why.contains(why), "{error}");
    }
}

#[test]
fn versions_of_an_npm_package_have_all_their_digests() {
    let text = format!(
        r#"{{ "name": "@us/a", "dist-tags": {{ "latest": "1.0.0" }}, "versions": {{
            "1.0.0": {{ "dist": {{ "shasum": "{SHA1}", "integrity": "{INTEGRITY}" }} }},
            "0.9.0": {{ "dist": {{ "shasum": "{SHA1}" }} }},
            "0.8.0": {{ }} }} }}"#
    );
    let listing = read_document("@us/a", &text).unwrap();
    assert_eq!(versions(&listing), [("0.8.0", false, 1), ("0.9.0", false, 1), ("1.0.0", false, 1)]);
    let told = |version: &str| -> Vec<String> {
        listing.versions[version].files[0].digests.iter().map(ToString::to_string).collect()
    };
    assert_eq!(told("1.0.0"), [format!("sha512:{SHA512}"), format!("sha1:{SHA1}")]);
    assert_eq!(told("0.9.0"), [format!("sha1:{SHA1}")]);
    assert_eq!(told("0.8.0"), [""; 0]);
    assert_eq!(document_path("@us/a"), "@us%2fa");
    assert!(read_document("a", r#"{ "name": "a", "time": {} }"#).unwrap().is_new());
    assert!(read_document("a", &text).unwrap_err().why.contains("it is about `@us/a`"));
}

#[test]
fn files_of_a_python_project_count_for_the_version_in_their_names() {
    let file = |name: &str, yanked: &str| {
        format!(
            r#"{{ "filename": "{name}", "hashes": {{ "sha256": "{SHA256}" }}, "yanked": {yanked} }}"#
        )
    };
    let files = [
        file("a_b-1.0-py3-none-any.whl", "false"),
        file("a-b-1.0.tar.gz", "\"broken\""),
        file("a_b-1.1.tar.gz", "\"\""),
        file("a_b-2.0rc1-cp39-abi3-manylinux_2_17_x86_64.whl", "false"),
        file("other-3.0.tar.gz", "false"),
        file("a_b.exe", "false"),
    ];
    let text = format!(r#"{{ "name": "a-b", "files": [{}] }}"#, files.join(","));
    let listing = read_project("A.b", &text).unwrap();
    assert_eq!(versions(&listing), [("1.0", false, 2), ("1.1", true, 1), ("2.0rc1", false, 1)]);
    assert_eq!(project_path("A.b"), "a-b/");
    assert!(read_project("a", r#"{ "name": "a", "files": [] }"#).unwrap().is_new());
    assert!(read_project("a", r#"{ "name": "a" }"#).is_err());
}

#[test]
fn an_index_that_is_a_page_says_the_same() {
    let page = format!(
        "<!DOCTYPE html>\n<html><body><a href=\"../..\">up</a>\n\
         <a href=\"a_b-1.0.tar.gz#sha256={SHA256}\" data-yanked=\"\">a_b-1.0.tar.gz</a>\n\
         <a href=\"a_b-1.0-py3-none-any.whl#sha256={SHA256}\">a_b-1.0-py3-none-any.whl</a>\n\
         <a href=\"a_b-0.9.tar.gz#md5=00\">a_b-0.9.tar.gz</a></body></html>"
    );
    let listing = read_project("A.b", &page).unwrap();
    assert_eq!(versions(&listing), [("0.9", false, 1), ("1.0", false, 2)]);
    let digests = |version: &str| listing.versions[version].files[0].digests.clone();
    assert_eq!(digests("1.0"), [Digest::from_hex(Algorithm::Sha256, SHA256).unwrap()]);
    assert_eq!(digests("0.9"), [], "what cannot be compared is not taken for equal");
    // Whoever answers for a registry that is away says that all is well, too.
    let away = "<!DOCTYPE html><html><body><a href=\"/status\">Back in a minute</a></body></html>";
    assert!(read_project("a", away).unwrap_err().why.contains("without a file"));
}

#[test]
fn what_is_no_digest_is_not_taken_for_one() {
    assert_eq!(
        Digest::from_hex(Algorithm::Sha256, &SHA256.to_uppercase()),
        Digest::from_hex(Algorithm::Sha256, SHA256)
    );
    for text in ["", "zz", &SHA256[1..], &format!("{SHA256}00")] {
        assert_eq!(Digest::from_hex(Algorithm::Sha256, text), None, "{text}");
    }
}

#[test]
fn crates_are_fetched_from_where_their_index_says() {
    let digest = Digest::from_hex(Algorithm::Sha256, SHA256).unwrap();
    for (told, url) in [
        ("https://a.example/crates", "https://a.example/crates/Core/1.0.0+3/download"),
        ("https://a.example/{crate}-{version}.crate", "https://a.example/Core-1.0.0+3.crate"),
        ("https://a.example/{prefix}/{lowerprefix}/", "https://a.example/Co/re/co/re/"),
    ] {
        assert_eq!(download_url(told, "Core", "1.0.0+3", &digest), url);
    }
    let by_digest = download_url("https://a.example/{sha256-checksum}", "a", "1.0.0", &digest);
    assert_eq!(by_digest, format!("https://a.example/{SHA256}"));
}
