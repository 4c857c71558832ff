//! A token without its secret.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use emab_problem::{NAME_RULE, is_name};
use serde::{Deserialize, Serialize};

use super::secret::{Hash, Secret};
use super::{Permission, Role, TokenError};
use crate::domain::check_person;

const MAX_NAME: usize = 64;

/// A token of the token file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The first 8 hexadecimal digits of the hash.
    pub id: String,
    /// Its name, by which `emab token` knows it.
    pub name: String,
    /// The person who acts with it; its name if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The role.
    pub role: Role,
    /// The studies it is bound to; `None` for all, including future ones.
    // Required: a token whose list was left out by mistake would see everything.
    #[serde(deserialize_with = "Option::deserialize")]
    pub studies: Option<Vec<String>>,
    pub(super) hash: Hash,
    /// The time of creation, RFC 3339.
    pub created: String,
    /// The time of revocation, if it was revoked.
    #[serde(deserialize_with = "Option::deserialize")]
    pub revoked: Option<String>,
    /// The time from which on it is not valid, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// The id of the token that replaced it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<String>,
    /// The time of its last use, to the minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<String>,
}

/// What a token is looked up by.
#[derive(Clone, Debug)]
pub(super) enum TokenKey {
    /// The hash of its secret.
    Secret(Hash),
    /// Its id, for a session.
    Id(String),
}

impl TokenKey {
    pub(super) fn id(&self) -> String {
        match self {
            TokenKey::Secret(hash) => hash.id(),
            TokenKey::Id(id) => id.clone(),
        }
    }

    /// The token among these, by id, if it is active.
    pub(super) fn active(&self, tokens: &HashMap<String, Arc<Token>>) -> Option<Arc<Token>> {
        let token = tokens.get(&self.id()).filter(|token| token.is_active());
        let token = token.filter(|token| match self {
            TokenKey::Secret(hash) => token.hash == *hash,
            TokenKey::Id(_) => true,
        });
        token.cloned()
    }
}

/// A token to be created.
#[derive(Clone, Debug)]
pub struct NewToken {
    /// Its name.
    pub name: String,
    /// The role.
    pub role: Role,
    /// The studies it is bound to; `None` for all.
    pub studies: Option<Vec<String>>,
    /// The person who acts with it; its name if left out.
    pub owner: Option<String>,
    /// How long it is valid; for ever if left out.
    pub lifetime: Option<Duration>,
}

impl NewToken {
    /// A token for all studies, without an end.
    pub fn new(name: &str, role: Role) -> NewToken {
        NewToken {
            name: name.into(),
            role,
            studies: None,
            owner: None,
            lifetime: None,
        }
    }

    /// Bound to these studies.
    #[must_use]
    pub fn only_in(mut self, studies: &[&str]) -> NewToken {
        self.studies = Some(studies.iter().map(|study| (*study).into()).collect());
        self
    }
}

impl Token {
    pub(super) fn new(new: &NewToken, hash: Hash) -> Result<Token, TokenError> {
        let created = crate::clock::now();
        let expires = new.lifetime.map(|lifetime| after(created, lifetime));
        let token = Token {
            id: hash.id(),
            name: new.name.clone(),
            owner: new.owner.clone(),
            role: new.role,
            studies: new.studies.clone(),
            hash,
            created: text(created),
            revoked: None,
            expires: expires.transpose()?.map(text),
            successor: None,
            used: None,
        };
        token.check()?;
        Ok(token)
    }

    /// The person who acts with it.
    pub fn person(&self) -> &str {
        self.owner.as_ref().unwrap_or(&self.name)
    }

    /// Whether it is neither revoked nor expired.
    pub fn is_active(&self) -> bool {
        self.revoked.is_none() && !self.has_expired()
    }

    /// Whether it has expired.
    pub fn has_expired(&self) -> bool {
        let ends = self.expires.as_deref().and_then(time);
        ends.is_some_and(|ends| ends <= crate::clock::now())
    }

    /// Whether another reading of it grants the same: all but the last use is equal.
    pub(crate) fn is_unchanged(&self, other: &Token) -> bool {
        let used = other.used.clone();
        Token {
            used,
            ..self.clone()
        } == *other
    }

    /// What a new token needs to take its place, with the same lifetime.
    pub(super) fn replacement(&self) -> NewToken {
        let times = (self.expires.as_deref().and_then(time), time(&self.created));
        let lifetime = match times {
            (Some(ends), Some(begins)) => ends.duration_since(begins).ok(),
            _ => None,
        };
        NewToken {
            name: self.name.clone(),
            role: self.role,
            studies: self.studies.clone(),
            owner: self.owner.clone(),
            lifetime,
        }
    }

