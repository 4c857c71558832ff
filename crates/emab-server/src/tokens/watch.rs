//! The tokens as the running service knows them, never more than about a second behind the file.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::file::TokenFile;
use super::secret::Hash;
use super::token::Token;
use super::{Denied, TokenError};

/// How long a revocation may take to be noticed.
const EVERY: Duration = Duration::from_secs(1);

type Known = HashMap<Hash, Arc<Token>>;

/// Says whose a secret is. A clone knows the same.
#[derive(Clone, Debug)]
pub struct Tokens(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    file: TokenFile,
    start: Instant,
    every: Duration,
    /// When to look at the file again, in milliseconds after the start.
    due: AtomicU64,
    known: RwLock<Arc<Known>>,
    seen: Mutex<Seen>,
}

/// What the file was when it was last looked at.
#[derive(Debug)]
struct Seen {
    stamp: Option<Stamp>,
    /// What was wrong with it, so that the log says it once and not every second.
    complaint: Option<String>,
}

/// A change of any of these is a change of the file.
#[derive(Debug, PartialEq)]
struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(meta: &Metadata) -> Stamp {
        Stamp {
            device: meta.dev(),
            inode: meta.ino(),
            len: meta.len(),
            modified: (meta.mtime(), meta.mtime_nsec()),
            changed: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

impl Tokens {
    /// Reads the file, which must be there and in order.
    pub fn watch(path: &Path) -> Result<Tokens, TokenError> {
        Tokens::watch_every(path, EVERY)
    }

    fn watch_every(path: &Path, every: Duration) -> Result<Tokens, TokenError> {
        let file = TokenFile::at(path);
        let (tokens, meta) = file.read()?;
        let seen = Seen {
            stamp: Some(Stamp::of(&meta)),
            complaint: None,
        };
        Ok(Tokens(Arc::new(Inner {
            file,
            start: Instant::now(),
            every,
            due: AtomicU64::new(millis(every)),
            known: RwLock::new(Arc::new(index(tokens))),
            seen: Mutex::new(seen),
        })))
    }

    /// Whose secret this is.
    ///
    /// Time tells nothing here: what is compared is a hash of what was sent. Whoever measures how far a comparison went
    /// learns about the hash of a guess, and cannot choose the next guess so that its hash begins as a stored one does.
    pub fn check(&self, bearer: &str) -> Result<Arc<Token>, Denied> {
        self.0.refresh();
        let hash = Hash::of(bearer).ok_or(Denied::Malformed)?;
        let token = match self.0.find(&hash) {
            Some(token) => token,
            None => {
                // It may have been made a moment ago; whoever made it wants to use it now.
                self.0.look();
                self.0.find(&hash).ok_or(Denied::Unknown)?
            }
        };
        match token.revoked() {
            None => Ok(token),
            Some(_) => Err(Denied::Revoked {
                id: token.id().into(),
            }),
        }
    }

    /// Whether a token that was let in is still there, as it was: for what goes on after its request.
    pub fn is_still_good(&self, token: &Token) -> bool {
        self.0.refresh();
        let now = self.0.find(&token.hash());
        now.is_some_and(|now| now.revoked().is_none() && *now == *token)
    }
}

impl Inner {
    fn find(&self, hash: &Hash) -> Option<Arc<Token>> {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(hash).cloned()
    }

    /// Looks at the file if it is time to. One request in a second pays for it; the others do not wait.
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

    /// Looks whether the file changed, and reads it if so.
    fn look(&self) {
        // Should the last look still take its time on a slow disk, then it is the one that counts.
        let Ok(mut seen) = self.seen.try_lock() else {
            return;
        };
        let stamp = fs::metadata(self.file.path())
            .ok()
            .map(|meta| Stamp::of(&meta));
        if stamp.is_some() && stamp == seen.stamp {
            return;
        }
        let path = self.file.path().display();
        match self.file.read() {
            Ok((tokens, meta)) => {
                let known = index(tokens);
                tracing::info!(%path, tokens = known.len(), "token file read again");
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(known);
                *seen = Seen {
                    stamp: Some(Stamp::of(&meta)),
                    complaint: None,
                };
            }
            Err(error) => {
                let complaint = error.to_string();
                if seen.complaint.as_ref() != Some(&complaint) {
                    tracing::error!(%path, error = complaint, "the tokens read before stay in force");
                }
                *seen = Seen {
                    stamp: None,
                    complaint: Some(complaint),
                };
            }
        }
    }
}

fn index(tokens: Vec<Token>) -> Known {
    let entry = |token: Token| (token.hash(), Arc::new(token));
    tokens.into_iter().map(entry).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;

    use super::super::{Role, Secret};
    use super::*;

    struct Place {
        _folder: tempfile::TempDir,
        file: TokenFile,
        secret: Secret,
    }

    fn place() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::at(folder.path().join("tokens.json"));
        let (_, secret) = file.new_token("a", Role::Operator, None).unwrap();
        Place {
            _folder: folder,
            file,
            secret,
        }
    }

    #[test]
    fn only_known_secrets_pass() {
        let place = place();
        let tokens = Tokens::watch(place.file.path()).unwrap();
        let token = tokens.check(place.secret.reveal()).unwrap();
        assert_eq!((token.name(), token.role()), ("a", Role::Operator));
        assert_eq!(tokens.check("").unwrap_err(), Denied::Malformed);
        let other = Secret::new().unwrap();
        assert_eq!(tokens.check(other.reveal()).unwrap_err(), Denied::Unknown);
        assert!(!format!("{tokens:?}").contains(&place.secret.reveal()[5..13]));
        let none = place.file.path().with_extension("none");
        assert!(matches!(
            Tokens::watch(&none),
            Err(TokenError::Missing { .. })
        ));
    }

    #[test]
    fn changes_are_noticed_and_a_broken_file_changes_nothing() {
        let place = place();
        let tokens = Tokens::watch_every(place.file.path(), Duration::ZERO).unwrap();
        let (_, second) = place.file.new_token("b", Role::Viewer, None).unwrap();
        assert_eq!(tokens.check(second.reveal()).unwrap().name(), "b");
        let good = fs::read(place.file.path()).unwrap();

        fs::write(place.file.path(), "[").unwrap();
        tokens.check(second.reveal()).unwrap();
        fs::remove_file(place.file.path()).unwrap();
        tokens.check(second.reveal()).unwrap();
        tokens.check(place.secret.reveal()).unwrap();

        // In order again, and it works again.
        fs::write(place.file.path(), good).unwrap();
        let id = place.file.revoke("b").unwrap().id().to_owned();
        let denied = tokens.check(second.reveal()).unwrap_err();
        assert_eq!(denied, Denied::Revoked { id });
        tokens.check(place.secret.reveal()).unwrap();
    }

    #[test]
    fn a_revocation_works_within_seconds_while_the_service_runs() {
        let place = place();
        let tokens = Tokens::watch(place.file.path()).unwrap();
        tokens.check(place.secret.reveal()).unwrap();
        place.file.revoke("a").unwrap();
        let start = Instant::now();
        while tokens.check(place.secret.reveal()).is_ok() {
            assert!(start.elapsed() < Duration::from_secs(10));
            sleep(Duration::from_millis(20));
        }
    }
}
