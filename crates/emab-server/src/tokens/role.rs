//! Who may do what: one table.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::TokenError;

/// What somebody is here for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Everything.
    Admin,
    /// Episodes and their outcomes.
    Operator,
    /// Reads everything, changes nothing.
    Viewer,
    /// Acts on episodes and never sees how actions compare, so that it cannot sway whoever acts.
    Blinded,
}

/// What a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Make a study.
    CreateStudy,
    /// Close a study to new episodes.
    CloseStudy,
    /// Bring in episodes of the past.
    Import,
    /// List and read studies.
    ReadStudy,
    /// Open, ask, tell, stop, abandon, give an outcome.
    Act,
    /// Correct an outcome that was given.
    Amend,
    /// Read an episode.
    ReadEpisode,
    /// See estimates beside a decision: what else there was, and how it compares.
    Compare,
    /// The estimates of a study.
    Estimates,
    /// Events, export, replay: what estimates can be computed from.
    Log,
    /// The numbers of the service as a whole.
    Metrics,
}

impl Permission {
    /// All of them.
    pub const ALL: [Permission; 11] = [
        Permission::CreateStudy,
        Permission::CloseStudy,
        Permission::Import,
        Permission::ReadStudy,
        Permission::Act,
        Permission::Amend,
        Permission::ReadEpisode,
        Permission::Compare,
        Permission::Estimates,
        Permission::Log,
        Permission::Metrics,
    ];
}

impl Role {
    /// All of them.
    pub const ALL: [Role; 4] = [Role::Admin, Role::Operator, Role::Viewer, Role::Blinded];

    /// Whether the role allows it.
    pub fn may(self, permission: Permission) -> bool {
        use Permission as P;
        match self {
            Role::Admin => true,
            Role::Operator => matches!(
                permission,
                P::ReadStudy | P::Act | P::Amend | P::ReadEpisode | P::Compare
            ),
            Role::Viewer => matches!(
                permission,
                P::ReadStudy | P::ReadEpisode | P::Compare | P::Estimates | P::Log | P::Metrics
            ),
            Role::Blinded => matches!(permission, P::ReadStudy | P::Act | P::ReadEpisode),
        }
    }

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Role::Admin => "admin",
            Role::Operator => "operator",
            Role::Viewer => "viewer",
            Role::Blinded => "blinded",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Role {
    type Err = TokenError;

    fn from_str(text: &str) -> Result<Role, TokenError> {
        let named = Role::ALL.into_iter().find(|role| role.as_str() == text);
        named.ok_or_else(|| TokenError::Role(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table() {
        // Admin, operator, viewer, blinded.
        let table = [
            (Permission::CreateStudy, [true, false, false, false]),
            (Permission::CloseStudy, [true, false, false, false]),
            (Permission::Import, [true, false, false, false]),
            (Permission::ReadStudy, [true, true, true, true]),
            (Permission::Act, [true, true, false, true]),
            (Permission::Amend, [true, true, false, false]),
            (Permission::ReadEpisode, [true, true, true, true]),
            (Permission::Compare, [true, true, true, false]),
            (Permission::Estimates, [true, false, true, false]),
            (Permission::Log, [true, false, true, false]),
            (Permission::Metrics, [true, false, true, false]),
        ];
        assert_eq!(table.map(|(permission, _)| permission), Permission::ALL);
        for (permission, row) in table {
            assert_eq!(
                Role::ALL.map(|role| role.may(permission)),
                row,
                "{permission:?}"
            );
        }
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for role in Role::ALL {
            assert_eq!(role.to_string().parse::<Role>().unwrap(), role);
            let json = serde_json::to_string(&role).unwrap();
            assert_eq!(json, format!("\"{role}\""));
        }
        let error = "Admin".parse::<Role>().unwrap_err().to_string();
        assert!(
            error.contains("`Admin`") && error.contains("blinded"),
            "{error}"
        );
    }
}
