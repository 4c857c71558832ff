//! Where the service keeps what is its own, when nobody says otherwise.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// There is no telling where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "none of EMAB_DATA, XDG_DATA_HOME and HOME says where data are kept; set EMAB_DATA to a folder"
)]
pub struct NoFolder;

/// `$EMAB_DATA`, or `$XDG_DATA_HOME/emab`, or `~/.local/share/emab`. It need not be there.
pub fn data_folder() -> Result<PathBuf, NoFolder> {
    folder_of(|name| std::env::var_os(name))
}

/// The token file in it.
pub fn token_file() -> Result<PathBuf, NoFolder> {
    data_folder().map(|folder| folder.join("tokens.json"))
}

fn folder_of(var: impl Fn(&str) -> Option<OsString>) -> Result<PathBuf, NoFolder> {
    // Empty is as good as not set, says the specification of the XDG folders, and so is a relative one.
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
    fn the_first_that_is_set_counts() {
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
