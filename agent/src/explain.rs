//! `keyhole explain`: the page of a diagnosis.

use std::io::Write;

use analyzer_core::diagnosis;
use anyhow::bail;
use clap::Args;

use crate::{cli::Ending, render::style};

/// Explain a diagnosis
///
/// Prints what a diagnosis code means, why it happens and what to do. Without
/// a code, lists all of them.
#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// The code, as a report shows it; without one, all codes are listed
    code: Option<String>,
}

/// Prints the page, or the list.
///
/// # Errors
/// There is no such code, or standard output cannot be written.
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<Ending> {
    let mut out = anstream::stdout().lock();
    let Some(code) = &arguments.code else {
        let width = diagnosis::all().iter().map(|entry| entry.code.len()).max().unwrap_or_default();
        for entry in diagnosis::all() {
            let style = style::CODE;
            writeln!(out, "{style}{:width$}{style:#}  {}", entry.code, entry.title)?;
        }
        return Ok(Ending::Answered);
    };
    let Some(entry) = diagnosis::find(code) else {
        let near: Vec<&str> = similar(code).collect();
        if near.is_empty() {
            bail!("there is no diagnosis {code:?}; `keyhole explain` lists them all");
        }
        bail!("there is no diagnosis {code:?}; did you mean {}?", near.join(" or "));
    };
    for line in entry.page().lines() {
        if line.starts_with('#') {
            let style = style::HEADING;
            writeln!(out, "{style}{}{style:#}", line.trim_start_matches('#').trim_start())?;
        } else {
            writeln!(out, "{line}")?;
        }
    }
    Ok(Ending::Answered)
}

/// Codes that share a word of at least four letters with `code`.
fn similar(code: &str) -> impl Iterator<Item = &'static str> {
    let code = code.to_ascii_lowercase();
    diagnosis::all().iter().map(|entry| entry.code).filter(move |candidate| {
        candidate.split('-').any(|word| word.len() >= 4 && code.contains(word))
    })
}

#[cfg(test)]
mod tests {
    use analyzer_core::diagnosis;
    use expect_test::expect_file;

    use super::similar;

    #[test]
    fn the_documentation_lists_every_diagnosis() {
        let mut page = String::from(
            "# Diagnoses\n\nEvery code that a report can carry, with its page. `keyhole explain CODE` \
             prints the same.\n\n| code | title |\n|---|---|\n",
        );
        for entry in diagnosis::all() {
            let code = entry.code;
            page += &format!(
                "| [`{code}`](../analyzer-core/diagnoses/{code}.md) | {} |\n",
                entry.title
            );
        }
        expect_file!["../../docs/diagnoses.md"].assert_eq(&page);
    }

    #[test]
    fn a_misspelled_code_finds_its_neighbours() {
        assert!(
            similar("key-in-callee-register").any(|code| code == "key-in-callee-saved-register")
        );
        assert_eq!(similar("zzz").count(), 0);
    }
}
