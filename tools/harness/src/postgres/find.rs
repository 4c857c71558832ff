//! Where PostgreSQL's programs are, and who may run them.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// What is needed of an installation.
const NEEDED: [&str; 2] = ["initdb", "postgres"];
/// Long enough for a slow mirror, short enough for a test.
const INSTALLING: Duration = Duration::from_secs(300);

/// The folder of an installation's programs.
#[derive(Clone, Debug)]
pub struct Programs(PathBuf);

impl Programs {
    /// Looks for an installation, and installs one if there is none and we may.
    pub fn find() -> Result<Programs, String> {
        if let Some(found) = Programs::first(candidates()) {
            return Ok(found);
        }
        install()?;
        Programs::first(candidates()).ok_or_else(|| {
            "the package `postgresql` was installed, and `initdb` is still not found".into()
        })
    }

    fn first(folders: Vec<PathBuf>) -> Option<Programs> {
        let whole = |folder: &PathBuf| NEEDED.iter().all(|name| folder.join(name).is_file());
        folders.into_iter().find(whole).map(Programs)
    }

    /// The path of a program.
    pub fn path(&self, program: &str) -> PathBuf {
        self.0.join(program)
    }
}

/// Where programs may be, the likeliest first.
fn candidates() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::env::var_os("PATH")
        .map(|path| std::env::split_paths(&path).collect())
        .unwrap_or_default();
    // Debian keeps versions apart: the newest first.
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    let number = |path: &PathBuf| -> u32 {
        let name = path.file_name().and_then(|name| name.to_str());
        name.and_then(|name| name.parse().ok()).unwrap_or(0)
    };
    versions.sort_by_key(|path| std::cmp::Reverse(number(path)));
    folders.extend(versions.into_iter().map(|path| path.join("bin")));
    let told = Command::new("pg_config").arg("--bindir").output();
    if let Ok(output) = told {
        let text = String::from_utf8_lossy(&output.stdout);
        folders.push(text.trim().into());
    }
    folders
}

/// Installs PostgreSQL where that is one command and ours to give.
fn install() -> Result<(), String> {
    const WHAT: &str = "PostgreSQL's server programs (`initdb`, `postgres`) are needed: \
        on Debian and Ubuntu `apt-get install postgresql`, on Fedora `dnf install postgresql-server`, \
        on macOS `brew install postgresql`, or have their folder on PATH";
    package("postgresql").map_err(|why| format!("{why}; {WHAT}"))
}

/// Installs a package where we may: as root on Debian and its kin.
pub fn package(name: &str) -> Result<(), String> {
    let root = rustix::process::geteuid().is_root();
    if !root || !Path::new("/usr/bin/apt-get").is_file() {
        return Err(format!("`{name}` cannot be installed from here"));
    }
    let end = Instant::now() + INSTALLING;
    let steps: [&[&str]; 2] = [&["update"], &["install", "-y", name]];
    for step in steps {
        apt_get(step, end)?;
    }
    Ok(())
}

fn apt_get(arguments: &[&str], end: Instant) -> Result<(), String> {
    let name = format!("apt-get {}", arguments.join(" "));
    let wrong = |error: std::io::Error| format!("{name}: {error}");
    let mut child = Command::new("apt-get")
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        // What it says belongs with what the test says, not in its results.
        .stdout(std::io::stderr())
        .spawn()
        .map_err(wrong)?;
    loop {
        match child.try_wait().map_err(wrong)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => return Err(format!("{name}: {status}")),
            None if Instant::now() > end => {
                child.kill().map_err(wrong)?;
                child.wait().map_err(wrong)?;
                return Err(format!("{name}: not done after {INSTALLING:?}"));
            }
            None => std::thread::sleep(Duration::from_millis(200)),
        }
    }
}

/// An account without rights, which the server runs as where we are root: it refuses to be.
#[derive(Clone, Debug)]
pub struct Account {
    user: u32,
    group: u32,
}

impl Account {
    /// The account to take, none if we have no rights to give up.
    pub fn unprivileged() -> Result<Option<Account>, String> {
        if !rustix::process::geteuid().is_root() {
            return Ok(None);
        }
        let accounts = std::fs::read_to_string("/etc/passwd")
            .map_err(|error| format!("/etc/passwd: {error}"))?;
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| Account::read(&accounts, name))
            .map(Some)
            .ok_or_else(|| {
                "PostgreSQL does not run as root, and there is no user `postgres` or `nobody`"
                    .into()
            })
    }

    fn read(accounts: &str, name: &str) -> Option<Account> {
        accounts.lines().find_map(|line| {
            let mut fields = line.split(':');
            (fields.next()? == name).then_some(())?;
            Some(Account {
                user: fields.nth(1)?.parse().ok()?,
                group: fields.next()?.parse().ok()?,
            })
        })
    }

    /// Makes a command run as this account, without any group of ours.
    pub fn take(&self, command: &mut Command) {
        command.uid(self.user).gid(self.group);
    }

    /// Makes this account the owner of a file or folder.
    pub fn give(&self, path: &Path) -> Result<(), String> {
        std::os::unix::fs::chown(path, Some(self.user), Some(self.group))
            .map_err(|error| format!("{}: {error}", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_read_by_its_whole_name() {
        let text = "postgresql:x:7:8:::\npostgres:x:101:104:A,,,:/var/lib:/bin/bash\n";
        let account = Account::read(text, "postgres").unwrap();
        assert_eq!((account.user, account.group), (101, 104));
        assert!(Account::read(text, "nobody").is_none());
    }

    #[test]
    fn a_folder_counts_only_with_all_programs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("initdb"), "").unwrap();
        assert!(Programs::first(vec![folder.path().into()]).is_none());
        std::fs::write(folder.path().join("postgres"), "").unwrap();
        assert!(Programs::first(vec!["/nowhere".into(), folder.path().into()]).is_some());
    }
}
