//! Any bytes as a manifest: no panic, every place inside the text, and a published form that is JSON.
#![no_main]

mod shared;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| shared::check(text, None));
