//! The closures of an agent that a registry keeps and publishes.
//!
//! ```text
//! { "schema": 1, "id": "agent", "npx": { "package": "example@1.0.0", "packages": "{ \"lockfileVersion\": 3, … }" } }
//! ```
//!
//! In the registry, they are files beside the manifest, in the forms of npm and uv. The discovery document leads to the
//! published file as to an entry, in a view of the name [`CLOSURES`]; those of earlier versions are in one file for each
//! agent, in a view of the name [`EARLIER_CLOSURES`].

use serde::{Deserialize, Serialize};

use super::{check_python, check_uv, read_npm};
use crate::manifest::{NpmSpec, PackageKind, Pin};
use crate::text::quote;

/// The name of the view whose entries are these files.
pub const CLOSURES: &str = "closures";

/// The name of the view whose entries are the closures of an agent's earlier versions.
pub const EARLIER_CLOSURES: &str = "earlier-closures";

/// The largest file with closures of earlier versions that is published, in bytes; the oldest are left out of it.
const EARLIER_LIMIT: usize = 4 << 20;

/// The largest closure that is read, in bytes.
pub const CLOSURE_LIMIT: u64 = 4 << 20;

/// What the first line of a closure for uv begins with; the version of Python follows that it is for.
const PYTHON: &str = "# python ";

/// The file of a closure beside the manifest.
#[must_use]
pub fn file_name(kind: PackageKind) -> &'static str {
    match kind {
        PackageKind::Npx => "package-lock.json",
        PackageKind::Uvx => "requirements.txt",
    }
}

/// The closures of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closures {
    schema: u32,
    /// The agent.
    pub id: String,
    /// That of its npm package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub npx: Option<PublishedClosure>,
    /// That of its Python package.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uvx: Option<PublishedClosure>,
}

/// The closures that a registry has published of an agent before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EarlierClosures {
    schema: u32,
    /// The agent.
    pub id: String,
    /// One for each earlier version that had some, the newest first.
    pub closures: Vec<Closures>,
}

/// A closure, and what it is of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublishedClosure {
    /// The package, as the manifest names it.
    pub package: String,
    /// All packages with their digests, as npm (`package-lock.json`) or uv (`requirements.txt` with hashes) reads them.
    pub packages: String,
    /// The dependencies whose install scripts the registry approves, as `name@1.0.0 sha512-…`. Without it, npm decides, as for
    /// closures of registries that approve none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_scripts: Option<Vec<String>>,
}

/// Why closures cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct WrongClosure(String);

impl PublishedClosure {
    /// Takes the text of a file beside a manifest, which names a package.
    ///
    /// # Errors
    /// [`WrongClosure`] when the text is of another package or version, or names anything but versions with digests.
    pub fn new(kind: PackageKind, package: &str, packages: &str) -> Result<Self, WrongClosure> {
        let new = Self { package: package.to_owned(), packages: packages.to_owned(), allow_scripts: None };
        new.check(kind)?;
        Ok(new)
    }

    fn check(&self, kind: PackageKind) -> Result<(), WrongClosure> {
        let is_own = match kind {
            PackageKind::Npx => {
                let lock = read_npm(&self.packages).map_err(WrongClosure)?;
                let spec = self.package.parse::<NpmSpec>().ok();
                spec.is_some_and(|spec| lock.version(&spec.name) == exact(&spec.pin))
            }
            PackageKind::Uvx => {
                check_uv(&self.packages).map_err(WrongClosure)?;
                let python =
                    self.python().ok_or_else(|| WrongClosure(format!("its first line is not `{PYTHON}VERSION`")))?;
                check_python(python).map_err(WrongClosure)?;
                super::has_requirement(&self.packages, &self.package)
            }
        };
        if is_own { Ok(()) } else { Err(WrongClosure(format!("it is not of {}", quote(&self.package)))) }
    }

    /// The version of Python that it is for.
    #[must_use]
    pub fn python(&self) -> Option<&str> {
        self.packages.lines().next()?.strip_prefix(PYTHON).map(str::trim)
    }
}

fn exact(pin: &Pin) -> Option<&str> {
    if let Pin::Exact(version) = pin { Some(version) } else { None }
}

/// The text of a closure for uv, for a version of Python.
#[must_use]
pub fn with_python(packages: &str, python: &str) -> String {
    format!("{PYTHON}{python}\n{packages}")
}

impl Closures {
    /// None yet.
    #[must_use]
    pub fn new(id: &str) -> Self {
        Self { schema: 1, id: id.to_owned(), ..Self::default() }
    }

    /// The closure of a package, as a manifest names it.
    #[must_use]
    pub fn find(&self, kind: PackageKind, package: &str) -> Option<&PublishedClosure> {
        let one = match kind {
            PackageKind::Npx => &self.npx,
            PackageKind::Uvx => &self.uvx,
        };
        one.as_ref().filter(|one| one.package == package)
    }

