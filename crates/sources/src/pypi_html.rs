//! Parses the page of a project in a Python package index (PEP 503).

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};

use super::LONGEST;
use super::pypi_file::{FILES, ProjectFile, too_many};

/// A part of a page.
enum Token {
    /// A sign that it is a page of an index.
    Html,
    /// A link, which is a file.
    File(ProjectFile),
}

/// Parses the files of a page: each link is a file.
///
/// Tags are read one attribute at a time, because a tag may have millions of them.
///
/// # Errors
/// Returns an error if it is not a page of an index, or has too many files.
pub(super) fn files(bytes: &[u8]) -> Result<Vec<ProjectFile>, String> {
    let mut reader = Reader::default();
    let emitter = CallbackEmitter::new(move |event: CallbackEvent<'_>, _: Span<()>| reader.read(&event));
    let mut files = Vec::new();
    let mut is_html = false;
    for Ok(token) in Tokenizer::new_with_emitter(bytes, emitter) {
        match token {
            Token::Html => is_html = true,
            Token::File(_) if files.len() == FILES => return Err(too_many()),
            Token::File(file) => files.push(file),
        }
    }
    if files.is_empty() && !is_html {
        return Err("it is not a page of links".to_owned());
    }
    Ok(files)
}

#[derive(Default)]
struct Reader {
    /// The current link.
    link: Option<ProjectFile>,
    /// Whether its start tag is still being read.
    is_in_tag: bool,
    attribute: Vec<u8>,
}

impl Reader {
    fn read(&mut self, event: &CallbackEvent<'_>) -> Option<Token> {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.is_in_tag = *name == b"a";
                if self.is_in_tag {
                    self.link = Some(ProjectFile::default());
                }
                return [&b"html"[..], b"body", b"head"].contains(name).then_some(Token::Html);
            }
            CallbackEvent::AttributeName { name } if self.is_in_tag => {
                self.attribute.clear();
                self.attribute.extend_from_slice(&name[..name.len().min(LONGEST)]);
                self.set("");
            }
            CallbackEvent::AttributeValue { value } if self.is_in_tag => {
                let value = String::from_utf8_lossy(value);
                self.set(&value);
            }
            CallbackEvent::CloseStartTag { .. } => self.is_in_tag = false,
            CallbackEvent::String { value } => {
                if let Some(file) = &mut self.link
                    && file.name.len() + value.len() <= LONGEST
                {
                    file.name.push_str(&String::from_utf8_lossy(value));
                }
            }
            CallbackEvent::EndTag { name } if *name == b"a" => {
                let file = self.link.take()?;
                return Some(Token::File(ProjectFile { name: file.name.trim().to_owned(), ..file }));
            }
            CallbackEvent::Doctype { .. } => return Some(Token::Html),
            _ => {}
        }
        None
    }

    fn set(&mut self, value: &str) {
        let Some(file) = &mut self.link else { return };
        match self.attribute.as_slice() {
            b"href" => file.has_hash = value.split_once('#').is_some_and(|(_, digest)| digest.contains('=')),
            b"data-yanked" => file.yanked = Some(value[..value.floor_char_boundary(LONGEST)].to_owned()),
            b"data-requires-python" => {
                file.requires_python = Some(value.to_owned()).filter(|range| (1..=LONGEST).contains(&range.len()));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_of_many_attributes_is_a_link_like_others() {
        let page = format!("<html><a {} href='x#sha256=1' data-yanked>p-1.0.zip</a>", "b c=d ".repeat(50_000));
        let files = files(page.as_bytes()).unwrap();
        let expected = ProjectFile {
            name: "p-1.0.zip".to_owned(),
            has_hash: true,
            yanked: Some(String::new()),
            ..ProjectFile::default()
        };
        assert_eq!(files, [expected]);
    }

    #[test]
    fn more_files_than_are_read_are_an_error() {
        let page = "<a>p-1.zip</a>".repeat(FILES + 1);
        assert!(files(page.as_bytes()).unwrap_err().contains("more than 200000 files"));
    }
}
