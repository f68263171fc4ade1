//! Samples real Pythons with `keyhole record`, as root, and checks every stack.
//!
//! Without root, or in a keyhole that was built without its BPF program, each
//! test says so and passes. `KEYHOLE_PYTHONS` names the programs to sample,
//! separated by colons; else those of pyenv and of the system are. Programs
//! below a folder `…/bin` of another root are given as `ROOT!PROGRAM` and run
//! with `chroot`.

#[path = "record/expectation.rs"]
mod expectation;
#[path = "record/python.rs"]
mod python;
#[path = "record/recording.rs"]
mod recording;

use std::{collections::BTreeSet, ffi::OsString, path::Path, process::Command, time::Duration};

use expectation::Expectation;
use python::{Loading, Python, Workload};
use recording::{Recording, Sample, record, record_under};

/// Whether sampling is possible here; says why not.
fn possible() -> bool {
    let root = std::fs::read_to_string("/proc/self/status")
        .is_ok_and(|status| status.lines().any(|line| line.starts_with("Uid:\t0\t0")));
    if !root {
        eprintln!("skipped: sampling needs root");
        return false;
    }
    let output = Command::new(env!("CARGO_BIN_EXE_keyhole"))
        .args(["record", "-d", "1ms", "-p", "1"])
        .output()
        .expect("keyhole runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    if errors.contains("without its BPF program") {
        eprintln!("skipped: run `cargo xtask ebpf` first");
        return false;
    }
    true
}

/// Runs a test for each Python that `wanted` takes.
fn each(wanted: impl Fn(&Python) -> bool, test: impl Fn(&Python)) {
    if !possible() {
        return;
    }
    let pythons: Vec<Python> = python::all().into_iter().filter(wanted).collect();
    assert!(!pythons.is_empty(), "there is no Python to sample");
    for python in &pythons {
        eprintln!("{python}");
        test(python);
    }
}

/// Samples of Python code that do not fit the source; at most one in a thousand may not.
fn check(python: &Python, recording: &Recording, expectation: &Expectation) {
    let samples: Vec<&Sample> = recording.with_stack().collect();
    assert!(samples.len() >= 30, "{python}: only {} samples\n{}", samples.len(), recording.errors);
    let wrong: Vec<String> = samples
        .iter()
        .filter_map(|sample| expectation.objection(&sample.frames, python.minor))
        .collect();
    assert!(
        wrong.len() * 1000 <= samples.len(),
        "{python}: {} of {} stacks are wrong, for instance\n{}\n{}",
        wrong.len(),
        samples.len(),
        wrong[0],
        recording.errors,
    );
    assert_eq!(recording.lost, 0, "{python}: samples were lost");
    assert_eq!(recording.symbols_lost, 0, "{python}: names were lost");
}

#[test]
fn functions_methods_generators_and_closures() {
    each(
        |_| true,
        |python| {
            let workload = Workload::start(python, "nested.py", &[]);
            let recording = record(&["-p", &workload.pid(), "-n", "3000"]);
            let expectation = Expectation::of("nested.py");
            check(python, &recording, &expectation);
            let seen = recording.functions();
            let names = ["leaf", "middle", "main", "consume", "numbers"];
            for name in names {
                assert!(seen.contains(name), "{python}: {name} was never seen among {seen:?}");
            }
            assert!(
                seen.contains("Shape.area") && seen.contains("Shape.make"),
                "{python}: {seen:?}"
            );
            for sample in recording.with_stack() {
                assert_eq!(sample.thread_state, "match", "{python}");
                assert_eq!(sample.pthread_id, "match", "{python}");
            }
        },
    );
}

#[test]
fn recursion_of_300_is_whole() {
    each(
        |_| true,
        |python| {
            let workload = Workload::start(python, "deep.py", &["300"]);
            let recording = record(&["-p", &workload.pid(), "-n", "300"]);
            check(python, &recording, &Expectation::of("deep.py"));
            for sample in recording.with_stack() {
                assert_eq!(sample.status, "complete", "{python}");
                assert_eq!(sample.frames.len(), 301, "{python}");
            }
        },
    );
}

