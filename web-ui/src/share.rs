//! Links that carry a report: `#report=1.TEXT`, where `1` is the version of
//! the form and TEXT is base64url of the raw-deflated JSON. A fragment is
//! never sent to a server. The form is kept readable for ever; a new one
//! gets a new number.

use js_sys::{Array, JSON, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, Response};

// web-sys counts these as unstable, which would have to be switched on for
// the whole build.
#[wasm_bindgen]
extern "C" {
    type CompressionStream;
    #[wasm_bindgen(constructor, catch)]
    fn new(format: &str) -> Result<CompressionStream, JsValue>;

    type DecompressionStream;
    #[wasm_bindgen(constructor, catch)]
    fn new(format: &str) -> Result<DecompressionStream, JsValue>;
}

const FORMAT: &str = "deflate-raw";
const PREFIX: &str = "#report=1.";

/// Longest link offered, in characters: longer ones break in chat and mail.
pub(crate) const LONGEST: usize = 30_000;

/// Longest JSON text a link may unfold to, in bytes: enough for any report,
/// and a stop for links made to fill the memory.
const UNFOLDED: usize = 8 << 20;

/// What of a report's code a link holds.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kept {
    /// All of it.
    Everything,
    /// That of one strategy that found a route.
    OneStrategy,
    /// None of it.
    NoCode,
}

/// The fragment for a report, with as much of its code as a link can hold;
/// longer than [`LONGEST`] only when the rest alone is.
///
/// # Errors
/// The browser cannot compress.
pub(crate) async fn fragment(json: &str) -> Result<(String, Kept), JsValue> {
    let whole = pack(json).await?;
    if whole.len() <= LONGEST {
        return Ok((whole, Kept::Everything));
    }
    let one = pack(&with_traces(json, 1)?).await?;
    if one.len() <= LONGEST {
        return Ok((one, Kept::OneStrategy));
    }
    Ok((pack(&with_traces(json, 0)?).await?, Kept::NoCode))
}

/// The report's JSON text with the first `kept` traces of strategies that
/// found a route, the others empty, as in a report made without traces.
fn with_traces(json: &str, kept: usize) -> Result<String, JsValue> {
    let report = JSON::parse(json)?;
    let mut left = kept;
    for strategy in Array::from(&Reflect::get(&report, &"strategies".into())?) {
        let trace = Array::from(&Reflect::get(&strategy, &"trace".into())?);
        let found = Reflect::get(&strategy, &"outcome".into())? == "route";
        if trace.length() > 0 && found && left > 0 {
            left -= 1;
        } else {
            Reflect::set(&strategy, &"trace".into(), &Array::new())?;
        }
    }
    written(&report)
}

/// The report's JSON text without the file's name and build id; nothing when
/// the text is no report, so that no name gets out.
pub(crate) fn nameless(json: &str) -> String {
    let without = || -> Result<String, JsValue> {
        let report = JSON::parse(json)?;
        let file = Reflect::get(&report, &"file".into())?;
        Reflect::set(&file, &"path".into(), &"".into())?;
        Reflect::set(&file, &"build_id".into(), &JsValue::NULL)?;
        written(&report)
    };
    without().unwrap_or_default()
}

fn written(report: &JsValue) -> Result<String, JsValue> {
    Ok(JSON::stringify(report)?.into())
}

async fn pack(json: &str) -> Result<String, JsValue> {
    let stream = CompressionStream::new(FORMAT)?;
    let text = Blob::new_with_str_sequence(&Array::of1(&json.into()))?;
    let packed = text.stream().pipe_through(stream.unchecked_ref());
    let buffer =
        JsFuture::from(Response::new_with_opt_readable_stream(Some(&packed))?.array_buffer()?)
            .await?;
    Ok(format!("{PREFIX}{}", encode(&Uint8Array::new(&buffer).to_vec())))
}

/// The JSON text in a fragment; nothing when the fragment carries none.
///
/// # Errors
/// It is damaged or unfolds to more than a report has.
pub(crate) async fn unfold(fragment: &str) -> Option<Result<String, String>> {
    let text = fragment.strip_prefix(PREFIX)?;
    Some(match decode(text) {
        None => Err("it is not complete".to_owned()),
        Some(packed) => inflate(&packed).await,
    })
}

async fn inflate(packed: &[u8]) -> Result<String, String> {
    let broken = |_: JsValue| "it is damaged".to_owned();
    let stream = DecompressionStream::new(FORMAT).map_err(broken)?;
    let blob =
        Blob::new_with_u8_array_sequence(&Array::of1(&Uint8Array::from(packed))).map_err(broken)?;
    let unpacked = blob.stream().pipe_through(stream.unchecked_ref());
    let reader: web_sys::ReadableStreamDefaultReader = unpacked.get_reader().unchecked_into();
    let mut text = Vec::new();
    loop {
        let part = JsFuture::from(reader.read()).await.map_err(broken)?;
        let value = Reflect::get(&part, &"value".into()).map_err(broken)?;
        if value.is_undefined() {
            break;
        }
        text.extend(value.unchecked_into::<Uint8Array>().to_vec());
        if text.len() > UNFOLDED {
            return Err("it unfolds to more than a report can be".to_owned());
        }
    }
    String::from_utf8(text).map_err(|_| "it is damaged".to_owned())
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// base64url without padding (RFC 4648, section 5).
fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=group.len() {
            let index = bits >> (18 - 6 * place) & 63;
            text.push(char::from(ALPHABET[index as usize]));
        }
    }
    text
}

fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for letter in group {
            let index = ALPHABET.iter().position(|known| known == letter)?;
            bits = bits << 6 | u32::try_from(index).ok()?;
        }
        bits <<= 6 * (4 - group.len());
        let count = group.len().checked_sub(1).filter(|&count| count > 0)?;
        bytes.extend_from_slice(&bits.to_be_bytes()[1..=count]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64url_both_ways() {
        for (bytes, text) in [
            (&b""[..], ""),
            (b"f", "Zg"),
            (b"fo", "Zm8"),
            (b"foo", "Zm9v"),
            (b"foobar", "Zm9vYmFy"),
            (&[0xfb, 0xff, 0xfe], "-__-"),
        ] {
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        for broken in ["Z", "Zg=", "Z g", "Zm9vY"] {
            assert_eq!(decode(broken), None, "{broken}");
        }
    }
}
