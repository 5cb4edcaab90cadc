use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::check::rules::prelude::*;
use acp_registry_plan::manifest::escape_segment;
use acp_registry_plan::text::name_words;

pub(crate) static RULE: Rule = Rule {
    name: "distribution/secret",
    level: Level::Error,
    summary: "a manifest holds a key or a password",
    why: "A published index is read by everyone: a key in a variable, an argument or an address can be used by all who \
          read it, and stays in copies after it was removed.",
    fix: "Remove the key, revoke it where it was issued, and let users set the variable. Placeholders such as \
          `${EXAMPLE_API_KEY}` or `<your key>` are not reported.",
    fails: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"env\": { \"EXAMPLE_API_KEY\": \"5f2c91d07be84a36\" } } }",
    ),
    marks: "\"5f2c91d07be84a36\"",
    passes: Example::Manifest(
        "\"distribution\": { \"npx\": { \"package\": \"example@1.0.0\", \"env\": { \"EXAMPLE_API_KEY\": \"${EXAMPLE_API_KEY}\" } } }",
    ),
    check: CheckFn::Manifest(check),
};

/// The beginnings of keys that services publish so that programs find leaked ones, with whose they are; ordered by the first byte.
const FORMS: &[(&str, &str)] = &[
    ("ABIA", "AWS"),
    ("ACCA", "AWS"),
    ("AKIA", "AWS"),
    ("ASIA", "AWS"),
    ("AIza", "Google"),
    ("ATATT3", "Atlassian"),
    ("AGE-SECRET-KEY-1", "age"),
    ("GOCSPX-", "Google"),
    ("PMAK-", "Postman"),
    ("SG.", "SendGrid"),
    ("csb_v1_", "CodeSandbox"),
    ("dapi", "Databricks"),
    ("dckr_oat_", "Docker"),
    ("dckr_pat_", "Docker"),
    ("doo_v1_", "DigitalOcean"),
    ("dop_v1_", "DigitalOcean"),
    ("dp.pt.", "Doppler"),
    ("figd_", "Figma"),
    ("fw_", "Fireworks"),
    ("gho_", "GitHub"),
    ("ghp_", "GitHub"),
    ("ghr_", "GitHub"),
    ("ghs_", "GitHub"),
    ("ghu_", "GitHub"),
    ("github_pat_", "GitHub"),
    ("glc_", "Grafana"),
    ("gldt-", "GitLab"),
    ("glcbt-", "GitLab"),
    ("glft-", "GitLab"),
    ("glpat-", "GitLab"),
    ("glptt-", "GitLab"),
    ("glrt-", "GitLab"),
    ("glsa_", "Grafana"),
    ("glsoat-", "GitLab"),
    ("gsk_", "Groq"),
    ("hf_", "Hugging Face"),
    ("hvb.", "Vault"),
    ("hvs.", "Vault"),
    ("lin_api_", "Linear"),
    ("lsv2_pt_", "LangSmith"),
    ("lsv2_sk_", "LangSmith"),
    ("npm_", "npm"),
    ("ntn_", "Notion"),
    ("nvapi-", "NVIDIA"),
    ("pcsk_", "Pinecone"),
    ("pplx-", "Perplexity"),
    ("pypi-AgE", "PyPI"),
    ("r8_", "Replicate"),
    ("rk_live_", "Stripe"),
    ("rk_test_", "Stripe"),
    ("rpa_", "RunPod"),
    ("sbp_", "Supabase"),
    ("shpat_", "Shopify"),
    ("shpss_", "Shopify"),
    ("sk-", "a model service"),
    ("sk_", "a service"),
    ("sntrys_", "Sentry"),
    ("sntryu_", "Sentry"),
    ("tgp_v1_", "Together"),
    ("tskey-", "Tailscale"),
    ("vcp_", "Vercel"),
    ("whsec_", "Stripe"),
    ("xai-", "xAI"),
    ("xapp-", "Slack"),
    ("xoxa-", "Slack"),
    ("xoxb-", "Slack"),
    ("xoxe-", "Slack"),
    ("xoxe.", "Slack"),
    ("xoxp-", "Slack"),
    ("xoxr-", "Slack"),
    ("xoxs-", "Slack"),
    ("ya29.", "Google"),
];

