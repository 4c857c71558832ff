//! The tokens of the running service, at most about a second older than the file.

use std::collections::HashMap;
use std::fs::{self, Metadata};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use super::file::TokenFile;
use super::token::{Token, TokenKey};
use super::uses::{EVERY as EVERY_USE, Uses};
use super::{Check, TokenError};
use crate::platform::{self, Identity};

/// The time between two looks at the file.
const EVERY: Duration = Duration::from_secs(1);

type Known = HashMap<String, Arc<Token>>;

/// The tokens of a file by id.
#[derive(Debug)]
pub(super) struct WatchedFile {
    file: TokenFile,
    start: Instant,
    every: Duration,
    /// The time of the next look at the file, in milliseconds after the start.
    due: AtomicU64,
    /// None if the file cannot be used.
    known: RwLock<Option<Arc<Known>>>,
    /// The file at the last look, or the error, so that it is logged once and not every second.
    seen: Mutex<Result<Stamp, String>>,
    uses: Mutex<Uses>,
    /// Why the last uses could not be written, so that it is logged once.
    unwritten: Mutex<Option<String>>,
}

/// Changes whenever the file changes.
type Stamp = (Identity, u64, [i64; 4]);

fn stamp(meta: &Metadata) -> Stamp {
    (platform::identity(meta), meta.len(), platform::times(meta))
}

impl WatchedFile {
    /// Reads the file; fails if it is missing or invalid.
    pub(super) fn new(path: &Path) -> Result<WatchedFile, TokenError> {
        WatchedFile::look_every(path, EVERY)
    }

    fn look_every(path: &Path, every: Duration) -> Result<WatchedFile, TokenError> {
        let file = TokenFile::at(path);
        let (tokens, meta) = file.read()?;
        Ok(WatchedFile {
            file,
            start: Instant::now(),
            every,
            due: AtomicU64::new(millis(every)),
            known: RwLock::new(Some(Arc::new(index(tokens)))),
            seen: Mutex::new(Ok(stamp(&meta))),
            uses: Mutex::default(),
            unwritten: Mutex::default(),
        })
    }

    /// Checks the key of a token.
    pub(super) fn check(&self, key: &TokenKey) -> Check {
        self.refresh();
        match self.find(key) {
            Check::Invalid => {
                // It may have been created a moment ago.
                self.look();
                self.find(key)
            }
            found => found,
        }
    }

    /// The same, with the file as it is now.
    pub(super) fn check_now(&self, key: &TokenKey) -> Check {
        let seen = self.seen.lock();
        self.look_again(&mut seen.unwrap_or_else(PoisonError::into_inner));
        self.find(key)
    }

    /// The file, to change its tokens.
    pub(super) fn place(&self) -> TokenFile {
        self.file.clone()
    }

    /// Whether the file can be used.
    pub(super) fn is_readable(&self) -> bool {
        self.refresh();
        self.known().is_some()
    }

    fn known(&self) -> Option<Arc<Known>> {
        let known = self.known.read();
        known.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn find(&self, key: &TokenKey) -> Check {
        let Some(known) = self.known() else {
            return Check::NoFile;
        };
        key.active(&known).map_or(Check::Invalid, Check::Valid)
    }

    /// Records the use of a token.
    pub(super) fn record_use(&self, token: &Token) {
        let uses = self.uses.lock();
        let mut uses = uses.unwrap_or_else(PoisonError::into_inner);
        uses.record(&token.id, crate::clock::now());
    }

    /// Writes the last uses beside the file.
    pub(super) fn write_uses(&self) {
        let uses = self.uses.lock();
        let new = uses.unwrap_or_else(PoisonError::into_inner).take();
        if new.is_empty() {
            return;
        }
        let written = self
            .file
            .write_uses(&new)
            .map_err(|error| error.to_string());
        let failure = self.unwritten.lock();
        let mut failure = failure.unwrap_or_else(PoisonError::into_inner);
        let error = written.err();
        if let Some(error) = &error
            && failure.as_ref() != Some(error)
        {
            tracing::warn!(error, "the last uses of tokens are not recorded");
        }
        *failure = error;
    }

    /// Writes the last uses from time to time, on a thread of its own that ends with the tokens.
    pub(super) fn write_uses_often(tokens: &Arc<WatchedFile>) -> Result<(), TokenError> {
        let tokens = Arc::downgrade(tokens);
        let thread = std::thread::Builder::new().name("token-uses".into());
        let started = thread.spawn(move || {
            loop {
                std::thread::sleep(EVERY_USE);
                match tokens.upgrade() {
                    Some(tokens) => tokens.write_uses(),
                    None => return,
                }
            }
        });
        started
            .map_err(|error| TokenError::Rule(format!("no thread for their last uses: {error}")))?;
        Ok(())
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
        // Otherwise another thread is looking.
        if let Ok(mut seen) = self.seen.try_lock() {
            self.look_again(&mut seen);
        }
    }

    fn look_again(&self, seen: &mut Result<Stamp, String>) {
        let now = fs::metadata(self.file.path());
        if now.is_ok_and(|meta| *seen == Ok(stamp(&meta))) {
            return;
        }
        let path = self.file.path().display();
        *seen = match self.file.read() {
            Ok((tokens, meta)) => {
                let known = index(tokens);
                tracing::info!(%path, tokens = known.len(), "token file reloaded");
                self.know(Some(Arc::new(known)));
                Ok(stamp(&meta))
            }
            Err(error) => {
                let error = Err(error.to_string());
                if *seen != error {
                    tracing::error!(%path, error = error.as_ref().err(), "the token file cannot be used, and no token is valid");
                }
                self.know(None);
                error
            }
        };
    }

    fn know(&self, known: Option<Arc<Known>>) {
        *self.known.write().unwrap_or_else(PoisonError::into_inner) = known;
    }
}

impl Drop for WatchedFile {
    fn drop(&mut self) {
        self.write_uses();
    }
}

fn index(tokens: Vec<Token>) -> Known {
    let entry = |token: Token| (token.id.clone(), Arc::new(token));
    tokens.into_iter().map(entry).collect()
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::secret::Hash;

    use super::super::{NewToken, Role, Secret, TokenStore};
    use super::*;

    struct Fixture {
        _folder: tempfile::TempDir,
        file: TokenFile,
        secret: Secret,
    }

    fn place() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::at(folder.path().join("tokens.json"));
        let (_, secret) = file.new_token(&NewToken::new("a", Role::Operator)).unwrap();
        Fixture {
            _folder: folder,
            file,
            secret,
        }
    }

