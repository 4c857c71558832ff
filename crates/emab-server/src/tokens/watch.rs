//! The tokens of the running service, at most about a second older than the file.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::TokenError;
use super::file::TokenFile;
use super::secret::Hash;
use super::token::Token;

/// The time between two looks at the file.
const EVERY: Duration = Duration::from_secs(1);

type Known = HashMap<Hash, Arc<Token>>;

/// The tokens by secret; clones share them.
#[derive(Clone, Debug)]
pub struct Tokens(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: TokenFile,
    start: Instant,
    every: Duration,
    /// The time of the next look at the file, in milliseconds after the start.
    due: AtomicU64,
    known: RwLock<Arc<Known>>,
    /// The file at the last look, or the error, so that it is logged once and not every second.
    seen: Mutex<Result<Stamp, String>>,
}

/// Changes whenever the file changes: device, inode, length, and times of modification and change.
type Stamp = (u64, u64, u64, [i64; 4]);

fn stamp(meta: &Metadata) -> Stamp {
    let times = [
        meta.mtime(),
        meta.mtime_nsec(),
        meta.ctime(),
        meta.ctime_nsec(),
    ];
    (meta.dev(), meta.ino(), meta.len(), times)
}

impl Tokens {
    /// Reads the file; fails if it is missing or invalid.
    pub fn watch(path: &Path) -> Result<Tokens, TokenError> {
        Tokens::watch_every(path, EVERY)
    }

    fn watch_every(path: &Path, every: Duration) -> Result<Tokens, TokenError> {
        let file = TokenFile::at(path);
        let (tokens, meta) = file.read()?;
        Ok(Tokens(Arc::new(Inner {
            file,
            start: Instant::now(),
            every,
            due: AtomicU64::new(millis(every)),
            known: RwLock::new(Arc::new(index(tokens))),
            seen: Mutex::new(Ok(stamp(&meta))),
        })))
    }

    /// The token of a secret; none if it is malformed, unknown or revoked.
    ///
    /// Timing reveals nothing useful: hashes are compared, and an attacker cannot choose a guess by its hash.
    pub fn check(&self, bearer: &str) -> Option<Arc<Token>> {
        self.0.refresh();
        let hash = Hash::of(bearer)?;
        let known = self.0.find(&hash).or_else(|| {
            // It may have been created a moment ago.
            self.0.look();
            self.0.find(&hash)
        });
        known.filter(|token| token.revoked.is_none())
    }

    /// Whether a token is still valid and unchanged, for responses that stream.
    pub fn is_still_good(&self, token: &Token) -> bool {
        self.0.refresh();
        let now = self.0.find(&token.hash);
        now.is_some_and(|now| now.revoked.is_none() && *now == *token)
    }
}

impl Inner {
    fn find(&self, hash: &Hash) -> Option<Arc<Token>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(hash).cloned()
    }

    /// Looks at the file if it is due; one request per second does, and the others do not wait.
    fn refresh(&self) {
        let now = millis(self.start.elapsed());
        let due = self.due.load(Ordering::Relaxed);
        let next = now.saturating_add(millis(self.every));
        let order = Ordering::Relaxed;
        if now < due || self.due.compare_exchange(due, next, order, order).is_err() {
            return;
        }
        self.look();
    }

    /// Reads the file if it has changed.
    fn look(&self) {
        // Another thread is looking.
        let Ok(mut seen) = self.seen.try_lock() else {
            return;
        };
        let now = fs::metadata(self.file.path());
        if now.is_ok_and(|meta| *seen == Ok(stamp(&meta))) {
            return;
        }
        let path = self.file.path().display();
        *seen = match self.file.read() {
            Ok((tokens, meta)) => {
                let known = index(tokens);
                tracing::info!(%path, tokens = known.len(), "token file reloaded");
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
                Ok(stamp(&meta))
            }
            Err(error) => {
                let error = Err(error.to_string());
                if *seen != error {
                    tracing::error!(%path, error = error.as_ref().err(), "the previous tokens stay valid");
                }
                error
            }
        };
    }
}

fn index(tokens: Vec<Token>) -> Known {
    let entry = |token: Token| (token.hash.clone(), Arc::new(token));
    tokens.into_iter().map(entry).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::{Role, Secret};
    use super::*;

    struct Fixture {
        _folder: tempfile::TempDir,
        file: TokenFile,
        secret: Secret,
    }

    fn place() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::at(folder.path().join("tokens.json"));
        let (_, secret) = file.new_token("a", Role::Operator, None).unwrap();
        Fixture {
            _folder: folder,
            file,
            secret,
        }
    }

    #[test]
    fn accepts_only_known_secrets() {
        let place = place();
        let tokens = Tokens::watch(place.file.path()).unwrap();
        let token = tokens.check(place.secret.reveal()).unwrap();
        assert_eq!((&*token.name, token.role), ("a", Role::Operator));
        assert_eq!(tokens.check(""), None);
        let other = Secret::new().unwrap();
        assert_eq!(tokens.check(other.reveal()), None);
        assert!(!format!("{tokens:?}").contains(&place.secret.reveal()[5..13]));
        let none = place.file.path().with_extension("none");
        assert!(matches!(
            Tokens::watch(&none),
            Err(TokenError::Missing { .. })
        ));
    }

    #[test]
    fn follows_changes_and_ignores_an_invalid_file() {
        let place = place();
        let tokens = Tokens::watch_every(place.file.path(), Duration::ZERO).unwrap();
        let (_, second) = place.file.new_token("b", Role::Viewer, None).unwrap();
        assert_eq!(tokens.check(second.reveal()).unwrap().name, "b");
        let good = fs::read(place.file.path()).unwrap();

        fs::write(place.file.path(), "[").unwrap();
        tokens.check(second.reveal()).unwrap();
        fs::remove_file(place.file.path()).unwrap();
        tokens.check(second.reveal()).unwrap();
        tokens.check(place.secret.reveal()).unwrap();

        // A valid file is used again.
        fs::write(place.file.path(), good).unwrap();
        place.file.revoke("b").unwrap();
        assert_eq!(tokens.check(second.reveal()), None);
        tokens.check(place.secret.reveal()).unwrap();
    }
}
