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
const RUNS: &str = "analyzer-core/data/cpython-runs.csv";
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
    let runs = read(RUNS, Run::parse)?;
    check(&rows, &spans)?;
    check_proofs(&rows, &spans, &runs)?;
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
    proof: Proof,
}

/// How the offsets of a [`Span`] are known; `data/README.md` says what each
/// means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Proof {
    Compiled,
    Headers,
    Run,
    Lp64,
    Bindings,
    Binary,
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
            proof: match proof {
                "compiled" => Proof::Compiled,
                "headers" => Proof::Headers,
                "run" => Proof::Run,
                "lp64" => Proof::Lp64,
                "bindings" => Proof::Bindings,
                "binary" => Proof::Binary,
                _ => bail!("unknown proof {proof:?}"),
            },
        };
        ensure!(span.first <= span.last, "{first} is after {last}");
        ensure!(
            (span.proof == Proof::Compiled) == span.reads_as.is_none(),
            "only what was not compiled reads as another"
        );
        Ok(span)
    }

    fn holds(&self, version: u16) -> bool {
        (self.first..=self.last).contains(&version)
    }

    fn is_compiled(&self) -> bool {
        self.proof == Proof::Compiled
    }

    /// The patch level that is farthest from the one whose offsets these have.
    fn far_end(&self) -> u16 {
        if self.reads_as.is_some_and(|version| version > self.last) {
            self.first
        } else {
            self.last
        }
    }
}

/// One line of the runs: a release build that was running when its memory was
/// found to have the members of `reads_as`.
#[derive(Debug)]
struct Run {
    version: u16,
    build: u8,
    reads_as: u16,
    members: usize,
}

impl Run {
    fn parse(cells: &[&str]) -> Result<Self> {
        let &[release, machine, ran_on, reads_as, members, file, sha256] = cells else {
            bail!("{} columns instead of 7", cells.len());
        };
        ensure!(
            matches!(
                (ran_on, machine),
                ("x86_64 glibc" | "x86_64 musl" | "aarch64 musl", "x86_64")
                    | ("aarch64 glibc", "aarch64")
            ),
            "what runs on {ran_on:?} has not the layout of {machine:?}"
        );
        ensure!(!file.is_empty(), "no file is named");
        ensure!(
            sha256.len() == 64 && sha256.bytes().all(|digit| digit.is_ascii_hexdigit()),
            "{sha256:?} is no SHA-256"
        );
        Ok(Self {
            version: version(release)?,
            build: builds("release", machine)?,
            reads_as: version(reads_as)?,
            members: members.parse()?,
        })
    }

    fn is_of(&self, span: &Span) -> bool {
        span.proof == Proof::Run
            && span.builds & self.build != 0
            && span.holds(self.version)
            && span.reads_as == Some(self.reads_as)
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
                .filter(|span| span.is_compiled() && span.holds(end))
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
                other.is_compiled()
                    && other.builds & row.builds & 0xf != 0
                    && (span.first..=span.last).all(|version| other.holds(version))
            });
            let same = (span.first..=span.last).all(|version| covers(version) == covers(reads_as));
            ensure!(!compiled || same, "{row:x?} differs within {span:x?}");
        }
    }
    Ok(())
}

/// What was not compiled lies between equal ends: a span's other end adjoins a
/// compiled one, and its far end was run on each of its machines, by release
/// builds. A run counts only while it looked at as many members as the table
/// has.
fn check_proofs(rows: &[Row], spans: &[Span], runs: &[Run]) -> Result<()> {
    for run in runs {
        let known = rows
            .iter()
            .filter(|row| row.builds & run.build != 0)
            .filter(|row| (row.first..=row.last).contains(&run.reads_as))
            .count();
        ensure!(run.members == known, "{run:x?} looked at another number of members than {known}");
        ensure!(spans.iter().any(|span| run.is_of(span)), "{run:x?} proves nothing");
    }
    for span in spans.iter().filter(|span| span.proof == Proof::Run) {
        for build in (0..8).map(|bit| 1 << bit).filter(|build| span.builds & build != 0) {
            ensure!(
                runs.iter().any(|run| {
                    run.build == build && run.version == span.far_end() && run.is_of(span)
                }),
                "the far end of {span:x?} did not run on each of its machines"
            );
        }
    }
    for span in spans.iter().filter(|span| matches!(span.proof, Proof::Run | Proof::Headers)) {
        ensure!(adjoins_compiled(span, spans), "{span:x?} does not adjoin what it reads as");
    }
    // What one machine has because the other has it.
    for span in spans.iter().filter(|span| span.proof == Proof::Lp64) {
        let proven = spans.iter().any(|other| {
            (other.is_compiled() || other.proof == Proof::Run && other.reads_as == span.reads_as)
                && other.builds & span.builds >> 4 == span.builds >> 4
                && other.holds(span.first)
                && other.holds(span.last)
        });
        ensure!(proven, "{span:x?} is not proven for x86_64 either");
    }
    Ok(())
}

