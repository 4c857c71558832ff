//! Tokens in the database, shared by all copies of the service.

use super::super::sql::{Names, Params, Sql};
use super::super::{Result, Store, TokenRows};
use super::connection::PgConnection;

pub(super) const FIND: &str = "SELECT body FROM tokens WHERE id = ANY($1)";
pub(super) const ALL: &str = "SELECT body FROM tokens ORDER BY id";
pub(super) const WRITE: &str = "
    INSERT INTO tokens (id, body) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET body = excluded.body RETURNING 1::BIGINT";
/// One writer at a time, of those that change tokens.
pub(super) const LOCK: &str = "SELECT version FROM meta WHERE application = 'emab' FOR UPDATE";

impl TokenRows for PgConnection {
    fn find(&mut self, ids: &[&str]) -> Result<Vec<String>> {
        self.rows(FIND, &[&Names(ids)])
    }

    fn all(&mut self) -> Result<Vec<String>> {
        self.rows(ALL, &[])
    }

    fn change(
        &mut self,
        change: &mut dyn FnMut(Vec<String>) -> Vec<(String, String)>,
    ) -> Result<()> {
        Store::begin(self)?;
        let changed = self.row::<i64>(LOCK, &[]).and_then(|_| {
            let there = self.rows(ALL, &[])?;
            for (id, body) in change(there) {
                let values: Params<'_> = &[&id, &body];
                self.row::<i64>(WRITE, values)?;
            }
            Store::commit(self)
        });
        if changed.is_err() {
            Store::rollback(self);
        }
        changed
    }
}
