//! Real mistakes and known attacks, each with the rule that must report it.

use serde_json::{Value, json};

use crate::support::{Env, ICON};

/// The rules of all findings for a manifest or an icon.
fn rules(manifest: &Value, icon: &str) -> Vec<String> {
    let env = Env::empty().file("r/a/agent.json", manifest.to_string()).file("r/a/icon.svg", icon);
    let (_, report) = env.json(&["validate"]);
    let mut rules: Vec<String> = report["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|finding| finding["rule"].as_str().unwrap().to_owned())
        .collect();
    rules.dedup();
    rules
}

fn agent(version: &str, distribution: &Value) -> Value {
    json!({
        "id": "a", "name": "A", "version": version, "description": "D", "authors": ["A"], "license": "MIT", "distribution": distribution,
    })
}

/// A binary distribution for three systems, whose Linux target has these members added or replaced.
fn binary(members: &Value) -> Value {
    let mut targets = json!({});
    for (platform, program) in [("darwin-aarch64", "./a"), ("linux-x86_64", "./a"), ("windows-x86_64", "./a.exe")] {
        targets[platform] = json!({ "archive": format!("https://h.example/1.0.0/a-{platform}.zip"), "cmd": program });
    }
    for (key, value) in members.as_object().unwrap() {
        targets["linux-x86_64"][key] = value.clone();
    }
    json!({ "binary": targets })
}

fn of_distribution(version: &str, distribution: &Value) -> Vec<String> {
    let found = rules(&agent(version, distribution), ICON);
    // The preview channel follows the same rules.
    let mut with_preview = agent("0.9.0", &json!({ "npx": { "package": "a@0.9.0" } }));
    with_preview["preview"] = json!({ "version": version, "distribution": distribution });
    assert_eq!(rules(&with_preview, ICON), found, "{distribution}");
    found
}

#[test]
fn packages_that_are_more_than_a_name_and_a_version() {
    for (kind, package, rule) in [
        ("npx", "a", "distribution/unpinned-package"),
        ("npx", "a@^1.0.0", "distribution/unpinned-package"),
        ("npx", "a@next", "distribution/unpinned-package"),
        ("npx", "a@LATEST", "distribution/latest-reference"),
        ("npx", "a@1.0.1", "distribution/version-mismatch"),
        ("npx", "a@1.0.0-rc.1", "distribution/version-mismatch"),
        ("npx", "git+https://h.example/r.git", "distribution/unsafe-package-spec"),
        ("npx", "https://h.example/a-1.0.0.tgz", "distribution/unsafe-package-spec"),
        ("npx", "../local", "distribution/unsafe-package-spec"),
        ("npx", "user/repo", "distribution/unsafe-package-spec"),
        ("npx", "a@1.0.0@evil", "distribution/unsafe-package-spec"),
        ("npx", "--registry=https://evil.example a", "distribution/unsafe-package-spec"),
        ("npx", "", "manifest/schema"),
        ("uvx", "a", "distribution/unpinned-package"),
        ("uvx", "a>=1.0.0", "distribution/unpinned-package"),
        ("uvx", "a~=1.0.0", "distribution/unpinned-package"),
        ("uvx", "a!=1.0.0", "distribution/unpinned-package"),
        ("uvx", "a==1.*", "distribution/unpinned-package"),
        ("uvx", "a@latest", "distribution/latest-reference"),
        ("uvx", "a==1.0.0rc1", "distribution/version-mismatch"),
        ("uvx", "--from evil a==1.0.0", "distribution/unsafe-package-spec"),
        ("uvx", "git+https://h.example/r", "distribution/unsafe-package-spec"),
    ] {
        let found = of_distribution("1.0.0", &json!({ kind: { "package": package } }));
        assert_eq!(found, [rule], "{kind} {package}");
    }
    for (kind, package) in [
        ("npx", "@s/a@1.0.0"),
        ("uvx", "a==1.0.0"),
        ("uvx", "a@1.0"),
        ("uvx", "a[x]==1.0.0"),
        ("uvx", "a==1.0.0.post1"),
    ] {
        assert_eq!(
            of_distribution("1.0.0", &json!({ kind: { "package": package } })),
            [] as [&str; 0],
            "{kind} {package}"
        );
    }
}

#[test]
fn archives_and_commands_that_lead_astray() {
    for (members, rule) in [
        (json!({ "archive": "" }), "distribution/unsafe-url"),
        (json!({ "archive": 5 }), "manifest/schema"),
        (json!({ "archive": "file:///1.0.0/passwd" }), "distribution/unsafe-url"),
        (json!({ "archive": "https://user:pw@h.example/1.0.0/a.zip" }), "distribution/unsafe-url"),
        (json!({ "archive": "https://h.example:99999/1.0.0/a.zip" }), "distribution/unsafe-url"),
        (json!({ "archive": "https://[bad/1.0.0/a.zip" }), "distribution/unsafe-url"),
        (json!({ "archive": "https://h.example/1.0.0/a b.zip" }), "distribution/unsafe-url"),
        (json!({ "archive": "https://h.example/1.0.0/ä.zip" }), "distribution/unsafe-url"),
        (json!({ "archive": "https://169.254.169.254/1.0.0/a.zip" }), "distribution/unsafe-url"),
        (json!({ "archive": "https://h.example/1.0.0/a.AppImage?x=1" }), "distribution/archive-format"),
        (json!({ "archive": "https://h.example/1.0.0/a.tar.xz" }), "distribution/archive-format"),
        (json!({ "archive": "https://h.example/a-latest.zip" }), "distribution/latest-reference"),
        (json!({ "archive": "https://h.example/LATEST/a.zip" }), "distribution/latest-reference"),
        (json!({ "archive": "https://h.example/a.zip?channel=latest" }), "distribution/latest-reference"),
        (json!({ "archive": "https://h.example/raw/main/a.zip" }), "distribution/latest-reference"),
        (json!({ "archive": "https://h.example/a.zip" }), "distribution/version-unverifiable"),
        (json!({ "archive": "https://h.example/cli-v0.9.0/a.zip" }), "distribution/version-mismatch"),
        (json!({ "archive": "https://h.example/a%400.9.0/a.zip" }), "distribution/version-mismatch"),
        (json!({ "archive": "https://h.example/v1.0.0-beta.1/a.zip" }), "distribution/version-mismatch"),
        (json!({ "cmd": "../../bin/sh" }), "distribution/unsafe-cmd"),
        (json!({ "cmd": "/bin/sh" }), "distribution/unsafe-cmd"),
        (json!({ "cmd": "C:\\a.exe" }), "distribution/unsafe-cmd"),
        (json!({ "cmd": "*" }), "distribution/unsafe-cmd"),
        (json!({ "cmd": "" }), "distribution/unsafe-cmd"),
        (json!({ "cmd": "node" }), "distribution/cmd-style"),
        (json!({ "cmd": "./bin\\a" }), "distribution/cmd-style"),
        (json!({ "args": ["x"] }), "distribution/inconsistent-targets"),
        (json!({ "env": { "A_B": "x" } }), "distribution/inconsistent-targets"),
        (json!({ "sha256": "0" }), "manifest/schema"),
    ] {
        assert_eq!(of_distribution("1.0.0", &binary(&members)), [rule], "{members}");
    }
    for members in [
        json!({ "archive": "https://h.example/download/5/a-1.0.0.tbz2" }),
        json!({ "archive": "https://h.example/releases/2026/a-1.0.0-linux" }),
        json!({ "archive": "https://h.example/1.0.0%2B180523.e6/a.tgz", "cmd": "./a-1.0.0+1/a" }),
    ] {
        assert_eq!(of_distribution("1.0.0", &binary(&members)), [] as [&str; 0], "{members}");
    }
}

#[test]
fn variables_that_are_not_the_agents_own() {
    for name in [
        "PATH", "path", " Path ", "LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "NODE_OPTIONS", "PYTHONSTARTUP", "BASH_ENV",
        "ENV", "JAVA_TOOL_OPTIONS", "PERL5OPT", "RUBYOPT", "GIT_SSH_COMMAND", "HTTPS_PROXY", "https_proxy", "TERM",
        "HOME", "GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "npm_config_registry", "UV_INDEX_URL", "XDG_CONFIG_HOME", "",
        "A=B", "1A", "A B",
    ] {
        let distribution = json!({ "npx": { "package": "a@1.0.0", "env": { name: "x" } } });
        assert_eq!(of_distribution("1.0.0", &distribution), ["distribution/reserved-env"], "{name}");
    }
    for name in ["AUGMENT_DISABLE_AUTO_UPDATE", "VT_ACP_ENABLED", "environment", "MY_PATH"] {
        let distribution = json!({ "npx": { "package": "a@1.0.0", "env": { name: "x" } } });
        assert_eq!(of_distribution("1.0.0", &distribution), [] as [&str; 0], "{name}");
    }
}

#[test]
fn members_that_disguise_or_promote() {
    let base = agent("1.0.0", &json!({ "npx": { "package": "a@1.0.0" } }));
    for (key, value, rule) in [
        ("website", json!("javascript:alert(1)"), "manifest/unsafe-link"),
        ("repository", json!("https://user@h.example/r"), "manifest/unsafe-link"),
        ("license_url", json!("LICENSE"), "manifest/unsafe-link"),
        ("website", json!("https://example.com\\@h.example/"), "manifest/unsafe-link"),
        ("icon", json!("data:image/svg+xml,x"), "manifest/unsafe-link"),
        ("license", json!("Proprietary"), "manifest/license"),
        ("license", json!("MIT OR"), "manifest/license"),
        ("name", json!("A\u{200b}"), "manifest/text-control-characters"),
        ("description", json!("two\nlines"), "manifest/text-control-characters"),
        ("authors", json!(["x", "\u{202e}y"]), "manifest/text-control-characters"),
        ("authors", json!("x"), "manifest/schema"),
        ("authors", json!([]), "manifest/missing-authors"),
        ("version", json!("1.0"), "manifest/version-format"),
        ("version", json!("99999999999999999999.0.0"), "manifest/version-format"),
        ("lisense", json!("MIT"), "manifest/unknown-field"),
        ("distribution", json!({}), "manifest/schema"),
        ("distribution", json!({ "docker": { "image": "x" } }), "manifest/schema"),
    ] {
        let mut manifest = base.clone();
        manifest[key] = value.clone();
        assert_eq!(rules(&manifest, ICON), [rule], "{key} {value}");
    }
    for (key, value) in [
        ("license", json!("MIT OR Apache-2.0")),
        ("license", json!("AGPL-3.0")),
        ("license", json!("LicenseRef-Own")),
        ("icon", json!("./icon.svg")),
        ("name", json!("Agent’s 図 👩\u{200d}💻")),
    ] {
        let mut manifest = base.clone();
        manifest[key] = value.clone();
        assert_eq!(rules(&manifest, ICON), [] as [&str; 0], "{key} {value}");
    }
    for (version, package) in [("2026.07.01", "2026.7.1"), ("1.2.3.4", "1.2.3.post4"), ("1.0.0-preview.2", "1.0.0rc2")]
    {
        let found = rules(&agent(version, &json!({ "uvx": { "package": format!("a=={package}") } })), ICON);
        assert!(!found.contains(&"manifest/version-format".to_owned()), "{version}: {found:?}");
    }
}

#[test]
fn a_member_that_builds_set_is_an_error() {
    let mut manifest = agent("1.0.0", &json!({ "npx": { "package": "a@1.0.0" } }));
    manifest["bundled"] = json!(true);
    manifest["featured"] = json!(true);
    let env = Env::empty().file("r/a/agent.json", manifest.to_string()).file("r/a/icon.svg", ICON);
    let levels = || {
        let (_, report) = env.json(&["validate"]);
        let findings = report["findings"].as_array().unwrap().clone();
        findings.iter().map(|finding| finding["level"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(levels(), ["error", "warning"]);
    env.write("r/registry.toml", "[[view]]\nfile = \"registry.json\"\nagents.a.set.featured = true\n");
    assert_eq!(levels(), ["error", "error"]);
}

/// An icon with this content or these attributes in its root.
fn icon(attributes: &str, body: &str) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" {attributes}>{body}</svg>\n"
    )
}

const SIZE: &str = "width=\"16\" height=\"16\"";
const SHAPE: &str = "<path fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>";

fn of_icon(icon: &str) -> Vec<String> {
    rules(&agent("1.0.0", &json!({ "npx": { "package": "a@1.0.0" } })), icon)
}

#[test]
fn icons_that_attack_or_cheat() {
    let with = |body: &str| icon(SIZE, &format!("{SHAPE}{body}"));
    let root = |attributes: &str| icon(&format!("{SIZE} {attributes}"), SHAPE);
    for (text, rule) in [
        (root("color=\"red\""), "icon/hardcoded-color"),
        (with("<style>svg{color:#f00}</style>"), "icon/hardcoded-color"),
        (with("<style>.a{fill/**/:red}</style>"), "icon/hardcoded-color"),
        (with("<style>.a{f\\69ll:red}</style>"), "icon/syntax"),
        (with("<style>.a{background:u\\72l(https://h.example/x)}</style>"), "icon/syntax"),
        (with("<g mask=\"u\\72l(https://h.example/x)\"/>"), "icon/syntax"),
        (with("<style>g > a{background:url(https://h.example/x)}</style>"), "icon/external-reference"),
        (with("<style>svg:hover{height:900px}</style>"), "icon/size"),
        (with("<style>[data-c],path[d]{fill:currentColor}</style>"), "icon/syntax"),
        (with("<style>path:not(.bg){fill:currentColor}</style>"), "icon/syntax"),
        (with("<style>@media print{path{display:none}}</style>"), "icon/syntax"),
        (with("<style media=\"print\">path{fill:currentColor}</style>"), "icon/syntax"),
        (with("<style>.a{fi<!-- x -->ll:red}</style>"), "icon/hardcoded-color"),
        (with("<style><![CDATA[.a{fill]]>:red}</style>"), "icon/hardcoded-color"),
        (with("<style>path{fi<?x?>ll:red}</style>"), "icon/hardcoded-color"),
        (with("<STYLE>path{fill:red}</STYLE>"), "icon/hardcoded-color"),
        (with("<style>\r\n .a{fill:currentColor}\r\n .b{stroke:red}\r\n</style>"), "icon/hardcoded-color"),
        (with("<g style=\"filter:drop-shadow(0 0 0 red)\"/>"), "icon/hardcoded-color"),
        (with("<g filter=\"invert(1)\"/>"), "icon/hardcoded-color"),
        (with("<filter id=\"f\"><feColorMatrix values=\"1\"/></filter>"), "icon/hardcoded-color"),
        (with("<filter id=\"f\"><feFlood/></filter>"), "icon/hardcoded-color"),
        (with("<text fill=\"currentColor\">🔴</text>"), "icon/hardcoded-color"),
        (with("<text fill=\"currentColor\">a⭐</text>"), "icon/hardcoded-color"),
        (with("<text fill=\"currentColor\">a<tspan>b</tspan>🔴</text>"), "icon/hardcoded-color"),
        (with("<filter id=\"f\"><feFlood class=\"z\"/></filter>"), "icon/hardcoded-color"),
        (with("<filter id=\"f\"><feTurbulence baseFrequency=\".1\"/></filter>"), "icon/hardcoded-color"),
        (with("<filter id=\"f\"><feComposite operator=\"arithmetic\" k4=\"1\"/></filter>"), "icon/hardcoded-color"),
        (with("<g style=\"all:initial\"/>"), "icon/hardcoded-color"),
        (with("<g style=\"-webkit-filter:drop-shadow(0 0 0 red)\"/>"), "icon/hardcoded-color"),
        (root("style=\"-webkit-box-shadow:inset 0 0 0 16px red\""), "icon/hardcoded-color"),
        (root("style=\"inline-size:400px\""), "icon/size"),
        (root("style=\"-webkit-max-inline-size:4px\""), "icon/size"),
        (root("style=\"zoom:9\""), "icon/size"),
        (
            with("<mask id=\"m\"><path id=\"p\" fill=\"white\" d=\"M0 0h1v1z\"/></mask><use href=\"#p\"/>"),
            "icon/hardcoded-color",
        ),
        (
            with(
                "<mask id=\"m\"><path id=\"p\" fill=\"white\" d=\"M0 0h1v1z\"/></mask><use><set attributeName=\"href\" to=\"#p\"/></use>",
            ),
            "icon/hardcoded-color",
        ),
        // Whatever may refer to an element shows it, and HTML knows no namespaces without a prefix.
        (
            with("<clipPath id=\"c\"><path id=\"p\" fill=\"red\" d=\"M0 0h9v9z\"/></clipPath><use href=\"#\np\"/>"),
            "icon/hardcoded-color",
        ),
        (
            with(
                "<clipPath color=\"red\"><linearGradient id=\"g\"><stop stop-color=\"currentColor\"/></linearGradient></clipPath><path fill=\"url(#g)\" d=\"M0 0h9v9z\"/>",
            ),
            "icon/hardcoded-color",
        ),
        (
            with(
                "<clipPath><marker id=\"k\"><path fill=\"red\" d=\"M0 0h9v9z\"/></marker></clipPath><g marker-start=\"url(#k)\"/>",
            ),
            "icon/hardcoded-color",
        ),
        (
            with(
                "<style>.k{marker:url(#k)}</style><mask><marker id=\"k\"><path fill=\"#fff\" d=\"M0 0h9v9z\"/></marker></mask>",
            ),
            "icon/hardcoded-color",
        ),
        (with("<clipPath id=\"c\"><path id=\"a;b\" fill=\"red\" d=\"M0 0h9v9z\"/></clipPath>"), "icon/hardcoded-color"),
        (with("<path xmlns=\"urn:x\" d=\"M0 0h9v9z\"/>"), "icon/active-content"),
        (root("style=\"color-scheme:dark\""), "icon/size"),
        (
            with(&format!(
                "<defs><text id=\"a\" fill=\"currentColor\">{}</text></defs>{}",
                "ab".repeat(1_000),
                "<use href=\"#a\"/>".repeat(60)
            )),
            "icon/syntax",
        ),
        // The first element with an id counts.
        (
            icon(
                SIZE,
                "<defs><path id=\"a\" d=\"M2 2h12v12H2z\"/><path id=\"a\" fill=\"currentColor\" d=\"M2 2h12v12H2z\"/></defs><use href=\"#a\"/>",
            ),
            "icon/no-current-color",
        ),
        (
            with(&format!(
                "<defs><path id=\"a\" d=\"M0 0{}\"/><g id=\"b\">{}</g></defs>{}",
                "h1v1".repeat(2_000),
                "<use href=\"#a\"/>".repeat(60),
                "<use href=\"#b\"/>".repeat(60)
            )),
            "icon/syntax",
        ),
        (
            with(&format!("<style>{}path{{fill:red}}{}</style>", "@media all{".repeat(17), "}".repeat(17))),
            "icon/syntax",
        ),
        (with("<g id=\"a\"><use href=\"#a\"/></g>"), "icon/syntax"),
        (icon(SIZE, "<rect style=\"width:16px;height:16px\"/>"), "icon/no-current-color"),
        (icon(SIZE, "<path style=\"d:path('M0 0h16v16z')\"/>"), "icon/no-current-color"),
        (
            icon(SIZE, "<style>path:hover{fill:currentColor}</style><path d=\"M2 2h12v12H2z\"/>"),
            "icon/no-current-color",
        ),
        (
            icon(SIZE, "<style>@media print{path{fill:currentColor}}</style><path d=\"M2 2h12v12H2z\"/>"),
            "icon/no-current-color",
        ),
        (root("style=\"width:1000px\""), "icon/size"),
        (with("<style>svg{height:900px}</style>"), "icon/size"),
        (with("<meta http-equiv=\"refresh\" content=\"0;url=https://evil.example\"/>"), "icon/active-content"),
        (with("<table background=\"https://evil.example/x\"/>"), "icon/active-content"),
        (with("<g a\u{e9}b=\"1\" onclick=\"x\"/>"), "icon/active-content"),
        (with("<g FILL=\"red\"/>"), "icon/hardcoded-color"),
        (with("<g STYLE=\"fill:red\"/>"), "icon/hardcoded-color"),
        (with("<g STYLE=\"fill:none\" style=\"fill:red\"/>"), "icon/hardcoded-color"),
        (root("style=\"background-image:linear-gradient(red,blue)\""), "icon/hardcoded-color"),
        (with("<style>@media (prefers-color-scheme: dark){.a{fill:#fff}}</style>"), "icon/hardcoded-color"),
        (with("<style>.a{fill:var(--c)}</style>"), "icon/hardcoded-color"),
        (with("<g style=\"fill/**/:red\"/>"), "icon/hardcoded-color"),
        (with("<g style=\"&#102;ill:red\"/>"), "icon/hardcoded-color"),
        (with("<g fill=\"url(#g)\"/>"), "icon/hardcoded-color"),
        (with("<g stroke=\"CURRENTCOLOR red\"/>"), "icon/hardcoded-color"),
        (with("<filter id=\"f\"><feFlood flood-color=\"red\"/></filter>"), "icon/hardcoded-color"),
        (with("<linearGradient id=\"g\"><stop stop-color=\"red\"/></linearGradient>"), "icon/hardcoded-color"),
        (with("<mask id=\"m\"><rect fill=\"red\" width=\"1\" height=\"1\"/></mask>"), "icon/hardcoded-color"),
        (root("style=\"background:#fff\""), "icon/hardcoded-color"),
        (with("<image href=\"data:image/png;base64,AA==\"/>"), "icon/external-reference"),
        (with("<image href=\"https://h.example/x.png\"/>"), "icon/external-reference"),
        (with("<use xlink:href=\"https://h.example/x.svg#a\"/>"), "icon/external-reference"),
        (with("<use href=\"data:image/svg+xml,x#a\"/>"), "icon/external-reference"),
        (with("<style>@import 'https://h.example/x.css';</style>"), "icon/external-reference"),
        (with("<style>@font-face{src:url(https://h.example/x)}</style>"), "icon/external-reference"),
        (with("<g mask=\"url( 'https://h.example/x#m' )\"/>"), "icon/external-reference"),
        (with("<a href=\"https://h.example\"/>"), "icon/external-reference"),
        (format!("<?xml-stylesheet href=\"x.css\"?>{}", with("")), "icon/external-reference"),
        (with("<script>alert(1)</script>"), "icon/active-content"),
        (root("onload=\"alert(1)\""), "icon/active-content"),
        (with("<foreignObject><p xmlns=\"http://www.w3.org/1999/xhtml\">x</p></foreignObject>"), "icon/active-content"),
        (with("<set attributeName=\"fill\" to=\"red\"/>"), "icon/active-content"),
        (
            format!(
                "<s:svg xmlns:s=\"http://www.w3.org/2000/svg\" {SIZE}>{}</s:svg>",
                SHAPE.replace("<path", "<s:path")
            ),
            "icon/active-content",
        ),
        (with("<desc><![CDATA[ > <img src=\"https://h.example/x\"/>]]></desc>"), "icon/active-content"),
        (with("<g CLASS=\"a\"/>"), "icon/active-content"),
        (with("<G/>"), "icon/active-content"),
        (with("<g autofocus=\"\"/>"), "icon/active-content"),
        (with("<use xmlns:xlink=\"x:\" xlink:href=\"#a\"/>"), "icon/active-content"),
        (root("style=\"width:1600%\""), "icon/size"),
        (root("style=\"zoom:16\""), "icon/size"),
        (root("style=\"padding:16px\""), "icon/size"),
        (root("filter=\"url(#f)\""), "icon/size"),
        (with("<g style=\"--x:'https://h.example/x';mask-image:image-set(var(--x) 1x)\"/>"), "icon/external-reference"),
        (with("<use href=\"&#xa0;#a\"/>"), "icon/syntax"),
        (with("<a href=\"#a\" PING=\"https://evil.example\"/>"), "icon/active-content"),
        (with("<g xmlns:e=\"http://www.w3.org/2001/xml-events\" e:event=\"click\"/>"), "icon/active-content"),
        (with("<e:listener xmlns:e=\"http://www.w3.org/2001/xml-events\"/>"), "icon/active-content"),
        (with("<?x ><img src=\"x\" onerror=\"alert(1)\">?>"), "icon/active-content"),
        (format!("{}<?x >?>", with("")), "icon/active-content"),
        (with("<!--><img src=\"x\" onerror=\"alert(1)\">-->"), "icon/active-content"),
        (with("<!--->x-->"), "icon/active-content"),
        (with("<title><g><![CDATA[><img onerror=\"alert(1)\">]]></g></title>"), "icon/active-content"),
        (with("<g><DESC><style>/* */</style></DESC></g>"), "icon/active-content"),
        (with("<style>g{-webkit-animation:a 1s}</style>"), "icon/active-content"),
        (with("<animate attributeName=\"x\"/>"), "icon/active-content"),
        (with("<style>@keyframes a{from{opacity:0}}</style>"), "icon/active-content"),
        (icon(SIZE, "<path d=\"M2 2h12v12H2z\"/>"), "icon/no-current-color"),
        (
            icon(SIZE, "<defs><path fill=\"currentColor\" d=\"M2 2h1v1z\"/></defs><path d=\"M2 2h12v12H2z\"/>"),
            "icon/no-current-color",
        ),
        (with("<text>x</text>"), "icon/no-current-color"),
        (
            with(
                "<defs><marker id=\"m\"><path d=\"M0 0h9v9z\"/></marker></defs><path fill=\"none\" stroke=\"currentColor\" marker-end=\"url(#m)\" d=\"M0 0h9\"/>",
            ),
            "icon/no-current-color",
        ),
        (icon("width=\"16in\" height=\"16\"", SHAPE), "icon/size"),
        (icon("width=\"16\" height=\"16%\"", SHAPE), "icon/size"),
        (icon("", SHAPE), "icon/size"),
        // Attributes of another namespace draw nothing.
        (icon("xmlns:x=\"x:\" x:width=\"16\" x:height=\"16\"", SHAPE), "icon/size"),
        (icon(SIZE, "<path xmlns:x=\"x:\" x:fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>"), "icon/no-current-color"),
        (icon(SIZE, "<path fill=\"currentColor\" xmlns:x=\"x:\" x:d=\"M2 2h12v12H2z\"/>"), "icon/invisible"),
        (icon(SIZE, "<text fill=\"currentColor\" y=\"12\">\u{2728}</text>"), "icon/hardcoded-color"),
        (icon("viewBox=\"0 0 16 24\"", SHAPE), "icon/viewbox"),
        (icon("width=\"16\" height=\"16\" viewBox=\"0 0 100 10\"", SHAPE), "icon/viewbox"),
        (icon("width=\"16\" height=\"16\" viewBox=\"0 0 0 0\"", SHAPE), "icon/viewbox"),
        (icon("width=\"16\" height=\"16\" viewBox=\"none\"", SHAPE), "icon/viewbox"),
        ("<svg width=\"16\" height=\"16\"/>".to_owned(), "icon/syntax"),
        ("<s:svg xmlns:s=\"http://www.w3.org/1999/xhtml\"/>".to_owned(), "icon/syntax"),
        (icon(SIZE, ""), "icon/invisible"),
        (with("<!-- x -->"), "icon/comment"),
    ] {
        let found = of_icon(&text);
        assert!(found.iter().any(|found| found == rule), "{text}: {found:?}");
    }
}

#[test]
fn icons_that_are_right_although_others_refuse_them() {
    for text in [
        icon("viewBox=\"0,0,16,16\"", SHAPE),
        icon("viewBox=\" 0 , 0 16 16 \"", SHAPE),
        icon("width=\"16px\" height=\"16.0\"", SHAPE),
        icon(&format!("{SIZE} xmlns:x=\"x:\" x:width=\"100\" x:style=\"color:red\""), SHAPE),
        icon(SIZE, "<path xmlns:x=\"x:\" x:fill=\"red\" fill=\"currentColor\" d=\"M2 2h12v12H2z\"/>"),
        icon(SIZE, "<text fill=\"currentColor\" y=\"12\">\u{276f}</text>"),
        icon(SIZE, "<path fill=\"transparent\" stroke=\"currentcolor\" d=\"M2 2h12v12H2z\"/>"),
        icon(SIZE, "<style>.fill{fill:currentColor !important}</style><path class=\"fill\" d=\"M2 2h12v12H2z\"/>"),
        icon(SIZE, &format!("<style>*{{--my-fill: 3}}</style>{SHAPE}")),
        icon(SIZE, "<g fill=\"currentColor\"><path fill=\"inherit\" d=\"M2 2h12v12H2z\"/></g>"),
        icon(SIZE, "<path stroke=\"currentColor\" d=\"M3 8h9\"/>"),
        // A first line is not all.
        icon(SIZE, "<path fill=\"currentColor\" d=\"M11 8 5 4v7z\"/>"),
        icon(SIZE, "<path fill=\"currentColor\" d=\"M2 2h1zM4 4h8v8H4z\"/>"),
        icon(SIZE, &format!("{SHAPE}<metadata>fill: red</metadata><title>red</title>")),
        icon(
            SIZE,
            &format!(
                "<clipPath id=\"c\"><rect width=\"8\" height=\"8\"/></clipPath><g clip-path=\"url(#c)\">{SHAPE}</g>"
            ),
        ),
        icon(SIZE, "<rect fill=\"currentColor\" style=\"width:16px;height:16px\"/>"),
        icon(SIZE, &format!("<g a\u{e9}b=\"1\">{SHAPE}</g>")),
        icon(
            SIZE,
            &format!("<filter id=\"f\"><feGaussianBlur stdDeviation=\"1\"/></filter><g filter=\"url(#f)\">{SHAPE}</g>"),
        ),
        icon(SIZE, &format!("<?editor size=\"9\"?>{SHAPE}<desc><![CDATA[2 > 1]]></desc>")),
        icon(
            SIZE,
            &format!(
                "<style>.f{{flood-color:currentColor}}</style><filter id=\"f\"><feFlood class=\"f\"/></filter>{SHAPE}"
            ),
        ),
        icon(SIZE, &format!("<clipPath id=\"c\"><rect fill=\"white\" width=\"1\" height=\"1\"/></clipPath>{SHAPE}")),
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{}", icon(SIZE, SHAPE)),
        icon(SIZE, &format!("<e:grid xmlns:e=\"urn:x\" color=\"#09e\"/>{SHAPE}")),
        icon(SIZE, &format!("<g aria-label=\"call url(https://h.example)\"/>{SHAPE}")),
        icon(&format!("{SIZE} style=\"overflow:hidden !important\""), SHAPE),
    ] {
        assert_eq!(of_icon(&text), [] as [&str; 0], "{text}");
    }
    let mask = "<mask id=\"m\"><rect fill=\"#FFF\" width=\"16\" height=\"16\"/><circle fill=\"black\" r=\"2\"/></mask>";
    assert_eq!(of_icon(&icon(SIZE, &format!("{mask}{SHAPE}"))), ["icon/mask-color"]);
    // As programs for drawing write them: the colour on the mask, and ids that nothing refers to.
    for mask in [
        "<path id=\"p\" d=\"M0 0h1v1z\"/><mask id=\"m\" fill=\"white\"><use href=\"#p\"/></mask>",
        "<mask id=\"m\"><rect id=\"r\" fill=\"white\" width=\"16\" height=\"16\"/></mask>",
    ] {
        assert_eq!(of_icon(&icon(SIZE, &format!("<defs>{mask}</defs>{SHAPE}"))), ["icon/mask-color"], "{mask}");
    }
}
