//! What is known of a token: everything but its secret.

use serde::{Deserialize, Serialize};

use crate::domain::study::{NAME_RULE, is_name};

use super::secret::Hash;
use super::{Permission, Role, TokenError};

const LONGEST: usize = 64;

/// A token as the file has it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Token {
    id: String,
    name: String,
    role: Role,
    // It must be there: a token whose list was left out by mistake would see everything.
    #[serde(deserialize_with = "Option::deserialize")]
    studies: Option<Vec<String>>,
    hash: Hash,
    created: String,
    #[serde(deserialize_with = "Option::deserialize")]
    revoked: Option<String>,
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

    /// What the types do not say.
    pub(super) fn check(&self) -> Result<(), TokenError> {
        if self.id != self.hash.id() {
            return Err(TokenError::Rule(format!(
                "`id` is `{}`, and its hash begins with `{}`",
                self.id,
                self.hash.id()
            )));
        }
        proper("name", &self.name)?;
        if is_id(&self.name) {
            return Err(TokenError::Rule(format!(
                "`{}` looks like an id (8 hexadecimal digits); a name must not",
                self.name
            )));
        }
        if let Some(studies) = &self.studies {
            if studies.is_empty() {
                let what = "`studies` is empty, and such a token may see nothing; `null` is for all of them";
                return Err(TokenError::Rule(what.into()));
            }
            if let Some(study) = studies.iter().find(|study| !is_name(study)) {
                return Err(TokenError::Rule(format!(
                    "`{study}` is not the name of a study: {NAME_RULE}"
                )));
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
                return Err(TokenError::Rule(format!(
                    "`{field}` is `{time}`, expected a time such as `2026-01-31T12:00:00Z`"
                )));
            }
        }
        Ok(())
    }

    pub(super) fn revoke(&mut self) {
        self.revoked.get_or_insert_with(now);
    }

    pub(super) fn hash(&self) -> Hash {
        self.hash
    }

    /// Its short name, derived from the hash: 8 hexadecimal digits.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Whose it is, in words.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its role.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The studies it is bound to; `None` for all, those to come included.
    pub fn studies(&self) -> Option<&[String]> {
        self.studies.as_deref()
    }

    /// When it was made, RFC 3339.
    pub fn created(&self) -> &str {
        &self.created
    }

    /// When it was revoked, if it was.
    pub fn revoked(&self) -> Option<&str> {
        self.revoked.as_deref()
    }

    /// Whether it may know of this study.
    pub fn may_see(&self, study: &str) -> bool {
        let bound = self.studies.as_ref();
        bound.is_none_or(|studies| studies.iter().any(|own| own == study))
    }

    /// Whether it may do this: to this study, or (`None`) in a call that is about no study in particular.
    ///
    /// The list of studies may be asked for by anybody who may read one; what is in it is up to [`Token::may_see`].
    pub fn may(&self, permission: Permission, study: Option<&str>) -> bool {
        let sees = match study {
            Some(study) => self.may_see(study),
            // These tell of all studies at once, which a token bound to some may not know of.
            None => self.studies.is_none() || permission != Permission::Metrics,
        };
        sees && self.role.may(permission)
    }
}

fn now() -> String {
    humantime::format_rfc3339_seconds(crate::app::clock::now()).to_string()
}

pub(super) fn is_id(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Names end up in logs and tables: no line breaks, nothing invisible, no end.
fn proper(what: &str, text: &str) -> Result<(), TokenError> {
    let allowed = |c: char| c.is_alphanumeric() || " ._@+-".contains(c);
    let long = text.chars().count();
    if (1..=LONGEST).contains(&long) && text.trim() == text && text.chars().all(allowed) {
        return Ok(());
    }
    let shown: String = text.chars().take(LONGEST).collect();
    Err(TokenError::Rule(format!(
        "the {what} {shown:?} must be 1 to {LONGEST} letters, digits, blanks or any of `._@+-`, no blank at either end"
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
    fn a_token_bound_to_studies_sees_only_these() {
        let free = token("a", Role::Admin, None).unwrap();
        let bound = token("a", Role::Admin, Some(&["one", "two"])).unwrap();
        assert!(free.may_see("one") && free.may_see("three"));
        assert!(bound.may_see("one") && bound.may_see("two"));
        assert!(!bound.may_see("three") && !bound.may_see("") && !bound.may_see("on"));
        for permission in Permission::ALL {
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
    fn names_are_held_to_the_rule() {
        for good in [
            "Dr. Müller",
            "ward-3@clinic",
            "x",
            &"é".repeat(64),
            "0123456789",
        ] {
            token(good, Role::Viewer, None).unwrap();
        }
        let long = "x".repeat(65);
        for bad in [
            "",
            " a",
            "a ",
            "a\nb",
            "a\u{202e}b",
            "a\"b",
            "0123abcd",
            &long,
        ] {
            assert!(token(bad, Role::Viewer, None).is_err(), "{bad:?}");
        }
        assert!(token("a", Role::Viewer, Some(&[])).is_err());
        assert!(token("a", Role::Viewer, Some(&["one", "two\n"])).is_err());
    }

    #[test]
    fn a_field_left_out_or_unknown_is_refused() {
        let whole = serde_json::to_value(token("a", Role::Viewer, None).unwrap()).unwrap();
        serde_json::from_value::<Token>(whole.clone()).unwrap();
        for field in whole.as_object().unwrap().keys() {
            let mut part = whole.clone();
            part.as_object_mut().unwrap().remove(field);
            assert!(
                serde_json::from_value::<Token>(part).is_err(),
                "without {field}"
            );
        }
        let mut more = whole;
        more["revokd"] = "2026-01-01T00:00:00Z".into();
        assert!(serde_json::from_value::<Token>(more).is_err());
    }
}
