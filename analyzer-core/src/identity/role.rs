//! Runtime image, launcher, or something else.

use alloc::{borrow::ToOwned, string::String};

use crate::image::Image;
use crate::search::contains;

/// What an image is to a Python process.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// It holds a Python runtime.
    Runtime,
    /// It uses a Python runtime that another file holds.
    Launcher {
        /// The `DT_NEEDED` entry that names it; absent when none does.
        library: Option<String>,
    },
    /// Neither.
    Other,
}

/// Symbols that only a file with a Python runtime defines.
///
/// `_PyRuntime` exists from 3.7, `Py_Version` from 3.11, the functions in every
/// version (CPython's `Python/pystate.c`).
const DEFINED_BY_RUNTIME: [&str; 5] = [
    "_PyRuntime",
    "PyGILState_Ensure",
    "PyGILState_GetThisThreadState",
    "PyThreadState_Get",
    "Py_Version",
];

/// Functions with which a program starts a Python runtime.
const USED_BY_LAUNCHER: [&str; 5] =
    ["Py_BytesMain", "Py_Main", "Py_RunMain", "Py_Initialize", "Py_InitializeEx"];

pub(super) fn of(image: &Image<'_>) -> Role {
    let copied = || DEFINED_BY_RUNTIME.iter().any(|name| image.copy_relocated(name).is_some());
    let defined = image.exports(&DEFINED_BY_RUNTIME);
    let functions = defined.iter().flatten().count();
    if (functions > 0 && !copied()) || image.section(".PyRuntime").is_some() {
        return Role::Runtime;
    }
    let library =
        image.needed().find(|name| contains(name.as_bytes(), b"libpython")).map(ToOwned::to_owned);
    let starts_python = || USED_BY_LAUNCHER.iter().any(|name| image.undefined(name).is_some());
    if library.is_some() || starts_python() {
        return Role::Launcher { library };
    }
    if super::runtime::cookie(image).is_some() { Role::Runtime } else { Role::Other }
}