/// The least number of letters and digits in a row in a key behind a short prefix: words in names are shorter.
const RUN: usize = 16;

/// The same behind a longer prefix, which says more.
const SHORT_RUN: usize = 10;

/// The least number of bytes in a secret.
const SHORTEST: usize = 4;

/// The last words of names under which secrets stand, in upper case.
const NAMES: &[&str] = &["KEY", "PASSPHRASE", "PASSWD", "PASSWORD", "PWD", "SECRET", "TOKEN"];

/// Each of these names, and of those that end like them, has one of these parts.
const PARTS: [&str; 5] = ["key", "pass", "pwd", "secret", "token"];

/// Words that end like that without a separator.
const JOINED: &[&str] = &["ACCESSKEY", "APIKEY", "PASSWD", "PASSWORD", "PRIVATEKEY", "SECRET", "SECRETKEY", "TOKEN"];

/// Words before `KEY` in the names of keys that everyone may read, in upper case.
const PUBLIC: &[&str] = &["ANON", "PUBLIC", "PUBLISHABLE", "SITE"];

/// Values that choose where a secret comes from, or whether there is one, in lower case.
const SWITCHES: &[&str] = &[
    "ask", "auto", "default", "disabled", "enabled", "env", "false", "keychain", "keyring", "local", "no", "none",
    "null", "off", "on", "optional", "prompt", "required", "stdin", "true", "unset", "unused", "yes",
];

/// Parts of values that stand for a secret, in lower case.
const PLACEHOLDERS: &[&str] = &[
    "change-me", "change_me", "changeme", "dummy", "example", "fake", "from-env", "insert", "not-needed",
    "placeholder", "redacted", "replace", "todo", "your",
];

fn check(subject: &Subject<'_>, report: &mut Reporter<'_>) {
    let mut found = Vec::new();
    look(subject.value(), "", None, &mut found);
    for (place, message) in found {
        report.value(place, message).help("remove it, revoke it where it was issued, and let users set it");
    }
}

/// Where a value is: its last step, and where its parent is. Most values are only passed through.
struct Step<'a> {
    parent: Option<&'a Step<'a>>,
    segment: Segment<'a>,
}

enum Segment<'a> {
    Key(&'a str),
    Item(usize),
}

impl Step<'_> {
    fn pointer(&self) -> String {
        let parent = self.parent.map_or_else(String::new, Step::pointer);
        match self.segment {
            Segment::Key(key) => format!("{parent}/{}", escape_segment(key)),
            Segment::Item(at) => format!("{parent}/{at}"),
        }
    }
}

/// Looks through all texts of a value: `name` is that of the member, or the option before an argument.
fn look(value: &Value, name: &str, place: Option<&Step<'_>>, found: &mut Vec<(String, String)>) {
    match value {
        Value::String(text) => {
            found.extend(secret(name, text).map(|message| (place.map(Step::pointer).unwrap_or_default(), message)));
        }
        Value::Object(members) => {
            for (key, value) in members {
                look(value, key, Some(&Step { parent: place, segment: Segment::Key(key) }), found);
            }
        }
        Value::Array(items) => {
            let mut option = "";
            for (at, item) in items.iter().enumerate() {
                let text = item.as_str().unwrap_or_default();
                let name = if text.starts_with('-') { "" } else { option };
                look(item, name, Some(&Step { parent: place, segment: Segment::Item(at) }), found);
                option = if text.starts_with('-') { text } else { "" };
            }
        }
        _ => {}
    }
}

