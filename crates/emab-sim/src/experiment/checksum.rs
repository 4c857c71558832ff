//! JSON documents with a checksum. An edited state would give results that no seed gives, so it is rejected.

use emab_problem::sha256_hex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::result_folder::{Folder, FolderError};

#[derive(Serialize, Deserialize)]
struct Sealed {
    sha256: String,
    body: Box<RawValue>,
}

/// One line of JSON with its checksum.
pub(crate) fn seal(document: &impl Serialize) -> Result<String, FolderError> {
    let failed = |error| FolderError::Json(error);
    let body = serde_json::value::to_raw_value(document).map_err(failed)?;
    let sealed = Sealed {
        sha256: sha256_hex(body.get().as_bytes()),
        body,
    };
    Ok(serde_json::to_string(&sealed).map_err(failed)? + "\n")
}

/// The document of a sealed line; fails if the checksum does not match. Errors call the line `name`.
pub(crate) fn open<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, FolderError> {
    let damaged =
        |what: &dyn std::fmt::Display| FolderError::Damaged(name.into(), what.to_string());
    let sealed: Sealed = serde_json::from_str(text).map_err(|error| damaged(&error))?;
    if sha256_hex(sealed.body.get().as_bytes()) != sealed.sha256 {
        return Err(damaged(&"its checksum does not match its content"));
    }
    serde_json::from_str(sealed.body.get()).map_err(|error| damaged(&error))
}

impl Folder {
    /// Writes a sealed document.
    pub(crate) fn write_sealed(
        &self,
        name: &str,
        document: &impl Serialize,
    ) -> Result<(), FolderError> {
        Ok(self.write(name, seal(document)?.as_bytes())?)
    }

    /// Reads a JSON document without a checksum.
    pub fn read_json<T: DeserializeOwned>(&self, name: &str) -> Result<T, FolderError> {
        serde_json::from_str(&self.read(name)?).map_err(|error| {
            let file = self.file(name).display().to_string();
            FolderError::Damaged(file, error.to_string())
        })
    }

    /// Reads a sealed document.
    pub(crate) fn read_sealed<T: DeserializeOwned>(&self, name: &str) -> Result<T, FolderError> {
        open(&self.file(name).display().to_string(), &self.read(name)?)
    }

    /// Reads a file of sealed lines. A last line without a newline was interrupted and is left out.
    pub(crate) fn read_sealed_lines<T: DeserializeOwned>(
        &self,
        name: &str,
    ) -> Result<Vec<T>, FolderError> {
        if !self.has(name) {
            return Ok(Vec::new());
        }
        let text = self.read(name)?;
        let lines = text.split_inclusive('\n').enumerate();
        lines
            .filter(|(_, line)| line.ends_with('\n'))
            .map(|(i, line)| {
                let place = format!("line {} of {}", i + 1, self.file(name).display());
                open(&place, line)
            })
            .collect()
    }

    /// Writes a file of sealed lines.
    pub(crate) fn write_sealed_lines(
        &self,
        name: &str,
        documents: &[impl Serialize],
    ) -> Result<(), FolderError> {
        let lines: Result<Vec<String>, FolderError> = documents.iter().map(seal).collect();
        Ok(self.write(name, lines?.concat().as_bytes())?)
    }

    /// Appends a sealed line.
    pub(crate) fn append_sealed(
        &self,
        name: &str,
        document: &impl Serialize,
    ) -> Result<(), FolderError> {
        Ok(self.append(name, seal(document)?.as_bytes())?)
    }
}
