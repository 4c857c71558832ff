//! The types of errors of the service.

use emab_server::http::error::KINDS;

use super::table;

pub fn page() -> (&'static str, &'static str, String) {
    let rows = KINDS.iter().map(|(kind, status, title)| {
        vec![format!("`{kind}`"), status.to_string(), (*title).into()]
    });
    (
        "Error types",
        "An error of the [decision service](../service.md) is a document of type `application/problem+json` (RFC 9457). `type` is stable and \
         meant for programs; `detail` says what was found, what was expected and what to do; `pointer` is the JSON pointer of the fault in \
         the body. [The HTTP API](http-api.md#schema-ApiError) has all fields. The command line reports errors as text and by its \
         [exit code](commands.md).",
        table(&["type", "status", "title"], rows),
    )
}
