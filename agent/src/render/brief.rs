//! One line per file.

use analyzer_core::report::{Report, Route, Status};

use super::{
    Subject,
    safe::plain,
    style::{self, paint},
    words::{self, signed},
};

pub(super) fn render(subject: Subject<'_>) -> String {
    let report = subject.report;
    let (status, tone) = words::status(report.status);
    let version =
        report.python.as_ref().and_then(|python| python.version.as_deref()).unwrap_or("-");
    let processes = match subject.processes {
        [] => String::new(),
        [one] => format!("  (process {})", one.pid),
        several => format!("  ({} processes)", several.len()),
    };
    format!(
        "{}  {:<9}  {:<28}  {}{processes}\n",
        paint(style::of(tone), &format!("{status:<11}")),
        plain(version),
        answer(report),
        paint(style::CODE, &plain(&report.file.path)),
    )
}

/// The preferred route, or the code of the finding that stands in its way.
fn answer(report: &Report) -> String {
    match (report.status, report.routes.first()) {
        (Status::Resolved, Some(route)) => place(route),
        _ => report
            .diagnoses
            .first()
            .map_or_else(|| "-".to_owned(), |finding| plain(&finding.code).into_owned()),
    }
}

fn place(route: &Route) -> String {
    match route {
        Route::PthreadKey { runtime_offset: Some(offset), .. } => {
            format!("key _PyRuntime+{offset:#x}")
        }
        Route::PthreadKey { key_address, .. } => format!("key {key_address}"),
        Route::ThreadLocal { tp_offset: Some(offset), .. } => {
            format!("tls thread pointer {}", signed(*offset))
        }
        Route::ThreadLocal { got_slot: Some(slot), model, .. } => {
            format!("tls {} {slot}", words::model(*model))
        }
        Route::ThreadLocal { model, .. } => format!("tls {}", words::model(*model)),
        Route::Global { runtime_offset: Some(offset), .. } => {
            format!("global _PyRuntime+{offset:#x}")
        }
        Route::Global { address, .. } => format!("global {address}"),
    }
}