/// What a text holds that must not be published. `name` is the name that it stands under, if any.
fn secret(name: &str, text: &str) -> Option<String> {
    if text.len() < SHORTEST {
        return None;
    }
    let mut shape = TextShape::new(text);
    let is_encoded = shape.has_percent && text.contains("://");
    let decoded = is_encoded.then(|| percent_decode_str(text).decode_utf8_lossy());
    if let Some(decoded) = &decoded {
        shape = TextShape::new(decoded);
    }
    let text = decoded.as_deref().unwrap_or(text);
    if let Some(whose) = known(text, &shape) {
        return Some(format!("holds what has the form of {whose}"));
    }
    if is_named(name, text) {
        return Some(format!("the value of {} looks like a secret", quote(name)));
    }
    let is_scheme = |head: &str| head.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
    let scheme = text.split_once(':').filter(|(head, rest)| rest.starts_with("//") && is_scheme(head));
    // Most texts have no such words: descriptions, and addresses without a user, a port or a query.
    let has_words = shape.marks > usize::from(scheme.is_some());
    let words = || text.split(|c: char| c.is_whitespace() || ['?', '&', '#', ';', ',', '"', '\''].contains(&c));
    for word in has_words.then(words).into_iter().flatten() {
        if let Some((head, rest)) = word.split_once("://") {
            let authority = rest.split(['/', '?']).next().unwrap_or_default();
            let Some((user, _)) = authority.rsplit_once('@') else { continue };
            // The user of a DSN only says which project takes reports.
            let label = head.rsplit_once('=').map_or(name, |(label, _)| label);
            let is_dsn = name_words(label).last().is_some_and(|word| word == "dsn");
            let is_password = |password: &str| password.len() >= SHORTEST && !is_placeholder(password);
            if user.split_once(':').map_or(!is_dsn && is_random(user), |(_, password)| is_password(password)) {
                return Some("holds an address with a password".to_owned());
            }
        } else if let Some((name, value)) = word.split_once('=').or_else(|| word.split_once(':'))
            && is_named(name, value)
        {
            return Some(format!("the value of {} looks like a secret", quote(name)));
        }
    }
    if !shape.has_space {
        return None;
    }
    let is_scheme_of_http = |word: &str| {
        let end = |scheme: &str| word.get(word.len().saturating_sub(scheme.len())..);
        ["bearer", "basic", "token"]
            .iter()
            .any(|scheme| end(scheme).is_some_and(|end| end.eq_ignore_ascii_case(scheme)))
    };
    let mut pieces = text.split(' ').filter(|piece| !piece.is_empty());
    let mut last = pieces.next()?;
    pieces
        .any(|word| {
            let head = std::mem::replace(&mut last, word);
            is_scheme_of_http(head)
                && word.split_whitespace().next().is_some_and(|value| is_random(value) && !is_placeholder(value))
        })
        .then(|| "holds a credential of HTTP".to_owned())
}

/// What one pass over a text tells, so that most texts need no other.
#[derive(Default)]
struct TextShape {
    /// The number of letters and digits in the longest row of them.
    longest_run: usize,
    hyphens: usize,
    /// How often it has what stands between a name and a value, or behind a user: `:`, `=` and `@`.
    marks: usize,
    has_space: bool,
    has_percent: bool,
}

impl TextShape {
    fn new(text: &str) -> Self {
        let (mut shape, mut run) = (Self::default(), 0);
        for byte in text.bytes() {
            if byte.is_ascii_alphanumeric() {
                run += 1;
                continue;
            }
            shape.longest_run = shape.longest_run.max(std::mem::take(&mut run));
            match byte {
                b'-' => shape.hyphens += 1,
                b':' | b'=' | b'@' => shape.marks += 1,
                b' ' => shape.has_space = true,
                b'%' => shape.has_percent = true,
                _ => {}
            }
        }
        shape.longest_run = shape.longest_run.max(run);
        shape
    }
}

