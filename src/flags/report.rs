//! In which form a command reports, and where: on stdout, in files, or both.

use std::path::{Path, PathBuf};

use acp_registry::failure::Failure;
use acp_registry::host::fs::{check_writable, write_atomic};
use acp_registry::text::quote;
use clap::ValueEnum as _;

use crate::documents::Document;
use crate::formats::Format;
use crate::terminal::layout::Look;
use crate::terminal::ui::Ui;

#[derive(Debug, clap::Args)]
pub(crate) struct ReportArgs {
    /// Form of the result
    ///
    /// JUnit is for test reports, SARIF for code scanning, GitHub for annotations of a workflow.
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,

    /// Short for `--format json`
    #[arg(long)]
    json: bool,

    /// Write the result to a file (repeatable)
    ///
    /// FILE gets the result instead of stdout; FORMAT=FILE gets it as well, in that form.
    #[arg(long, value_name = "[FORMAT=]FILE")]
    output: Vec<String>,
}

/// Where a result is written, besides stdout.
pub(crate) struct ReportFiles {
    format: Format,
    /// A file without a format takes the place of stdout.
    files: Vec<(Option<Format>, PathBuf)>,
}

impl ReportArgs {
    pub(crate) fn format(&self) -> Format {
        if self.json { Format::Json } else { self.format }
    }

    /// Whether a file gets a JSON document.
    pub(crate) fn writes_json(&self) -> bool {
        self.output.iter().any(|text| text.starts_with("json="))
    }

    /// Writes the document of a command that failed without a result to the files that are JSON. The failure itself is
    /// reported elsewhere, so that an error here is not.
    pub(crate) fn write_failure(&self, command: &str, failure: &Failure) {
        let Ok(files) = self.files(None) else { return };
        let is_json = |format: Option<Format>| format.unwrap_or(files.format) == Format::Json;
        for (_, path) in files.files.iter().filter(|(format, _)| is_json(*format)) {
            let text = Document::failed_command(Some(command), failure.clone()).to_text();
            let _ = write_atomic(path, text.as_bytes());
        }
    }

    /// Checks that the files can be written, before any work is done, and that none is `other`, which the command writes.
    pub(crate) fn files(&self, other: Option<&Path>) -> Result<ReportFiles, Failure> {
        let files: Vec<(Option<Format>, PathBuf)> =
            self.output.iter().map(|text| file(text)).collect::<Result<_, Failure>>()?;
        if files.iter().any(|(_, path)| path.as_os_str().is_empty()) {
            return Err(Failure::usage("--output needs the name of a file"));
        }
        if files.iter().filter(|(format, _)| format.is_none()).count() > 1 {
            let failure = Failure::usage("--output without FORMAT= can be given once");
            return Err(failure.help("write --output FORMAT=FILE for further files"));
        }
        if files.iter().any(|(_, path)| path.as_os_str() == "-") {
            return Err(Failure::usage("--output - names no file").help("write --format FORMAT for stdout"));
        }
        let mut taken: Vec<PathBuf> = other.into_iter().map(canonical).collect();
        for (_, path) in &files {
            check_writable(path).map_err(|error| error.unwritable("--output"))?;
            // A device takes more than one result.
            if path.exists() && !path.is_file() {
                continue;
            }
            if taken.contains(&canonical(path)) {
                let failure = Failure::usage(format!("{} would be written twice", quote(&path.to_string_lossy())));
                return Err(failure.help("name another file with --output"));
            }
            taken.push(canonical(path));
        }
        Ok(ReportFiles { format: self.format(), files })
    }
}

impl ReportFiles {
    /// The forms in which the result is written, with that of stdout.
    pub(crate) fn formats(&self) -> impl Iterator<Item = Format> {
        std::iter::once(self.format).chain(self.files.iter().filter_map(|(format, _)| *format))
    }

    /// Writes a result everywhere. A file that cannot be written does not keep the result from the other places.
    pub(crate) fn write(self, ui: &Ui, render: &mut dyn FnMut(Format, Look) -> String) -> Result<(), Failure> {
        let mut shown = Some(self.format);
        let mut unwritten = None;
        for (format, path) in self.files {
            let text = render(format.unwrap_or(self.format), Look::default());
            if let Err(error) = write_atomic(&path, text.as_bytes()) {
                unwritten.get_or_insert(error);
            } else if format.is_none() {
                shown = None;
            }
        }
        if let Some(format) = shown {
            ui.result(&render(format, ui.look()))?;
        }
        unwritten.map_or(Ok(()), |error| Err(error.unwritable("--output")))
    }
}

/// The same path for all paths of a file, which may be absent.
fn canonical(path: &Path) -> PathBuf {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let beside = || Some(folder.canonicalize().ok()?.join(path.file_name()?));
    path.canonicalize().ok().or_else(beside).unwrap_or_else(|| path.to_owned())
}

/// Splits `FORMAT=FILE`. A file without a format gets the format of the result.
fn file(text: &str) -> Result<(Option<Format>, PathBuf), Failure> {
    match text.split_once('=') {
        // A path before `=` is part of the file name; a word must be a format.
        Some((word, file)) if word.bytes().all(|b| b.is_ascii_alphabetic()) => {
            let format = Format::from_str(word, false).map_err(|_| {
                let known = Format::value_variants().iter().filter_map(Format::to_possible_value);
                let known = known.map(|format| format.get_name().to_owned()).collect::<Vec<_>>().join(", ");
                Failure::usage(format!("--output {word}=…: there is no such format; known are {known}"))
            })?;
            Ok((Some(format), PathBuf::from(file)))
        }
        _ => Ok((None, PathBuf::from(text))),
    }
}
