//! A report to paste into a bug tracker.

use alloc::format;
use alloc::string::{String, ToString};
use core::fmt::{self, Write};

use analyzer_core::report::{Outcome, Report, StrategyResult};

use crate::listing::listing;
use crate::{build, facts, plain, route, terms, verdict};

/// What of a report is written.
#[derive(Clone, Copy, Debug)]
pub struct Contents {
    /// Leave out the file's name and build id.
    pub nameless: bool,
    /// Which traces.
    pub traces: Traces,
}

/// Which traces are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traces {
    /// None.
    None,
    /// That of the strategy that found the preferred route, or came nearest.
    Telling,
    /// Every one.
    All,
}

/// The report as Markdown, ending with a line feed. Nothing in it can leave its
/// place: names out of the file are escaped.
#[must_use]
pub fn markdown(report: &Report, contents: Contents) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    write(&mut text, report, contents).ok();
    text
}

fn write(out: &mut String, report: &Report, contents: Contents) -> fmt::Result {
    let verdict = verdict(report);
    let name = match file_name(&report.file.path) {
        Some(name) if !contents.nameless => escaped(name),
        _ => "a file".into(),
    };
    writeln!(out, "### Keyhole: {name}\n")?;
    let sentences = format!("{} {}", verdict.headline, verdict.support);
    writeln!(out, "**{}**: {}\n", verdict.word, escaped(sentences.trim_end()))?;
    writeln!(out, "- {}", escaped(&build(report).join(", ")))?;
    if let Some(build_id) = report.file.build_id.as_ref().filter(|_| !contents.nameless) {
        writeln!(out, "- build id {}", code(build_id))?;
    }
    writeln!(out, "- Keyhole {}, {}", env!("CARGO_PKG_VERSION"), code(&report.schema))?;
    for (index, route) in report.routes.iter().enumerate() {
        writeln!(
            out,
            "- route {}: {} at {}{}, {}; reaches {}",
            index + 1,
            route::kind(route),
            code(&route::answer(route)),
            route::detail(route).map(|detail| format!(" ({detail})")).unwrap_or_default(),
            terms::strength(route::strength(route)).0,
            terms::reaches(route::reaches(route))
        )?;
    }
    for (name, value) in facts::of_contents(report) {
        writeln!(out, "- {}: {}", escaped(name), escaped(&value))?;
    }
    strategies(out, report)?;
    baselines(out, report)?;
    for finding in &report.diagnoses {
        writeln!(
            out,
            "\n**{}** ({})  \n{}  \n→ {}",
            escaped(&finding.title),
            code(&finding.code),
            escaped(&finding.detail),
            escaped(&finding.remedy)
        )?;
    }
    let mut traces = report.strategies.iter().filter(|strategy| !strategy.trace.is_empty());
    match contents.traces {
        Traces::None => Ok(()),
        Traces::Telling => telling(report).map_or(Ok(()), |strategy| trace(out, strategy)),
        Traces::All => traces.try_for_each(|strategy| trace(out, strategy)),
    }
}

fn strategies(out: &mut String, report: &Report) -> fmt::Result {
    if report.strategies.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n| strategy | outcome | detail |\n|---|---|---|")?;
    for result in &report.strategies {
        let (word, _) = terms::outcome(result.outcome);
        let route = result.route.map(|route| format!(" {}", route.saturating_add(1)));
        let route = route.unwrap_or_default();
        let detail = detail(result.detail.as_ref(), result.reason.as_ref());
        writeln!(out, "| {} | {word}{route} | {detail} |", code(&result.name))?;
    }
    Ok(())
}

fn baselines(out: &mut String, report: &Report) -> fmt::Result {
    if report.baselines.is_empty() {
        return Ok(());
    }
    let head = "| simpler decoder | outcome | at | answers | detail |\n|---|---|---|---|---|";
    writeln!(out, "\n{head}")?;
    for result in &report.baselines {
        let (word, _) = terms::baseline(result.outcome);
        let at = result.at.map(|at| at.to_string()).unwrap_or_default();
        let answer = terms::baseline_answer(result).unwrap_or_default();
        let detail = detail(result.detail.as_ref(), result.reason.as_ref());
        writeln!(out, "| {} | {word} | {at} | {answer} | {detail} |", code(&result.name))?;
    }
    Ok(())
}

fn detail(detail: Option<&String>, reason: Option<&String>) -> String {
    detail.or(reason).map(|text| escaped(text)).unwrap_or_default()
}

/// The strategy whose trace tells most.
fn telling(report: &Report) -> Option<&StrategyResult> {
    report
        .strategies
        .iter()
        .filter(|strategy| strategy.trace.iter().any(|step| step.on_path))
        .min_by_key(|s| (s.route.unwrap_or(u64::MAX), s.outcome != Outcome::Route))
}

fn trace(out: &mut String, strategy: &StrategyResult) -> fmt::Result {
    let text = listing(&strategy.trace).to_text();
    let name = plain(&strategy.name).replace('&', "&amp;").replace('<', "&lt;");
    let fence = fence(&text);
    writeln!(
        out,
        "\n<details><summary>Trace of {name}</summary>\n\n{fence}text\n{text}{fence}\n\n</details>"
    )
}

/// The last part of the path: a bug report should not show whose folder it is.
fn file_name(path: &str) -> Option<&str> {
    path.rsplit('/').find(|part| !part.is_empty())
}

/// Text with Markdown's and HTML's special characters made harmless.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in plain(text).chars() {
        match letter {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '@' => {
                out.extend(['\\', letter]);
            }
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            _ => out.push(letter),
        }
    }
    out
}

/// Text as a code span that nothing in it can end; nothing for no text.
fn code(text: &str) -> String {
    let text = plain(text).replace('|', "¦").replace('`', "'");
    if text.is_empty() { text } else { format!("`{text}`") }
}

/// A code fence that is longer than any in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text() {
        assert_eq!(escaped("a|b <img> @all `x`"), "a\\|b &lt;img&gt; \\@all \\`x\\`");
        assert_eq!(escaped("a\nb\u{202e}"), "a\\\\u{a}b\\\\u{202e}");
        assert_eq!(code("a`|b"), "`a'¦b`");
        assert_eq!(fence("a ```` b"), "`````");
        assert_eq!(file_name("/home/someone/libpython3.12.so.1.0"), Some("libpython3.12.so.1.0"));
        assert_eq!(file_name("//"), None);
    }
}
