//! The OpenAPI document: the documentation of each handler, completed with what all calls share.

use serde_json::{Map, Value, json};
use utoipa::openapi::schema::Components;
use utoipa::openapi::{InfoBuilder, OpenApi};
use utoipa::{PartialSchema, ToSchema};

use super::error::{ApiError, KINDS};
use super::response::FILE;
use super::tables::PARQUET;
use crate::domain::{Limits, MAX_STEPS, PolicyRow, Protocol, Thresholds, json::LenientU64};

/// The rule of [`crate::domain::study::is_name`] as a regular expression.
pub const NAME: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$";

/// The OpenAPI document of the service.
///
/// ```
/// let document = emab_server::http::document();
/// let ask = &document["paths"]["/v1/studies/{study}/episodes/{episode}:ask"]["post"];
/// assert_eq!(ask["operationId"], "askEpisode");
/// ```
pub fn document() -> Value {
    let routes = super::api_routes();
    let info = InfoBuilder::new()
        .title("emab decision service")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(include_str!("api.md")))
        .build();
    let mut openapi = OpenApi::new(info, routes.paths);
    let mut components = Components::new();
    components.schemas.extend(routes.schemas);
    let error = (ApiError::name().into(), ApiError::schema());
    components.schemas.extend([error]);
    openapi.components = Some(components);
    let mut document = serde_json::to_value(openapi).unwrap_or_default();
    document["security"] = json!([{"token": []}]);
    document["tags"] = json!([
        {"name": "studies", "description": "Specification, learner and estimates."},
        {"name": "episodes", "description": "One case, from its first decision to its outcome."},
        {"name": "audit", "description": "The log: read, stream, replay, export and import."},
        {"name": "operate", "description": "Health checks, metrics and documentation."},
    ]);
    document["components"]["securitySchemes"] = json!({"token": {
        "type": "http", "scheme": "bearer", "description": "A token created by `emab token new`"}});
    schemas(&mut document["components"]["schemas"]);
    for (path, item) in entries(&mut document["paths"]) {
        for (method, operation) in entries(item) {
            parameters(operation);
            body(operation);
            binary(&mut operation["responses"]["200"]["content"]);
            errors(path, method, operation);
        }
    }
    document
}

fn entries(value: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    value.as_object_mut().into_iter().flatten()
}

/// Adds what the types do not express, and the schema of a new study.
fn schemas(schemas: &mut Value) {
    bound(schemas);
    for name in ["GiveOutcome", "Amend", "PastEpisode"] {
        for list in ["costs", "rewards"] {
            let values = &mut schemas[name]["properties"][list]["items"];
            values["minimum"] = json!(-1e100);
            values["maximum"] = json!(1e100);
        }
    }
    let mut problem: Value = serde_json::from_str(emab_problem::SCHEMA).unwrap_or_default();
    rename(&mut problem);
    for (name, schema) in problem["$defs"].take().as_object().into_iter().flatten() {
        // The others belong to models and simulations.
        if [
            "name", "names", "state", "states", "quantity", "mask", "range",
        ]
        .contains(&&**name)
        {
            schemas[component(name)] = schema.clone();
        }
    }
    // Arrays by step, state and action, and by feedback.
    unroll(schemas, "ProblemMask", 3);
    unroll(schemas, "ProblemQuantity", 4);
    let mut properties = problem["properties"].take();
    if let Some(properties) = properties.as_object_mut() {
        properties.remove("model");
        properties.remove("conditions");
    }
    properties["horizon"]["maximum"] = json!(MAX_STEPS);
    properties["learner"] = json!({"type": "string",
        "description": "The learner that recommends, as on the command line, such as `feedbal:width=sound`."});
    properties["shadow"] = json!({"type": "array", "items": {"type": "string"}, "maxItems": 16,
        "description": "Learners whose choices are recorded and not shown."});
    properties["missing_at_random"] = json!({"type": "boolean", "default": false,
        "description": "Whether missing outcomes are missing at random."});
    properties["outcome_range"] = properties["learning"]["properties"]["outcome_range"].clone();
    properties["expected_delay"] = json!({"type": "string", "pattern": "^[1-9][0-9]{0,2}[smhdw]$",
        "description": "When outcomes are expected, after the end of their episodes: a duration such as `30d` or `12h`."});
    let bounded = |schema| {
        let mut schema = serde_json::to_value(schema).unwrap_or_default();
        bound(&mut schema);
        schema
    };
    properties["protocol"] = bounded(Protocol::schema());
    properties["thresholds"] = bounded(Thresholds::schema());
    schemas[&*PolicyRow::name()] = bounded(PolicyRow::schema());
    schemas[&*Limits::name()] = bounded(Limits::schema());
    let mut required = problem["required"].take();
    if let Some(required) = required.as_array_mut() {
        required.push("learner".into());
    }
    schemas["NewStudy"] = json!({"type": "object", "additionalProperties": false, "required": required,
        "properties": properties, "description": "A problem file as JSON without `model`, with `learner`."});
}

