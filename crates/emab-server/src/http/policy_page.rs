//! The policy of a study as a page to print: no scripts, no external resources.

use maud::{PreEscaped, html};

use crate::domain::PolicyTable;

/// The page.
pub fn page(table: &PolicyTable) -> String {
    let title = format!("Policy of {}", table.study);
    let head = html! {
        link rel="icon" href="data:,";
        style { (PreEscaped(emab_report::STYLE)) }
    };
    let body = html! {
        body.policy {
            main {
                h1 { (title) }
                p {
                    "For times when the service cannot be reached: find the step and the state, take the action, note the \
                     feedback, and go on with the state that it leads to. Report the steps afterwards as decided by fallback, \
                     with the number and the hash below."
                }
                p {
                    "As of event " (table.as_of)
                    @if let Some(at) = &table.at { " of " (at) }
                    ", hash " code { (table.hash) }
                }
                div.wide tabindex="0" role="group" aria-label="Table: policy" {
                    table.data {
                        caption { "What is recommended in each step and state" }
                        thead { tr {
                            th scope="col" { "Step" } th scope="col" { "State" } th scope="col" { "Action" }
                            th scope="col" { "Next state by feedback" }
                        } }
                        tbody {
                            @for row in &table.choices {
                                tr {
                                    td { (row.step) } td { (row.state) } td { strong { (row.action) } }
                                    td {
                                        @for (i, (feedback, state)) in row.next.iter().enumerate() {
                                            @if i > 0 { br; }
                                            (feedback) ": " (state)
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    };
    emab_report::html_page(&title, &head, &body)
}
