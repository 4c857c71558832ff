//! An OpenAPI document as one page for people: no script, nothing from elsewhere, light or dark as the reader likes it.
//!
//! Any document will do. What it says is escaped, what it lacks is left out, what it refers to in circles is linked.

mod call;
mod example;
mod html;
mod json;
mod markdown;
mod reference;
mod schema;

use serde_json::Value;

use call::Call;
use html::{escape, slug};
use reference::Document;

const STYLE: &str = include_str!("docs_page/style.css");

/// What the page needs, as a `Content-Security-Policy`: its own style, and nothing else whatsoever.
pub const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
    base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The page of an OpenAPI 3.1 document.
pub fn page(openapi: &Value) -> String {
    let document = Document(openapi);
    let groups = call::groups(document);
    let title = openapi["info"]["title"].as_str().unwrap_or("Calls");
    let mut out = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n",
        escape(title)
    );
    out += &contents(document, &groups);
    out += "<main>\n";
    out += &head(openapi, title);
    for (tag, calls) in &groups {
        out += &group(document, tag, calls);
    }
    out += &schemas(document);
    out += "</main>\n</body>\n</html>\n";
    out
}

fn contents(document: Document<'_>, groups: &[(String, Vec<Call<'_>>)]) -> String {
    let mut out = String::from("<nav aria-label=\"Contents\">\n<a class=\"home\" href=\"#top\">");
    out += &escape(document.0["info"]["title"].as_str().unwrap_or("Calls"));
    out += "</a>\n";
    for (tag, calls) in groups {
        out += &format!(
            "<h2><a href=\"#tag-{}\">{}</a></h2>\n<ul>\n",
            slug(tag),
            escape(tag)
        );
        for call in calls {
            out += &format!(
                "<li><a href=\"#{}\">{}<span>{}</span></a></li>\n",
                call.anchor(),
                call.badge(),
                escape(call.title())
            );
        }
        out += "</ul>\n";
    }
    let names: Vec<&String> = document.schemas().map(|(name, _)| name).collect();
    if !names.is_empty() {
        out += "<h2><a href=\"#schemas\">Schemas</a></h2>\n<ul class=\"names\">\n";
        for name in names {
            out += &format!(
                "<li><a href=\"#schema-{}\">{}</a></li>\n",
                slug(name),
                escape(name)
            );
        }
        out += "</ul>\n";
    }
    out + "</nav>\n"
}

fn head(openapi: &Value, title: &str) -> String {
    let info = &openapi["info"];
    let mut out = format!("<header id=\"top\">\n<h1>{}</h1>\n", escape(title));
    let mut facts = Vec::new();
    if let Some(version) = info["version"].as_str() {
        facts.push(format!("version {}", escape(version)));
    }
    if let Some(licence) = info["license"]["name"].as_str() {
        facts.push(escape(licence));
    }
    for server in openapi["servers"].as_array().into_iter().flatten() {
        if let Some(url) = server["url"].as_str() {
            facts.push(format!("<code>{}</code>", escape(url)));
        }
    }
    if !facts.is_empty() {
        out += &format!("<p class=\"facts\">{}</p>\n", facts.join(" · "));
    }
    out += &markdown::render(info["description"].as_str().unwrap_or_default());
    let schemes = openapi["components"]["securitySchemes"].as_object();
    for (name, scheme) in schemes.into_iter().flatten() {
        let mut words = vec![format!("<b>{}</b>", escape(name))];
        for key in ["type", "scheme", "bearerFormat", "in", "name"] {
            words.extend(
                scheme[key]
                    .as_str()
                    .map(|word| format!("<code>{}</code>", escape(word))),
            );
        }
        out += &format!("<div class=\"scheme\"><p>{}</p>", words.join(" "));
        out += &markdown::render(scheme["description"].as_str().unwrap_or_default());
        out += "</div>\n";
    }
    out + "</header>\n"
}

fn group(document: Document<'_>, tag: &str, calls: &[Call<'_>]) -> String {
    let mut out = format!(
        "<section class=\"group\">\n<h2 id=\"tag-{}\">{}</h2>\n",
        slug(tag),
        escape(tag)
    );
    let about = document.0["tags"].as_array().into_iter().flatten();
    for about in about.filter(|about| about["name"] == *tag) {
        out += &markdown::render(about["description"].as_str().unwrap_or_default());
    }
    for call in calls {
        out += &call.render(document);
    }
    out + "</section>\n"
}

fn schemas(document: Document<'_>) -> String {
    let mut out = String::new();
    for (name, schema) in document.schemas() {
        out += &format!(
            "<article id=\"schema-{slug}\">\n<div class=\"text\">\n<h3><a href=\"#schema-{slug}\">{}</a></h3>\n{}</div>\n",
            escape(name),
            schema::block(document, schema),
            slug = slug(name),
        );
        if let Some(example) = example::of(document, schema).filter(|value| value.is_object()) {
            out += &format!(
                "<div class=\"code\">\n<h4>Example</h4>\n<pre>{}</pre>\n</div>\n",
                json::render(&example)
            );
        }
        out += "</article>\n";
    }
    if out.is_empty() {
        return out;
    }
    format!("<section class=\"group\">\n<h2 id=\"schemas\">Schemas</h2>\n{out}</section>\n")
}

#[cfg(test)]
mod tests;