#[test]
fn recursion_of_5000_is_truncated_and_says_so() {
    each(
        |_| true,
        |python| {
            let workload = Workload::start(python, "recursion.py", &["5000"]);
            let recording = record(&["-p", &workload.pid(), "-n", "150"]);
            let samples: Vec<&Sample> =
                recording.with_stack().filter(|sample| sample.frames.len() > 100).collect();
            assert!(samples.len() >= 30, "{python}: only {} samples", samples.len());
            for sample in samples {
                assert_eq!(sample.status, "truncated", "{python}");
                assert!(sample.frames.len() >= 1000, "{python}: {} frames", sample.frames.len());
                assert_eq!(sample.frames[0].name, "spin", "{python}");
                assert!(sample.frames[1..].iter().all(|frame| frame.name == "descend"), "{python}");
            }
            assert!(recording.truncated > 0, "{python}");
        },
    );
}

#[test]
fn calls_from_native_code_keep_both_sides() {
    each(
        |_| true,
        |python| {
            let workload = Workload::start(python, "callbacks.py", &[]);
            let recording = record(&["-p", &workload.pid()]);
            check(python, &recording, &Expectation::of("callbacks.py"));
            if python.minor >= 11 {
                assert!(
                    recording.with_stack().any(|sample| sample.natives > 1),
                    "{python}: no native boundary was seen"
                );
            }
        },
    );
}

#[test]
fn threads_are_told_by_what_they_do_with_the_gil() {
    each(
        |_| true,
        |python| {
            let workload = Workload::start(python, "threads.py", &[]);
            let recording = record(&["-p", &workload.pid(), "-n", "2000"]);
            assert_eq!(recording.lost, 0);
            let of = |name: &str| -> Vec<&Sample> {
                recording
                    .with_stack()
                    .filter(|sample| sample.frames.iter().any(|frame| frame.name == name))
                    .collect()
            };
            let (holding, releasing) = (of("hold"), of("pack"));
            assert!(holding.len() > 30, "{python}: {} samples of the holder", holding.len());
            assert!(
                releasing.len() > 30,
                "{python}: {} samples of the packing thread",
                releasing.len()
            );
            let share = |samples: &[&Sample], fits: &dyn Fn(&Sample) -> bool| {
                samples.iter().filter(|sample| fits(sample)).count() as f64 / samples.len() as f64
            };
            if python.free_threaded {
                let detached = |sample: &Sample| sample.thread_state == "none current";
                let off = |sample: &Sample| sample.gil == "disabled";
                let runs = share(&holding, &|sample| off(sample) && !detached(sample));
                assert!(runs > 0.9, "{python}: the working thread is attached in {runs}");
                let packs = share(&releasing, &|sample| off(sample) && detached(sample));
                assert!(packs > 0.9, "{python}: the packing thread is detached in {packs}");
                return;
            }
            // While it waits to get the GIL back the holder is not running, and while
            // the data is packed its thread holds nothing. 2.7 lets go of its lock
            // every hundred instructions, without being asked to.
            let holds = share(&holding, &|sample| sample.gil == "this thread");
            let least = if python.major == 2 { 0.6 } else { 0.9 };
            assert!(holds > least, "{python}: the holder holds the GIL in {holds} of its samples");
            let free = share(&releasing, &|sample| sample.gil != "this thread");
            assert!(
                free > 0.9,
                "{python}: the packing thread is without the GIL in {free} of its samples"
            );
        },
    );
}

#[test]
fn samples_are_chosen_by_what_their_thread_does_with_the_gil() {
    each(
        |python| !python.free_threaded && [9, 11, 13].contains(&python.minor),
        |python| {
            let workload = Workload::start(python, "threads.py", &[]);
            let names = |option: &str| -> BTreeSet<String> {
                let recording = record(&["-p", &workload.pid(), "-n", "1500", option]);
                let holds = |sample: &Sample| sample.gil == "this thread";
                for sample in recording.with_stack() {
                    assert_eq!(holds(sample), option == "--gil", "{python}: {option} {sample:?}");
                }
                recording.with_stack().map(|sample| sample.frames[0].name.clone()).collect()
            };
            assert!(names("--gil").contains("hold"), "{python}: the holder is missing");
            assert!(
                names("--released").contains("pack"),
                "{python}: the packing thread is missing"
            );
        },
    );
}

