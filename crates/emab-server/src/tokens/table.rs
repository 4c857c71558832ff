//! Tokens in a database. All copies of the service read them for every request, so that a revocation reaches all at once.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use emab_problem::json_error;
use tokio::sync::oneshot;

use super::token::{Token, TokenKey};
use super::uses::{EVERY, LastUses, Uses};
use super::{Check, TokenError, TokenStore};
use crate::store::{StoreError, TokenRows};

/// The largest number of requests whose tokens are read by one query.
const MAX_BATCH: usize = 256;
/// The largest number of requests that wait.
const QUEUE: usize = 4_096;

/// The shortest time between two queries: under load a query serves all requests of a millisecond, instead of a few.
const GAP: Duration = Duration::from_millis(1);

/// The tokens of a database.
pub struct TokenTable(Mutex<Box<dyn TokenRows>>);

impl TokenTable {
    /// The tokens of this connection.
    pub fn new(rows: Box<dyn TokenRows>) -> TokenTable {
        TokenTable(Mutex::new(rows))
    }
}

impl std::fmt::Debug for TokenTable {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("TokenTable")
    }
}

fn parse(bodies: &[String]) -> Result<Vec<Token>, TokenError> {
    let mut tokens = bodies
        .iter()
        .map(|body| parse_one(body))
        .collect::<Result<Vec<_>, _>>()?;
    tokens.sort_by(|one, other| (&one.created, &one.id).cmp(&(&other.created, &other.id)));
    Ok(tokens)
}

fn parse_one(body: &str) -> Result<Token, TokenError> {
    let wrong = |what: String| TokenError::Row(what);
    let token: Token =
        serde_json::from_str(body).map_err(|error| wrong(json_error(&error, "the token")))?;
    token.check().map_err(|error| wrong(error.to_string()))?;
    Ok(token)
}

impl TokenStore for TokenTable {
    fn list(&self) -> Result<Vec<Token>, TokenError> {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        parse(&rows.all()?)
    }

    fn change(
        &self,
        change: &mut dyn FnMut(Option<Vec<Token>>) -> Result<Option<Vec<Token>>, TokenError>,
    ) -> Result<(), TokenError> {
        let mut rows = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut result = Ok(());
        rows.change(&mut |bodies| {
            let changed = parse(&bodies)
                .and_then(|there| change(Some(there).filter(|there| !there.is_empty())));
            let texts = changed.and_then(|tokens| {
                let text = |token: Token| {
                    let body = serde_json::to_string(&token);
                    let body = body.map_err(|error| TokenError::Row(error.to_string()))?;
                    Ok((token.id, body))
                };
                tokens
                    .unwrap_or_default()
                    .into_iter()
                    .map(text)
                    .collect::<Result<Vec<_>, _>>()
            });
            texts.unwrap_or_else(|error| {
                result = Err(error);
                Vec::new()
            })
        })?;
        result
    }

    fn place(&self) -> String {
        "the database".into()
    }
}

/// Reads the tokens of requests on a thread of its own, those that wait together by one query.
#[derive(Clone, Debug)]
pub(super) struct Lookup(SyncSender<Question>);

#[derive(Debug)]
struct Question {
    /// None asks whether tokens can be read.
    key: Option<TokenKey>,
    reply: oneshot::Sender<Check>,
}

impl Lookup {
    pub(super) fn start(rows: Box<dyn TokenRows>) -> Result<Lookup, TokenError> {
        let (sender, questions) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new().name("tokens".into());
        let started = thread.spawn(move || answer(rows, &questions));
        started.map_err(|error| TokenError::Row(format!("no thread for reading them: {error}")))?;
        Ok(Lookup(sender))
    }

    /// Reads a token from the database. The read begins after this call.
    pub(super) async fn check(&self, key: Option<TokenKey>) -> Check {
        let (reply, answer) = oneshot::channel();
        if self.0.try_send(Question { key, reply }).is_err() {
            return Check::Unavailable("too many requests wait for their token".into());
        }
        let gone = |_| Check::Unavailable("the service is stopping".into());
        answer.await.unwrap_or_else(gone)
    }
}