    /// Sets the closure of a kind of package.
    pub fn insert(&mut self, kind: PackageKind, closure: PublishedClosure) {
        match kind {
            PackageKind::Npx => self.npx = Some(closure),
            PackageKind::Uvx => self.uvx = Some(closure),
        }
    }

    /// As they are published; `None` if there are none.
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        (self.npx.is_some() || self.uvx.is_some()).then(|| crate::json::to_string(self))
    }

    /// Parses the closures of an agent.
    ///
    /// # Errors
    /// [`WrongClosure`].
    pub fn parse(text: &[u8], id: &str) -> Result<Self, WrongClosure> {
        let found: Self = serde_json::from_slice(text).map_err(|error| WrongClosure(error.to_string()))?;
        found.check(id)?;
        Ok(found)
    }

    fn check(&self, id: &str) -> Result<(), WrongClosure> {
        check_head(self.schema, &self.id, id)?;
        for (kind, closure) in [(PackageKind::Npx, &self.npx), (PackageKind::Uvx, &self.uvx)] {
            closure.as_ref().map_or(Ok(()), |closure| closure.check(kind))?;
        }
        Ok(())
    }

    /// Whether all packages of another one have a closure here.
    fn covers(&self, other: &Self) -> bool {
        let has = |own: &Option<PublishedClosure>, other: &Option<PublishedClosure>| {
            let package = |one: &PublishedClosure| one.package.clone();
            other.is_none() || own.as_ref().map(package) == other.as_ref().map(package)
        };
        has(&self.npx, &other.npx) && has(&self.uvx, &other.uvx)
    }
}

fn check_head(schema: u32, found: &str, id: &str) -> Result<(), WrongClosure> {
    let is_right = schema == 1 && found == id;
    if is_right { Ok(()) } else { Err(WrongClosure(format!("it has schema {schema} and is of {}", quote(found)))) }
}

impl EarlierClosures {
    /// Those of earlier versions, the newest first, without those whose packages have others, and without those of the
    /// packages that have one `now`.
    #[must_use]
    pub fn new(id: &str, now: Option<&Closures>, earlier: Vec<Closures>) -> Self {
        let mut closures: Vec<Closures> = Vec::new();
        for one in earlier {
            if !now.into_iter().chain(&closures).any(|newer| newer.covers(&one)) {
                closures.push(one);
            }
        }
        Self { schema: 1, id: id.to_owned(), closures }
    }

    /// The closure of a package, as the manifest named it.
    #[must_use]
    pub fn find(&self, kind: PackageKind, package: &str) -> Option<&PublishedClosure> {
        self.closures.iter().find_map(|one| one.find(kind, package))
    }

    /// As they are published; `None` if there are none.
    #[must_use]
    pub fn to_text(&self) -> Option<String> {
        let mut shown = self.clone();
        while !shown.closures.is_empty() {
            let text = crate::json::to_string(&shown);
            if text.len() <= EARLIER_LIMIT {
                return Some(text);
            }
            shown.closures.pop();
        }
        None
    }

