//! Any bytes as an icon: no panic, and every place inside the text.
#![no_main]

mod shared;

use libfuzzer_sys::fuzz_target;

const MANIFEST: &str = r#"{ "id": "a", "name": "A", "version": "1.0.0", "description": "A", "distribution": { "npx": { "package": "a@1.0.0" } } }"#;

fuzz_target!(|text: &str| shared::check(MANIFEST, Some(text)));