    /// Lets it expire after this time at the latest; revokes it if there is none.
    pub(super) fn expire_after(&mut self, grace: Duration) -> Result<(), TokenError> {
        if grace.is_zero() {
            self.revoke();
            return Ok(());
        }
        let ends = after(crate::clock::now(), grace)?;
        let earlier = self.expires.as_deref().and_then(time);
        self.expires = Some(text(earlier.map_or(ends, |it| it.min(ends))));
        Ok(())
    }

    /// Checks what the types do not express.
    pub(super) fn check(&self) -> Result<(), TokenError> {
        let wrong = |what: String| Err(TokenError::Rule(what));
        if self.id != self.hash.id() {
            let (id, hash) = (&self.id, self.hash.id());
            return wrong(format!("`id` is `{id}`, and its hash begins with `{hash}`"));
        }
        check_name("name", &self.name)?;
        if is_id(&self.name) {
            let name = &self.name;
            return wrong(format!(
                "the name `{name}` looks like an id (8 hexadecimal digits)"
            ));
        }
        if let Some(owner) = &self.owner {
            let checked = check_person(owner);
            checked.map_err(|it| TokenError::Rule(format!("`owner`: {}", it.detail)))?;
        }
        if let Some(studies) = &self.studies {
            if studies.is_empty() {
                return wrong("`studies` is empty; `null` stands for all studies".into());
            }
            if let Some(study) = studies.iter().find(|study| !is_name(study)) {
                let what = format!("`{study}` is not the name of a study: {NAME_RULE}");
                return Err(TokenError::Rule(what));
            }
        }
        let times = [
            ("created", Some(&self.created)),
            ("revoked", self.revoked.as_ref()),
            ("expires", self.expires.as_ref()),
            ("used", self.used.as_ref()),
        ];
        for (field, time) in times {
            if let Some(time) = time
                && self::time(time).is_none()
            {
                let expected = "expected a time such as `2026-01-31T12:00:00Z`";
                return wrong(format!("`{field}` is `{time}`, {expected}"));
            }
        }
        Ok(())
    }

    /// A new token beside these, none of which may have its name, and its secret.
    pub(super) fn make(tokens: &[Token], new: &NewToken) -> Result<(Token, Secret), TokenError> {
        let of_name = |token: &&Token| token.name == new.name && token.is_active();
        if let Some(token) = tokens.iter().find(of_name) {
            return Err(TokenError::Taken(new.name.clone(), token.id.clone()));
        }
        Token::make_beside(tokens, new)
    }

    /// A new token beside these, and its secret.
    pub(super) fn make_beside(
        tokens: &[Token],
        new: &NewToken,
    ) -> Result<(Token, Secret), TokenError> {
        loop {
            let secret = Secret::new()?;
            let Some(hash) = Hash::of(secret.reveal()) else {
                return Err(TokenError::Random("a secret came out malformed".into()));
            };
            let token = Token::new(new, hash)?;
            // Ids must be unique; a collision has probability 2^-32.
            if tokens.iter().all(|other| other.id != token.id) {
                return Ok((token, secret));
            }
        }
    }

    /// The index of a token: by id, by name among the active ones, or by name among the revoked ones.
    pub(super) fn find(
        tokens: &[Token],
        id_or_name: &str,
        place: &str,
    ) -> Result<usize, TokenError> {
        let at = |is: &dyn Fn(&Token) -> bool| -> Vec<usize> {
            let all = tokens.iter().enumerate();
            all.filter(|(_, token)| is(token)).map(|(i, _)| i).collect()
        };
        let mut found = at(&|token| token.id == id_or_name);
        if found.is_empty() {
            found = at(&|token| token.name == id_or_name && token.is_active());
        }
        if found.is_empty() {
            found = at(&|token| token.name == id_or_name);
            found.drain(..found.len().saturating_sub(1));
        }
        match found[..] {
            [one] => Ok(one),
            [] => Err(TokenError::Unknown(id_or_name.into(), place.into())),
            _ => {
                let ids: Vec<&str> = found.iter().map(|i| &*tokens[*i].id).collect();
                Err(TokenError::Ambiguous(id_or_name.into(), ids.join(", ")))
            }
        }
    }

    pub(super) fn revoke(&mut self) {
        self.revoked
            .get_or_insert_with(|| text(crate::clock::now()));
    }

    /// Whether it may see a study.
    pub fn may_see(&self, study: &str) -> bool {
        let bound = self.studies.as_ref();
        bound.is_none_or(|studies| studies.iter().any(|own| own == study))
    }

