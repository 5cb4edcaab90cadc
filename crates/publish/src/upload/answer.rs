//! Reads values from the XML responses of a store.

use quick_xml::Reader;
use quick_xml::events::Event;

/// Returns the text of the first element of this name, at any depth; `None` if it is missing or the document breaks
/// off before its end.
pub(super) fn element_text(xml: &str, name: &str) -> Option<String> {
    let mut reader = Reader::from_str(xml);
    // A proxy may answer with an HTML page instead, which is rarely well-formed.
    let config = reader.config_mut();
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    config.allow_dangling_amp = true;
    loop {
        match reader.read_event().ok()? {
            Event::Start(start) if start.local_name().as_ref() == name.as_bytes() => break,
            Event::Empty(empty) if empty.local_name().as_ref() == name.as_bytes() => return Some(String::new()),
            Event::Eof => return None,
            _ => {}
        }
    }
    let mut text = String::new();
    loop {
        match reader.read_event().ok()? {
            Event::Text(part) => text.push_str(&part.decode().ok()?),
            Event::CData(part) => text.push_str(&part.decode().ok()?),
            Event::GeneralRef(part) => match part.resolve_char_ref().ok()? {
                Some(character) => text.push(character),
                None => text.push_str(quick_xml::escape::resolve_predefined_entity(&part.decode().ok()?)?),
            },
            Event::End(end) if end.local_name().as_ref() == name.as_bytes() => return Some(text.trim().to_owned()),
            Event::Eof => return None,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_found_however_it_is_written() {
        let before = "Client error with status 404 Not Found: ";
        for (answer, expected) in [
            ("<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code><Key>a&amp;b</Key></Error>", Some("NoSuchKey")),
            ("<e:Error xmlns:e='x'><e:Code a='b'>\n  NoSuchKey\n</e:Code></e:Error>", Some("NoSuchKey")),
            ("<Error><!-- <Code>No</Code> --><Code><![CDATA[NoSuchKey]]></Code></Error>", Some("NoSuchKey")),
            ("<Error><Code>No&#x53;uch&#75;ey</Code></Error>", Some("NoSuchKey")),
            ("<Error><Code/></Error>", Some("")),
            ("<Error><Message>&lt;Code>No&lt;/Code></Message></Error>", None),
            ("<Error><Code>NoSuchKey", None),
            ("<html><p><br></body><Code>NoSuchKey</Code>", Some("NoSuchKey")),
            ("busy & closed", None),
            ("", None),
        ] {
            assert_eq!(element_text(answer, "Code").as_deref(), expected, "{answer}");
            assert_eq!(element_text(&format!("{before}{answer}"), "Code").as_deref(), expected, "{answer}");
        }
    }
}
