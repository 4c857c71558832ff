//! Roles and permissions.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::TokenError;

/// The role of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// All permissions.
    Admin,
    /// Episodes and their outcomes.
    Operator,
    /// Reads everything.
    Viewer,
    /// Acts on episodes without seeing estimates.
    Blinded,
}

/// The permission that a call needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Create a study.
    CreateStudy,
    /// Close a study to new episodes.
    CloseStudy,
    /// Import past episodes, restore a study, and discard one that is being restored.
    Import,
    /// List and read studies.
    ReadStudy,
    /// Open, ask, tell, stop, abandon, give an outcome.
    Act,
    /// What is recommended in every step and state. Its changes show what was learned.
    Policy,
    /// The health of a study, which depends on what was learned.
    Health,
    /// Correct an outcome.
    Amend,
    /// Read an episode.
    ReadEpisode,
    /// See the estimates in a decision.
    Compare,
    /// The estimates of a study.
    Estimates,
    /// Events, export, replay, from which estimates can be computed.
    Log,
    /// Metrics of the whole service.
    Metrics,
    /// List, create, replace and revoke tokens.
    Tokens,
}

impl Role {
    /// All roles.
    pub const ALL: [Role; 4] = [Role::Admin, Role::Operator, Role::Viewer, Role::Blinded];

    /// Whether the role has a permission.
    pub fn may(self, permission: Permission) -> bool {
        use Permission as P;
        match self {
            Role::Admin => true,
            Role::Operator => matches!(
                permission,
                P::ReadStudy
                    | P::Act
                    | P::Policy
                    | P::Health
                    | P::Amend
                    | P::ReadEpisode
                    | P::Compare
            ),
            Role::Viewer => matches!(
                permission,
                P::ReadStudy
                    | P::Policy
                    | P::Health
                    | P::ReadEpisode
                    | P::Compare
                    | P::Estimates
                    | P::Log
                    | P::Metrics
            ),
            Role::Blinded => matches!(permission, P::ReadStudy | P::Act | P::ReadEpisode),
        }
    }

    /// The name.
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
pub(super) mod tests {
    use super::*;

    /// Admin, operator, viewer, blinded.
    pub const TABLE: [(Permission, [bool; 4]); 14] = [
        (Permission::CreateStudy, [true, false, false, false]),
        (Permission::CloseStudy, [true, false, false, false]),
        (Permission::Import, [true, false, false, false]),
        (Permission::ReadStudy, [true, true, true, true]),
        (Permission::Act, [true, true, false, true]),
        (Permission::Policy, [true, true, true, false]),
        (Permission::Health, [true, true, true, false]),
        (Permission::Amend, [true, true, false, false]),
        (Permission::ReadEpisode, [true, true, true, true]),
        (Permission::Compare, [true, true, true, false]),
        (Permission::Estimates, [true, false, true, false]),
        (Permission::Log, [true, false, true, false]),
        (Permission::Metrics, [true, false, true, false]),
        (Permission::Tokens, [true, false, false, false]),
    ];

    #[test]
    fn grants_exactly_the_permissions_of_the_table() {
        for (permission, row) in TABLE {
            let found = Role::ALL.map(|role| role.may(permission));
            assert_eq!(found, row, "{permission:?}");
        }
    }

    #[test]
    fn parses_the_names_it_displays() {
        for role in Role::ALL {
            assert_eq!(role.to_string().parse::<Role>().unwrap(), role);
            let json = serde_json::to_string(&role).unwrap();
            assert_eq!(json, format!("\"{role}\""));
        }
        let error = "Admin".parse::<Role>().unwrap_err().to_string();
        assert!(error.contains("`Admin`"), "{error}");
        assert!(error.contains("blinded"), "{error}");
    }
}
