//! JUnit XML, as test reports of CI systems read it.
//!
//! | finding of a rule, or result of a check | test case |
//! |---|---|
//! | `pass` | passed |
//! | error, `fail` | `failure`, whose type is the rule, or the force of the requirement |
//! | warning | passed, with the message in `system-out` |
//! | `not_exercised` | `skipped`, with the reason |
//! | checks that did not run for want of time | also one case, `examination/complete`, which is `skipped` with their number |
//!
//! Warnings are passed cases because the format has no other state that does not fail a pipeline, and readers hide skipped
//! cases.

use std::io;
use std::time::Duration;

use acp_registry::check::{AgentStatus, CheckOutcome};
use acp_registry::examination::{self, CheckRecord, CheckVerdict, find};
use acp_registry::finding::{Finding, Level};
use acp_registry::text::printable;
use acp_registry::verify::TaskVerdict;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesText, Event};

use crate::formats::examination::Examinee;
use crate::formats::{Report, path_within};
use crate::terminal::layout::stderr;

type Xml = Writer<Vec<u8>>;

/// The test case of the handshake.
const HANDSHAKE: &str = "handshake/initialize";

/// The findings of `validate`, with a test suite for each agent, and one for the registry's own.
pub(crate) fn render(report: &Report<'_>) -> String {
    let checked = report.checked;
    let skipped =
        |agent: &AgentStatus| (agent.status == CheckOutcome::Skipped).then(|| "it was not selected".to_owned());
    let agents = checked.agents.iter().map(|agent| (Some(agent.id.as_str()), skipped(agent)));
    let suites = agents.chain([(None, None)]).map(|(id, skipped)| {
        let findings = checked.findings.iter().filter(|finding| finding.agent.as_deref() == id);
        let mut cases: Vec<Case> = findings.map(|finding| finding_case(finding, report.prefix)).collect();
        if cases.is_empty() {
            let end = skipped.map_or(End::Passed, End::Skipped);
            cases.push(Case { name: "rules".to_owned(), duration: Duration::ZERO, end });
        }
        Suite { name: text(id.unwrap_or("registry")), cases }
    });
    document(&suites.collect::<Vec<_>>())
}

/// A finding: an error is a failed case, a warning a passed one with its message.
fn finding_case(finding: &Finding, prefix: &str) -> Case {
    let place = finding.span.map(|span| format!(":{}:{}", span.line, span.column)).unwrap_or_default();
    let place = text(&format!("{}{place}", path_within(prefix, &finding.file)));
    let help = finding.help.as_deref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let end = match finding.level {
        Level::Error => {
            let details = format!("{place}{help}");
            End::Failed("failure", finding.rule.to_owned(), text(&finding.message), details)
        }
        _ => End::Noted(format!("warning: {}\n{place}{}", text(&finding.message), text_lines(&help))),
    };
    Case { name: finding.rule.to_owned(), duration: Duration::ZERO, end }
}

/// The results of one agent, with a test suite for each level.
pub(crate) fn by_level(examinee: &Examinee<'_>) -> String {
    let cases = [handshake(examinee)].into_iter().chain(incomplete(examinee)).collect();
    let mut suites = vec![Suite { name: examination::Level::Handshake.as_str().to_owned(), cases }];
    for check in examinee.record.iter().flat_map(|record| &record.checks) {
        let level = check.id.split('/').next().unwrap_or_default();
        if suites.last().is_none_or(|suite| suite.name != level) {
            suites.push(Suite { name: level.to_owned(), cases: Vec::new() });
        }
        suites.last_mut().into_iter().for_each(|suite| suite.cases.push(case(check)));
    }
    document(&suites)
}

