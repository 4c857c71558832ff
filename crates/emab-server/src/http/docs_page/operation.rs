//! One operation: parameters, body, responses and an example.

use maud::{Markup, html};
use serde_json::Value;

use super::{Document, description, example, schema, slug, text};

const METHODS: [&str; 5] = ["get", "put", "post", "patch", "delete"];

/// A method on a path.
pub struct Operation<'a> {
    method: &'static str,
    path: &'a str,
    operation: &'a Value,
}

/// A tag of the document with its operations.
pub type Group<'a> = (&'a Value, Vec<Operation<'a>>);

/// All operations by their first tag, in the order of the document's tags.
pub fn groups(document: Document<'_>) -> Vec<Group<'_>> {
    let tags = document.0["tags"].as_array().into_iter().flatten();
    let mut groups: Vec<Group<'_>> = tags.map(|tag| (tag, Vec::new())).collect();
    for (path, item) in document.0["paths"].as_object().into_iter().flatten() {
        for (method, operation) in METHODS.iter().filter_map(|it| Some((it, item.get(it)?))) {
            let tag = &operation["tags"][0];
            if let Some((_, operations)) = groups.iter_mut().find(|(it, _)| it["name"] == *tag) {
                operations.push(Operation {
                    method,
                    path,
                    operation,
                });
            }
        }
    }
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
                    pre tabindex="0" { (self.request_example(document)) }
                    (self.response_example(document))
                }
            }
        }
    }

    fn parameters(&self, document: Document<'a>) -> Markup {
        let all = self.operation["parameters"].as_array();
        html! {
            @if let Some(all) = all {
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
        let body = &self.operation["requestBody"];
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
        if let Some((kind, media)) = first_content(&self.operation["requestBody"]) {
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
            let (kind, media) = first_content(response).filter(|_| status.starts_with('2'))?;
            Some((status, kind, example::of_media(document, media)?))
        });
        html! {
            @if let Some((status, kind, value)) = shown {
                h4 { "Response " small { (status) " · " (kind) } }
                pre tabindex="0" { (example::pretty(&value)) }
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
