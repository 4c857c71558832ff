//! The token file. It is written atomically, by one process at a time.

use std::fs::{self, File, Metadata, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::token::Token;
use super::uses::LastUses;
use super::{TokenError, TokenStore};
use crate::platform::{self, private_file};

/// How long to wait for the lock; its holder writes some kilobytes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// A token file, which need not exist yet. It contains hashes, no secrets.
#[derive(Clone, Debug)]
pub struct TokenFile {
    path: PathBuf,
}

impl TokenFile {
    /// The file at a path. Nothing is read or created.
    pub fn at(path: impl Into<PathBuf>) -> TokenFile {
        TokenFile { path: path.into() }
    }

    /// The path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The tokens, and the metadata of the file they were read from.
    pub(super) fn read(&self) -> Result<(Vec<Token>, Metadata), TokenError> {
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => TokenError::Missing(self.path.clone()),
            _ => TokenError::Read(self.path.clone(), error),
        };
        let mut file = File::open(&self.path).map_err(failed)?;
        // Of the open file, not of one that may have replaced it.
        let meta = file.metadata().map_err(failed)?;
        let mode = platform::mode(&meta);
        if mode & 0o022 != 0 {
            return Err(TokenError::Writable(self.path.clone(), mode));
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let tokens = parse(&text);
        let tokens = tokens.map_err(|what| TokenError::Broken(self.path.clone(), what))?;
        Ok((tokens, meta))
    }

    fn folder(&self) -> &Path {
        match self.path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        }
    }

    /// Creates the folder, and locks out other writers until the returned file is dropped.
    fn lock(&self) -> Result<File, TokenError> {
        let mut builder = platform::private_folder();
        let made = builder.recursive(true).create(self.folder());
        made.map_err(|error| self.failed(error))?;
        // Not the token file itself, which is replaced.
        let path = beside(&self.path, ".lock");
        let mut options = private_file();
        let opened = options.create(true).truncate(false).open(&path);
        let file = opened.map_err(|error| self.failed(error))?;
        self.hand_over_as_folder(&file).ok();
        let start = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(self.failed(error)),
                Err(TryLockError::WouldBlock) if start.elapsed() > LOCK_TIMEOUT => {
                    return Err(TokenError::Busy(path));
                }
                Err(TryLockError::WouldBlock) => sleep(Duration::from_millis(10)),
            }
        }
    }

    /// Writes a new file, syncs it and renames it over the old one.
    fn write(&self, tokens: &[Token]) -> Result<(), TokenError> {
        self.replace(tokens).map_err(|error| self.failed(error))
    }

    fn replace(&self, tokens: &[Token]) -> io::Result<()> {
        let mut text = serde_json::to_string_pretty(tokens)?;
        text.push('\n');
        // Replaces the target of a link, not the link.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let new = beside(&target, ".new");
        match fs::remove_file(&new) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = private_file().create_new(true).open(&new)?;
        match fs::metadata(&target) {
            // The service may run as another user, and must be able to read the file.
            Ok(old) => {
                platform::hand_over(&file, &old)?;
                platform::set_mode(&file, platform::mode(&old) & 0o755)?;
            }
            Err(_) => self.hand_over_as_folder(&file).unwrap_or_default(),
        }
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&new, &target)?;
        let folder = target
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        platform::sync_folder(folder.unwrap_or(Path::new(".")))
    }

    /// The last uses, which are in a file of their own: the service need not write the tokens. They are for information: a
    /// damaged file counts as empty.
    fn uses(&self) -> LastUses {
        let text = fs::read_to_string(beside(&self.path, ".uses"));
        let uses = text.ok().and_then(|text| serde_json::from_str(&text).ok());
        let uses: LastUses = uses.unwrap_or_default();
        let proper = |(_, time): &(String, String)| humantime::parse_rfc3339(time).is_ok();
        uses.into_iter().filter(proper).collect()
    }

    /// Adds last uses.
    pub(super) fn write_uses(&self, new: &LastUses) -> io::Result<()> {
        let mut uses = self.uses();
        uses.extend(new.clone());
        let path = beside(&self.path, ".uses");
        let temporary = beside(&path, ".new");
        let mut options = private_file();
        let mut file = options.create(true).truncate(true).open(&temporary)?;
        file.write_all(serde_json::to_string_pretty(&uses)?.as_bytes())?;
        fs::rename(&temporary, &path)
    }

    /// Gives a new file the owner of its folder.
    fn hand_over_as_folder(&self, file: &File) -> io::Result<()> {
        platform::hand_over(file, &fs::metadata(self.folder())?)
    }

    fn failed(&self, error: io::Error) -> TokenError {
        TokenError::Write(self.path.clone(), error)
    }
}

