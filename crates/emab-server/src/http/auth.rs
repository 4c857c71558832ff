//! Who calls, and whether they may.

use std::sync::Arc;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use super::App;
use crate::domain::error::ApiError;
use crate::http::rate_limit::network;
use crate::tokens::{Permission, Token, bearer};
use crate::transport::Peer;

/// Whoever showed a valid token.
pub struct Caller(Arc<Token>);

impl Caller {
    /// Their token, by its id.
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// Whether they must not compare.
    pub fn is_blinded(&self) -> bool {
        !self.has(Permission::Compare)
    }

    /// Whether they may do this anywhere.
    pub fn has(&self, permission: Permission) -> bool {
        self.0.role().may(permission)
    }

    /// The studies that their token is for; none for all.
    pub fn studies(&self) -> Option<&[String]> {
        self.0.studies()
    }

    /// Their token, for whoever has to ask later whether it still works.
    pub fn token(&self) -> Arc<Token> {
        self.0.clone()
    }

    /// Whether their token is for this study, too.
    fn sees(&self, study: &str) -> bool {
        self.0.may_see(study)
    }

    /// Lets them go on if they may do this at all.
    pub fn may(&self, permission: Permission) -> Result<(), ApiError> {
        // A token of some studies may not see what is about all of them.
        if self.0.may(permission, None) {
            return Ok(());
        }
        let role = self.0.role();
        Err(ApiError::forbidden(format!(
            "a token of role `{role}` may not do this; `emab token new` makes others"
        )))
    }

    /// Lets them go on if they may do this in a study.
    pub fn may_in(&self, permission: Permission, study: &str) -> Result<(), ApiError> {
        self.may(permission)?;
        if self.sees(study) {
            return Ok(());
        }
        Err(ApiError::forbidden(format!(
            "this token is not for study `{}`",
            crate::domain::json::short(study)
        )))
    }
}

impl FromRequestParts<App> for Caller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Caller, ApiError> {
        let slow = |seconds: u64| {
            app.metrics.rate_limited();
            ApiError::too_many("too many requests").retry(seconds)
        };
        let denied = |detail: &str| {
            app.metrics.refused_token();
            // Whoever guesses is slowed down.
            if let Some(Peer(peer)) = parts.extensions.get() {
                app.rates.failures.check(network(*peer)).map_err(slow)?;
            }
            Err(ApiError::unauthorized(detail))
        };
        let Some(secret) = bearer(&parts.headers) else {
            return denied("send `Authorization: Bearer TOKEN`; `emab token new` makes a token");
        };
        let Ok(token) = app.tokens.check(secret) else {
            return denied("this token is not known, or was revoked");
        };
        app.rates.calls.check(token.id().to_owned()).map_err(slow)?;
        Ok(Caller(token))
    }
}