    /// Parses those of an agent.
    ///
    /// # Errors
    /// [`WrongClosure`].
    pub fn parse(text: &[u8], id: &str) -> Result<Self, WrongClosure> {
        let found: Self = serde_json::from_slice(text).map_err(|error| WrongClosure(error.to_string()))?;
        check_head(found.schema, &found.id, id)?;
        found.closures.iter().try_for_each(|one| one.check(id))?;
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npm(name: &str, version: &str) -> String {
        let digest = format!("sha512-{}==", "A".repeat(86));
        format!(
            r#"{{ "packages": {{ "node_modules/{name}": {{ "version": "{version}", "integrity": "{digest}" }} }} }}"#
        )
    }

    #[test]
    fn a_closure_belongs_to_one_version_of_one_package() {
        let python = with_python(&format!("My_Tool==1.0.0 \\\n    --hash=sha256:{}\n", "a0".repeat(32)), "3.13");
        for (kind, package, text, problem) in [
            (PackageKind::Npx, "@s/p@1.0.0", npm("@s/p", "1.0.0"), None),
            (PackageKind::Npx, "@s/p@1.0.1", npm("@s/p", "1.0.0"), Some("it is not of `@s/p@1.0.1`")),
            (PackageKind::Npx, "q@1.0.0", npm("p", "1.0.0"), Some("it is not of")),
            (
                PackageKind::Npx,
                "p@1.0.0",
                npm("p", "1.0.0").replace("{ \"version", "{ \"name\": \"p\", \"version"),
                None,
            ),
            (
                PackageKind::Npx,
                "p@1.0.0",
                npm("p", "1.0.0").replace("{ \"version", "{ \"name\": \"evil\", \"version"),
                Some("it is not of"),
            ),
            (PackageKind::Npx, "p", npm("p", "1.0.0"), Some("it is not of")),
            (PackageKind::Npx, "p@1.0.0", "{}".to_owned(), Some("cannot be read")),
            (PackageKind::Npx, "p@1.0.0", npm("p", "1.0.0").replace("sha512", "sha1"), Some("not one SHA-512")),
            (PackageKind::Uvx, "my-tool==1.0.0", python.clone(), None),
            (PackageKind::Uvx, "my-tool[acp]==1.0.0", python.clone(), None),
            (PackageKind::Uvx, "my-tool==1.0.1", python.clone(), Some("it is not of")),
            (PackageKind::Uvx, "my-tool==1.0", python.clone(), None),
            (
                PackageKind::Uvx,
                "my-tool==1.0.0",
                format!("{python}{}", python.replace("1.0.0", "2.0.0")),
                Some("it is not of"),
            ),
            (PackageKind::Uvx, "my-tool==1.0.0", python.replace("# python 3.13\n", ""), Some("first line")),
            (PackageKind::Uvx, "my-tool==1.0.0", python.replace("3.13", "/bin/sh"), Some("not a version of Python")),
            (PackageKind::Uvx, "my-tool==1.0.0", format!("{python}--index-url x"), Some("is not `NAME==VERSION")),
        ] {
            let found = PublishedClosure::new(kind, package, &text).map_err(|error| error.to_string());
            match problem {
                None => assert!(found.is_ok(), "{found:?}"),
                Some(problem) => assert!(found.as_ref().is_err_and(|error| error.contains(problem)), "{found:?}"),
            }
        }
    }

    #[test]
    fn published_closures_come_back_and_are_checked_again() {
        let mut closures = Closures::new("a");
        assert_eq!(closures.to_text(), None);
        let closure = PublishedClosure::new(PackageKind::Npx, "p@1.0.0", &npm("p", "1.0.0")).unwrap();
        closures.insert(PackageKind::Npx, closure.clone());
        let text = closures.to_text().unwrap();
        let back = Closures::parse(text.as_bytes(), "a").unwrap();
        assert_eq!((&back, back.find(PackageKind::Npx, "p@1.0.0")), (&closures, Some(&closure)));
        assert_eq!((back.find(PackageKind::Npx, "p@1.0.1"), back.find(PackageKind::Uvx, "p@1.0.0")), (None, None));
        for broken in ["", "{}", &text.replace("\"schema\": 1", "\"schema\": 2"), &text.replace("sha512", "sha1")] {
            assert!(Closures::parse(broken.as_bytes(), "a").is_err(), "{broken}");
        }
        assert!(Closures::parse(text.as_bytes(), "b").is_err());
        for (approved, is_read) in [
            ("[]", true),
            ("[\"q@1.0.0 sha512-x\"]", true),
            ("null", true),
            ("7", false),
            ("[7]", false),
            ("{}", false),
            ("[\"a\"], \"allow_scripts\": [\"b\"]", false),
        ] {
            let text = text.replace("\"packages\":", &format!("\"allow_scripts\": {approved}, \"packages\":"));
            assert_eq!(Closures::parse(text.as_bytes(), "a").is_ok(), is_read, "{approved}");
        }
    }

    #[test]
    fn earlier_closures_are_of_other_packages_and_fit_into_a_file() {
        let closures = |version: &str, padding: usize| {
            let mut closures = Closures::new("a");
            let list = npm("p", version).replacen('{', &format!("{{ \"name\": \"{}\",", "x".repeat(padding)), 1);
            let closure = PublishedClosure::new(PackageKind::Npx, &format!("p@{version}"), &list).unwrap();
            closures.insert(PackageKind::Npx, closure);
            closures
        };
        let now = closures("3.0.0", 0);
        let all = ["3.0.0", "2.0.0", "2.0.0", "1.0.0"].map(|version| closures(version, 0));
        let earlier = EarlierClosures::new("a", Some(&now), all.to_vec());
        let back = EarlierClosures::parse(earlier.to_text().unwrap().as_bytes(), "a").unwrap();
        assert_eq!(back.closures, [closures("2.0.0", 0), closures("1.0.0", 0)]);
        assert_eq!(back.find(PackageKind::Npx, "p@1.0.0"), back.closures[1].npx.as_ref());
        assert_eq!(back.find(PackageKind::Npx, "p@3.0.0"), None);
        assert!(EarlierClosures::parse(earlier.to_text().unwrap().as_bytes(), "b").is_err());
        let wrong = earlier.to_text().unwrap().replacen("sha512", "sha1", 1);
        assert!(EarlierClosures::parse(wrong.as_bytes(), "a").is_err());
        // The oldest do not fit.
        let large = ["2.0.0", "1.0.0"].map(|version| closures(version, EARLIER_LIMIT * 2 / 3));
        let text = EarlierClosures::new("a", Some(&now), large.to_vec()).to_text().unwrap();
        assert_eq!(EarlierClosures::parse(text.as_bytes(), "a").unwrap().closures.len(), 1);
        assert_eq!(EarlierClosures::new("a", Some(&now), vec![now.clone()]).to_text(), None);
    }
}
