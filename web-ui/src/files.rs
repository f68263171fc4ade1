//! Files from a drop, a paste, the file dialog, or a directory.

mod directory;

use js_sys::Uint8Array;
use wasm_bindgen::JsCast;
use wasm_bindgen_futures::JsFuture;
use web_sys::{DataTransfer, File, FileList};

use crate::analysis::Source;
use crate::session::Intake;

/// Files looked at in one gesture; the rest is passed over and counted.
const MANY: usize = 4000;

/// Everything in a list of the browser's.
pub(crate) fn listed(list: Option<FileList>) -> Vec<File> {
    let Some(list) = list else { return Vec::new() };
    (0..list.length()).filter_map(|index| list.get(index)).collect()
}

/// What a drop or paste carries: files, and what is in directories.
///
/// Must be called in the event's handler: the browser empties the transfer
/// as soon as that returns. The rest happens in the returned future.
pub(crate) fn carried(transfer: &DataTransfer) -> impl Future<Output = Vec<File>> + use<> {
    let items = transfer.items();
    let entries: Vec<_> = (0..items.length())
        .filter_map(|index| items.get(index))
        .filter_map(|item| item.webkit_get_as_entry().ok().flatten())
        .collect();
    let files = listed(transfer.files());
    async move {
        if entries.iter().any(web_sys::FileSystemEntry::is_directory) {
            directory::files_below(entries, MANY).await
        } else {
            files
        }
    }
}

/// Chooses what to analyze: a single file as it is, of several those that
/// are ELF files; when none is, the first, so that the user gets an answer.
pub(crate) async fn intake(files: Vec<File>, since: f64) -> Intake {
    let given = files.len();
    let mut chosen = Vec::new();
    if given > 1 {
        for file in files.iter().take(MANY) {
            if is_elf(file).await {
                chosen.push(file.clone());
            }
        }
    }
    if chosen.is_empty() {
        chosen.extend(files.into_iter().next());
    }
    Intake {
        skipped: given.saturating_sub(chosen.len()),
        files: chosen.into_iter().map(|file| (name(&file), Source::File(file))).collect(),
        since,
    }
}

async fn is_elf(file: &File) -> bool {
    let Ok(head) = file.slice_with_i32_and_i32(0, 4) else { return false };
    let Ok(buffer) = JsFuture::from(head.array_buffer()).await else { return false };
    Uint8Array::new(&buffer).to_vec() == b"\x7fELF"
}

/// The path below the chosen directory where the browser tells, or the name.
fn name(file: &File) -> String {
    let path = js_sys::Reflect::get(file, &"webkitRelativePath".into())
        .ok()
        .and_then(|path| path.as_string())
        .filter(|path| !path.is_empty());
    path.unwrap_or_else(|| file.unchecked_ref::<File>().name())
}