#[test]
fn a_forked_child_is_sampled_like_its_parent() {
    each(
        |_| true,
        |python| {
            let workload = Workload::start(python, "fork.py", &[]);
            let recording = record(&["-p", &workload.pid()]);
            let child: Vec<&Sample> = recording
                .with_stack()
                .filter(|sample| sample.pid != workload.id())
                // What libraries do at a fork is not ours.
                .filter(|sample| sample.frames.iter().any(|frame| frame.name == "child"))
                .collect();
            assert!(child.len() >= 30, "{python}: {} samples of the child", child.len());
            let expectation = Expectation::of("fork.py");
            for sample in child {
                assert_eq!(expectation.objection(&sample.frames, python.minor), None, "{python}");
            }
        },
    );
}

#[test]
fn another_program_in_the_same_process_is_another_python() {
    if !possible() {
        return;
    }
    let pythons = python::all();
    for (first, second) in pythons.iter().zip(pythons.iter().skip(1)) {
        if first.root != second.root {
            continue;
        }
        eprintln!("{first}, then {second}");
        // Its output must not be ours: it goes on when keyhole has ended.
        let quietly = "exec \"$0\" \"$@\" > /dev/null 2>&1";
        let mut words: Vec<OsString> =
            ["-n", "3500", "-r", "4999", "--", "/bin/sh", "-c", quietly].map(Into::into).into();
        words.extend(first.words());
        let paths =
            [first.script("replace.py"), second.program.clone(), second.script("nested.py")];
        words.extend(paths.map(Into::into));
        let recording = record(&words);
        for pid in recording.samples.iter().map(|sample| sample.pid).collect::<BTreeSet<_>>() {
            let _ = Command::new("kill").args(["-9", &pid.to_string()]).status();
        }
        let (before, after) = (Expectation::of("replace.py"), Expectation::of("nested.py"));
        let mut seen = (0, 0);
        for sample in recording.with_stack() {
            if before.objection(&sample.frames, first.minor).is_none() {
                seen.0 += 1;
            } else if after.objection(&sample.frames, second.minor).is_none() {
                seen.1 += 1;
            }
        }
        assert!(seen.0 >= 30, "{first}: {} samples\n{}", seen.0, recording.errors);
        assert!(seen.1 >= 30, "{second}: {} samples\n{}", seen.1, recording.errors);
    }
}

#[test]
fn keys_may_be_burnt() {
    let Some(burner) = python::key_burner() else {
        eprintln!("skipped: there is no C compiler to make keys with");
        return;
    };
    each(
        |_| true,
        |python| {
            let burner = python.brought_in(burner.path());
            for keys in ["3", "40"] {
                let environment =
                    [("LD_PRELOAD", burner.as_os_str()), ("KEYHOLE_BURNT_KEYS", keys.as_ref())];
                let workload = Workload::start_with(python, "deep.py", &["10"], &environment);
                let recording = record(&["-p", &workload.pid()]);
                check(python, &recording, &Expectation::of("deep.py"));
            }
        },
    );
}

#[test]
fn a_process_that_is_still_being_loaded() {
    let Some(helper) = python::loading_helper() else {
        eprintln!("skipped: there is no C compiler for the program that stops a loader");
        return;
    };
    each(
        |_| true,
        |python| {
            let mut loading = Loading::start(&helper, python, "deep.py", &["10"]);
            let pid = loading.pid().to_string();
            let recording = std::thread::scope(|scope| {
                // Up to 700 have been seen of its start alone.
                let recording = scope.spawn(|| record(&["-p", &pid, "-n", "3000"]));
                std::thread::sleep(Duration::from_millis(500));
                loading.go_on();
                recording.join().expect("recorded")
            });
            let expectation = Expectation::of("deep.py");
            let right = recording
                .with_stack()
                .filter(|sample| expectation.objection(&sample.frames, python.minor).is_none())
                .count();
            // Samples of its start are of other files.
            assert!(right >= 30, "{python}: {right} samples\n{}", recording.errors);
        },
    );
}

#[test]
fn names_may_be_long_and_of_any_script() {
    each(
        |python| python.major == 3,
        |python| {
            let workload = Workload::start(python, "names.py", &[]);
            let recording = record(&["-p", &workload.pid()]);
            let seen = recording.functions();
            assert!(seen.contains("größe"), "{python}: {seen:?}");
            assert!(seen.contains("函数"), "{python}");
            let long = "a_function_with_a_name_that_is_long_".repeat(60);
            assert!(seen.contains(&long), "{python}: the long name is cut");
            assert_eq!(recording.symbols_lost, 0, "{python}");
        },
    );
}

