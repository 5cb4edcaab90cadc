//! `acp-registry report`

pub(crate) mod input;

use std::path::{Path, PathBuf};

use acp_registry::host::fs::{ReadError, read_bounded};
use acp_registry::text::prose;
use clap::ValueEnum;

use self::input::{INPUT_LIMIT, Input, InputError, verified_markdown};
use crate::flags::global::{Global, prefix};
use crate::formats::{Format, Report};
use crate::terminal::layout::Look;
use crate::terminal::ui::Ui;
use acp_registry::failure::{Exit, Failure};

/// The longest comment, in bytes. GitHub's limit is 65,536 characters.
const COMMENT_LIMIT: usize = 64_000;

/// The help if a file is not a document.
const EXPECTED: &str = "name a file that `acp-registry validate --json` or `acp-registry verify --json` has written";

/// The help if SARIF is requested for anything but one document of `validate`.
const ONE_DOCUMENT: &str = "name one file that `acp-registry validate --json` has written";

#[derive(Debug, clap::Args)]
#[command(
    after_help = "For jobs with write permission: documents of untrusted jobs are parsed strictly, and every text is escaped."
)]
pub(crate) struct Args {
    /// Documents of `validate --json` or `verify --json`
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,

    /// Form of the report
    ///
    /// Markdown is for a comment. SARIF takes one document of `validate`.
    #[arg(long, value_name = "FORMAT", default_value = "markdown")]
    format: ReportFormat,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    Markdown,
    Sarif,
}

pub(crate) fn run(args: &Args, global: &Global, ui: &Ui) -> Result<Exit, Failure> {
    let documents: Vec<Input> = args.files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    // Assumes that the registry has the same path in this checkout as where the document was written.
    let prefix = global.registry_dir().canonicalize().map_or_else(|_| String::new(), |root| prefix(&root));
    let render = |document: &Input, format: Format| match document {
        Input::Validate { checked, duration } => {
            let (duration, text) = (*duration, &|_: &str| None);
            Ok(Report { checked, duration, text, prefix: &prefix, look: Look::default(), failure: None }.render(format))
        }
        Input::Verify(rows) if format == Format::Markdown => Ok(verified_markdown(rows)),
        Input::Failed { command, message } if format == Format::Markdown => {
            Ok(format!("**`{command}` failed:** {}\n", prose(message)))
        }
        Input::Verify(_) | Input::Failed { .. } => Err(Failure::usage("SARIF is made of findings").help(ONE_DOCUMENT)),
    };
    if args.format == ReportFormat::Sarif {
        let [document] = &documents[..] else {
            return Err(Failure::usage("SARIF is made of one document").help(ONE_DOCUMENT));
        };
        ui.result(&render(document, Format::Sarif)?)?;
        return Ok(Exit::Success);
    }
    let mut out = String::new();
    for (document, file) in documents.iter().zip(&args.files) {
        let text = render(document, Format::Markdown)?;
        if out.len() + text.len() > COMMENT_LIMIT {
            ui.warning(&format!("{} did not fit into the comment", file.display()));
            continue;
        }
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text);
    }
    ui.result(&out)?;
    Ok(Exit::Success)
}

/// Reads a document. Links that lead out of its directory are refused.
fn read(path: &Path) -> Result<Input, Failure> {
    let shown = path.display();
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unreadable = |error: ReadError| Failure::unable(format!("{shown}: {error}")).help(EXPECTED);
    let root = folder.canonicalize().map_err(|error| unreadable(error.into()))?;
    let path = root.join(path.file_name().unwrap_or_default());
    let bytes = read_bounded(&path, &root, INPUT_LIMIT).map_err(unreadable)?;
    Input::parse(&bytes).map_err(|error| {
        let message = format!("{shown} is not reported on: {error}");
        match error {
            InputError::Other(_) => Failure::usage(message).help(EXPECTED),
            InputError::Forged { .. } => Failure::refused(message),
        }
    })
}
