//! `keyhole record`: samples Python stacks and writes a profile.

mod arguments;
mod errors;
mod progress;
mod session;
mod summary;

use std::io::{IsTerminal as _, Write as _};

use anyhow::{Context, Result, ensure};

pub(crate) use arguments::Arguments;

use crate::{cli::Ending, output};

/// Does what the arguments say.
///
/// # Errors
/// Nothing could be recorded, or the profile could not be written.
pub(crate) fn run(arguments: &Arguments) -> Result<Ending> {
    let outputs = arguments.outputs()?;
    for (format, path) in &outputs {
        ensure!(
            path.is_some() || !(format.is_binary() && std::io::stdout().is_terminal()),
            "{format} is not for a terminal; name a file with -o"
        );
    }
    let recording = session::record(arguments)?;
    let style = arguments.style(&recording.profile);
    let selected = arguments.select(&recording.profile);
    for (format, path) in outputs {
        let Some(path) = path else {
            output::write(format, &selected, &style, &mut std::io::stdout().lock())?;
            continue;
        };
        let file = std::fs::File::create(path)
            .with_context(|| format!("{} cannot be made", path.display()))?;
        let mut file = std::io::BufWriter::new(file);
        output::write(format, &selected, &style, &mut file)
            .and_then(|()| Ok(file.flush()?))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    summary::print(&recording, &selected, arguments)?;
    Ok(if recording.is_whole() { Ending::Answered } else { Ending::Unanswered })
}