/// Whose key a text holds, by its form.
fn known(text: &str, shape: &TextShape) -> Option<String> {
    if text.len() <= RUN {
        return None;
    }
    let is_end = |rest: &str| rest.starts_with("-----") || rest.starts_with(" BLOCK-----");
    // Few texts have so many hyphens.
    if shape.hyphens >= "-----".len() && text.split("PRIVATE KEY").skip(1).any(is_end) {
        return Some("a private key".to_owned());
    }
    // Every key has such a run, and so has the head of a token.
    if shape.longest_run < SHORT_RUN {
        return None;
    }
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let words = text.as_bytes().split(|byte| !is_part(byte)).filter(|word| word.len() > RUN);
    let form = |word: &str| {
        // Options begin with hyphens.
        let word = word.trim_start_matches('-');
        let is_jwt = word.starts_with("eyJ") && word.split('.').filter(|part| part.len() >= 10).count() >= 2;
        let prefix = || {
            let first = word.bytes().next();
            let forms = &FORMS[FORMS.partition_point(|(prefix, _)| prefix.bytes().next() < first)..];
            let mut forms = forms.iter().take_while(|(prefix, _)| prefix.bytes().next() == first);
            forms.find(|(prefix, _)| word.strip_prefix(prefix).is_some_and(|rest| is_key(prefix, rest)))
        };
        if is_jwt {
            Some("a JSON web token".to_owned())
        } else {
            prefix().map(|(_, whose)| format!("a key of {whose}"))
        }
    };
    words.filter_map(|word| str::from_utf8(word).ok()).find_map(form).or_else(|| webhook(text))
}

/// Whether the text behind a prefix makes it a key.
fn is_key(prefix: &str, rest: &str) -> bool {
    let is_filler = rest.chars().all(|c| "xX*.-_0".contains(c));
    if ["ABIA", "ACCA", "AKIA", "ASIA"].contains(&prefix) {
        return rest.len() == RUN && rest.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    }
    let least = if prefix.len() > 4 || prefix.starts_with("gh") { SHORT_RUN } else { RUN };
    !is_filler && longest_run(rest) >= least
}

/// The address of a webhook, which is a key.
fn webhook(text: &str) -> Option<String> {
    // Searching for three words costs more than looking at the parts of an address.
    let begins =
        |part: &str| part == "api" || ["hooks.slack.com", "api.telegram.org"].iter().any(|host| part.ends_with(host));
    if !text.split('/').any(begins) {
        return None;
    }
    let path = ["hooks.slack.com/services/", "/api/webhooks/", "api.telegram.org/bot"]
        .iter()
        .find_map(|address| text.split_once(address).map(|(_, path)| path))?;
    (longest_run(path) >= RUN && !is_placeholder(path)).then(|| "the address of a webhook".to_owned())
}

fn longest_run(text: &str) -> usize {
    TextShape::new(text).longest_run
}

/// Whether a value is a secret by the name that it stands under.
fn is_named(name: &str, value: &str) -> bool {
    let name_bytes = name.as_bytes();
    let has_part = |(at, byte): (usize, &u8)| {
        let begins = |part: &&&str| part.as_bytes()[0] == byte.to_ascii_lowercase();
        PARTS.iter().filter(begins).any(|part| {
            name_bytes.get(at..at + part.len()).is_some_and(|found| found.eq_ignore_ascii_case(part.as_bytes()))
        })
    };
    if !name_bytes.iter().enumerate().any(has_part) {
        return false;
    }
    let words: Vec<String> = name_words(name).iter().map(|word| word.to_ascii_uppercase()).collect();
    let is_name = |word: &String| NAMES.contains(&word.as_str()) || JOINED.iter().any(|end| word.ends_with(end));
    let Some(at) = words
        .iter()
        .rposition(|word| is_name(word) || word.strip_suffix('S').is_some_and(|one| is_name(&one.to_owned())))
    else {
        return false;
    };
    let is_public = at > 0 && PUBLIC.contains(&words[at - 1].as_str())
        || ["pk_", "phc_"].iter().any(|prefix| value.starts_with(prefix));
    if is_public || is_placeholder(value) || is_place(value) {
        return false;
    }
    let is_last = at + 1 == words.len() && is_name(&words[at]);
    let has_digit = value.bytes().any(|byte| byte.is_ascii_digit());
    let has_letter = value.chars().any(char::is_alphabetic);
    if !is_last {
        return is_random(value);
    }
    if ["KEY", "TOKEN"].iter().any(|end| words[at].ends_with(end)) {
        // Names of keys and of their stores are words: `ctrl+k`, `keychain`.
        if has_letter { longest_run(value) >= if has_digit { 6 } else { 12 } } else { value.len() >= RUN }
    } else {
        has_letter || value.len() >= 6
    }
}

