//! The calls of the HTTP API, from its OpenAPI document.

use emab_server::http::{docs_page, document};
use serde_json::Value;

use super::table;

pub fn page() -> (&'static str, &'static str, String) {
    let api = document();
    // The description begins with headings of its own level.
    let mut out = text(&api["info"]["description"]).replace("\n# ", "\n## ") + "\n\n";
    for tag in api["tags"].as_array().into_iter().flatten() {
        out += &format!(
            "## Calls: {}\n\n{}\n\n",
            text(&tag["name"]),
            text(&tag["description"])
        );
        for (path, item) in entries(&api["paths"]) {
            for (method, operation) in entries(item) {
                if operation["tags"][0] == tag["name"] {
                    out += &call(&api, path, method, operation);
                }
            }
        }
    }
    out += "## Schemas\n\n";
    for (name, schema) in entries(&api["components"]["schemas"]) {
        out += &format!(
            "### {name} {{#schema-{name}}}\n\n{}\n\n",
            text(&schema["description"])
        );
        out += &match properties(&api, schema) {
            Some(table) => table + "\n",
            None => format!("Type: {}\n\n", kind(&api, schema)),
        };
    }
    (
        "HTTP API",
        "Every call of the [decision service](../service.md). Errors are documents of type [ApiError](#schema-ApiError), whose types are listed \
         on [a page of their own](errors.md). A running service has the same with examples at `/docs`, and the \
         OpenAPI document at `/openapi.json`.",
        out,
    )
}

fn call(api: &Value, path: &str, method: &str, operation: &Value) -> String {
    let (summary, about) = (text(&operation["summary"]), text(&operation["description"]));
    let method = method.to_uppercase();
    let mut out = format!("### {summary}\n\n`{method} {path}`\n\n{about}\n\n");
    if let Some(parameters) = operation["parameters"].as_array() {
        let rows = parameters.iter().map(|it| {
            let (name, place) = (text(&it["name"]), text(&it["in"]));
            let about = text(&it["description"]).into();
            vec![
                format!("`{name}`"),
                place.into(),
                kind(api, &it["schema"]),
                about,
            ]
        });
        out += &table(&["parameter", "in", "type", "meaning"], rows);
        out += "\n";
    }
    for (media, content) in entries(&operation["requestBody"]["content"]) {
        out += &format!("Body (`{media}`): {}\n\n", kind(api, &content["schema"]));
        out += &properties(api, &content["schema"])
            .map(|it| it + "\n")
            .unwrap_or_default();
    }
    let (good, errors): (Vec<_>, Vec<_>) =
        entries(&operation["responses"]).partition(|(status, _)| status.starts_with('2'));
    let rows = good.into_iter().map(|(status, response)| {
        let contents = entries(&response["content"]);
        let contents = contents.map(|(media, content)| match &content["schema"] {
            Value::Null => format!("`{media}`"),
            schema => format!("{} (`{media}`)", kind(api, schema)),
        });
        let contents: Vec<String> = contents.collect();
        let about = text(&response["description"]).into();
        vec![status.clone(), contents.join(", "), about]
    });
    out += &table(&["status", "response", "meaning"], rows);
    let errors: Vec<&str> = errors.iter().map(|(status, _)| status.as_str()).collect();
    out + &format!("\nErrors: {}.\n\n", errors.join(", "))
}

fn properties(api: &Value, schema: &Value) -> Option<String> {
    let all = schema["properties"].as_object()?;
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let rows = all.iter().map(|(name, property)| {
        let needed = required.contains(&name.as_str());
        vec![
            format!("`{name}`"),
            kind(api, property),
            if needed { "yes" } else { "no" }.into(),
            text(&property["description"]).into(),
        ]
    });
    Some(table(&["field", "type", "required", "meaning"], rows))
}

fn kind(api: &Value, schema: &Value) -> String {
    docs_page::type_line(api, schema)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn entries(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}