fn answer(mut rows: Box<dyn TokenRows>, questions: &Receiver<Question>) {
    // Parsed rows; a changed one has another text.
    let mut parsed: HashMap<String, Arc<Token>> = HashMap::new();
    let (mut failed, mut last) = (false, None::<Instant>);
    let mut uses = Uses::default();
    let mut written = Instant::now();
    loop {
        let first = questions.recv_timeout(EVERY);
        if written.elapsed() >= EVERY {
            write(&mut *rows, uses.take());
            written = Instant::now();
        }
        let first = match first {
            Ok(first) => first,
            Err(RecvTimeoutError::Timeout) => continue,
            Err(RecvTimeoutError::Disconnected) => break,
        };
        if let Some(wait) = last.and_then(|last| GAP.checked_sub(last.elapsed())) {
            std::thread::sleep(wait);
        }
        last = Some(Instant::now());
        let mut batch = vec![first];
        while batch.len() < MAX_BATCH
            && let Ok(question) = questions.try_recv()
        {
            batch.push(question);
        }
        let keys = batch.iter().flat_map(|it| &it.key);
        let ids: Vec<String> = keys.map(TokenKey::id).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let found = rows.find(&ids);
        match &found {
            Err(error) if !failed => {
                tracing::error!(%error, "tokens cannot be read, and every request is rejected");
            }
            Ok(_) if failed => tracing::info!("tokens can be read again"),
            _ => {}
        }
        failed = found.is_err();
        let tokens = found.map(|bodies| by_id(&bodies, &mut parsed));
        for Question { key, reply } in batch {
            let verdict = verdict(&tokens, key);
            if let Check::Valid(token) = &verdict {
                uses.record(&token.id, crate::clock::now());
            }
            // The receiver may be gone.
            let _ = reply.send(verdict);
        }
    }
    write(&mut *rows, uses.take());
}

/// Writes last uses into the rows of their tokens, which keep later ones.
fn write(rows: &mut dyn TokenRows, uses: LastUses) {
    if uses.is_empty() {
        return;
    }
    let written = rows.change(&mut |bodies| {
        let used = |body: &String| {
            let mut token = parse_one(body).ok()?;
            let time = uses.get(&token.id)?;
            if token.used.as_ref() >= Some(time) {
                return None;
            }
            token.used = Some(time.clone());
            let body = serde_json::to_string(&token).ok()?;
            Some((token.id, body))
        };
        bodies.iter().filter_map(used).collect()
    });
    if let Err(error) = written {
        tracing::warn!(%error, "the last uses of tokens are not recorded");
    }
}

fn by_id(
    bodies: &[String],
    parsed: &mut HashMap<String, Arc<Token>>,
) -> HashMap<String, Arc<Token>> {
    let mut tokens = HashMap::new();
    for body in bodies {
        let token = match parsed.get(body) {
            Some(token) => token.clone(),
            None => match parse_one(body) {
                Ok(token) => {
                    if parsed.len() >= QUEUE {
                        parsed.clear();
                    }
                    let token = Arc::new(token);
                    parsed.insert(body.clone(), token.clone());
                    token
                }
                Err(error) => {
                    tracing::error!(%error, "a token of the database is rejected");
                    continue;
                }
            },
        };
        tokens.insert(token.id.clone(), token);
    }
    tokens
}

fn verdict(
    tokens: &Result<HashMap<String, Arc<Token>>, StoreError>,
    key: Option<TokenKey>,
) -> Check {
    let tokens = match tokens {
        Ok(tokens) => tokens,
        Err(error) => return Check::Unavailable(error.to_string()),
    };
    match key.and_then(|key| key.active(tokens)) {
        Some(token) => Check::Valid(token),
        None => Check::Invalid,
    }
}
