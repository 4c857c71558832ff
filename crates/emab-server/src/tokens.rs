//! Bearer tokens: role and studies of each caller.
//!
//! A secret has 256 random bits and is shown once. Its SHA-256 is in the token file, or with PostgreSQL in the database. Requests
//! are authenticated in `http::auth`. Tokens that cannot be read are not valid.

mod file;
mod role;
mod secret;
mod table;
mod token;
mod uses;
mod watch;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub use file::TokenFile;
pub use role::{Permission, Role};
pub use secret::Secret;
pub use table::TokenTable;
pub use token::{NewToken, Token};

use secret::Hash;
use table::Lookup;
use token::TokenKey;
use watch::WatchedFile;

use crate::store::{StoreError, TokenRows};

/// The tokens of the running service; clones share them.
#[derive(Clone, Debug)]
pub struct Tokens(Source);

#[derive(Clone, Debug)]
enum Source {
    File(Arc<WatchedFile>),
    Table(Lookup, Arc<TokenTable>),
}

/// What is known of the secret of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Check {
    /// The token.
    Valid(Arc<Token>),
    /// Malformed, unknown, revoked or expired.
    Invalid,
    /// The token file cannot be used: no token is valid.
    NoFile,
    /// The database cannot be read now, and why.
    Unavailable(String),
}

impl Tokens {
    /// The tokens of a file; fails if it is missing or invalid. A change is seen after at most about a second.
    pub fn watch(path: &Path) -> Result<Tokens, TokenError> {
        let file = Arc::new(WatchedFile::new(path)?);
        WatchedFile::write_uses_often(&file)?;
        Ok(Tokens(Source::File(file)))
    }

    /// The tokens of a database. It is read for every request, by a connection of its own.
    pub fn look_up(rows: Box<dyn TokenRows>, table: TokenTable) -> Result<Tokens, TokenError> {
        Ok(Tokens(Source::Table(Lookup::start(rows)?, Arc::new(table))))
    }

    /// The place where tokens are created and revoked. Its methods block.
    pub fn store(&self) -> Arc<dyn TokenStore + Send + Sync> {
        match &self.0 {
            Source::File(file) => Arc::new(file.place()),
            Source::Table(_, table) => table.clone(),
        }
    }

    /// Checks the secret of a request.
    ///
    /// Timing reveals nothing useful: hashes are compared, and an attacker cannot choose a guess by its hash.
    pub async fn check(&self, bearer: &str) -> Check {
        let Some(hash) = Hash::of(bearer) else {
            return Check::Invalid;
        };
        let checked = self.check_key(TokenKey::Secret(hash)).await;
        // A table records uses when it is read.
        if let (Source::File(file), Check::Valid(token)) = (&self.0, &checked) {
            file.record_use(token);
        }
        checked
    }

    async fn check_key(&self, key: TokenKey) -> Check {
        match &self.0 {
            Source::File(file) => file.check(&key),
            Source::Table(lookup, _) => lookup.check(Some(key)).await,
        }
    }

    /// Checks the token of a session by its id, as the tokens are now.
    pub async fn check_session(&self, id: &str) -> Check {
        let key = TokenKey::Id(id.into());
        match &self.0 {
            Source::File(file) => {
                let checked = file.check_now(&key);
                if let Check::Valid(token) = &checked {
                    file.record_use(token);
                }
                checked
            }
            Source::Table(lookup, _) => lookup.check(Some(key)).await,
        }
    }

    /// Writes the last uses of a token file now; a table writes them itself.
    pub fn write_uses(&self) {
        if let Source::File(file) = &self.0 {
            file.write_uses();
        }
    }

    /// Whether a token is still valid and unchanged, for responses that stream.
    pub async fn is_still_good(&self, token: &Token) -> bool {
        let now = self.check_key(TokenKey::Secret(token.hash.clone())).await;
        matches!(now, Check::Valid(now) if now.is_unchanged(token))
    }

    /// Whether tokens can be read.
    pub async fn are_readable(&self) -> bool {
        match &self.0 {
            Source::File(file) => file.is_readable(),
            Source::Table(lookup, _) => lookup.check(None).await == Check::Invalid,
        }
    }
}

/// A new token and its secret.
type NewSecret = Result<(Token, Secret), TokenError>;

/// A place of tokens: a file, or a table of a database.
pub trait TokenStore {
    /// All tokens in the order of creation, including revoked ones.
    fn list(&self) -> Result<Vec<Token>, TokenError>;

    /// Replaces the tokens by what `change` makes of them, if it returns any, while no other process changes them. It gets none
    /// if the place does not exist or is empty.
    fn change(
        &self,
        change: &mut dyn FnMut(Option<Vec<Token>>) -> Result<Option<Vec<Token>>, TokenError>,
    ) -> Result<(), TokenError>;

    /// The place, in words.
    fn place(&self) -> String;

    /// Creates the place if it does not exist or is empty, with one admin token or none; returns the secret of that token, to be shown once.
    fn create(&self, first_admin: bool) -> Result<Option<Secret>, TokenError> {
        let mut first = None;
        self.change(&mut |there| match there {
            Some(_) => Ok(None),
            None if !first_admin => Ok(Some(vec![])),
            None => {
                let (token, secret) = Token::make(&[], &NewToken::new("admin", Role::Admin))?;
                first = Some(secret);
                Ok(Some(vec![token]))
            }
        })?;
        Ok(first)
    }

