//! The default data directory.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// No data directory is configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("none of EMAB_DATA, XDG_DATA_HOME and HOME is set; set EMAB_DATA to a folder")]
pub struct NoFolder;

/// `$EMAB_DATA`, or `$XDG_DATA_HOME/emab`, or `~/.local/share/emab`. It need not exist.
pub fn data_folder() -> Result<PathBuf, NoFolder> {
    folder_of(|name| std::env::var_os(name))
}

/// The default token file.
pub fn token_file() -> Result<PathBuf, NoFolder> {
    data_folder().map(|folder| folder.join("tokens.json"))
}

fn folder_of(var: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, NoFolder> {
    // Empty and relative values count as not set, as the XDG specification requires.
    let given = |name| {
        var(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if let Some(folder) = given("EMAB_DATA") {
        return Ok(folder);
    }
    let absolute = |name| given(name).filter(|path| path.is_absolute());
    let home = || absolute("HOME").map(|home| home.join(Path::new(".local/share")));
    let base = absolute("XDG_DATA_HOME").or_else(home).ok_or(NoFolder)?;
    Ok(base.join("emab"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_the_first_variable_that_is_set() {
        let of = |set: &[(&str, &str)]| {
            folder_of(|name| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| value.into())
            })
        };
        let (own, xdg, home) = (
            ("EMAB_DATA", "here"),
            ("XDG_DATA_HOME", "/x"),
            ("HOME", "/h"),
        );
        assert_eq!(of(&[own, xdg, home]), Ok("here".into()));
        assert_eq!(of(&[xdg, home]), Ok("/x/emab".into()));
        assert_eq!(of(&[home]), Ok("/h/.local/share/emab".into()));
        let odd = [("EMAB_DATA", ""), ("XDG_DATA_HOME", "relative"), home];
        assert_eq!(of(&odd), Ok("/h/.local/share/emab".into()));
        assert_eq!(of(&[]), Err(NoFolder));
    }
}
