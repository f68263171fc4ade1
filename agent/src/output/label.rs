//! Names as they are shown.

use std::borrow::Cow;

use super::Style;
use crate::profile::{Frame, Profile, Thread};

/// `function (file:line)`.
pub(super) fn frame(frame: &Frame, style: &Style) -> String {
    let file = file(&frame.file, style);
    match (file.is_empty(), style.lines.then_some(frame.line)) {
        (true, _) => frame.name.to_string(),
        (false, Some(line)) if line != 0 => format!("{} ({file}:{line})", frame.name),
        (false, _) => format!("{} ({file})", frame.name),
    }
}

/// The file's path, or what of it belongs to the module's name. Names that are
/// no paths (`<frozen importlib._bootstrap>`, `<string>`) stay as they are.
pub(super) fn file<'a>(path: &'a str, style: &Style) -> Cow<'a, str> {
    if !style.modules || path.starts_with('<') {
        return Cow::Borrowed(path);
    }
    // What follows the folder of a library: `…/lib/python3.11/json/decoder.py`,
    // `…/site-packages/numpy/core.py`.
    let after = |marker: &str| path.rfind(marker).map(|at| &path[at + marker.len()..]);
    if let Some(module) = after("/site-packages/").or_else(|| after("/dist-packages/")) {
        return Cow::Borrowed(module);
    }
    if let Some(rest) = after("/lib/python") {
        let version = rest.find('/').unwrap_or(rest.len());
        if rest[..version].bytes().all(|byte| byte.is_ascii_digit() || byte == b'.' || byte == b't')
        {
            return Cow::Borrowed(rest.get(version + 1..).unwrap_or(rest));
        }
    }
    // A program's own file: its folder and name.
    let mut parts = path.rsplitn(3, '/');
    match (parts.next(), parts.next()) {
        (Some(name), Some(folder)) if !folder.is_empty() => Cow::Owned(format!("{folder}/{name}")),
        _ => Cow::Borrowed(path.trim_start_matches('/')),
    }
}

/// `process 12 (name)` and `thread 13 (name)`, as far as the style wants them.
pub(super) fn roots(profile: &Profile, thread: &Thread, style: &Style) -> Vec<String> {
    let process = &profile.processes[thread.process];
    let mut roots = Vec::new();
    if style.processes {
        roots.push(format!("process {} ({})", process.pid, process.name));
    }
    if style.threads {
        roots.push(format!("thread {} ({})", thread.tid, thread.name));
    }
    roots
}

/// What stands for the frames of a sample that has none.
pub(super) const NO_PYTHON: &str = "[no Python frames]";

/// Frames of a stack, outermost first; a stack that was cut begins with `[…]`.
pub(super) fn stack(
    profile: &Profile,
    sample: &crate::profile::Sample,
    style: &Style,
) -> Vec<String> {
    let stack = &profile.stacks[sample.stack];
    let mut labels = Vec::with_capacity(stack.frames.len() + 1);
    if stack.frames.is_empty() {
        labels.push(NO_PYTHON.to_owned());
    } else if sample.states.stack_status != agent_ebpf::status::StackStatus::COMPLETE {
        labels.push(format!("[{}]", sample.states.stack_status.name()));
    }
    labels.extend(stack.frames.iter().map(|&id| frame(&profile.frames[id as usize], style)));
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(path: &str) -> String {
        let style = Style { lines: true, modules: true, processes: false, threads: false };
        file(path, &style).into_owned()
    }

    #[test]
    fn files_by_module() {
        assert_eq!(module("/usr/lib/python3.11/json/decoder.py"), "json/decoder.py");
        assert_eq!(module("/opt/v/lib/python3.13t/site-packages/a/b.py"), "a/b.py");
        assert_eq!(module("/srv/app/jobs/run.py"), "jobs/run.py");
        assert_eq!(module("run.py"), "run.py");
        assert_eq!(module("<frozen importlib._bootstrap>"), "<frozen importlib._bootstrap>");
        assert_eq!(module("/lib/pythonic/x.py"), "pythonic/x.py");
    }

    #[test]
    fn frames_keep_their_names() {
        let style = Style { lines: true, modules: false, processes: false, threads: false };
        let of = |name: &str, file: &str, line| {
            frame(&Frame { name: name.into(), file: file.into(), line, first_line: 1 }, &style)
        };
        assert_eq!(of("f.<locals>.<lambda>", "/a.py", 3), "f.<locals>.<lambda> (/a.py:3)");
        assert_eq!(of("f", "/a.py", 0), "f (/a.py)");
        assert_eq!(of("<code at 0x10>", "", 0), "<code at 0x10>");
    }
}