    /// Adds a token.
    fn new_token(&self, new: &NewToken) -> NewSecret {
        self.add(&mut |tokens| Token::make(tokens, new))
    }

    /// Replaces a token by one with a new secret. The old one is valid for this time, by which its clients have the new secret.
    fn rotate(&self, id_or_name: &str, grace: Duration) -> NewSecret {
        self.list()?;
        self.add(&mut |tokens| {
            let current = |token: &Token| {
                token.name == id_or_name && token.is_active() && token.successor.is_none()
            };
            let at = match tokens.iter().position(current) {
                Some(at) => at,
                None => Token::find(tokens, id_or_name, &self.place())?,
            };
            let old = &tokens[at];
            if let Some(successor) = &old.successor {
                return Err(TokenError::Rule(format!(
                    "token `{id_or_name}` was replaced by `{successor}`; rotate that one"
                )));
            }
            if !old.is_active() {
                return Err(TokenError::Rule(format!(
                    "token `{id_or_name}` was revoked or has expired; `emab token new` creates another one"
                )));
            }
            let made = Token::make_beside(tokens, &old.replacement())?;
            tokens[at].successor = Some(made.0.id.clone());
            tokens[at].expire_after(grace)?;
            Ok(made)
        })
    }

    /// Adds the token that `make` returns, which may change the others.
    fn add(&self, make: &mut dyn FnMut(&mut Vec<Token>) -> NewSecret) -> NewSecret {
        let mut new = None;
        self.change(&mut |there| {
            let mut tokens = there.unwrap_or_default();
            let (token, secret) = make(&mut tokens)?;
            tokens.push(token.clone());
            new = Some((token, secret));
            Ok(Some(tokens))
        })?;
        new.ok_or_else(|| TokenError::Random("no token was made".into()))
    }

    /// Revokes a token by id or name; a token that was revoked before keeps its time.
    fn revoke(&self, id_or_name: &str) -> Result<Token, TokenError> {
        // Before the lock, which would leave a lock file without a token file.
        self.list()?;
        let mut revoked = None;
        self.change(&mut |there| {
            let mut tokens = there.unwrap_or_default();
            let at = Token::find(&tokens, id_or_name, &self.place())?;
            tokens[at].revoke();
            revoked = Some(tokens[at].clone());
            Ok(Some(tokens))
        })?;
        revoked.ok_or_else(|| TokenError::Unknown(id_or_name.into(), self.place()))
    }

    /// Copies the tokens of a file, if there are none yet and the file exists; returns their number.
    fn import(&self, file: &TokenFile) -> Result<usize, TokenError> {
        let mut taken = 0;
        self.change(&mut |there| {
            if there.is_some() {
                return Ok(None);
            }
            match file.list() {
                Err(TokenError::Missing(_)) => Ok(None),
                read => {
                    let tokens = read?;
                    taken = tokens.len();
                    Ok(Some(tokens))
                }
            }
        })?;
        Ok(taken)
    }
}

/// An error of tokens.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file does not exist.
    #[error("there is no token file {path}; `emab token new NAME --role ROLE --tokens FILE` creates one", path = .0.display())]
    Missing(PathBuf),
    /// The file cannot be read.
    #[error("the token file {path} cannot be read: {1}", path = .0.display())]
    Read(PathBuf, io::Error),
    /// The file cannot be written.
    #[error("the token file {path} cannot be written: {1}", path = .0.display())]
    Write(PathBuf, io::Error),
    /// The file is not a valid token file: the fault and its place.
    #[error("the token file {path} is invalid: {1}; it was not changed", path = .0.display())]
    Broken(PathBuf, String),
    /// The file has this mode: other users may write it, and so create tokens.
    #[error("the token file {path} can be written by other users (mode {1:o}); run `chmod 600` on it", path = .0.display())]
    Writable(PathBuf, u32),
    /// The database failed.
    #[error("the tokens in the database: {0}")]
    Store(#[from] StoreError),
    /// A token of the database is invalid: the fault.
    #[error("a token in the database is invalid: {0}; `DELETE` its row of the table `tokens`")]
    Row(String),
    /// Another process holds this lock for too long.
    #[error("another process holds {path}; retry when it has ended", path = .0.display())]
    Busy(PathBuf),
    /// A value violates a rule.
    #[error("{0}")]
    Rule(String),
    /// Not a role.
    #[error("`{0}` is not a role; the roles are admin, operator, viewer and blinded")]
    Role(String),
    /// An active token has this name, and this id.
    #[error("a token named `{0}` exists (id {1}); choose another name, or revoke it first")]
    Taken(String, String),
    /// Not an id or name of a token in this place.
    #[error("`{0}` is neither the id nor the name of a token in {1}; `emab token list` shows them")]
    Unknown(String, String),
    /// Several tokens have the name; their ids.
    #[error("several tokens are named `{0}`; use an id: {1}")]
    Ambiguous(String, String),
    /// The system provides no random numbers.
    #[error("no random numbers are available: {0}")]
    Random(String),
}
