//! The C library an image was linked for.

use crate::{image::Image, report::Libc};

/// Read from the interpreter's name, then from the names of needed libraries.
pub(super) fn of(image: &Image<'_>) -> Option<Libc> {
    let of_name = |name: &str| {
        let file = name.rsplit('/').next().unwrap_or(name);
        if file.starts_with("ld-musl") || file.starts_with("libc.musl") || file == "libc.so" {
            Some(Libc::Musl)
        } else if file.starts_with("ld-linux") || file == "libc.so.6" || file == "libpthread.so.0" {
            Some(Libc::Glibc)
        } else {
            None
        }
    };
    image.interpreter().and_then(of_name).or_else(|| image.needed().find_map(of_name))
}
