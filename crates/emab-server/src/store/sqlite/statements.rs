//! The SQL statements.

pub(super) const CREATE: &str = "
    INSERT INTO studies (name, spec, spec_hash, hash, closed, seq, episodes, open, learned, missing, relearned)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
    ON CONFLICT (name) DO NOTHING RETURNING key";

pub(super) const WRITE_HEAD: &str = "
    UPDATE studies SET hash = ?2, closed = ?3, seq = ?4, episodes = ?5, open = ?6, learned = ?7, missing = ?8,
    relearned = ?9 WHERE key = ?1";

pub(super) const WRITE_EVENT: &str =
    "INSERT INTO events (study, seq, text, hash) VALUES (?1, ?2, ?3, ?4)";

pub(super) const WRITE_EPISODE: &str = "
    INSERT INTO cases (study, id, step, open, body) VALUES (?1, ?2, ?3, ?4, ?5)
    ON CONFLICT (study, id) DO UPDATE SET step = excluded.step, open = excluded.open, body = excluded.body";

pub(super) const WRITE_DECISION: &str =
    "INSERT INTO answers (study, episode, step, text) VALUES (?1, ?2, ?3, ?4)";

pub(super) const WRITE_LEARNED: &str = "
    INSERT INTO lessons (study, place, bytes) VALUES (?1, ?2, ?3)
    ON CONFLICT (study, place) DO UPDATE SET bytes = excluded.bytes";

pub(super) const WRITE_GAIN_SUM: &str = "
    INSERT INTO cells (study, t, x, a, count, sum) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (study, t, x, a) DO UPDATE SET count = excluded.count, sum = excluded.sum";

pub(super) const HEAD: &str = "
    SELECT key, name, spec, spec_hash, hash, closed, seq, episodes, open, learned, missing, relearned FROM studies
    WHERE name = ?1";

pub(super) const KEY: &str = "SELECT key FROM studies WHERE name = ?1";

pub(super) const HEADS: &str = "
    SELECT key, name, spec, spec_hash, hash, closed, seq, episodes, open, learned, missing, relearned FROM studies
    WHERE name > ?1 ORDER BY name LIMIT ?2";

// The names come as a JSON array.
pub(super) const EPISODES: &str = "
    SELECT cases.id, body, step, open FROM json_each(?2) AS named CROSS JOIN cases ON cases.study = ?1 AND cases.id = named.value";

pub(super) const EPISODES_AFTER: &str =
    "SELECT id, body, step, open FROM cases WHERE study = ?1 AND id > ?2 ORDER BY id LIMIT ?3";

// Without statistics the planner might prefer the other index.
pub(super) const OPEN_EPISODES_AFTER: &str = "
    SELECT id, body, step, open FROM cases INDEXED BY cases_open WHERE study = ?1 AND id > ?2 AND open = 1 ORDER BY id LIMIT ?3";

pub(super) const DECISION: &str =
    "SELECT episode, step, text FROM answers WHERE study = ?1 AND episode = ?2 AND step = ?3";

// `CROSS` fixes the order: first the episode, then its decision.
pub(super) const CURRENT_DECISION: &str = "
    SELECT answers.episode, answers.step, answers.text FROM cases CROSS JOIN answers
    ON answers.study = cases.study AND answers.episode = cases.id AND answers.step = cases.step
    WHERE cases.study = ?1 AND cases.id = ?2";

pub(super) const DECISIONS: &str =
    "SELECT episode, step, text FROM answers WHERE study = ?1 AND episode = ?2 ORDER BY step";

pub(super) const EVENTS: &str =
    "SELECT seq, text, hash FROM events WHERE study = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3";

pub(super) const LEARNED: &str =
    "SELECT place, bytes FROM lessons WHERE study = ?1 AND place >= ?2 ORDER BY place LIMIT ?3";

pub(super) const GAIN_SUMS: &str = "
    SELECT t, x, a, count, sum FROM cells WHERE study = ?1 AND (t, x, a) > (?2, ?3, ?4) ORDER BY t, x, a LIMIT ?5";

/// The statements whose query plan is tested: all but plain inserts.
#[cfg(test)]
pub(super) const PLANNED: [&str; 12] = [
    WRITE_HEAD,
    HEAD,
    KEY,
    HEADS,
    EPISODES_AFTER,
    OPEN_EPISODES_AFTER,
    DECISION,
    CURRENT_DECISION,
    DECISIONS,
    EVENTS,
    LEARNED,
    GAIN_SUMS,
];
