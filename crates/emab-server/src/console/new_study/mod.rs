//! The page that creates a study from a problem file or from a form for small problems. It checks what is typed and shows what the
//! study would be.

mod form;
mod input;
mod inputs;
mod preview;

use std::sync::Arc;

use axum::response::Response;
use maud::html;

use super::form::{Fields, Rejected, is_rejection};
use super::layout::{Page, Section, go_to};
use super::visit::{PageResult, Visit};
use crate::domain::{Command, Study};
use crate::http::error::ApiError;
use crate::tokens::Permission;
use input::{Draft, Problem};

/// The form, empty.
pub async fn page(visit: Visit) -> PageResult {
    visit.caller.may(Permission::CreateStudy)?;
    Ok(show(&visit, None, &Checked::default()))
}

/// What a check has found.
#[derive(Default)]
struct Checked {
    problems: Vec<Problem>,
    notices: Vec<String>,
    study: Option<Study>,
}

impl Checked {
    /// Reads the form and checks the study.
    async fn read(visit: &Visit) -> Result<Checked, ApiError> {
        let fields = visit.form.clone();
        // A large file takes a while.
        let draft = tokio::task::spawn_blocking(move || Draft::read(&fields)).await;
        let mut draft = draft.map_err(|_| ApiError::internal("the form could not be read"))?;
        let mut checked = Checked::default();
        if let Some(body) = draft.body.take() {
            let read = visit
                .app
                .service
                .read_study(draft.name_or_other(), body)
                .await;
            match read.map_err(ApiError::from) {
                Ok(study) => checked.study = Some(study),
                Err(error) if is_rejection(&error) => draft.problems.push(draft.locate(error)),
                Err(error) => return Err(error),
            }
        }
        checked.problems.append(&mut draft.problems);
        checked.notices = draft.notices;
        if checked.problems.is_empty() {
            checked.check_name(visit, &draft.name).await?;
        }
        Ok(checked)
    }

    /// Whether the token may create a study of this name, and whether one exists.
    async fn check_name(&mut self, visit: &Visit, name: &str) -> Result<(), ApiError> {
        if let Err(error) = visit.caller.may_in(Permission::CreateStudy, name) {
            self.problems.push(Problem::of_name(error));
            return Ok(());
        }
        let (Ok(head), Some(study)) = (visit.app.service.head(name).await, &self.study) else {
            return Ok(());
        };
        if head.spec_hash == study.hash {
            self.notices.push(format!("The study `{name}` exists, and this is its specification: nothing is left to create."));
        } else {
            let what = format!(
                "a study `{name}` exists with another specification, and a study cannot be changed; choose another name"
            );
            self.problems
                .push(Problem::of_name(ApiError::conflict(what)));
        }
        Ok(())
    }
}

/// Checks the form. Creates the study, if the button for that was used and there is no problem.
pub async fn check_or_create(visit: Visit) -> PageResult {
    visit.caller.may(Permission::CreateStudy)?;
    let mut checked = Checked::read(&visit).await?;
    if visit.form.get("do") != "create" {
        return Ok(show(&visit, None, &checked));
    }
    let study = match checked.study.take() {
        Some(study) if checked.problems.is_empty() => study,
        study => {
            checked.study = study;
            return Ok(rejected(&visit, &checked));
        }
    };
    let name = study.name.clone();
    match visit.submit(&name, Command::Create(Arc::new(study))).await {
        Ok(reply) if reply.new => Ok(go_to(&format!("{}studies/{name}", visit.root))),
        // Sent twice, or created before.
        Ok(_) => Ok(exists(&visit, &name)),
        Err(error) if is_rejection(&error) => {
            checked.problems.push(Problem::of_name(error));
            Ok(rejected(&visit, &checked))
        }
        Err(error) => Err(error),
    }
}

/// The same study exists: a request that was sent twice changes nothing.
fn exists(visit: &Visit, name: &str) -> Response {
    let content = html! {
        div.notice role="status" {
            p { "The study " b { (name) } " exists with this specification. Nothing was changed." }
            p { a.button href={ (visit.root) "studies/" (name) } { "Go to the study" } }
        }
    };
    Page::new("New study", Section::NewStudy).show(visit, &content)
}

fn rejected(visit: &Visit, checked: &Checked) -> Response {
    let error = match &checked.problems[..] {
        [only] => ApiError {
            title: "One problem was found",
            detail: format!("{}: {}", only.place(), only.error.detail),
            ..only.error.clone()
        },
        several => ApiError {
            title: "Problems were found",
            ..ApiError::not_possible(format!("{} problems are listed below", several.len()))
        },
    };
    show(visit, Some(&error), checked)
}

fn show(visit: &Visit, error: Option<&ApiError>, checked: &Checked) -> Response {
    let typed = Some(&visit.form).filter(|form| !form.is_empty());
    let rejected = error.map(|error| Rejected {
        form: "new-study",
        typed: &visit.form,
        error,
    });
    let content = html! {
        p { "A study cannot be changed after it is created. Try it under another name first, and close that one." }
        (form::form(visit, typed.unwrap_or(&Fields::default()), typed.is_none()))
        h2 id="result" { "Preview" }
        div id="found" aria-live="polite" { (preview::found(&checked.problems, &checked.notices, checked.study.as_ref())) }
        div id="preview" { (preview::preview(checked.study.as_ref())) }
    };
    Page::new("New study", Section::NewStudy)
        .rejected(rejected)
        .show(visit, &content)
}
