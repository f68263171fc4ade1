//! The whole analysis, and each of its stages, on the largest libpython of the
//! machine (or on the file that `KEYHOLE_BENCH_FILE` names), mapped into memory.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::LazyLock,
};

use analyzer_core::{
    Options, analyze, eval_loop,
    identity::{self, Identity},
    image::Image,
    routes, shrink,
    strategies::{self, Subject},
    verdict,
};
use divan::{Bencher, black_box};
use memmap2::Mmap;

fn main() {
    eprintln!("file: {} ({} bytes)", FILE.0.display(), FILE.1.len());
    divan::main();
}

static FILE: LazyLock<(PathBuf, Mmap)> = LazyLock::new(|| {
    let path = env::var_os("KEYHOLE_BENCH_FILE")
        .map(PathBuf::from)
        .or_else(largest_libpython)
        .expect("a libpython on this machine, or KEYHOLE_BENCH_FILE");
    let file = fs::File::open(&path).expect("a readable file");
    // SAFETY: nobody writes to an installed library while it is measured.
    let bytes = unsafe { Mmap::map(&file) }.expect("a file that can be mapped");
    (path, bytes)
});

fn largest_libpython() -> Option<PathBuf> {
    let home = env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let mut folders = vec![PathBuf::from("/usr/local/lib"), PathBuf::from("/usr/lib64")];
    folders.extend(entries(Path::new("/usr/lib")));
    folders.extend(entries(&home.join(".pyenv/versions")).map(|version| version.join("lib")));
    folders
        .iter()
        .flat_map(|folder| entries(folder))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("libpython") && name.contains(".so.1.0")
        })
        .max_by_key(|path| fs::metadata(path).map_or(0, |metadata| metadata.len()))
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn image() -> Image<'static> {
    Image::parse(&FILE.1).expect("an image")
}

fn identified() -> (Image<'static>, Identity) {
    let image = image();
    let identity = identity::identify(&image, false);
    (image, identity)
}

#[divan::bench]
fn routes_alone() {
    black_box(routes(black_box(&FILE.1))).expect("an image");
}

#[divan::bench(args = [false, true])]
fn full_report(trace: bool) {
    let options = Options { trace, ..Options::default() };
    black_box(analyze(black_box(&FILE.1), &options));
}

#[divan::bench]
fn stage_1_image() {
    black_box(image());
}

#[divan::bench]
fn stage_2_identity(bencher: Bencher<'_, '_>) {
    bencher.with_inputs(image).bench_refs(|image| identity::identify(image, false));
}

#[divan::bench(args = [false, true])]
fn stage_3_strategies(bencher: Bencher<'_, '_>, thorough: bool) {
    bencher.with_inputs(identified).bench_refs(|(image, identity)| {
        let subject = Subject::new(image, identity, None, thorough);
        strategies::run(&subject).len()
    });
}

#[divan::bench]
fn stage_4_verdict(bencher: Bencher<'_, '_>) {
    let (image, identity) = identified();
    let attempts = strategies::run(&Subject::new(&image, &identity, None, false));
    bencher.bench_local(|| verdict::weigh(black_box(&attempts), identity.runtime.as_ref()));
}

#[divan::bench]
fn evaluation_loop(bencher: Bencher<'_, '_>) {
    bencher
        .with_inputs(identified)
        .bench_refs(|(image, identity)| eval_loop::eval_loop(image, identity.version));
}

#[divan::bench]
fn reproducer() {
    black_box(shrink::shrink(black_box(&FILE.1), &Options::default())).expect("a reproducer");
}
