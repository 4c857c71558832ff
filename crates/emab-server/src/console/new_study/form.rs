//! The form of a new study.

use emab::learners::{Access, CATALOGUE, ChoiceBasis};
use maud::{Markup, html};

use super::input::{DEFAULT_LEARNER, Way, file_text};
use super::inputs::{
    ACTIONS, DELTA, EXPECTED_DELAY, FEEDBACKS, HORIZON, Input, LARGEST_COST, LARGEST_REWARD,
    LEARNER, MISSING_AT_RANDOM, NAME, SIGMA2, SMALLEST_COST, SMALLEST_REWARD, START, STATES,
    TRANSITION,
};
use crate::console::form::{Fields, shown_to, text_field, tick_box};
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
            (shown_to(&visit.caller))
            (field(NAME, typed.get(NAME.id), NAME_RULE))
            div.ways {
                fieldset {
                    legend { "The problem comes from" }
                    (choice("way", "file", "a problem file", way == Way::File))
                    (choice("way", "form", "a form, for small problems", way == Way::Form))
                }
                (file(typed))
                (small(typed, is_new))
            }
            (study_fields(typed))
            p.row {
                button type="submit" name="do" value="check" formaction={ (visit.root) "new-study#result" } { "Check" }
                " "
                button type="submit" name="do" value="create" { "Create the study" }
            }
            p.hint { "Checking creates nothing." }
        }
    }
}

fn field(input: Input, value: &str, hint: &str) -> Markup {
    text_field((input.id, input.id), input.label, value, Some(hint), false)
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
    let or = |input: Input, default: &'static str| -> String {
        match is_new {
            true => default.into(),
            false => typed.get(input.id).into(),
        }
    };
    let list = |Input { id, label, .. }: Input, hint: &str| {
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
            (list(STATES, "What is known of a case before an action, such as: unknown, clear, suspect"))
            (list(ACTIONS, "What can be done besides stopping, such as: blood, scan"))
            (list(FEEDBACKS, "What is seen after an action, such as: negative, positive"))
            (field(HORIZON, &or(HORIZON, "3"), "Every case has stopped by this step."))
            (field(TRANSITION, typed.get(TRANSITION.id),
                "The number of the next state, counted from 0, as an expression of the step t, the state x, the action a and the feedback f. \
                 With the states above, 1 + f leads to clear after negative and to suspect after positive. Names may be used: if(f == positive, suspect, x)."
            ))
            (field(START, typed.get(START.id),
                "If cases begin in different states, such as risk groups: their names. Empty: the first state."
            ))
            (field(DELTA, &or(DELTA, "0.05"), "The probability with which a certificate may be wrong."))
            (field(SIGMA2, typed.get(SIGMA2.id),
                "The variance proxy of rewards and costs. Empty: from their ranges below, which is always sound."
            ))
        }
    }
}

/// Learner and outcomes.
fn study_fields(typed: &Fields) -> Markup {
    let number = |Input { id, label, .. }: Input| {
        html! {
            div.field.number {
                label for=(id) { (label) }
                input type="text" inputmode="decimal" id=(id) name=(id) value=(typed.get(id)) autocomplete="off" maxlength="40" aria-describedby="ranges-hint";
            }
        }
    };
    html! {
        section.card aria-labelledby="study-fields" {
            h2 id="study-fields" { "Learner and outcomes" }
            (learners(typed))
            p.hint id="ranges-hint" {
                "The smallest and the largest value that can occur. A value outside is recorded after a confirmation only. Empty: as in the problem file; in the \
                 form for small problems 0 and 1."
            }
            div.row { (number(SMALLEST_REWARD)) (number(LARGEST_REWARD)) }
            div.row { (number(SMALLEST_COST)) (number(LARGEST_COST)) }
            (field(EXPECTED_DELAY, typed.get(EXPECTED_DELAY.id),
                "A number and a unit (s, m, h, d or w), such as 30d. Later ones count as overdue. Empty: no outcome is overdue."
            ))
            (tick_box((MISSING_AT_RANDOM.id, MISSING_AT_RANDOM.id),
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
            label for=(LEARNER.id) { (LEARNER.label) }
            select id=(LEARNER.id) name=(LEARNER.id) {
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
