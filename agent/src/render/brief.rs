//! One line per file.

use analyzer_core::report::{Report, Route, Status};
use wording::{plain, route, terms};

use super::{
    Subject,
    style::{self, paint},
};

pub(super) fn render(subject: Subject<'_>) -> String {
    let report = subject.report;
    let status = terms::status(report.status);
    let tone = wording::verdict(report).tone;
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
    let kind = match route {
        Route::PthreadKey { .. } => "key",
        Route::ThreadLocal { .. } => "tls",
        Route::Global { .. } => "global",
    };
    format!("{kind} {}", route::answer(route))
}
