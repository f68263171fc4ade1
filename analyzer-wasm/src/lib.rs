//! The analyzer for JavaScript: takes bytes, returns the report.
//!
//! No logic of its own; everything is [`analyzer_core`]. The generated glue
//! is wrapped by `npm/index.js`, which loads the module and replaces the
//! instance after a panic.

use analyzer_core::report::Report;
#[cfg(feature = "reproducer")]
use analyzer_core::shrink as reproducer;
use analyzer_core::{Options, analyze as analyze_image};
#[cfg(feature = "reproducer")]
use js_sys::{Array, Object};
use js_sys::{Error, JSON, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

/// Largest file taken, in bytes: 512 MiB. The module's memory ends at 4 GiB,
/// and no libpython comes near.
const LIMIT: u32 = 512 << 20;

/// What an analysis may be told.
#[wasm_bindgen]
extern "C" {
    /// `{ path?: string, trace?: boolean }`.
    #[wasm_bindgen(typescript_type = "AnalyzeOptions")]
    pub type AnalyzeOptions;

    /// The file's name, for the report.
    #[wasm_bindgen(method, getter, structural)]
    fn path(this: &AnalyzeOptions) -> Option<String>;

    /// Whether to record the instructions looked at; they are unless this is false.
    #[wasm_bindgen(method, getter, structural)]
    fn trace(this: &AnalyzeOptions) -> Option<bool>;
}

/// Runs when the module is instantiated.
#[wasm_bindgen(start)]
fn start() {
    // A panic leaves as a JavaScript exception with its text. The instance is
    // not used again after that.
    std::panic::set_hook(Box::new(|panic| {
        wasm_bindgen::throw_val(error("panic", panic.payload_as_str().unwrap_or_default()));
    }));
}

/// The report as a plain object.
///
/// # Errors
/// A JavaScript `Error` with a `code`: `too-large`, `out-of-memory`, `panic`.
#[wasm_bindgen]
pub fn analyze(bytes: &Uint8Array, options: Option<AnalyzeOptions>) -> Result<JsValue, JsValue> {
    JSON::parse(&analyze_json(bytes, options)?)
}

/// The report as JSON text, every number exact.
///
/// # Errors
/// As [`analyze`].
#[wasm_bindgen(js_name = analyzeJson)]
#[expect(clippy::needless_pass_by_value, reason = "wasm-bindgen takes an optional object by value")]
pub fn analyze_json(
    bytes: &Uint8Array,
    options: Option<AnalyzeOptions>,
) -> Result<String, JsValue> {
    let path = options.as_ref().and_then(AnalyzeOptions::path).unwrap_or_default();
    let trace = options.as_ref().and_then(AnalyzeOptions::trace).unwrap_or(true);
    let bytes = copy(bytes)?;
    #[cfg(feature = "provoke")]
    assert!(!bytes.starts_with(b"PANIC"), "provoked");
    let report = analyze_image(&bytes, &Options { path, trace, debug_file: None });
    json(&report)
}

/// A small ELF file that gives the same report, with what differs all the
/// same: `{ bytes: Uint8Array, differences: string[] }`.
///
/// # Errors
/// As [`analyze`], and `no-reproducer` for a file that none can be cut from.
#[cfg(feature = "reproducer")]
#[wasm_bindgen]
pub fn shrink(bytes: &Uint8Array) -> Result<JsValue, JsValue> {
    let bytes = copy(bytes)?;
    let small = reproducer::shrink(&bytes, &Options::default())
        .map_err(|e| error("no-reproducer", &e.to_string()))?;
    let result = Object::new();
    Reflect::set(&result, &"bytes".into(), &Uint8Array::from(&small.bytes[..]))?;
    let differences: Array = small.differences.into_iter().map(JsValue::from).collect();
    Reflect::set(&result, &"differences".into(), &differences)?;
    Ok(result.into())
}

/// This package's version.
#[wasm_bindgen]
#[must_use]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

/// Largest file taken, in bytes.
#[wasm_bindgen]
#[must_use]
pub fn limit() -> u32 {
    LIMIT
}

/// Brings the file into the module's memory, once.
fn copy(bytes: &Uint8Array) -> Result<Vec<u8>, JsValue> {
    let length = bytes.length();
    if length > LIMIT {
        let text = format!("the file has {length} bytes; the limit is {LIMIT}");
        return Err(error("too-large", &text));
    }
    let mut memory = Vec::new();
    memory
        .try_reserve_exact(length as usize)
        .map_err(|_| error("out-of-memory", &format!("no memory for {length} bytes")))?;
    bytes.copy_to_uninit(&mut memory.spare_capacity_mut()[..length as usize]);
    // SAFETY: that many bytes were reserved, and `copy_to_uninit` has written
    // all of the slice it was given.
    unsafe { memory.set_len(length as usize) };
    Ok(memory)
}

fn json(report: &Report) -> Result<String, JsValue> {
    serde_json::to_string(report).map_err(|e| error("report", &e.to_string()))
}

/// A JavaScript `Error` with a `code`.
fn error(code: &str, message: &str) -> JsValue {
    let error = Error::new(message);
    // Setting a member of a fresh object cannot fail.
    Reflect::set(&error, &"code".into(), &code.into()).ok();
    error.into()
}
