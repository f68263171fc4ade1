//! Debian's archive through apt's own tools, without touching the machine's
//! own apt state: every suite and architecture gets lists and caches of its
//! own under `target/corpus`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::shell;

/// One suite for one architecture.
#[derive(Debug)]
pub(crate) struct Archive {
    configuration: PathBuf,
    packages: PathBuf,
}

/// A `.deb` file.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    path: PathBuf,
}

impl Archive {
    /// Prepares a private apt state for `suite` and `arch` in `folder`, and
    /// fetches its lists unless `offline`.
    ///
    /// # Errors
    /// The machine has no apt configuration that names a mirror, or the
    /// mirror does not have that suite.
    pub(crate) fn open(folder: &Path, suite: &str, arch: &str, offline: bool) -> Result<Self> {
        let state = folder.join("apt").join(format!("{suite}-{arch}"));
        let packages = folder.join("packages").join(format!("{suite}-{arch}"));
        for part in ["etc", "lists/partial", "cache/archives/partial"].map(|part| state.join(part))
        {
            std::fs::create_dir_all(&part)
                .with_context(|| format!("cannot create {}", part.display()))?;
        }
        std::fs::create_dir_all(&packages)?;
        let source = state.join("etc/sources.list");
        let uri = mirror(suite)?;
        // Packages are only read, never installed or run as root, and their
        // digests are in the manifest: keyrings older than a suite do not matter.
        std::fs::write(&source, format!("deb [trusted=yes arch={arch}] {uri} {suite} main\n"))?;
        let status = state.join("status");
        std::fs::write(&status, "")?;
        let configuration = state.join("apt.conf");
        let [state, source, status] =
            [&state, &source, &status].map(|path| path.display().to_string());
        std::fs::write(
            &configuration,
            format!(
                "Dir::Etc::sourcelist \"{source}\";\n\
                 Dir::Etc::sourceparts \"/dev/null\";\n\
                 Dir::State \"{state}\";\n\
                 Dir::State::lists \"{state}/lists\";\n\
                 Dir::State::status \"{status}\";\n\
                 Dir::Cache \"{state}/cache\";\n\
                 APT::Architecture \"{arch}\";\n\
                 APT::Architectures {{ \"{arch}\"; }};\n\
                 APT::Sandbox::User \"root\";\n\
                 #clear APT::Update::Post-Invoke;\n\
                 #clear APT::Update::Post-Invoke-Success;\n\
                 Acquire::Check-Valid-Until \"false\";\n\
                 Acquire::Languages \"none\";\n"
            ),
        )?;
        let archive = Self { configuration, packages };
        if !offline {
            shell::output(archive.apt("apt-get").args(["update", "--error-on=any", "-q"]))
                .with_context(|| format!("the mirror has no {suite} for {arch}"))?;
        }
        Ok(archive)
    }

    fn apt(&self, program: &str) -> Command {
        let mut command = shell::command(program);
        command.env("APT_CONFIG", &self.configuration);
        command
    }

    /// Names and candidate versions of the packages that `wanted` accepts.
    ///
    /// # Errors
    /// The lists cannot be read.
    pub(crate) fn candidates(
        &self,
        wanted: impl Fn(&str) -> bool,
    ) -> Result<BTreeMap<String, String>> {
        let names = shell::output(self.apt("apt-cache").arg("pkgnames"))?;
        let names: Vec<&str> = names.lines().filter(|name| wanted(name)).collect();
        if names.is_empty() {
            return Ok(BTreeMap::new());
        }
        let lines = shell::output(self.apt("apt-cache").arg("madison").args(names))?;
        let mut candidates = BTreeMap::new();
        for line in lines.lines() {
            let mut fields = line.split('|').map(str::trim);
            if let (Some(name), Some(version)) = (fields.next(), fields.next()) {
                candidates.entry(name.to_owned()).or_insert_with(|| version.to_owned());
            }
        }
        Ok(candidates)
    }

    /// The package in that version, from an earlier run or from the mirror.
    ///
    /// # Errors
    /// Neither has it.
    pub(crate) fn fetch(&self, name: &str, version: &str) -> Result<Package> {
        if let Some(package) = self.kept(name, version)? {
            return Ok(package);
        }
        shell::output(
            self.apt("apt-get")
                .args(["download", "-q"])
                .arg(format!("{name}={version}"))
                .current_dir(&self.packages),
        )?;
        self.kept(name, version)?
            .with_context(|| format!("apt-get left no {name} {version} behind"))
    }

