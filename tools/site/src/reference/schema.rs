//! The fields of a problem file.

use serde_json::Value;

use super::table;

pub fn page() -> (&'static str, &'static str, String) {
    let schema: Value = serde_json::from_str(emab_problem::SCHEMA).unwrap_or_default();
    let mut out = String::from("## Fields\n\n");
    out += &properties(&schema);
    for name in ["model", "conditions", "learning"] {
        let inner = &schema["properties"][name];
        let about = inner["description"].as_str().unwrap_or_default();
        out += &format!("\n## `[{name}]`\n\n{about}\n\n{}", properties(inner));
    }
    out += "\n## Types\n\n";
    for (name, definition) in schema["$defs"].as_object().into_iter().flatten() {
        let about = definition["description"].as_str();
        let about = about.map(|it| format!("{it}\n\n")).unwrap_or_default();
        out += &format!("### {name}\n\n{about}{}\n\n", kind(definition));
    }
    (
        "Schema of a problem file",
        "The fields of a problem file, from its JSON schema (`emab schema` prints it, and editors can use it). \
         [Problem file](../problem-file.md) explains the format with examples.",
        out,
    )
}

fn properties(schema: &Value) -> String {
    let Some(all) = schema["properties"].as_object() else {
        return String::new();
    };
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let rows = all.iter().map(|(name, property)| {
        vec![
            format!("`{name}`"),
            match property["properties"].is_object()
                && ["model", "conditions", "learning"].contains(&name.as_str())
            {
                true => "table, see below".into(),
                false => kind(property),
            },
            if required.contains(&name.as_str()) {
                "yes"
            } else {
                "no"
            }
            .into(),
            property["description"].as_str().unwrap_or_default().into(),
        ]
    });
    table(&["field", "type", "required", "meaning"], rows)
}

/// The type of a value in words, with links to the types of the page.
fn kind(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str() {
        let name = name.trim_start_matches("#/$defs/");
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|it| format!("`{it}`")).collect();
        return values.join(" or ");
    }
    if let Some(value) = schema.get("const") {
        return format!("`{value}`");
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(choices) = schema[key].as_array() {
            let choices: Vec<String> = choices.iter().map(kind).collect();
            return choices.join(", or ");
        }
    }
    if let Some(fields) = schema["properties"].as_object() {
        let field = |(name, inner): (&String, &Value)| format!("`{name}` ({})", kind(inner));
        let fields: Vec<String> = fields.iter().map(field).collect();
        return format!("object with {}", fields.join(", "));
    }
    let names = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        Value::String(kind) => vec![kind.as_str()],
        _ => vec![],
    };
    let limits = [
        ("minimum", "≥"),
        ("maximum", "≤"),
        ("exclusiveMinimum", ">"),
        ("exclusiveMaximum", "<"),
    ];
    let limit = |(key, sign): &(&str, &str)| Some(format!(" {sign} {}", schema.get(key)?));
    let limits: String = limits.iter().filter_map(limit).collect();
    let named = names.iter().map(|name| match (*name, &schema["items"]) {
        ("array", items @ Value::Object(_)) => format!("array of {}", kind(items)),
        ("integer" | "number", _) => format!("{name}{limits}"),
        _ => (*name).to_owned(),
    });
    let named: Vec<String> = named.collect();
    named.join(" or ")
}
