//! The people of the demo, each with a token.

use crate::domain::Author;
use crate::tokens::{NewToken, Role, Secret, TokenError, TokenFile, TokenStore};

use super::studies::{CLINIC, TUTORING};

/// A person of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Person {
    Admin,
    Nurse,
    Viewer,
    Blinded,
    Doctor,
    Tutor,
}

impl Person {
    const ALL: [Person; 6] = [
        Person::Admin,
        Person::Nurse,
        Person::Viewer,
        Person::Blinded,
        Person::Doctor,
        Person::Tutor,
    ];

    /// The token of the person.
    fn token(self) -> NewToken {
        let (name, owner, role) = match self {
            Person::Admin => ("admin", "Ada Admin", Role::Admin),
            Person::Nurse => ("nurse", "Nora Nurse", Role::Operator),
            Person::Viewer => ("viewer", "Vera Viewer", Role::Viewer),
            Person::Blinded => ("blinded", "Ben Blinded", Role::Blinded),
            Person::Doctor => ("doctor", "Dana Doctor", Role::Operator),
            Person::Tutor => ("tutor", "Tom Tutor", Role::Operator),
        };
        let mut token = NewToken::new(name, role);
        token.owner = Some(owner.into());
        match self {
            Person::Doctor => token.only_in(&[CLINIC.name]),
            Person::Tutor => token.only_in(&[TUTORING.name]),
            _ => token,
        }
    }
}

/// A token with which the user of the demo signs in.
#[derive(Debug)]
pub struct DemoToken {
    /// The role of the token.
    pub role: Role,
    /// The person whom it belongs to.
    pub person: String,
    /// The secret, which is shown once.
    pub secret: Secret,
}

/// The people of the demo.
#[derive(Debug)]
pub struct People {
    /// In the order of [`Person::ALL`].
    authors: Vec<Author>,
}

impl People {
    /// Creates the tokens of all people in a file. Returns also one for each role, to be printed.
    pub fn create(file: &TokenFile) -> Result<(People, Vec<DemoToken>), TokenError> {
        let (mut authors, mut tokens) = (Vec::new(), Vec::<DemoToken>::new());
        for person in Person::ALL {
            let (token, secret) = file.new_token(&person.token())?;
            let (role, person) = (token.role, token.person().to_owned());
            if tokens.iter().all(|token| token.role != role) {
                let person = person.clone();
                tokens.push(DemoToken {
                    role,
                    person,
                    secret,
                });
            }
            authors.push(Author {
                token: token.id,
                person,
            });
        }
        Ok((People { authors }, tokens))
    }

    /// The author of what a person reports.
    pub(super) fn author(&self, person: Person) -> &Author {
        &self.authors[person as usize]
    }
}