    fn check(tokens: &WatchedFile, secret: &Secret) -> Check {
        tokens.check(&TokenKey::Secret(Hash::of(secret.reveal()).unwrap()))
    }

    fn name(check: Check) -> String {
        match check {
            Check::Valid(token) => token.name.clone(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn accepts_only_known_secrets() {
        let place = place();
        let tokens = WatchedFile::new(place.file.path()).unwrap();
        assert_eq!(name(check(&tokens, &place.secret)), "a");
        let other = Secret::new().unwrap();
        assert_eq!(check(&tokens, &other), Check::Invalid);
        assert!(!format!("{tokens:?}").contains(&place.secret.reveal()[5..13]));
        let none = place.file.path().with_extension("none");
        assert!(matches!(
            WatchedFile::new(&none),
            Err(TokenError::Missing { .. })
        ));
    }

    #[test]
    fn follows_changes_and_fails_closed() {
        let place = place();
        let path = place.file.path();
        let tokens = WatchedFile::look_every(path, Duration::ZERO).unwrap();
        let (_, second) = place
            .file
            .new_token(&NewToken::new("b", Role::Viewer))
            .unwrap();
        assert_eq!(name(check(&tokens, &second)), "b");
        let good = fs::read(path).unwrap();
        let mode = |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        let breaks: [(&str, &dyn Fn()); 4] = [
            ("malformed", &|| fs::write(path, "[").unwrap()),
            ("deleted", &|| fs::remove_file(path).unwrap()),
            ("writable by others", &|| mode(0o666)),
            ("unreadable", &|| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
            }),
        ];
        for (what, damage) in breaks {
            damage();
            for secret in [&place.secret, &second] {
                assert_eq!(check(&tokens, secret), Check::NoFile, "{what}");
            }
            assert!(!tokens.is_readable(), "{what}");
            // A valid file is used again.
            let _ = fs::remove_dir(path);
            fs::write(path, &good).unwrap();
            mode(0o600);
            assert_eq!(name(check(&tokens, &second)), "b", "{what}");
            assert!(tokens.is_readable());
        }
        place.file.revoke("b").unwrap();
        assert_eq!(check(&tokens, &second), Check::Invalid);
        assert_eq!(name(check(&tokens, &place.secret)), "a");
    }

    #[test]
    fn records_last_uses_beside_the_file() {
        let place = place();
        let (other, _) = place
            .file
            .new_token(&NewToken::new("b", Role::Viewer))
            .unwrap();
        let before = fs::read(place.file.path()).unwrap();
        let tokens = WatchedFile::new(place.file.path()).unwrap();
        let Check::Valid(token) = check(&tokens, &place.secret) else {
            panic!("the token is valid");
        };
        let used = || place.file.list().unwrap().into_iter().map(|it| it.used);
        assert_eq!(used().collect::<Vec<_>>(), [None, None]);
        tokens.record_use(&token);
        tokens.write_uses();
        assert!(used().next().unwrap().is_some());
        tokens.record_use(&other);
        assert_eq!(used().next_back(), Some(None));
        // The rest is written when the service ends.
        drop(tokens);
        assert!(used().all(|it| it.is_some()));
        assert_eq!(fs::read(place.file.path()).unwrap(), before);
        // A damaged file of uses is no reason to reject tokens.
        fs::write(place.file.path().with_extension("json.uses"), "[").unwrap();
        assert_eq!(used().collect::<Vec<_>>(), [None, None]);
    }
}
