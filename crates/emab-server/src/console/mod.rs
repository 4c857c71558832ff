//! The console: web pages for people who treat cases, run a study and check it.
//!
//! Pages are rendered here, and every form works without JavaScript. They show what the HTTP API shows to the same role: handlers
//! check the same permissions and read the same views. A person signs in with a token, which begins a session; the
//! session counts for these pages only.
//!
//! - `visit`: the extractor of every page: session, path, query and form.
//! - `layout`: the parts that all pages share, and the headers of their responses.
//! - `form`: fields of forms, and values that were typed.
//! - One module for each page.
//!
//! Links are relative, so that the console works below any path of a proxy.

mod assets;
mod audit;
mod case;
mod cases;
mod error_page;
mod evaluation;
mod event_words;
mod form;
mod layout;
mod log;
mod new_study;
mod people;
mod policy;
mod progress;
mod session;
mod sign_in;
mod studies;
mod study;
mod updates;
mod visit;
mod waiting;
mod words;

use axum::middleware;
use axum::routing::{get, post};
use axum::{Extension, Router};

use crate::http::body::MAX_STUDY;
use crate::http::{self, App};

/// The router of the service: the API and the console. [`crate::transport`] serves it; tests call it without a socket.
pub fn app(app: App) -> Router {
    let router = http::app(app, routes());
    router.layer(middleware::from_fn(error_page::in_html))
}

fn routes() -> Router<App> {
    let new_study = get(new_study::page).post(new_study::check_or_create);
    Router::new()
        .route("/", get(studies::page))
        .route("/sign-in", get(sign_in::page).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/worklist", get(cases::worklist))
        .route(
            "/new-study",
            new_study.layer(Extension(form::FormLimit(MAX_STUDY))),
        )
        .route("/people", get(people::page).post(people::create))
        .route(
            "/people/{token}",
            get(people::token_page).post(people::change),
        )
        .route("/studies/{study}", get(study::page))
        .route("/studies/{study}/open", post(study::open))
        .route("/studies/{study}/pause", post(study::pause))
        .route("/studies/{study}/resume", post(study::resume))
        .route("/studies/{study}/close", post(study::close))
        .route("/studies/{study}/reopen", post(study::reopen))
        .route("/studies/{study}/cases", get(cases::page))
        .route("/studies/{study}/cases/{episode}", get(case::page))
        .route("/studies/{study}/cases/{episode}/tell", post(case::tell))
        .route("/studies/{study}/cases/{episode}/stop", post(case::stop))
        .route(
            "/studies/{study}/cases/{episode}/abandon",
            post(case::abandon),
        )
        .route(
            "/studies/{study}/cases/{episode}/outcome",
            post(case::give_outcome),
        )
        .route("/studies/{study}/cases/{episode}/amend", post(case::amend))
        .route("/studies/{study}/cases/{episode}/void", post(case::void))
        .route(
            "/studies/{study}/cases/{episode}/steps/{step}/amend",
            post(case::amend_step),
        )
        .route(
            "/studies/{study}/cases/{episode}/replay/{step}",
            get(audit::replay),
        )
        .route("/studies/{study}/policy", get(policy::page))
        .route("/studies/{study}/policy/print", get(policy::print))
        .route("/studies/{study}/progress", get(progress::page))
        .route("/studies/{study}/evaluation", get(evaluation::page))
        .route("/studies/{study}/log", get(log::page))
        .route("/studies/{study}/log/{seq}", get(log::event))
        .route("/studies/{study}/audit", post(audit::start))
        .route("/studies/{study}/download/{file}", get(log::download))
        .route("/updates", get(updates::updates))
        .route("/assets/{file}", get(assets::file))
}
