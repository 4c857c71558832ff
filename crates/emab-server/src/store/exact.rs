//! Reads episode rows; for an inspection, checks that every byte is as the service writes it.

use crate::domain::episode::EpisodeRecord;

/// The row of an episode.
pub(super) struct Row<'a> {
    pub id: &'a str,
    pub body: &'a str,
    pub step: i64,
    pub open: bool,
}

impl Row<'_> {
    /// Parses the episode. The error does not contain its text, which must not appear in logs.
    pub(super) fn read(&self) -> Result<EpisodeRecord, String> {
        serde_json::from_str(self.body).map_err(|error| format!("episode `{}`: {error}", self.id))
    }

    /// Parses the episode and compares every byte with what the service writes.
    pub(super) fn read_exactly(&self) -> Result<EpisodeRecord, String> {
        let episode = self.read()?;
        let wrong = |what: String| format!("episode `{}`: {what}", self.id);
        let written = serde_json::to_string(&episode).map_err(|error| wrong(error.to_string()))?;
        if written != self.body || episode.id != self.id {
            return Err(wrong("it is not written as this service writes".into()));
        }
        if (self.step, self.open) != (episode.step() as i64, episode.end.is_none()) {
            return Err(wrong(format!(
                "the columns `step` and `open` are {} and {}",
                self.step, self.open
            )));
        }
        Ok(episode)
    }
}
