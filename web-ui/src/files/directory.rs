//! The files below a dropped directory.

use std::collections::VecDeque;

use js_sys::{Array, Promise};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{File, FileSystemDirectoryEntry, FileSystemEntry, FileSystemFileEntry};

/// All files below `entries`, breadth first, at most `limit`.
///
/// A directory or file that the browser cannot read is passed over: there is
/// no answer to give for it.
pub(crate) async fn files_below(entries: Vec<FileSystemEntry>, limit: usize) -> Vec<File> {
    let mut waiting: VecDeque<FileSystemEntry> = entries.into();
    let mut files = Vec::new();
    while let Some(entry) = waiting.pop_front() {
        if files.len() >= limit {
            break;
        }
        if entry.is_file() {
            if let Ok(file) = file(entry.unchecked_into()).await {
                files.push(file);
            }
        } else if let Ok(children) = children(&entry.unchecked_into()).await {
            waiting.extend(children);
        }
    }
    files
}

async fn file(entry: FileSystemFileEntry) -> Result<File, JsValue> {
    let promise = Promise::new(&mut |resolve, reject| {
        entry.file_with_callback_and_callback(&resolve, &reject);
    });
    Ok(JsFuture::from(promise).await?.unchecked_into())
}

async fn children(entry: &FileSystemDirectoryEntry) -> Result<Vec<FileSystemEntry>, JsValue> {
    let reader = entry.create_reader();
    let mut children = Vec::new();
    // A reader hands out a part each time, and nothing at the end.
    loop {
        let promise = Promise::new(&mut |resolve, reject| {
            if let Err(error) = reader.read_entries_with_callback_and_callback(&resolve, &reject) {
                // Rejecting a promise cannot fail.
                reject.call1(&JsValue::NULL, &error).ok();
            }
        });
        let part: Array = JsFuture::from(promise).await?.unchecked_into();
        if part.length() == 0 {
            return Ok(children);
        }
        children.extend(part.iter().map(JsCast::unchecked_into::<FileSystemEntry>));
    }
}
