//! The policy of a study as a page to print: no scripts, no external resources.

use maud::{DOCTYPE, html};

use crate::domain::PolicyTable;

const STYLE: &str = "
:root { color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.4 }
body { max-width: 50rem; margin: 0 auto; padding: 1rem }
table { border-collapse: collapse; width: 100% }
caption { text-align: left; padding-bottom: 0.5rem }
th, td { border-bottom: 1px solid #8888; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top }
tr { break-inside: avoid }
code { overflow-wrap: anywhere }
@media print { body { max-width: none; padding: 0; font-size: 10pt } thead { display: table-header-group } }
";

/// The page.
pub fn page(table: &PolicyTable) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Policy of " (table.study) }
                style { (maud::PreEscaped(STYLE)) }
            }
            body {
                main {
                    h1 { "Policy of " (table.study) }
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
                    table {
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
    page.into_string()
}
