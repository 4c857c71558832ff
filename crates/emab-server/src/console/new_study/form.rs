//! The form of a new study.

use emab::learners::{Access, CATALOGUE, ChoiceBasis};
use maud::{Markup, html};

use super::input::{DEFAULT_LEARNER, Way, file_text};
use crate::console::form::{Fields, text_field, tick_box};
use crate::console::visit::Visit;
use crate::domain::NAME_RULE;

/// The largest uploaded file that is shown on the page afterwards, in bytes.
const SHOWN: usize = 1 << 20;

/// The learners that are recommended, and for what.
const RECOMMENDED: [(&str, &str); 3] = [
    (
        DEFAULT_LEARNER,
        "the default: the smallest regret, and it allows for outcomes that are late",
    ),
    (
        "feedbal-pooled:target=benchmark",
        "looks one step ahead, as the paper does; for studies in which many cases are abandoned",
    ),
    (
        "feedbal:width=sound",
        "the learner of the paper with a sound width; it explores longer",
    ),
];

pub fn form(visit: &Visit, typed: &Fields, is_new: bool) -> Markup {
    let way = Way::of(typed);
    html! {
        form method="post" action={ (visit.root) "new-study" } enctype="multipart/form-data" data-check={ (visit.root) "new-study" } {
            (text_field(("name", "name"), "Name of the study", typed.get("name"), Some(NAME_RULE), false))
            div.ways {
                fieldset {
                    legend { "The problem comes from" }
                    (choice("way", "file", "a problem file", way == Way::File))
                    (choice("way", "form", "a form, for small problems", way == Way::Form))
                }
                (file(typed))
                (small(typed, is_new))
            }
            (beside(typed))
            p.row {
                button type="submit" name="do" value="check" formaction={ (visit.root) "new-study#result" } { "Check" }
                " "
                button type="submit" name="do" value="create" { "Create the study" }
            }
            p.hint { "Checking creates nothing." }
        }
    }
}

fn choice(name: &str, value: &str, label: &str, chosen: bool) -> Markup {
    let id = format!("{name}-{value}");
    html! {
        div.choice {
            input type="radio" id=(id) name=(name) value=(value) checked[chosen];
            label for=(id) { (label) }
        }
    }
}

fn file(typed: &Fields) -> Markup {
    let text = file_text(typed);
    let uploaded = !typed.get("file").is_empty();
    let is_large = text.len() > SHOWN;
    html! {
        section.card.of-file aria-labelledby="of-file-title" {
            h2 id="of-file-title" { "Problem file" }
            p.hint {
                "TOML or JSON. A " code { "model" } " in it is left out, since a study learns it. The fields of a study (" code { "learner" } ", "
                code { "shadow" } ", " code { "outcome_range" } ", " code { "protocol" } ", " code { "expected_delay" } ", " code { "thresholds" } ", "
                code { "missing_at_random" } ") may be in the file."
            }
            @if is_large {
                p.notice { "The uploaded file has " (text.len() >> 10) " KiB and is not repeated here. Choose it again before you create the study." }
            } @else if uploaded {
                p.notice { "The uploaded file is in the text below. Change it there, or upload another one." }
            }
            div.field {
                label for="file" { "Upload a file" }
                p.hint id="file-hint" { "It replaces the text below." }
                input type="file" id="file" name="file" accept=".toml,.json,application/json,application/toml" aria-describedby="file-hint";
            }
            div.field {
                label for="problem" { "Or paste it here" }
                // A line break directly after the tag is ignored.
                textarea id="problem" name="problem" wrap="off" spellcheck="false" autocapitalize="off" autocomplete="off" {
                    "\n" @if !is_large { (text) }
                }
            }
            details {
                summary { "Example" }
                pre { code { (EXAMPLE) } }
            }
        }
    }
}

const EXAMPLE: &str = r#"horizon    = 3
states     = ["unknown", "clear", "suspect"]
actions    = ["blood", "scan"]
feedbacks  = ["negative", "positive"]
transition = "1 + f"

learner        = "feedbal-pooled"
expected_delay = "30d"
outcome_range  = { reward = [0, 1], cost = [0, 1] }

[learning]
delta        = 0.05
sigma2       = 0.25
reward_range = [0, 1]
"#;

