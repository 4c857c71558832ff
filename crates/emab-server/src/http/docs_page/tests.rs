//! The page shows the document, and no text in a document becomes markup.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn sample() -> Value {
    let mut document = crate::http::document();
    let tell = &mut document["paths"]["/v1/studies/{study}/episodes/{episode}:tell"]["post"];
    tell["requestBody"]["content"]["application/json"]["example"] = json!("patient's wish");
    document
}

#[track_caller]
fn has(page: &str, text: &str) {
    assert!(page.contains(text), "{text:?} is not in\n{page}");
}

/// Every tag that is opened is closed, in order.
fn balanced(page: &str) {
    let mut open = Vec::new();
    for part in page.split('<').skip(1) {
        let tag = part.split(['>', ' ']).next().unwrap();
        if let Some(tag) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(tag), "{part}");
        } else if !["!DOCTYPE", "meta", "link"].contains(&tag) {
            open.push(tag);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn shows_every_part_of_a_document() {
    let page = page(&sample());
    for text in [
        "<title>emab decision service</title>",
        concat!("version ", env!("CARGO_PKG_VERSION")),
        "<h2 id=\"tag-studies\">studies</h2>",
        "<article id=\"call-openEpisode\">",
        "<b class=\"method post\">POST</b><code>/v1/studies/{study}/episodes</code>",
        "<a href=\"#schema-Decision\">Decision</a>",
        "<article id=\"schema-Decision\">",
        "<code>study</code><small>path</small></th>",
        "<small class=\"must\">required</small>",
        "<b class=\"status s4\">409</b>",
        "<small>≥ 0</small>",
        "<small>1 to 2000 characters</small>",
        // As a shell must have it within single quotes.
        "patient'\\''s wish",
        "array of number",
        "Authorization: Bearer $TOKEN",
        "&quot;reason&quot;",
        "<code>&quot;open&quot;</code> <code>&quot;stopped&quot;</code>",
    ] {
        has(&page, text);
    }
    balanced(&page);
    // Every link has a target.
    for link in page.split("href=\"#").skip(1) {
        let anchor = link.split('"').next().unwrap();
        has(&page, &format!("id=\"{anchor}\""));
    }
    // Nothing is fetched.
    for word in ["<script", "http-equiv", " src=", "url(", "@import"] {
        assert!(!page.contains(word), "{word}");
    }
}

#[test]
fn groups_operations_by_tag() {
    let page = page(&json!({
        "tags": [{"name": "second", "description": "About it."}, {"name": "first"}],
        "paths": {"/a": {"get": {"tags": ["first"]}, "delete": {"tags": ["second"], "summary": "Bare"}}},
    }));
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}"));
    assert!(at("<h2 id=\"tag-second\"") < at("<h2 id=\"tag-first\""));
    has(&page, "<p>About it.</p>");
    balanced(&page);
}

#[test]
fn ends_at_circular_references() {
    let page = page(&json!({
        "tags": [{"name": "t"}],
        "paths": {"/a": {"post": {
            "tags": ["t"], "responses": {"200": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Tree"}}}}},
        }}},
        "components": {
            "schemas": {
                "Tree": {"type": "object", "properties": {
                    "left": {"$ref": "#/components/schemas/Tree"},
                    "right": {"anyOf": [{"$ref": "#/components/schemas/Tree"}, {"type": "null"}]},
                    "nowhere": {"$ref": "#/components/schemas/None"},
                }},
                "Self": {"$ref": "#/components/schemas/Self"},
            },
        },
    }));
    has(&page, "<a href=\"#schema-Tree\">Tree</a> or null");
    balanced(&page);
}

#[test]
fn escapes_all_text_of_a_document() {
    // Adds markup to every string of the sample, names and values.
    fn spoil(value: &Value) -> Value {
        const NASTY: &str = "\"'><script>alert(1)</script>&{";
        match value {
            Value::String(text) if text.starts_with("#/") => value.clone(),
            Value::String(text) => format!("{text}{NASTY}").into(),
            Value::Array(list) => list.iter().map(spoil).collect(),
            Value::Object(map) => {
                let known = ["get", "put", "post", "type", "schemas"];
                let mut out: serde_json::Map<_, _> = map
                    .iter()
                    .map(|(key, item)| (key.clone(), spoil(item)))
                    .collect();
                for (key, item) in map.iter().filter(|(key, _)| !known.contains(&key.as_str())) {
                    out.insert(format!("{key}{NASTY}"), spoil(item));
                }
                Value::Object(out)
            }
            other => other.clone(),
        }
    }
    let page = page(&spoil(&sample()));
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script"));
    balanced(&page);
}

fn any_json() -> impl Strategy<Value = Value> {
    let words = "paths,/a,get,post,parameters,requestBody,content,schema,properties,items,type,object,array,oneOf,allOf,\
        required,enum,example,examples,$ref,#/paths,#,tags,info,title,description,components,schemas,responses,200,\
        headers,additionalProperties,*a `b,- [c](d,prefixItems,security,é<";
    let words = prop::sample::select(words.split(',').collect::<Vec<_>>());
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        words.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(7, 200, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(words.clone().prop_map(String::from), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn renders_any_document(info in any_json(), call in any_json(), body in any_json(), schema in any_json()) {
        let document = json!({
            "info": info,
            "tags": [{"name": "t"}, call],
            "paths": {"/a": {"get": call, "post": {"tags": ["t"], "requestBody": body, "responses": {"200": body}, "parameters": [schema]}}},
            "components": {"schemas": {"S": schema, "T": {"properties": schema, "allOf": [schema]}}},
        });
        balanced(&page(&document));
        balanced(&page(&document["info"]));
    }
}
