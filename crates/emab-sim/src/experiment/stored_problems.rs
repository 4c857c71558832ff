//! The problem files of an arena, in a folder inside its result folder: a report checks widths on them, and the command that
//! repeats the arena names them.

use std::path::PathBuf;
use std::sync::LazyLock;

use emab_problem::{Builtin, Format, ProblemFile};

use super::result_folder::{Folder, FolderError};
use super::run_folder::plain_name;

/// The folder of the problem files. The name is not `problems`, which users have beside their results.
pub(crate) const FOLDER: &str = "arena-problems";

/// The hashes of the built-in problems.
static BUILTIN_HASHES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let files = Builtin::all().map(|one| ProblemFile::builtin(one.name));
    let hashes = files.filter_map(|file| Some(file?.ok()?.hash().to_owned()));
    hashes.collect()
});

/// The problem files in a result folder, by their names. They are canonical JSON with the conditions of the call. Built-in
/// problems without conditions are not stored.
#[derive(Clone, Debug, Default)]
pub struct StoredProblems {
    path: PathBuf,
    files: Vec<(String, ProblemFile)>,
    /// Whether other problem files, which emab did not write, are beside them.
    others: bool,
}

impl StoredProblems {
    /// The problem files of a result folder; none in folders of earlier versions. Fails if one cannot be read.
    pub fn read(folder: &Folder) -> Result<StoredProblems, FolderError> {
        let mut stored = StoredProblems {
            path: folder.file(FOLDER),
            ..StoredProblems::default()
        };
        if !stored.path.is_dir() {
            return Ok(stored);
        }
        let inside = Folder::open(&stored.path)?;
        for name in inside.files()? {
            if !is_stored(&name) {
                stored.others |= name.ends_with(".json") || name.ends_with(".toml");
                continue;
            }
            let path = inside.file(&name).display().to_string();
            let file = ProblemFile::parse_as(Format::Json, &path, &inside.read(&name)?)?;
            stored.files.push((name, file));
        }
        Ok(stored)
    }

    /// Stores those of the problems that are not built in, in this order, and removes others that were stored before. Returns
    /// whether there are any. A file that has its content already is not written.
    pub fn write(folder: &Folder, problems: &[ProblemFile]) -> Result<bool, FolderError> {
        let all = problems.iter().zip(1..);
        let all = all.filter(|(file, _)| BUILTIN_HASHES.iter().all(|hash| hash != file.hash()));
        let named = |(file, number): (_, usize)| (file_name(number, file), file);
        let all: Vec<(String, &ProblemFile)> = all.map(named).collect();
        let names: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
        if !all.is_empty() {
            let inside = folder.subfolder(FOLDER)?;
            for (name, file) in &all {
                let found = std::fs::read(inside.file(name));
                if found.ok().as_deref() != Some(file.canonical().as_bytes()) {
                    inside.write(name, file.canonical().as_bytes())?;
                }
            }
        }
        remove_except(folder, &names)?;
        Ok(!all.is_empty())
    }

    /// Removes the stored problems of a result folder, and no other files.
    pub(crate) fn remove(folder: &Folder) -> Result<(), FolderError> {
        remove_except(folder, &[])
    }

    /// The problem with this hash.
    pub fn find(&self, hash: &str) -> Option<&ProblemFile> {
        let mut files = self.files.iter();
        files.find_map(|(_, file)| (file.hash() == hash).then_some(file))
    }

    /// The path of the problem with this hash.
    pub fn path_of(&self, hash: &str) -> Option<PathBuf> {
        let mut files = self.files.iter();
        let (name, _) = files.find(|(_, file)| file.hash() == hash)?;
        Some(self.path.join(name))
    }

    /// The folder of the problems and the paths of all of them, as `emab arena FOLDER` reads them; none if other problem
    /// files are in it.
    pub fn folder(&self) -> Option<(PathBuf, Vec<PathBuf>)> {
        let paths = self.files.iter().map(|(name, _)| self.path.join(name));
        (!self.others).then(|| (self.path.clone(), paths.collect()))
    }
}

/// The name of a file: names in order are problems in order.
fn file_name(number: usize, file: &ProblemFile) -> String {
    format!("{number:04}-{}.json", plain_name(file.name()))
}

/// Whether a name is one of [`file_name`].
fn is_stored(name: &str) -> bool {
    is_numbered(name) && name.ends_with(".json")
}

fn is_numbered(name: &str) -> bool {
    let number = name.split_once('-').map_or("", |(number, _)| number);
    number.len() >= 4 && number.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a killed process left it, of a file that it was writing.
fn is_temporary(name: &str) -> bool {
    name.strip_prefix('.').is_some_and(is_numbered) && name.ends_with(".tmp")
}

fn remove_except(folder: &Folder, kept: &[&str]) -> Result<(), FolderError> {
    let path = folder.file(FOLDER);
    if !path.is_dir() {
        return Ok(());
    }
    let inside = Folder::open(&path)?;
    for name in inside.files()? {
        let removed = is_stored(&name) && !kept.contains(&name.as_str());
        if removed || is_temporary(&name) {
            inside.remove(&name)?;
        }
    }
    Ok(folder.remove_empty(FOLDER)?)
}
