//! The built-in examples: small ELF files beside the page.

use std::rc::Rc;

use js_sys::{ArrayBuffer, Uint8Array};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::Response;

use crate::analysis::Source;
use crate::session::Intake;
use crate::words;

/// One example.
pub(crate) struct Example {
    /// File name below `examples/`; also the name it is shown under.
    pub(crate) file: &'static str,
    /// What it shows, for its button.
    pub(crate) title: &'static str,
    /// Why that is interesting.
    pub(crate) words: &'static str,
}

/// All examples, in the order of the page.
pub(crate) static EXAMPLES: [Example; 4] = [
    Example {
        file: "libpython3.12-no-lto.so",
        title: "Key kept in rbp",
        words: "Python 3.12 built without LTO: the key's address waits in rbp across a call.",
    },
    Example {
        file: "libpython3.11-gcloud.so",
        title: "Offset first, base later",
        words: "Python 3.11 of the Google Cloud SDK: the offset is loaded before its base is added.",
    },
    Example {
        file: "libpython3.11-debian12.so",
        title: "A healthy build",
        words: "Python 3.11 of Debian 12: base first, then the offset, as decoders of code expect it.",
    },
    Example {
        file: "libpython3.13-arm64.so",
        title: "Thread-local, on Arm",
        words: "Python 3.13 of Debian 13: a variable behind a TLS descriptor, beside the key.",
    },
];

/// Loads an example from beside the page.
///
/// # Errors
/// It cannot be loaded: the page was opened without its files.
pub(crate) async fn load(example: &Example) -> Result<Intake, JsValue> {
    let since = words::now();
    let url = format!("examples/{}", example.file);
    let response: Response =
        JsFuture::from(gloo_utils::window().fetch_with_str(&url)).await?.unchecked_into();
    if !response.ok() {
        return Err(format!("{url}: status {}", response.status()).into());
    }
    let buffer: ArrayBuffer = JsFuture::from(response.array_buffer()?).await?.unchecked_into();
    let bytes: Rc<[u8]> = Uint8Array::new(&buffer).to_vec().into();
    Ok(Intake { files: vec![(example.file.to_owned(), Source::Bytes(bytes))], skipped: 0, since })
}
