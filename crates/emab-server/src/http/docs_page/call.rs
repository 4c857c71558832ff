//! One call: what it takes, what it answers, and how it looks on the wire.

use serde_json::Value;

use super::html::{code, escape, slug};
use super::reference::Document;
use super::{example, json, markdown, schema};

const METHODS: [&str; 8] = [
    "get", "put", "post", "patch", "delete", "head", "options", "trace",
];

/// Calls without a tag.
const UNTAGGED: &str = "Calls";

/// A method on a path.
pub struct Call<'a> {
    method: &'static str,
    path: &'a str,
    item: &'a Value,
    operation: &'a Value,
}

/// All calls by their first tag: tags in the order in which the document lists them, then those it does not.
pub fn groups(document: Document<'_>) -> Vec<(String, Vec<Call<'_>>)> {
    let listed = document.0["tags"].as_array().into_iter().flatten();
    let listed = listed.filter_map(|tag| tag["name"].as_str());
    let mut groups: Vec<(String, Vec<Call<'_>>)> =
        listed.map(|tag| (tag.to_owned(), Vec::new())).collect();
    for (path, item) in document.0["paths"].as_object().into_iter().flatten() {
        let item = document.follow(item);
        for method in METHODS {
            let Some(operation) = item.get(method).filter(|operation| operation.is_object()) else {
                continue;
            };
            let call = Call {
                method,
                path,
                item,
                operation,
            };
            let tag = operation["tags"][0].as_str().unwrap_or(UNTAGGED);
            match groups.iter_mut().find(|(name, _)| name == tag) {
                Some((_, calls)) => calls.push(call),
                None => groups.push((tag.to_owned(), vec![call])),
            }
        }
    }
    groups.retain(|(_, calls)| !calls.is_empty());
    groups
}

impl<'a> Call<'a> {
    pub fn anchor(&self) -> String {
        let made = || format!("{}{}", self.method, self.path);
        let id = self.operation["operationId"]
            .as_str()
            .map_or_else(made, str::to_owned);
        format!("call-{}", slug(&id))
    }

    pub fn title(&self) -> &'a str {
        self.operation["summary"].as_str().unwrap_or(self.path)
    }

    pub fn badge(&self) -> String {
        format!(
            "<b class=\"method {}\">{}</b>",
            self.method,
            self.method.to_uppercase()
        )
    }

    pub fn render(&self, document: Document<'_>) -> String {
        let anchor = self.anchor();
        let mut out = format!("<article id=\"{anchor}\">\n<div class=\"text\">\n");
        out += &format!(
            "<h3><a href=\"#{anchor}\">{}</a></h3>\n",
            escape(self.title())
        );
        out += &format!(
            "<p class=\"path\">{}{}</p>\n",
            self.badge(),
            path(self.path)
        );
        if self.operation["deprecated"] == true {
            out += "<p><small class=\"mark\">deprecated</small></p>\n";
        }
        out += &markdown::render(self.operation["description"].as_str().unwrap_or_default());
        out += &self.parameters(document);
        out += &self.body(document);
        out += &self.responses(document);
        out += "</div>\n<div class=\"code\">\n";
        out += &self.request_example(document);
        out += &self.response_example(document);
        out + "</div>\n</article>\n"
    }

    /// Those of the path and those of the call; of two of one name and place, the call's.
    fn all_parameters(&self, document: Document<'a>) -> Vec<&'a Value> {
        let mut all: Vec<&Value> = Vec::new();
        for list in [&self.item["parameters"], &self.operation["parameters"]] {
            for parameter in list.as_array().into_iter().flatten() {
                let parameter = document.follow(parameter);
                all.retain(|other| {
                    (&other["name"], &other["in"]) != (&parameter["name"], &parameter["in"])
                });
                all.push(parameter);
            }
        }
        all
    }

    fn parameters(&self, document: Document<'a>) -> String {
        let all = self.all_parameters(document);
        if all.is_empty() {
            return String::new();
        }
        let mut out = String::from("<h4>Parameters</h4>\n<table>\n");
        for parameter in all {
            let name = parameter["name"].as_str().unwrap_or_default();
            let place = escape(parameter["in"].as_str().unwrap_or_default());
            out += &schema::row(
                &format!("{}<small>{place}</small>", code(name)),
                &schema::line(document, &parameter["schema"]),
                parameter["required"] == true,
                parameter["description"].as_str().unwrap_or_default(),
                "",
            );
        }
        out + "</table>\n"
    }

    fn request(&self, document: Document<'a>) -> &'a Value {
        document.follow(&self.operation["requestBody"])
    }

    fn body(&self, document: Document<'a>) -> String {
        let body = self.request(document);
        if !body.is_object() {
            return String::new();
        }
        let optional = if body["required"] == true {
            ""
        } else {
            "<small>optional</small>"
        };
        let mut out = format!("<h4>Body{optional}</h4>\n");
        out += &markdown::render(body["description"].as_str().unwrap_or_default());
        out + &contents(document, body)
    }

    fn responses(&self, document: Document<'a>) -> String {
        let Some(all) = self.operation["responses"].as_object() else {
            return String::new();
        };
        let mut out = String::from("<h4>Answers</h4>\n<table class=\"answers\">\n");
        for (status, response) in all {
            let response = document.follow(response);
            let class = match status.bytes().next() {
                Some(first @ b'1'..=b'5') => char::from(first),
                _ => 'x',
            };
            out += &format!(
                "<tr><th scope=\"row\"><b class=\"status s{class}\">{}</b></th><td>\n",
                escape(status)
            );
            out += &markdown::render(response["description"].as_str().unwrap_or_default());
            out += &contents(document, response);
            let headers = response["headers"].as_object();
            for (name, header) in headers.into_iter().flatten() {
                let header = document.follow(header);
                let about = markdown::inline(header["description"].as_str().unwrap_or_default());
                out += &format!("<p class=\"header\">{} {about}</p>\n", code(name));
            }
            out += "</td></tr>\n";
        }
        out + "</table>\n"
    }

    /// The call as one would type it.
    fn request_example(&self, document: Document<'a>) -> String {
        let server = document.0["servers"][0]["url"].as_str();
        let server = server
            .filter(|url| url.starts_with("http"))
            .unwrap_or("$SERVER");
        let mut query = Vec::new();
        for parameter in self.all_parameters(document) {
            if parameter["in"] == "query" && parameter["required"] == true {
                let name = parameter["name"].as_str().unwrap_or_default();
                query.push(format!("{name}={{{name}}}"));
            }
        }
        let query = if query.is_empty() {
            String::new()
        } else {
            format!("?{}", query.join("&"))
        };
        let method = match self.method {
            "get" => String::new(),
            other => format!("-X {} ", other.to_uppercase()),
        };
        let mut text = escape(&format!("curl {method}\"{server}{}{query}\"", self.path));
        let security = self
            .operation
            .get("security")
            .unwrap_or(&document.0["security"]);
        if security.as_array().is_some_and(|all| {
            all.iter()
                .any(|one| one.as_object().is_some_and(|one| !one.is_empty()))
        }) {
            text += &escape(" \\\n  -H \"Authorization: Bearer $TOKEN\"");
        }
        let content = self.request(document)["content"].as_object();
        if let Some((kind, media)) = content.and_then(|content| content.iter().next()) {
            text += &escape(&format!(" \\\n  -H \"Content-Type: {kind}\""));
            match example::of_media(document, media) {
                Some(Value::String(words)) => {
                    text += &format!(" \\\n  -d '{}'", shell(&escape(&words)))
                }
                Some(value) => text += &format!(" \\\n  -d '{}'", shell(&json::render(&value))),
                None => text += " \\\n  --data-binary @file",
            }
        }
        format!("<h4>Request</h4>\n<pre>{text}</pre>\n")
    }

    /// The answer when all is well.
    fn response_example(&self, document: Document<'a>) -> String {
        let all = self.operation["responses"].as_object();
        let mut good = all
            .into_iter()
            .flatten()
            .filter(|(status, _)| status.starts_with('2'));
        let shown = good.find_map(|(status, response)| {
            let content = document.follow(response)["content"].as_object()?;
            let (kind, media) = content.iter().next()?;
            let text = match example::of_media(document, media)? {
                Value::String(words) => escape(&words),
                value => json::render(&value),
            };
            let (status, kind) = (escape(status), escape(kind));
            Some(format!(
                "<h4>Answer <small>{status} · {kind}</small></h4>\n<pre>{text}</pre>\n"
            ))
        });
        shown.unwrap_or_default()
    }
}

/// Within single quotes of a shell, where the text is HTML already.
fn shell(html: &str) -> String {
    html.replace("&#39;", "&#39;\\&#39;&#39;")
}

/// The path with its variables marked.
fn path(path: &str) -> String {
    let html = escape(path).replace('{', "<i>{").replace('}', "}</i>");
    // Braces that do not match would leave a tag open.
    match html.matches("<i>").count() == html.matches("</i>").count() {
        true => format!("<code>{html}</code>"),
        false => code(path),
    }
}

/// What a body or an answer may be, by content type.
fn contents(document: Document<'_>, of: &Value) -> String {
    let mut out = String::new();
    for (kind, media) in of["content"].as_object().into_iter().flatten() {
        let schema = &media["schema"];
        let line = match schema {
            Value::Null => String::new(),
            schema => schema::line(document, schema),
        };
        out += &format!(
            "<p class=\"content\"><span class=\"type\">{line}</span><small>{}</small></p>\n",
            escape(kind)
        );
        out += &schema::inner(document, schema, 6);
    }
    out
}