    /// Whether it has a permission: in a study, or (`None`) in a call that names no study.
    ///
    /// The list of studies needs only the permission to read one; [`Token::may_see`] filters it.
    pub fn may(&self, permission: Permission, study: Option<&str>) -> bool {
        let sees = match study {
            Some(study) => self.may_see(study),
            // Metrics and tokens cover all studies, and a bound token may only see some.
            None => {
                let covers_all = matches!(permission, Permission::Metrics | Permission::Tokens);
                self.studies.is_none() || !covers_all
            }
        };
        sees && self.role.may(permission)
    }
}

fn text(time: SystemTime) -> String {
    humantime::format_rfc3339_seconds(time).to_string()
}

fn time(text: &str) -> Option<SystemTime> {
    humantime::parse_rfc3339(text).ok()
}

/// A later time; fails if it is too late to be written.
fn after(begin: SystemTime, duration: Duration) -> Result<SystemTime, TokenError> {
    /// A hundred years.
    const LONGEST: Duration = Duration::from_secs(100 * 366 * 86_400);
    let end = begin.checked_add(duration);
    let end = end.filter(|_| (Duration::from_secs(1)..=LONGEST).contains(&duration));
    end.ok_or_else(|| {
        TokenError::Rule(
            "a token is valid for a second at least, and a hundred years at most".into(),
        )
    })
}

pub(super) fn is_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Names appear in logs and tables: short, without line breaks and invisible characters.
fn check_name(what: &str, text: &str) -> Result<(), TokenError> {
    let allowed = |c: char| c.is_alphanumeric() || " ._@+-".contains(c);
    let long = text.chars().count();
    if (1..=MAX_NAME).contains(&long) && text.trim() == text && text.chars().all(allowed) {
        return Ok(());
    }
    let shown: String = text.chars().take(MAX_NAME).collect();
    Err(TokenError::Rule(format!(
        "the {what} {shown:?} must have 1 to {MAX_NAME} letters, digits, spaces or `._@+-`, and no space at either end"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(name: &str, role: Role, studies: Option<&[&str]>) -> Result<Token, TokenError> {
        let hash = Hash::of(&format!("emab_{}", "1".repeat(64))).unwrap();
        let new = NewToken::new(name, role);
        Token::new(&studies.map_or(new.clone(), |list| new.only_in(list)), hash)
    }

    #[test]
    fn a_bound_token_sees_only_its_studies() {
        let free = token("a", Role::Admin, None).unwrap();
        let bound = token("a", Role::Admin, Some(&["one", "two"])).unwrap();
        assert!(free.may_see("one") && free.may_see("three"));
        assert!(bound.may_see("one") && bound.may_see("two"));
        assert!(!bound.may_see("three") && !bound.may_see("") && !bound.may_see("on"));
        for (permission, _) in crate::tokens::role::tests::TABLE {
            assert!(free.may(permission, Some("three")) && free.may(permission, None));
            assert!(bound.may(permission, Some("one")), "{permission:?}");
            assert!(!bound.may(permission, Some("three")), "{permission:?}");
        }
        assert!(bound.may(Permission::ReadStudy, None));
        assert!(!bound.may(Permission::Metrics, None));
        let viewer = token("a", Role::Viewer, Some(&["one"])).unwrap();
        assert!(!viewer.may(Permission::Act, Some("one")));
        assert!(viewer.may(Permission::Log, Some("one")));
    }

    #[test]
    fn rejects_names_that_violate_the_rule() {
        let (most, long) = ("é".repeat(64), "x".repeat(65));
        for good in ["Dr. Müller", "ward-3@clinic", "x", &most, "0123456789"] {
            token(good, Role::Viewer, None).unwrap();
        }
        let odd = ["", " a", "a ", "a\nb", "a\u{202e}b", "a\"b", "0123abcd"];
        for bad in odd.into_iter().chain([&*long]) {
            assert!(token(bad, Role::Viewer, None).is_err(), "{bad:?}");
        }
        assert!(token("a", Role::Viewer, Some(&[])).is_err());
        assert!(token("a", Role::Viewer, Some(&["one", "two\n"])).is_err());
    }

    #[test]
    fn rejects_missing_and_unknown_fields() {
        let whole = serde_json::to_value(token("a", Role::Viewer, None).unwrap()).unwrap();
        serde_json::from_value::<Token>(whole.clone()).unwrap();
        for field in whole.as_object().unwrap().keys() {
            let mut part = whole.clone();
            part.as_object_mut().unwrap().remove(field);
            let read = serde_json::from_value::<Token>(part);
            assert!(read.is_err(), "without {field}");
        }
        let mut more = whole;
        more["revokd"] = "2026-01-01T00:00:00Z".into();
        assert!(serde_json::from_value::<Token>(more).is_err());
    }
}
