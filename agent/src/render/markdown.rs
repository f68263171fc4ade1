//! A report to paste into a bug tracker.

use std::fmt::Write;

use analyzer_core::report::Report;

use super::{
    Page, Subject,
    safe::plain,
    text::{facts, listing},
    words,
};

pub(super) fn render(subject: Subject<'_>, page: Page) -> String {
    let report = subject.report;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = body(&mut out, report, page);
    out
}

fn body(out: &mut String, report: &Report, page: Page) -> std::fmt::Result {
    let (status, _) = words::status(report.status);
    writeln!(out, "### Keyhole: {}\n", escaped(file_name(&report.file.path)))?;
    writeln!(out, "**{status}**: {}\n", escaped(&words::headline(report)))?;
    writeln!(out, "- {}", escaped(&words::identity(report)))?;
    if let Some(build_id) = &report.file.build_id {
        writeln!(out, "- build id {}", code(build_id))?;
    }
    writeln!(out, "- keyhole {}, {}", env!("CARGO_PKG_VERSION"), code(&report.schema))?;
    for (index, route) in report.routes.iter().enumerate() {
        let (strength, _) = words::strength(route);
        writeln!(
            out,
            "- route {}: {} ({strength}). {}",
            index + 1,
            escaped(&words::summary(route)),
            escaped(words::reaches(route))
        )?;
    }
    for (name, value) in facts::rows(report) {
        writeln!(out, "- {}: {}", escaped(name), escaped(&value))?;
    }
    if !report.strategies.is_empty() {
        writeln!(out, "\n| strategy | outcome | detail |\n|---|---|---|")?;
        for result in &report.strategies {
            let (word, _) = words::outcome(result.outcome);
            let route = result.route.map(|route| format!(" {}", route + 1)).unwrap_or_default();
            let detail = result.detail.as_deref().or(result.reason.as_deref()).unwrap_or_default();
            writeln!(out, "| {} | {word}{route} | {} |", code(&result.name), escaped(detail))?;
        }
    }
    if !report.baselines.is_empty() {
        writeln!(
            out,
            "\n| simpler decoder | outcome | at | answers | detail |\n|---|---|---|---|---|"
        )?;
        for result in &report.baselines {
            let (word, _) = words::baseline(result.outcome);
            let address = |address: Option<analyzer_core::addr::VirtAddr>| {
                address.map(|a| a.to_string()).unwrap_or_default()
            };
            let answer = match result.tp_offset {
                Some(offset) => format!("thread pointer {offset:+}"),
                None => address(result.value),
            };
            let detail = result.detail.as_deref().or(result.reason.as_deref()).unwrap_or_default();
            writeln!(
                out,
                "| {} | {word} | {} | {} | {} |",
                code(&result.name),
                address(result.at),
                answer,
                escaped(detail)
            )?;
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
    if page.trace {
        for strategy in report.strategies.iter().filter(|strategy| !strategy.trace.is_empty()) {
            let mut text = String::new();
            listing::listing(&mut text, &strategy.trace);
            let text = anstream::adapter::strip_str(&text).to_string();
            let name = code(&strategy.name);
            let fence = fence(&text);
            writeln!(
                out,
                "\n<details><summary>Trace of {}</summary>\n\n{fence}\n{text}{fence}\n\n</details>",
                name.trim_matches('`').replace('&', "&amp;").replace('<', "&lt;")
            )?;
        }
    }
    Ok(())
}

/// The last part of the path: a bug report should not show whose folder it is.
fn file_name(path: &str) -> &str {
    path.rsplit('/').find(|part| !part.is_empty()).unwrap_or(path)
}

/// Text with Markdown's and HTML's special characters made harmless.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in plain(text).chars() {
        match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' | '@' => out.extend(['\\', c]),
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '&' => out += "&amp;",
            _ => out.push(c),
        }
    }
    out
}

/// Text as a code span that nothing in it can end.
fn code(text: &str) -> String {
    let text = plain(text).replace('|', "¦").replace('`', "'");
    if text.is_empty() { String::new() } else { format!("`{text}`") }
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
        assert_eq!(code("a`|b"), "`a'¦b`");
        assert_eq!(fence("a ```` b"), "`````");
        assert_eq!(file_name("/home/someone/libpython3.12.so.1.0"), "libpython3.12.so.1.0");
    }
}
