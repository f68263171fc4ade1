//! The report as Markdown, to paste into a bug report.

use std::fmt::{self, Write};

use analyzer_core::report::{Outcome, Report, StrategyResult};

use crate::words::{self, strategy, verdict};

/// The whole report but for its traces; of those the one that found the
/// preferred route. `nameless` leaves out the file's name and build id.
pub(crate) fn markdown(report: &Report, nameless: bool) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    write(&mut text, report, nameless).ok();
    text
}

fn write(out: &mut String, report: &Report, nameless: bool) -> fmt::Result {
    let verdict = verdict::verdict(report);
    let name = match report.file.path.rsplit('/').next() {
        Some(name) if !name.is_empty() && !nameless => name,
        _ => "a file",
    };
    writeln!(out, "### Keyhole: {}\n", escaped(name))?;
    writeln!(
        out,
        "**{}**: {} {}\n",
        verdict.word,
        escaped(&verdict.headline),
        escaped(&verdict.support)
    )?;
    writeln!(out, "- {}", escaped(&words::build(report).join(", ")))?;
    if let Some(build_id) = report.file.build_id.as_ref().filter(|_| !nameless) {
        writeln!(out, "- build id {}", code(build_id))?;
    }
    writeln!(out, "- Keyhole {} (page), {}", env!("CARGO_PKG_VERSION"), code(&report.schema))?;
    for (index, route) in report.routes.iter().enumerate() {
        let (kind, reaches, strength) = words::route_parts(route);
        writeln!(
            out,
            "- route {}: {kind} at {}, {}; reaches {}",
            index + 1,
            code(&words::route_answer(route)),
            words::strength(strength),
            words::reaches(reaches)
        )?;
    }
    if !report.strategies.is_empty() {
        writeln!(out, "\n| strategy | outcome | detail |\n|---|---|---|")?;
        for result in &report.strategies {
            let outcome = match (result.outcome, result.route) {
                (Outcome::Route, Some(route)) => format!("route {}", route.saturating_add(1)),
                (Outcome::Route, None) => "route".to_owned(),
                (Outcome::None, _) => "nothing".to_owned(),
                (Outcome::NotApplicable, _) => "does not apply".to_owned(),
            };
            let detail = result.detail.as_deref().or(result.reason.as_deref()).unwrap_or_default();
            writeln!(out, "| {} | {outcome} | {} |", code(&result.name), escaped(detail))?;
        }
    }
    if !report.baselines.is_empty() {
        writeln!(out, "\n| simpler decoder | outcome | at | detail |\n|---|---|---|---|")?;
        for baseline in &report.baselines {
            let (_, word, _) = strategy::baseline(baseline.outcome);
            let at = baseline.at.map(|at| at.to_string()).unwrap_or_default();
            let detail =
                baseline.detail.as_deref().or(baseline.reason.as_deref()).unwrap_or_default();
            writeln!(out, "| {} | {word} | {at} | {} |", code(&baseline.name), escaped(detail))?;
        }
    }
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
    let telling = report
        .strategies
        .iter()
        .filter(|s| s.trace.iter().any(|step| step.on_path))
        .min_by_key(|s| (s.route.unwrap_or(u64::MAX), s.outcome != Outcome::Route));
    if let Some(telling) = telling {
        trace(out, telling)?;
    }
    Ok(())
}

fn trace(out: &mut String, result: &StrategyResult) -> fmt::Result {
    writeln!(out, "\n<details><summary>{}</summary>\n\n```text", tagless(&result.name))?;
    for step in &result.trace {
        let mark = if step.on_path { '>' } else { ' ' };
        let changes: Vec<String> =
            step.effects.iter().map(|e| format!("{} = {}", e.place, e.value)).collect();
        let line = format!("{mark} {}  {:<44} {}", step.address, step.text, changes.join(", "));
        writeln!(out, "{}", visible(line.trim_end()).replace("```", "'''"))?;
    }
    writeln!(out, "```\n\n</details>")
}

/// Text with Markdown's and HTML's special characters made harmless.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in visible(text).chars() {
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

/// Text as a code span that nothing in it can end.
fn code(text: &str) -> String {
    format!("`{}`", visible(text).replace('|', "¦").replace('`', "'"))
}

fn tagless(text: &str) -> String {
    visible(text).replace('&', "&amp;").replace('<', "&lt;")
}

/// Control characters, and those that turn the direction of text, as escapes.
fn visible(text: &str) -> String {
    let hidden = |c: char| {
        c.is_control()
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        if hidden(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_text() {
        assert_eq!(escaped("a|b <img> @all"), "a\\|b &lt;img&gt; \\@all");
        assert_eq!(code("a`|b"), "`a'¦b`");
        assert_eq!(escaped("a\nb\u{202e}"), "a\\\\u{a}b\\\\u{202e}");
    }
}