/// Replaces a schema that contains arrays of itself by one for each depth of arrays: generators of clients do not read recursive ones.
fn unroll(schemas: &mut Value, name: &str, depth: usize) {
    let recursive = schemas[name].clone();
    for level in 0..=depth {
        let mut schema = recursive.clone();
        if let Some(choices) = schema["anyOf"].as_array_mut() {
            choices.retain(|choice| level > 0 || choice["type"] != "array");
            for array in choices.iter_mut().filter(|it| it["type"] == "array") {
                let inner = level.saturating_sub(1);
                array["items"]["$ref"] = json!(format!("#/components/schemas/{name}Depth{inner}"));
            }
        }
        match level == depth {
            true => schemas[name] = schema,
            false => schemas[format!("{name}Depth{level}")] = schema,
        }
    }
}

fn component(name: &str) -> String {
    let (first, rest) = name.split_at(1);
    format!("Problem{}{rest}", first.to_uppercase())
}

/// Calls `change` for every object in a value, from the outside in.
fn for_each_object(value: &mut Value, change: &impl Fn(&mut Map<String, Value>)) {
    match value {
        Value::Object(map) => {
            change(map);
            map.values_mut()
                .for_each(|value| for_each_object(value, change));
        }
        Value::Array(list) => list
            .iter_mut()
            .for_each(|value| for_each_object(value, change)),
        _ => {}
    }
}

/// Turns references to definitions of the problem schema into references to components.
fn rename(value: &mut Value) {
    for_each_object(value, &|map| {
        let to = map
            .get("$ref")
            .and_then(|to| to.as_str()?.strip_prefix("#/$defs/"));
        if let Some(name) = to {
            let to = format!("#/components/schemas/{}", component(name));
            map.insert("$ref".into(), to.into());
        }
    });
}

/// Sets the maximum of integers.
fn bound(value: &mut Value) {
    for_each_object(value, &|map| {
        let whole = |kind: &Value| kind == "integer" || kind[0] == "integer";
        if map.get("type").is_some_and(whole) && !map.contains_key("maximum") {
            map.insert("maximum".into(), json!(LenientU64::LARGEST));
        }
    });
}

/// Completes path parameters.
fn parameters(operation: &mut Value) {
    let parameters = operation["parameters"].as_array_mut();
    for parameter in parameters.into_iter().flatten() {
        bound(parameter);
        let (example, description) = match parameter["name"].as_str() {
            Some("study") => (json!("clinic"), "The name of the study"),
            Some("episode") => (json!("patient-1"), "The name of the episode"),
            Some("step") => (json!(1), "The step, from 1"),
            _ => continue,
        };
        parameter["example"] = example;
        parameter["description"] = json!(description);
        if parameter["schema"]["type"] == "string" {
            parameter["schema"]["pattern"] = json!(NAME);
        }
    }
    // Indexing has inserted a null.
    if operation["parameters"].is_null()
        && let Some(operation) = operation.as_object_mut()
    {
        operation.remove("parameters");
    }
}

/// A body is required unless it may be `null`.
fn body(operation: &mut Value) {
    let Some(body) = operation.get_mut("requestBody") else {
        return;
    };
    binary(&mut body["content"]);
    let mut contents = body["content"].as_object().into_iter().flatten();
    let nullable = contents.any(|(_, content)| !content["schema"]["oneOf"].is_null());
    body["required"] = json!(!nullable);
}

/// The schema of files.
fn binary(contents: &mut Value) {
    for (kind, content) in entries(contents) {
        if [PARQUET, FILE].contains(&kind.as_str()) {
            content["schema"] = json!({"type": "string", "format": "binary"});
        }
    }
}

/// Adds the error responses of a call.
fn errors(path: &str, method: &str, operation: &mut Value) {
    // Calls without a token only read.
    let open = operation.get("security").is_some();
    let writes = method != "get";
    let responses = &operation["responses"]["200"]["content"];
    let negotiated = responses["text/csv"].is_object();
    let cases: [(bool, &[u16]); 7] = [
        (true, &[400, 431]),
        (!open, &[401, 403, 429, 503]),
        (path == "/readyz", &[503]),
        (path.contains('{'), &[404]),
        (negotiated, &[406]),
        (writes, &[408, 409, 413, 415, 422]),
        (
            path.ends_with("/estimates") || path.ends_with("/evaluation"),
            &[422],
        ),
    ];
    let applicable = cases.into_iter().filter(|(applies, _)| *applies);
    for &status in applicable.flat_map(|(_, statuses)| statuses) {
        let kinds = KINDS.iter().filter(|(_, of, _)| *of == status);
        let titles: Vec<&str> = kinds.map(|(_, _, title)| *title).collect();
        let mut headers = Map::new();
        if [429, 503].contains(&status) {
            let seconds = json!({"description": "Seconds to wait before a retry",
                "schema": {"type": "integer", "minimum": 0}});
            headers.insert("Retry-After".into(), seconds);
        }
        if status == 401 {
            let scheme = json!({"schema": {"type": "string", "const": "Bearer"}});
            headers.insert("WWW-Authenticate".into(), scheme);
        }
        let reference = format!("#/components/schemas/{}", ApiError::name());
        operation["responses"][status.to_string()] = json!({
            "description": titles.join("; or: "),
            "headers": headers,
            "content": {"application/problem+json": {"schema": {"$ref": reference}}},
        });
    }
}
