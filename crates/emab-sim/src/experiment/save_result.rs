//! Saves a result that was made without a folder, as Python does.

use std::path::Path;

use serde_json::Value;

use super::folder_content::{FolderContent, ResultKind};
use super::result_folder::{Folder, FolderError};

/// Writes the files of a result, given by name and content, into a folder, which is created if necessary. False if the
/// folder has the same files already, up to the times in JSON documents. Another result there is an error, or removed if
/// `force` is set; see [`FolderContent::make_room`].
pub fn save_result(
    path: &Path,
    kind: ResultKind,
    files: &[(&str, &[u8])],
    force: bool,
) -> Result<bool, FolderError> {
    let folder = Folder::create(path)?;
    let same = |(name, content): &(&str, &[u8])| match std::fs::read(folder.file(name)) {
        Ok(found) if name.ends_with(".json") => timeless(&found) == timeless(content),
        Ok(found) => found == *content,
        Err(_) => false,
    };
    if files.iter().all(same) {
        return Ok(false);
    }
    FolderContent::read(&folder)?.make_room(&folder, kind, None, force)?;
    for (name, content) in files {
        folder.write(name, content)?;
    }
    Ok(true)
}

/// A JSON document without the times that it took.
fn timeless(text: &[u8]) -> Option<Value> {
    fn without(value: &mut Value) {
        match value {
            Value::Object(fields) => {
                fields.remove("seconds");
                fields.values_mut().for_each(without);
            }
            Value::Array(list) => list.iter_mut().for_each(without),
            _ => {}
        }
    }
    let mut value = serde_json::from_slice(text).ok()?;
    without(&mut value);
    Some(value)
}