/// The results of several agents, with a test suite for each.
pub(crate) fn by_agent(examinees: &[Examinee<'_>]) -> String {
    let suites = examinees.iter().map(|examinee| {
        let checks = examinee.record.iter().flat_map(|record| &record.checks);
        let cases = [handshake(examinee)].into_iter().chain(incomplete(examinee)).chain(checks.map(case)).collect();
        Suite { name: text(&examinee.name), cases }
    });
    document(&suites.collect::<Vec<_>>())
}

/// A test suite. All texts are escaped for XML only when they are written.
struct Suite {
    name: String,
    cases: Vec<Case>,
}

struct Case {
    name: String,
    duration: Duration,
    end: End,
}

/// How a test case ended.
enum End {
    Passed,
    Noted(String),
    Skipped(String),
    /// The name of the element, the type, the message and the details.
    Failed(&'static str, String, String, String),
}

fn handshake(examinee: &Examinee<'_>) -> Case {
    let end = if examinee.verdict == TaskVerdict::Skipped {
        End::Skipped(text(&examinee.why()))
    } else if examinee.fails_handshake() {
        let element = if examinee.verdict == TaskVerdict::Error { "error" } else { "failure" };
        let reason = text(examinee.reason.unwrap_or_default());
        End::Failed(element, reason, text(&examinee.why()), stderr(examinee.stderr))
    } else {
        End::Passed
    };
    Case { name: HANDSHAKE.to_owned(), duration: examinee.duration, end }
}

/// The case that says that checks did not run for want of time, if so.
fn incomplete(examinee: &Examinee<'_>) -> Option<Case> {
    let incomplete = examinee.record.as_ref()?.incomplete()?;
    Some(Case { name: "examination/complete".to_owned(), duration: Duration::ZERO, end: End::Skipped(incomplete) })
}

fn case(check: &CheckRecord) -> Case {
    let message = || text(check.message.as_deref().unwrap_or_default());
    let end = match check.verdict {
        CheckVerdict::Pass => End::Passed,
        CheckVerdict::Warning => End::Noted(format!("warning ({}): {}", check.force.as_str(), message())),
        CheckVerdict::NotExercised => End::Skipped(message()),
        CheckVerdict::Fail => {
            let fix = find(&check.id).map_or("", |check| check.fix);
            let details = format!("{fix}\nPage of the protocol: {}\n", text(&check.spec));
            End::Failed("failure", check.force.as_str().to_owned(), message(), details)
        }
    };
    Case { name: text(&check.id), duration: check.duration, end }
}

/// Untrusted text: escaped, and without characters that XML does not allow.
fn text(untrusted: &str) -> String {
    printable(untrusted).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

fn document(suites: &[Suite]) -> String {
    let mut xml = Xml::new_with_indent(Vec::new(), b' ', 2);
    // Writing to memory cannot fail.
    let _ = write(&mut xml, suites);
    let mut text = String::from_utf8_lossy(&xml.into_inner()).into_owned();
    text.push('\n');
    text
}

fn write(xml: &mut Xml, suites: &[Suite]) -> io::Result<()> {
    xml.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all = Counts::of(suites.iter().flat_map(|suite| &suite.cases));
    all.element(xml, "testsuites", env!("CARGO_PKG_NAME"), |xml| {
        for suite in suites {
            Counts::of(&suite.cases).element(xml, "testsuite", &suite.name, |xml| {
                suite.cases.iter().try_for_each(|case| case.write(xml, &suite.name))
            })?;
        }
        Ok(())
    })
}

/// The counts of a suite, or of all.
#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
    duration: Duration,
}

impl Counts {
    fn of<'c>(cases: impl IntoIterator<Item = &'c Case>) -> Self {
        let mut counts = Self::default();
        for case in cases {
            counts.tests += 1;
            counts.duration += case.duration;
            match &case.end {
                End::Failed("error", ..) => counts.errors += 1,
                End::Failed(..) => counts.failures += 1,
                End::Skipped(_) => counts.skipped += 1,
                End::Passed | End::Noted(_) => {}
            }
        }
        counts
    }

    fn element(
        &self,
        xml: &mut Xml,
        element: &str,
        name: &str,
        inside: impl FnOnce(&mut Xml) -> io::Result<()>,
    ) -> io::Result<()> {
        let counts = [self.tests, self.failures, self.errors, self.skipped].map(|count| count.to_string());
        let [tests, failures, errors, skipped] = counts.each_ref().map(String::as_str);
        let element = xml.create_element(element).with_attributes([
            ("name", name),
            ("tests", tests),
            ("failures", failures),
            ("errors", errors),
            ("skipped", skipped),
            ("time", &seconds(self.duration)),
        ]);
        element.write_inner_content(inside).map(drop)
    }
}

impl Case {
    fn write(&self, xml: &mut Xml, class: &str) -> io::Result<()> {
        let time = seconds(self.duration);
        let attributes = [("classname", class), ("name", &*self.name), ("time", &*time)];
        let element = xml.create_element("testcase").with_attributes(attributes);
        match &self.end {
            End::Passed => element.write_empty().map(drop),
            End::Noted(note) => element
                .write_inner_content(|xml| {
                    xml.create_element("system-out").write_text_content(BytesText::new(note)).map(drop)
                })
                .map(drop),
            End::Skipped(message) => element
                .write_inner_content(|xml| {
                    xml.create_element("skipped").with_attribute(("message", &**message)).write_empty().map(drop)
                })
                .map(drop),
            End::Failed(name, kind, message, details) => element
                .write_inner_content(|xml| {
                    let attributes = [("type", &**kind), ("message", &**message)];
                    let failure = xml.create_element(*name).with_attributes(attributes);
                    failure.write_text_content(BytesText::new(&text_lines(details))).map(drop)
                })
                .map(drop),
        }
    }
}

/// Escapes each line of a text.
fn text_lines(lines: &str) -> String {
    lines.lines().map(text).collect::<Vec<_>>().join("\n")
}

fn seconds(duration: Duration) -> String {
    format!("{:.3}", duration.as_secs_f64())
}
