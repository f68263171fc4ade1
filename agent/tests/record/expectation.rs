//! Which stacks a workload can have, from the comments in its source.

use std::collections::{BTreeMap, BTreeSet};

use super::recording::Frame;

/// What a workload's source allows.
#[derive(Debug)]
pub(crate) struct Expectation {
    file: String,
    functions: BTreeMap<String, Function>,
}

#[derive(Debug, Default)]
struct Function {
    /// Lines of its definition and its body.
    lines: BTreeSet<u32>,
    /// Line to the functions called there.
    calls: BTreeMap<u32, Vec<String>>,
    /// Names it may be shown under.
    shown: Vec<String>,
}

impl Expectation {
    /// Of a workload by its file's name.
    pub(crate) fn of(name: &str) -> Self {
        let path = super::python::workload(name);
        let source = std::fs::read_to_string(path).expect("the workload");
        let mut functions: BTreeMap<String, Function> = BTreeMap::new();
        functions.entry("<module>".to_owned()).or_default().shown.push("<module>".to_owned());
        // Functions that are open, with the column of their `def`.
        let mut open: Vec<(usize, String)> = vec![];
        // A decorated function begins at its first decorator: there it is until its
        // first instruction has run.
        let mut decorators: Vec<u32> = vec![];
        for (index, line) in source.lines().enumerate() {
            let number = index as u32 + 1;
            let text = line.trim_start();
            if text.is_empty() {
                continue;
            }
            let column = line.len() - text.len();
            while open.last().is_some_and(|(own, _)| column <= *own) {
                open.pop();
            }
            let after = |marker: &str| -> Vec<String> {
                line.split_once(marker).map_or_else(Vec::new, |(_, names)| {
                    names.split('|').map(|name| name.trim().to_owned()).collect()
                })
            };
            if text.starts_with('@') {
                decorators.push(number);
            }
            if let Some(rest) = text.strip_prefix("def ") {
                // The definition itself runs in the function around it.
                let around = open.last().map_or("<module>", |(_, name)| name).to_owned();
                functions.entry(around).or_default().lines.insert(number);
                let name = rest.split('(').next().unwrap_or_default().to_owned();
                let function = functions.entry(name.clone()).or_default();
                let shown = after("# shown as");
                function.shown.extend(if shown.is_empty() { vec![name.clone()] } else { shown });
                function.lines.insert(number);
                function.lines.extend(decorators.drain(..));
                open.push((column, name));
                continue;
            }
            let name = open.last().map_or("<module>", |(_, name)| name);
            let function = functions.entry(name.to_owned()).or_default();
            function.lines.insert(number);
            for callee in after("# calls") {
                function.calls.entry(number).or_default().push(callee);
            }
        }
        Self { file: name.to_owned(), functions }
    }

    /// Why a stack, innermost first, cannot be one of the workload's.
    pub(crate) fn objection(&self, frames: &[Frame], _minor: u32) -> Option<String> {
        let object = |why: String| {
            let frames: Vec<String> = frames.iter().map(Frame::to_string).collect();
            Some(format!("{why} in\n    {}", frames.join("\n    ")))
        };
        let Some(outermost) = frames.last() else { return object("no frame".to_owned()) };
        if outermost.name != "<module>" {
            return object("the outermost frame is no module".to_owned());
        }
        let mut expected = vec!["<module>".to_owned()];
        for (index, frame) in frames.iter().enumerate().rev() {
            if !frame.file.ends_with(&self.file) {
                return object(format!("{frame} is of another file"));
            }
            let found = expected.iter().find_map(|name| {
                let function = self.functions.get(name)?;
                function.shown.contains(&frame.name).then_some(function)
            });
            let Some(function) = found else {
                return object(format!("{frame} is none of {expected:?}"));
            };
            if index == 0 {
                if !function.lines.contains(&frame.line) {
                    return object(format!("{frame} is not at a line of its function"));
                }
            } else {
                let Some(calls) = function.calls.get(&frame.line) else {
                    return object(format!("{frame} is not at a call"));
                };
                expected.clone_from(calls);
            }
        }
        None
    }
}