#[test]
fn interpreters_inside_are_seen() {
    each(
        |python| python.major == 3 && python.minor >= 8,
        |python| {
            let workload = Workload::start(python, "interpreters.py", &[]);
            let recording = record(&["-p", &workload.pid()]);
            let inside =
                recording.with_stack().filter(|sample| sample.frames[0].name == "inside").count();
            assert!(inside >= 30, "{python}: {inside} samples inside\n{}", recording.errors);
        },
    );
}

#[test]
fn stray_mappings_and_a_second_runtime_do_not_confuse() {
    each(
        |python| python.major == 3,
        |python| {
            let copy = python.any_library().map(|library| {
                let folder = python.folder();
                let copy = folder.path().join("libpython-copy.so");
                std::fs::copy(library, &copy).expect("copied");
                (python.brought_in(&copy), folder)
            });
            let arguments: Vec<String> =
                copy.iter().map(|(path, _)| path.to_string_lossy().into_owned()).collect();
            let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
            // The workload reads its own memory maps.
            let root = python.root.as_deref().unwrap_or(Path::new("/")).to_string_lossy();
            let with_proc = "mount -t proc proc \"$0/proc\" && exec \"$@\"";
            let under = ["unshare", "-m", "/bin/sh", "-c", with_proc, &root];
            let workload = Workload::start_under(python, "remap.py", &arguments, &under);
            let recording = record(&["-p", &workload.pid()]);
            check(python, &recording, &Expectation::of("remap.py"));
            if copy.is_some() {
                assert!(
                    recording.errors.contains("several Python runtimes"),
                    "{}",
                    recording.errors
                );
            }
        },
    );
}

#[test]
fn namespaces_of_its_own() {
    each(
        |_| true,
        |python| {
            let workload = Workload::start_under(
                python,
                "deep.py",
                &["10"],
                &["unshare", "-pfm", "--mount-proc"],
            );
            let pid = workload.descendant();
            let recording = record(&["-p", &pid.to_string()]);
            check(python, &recording, &Expectation::of("deep.py"));
            assert!(recording.with_stack().all(|sample| sample.pid == pid), "{python}");
        },
    );
}

#[test]
fn a_recorder_in_a_namespace_of_its_own() {
    each(
        |python| python.major == 3 && python.minor >= 7,
        |python| {
            let mut words: Vec<OsString> = ["-r", "997", "--"].map(Into::into).into();
            words.extend(python.words());
            words.extend([python.script("shares.py").into(), "0.2".into()]);
            let recording = record_under(&["unshare", "-pfm", "--mount-proc"], &words);
            let work = recording
                .with_stack()
                .filter(|sample| sample.frames.iter().any(|frame| frame.name == "work"))
                .collect::<Vec<_>>();
            assert!(work.len() >= 30, "{python}: {} samples\n{}", work.len(), recording.errors);
            // Its numbers, not ours: the namespace's first process is the recorder.
            assert!(work.iter().all(|sample| sample.pid < 100), "{python}");
        },
    );
}

#[test]
fn pages_that_are_not_resident_are_read_later() {
    each(
        |_| true,
        |python| {
            let workload = Workload::start(python, "paged_out.py", &[]);
            let recording = record(&["-p", &workload.pid()]);
            check(python, &recording, &Expectation::of("paged_out.py"));
            for what in ["names on pages that were not resident", "code was not resident"] {
                assert!(recording.errors.contains(what), "{python}: no {what}");
            }
        },
    );
}

#[test]
fn a_program_that_was_deleted_while_it_runs() {
    each(Python::is_static, |python| {
        let folder = python.folder();
        let (copy, program) = python.copied_to(&folder);
        let workload = Workload::start(&copy, "deep.py", &["10"]);
        std::fs::remove_file(&program).expect("removed");
        let recording = record(&["-p", &workload.pid()]);
        check(&copy, &recording, &Expectation::of("deep.py"));
        // Replaced: another file has its name.
        std::fs::copy("/bin/true", &program).expect("replaced");
        let recording = record(&["-p", &workload.pid()]);
        check(&copy, &recording, &Expectation::of("deep.py"));
    });
}