    /// Those packages and everything they depend on, as `.deb` files.
    ///
    /// # Errors
    /// The mirror does not have them all.
    pub(crate) fn with_dependencies(&self, names: &[String]) -> Result<Vec<Package>> {
        let cache = self.configuration.with_file_name("cache").join("archives");
        shell::output(
            self.apt("apt-get")
                .args(["install", "-q", "-y", "--download-only", "--no-install-recommends"])
                .args(names),
        )?;
        let mut packages = Vec::new();
        for entry in std::fs::read_dir(cache)? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "deb") {
                packages.push(Package { path });
            }
        }
        packages.sort_by(|one, other| one.path.cmp(&other.path));
        Ok(packages)
    }

    /// The upstream part of a source package, downloaded into `folder`.
    ///
    /// # Errors
    /// The mirror does not have it.
    pub(crate) fn source(&self, suite: &str, name: &str, folder: &Path) -> Result<PathBuf> {
        let list = self.configuration.with_file_name("sources-of-sources.list");
        std::fs::write(&list, format!("deb-src [trusted=yes] {} {suite} main\n", mirror(suite)?))?;
        let apt = || {
            let mut apt = self.apt("apt-get");
            // The lists of the binary packages stay.
            apt.args(["-q", "-o", "APT::Get::List-Cleanup=false", "-o"])
                .arg(format!("Dir::Etc::sourcelist={}", list.display()));
            apt
        };
        shell::output(apt().args(["update", "--error-on=any"]))?;
        shell::output(
            apt().args(["source", "--tar-only", "--download-only", name]).current_dir(folder),
        )?;
        std::fs::read_dir(folder)?
            .flatten()
            .map(|entry| entry.path())
            .find(|path| {
                let name = path.to_string_lossy();
                name.contains(".orig.tar.") && !name.ends_with(".asc")
            })
            .with_context(|| format!("apt-get left no source of {name} behind"))
    }

    fn kept(&self, name: &str, version: &str) -> Result<Option<Package>> {
        // apt percent-encodes the colon of an epoch in file names.
        let start = format!("{name}_{}_", version.replace(':', "%3a"));
        for entry in std::fs::read_dir(&self.packages)? {
            let path = entry?.path();
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            if file.starts_with(&start) && file.ends_with(".deb") {
                return Ok(Some(Package { path }));
            }
        }
        Ok(None)
    }
}

impl Package {
    /// Paths of the regular files in the package, without leading `./`.
    ///
    /// # Errors
    /// `dpkg-deb` cannot read it.
    pub(crate) fn files(&self) -> Result<Vec<String>> {
        let list = shell::output(shell::command("dpkg-deb").arg("--contents").arg(&self.path))?;
        Ok(list
            .lines()
            .filter(|line| line.starts_with('-'))
            .filter_map(|line| line.split_once(" ./").map(|(_, path)| path.to_owned()))
            .collect())
    }

    /// Extracts `files` (paths as [`Package::files`] gives them) below `folder`.
    ///
    /// # Errors
    /// One is not in the package, or nothing can be written.
    pub(crate) fn extract(&self, files: &[&str], folder: &Path) -> Result<()> {
        if files.iter().all(|file| folder.join(file).is_file()) {
            return Ok(());
        }
        let members: Vec<String> = files.iter().map(|file| format!("./{file}")).collect();
        self.tar(&members, folder)
    }

    /// Unpacks all its files below `folder`, following links to folders there.
    ///
    /// # Errors
    /// Nothing can be written.
    pub(crate) fn unpack(&self, folder: &Path) -> Result<()> {
        self.tar(&["--keep-directory-symlink".into()], folder)
    }

    /// Hands the package's files to tar, with further arguments for it.
    fn tar(&self, arguments: &[String], folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder)?;
        let mut data = shell::command("dpkg-deb")
            .arg("--fsys-tarfile")
            .arg(&self.path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .context("cannot start dpkg-deb")?;
        let pipe = data.stdout.take().context("dpkg-deb has no output")?;
        let status = shell::command("tar")
            .arg("-x")
            .arg("-C")
            .arg(folder)
            .args(arguments)
            .stdin(pipe)
            .status()
            .context("cannot start tar")?;
        data.wait()?;
        if !status.success() {
            bail!("tar cannot unpack {} ({})", self.path.display(), arguments.join(" "));
        }
        Ok(())
    }
}

/// The mirror that this machine's apt configuration uses for such a suite.
fn mirror(suite: &str) -> Result<String> {
    let targets = shell::output(shell::command("apt-get").args([
        "indextargets",
        "--format",
        "$(REPO_URI) $(RELEASE)",
        "Created-By: Packages",
    ]))?;
    let security = suite.ends_with("-security");
    targets
        .lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(_, release)| release.ends_with("-security") == security)
        .map(|(uri, _)| uri.to_owned())
        .context("this machine's apt configuration names no mirror for such a suite")
}