impl TokenStore for TokenFile {
    fn list(&self) -> Result<Vec<Token>, TokenError> {
        let (mut tokens, _) = self.read()?;
        let mut uses = self.uses();
        for token in &mut tokens {
            token.used = uses.remove(&token.id);
        }
        Ok(tokens)
    }

    /// Creates the file if there is none.
    fn change(
        &self,
        change: &mut dyn FnMut(Option<Vec<Token>>) -> Result<Option<Vec<Token>>, TokenError>,
    ) -> Result<(), TokenError> {
        let _lock = self.lock()?;
        let there = match self.read() {
            Err(TokenError::Missing(_)) => None,
            read => Some(read?.0),
        };
        match change(there)? {
            Some(tokens) => self.write(&tokens),
            None => Ok(()),
        }
    }

    fn place(&self) -> String {
        self.path.display().to_string()
    }
}

fn parse(text: &str) -> Result<Vec<Token>, String> {
    let tokens: Vec<Token> = crate::domain::json::read(text.as_bytes())
        .map_err(|error| error.detail.replace("the JSON object", "the file"))?;
    for (i, token) in tokens.iter().enumerate() {
        let place = |what: &dyn std::fmt::Display| format!("token {} of the list: {what}", i + 1);
        token.check().map_err(|error| place(&error))?;
        if tokens[..i].iter().any(|other| other.id == token.id) {
            return Err(place(&format!("the id `{}` appears twice", token.id)));
        }
    }
    Ok(tokens)
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::thread;

    use super::super::{NewToken, Role};
    use super::*;

    fn fresh() -> (tempfile::TempDir, TokenFile) {
        let folder = tempfile::tempdir().unwrap();
        let file = TokenFile::at(folder.path().join("deep/er/tokens.json"));
        (folder, file)
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().mode() & 0o777
    }

    #[test]
    fn stores_tokens_without_their_secrets() {
        let (_folder, file) = fresh();
        assert!(matches!(file.list(), Err(TokenError::Missing { .. })));
        let (token, secret) = file
            .new_token(&NewToken::new("ward", Role::Operator))
            .unwrap();
        let bound = NewToken::new("nurse", Role::Blinded).only_in(&["one"]);
        let (other, _) = file.new_token(&bound).unwrap();
        assert_eq!(file.list().unwrap(), [token.clone(), other]);
        assert_eq!(mode(file.path()), 0o600);
        assert_eq!(mode(file.folder()), 0o700);
        let text = fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(secret.reveal()) && !text.contains(&secret.reveal()[5..]));
        assert!(text.contains("\"role\": \"operator\"") && text.contains("\"studies\": null"));
        assert!(!format!("{token:?} {secret:?} {file:?}").contains(&secret.reveal()[5..13]));
        let left: Vec<_> = fs::read_dir(file.folder()).unwrap().collect();
        assert_eq!(left.len(), 2, "{left:?}");
    }

    #[test]
    fn creates_the_first_admin_once() {
        let (_folder, file) = fresh();
        assert!(file.create(true).unwrap().is_some());
        let tokens = file.list().unwrap();
        assert_eq!((tokens.len(), tokens[0].role), (1, Role::Admin));
        assert!(file.create(true).unwrap().is_none());
        assert_eq!(file.list().unwrap(), tokens);
        // An invalid file is not replaced.
        fs::write(file.path(), "").unwrap();
        let again = file.create(true);
        assert!(matches!(again, Err(TokenError::Broken { .. })));
        assert_eq!(fs::read(file.path()).unwrap(), b"");
    }

    #[test]
    fn creates_an_empty_file_where_no_admin_is_wanted() {
        let (_folder, file) = fresh();
        assert!(file.create(false).unwrap().is_none());
        assert_eq!(file.list().unwrap(), []);
        assert!(file.create(true).unwrap().is_none());
        let (admin, _) = file.new_token(&NewToken::new("a", Role::Admin)).unwrap();
        assert_eq!(file.list().unwrap(), [admin]);
    }

    #[test]
    fn revokes_by_id_or_name_repeatedly() {
        let (_folder, file) = fresh();
        assert!(matches!(file.revoke("a"), Err(TokenError::Missing { .. })));
        let (a, _) = file.new_token(&NewToken::new("a", Role::Viewer)).unwrap();
        let error = file
            .new_token(&NewToken::new("a", Role::Viewer))
            .unwrap_err();
        assert!(error.to_string().contains(&a.id), "{error}");
        let revoked = file.revoke("a").unwrap();
        assert_eq!(revoked.id, a.id);
        assert!(revoked.revoked.is_some());
        assert_eq!(file.revoke("a").unwrap(), revoked);
        // The name is free again, and selects the active token.
        let (b, _) = file.new_token(&NewToken::new("a", Role::Viewer)).unwrap();
        assert_eq!(file.revoke("a").unwrap().id, b.id);
        let (c, _) = file.new_token(&NewToken::new("c", Role::Viewer)).unwrap();
        assert_eq!(file.revoke(&c.id).unwrap().id, c.id);
        assert!(file.list().unwrap().iter().all(|t| t.revoked.is_some()));
        let error = file.revoke("unknown").unwrap_err().to_string();
        assert!(
            error.contains("`unknown`") && error.contains("tokens.json"),
            "{error}"
        );
    }

    #[test]
    fn an_invalid_file_is_an_error_and_stays_unchanged() {
        let (_folder, file) = fresh();
        let (token, _) = file.new_token(&NewToken::new("a", Role::Viewer)).unwrap();
        let good = fs::read_to_string(file.path()).unwrap();
        let one = good.trim().trim_start_matches('[').trim_end_matches(']');
        let changed = [
            ("viewer", "visitor", "`visitor`"),
            ("\"name\"", "\"nam\"", "`nam`"),
            ("\"id\": \"", "\"id\": \"0", "`id`"),
            ("\"revoked\": null", "\"revoked\": \"soon\"", "`soon`"),
            ("\"studies\": null", "\"studies\": []", "`studies`"),
            ("\"studies\": null,", "", "`studies`"),
            ("sha256:", "sha1:", "64 hexadecimal digits"),
        ];
        let changed = changed.map(|(old, new, words)| (good.replace(old, new), words));
        let others = [
            (String::new(), "it ends where a value belongs"),
            ("{}".to_owned(), "must be"),
            (good[..good.len() / 2].to_owned(), "it ends before"),
            (format!("[{one},{one}]"), "twice"),
        ];
        for (bad, words) in others.into_iter().chain(changed) {
            fs::write(file.path(), &bad).unwrap();
            for result in [
                file.list().map(|_| ()),
                file.new_token(&NewToken::new("b", Role::Viewer))
                    .map(|_| ()),
                file.revoke("a").map(|_| ()),
            ] {
                let error = result.unwrap_err().to_string();
                let named = error.contains("tokens.json") && error.contains(words);
                assert!(named, "{error}");
            }
            assert_eq!(fs::read_to_string(file.path()).unwrap(), bad);
        }
        fs::write(file.path(), &good).unwrap();
        assert_eq!(file.list().unwrap(), [token]);
    }

    #[test]
    fn rejects_a_file_that_other_users_can_write() {
        let (_folder, file) = fresh();
        file.new_token(&NewToken::new("a", Role::Viewer)).unwrap();
        let set = |mode| fs::set_permissions(file.path(), Permissions::from_mode(mode)).unwrap();
        for bad in [0o660, 0o602, 0o666] {
            set(bad);
            let error = file.list().unwrap_err().to_string();
            assert!(error.contains("chmod"), "{error}");
        }
        // Permissions of a group are kept.
        set(0o640);
        file.new_token(&NewToken::new("b", Role::Viewer)).unwrap();
        assert_eq!(mode(file.path()), 0o640);
    }

    #[test]
    fn a_rotated_token_has_a_new_secret_and_the_old_one_ends() {
        let (_folder, file) = fresh();
        let day = Duration::from_secs(86_400);
        let bound = NewToken {
            owner: Some("Anna Meyer".into()),
            lifetime: Some(30 * day),
            ..NewToken::new("ward", Role::Operator).only_in(&["one"])
        };
        let (first, old) = file.new_token(&bound).unwrap();
        assert_eq!(first.person(), "Anna Meyer");
        let (second, new) = file.rotate("ward", day).unwrap();
        assert_ne!(old.reveal(), new.reveal());
        assert_eq!(
            (&second.name, &second.owner, &second.studies, second.role),
            (&first.name, &first.owner, &first.studies, first.role)
        );
        assert!(second.expires >= first.expires);
        // The old one is valid for another day, the name is taken, and the next rotation replaces the newer one.
        let tokens = file.list().unwrap();
        assert!(tokens[0].is_active() && tokens[0].expires < first.expires);
        assert!(
            file.new_token(&NewToken::new("ward", Role::Viewer))
                .is_err()
        );
        let error = file.revoke("ward").unwrap_err().to_string();
        assert!(
            error.contains(&first.id) && error.contains(&second.id),
            "{error}"
        );
        let (third, _) = file.rotate("ward", Duration::ZERO).unwrap();
        let tokens = file.list().unwrap();
        assert!(tokens[0].is_active() && tokens[1].revoked.is_some());
        assert_eq!(tokens[2], third);
        let error = file.rotate(&second.id, day).unwrap_err().to_string();
        assert!(error.contains(&third.id), "{error}");
        file.revoke(&third.id).unwrap();
        let error = file.rotate(&third.id, day).unwrap_err().to_string();
        assert!(error.contains("revoked"), "{error}");
        let ever = NewToken {
            lifetime: Some(Duration::MAX),
            ..NewToken::new("ever", Role::Viewer)
        };
        assert!(file.new_token(&ever).is_err());
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let (_folder, file) = fresh();
        thread::scope(|scope| {
            for writer in 0..4 {
                let file = file.clone();
                scope.spawn(move || {
                    for i in 0..10 {
                        let name = format!("{writer}-{i}");
                        file.new_token(&NewToken::new(&name, Role::Viewer)).unwrap();
                        if i % 2 == 0 {
                            file.revoke(&name).unwrap();
                        }
                    }
                });
            }
        });
        let tokens = file.list().unwrap();
        assert_eq!(tokens.len(), 40);
        assert_eq!(tokens.iter().filter(|t| t.revoked.is_some()).count(), 20);
    }

    #[test]
    fn a_link_stays_a_link() {
        let (folder, file) = fresh();
        file.new_token(&NewToken::new("a", Role::Viewer)).unwrap();
        let link = folder.path().join("link.json");
        symlink(file.path(), &link).unwrap();
        TokenFile::at(&link)
            .new_token(&NewToken::new("b", Role::Viewer))
            .unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(file.list().unwrap().len(), 2);
    }
}