/// Records a short-lived process several times in a row: the first is analyzed
/// while it runs.
fn record_in_a_row(
    times: u32,
    rate: &str,
    python: &Python,
    arguments: impl IntoIterator<Item = OsString>,
) -> Recording {
    let shell = format!("i=0; while [ $i -lt {times} ]; do i=$((i + 1)); \"$@\"; done");
    let mut words: Vec<OsString> =
        ["-r", rate, "--", "/bin/sh", "-c", &shell, "sh"].map(Into::into).into();
    words.extend(python.words());
    words.extend(arguments);
    record(&words)
}

#[test]
fn a_process_that_lives_50_milliseconds() {
    each(
        |python| python.major == 3,
        |python| {
            let script = "import time\nend = time.process_time() + 0.05\ndef short():\n    while time.process_time() < end: pass\nshort()\n";
            let script = ["-S", "-c", script].map(Into::into);
            let recording = record_in_a_row(8, "4999", python, script);
            let processes: BTreeSet<u32> = recording
                .with_stack()
                .filter(|sample| sample.frames[0].name == "short")
                .map(|sample| sample.pid)
                .collect();
            assert!(
                processes.len() >= 7,
                "{python}: {} of 8\n{}",
                processes.len(),
                recording.errors
            );
            assert_eq!(
                recording.symbols_lost, 0,
                "{python}: names died with their process\n{}",
                recording.errors
            );
        },
    );
}

#[test]
fn code_in_the_programs_file_keeps_its_name_when_the_process_is_gone() {
    each(
        |python| python.major == 3,
        |python| {
            let script = [python.script("frozen.py").into()];
            let recording = record_in_a_row(4, "999", python, script);
            let dropped = recording.before_samples.contains("dropped");
            let read_later = recording.errors.contains("code was not resident");
            assert!(read_later || !dropped, "{python}: {}", recording.errors);
            assert!(recording.functions().contains("spin"), "{python}: {}", recording.errors);
            assert_eq!(recording.symbols_lost, 0, "{python}: {}", recording.errors);
        },
    );
}

#[test]
fn shares_of_time_are_right() {
    each(
        |python| python.major == 3 && python.minor >= 7,
        |python| {
            let mut words: Vec<OsString> = ["-r", "997", "--"].map(Into::into).into();
            words.extend(python.words());
            words.extend([python.script("shares.py").into(), "2".into()]);
            let recording = record(&words);
            let spent: Vec<f64> = recording
                .before_samples
                .split_whitespace()
                .filter_map(|number| number.parse().ok())
                .collect();
            assert_eq!(spent.len(), 3, "{python}: {}", recording.before_samples);
            let total: f64 = spent.iter().sum();
            let samples: Vec<&Sample> = recording
                .with_stack()
                .filter(|sample| sample.frames.iter().any(|frame| frame.name == "work"))
                .collect();
            let number = samples.len() as f64;
            assert!(number > 100.0, "{python}: {number} samples");
            for (name, spent) in ["sixty", "thirty", "ten"].iter().zip(&spent) {
                let seen = samples
                    .iter()
                    .filter(|sample| sample.frames.iter().any(|frame| frame.name == *name))
                    .count() as f64;
                let (share, expected) = (seen / number, spent / total);
                // Four standard deviations: one false alarm in 16 000 runs of a share.
                let tolerance = 4.0 * (expected * (1.0 - expected) / number).sqrt();
                assert!(
                    (share - expected).abs() <= tolerance,
                    "{python}: {name} has {share:.4}, not {expected:.4} ± {tolerance:.4} of {number} samples"
                );
            }
        },
    );
}

#[test]
fn errors_say_what_to_do() {
    if !possible() {
        return;
    }
    let fails = |arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_keyhole"))
            .arg("record")
            .args(arguments)
            .output()
            .expect("keyhole runs");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(fails(&["-p", "4194304", "-d", "1s"]).contains("there is no such process"));
    assert!(fails(&["-p", "1", "-d", "1s", "-o", "x.unknown"]).contains("names no format"));
    assert!(fails(&["-d", "1s"]).contains("--pid"));

    // A process that is no Python is waited for, and named in the end.
    let mut sleep = Command::new("sleep").arg("60").spawn().expect("sleep runs");
    let output = Command::new(env!("CARGO_BIN_EXE_keyhole"))
        .args(["record", "-d", "300ms", "-p", &sleep.id().to_string()])
        .output()
        .expect("keyhole runs");
    let _ = sleep.kill();
    let _ = sleep.wait();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no Python runtime"));
    std::thread::sleep(Duration::from_millis(10));
}
