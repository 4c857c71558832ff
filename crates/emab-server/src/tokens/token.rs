//! A token without its secret.

use emab_problem::{NAME_RULE, is_name};
use serde::{Deserialize, Serialize};

use super::secret::{Hash, Secret};
use super::{Permission, Role, TokenError};

const MAX_NAME: usize = 64;

/// A token of the token file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    /// The first 8 hexadecimal digits of the hash.
    pub id: String,
    /// The name of its owner.
    pub name: String,
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
}

impl Token {
    pub(super) fn new(
        name: &str,
        role: Role,
        studies: Option<Vec<String>>,
        hash: Hash,
    ) -> Result<Token, TokenError> {
        let token = Token {
            id: hash.id(),
            name: name.into(),
            role,
            studies,
            hash,
            created: now(),
            revoked: None,
        };
        token.check()?;
        Ok(token)
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
        ];
        for (field, time) in times {
            if let Some(time) = time
                && humantime::parse_rfc3339(time).is_err()
            {
                let expected = "expected a time such as `2026-01-31T12:00:00Z`";
                return wrong(format!("`{field}` is `{time}`, {expected}"));
            }
        }
        Ok(())
    }

    /// A new token beside these, and its secret.
    pub(super) fn make(
        tokens: &[Token],
        name: &str,
        role: Role,
        studies: Option<Vec<String>>,
    ) -> Result<(Token, Secret), TokenError> {
        let of_name = |token: &&Token| token.name == name && token.revoked.is_none();
        if let Some(token) = tokens.iter().find(of_name) {
            return Err(TokenError::Taken(name.into(), token.id.clone()));
        }
        loop {
            let secret = Secret::new()?;
            let Some(hash) = Hash::of(secret.reveal()) else {
                return Err(TokenError::Random("a secret came out malformed".into()));
            };
            let token = Token::new(name, role, studies.clone(), hash)?;
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
            found = at(&|token| token.name == id_or_name && token.revoked.is_none());
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
        self.revoked.get_or_insert_with(now);
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
            // Metrics cover all studies, and a bound token may only see some.
            None => self.studies.is_none() || permission != Permission::Metrics,
        };
        sees && self.role.may(permission)
    }
}

fn now() -> String {
    humantime::format_rfc3339_seconds(crate::clock::now()).to_string()
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
        let studies = studies.map(|list| list.iter().map(|study| (*study).into()).collect());
        Token::new(name, role, studies, hash)
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
