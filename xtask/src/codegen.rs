//! Writes the tables that are generated from data: the CPython layouts.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail, ensure};

const LAYOUTS: &str = "analyzer-core/data/cpython-layouts.csv";
const VERSIONS: &str = "analyzer-core/data/cpython-versions.csv";
const GENERATED: &str = "analyzer-core/src/layout/generated.rs";

/// `cargo xtask codegen`: rewrites the generated files in place.
pub(crate) fn run(_arguments: &[String]) -> Result<()> {
    let path = repository().join(GENERATED);
    let text = layout_tables()?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote {GENERATED}");
    Ok(())
}

fn repository() -> PathBuf {
    let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
    xtask.parent().unwrap_or(xtask).to_owned()
}

/// The text of `layout/generated.rs` for the data in the repository.
fn layout_tables() -> Result<String> {
    let spans = read(VERSIONS, Span::parse)?;
    let rows = read(LAYOUTS, Row::parse)?;
    check(&rows, &spans)?;
    Ok(render(&rows, &spans))
}

/// The parsed lines of a CSV file, its header left out.
fn read<T>(path: &str, parse: fn(&[&str]) -> Result<T>) -> Result<Vec<T>> {
    let text = fs::read_to_string(repository().join(path))
        .with_context(|| format!("cannot read {path}"))?;
    let lines = text.lines().enumerate().skip(1);
    lines
        .map(|(index, line)| {
            parse(&line.split(',').collect::<Vec<_>>())
                .with_context(|| format!("{path}, line {}", index + 1))
        })
        .collect()
}

/// One line of the layouts.
#[derive(Debug)]
struct Row {
    structure: String,
    member: String,
    builds: u8,
    first: u16,
    last: u16,
    offset: u32,
}

impl Row {
    fn parse(cells: &[&str]) -> Result<Self> {
        let &[structure, member, flavours, machines, first, last, offset] = cells else {
            bail!("{} columns instead of 7", cells.len());
        };
        let row = Self {
            structure: structure.to_owned(),
            member: member.to_owned(),
            builds: builds(flavours, machines)?,
            first: version(first)?,
            last: version(last)?,
            offset: offset.parse()?,
        };
        ensure!(row.first <= row.last, "{first} is after {last}");
        Ok(row)
    }
}

/// One line of the versions.
#[derive(Debug)]
struct Span {
    builds: u8,
    objects_only: bool,
    first: u16,
    last: u16,
    reads_as: Option<u16>,
    compiled: bool,
}

impl Span {
    fn parse(cells: &[&str]) -> Result<Self> {
        let &[series, flavours, machines, scope, first, last, reads_as, proof] = cells else {
            bail!("{} columns instead of 8", cells.len());
        };
        let patch = |micro: &str| version(&format!("{series}.{micro}"));
        let span = Self {
            builds: builds(flavours, machines)?,
            objects_only: match scope {
                "all" => false,
                "objects" => true,
                _ => bail!("unknown scope {scope:?}"),
            },
            first: patch(first)?,
            last: patch(last)?,
            reads_as: if reads_as.is_empty() { None } else { Some(patch(reads_as)?) },
            compiled: match proof {
                "compiled" => true,
                "lp64" | "bindings" | "binary" => false,
                _ => bail!("unknown proof {proof:?}"),
            },
        };
        ensure!(span.first <= span.last, "{first} is after {last}");
        ensure!(
            span.compiled == span.reads_as.is_none(),
            "only what was not compiled reads as another"
        );
        Ok(span)
    }

    fn holds(&self, version: u16) -> bool {
        (self.first..=self.last).contains(&version)
    }
}

/// One bit for each flavour and machine: flavours from bit 0, and the same
/// for the second machine from bit 4.
fn builds(flavours: &str, machines: &str) -> Result<u8> {
    let mut of_flavours = 0;
    for flavour in flavours.split(' ') {
        of_flavours |= match flavour {
            "release" => 1,
            "debug" => 2,
            "free-threaded" => 4,
            "free-threaded-debug" => 8,
            _ => bail!("unknown flavour {flavour:?}"),
        };
    }
    let mut builds = 0;
    for machine in machines.split(' ') {
        builds |= match machine {
            "x86_64" => of_flavours,
            "aarch64" => of_flavours << 4,
            _ => bail!("unknown machine {machine:?}"),
        };
    }
    Ok(builds)
}

/// `X.Y.Z` in 16 bits that order like versions: X is 2 or 3 and takes the
/// top bit, Y seven bits, Z the low byte.
fn version(text: &str) -> Result<u16> {
    let numbers: Vec<u16> =
        text.split('.').map(str::parse).collect::<Result<_, _>>().context("not a version")?;
    let &[major @ (2 | 3), minor @ 0..0x80, micro @ 0..0x100] = numbers.as_slice() else {
        bail!("{text:?} is not a version this table can hold");
    };
    Ok((major - 2) << 15 | minor << 8 | micro)
}