/// Whether a compiled span of the same builds reaches from what this one reads
/// as to its first or last patch level.
fn adjoins_compiled(span: &Span, spans: &[Span]) -> bool {
    let neighbours = [span.first.checked_sub(1), span.last.checked_add(1)];
    spans.iter().filter(|other| other.is_compiled()).any(|other| {
        other.builds & span.builds == span.builds
            && span.reads_as.is_some_and(|version| other.holds(version))
            && neighbours.into_iter().flatten().any(|version| other.holds(version))
    })
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
    fn the_page_of_unknown_layouts_names_the_last_known_patch_levels() {
        let page = repository().join("analyzer-core/diagnoses/layout-unknown.md");
        let page = fs::read_to_string(page).unwrap();
        let spans = read(VERSIONS, Span::parse).unwrap();
        for minor in 7..=12 {
            let [series, next] = [minor, minor + 1].map(|minor| 0x8000 | minor << 8);
            let of_series =
                spans.iter().map(|span| span.last).filter(|last| (series..next).contains(last));
            let last = format!("3.{minor}.{}", of_series.max().unwrap() & 0xff);
            assert!(page.contains(&last), "{last} is not named");
        }
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

    #[test]
    fn a_span_holds_as_far_as_a_run_that_looked_at_every_member() {
        let rows = ["co_name", "co_flags"].map(|member| {
            let line = format!("PyCodeObject,{member},release,x86_64,3.9.0,3.9.18,8");
            Row::parse(&line.split(',').collect::<Vec<_>>()).unwrap()
        });
        let spans = |last: u8, machines: &str| {
            [
                span(&format!("3.9,release debug,{machines},all,0,18,,compiled")),
                span(&format!("3.9,release,{machines},all,19,{last},18,run")),
            ]
        };
        let run = |version: &str, members: u8| {
            let digest = "0".repeat(64);
            let line = format!("{version},x86_64,x86_64 glibc,3.9.18,{members},a.whl,{digest}");
            [Run::parse(&line.split(',').collect::<Vec<_>>()).unwrap()]
        };
        let x86 = "x86_64";
        assert!(check_proofs(&rows, &spans(23, x86), &run("3.9.23", 2)).is_ok());
        for (last, machines, version, members, why) in [
            (23, x86, "3.9.23", 1, "a member was not looked at"),
            (24, x86, "3.9.23", 2, "the last patch level did not run"),
            (22, x86, "3.9.23", 2, "the run is of no span"),
            (23, "x86_64 aarch64", "3.9.23", 2, "it ran on one machine only"),
        ] {
            let checked = check_proofs(&rows, &spans(last, machines), &run(version, members));
            assert!(checked.is_err(), "{why}");
        }
        let [_, apart] = spans(23, x86);
        let alone = [span("3.9,release,x86_64,all,0,17,,compiled"), apart];
        assert!(check_proofs(&rows, &alone, &run("3.9.23", 2)).is_err(), "a gap before it");
    }

    #[test]
    fn a_run_is_of_the_layout_its_c_library_has() {
        let run = |machine: &str, ran_on: &str, digest: &str| {
            let line = format!("3.9.23,{machine},{ran_on},3.9.18,2,a.whl,{digest}");
            Run::parse(&line.split(',').collect::<Vec<_>>())
        };
        let digest = "0".repeat(64);
        assert!(run("x86_64", "aarch64 musl", &digest).is_ok());
        assert!(run("aarch64", "aarch64 musl", &digest).is_err());
        assert!(run("x86_64", "aarch64 glibc", &digest).is_err());
        assert!(run("x86_64", "x86_64 glibc", "0").is_err());
    }

    #[test]
    fn one_machine_stands_for_the_other_only_where_that_is_proven() {
        let stands_for = |last: u8| {
            let spans = [
                span("3.9,release,x86_64,all,0,18,,compiled"),
                span(&format!("3.9,release,aarch64,objects,0,{last},18,lp64")),
            ];
            check_proofs(&[], &spans, &[])
        };
        assert!(stands_for(18).is_ok());
        assert!(stands_for(19).is_err());
    }

    fn span(line: &str) -> Span {
        Span::parse(&line.split(',').collect::<Vec<_>>()).unwrap()
    }
}
