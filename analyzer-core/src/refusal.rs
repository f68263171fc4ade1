//! The report of a file that cannot be read as an image.

use alloc::{borrow::ToOwned, format, string::ToString, vec, vec::Vec};

use crate::{
    Options, container,
    diagnosis::{self, Code},
    image::ParseError,
    report::{Diagnosis, FileFacts, Report, SCHEMA, Status},
};

pub(crate) fn report(bytes: &[u8], options: &Options<'_>, error: ParseError) -> Report {
    let (status, finding) = refuse(bytes, error);
    Report {
        schema: SCHEMA.to_owned(),
        file: FileFacts {
            path: options.path.clone(),
            size: bytes.len() as u64,
            build_id: None,
            reproducer: false,
        },
        status,
        image: None,
        python: None,
        runtime: None,
        routes: Vec::new(),
        preference: None,
        gil: None,
        layout: None,
        eval_loop: Vec::new(),
        libc: None,
        strategies: Vec::new(),
        baselines: Vec::new(),
        diagnoses: vec![finding],
    }
}

fn refuse(bytes: &[u8], error: ParseError) -> (Status, Diagnosis) {
    let detail = error.to_string();
    match error {
        ParseError::NotElf { .. } => {
            let kind = container::sniff(bytes);
            let finding = kind
                .diagnosis()
                .unwrap_or_else(|| diagnosis::new(Code::NotElf, format!("{}.", kind.describe())));
            (Status::NotElf, finding)
        }
        ParseError::Class32 { .. } => {
            (Status::Unsupported, diagnosis::new(Code::Class32Bit, detail))
        }
        ParseError::BigEndian { .. } => {
            (Status::Unsupported, diagnosis::new(Code::BigEndian, detail))
        }
        ParseError::Machine(_) => {
            (Status::Unsupported, diagnosis::new(Code::ArchUnsupported, detail))
        }
        ParseError::Truncated { .. } => (Status::Damaged, diagnosis::new(Code::Truncated, detail)),
        _ => (Status::Damaged, diagnosis::new(Code::Malformed, detail)),
    }
}