fn small(typed: &Fields, is_new: bool) -> Markup {
    let or = |name: &str, default: &'static str| -> String {
        match is_new {
            true => default.into(),
            false => typed.get(name).into(),
        }
    };
    let list = |id: &str, label: &str, hint: &str| {
        let hint_id = format!("{id}-hint");
        html! {
            div.field {
                label for=(id) { (label) }
                p.hint id=(hint_id) { (hint) }
                textarea.short id=(id) name=(id) spellcheck="false" autocapitalize="off" autocomplete="off" aria-describedby=(hint_id) {
                    "\n" (typed.get(id))
                }
            }
        }
    };
    html! {
        section.card.of-form aria-labelledby="of-form-title" {
            h2 id="of-form-title" { "Small problem" }
            p.hint { "Names are written one per line, or with commas between them. A number is a count." }
            (list("states", "States", "What is known of a case before an action, such as: unknown, clear, suspect"))
            (list("actions", "Actions", "What can be done besides stopping, such as: blood, scan"))
            (list("feedbacks", "Feedbacks", "What is seen after an action, such as: negative, positive"))
            (text_field(("horizon", "horizon"), "Steps at most", &or("horizon", "3"), Some("Every case has stopped by this step."), false))
            (text_field(("transition", "transition"), "Next state", typed.get("transition"), Some(
                "The number of the next state, counted from 0, as an expression of the step t, the state x, the action a and the feedback f. \
                 With the states above, 1 + f leads to clear after negative and to suspect after positive. Names may be used: if(f == positive, suspect, x)."
            ), false))
            (text_field(("start", "start"), "States at intake", typed.get("start"), Some(
                "If cases begin in different states, such as risk groups: their names. Empty: the first state."
            ), false))
            (text_field(("delta", "delta"), "delta", &or("delta", "0.05"), Some("The probability with which a certificate may be wrong."), false))
            (text_field(("sigma2", "sigma2"), "sigma2", typed.get("sigma2"), Some(
                "The variance proxy of rewards and costs. Empty: from their ranges below, which is always sound."
            ), false))
        }
    }
}

/// Learner and outcomes.
fn beside(typed: &Fields) -> Markup {
    let number = |id: &str, label: &str| {
        html! {
            div.field.number {
                label for=(id) { (label) }
                input type="text" inputmode="decimal" id=(id) name=(id) value=(typed.get(id)) autocomplete="off" maxlength="40" aria-describedby="ranges-hint";
            }
        }
    };
    html! {
        section.card aria-labelledby="beside-title" {
            h2 id="beside-title" { "Learner and outcomes" }
            (learners(typed))
            p.hint id="ranges-hint" {
                "The least and the most value that is observed. A value outside is recorded after a confirmation only. Empty: as in the problem file; in the \
                 form for small problems 0 and 1."
            }
            div.row { (number("reward-least", "Least reward")) (number("reward-most", "Most reward")) }
            div.row { (number("cost-least", "Least cost")) (number("cost-most", "Most cost")) }
            (text_field(("expected_delay", "expected_delay"), "Outcomes are expected after", typed.get("expected_delay"), Some(
                "A number and a unit (s, m, h, d or w), such as 30d. Later ones count as overdue. Empty: no outcome is overdue."
            ), false))
            (tick_box(("missing_at_random", "missing_at_random"),
                "Outcomes that are missing are missing at random. If not, a missing outcome ends the certificates.", typed.ticked("missing_at_random")))
        }
    }
}

fn learners(typed: &Fields) -> Markup {
    let chosen = typed.get("learner");
    let is_other = |name: &str| RECOMMENDED.iter().all(|(known, _)| *known != name);
    let others = || {
        let usable = CATALOGUE
            .iter()
            .filter(|it| it.access == Access::Spec && it.choice_basis == ChoiceBasis::Tables);
        usable.filter(|it| is_other(it.name))
    };
    let option = |value: &str, text: &str| html! { option value=(value) selected[chosen == value] { (text) } };
    html! {
        div.field {
            label for="learner" { "Learner" }
            select id="learner" name="learner" {
                (option("", &format!("as in the problem file, or {DEFAULT_LEARNER}")))
                optgroup label="Recommended" { @for (name, _) in RECOMMENDED { (option(name, name)) } }
                optgroup label="Others" { @for entry in others() { (option(entry.name, entry.name)) } }
            }
        }
        details {
            summary { "What the learners do" }
            dl {
                @for (name, about) in RECOMMENDED { div { dt { code { (name) } } dd { (about) } } }
                @for entry in others() { div { dt { code { (entry.name) } } dd { (entry.about) } } }
            }
        }
        (text_field(("own_learner", "own_learner"), "Learner with other parameters", typed.get("own_learner"), Some(
            "It replaces the choice above, such as feedbal-pooled:explore=1"
        ), false))
    }
}
