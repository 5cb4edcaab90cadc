//! Plans as a WebAssembly module: the text of an index and requests in, the documents of `list` and `resolve` out.
//!
//! The module has no imports, and holds one index. A caller writes bytes to where [`plan_input`] says, calls [`plan_open`] or
//! [`plan_resolve`], and reads as many bytes as that returns from where [`plan_output`] says. All of it is UTF-8.
//! `package/acp-registry-wasm.mjs` does this.
//!
//! No pointer is dereferenced here: the caller writes into a vector and reads a string of this module.

mod answers;

use std::sync::{Mutex, MutexGuard, PoisonError};

use acp_registry_plan::index::{INDEX_LIMIT, Index};

/// What the caller has written, what it can read, and the index.
struct CallInput {
    input: Vec<u8>,
    output: String,
    index: Option<Index>,
}

static STATE: Mutex<CallInput> = Mutex::new(CallInput { input: Vec::new(), output: String::new(), index: None });

fn state() -> MutexGuard<'static, CallInput> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for this many bytes, and returns its address; null if `length` exceeds [`INDEX_LIMIT`].
#[expect(unsafe_code, reason = "exports the function; nothing else has its name")]
#[unsafe(no_mangle)]
pub extern "C" fn plan_input(length: usize) -> *mut u8 {
    if length as u64 > INDEX_LIMIT {
        return std::ptr::null_mut();
    }
    let mut state = state();
    state.input = vec![0; length];
    state.input.as_mut_ptr()
}

/// Takes the input as the text of an index. Returns the length of the document: that of `list`, or an error.
#[expect(unsafe_code, reason = "exports the function; nothing else has its name")]
#[unsafe(no_mangle)]
pub extern "C" fn plan_open() -> usize {
    let mut state = state();
    let text = std::mem::take(&mut state.input);
    (state.index, state.output) = answers::open(text);
    state.output.len()
}

/// Takes the input as a request. Returns the length of the document: that of `resolve`, or an error.
#[expect(unsafe_code, reason = "exports the function; nothing else has its name")]
#[unsafe(no_mangle)]
pub extern "C" fn plan_resolve() -> usize {
    let mut state = state();
    state.output = answers::resolve(&state.input, state.index.as_ref());
    state.output.len()
}

/// The address of the last document.
#[expect(unsafe_code, reason = "exports the function; nothing else has its name")]
#[unsafe(no_mangle)]
pub extern "C" fn plan_output() -> *const u8 {
    state().output.as_ptr()
}
