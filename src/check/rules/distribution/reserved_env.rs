use crate::check::reporter::Reporter;
use crate::check::rule::{Check, Example, Rule, Subject};
use crate::finding::Level;
use crate::manifest::escape_segment;
use crate::text::quote;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/reserved-env",
    level: Level::Error,
    summary: "a manifest sets an environment variable that belongs to the system",
    why: "Variables such as `PATH`, `LD_PRELOAD` or `NODE_OPTIONS` decide what runs and with whose credentials. A manifest \
          must not be able to load code into other programs, redirect traffic or pose as the client's environment.",
    fix: "Use variables of the agent's own, with its name as prefix.",
    fails: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"env\": { \"NODE_OPTIONS\": \"--inspect\" } } }",
    ),
    marks: "\"NODE_OPTIONS\"",
    passes: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"env\": { \"EXAMPLE_DEBUG\": \"1\" } } }",
    ),
    check: Check::Manifest(check),
};

/// Variables of the system, of shells and of the programs that load code.
const NAMES: &[&str] = &[
    "ALL_PROXY", "APPDATA", "BASHOPTS", "BASH_ENV", "BROWSER", "CDPATH", "CI", "CLASSPATH", "COMSPEC",
    "CURL_CA_BUNDLE", "CURL_HOME", "EDITOR", "ELECTRON_RUN_AS_NODE", "ENV", "FTP_PROXY", "GCONV_PATH",
    "GLIBC_TUNABLES", "GRADLE_OPTS", "HOME", "HOMEDRIVE", "HOMEPATH", "HOSTALIASES", "HTTPS_PROXY", "HTTP_PROXY",
    "IFS", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "KUBECONFIG", "LOCALAPPDATA", "LOCPATH", "LOGNAME", "LUA_CPATH",
    "LUA_INIT", "LUA_PATH", "MAVEN_OPTS", "NLSPATH", "NO_PROXY", "OLDPWD", "OPENSSL_CONF", "OPENSSL_MODULES", "PAGER",
    "PATH", "PATHEXT", "PERL5DB", "PERL5LIB", "PERL5OPT", "PERLLIB", "PHPRC", "PHP_INI_SCAN_DIR", "PROGRAMDATA",
    "PROGRAMFILES", "PROMPT_COMMAND", "PS4", "PSMODULEPATH", "PWD", "REQUESTS_CA_BUNDLE", "RES_OPTIONS", "RUBYLIB",
    "RUBYOPT", "R_ENVIRON", "R_PROFILE", "SHELL", "SHELLOPTS", "SSLKEYLOGFILE", "SUDO_ASKPASS", "SYSTEMDRIVE",
    "SYSTEMROOT", "TEMP", "TERM", "TMP", "TMPDIR", "USER", "USERNAME", "USERPROFILE", "VIRTUAL_ENV", "VISUAL",
    "WINDIR", "ZDOTDIR", "_JAVA_OPTIONS",
];

/// Families of such variables.
const PREFIXES: &[&str] = &[
    "ACTIONS_", "AWS_", "AZURE_", "BASH_FUNC_", "BUN_", "CARGO_", "CONDA_", "CORECLR_", "COREPACK_", "COR_", "DENO_",
    "DOCKER_", "DOTNET_", "DYLD_", "GCLOUD_", "GEM_", "GITHUB_", "GIT_", "GOOGLE_", "LD_", "MALLOC_", "NODE_", "NPM_",
    "PIP_", "PYTHON", "RUNNER_", "RUSTC", "RUSTUP_", "SSH_", "SSL_CERT_", "UV_", "XDG_", "YARN_",
];

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    for (release, target) in subject.targets() {
        check_names(&target.env, &release.target_pointer(target, "env"), report);
    }
    for (release, kind, package) in subject.packages() {
        check_names(&package.env, &release.package_pointer(kind, "env"), report);
    }
}

fn check_names(env: &[(String, String)], pointer: &str, report: &mut Reporter<'_>) {
    for (name, _) in env {
        let upper = name.trim().to_ascii_uppercase();
        let message = if NAMES.contains(&upper.as_str()) || PREFIXES.iter().any(|prefix| upper.starts_with(prefix)) {
            format!("{} belongs to the system or to another program", quote(name))
        } else if !is_portable(name) {
            format!("{} is not a name of an environment variable", quote(name))
        } else {
            continue;
        };
        report
            .key(format!("{pointer}/{}", escape_segment(name)), message)
            .help("use a name with the agent's own prefix");
    }
}

fn is_portable(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}