/// Whether a text has letters and digits without an order.
fn is_random(text: &str) -> bool {
    let is_mixed = |part: &str| {
        part.bytes().any(|byte| byte.is_ascii_digit()) && part.bytes().any(|byte| byte.is_ascii_alphabetic())
    };
    text.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part.len() >= RUN && is_mixed(part))
}

/// Whether a text stands for a secret that users have, or is a switch or a number.
fn is_placeholder(text: &str) -> bool {
    let text = text.trim();
    let lower = text.to_ascii_lowercase();
    let is_variable = text.starts_with(['$', '<', '{', '[', '('])
        || ["${", "$(", "{{", ">"].iter().any(|part| text.contains(part))
        || text.starts_with('%') && text.ends_with('%');
    let bare = FORMS.iter().find_map(|(prefix, _)| text.strip_prefix(prefix)).unwrap_or(text);
    let is_filler = bare.chars().all(|c| "xX*.-_…0".contains(c));
    text.is_empty()
        || SWITCHES.contains(&lower.as_str())
        || is_variable
        || is_filler
        || PLACEHOLDERS.iter().any(|part| lower.contains(part))
}

/// Whether a text is a path or an address, which leads to a secret at most.
fn is_place(text: &str) -> bool {
    let is_drive =
        text.as_bytes().get(1) == Some(&b':') && text.as_bytes().get(2).is_some_and(|byte| b"/\\".contains(byte));
    text.starts_with(['/', '~', '.']) || text.contains("://") || is_drive
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn forms_can_be_searched() {
        assert!(FORMS.is_sorted_by_key(|(prefix, _)| prefix.bytes().next()));
    }

    fn places(value: &Value) -> Vec<String> {
        let mut found = Vec::new();
        look(value, "", None, &mut found);
        found.into_iter().map(|(place, _)| place).collect()
    }

    /// A text that no program takes for a key in this file.
    fn joined(parts: &[&str]) -> String {
        parts.concat()
    }

    #[test]
    fn keys_are_known_by_their_form_wherever_they_are() {
        let long = "4f9Kd02mQx7Lr81bTz5Wn3Yv6Hs0Jc2Pa9Kx4";
        for prefix in [
            "sk-", "sk-ant-api03-", "sk-proj-", "sk_live_", "gh#p_", "gh#o_", "github#_pat_", "gl#pat-", "xo#xb-",
            "AI#za", "np#m_", "py#pi-AgE", "h#f_", "gs#k_", "xa#i-", "r#8_", "dckr#_pat_", "hv#s.",
        ] {
            let key = joined(&[&prefix.replace('#', ""), long]);
            for text in [
                key.clone(),
                format!("--key={key}"),
                format!("Bearer {key}"),
                format!("authorization:\nTOKEN  {key}\nmore"),
                format!("https://h.example/a?x={key}"),
                format!("https://h.example/{key}/a.zip"),
                format!("{{\"a\":\"{key}\"}}"),
            ] {
                assert_eq!(places(&json!([text])), ["/0"], "{text}");
            }
        }
        for key in [
            joined(&["AK", "IA", "Q3EGX7WZ5LNPT2VB"]),
            joined(&["ey", "JhbGciOiJIUzI1NiJ9", ".eyJzdWIiOiIxMjM0NTY3ODkwIn0.", "dozjgNryP4J3jVmNHl0w5N"]),
            joined(&["-----BEGIN ", "OPENSSH PRIVATE KEY-----"]),
            joined(&["https://hooks.slack.com/", "services/T02AB3CD4/B05EF6GH7/aB3dE5fG7hI9jK1lM3nO5pQ7"]),
            "postgres://user:hunter2@h.example/a".to_owned(),
            "https://h.example/a?api_key=5f2c91d07be8".to_owned(),
            "https://5f2c91d07be84a36b@h.example/a".to_owned(),
        ] {
            assert_eq!(places(&json!({ "a": key })), ["/a"], "{key}");
        }
    }

    #[test]
    fn values_under_the_name_of_a_secret_are_found() {
        for (name, value) in [
            ("EXAMPLE_API_KEY", "5f2c91d07be84a36"),
            ("exampleApiKey", "5f2c91d07be8"),
            ("AUTHTOKEN", "a1b2c3d4e5"),
            ("MY_SECRET", "swordfish"),
            ("DB_PASSWORD", "hunter2"),
            ("DB_PASSWORD", "123456"),
            ("API_KEYS", "5f2c91d07be84a36,x"),
            ("TOKEN_2", "5f2c91d07be84a36b"),
            ("MY_TOKEN", "abc123"),
            ("MY_TOKEN", "swordfishswordfish"),
        ] {
            assert_eq!(places(&json!({ "env": { name: value } })), [format!("/env/{name}")], "{name}={value}");
            assert_eq!(places(&json!([format!("{name}={value}")])), ["/0"], "{name}={value}");
        }
        assert_eq!(places(&json!(["--api-key", "5f2c91d07be8", "--x", "y"])), ["/1"]);
        assert_eq!(places(&json!(["--header", "X-Api-Key:5f2c91d07be8"])), ["/1"]);
    }

    #[test]
    fn switches_numbers_names_and_placeholders_are_no_secrets() {
        for (name, value) in [
            ("MAX_TOKENS", "4096"),
            ("MAX_TOKEN", "4096"),
            ("TOKEN_LIMIT", "1_000_000"),
            ("TOKENIZER", "cl100k-base-v2-2024"),
            ("KEYBOARD", "us-intl-101"),
            ("API_KEY", ""),
            ("API_KEY", "${API_KEY}"),
            ("API_KEY", "$API_KEY"),
            ("API_KEY", "<your key>"),
            ("API_KEY", "%API_KEY%"),
            ("API_KEY", "your-api-key-1234567890"),
            ("API_KEY", "xxxxxxxxxxxxxxxxxxxx"),
            ("API_KEY", "ollama"),
            ("API_KEY", "sk-xxxxxxxxxxxxxxxxxxxxxxxx"),
            ("API_KEY", "no-key-needed"),
            ("USE_TOKEN", "true"),
            ("NO_PASSWORD", "1"),
            ("PASSWORD", "prompt"),
            ("KEY_FILE", "/run/secrets/a1b2c3d4e5f6a7b8c9"),
            ("SSH_KEY", "~/.ssh/id_ed25519"),
            ("TOKEN", "https://h.example/a1b2c3d4e5f6a7b8"),
            ("PUBLIC_KEY", "5f2c91d07be84a36b5f2c91d07be84a36b"),
            ("SUPABASE_ANON_KEY", "5f2c91d07be84a36b5f2c91d07be84a36b"),
            ("POSTHOG_KEY", "phc_5f2c91d07be84a36b5f2c91d07be84a36b"),
            ("SENTRY_DSN", "https://5f2c91d07be84a36b5f2c91d07be84a36b@h.example/1"),
            ("HOTKEY", "ctrl+shift+p"),
            ("MONKEY", "a1b2c3d4e5f6a7b8"),
            ("KEY", "F12"),
            ("EXAMPLE_MODEL", "gpt-5.1-codex-max-2026"),
            ("sha256", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("package", "@scope/sk-learn-tools-for-agents@1.0.0"),
        ] {
            assert_eq!(places(&json!({ name: value })), [] as [&str; 0], "{name}={value}");
            assert_eq!(places(&json!([format!("--{name}={value}")])), [] as [&str; 0], "{name}={value}");
        }
        assert_eq!(places(&json!(["--token", "--verbose", "a1b2c3d4e5f6a7b8"])), [] as [&str; 0]);
        assert_eq!(places(&json!(["https://git@h.example/a", "https://user:${PASSWORD}@h.example"])), [] as [&str; 0]);
    }
}