/// What the data promises: ranges end at compiled versions, a member has one
/// offset per build, and patch levels that read as another on one machine
/// have that one's offsets where the other machine was compiled.
fn check(rows: &[Row], spans: &[Span]) -> Result<()> {
    for row in rows {
        for end in [row.first, row.last] {
            let proven = spans
                .iter()
                .filter(|span| span.compiled && span.holds(end))
                .fold(0, |builds, span| builds | span.builds);
            ensure!(row.builds & !proven == 0, "{row:x?} ends at a version that was not compiled");
        }
    }
    for (index, row) in rows.iter().enumerate() {
        for other in rows.iter().skip(index + 1) {
            let overlap = (&row.structure, &row.member) == (&other.structure, &other.member)
                && row.builds & other.builds != 0
                && row.first <= other.last
                && other.first <= row.last;
            ensure!(!overlap, "{row:x?} and {other:x?} overlap");
        }
    }
    for span in spans.iter().filter(|span| span.reads_as.is_some()) {
        let reads_as = span.reads_as.unwrap_or_default();
        for row in rows.iter().filter(|row| row.builds & 0xf & span.builds >> 4 != 0) {
            let covers = |version| (row.first..=row.last).contains(&version);
            let compiled = spans.iter().any(|other| {
                other.compiled
                    && other.builds & row.builds & 0xf != 0
                    && (span.first..=span.last).all(|version| other.holds(version))
            });
            let same = (span.first..=span.last).all(|version| covers(version) == covers(reads_as));
            ensure!(!compiled || same, "{row:x?} differs within {span:x?}");
        }
    }
    Ok(())
}

fn render(rows: &[Row], spans: &[Span]) -> String {
    let mut by_member = BTreeMap::<(&str, &str), Vec<&Row>>::new();
    for row in rows {
        by_member.entry((&row.structure, &row.member)).or_default().push(row);
    }
    let structures: BTreeSet<&str> = rows.iter().map(|row| row.structure.as_str()).collect();

    let mut out = String::new();
    out.push_str("// Written by `cargo xtask codegen` from data/cpython-layouts.csv and\n");
    out.push_str("// data/cpython-versions.csv. Edit those and run it again.\n\n");
    out.push_str("use super::table::{Row, Span};\n\n");

    table(&mut out, "STRUCTURES", "&str", structures.iter().map(|name| format!("{name:?}")));
    table(
        &mut out,
        "MEMBERS",
        "(u8, &str)",
        by_member.keys().map(|(structure, member)| {
            let structure =
                structures.iter().position(|name| name == structure).unwrap_or_default();
            format!("({structure}, {member:?})")
        }),
    );
    let mut next = 0;
    let firsts = by_member.values().map(|rows| {
        let first = next;
        next += rows.len();
        first.to_string()
    });
    let firsts: Vec<String> = firsts.collect();
    table(&mut out, "FIRST_ROW", "u16", firsts.into_iter().chain([rows.len().to_string()]));
    table(
        &mut out,
        "ROWS",
        "Row",
        by_member.values().flatten().map(|row| {
            let Row { builds, first, last, offset, .. } = row;
            format!("Row({builds:#04x}, {first:#06x}, {last:#06x}, {offset})")
        }),
    );
    table(
        &mut out,
        "SPANS",
        "Span",
        spans.iter().map(|span| {
            let Span { builds, objects_only, first, last, reads_as, .. } = span;
            let reads_as = match reads_as {
                Some(version) => format!("Some({version:#06x})"),
                None => "None".to_owned(),
            };
            format!("Span({builds:#04x}, {objects_only}, {first:#06x}, {last:#06x}, {reads_as})")
        }),
    );
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

fn table(out: &mut String, name: &str, of: &str, items: impl Iterator<Item = String>) {
    let items: Vec<String> = items.collect();
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "pub(super) static {name}: [{of}; {}] = [", items.len());
    for item in items {
        let _ = writeln!(out, "    {item},");
    }
    out.push_str("];\n\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_tables_are_what_the_data_gives() {
        let committed = fs::read_to_string(repository().join(GENERATED)).unwrap();
        assert!(committed == layout_tables().unwrap(), "run `cargo xtask codegen`");
    }

    #[test]
    fn a_member_with_two_offsets_is_refused() {
        let spans = [span("3.9,release,x86_64,all,0,18,,compiled")];
        let row = |line: &str| Row::parse(&line.split(',').collect::<Vec<_>>()).unwrap();
        let first = "PyCodeObject,co_name,release,x86_64,3.9.0,3.9.18,112";
        let second = "PyCodeObject,co_name,release,x86_64,3.9.18,3.9.18,120";
        assert!(check(&[row(first)], &spans).is_ok());
        assert!(check(&[row(first), row(second)], &spans).is_err());
    }

    #[test]
    fn a_range_that_ends_at_a_version_nobody_compiled_is_refused() {
        let row = "PyCodeObject,co_name,release,x86_64,3.9.0,3.9.18,112";
        let row = Row::parse(&row.split(',').collect::<Vec<_>>()).unwrap();
        assert!(check(&[row], &[span("3.9,release,x86_64,all,0,17,,compiled")]).is_err());
    }

    #[test]
    fn a_stand_in_with_other_offsets_is_refused() {
        let spans = [
            span("3.9,release,x86_64,all,0,18,,compiled"),
            span("3.9,release,aarch64,all,18,18,,compiled"),
            span("3.9,release,aarch64,all,0,17,18,lp64"),
        ];
        let row = |line: &str| Row::parse(&line.split(',').collect::<Vec<_>>()).unwrap();
        let rows = [
            row("PyCodeObject,co_name,release,x86_64,3.9.0,3.9.4,112"),
            row("PyCodeObject,co_name,release,x86_64,3.9.5,3.9.18,120"),
            row("PyCodeObject,co_name,release,aarch64,3.9.18,3.9.18,120"),
        ];
        assert!(check(&rows, &spans).is_err());
    }

    fn span(line: &str) -> Span {
        Span::parse(&line.split(',').collect::<Vec<_>>()).unwrap()
    }
}
