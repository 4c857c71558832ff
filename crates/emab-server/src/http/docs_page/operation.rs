//! One operation: parameters, body, responses and an example.

use maud::{Markup, html};
use serde_json::Value;

use super::{Document, description, example, schema, slug, text};

const METHODS: [&str; 5] = ["get", "put", "post", "patch", "delete"];

/// The group of operations without a tag.
const UNTAGGED: &str = "Calls";

/// A method on a path.
pub struct Operation<'a> {
    method: &'static str,
    path: &'a str,
    item: &'a Value,
    operation: &'a Value,
}

/// All operations by their first tag, in the order of the document's tags.
pub fn groups(document: Document<'_>) -> Vec<(String, Vec<Operation<'_>>)> {
    let listed = document.0["tags"].as_array().into_iter().flatten();
    let listed = listed.filter_map(|tag| tag["name"].as_str());
    let mut groups: Vec<(String, Vec<Operation<'_>>)> =
        listed.map(|tag| (tag.to_owned(), Vec::new())).collect();
    for (path, item) in document.0["paths"].as_object().into_iter().flatten() {
        let item = document.follow(item);
        for method in METHODS {
            let Some(operation) = item.get(method).filter(|operation| operation.is_object()) else {
                continue;
            };
            let call = Operation {
                method,
                path,
                item,
                operation,
            };
            let tag = text(&operation["tags"][0], UNTAGGED);
            match groups.iter_mut().find(|(name, _)| name == tag) {
                Some((_, operations)) => operations.push(call),
                None => groups.push((tag.to_owned(), vec![call])),
            }
        }
    }
    groups.retain(|(_, operations)| !operations.is_empty());
    groups
}

impl<'a> Operation<'a> {
    pub fn anchor(&self) -> String {
        let generated = format!("{}{}", self.method, self.path);
        let id = text(&self.operation["operationId"], &generated);
        format!("call-{}", slug(id))
    }

    pub fn title(&self) -> &str {
        text(&self.operation["summary"], self.path)
    }

    pub fn badge(&self) -> Markup {
        html! { b class={ "method " (self.method) } { (self.method.to_uppercase()) } }
    }

    pub fn render(&self, document: Document<'a>) -> Markup {
        html! {
            article id=(self.anchor()) {
                div.text {
                    h3 { a href={ "#" (self.anchor()) } { (self.title()) } }
                    p.path { (self.badge()) code { (self.path) } }
                    (description(self.operation))
                    (self.parameters(document))
                    (self.body(document))
                    (self.responses(document))
                }
                div.code {
                    h4 { "Request" }
                    pre { (self.request_example(document)) }
                    (self.response_example(document))
                }
            }
        }
    }

    /// The parameters of the path and of the operation, which take precedence.
    fn all_parameters(&self, document: Document<'a>) -> Vec<&'a Value> {
        let mut all: Vec<&Value> = Vec::new();
        for list in [&self.item["parameters"], &self.operation["parameters"]] {
            for parameter in list.as_array().into_iter().flatten() {
                let parameter = document.follow(parameter);
                let key = |it: &Value| (it["name"].clone(), it["in"].clone());
                all.retain(|other| key(other) != key(parameter));
                all.push(parameter);
            }
        }
        all
    }

    fn parameters(&self, document: Document<'a>) -> Markup {
        let all = self.all_parameters(document);
        html! {
            @if !all.is_empty() {
                h4 { "Parameters" }
                table {
                    @for parameter in all {
                        @let name = html! {
                            code { (text(&parameter["name"], "")) } small { (text(&parameter["in"], "")) }
                        };
                        @let kind = schema::line(document, &parameter["schema"]);
                        (schema::row(name, kind, parameter["required"] == true, parameter, html! {}))
                    }
                }
            }
        }
    }

    fn body(&self, document: Document<'_>) -> Markup {
        let body = document.follow(&self.operation["requestBody"]);
        html! {
            @if body.is_object() {
                h4 { "Body" @if body["required"] != true { small { "optional" } } }
                (description(body))
                (contents(document, body))
            }
        }
    }

    fn responses(&self, document: Document<'_>) -> Markup {
        let all = self.operation["responses"].as_object();
        let class = |status: &str| status.chars().next().filter(char::is_ascii_digit);
        html! {
            h4 { "Responses" }
            table.answers {
                @for (status, response) in all.into_iter().flatten() {
                    @let response = document.follow(response);
                    tr {
                        th scope="row" {
                            b class={ "status s" (class(status).unwrap_or('x')) } { (status) }
                        }
                        td {
                            (description(response))
                            (contents(document, response))
                            @for (name, header) in response["headers"].as_object().into_iter().flatten() {
                                div.header { code { (name) } (description(header)) }
                            }
                        }
                    }
                }
            }
        }
    }

    /// The request as a `curl` command.
    fn request_example(&self, document: Document<'_>) -> String {
        let method = match self.method {
            "get" => String::new(),
            other => format!("-X {} ", other.to_uppercase()),
        };
        let mut command = format!("curl {method}\"$SERVER{}\"", self.path);
        let security = self.operation.get("security");
        let security = security.unwrap_or(&document.0["security"]).as_array();
        let needs_token = |one: &Value| one.as_object().is_some_and(|one| !one.is_empty());
        if security.is_some_and(|all| all.iter().any(needs_token)) {
            command += " \\\n  -H \"Authorization: Bearer $TOKEN\"";
        }
        let body = document.follow(&self.operation["requestBody"]);
        if let Some((kind, media)) = first_content(body) {
            command += &format!(" \\\n  -H \"Content-Type: {kind}\"");
            command += &match example::of_media(document, media) {
                Some(value) => {
                    let quoted = example::pretty(&value).replace('\'', "'\\''");
                    format!(" \\\n  -d '{quoted}'")
                }
                None => " \\\n  --data-binary @file".into(),
            };
        }
        command
    }

    /// The body of a successful response.
    fn response_example(&self, document: Document<'_>) -> Markup {
        let all = self.operation["responses"].as_object();
        let mut good = all.into_iter().flatten();
        let shown = good.find_map(|(status, response)| {
            let response = document.follow(response);
            let (kind, media) = first_content(response).filter(|_| status.starts_with('2'))?;
            Some((status, kind, example::of_media(document, media)?))
        });
        html! {
            @if let Some((status, kind, value)) = shown {
                h4 { "Response " small { (status) " · " (kind) } }
                pre { (example::pretty(&value)) }
            }
        }
    }
}

/// The first content type of a body or response.
fn first_content(of: &Value) -> Option<(&String, &Value)> {
    of["content"].as_object()?.iter().next()
}

/// The schemas of a body or response, by content type.
fn contents(document: Document<'_>, of: &Value) -> Markup {
    html! {
        @for (kind, media) in of["content"].as_object().into_iter().flatten() {
            p.content {
                span.type { @if !media["schema"].is_null() { (schema::line(document, &media["schema"])) } }
                small { (kind) }
            }
            (schema::inner(document, &media["schema"], schema::DEPTH))
        }
    }
}
