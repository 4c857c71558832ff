//! The documentation page: renders an OpenAPI document as HTML without scripts or external resources, light or dark. Its style is that of
//! all pages.
//!
//! All text is escaped, missing parts are left out, and circular references are linked.

mod example;
mod markdown;
mod operation;
mod schema;

use std::sync::LazyLock;

use axum::http::HeaderValue;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use sha2::{Digest, Sha256};

use operation::Group;

/// The `Content-Security-Policy` of a page with its style in it: that style and nothing else.
pub fn policy() -> HeaderValue {
    static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| {
        let hash = BASE64_STANDARD.encode(Sha256::digest(emab_report::STYLE));
        let policy = format!(
            "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'; \
             frame-ancestors 'none'"
        );
        HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
    });
    POLICY.clone()
}

/// The longest chain of references that is followed.
const MAX_REFERENCES: usize = 16;

#[derive(Clone, Copy)]
struct Document<'a>(&'a Value);

impl<'a> Document<'a> {
    /// The target of a reference, or the value itself.
    fn follow(self, mut value: &'a Value) -> &'a Value {
        for _ in 0..MAX_REFERENCES {
            let target = value["$ref"].as_str();
            let target = target.and_then(|link| self.0.pointer(link.strip_prefix('#')?));
            let Some(next) = target else { break };
            value = next;
        }
        value
    }

    fn schemas(self) -> impl Iterator<Item = (&'a String, &'a Value)> {
        let schemas = self.0["components"]["schemas"].as_object();
        schemas.into_iter().flatten()
    }

    /// The name of the schema that a reference leads to, if the page has it.
    fn schema_name(self, schema: &Value) -> Option<String> {
        let name = schema["$ref"].as_str()?;
        let name = name.strip_prefix("#/components/schemas/")?;
        let name = name.replace("~1", "/").replace("~0", "~");
        self.0["components"]["schemas"].get(&name).map(|_| name)
    }
}

/// The page of an OpenAPI 3.1 document.
pub fn page(openapi: &Value) -> String {
    let document = Document(openapi);
    let groups = operation::groups(document);
    let title = text(&openapi["info"]["title"], "Calls");
    let head = html! {
        link rel="icon" href="data:,";
        style { (PreEscaped(emab_report::STYLE)) }
    };
    let body = html! {
        body.docs {
            (contents(document, title, &groups))
            main {
                (header(openapi, title))
                @for (tag, operations) in &groups {
                    section.group {
                        @let name = text(&tag["name"], "");
                        h2 id={ "tag-" (slug(name)) } { (name) }
                        (description(tag))
                        @for operation in operations { (operation.render(document)) }
                    }
                }
                (schemas(document))
            }
        }
    };
    emab_report::html_page(title, &head, &body)
}

/// The type of a schema in one line of HTML, with links to the schemas of [`page`]; also for the reference of the documentation.
pub fn type_line(openapi: &Value, schema: &Value) -> String {
    schema::line(Document(openapi), schema).into_string()
}

fn text<'a>(value: &'a Value, default: &'a str) -> &'a str {
    value.as_str().unwrap_or(default)
}

fn description(value: &Value) -> Markup {
    markdown::render(text(&value["description"], ""))
}

/// A text as an anchor.
fn slug(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    text.chars()
        .map(|c| if plain(c) { c } else { '-' })
        .collect()
}

fn contents(document: Document<'_>, title: &str, groups: &[Group<'_>]) -> Markup {
    html! {
        nav aria-label="Contents" {
            a.home href="#top" { (title) }
            @for (tag, operations) in groups {
                @let name = text(&tag["name"], "");
                h2 { a href={ "#tag-" (slug(name)) } { (name) } }
                ul {
                    @for operation in operations {
                        li {
                            a href={ "#" (operation.anchor()) } {
                                (operation.badge()) span { (operation.title()) }
                            }
                        }
                    }
                }
            }
            h2 { a href="#schemas" { "Schemas" } }
            ul.names {
                @for (name, _) in document.schemas() {
                    li { a href={ "#schema-" (slug(name)) } { (name) } }
                }
            }
        }
    }
}

fn header(openapi: &Value, title: &str) -> Markup {
    let schemes = openapi["components"]["securitySchemes"].as_object();
    html! {
        header id="top" {
            h1 { (title) }
            @if let Some(version) = openapi["info"]["version"].as_str() {
                p.facts { "version " (version) }
            }
            (description(&openapi["info"]))
            @for (name, scheme) in schemes.into_iter().flatten() {
                div.scheme {
                    p {
                        b { (name) }
                        @for key in ["type", "scheme"] { " " code { (text(&scheme[key], "")) } }
                    }
                    (description(scheme))
                }
            }
        }
    }
}

fn schemas(document: Document<'_>) -> Markup {
    html! {
        section.group {
            h2 id="schemas" { "Schemas" }
            @for (name, schema) in document.schemas() {
                article id={ "schema-" (slug(name)) } {
                    div.text {
                        h3 { a href={ "#schema-" (slug(name)) } { (name) } }
                        (schema::block(document, schema))
                    }
                    @if let Some(example) = example::of(document, schema).filter(Value::is_object) {
                        div.code { h4 { "Example" } pre tabindex="0" { (example::pretty(&example)) } }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
