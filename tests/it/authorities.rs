//! Certificate authorities of private networks.

use std::fs;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::people::People;
use crate::server::serve_tls;
use crate::support::Run;

/// A server with a certificate of an authority of its own, which answers every request with the same file.
pub(crate) struct Private {
    pub(crate) host: String,
    /// The authority's certificate.
    pub(crate) pem: String,
}

impl Private {
    fn new() -> Self {
        Self::serving(r#"{ "version": "1.0.0", "agents": [] }"#)
    }

    pub(crate) fn serving(body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        // Authorities of the same name would be told apart by their keys only.
        params.distinguished_name.push(rcgen::DnType::CommonName, crate::agent::tag());
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = params.self_signed(&key).unwrap();
        let encoded = base64::engine::general_purpose::STANDARD.encode(authority.der());
        let pem = format!("-----BEGIN CERTIFICATE-----\n{encoded}\n-----END CERTIFICATE-----\n");
        let own_key = KeyPair::generate().unwrap();
        let own = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let own = own.signed_by(&own_key, &Issuer::new(params, key)).unwrap();
        let host = serve_tls(&own, &own_key, move |tls| {
            // The client ends the connection where it does not trust the certificate.
            let mut request = [0; 4096];
            let _ = tls.read(&mut request);
            let _ = write!(tls, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            if !request.starts_with(b"HEAD") {
                let _ = tls.write_all(&body);
            }
            let _ = tls.flush();
        });
        Self { host, pem }
    }

    fn list(&self, people: &People, variables: &[(&str, &Path)]) -> Run {
        let index = format!("https://{}/registry.json", self.host);
        let mut command: Command =
            people.command(&["list", "--refresh", "--allow-host", &self.host, "--index", &index]);
        Run::of(command.envs(variables.iter().copied()))
    }
}

#[test]
fn an_authority_that_is_not_trusted_is_named_with_what_helps() {
    let (people, server) = (People::new(), Private::new());
    let other = people.env.path("other.pem");
    fs::write(&other, Private::new().pem).unwrap();
    let named = &[("SSL_CERT_FILE", other.as_path())][..];
    // Wine's verifier fails otherwise: it asks whether the certificate was revoked before it asks who has signed it.
    let of_system: &[&[_]] = if cfg!(windows) { &[] } else { &[&[]] };
    for variables in of_system.iter().copied().chain([named]) {
        let run = server.list(&people, variables);
        assert_eq!(run.code, 3, "{}", run.stderr);
        let told = "cannot be reached safely: no authority that this machine trusts has signed its certificate";
        assert!(run.stderr.contains(told), "{}", run.stderr);
        assert!(
            run.stderr.contains("\nhelp: if your network or the host has an authority of its own"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains("SSL_CERT_FILE"), "{}", run.stderr);
    }
}

#[test]
fn an_authority_in_a_file_or_a_directory_is_trusted() {
    let (people, server) = (People::new(), Private::new());
    let folder = people.env.path("authorities");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("README"), "text").unwrap();
    fs::write(folder.join("own.crt"), format!("Our authority\n{}", server.pem)).unwrap();
    for (name, path) in [("SSL_CERT_FILE", folder.join("own.crt")), ("SSL_CERT_DIR", folder.clone())] {
        let run = server.list(&people, &[(name, &path)]);
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let run = Run::of(people.command(&["doctor"]).env(name, &path));
        assert!(run.stdout.contains(&format!("1 certificate authority of {name}")), "{}", run.stdout);
    }
    // The system's are not used besides.
    assert_eq!(server.list(&people, &[("SSL_CERT_DIR", &folder), ("SSL_CERT_FILE", &folder.join("own.crt"))]).code, 0);
}

#[test]
fn a_file_of_authorities_that_cannot_be_used_is_named() {
    let (people, server) = (People::new(), Private::new());
    people.env.write("empty.pem", "nothing");
    people.publish(&[people.agent("a", "1.0.0")]);
    assert_eq!(people.run(&["install", "a", "--no-check"]).code, 0);
    for (path, problem) in [("missing.pem", "which cannot be read"), ("empty.pem", "which has no certificate")] {
        let path = people.env.path(path);
        let run = server.list(&people, &[("SSL_CERT_FILE", &path)]);
        let shown = path.display().to_string();
        let named = format!("the environment variable SSL_CERT_FILE is `{shown}`, {problem}");
        assert!(run.code == 3 && run.stderr.replace("\\\\", "\\").contains(&named), "{}", run.stderr);
        assert!(run.stderr.ends_with("\nhelp: correct or unset it\n"), "{}", run.stderr);
        // A copy of the index is there, and what was recalled since is not in it.
        let run = Run::of(people.command(&["update", "--refresh"]).env("SSL_CERT_FILE", &path));
        assert!(run.code == 3 && run.stderr.contains("\nhelp: correct or unset it\n"), "{} {}", run.code, run.stderr);
        let run = Run::of(people.command(&["doctor"]).env("SSL_CERT_FILE", &path));
        assert!(run.code == 1 && run.stdout.contains("SSL_CERT_FILE"), "{}", run.stdout);
    }
}
