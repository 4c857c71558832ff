//! Forms: the fields that a page or a URL carries, and the parts of which forms are made.

use std::convert::Infallible;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use bytes::Bytes;
use emab_problem::hex;
use emab_report::inline;
use maud::{Markup, html};

use crate::http::auth::Caller;
use crate::http::body::bytes_of_any_type;
use crate::http::error::ApiError;

/// The fields of a form or a query, in their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(Vec<(String, String)>);

impl Fields {
    /// Parses `application/x-www-form-urlencoded`.
    pub fn parse(text: &[u8]) -> Fields {
        let pairs = form_urlencoded::parse(text).into_owned();
        let pairs = pairs.map(|(name, value)| (name, unix_lines(&value)));
        Fields(pairs.collect())
    }

    /// Parses `multipart/form-data`, the type of forms with files. A file is a field with its text; bytes that are not UTF-8
    /// become U+FFFD, as in the other type.
    async fn parse_multipart(boundary: String, bytes: Bytes) -> Result<Fields, ApiError> {
        let too_many = || ApiError::too_large(format!("a form has at most {MAX_FIELDS} fields"));
        let wrong =
            |error: multer::Error| ApiError::malformed(format!("the form cannot be read: {error}"));
        let body = tokio_stream::once(Ok::<_, Infallible>(bytes));
        let mut parts = multer::Multipart::new(body, boundary);
        let mut fields = Fields::default();
        while let Some(part) = parts.next_field().await.map_err(wrong)? {
            let name = part.name().unwrap_or_default().to_owned();
            let bytes = part.bytes().await.map_err(wrong)?;
            fields.push(name, unix_lines(&String::from_utf8_lossy(&bytes)));
            if fields.0.len() > MAX_FIELDS {
                return Err(too_many());
            }
        }
        Ok(fields)
    }

    /// The value of a field without spaces at its ends; empty if it is missing.
    pub fn get(&self, name: &str) -> &str {
        self.get_untrimmed(name).trim()
    }

    /// The value of a field as it was sent; empty if it is missing.
    pub fn get_untrimmed(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(field, _)| field == name);
        found.map_or("", |(_, value)| value)
    }

    /// The value of a field, if it is not empty.
    pub fn given(&self, name: &str) -> Option<String> {
        Some(self.get(name))
            .filter(|it| !it.is_empty())
            .map(Into::into)
    }

    /// The value that a field showed, if the form tells it.
    pub fn was(&self, name: &str) -> Option<&str> {
        let mut fields = self.0.iter();
        let found = fields.find(|(field, _)| field.strip_prefix(WAS) == Some(name));
        found.map(|(_, value)| value.trim())
    }

    /// Whether a box was ticked.
    pub fn ticked(&self, name: &str) -> bool {
        !self.get(name).is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    pub fn push(&mut self, name: impl Into<String>, value: impl Into<String>) {
        self.0.push((name.into(), value.into()));
    }
}

/// Browsers send CR LF for a new line.
fn unix_lines(text: &str) -> String {
    text.replace("\r\n", "\n")
}

/// The largest number of fields of a form.
const MAX_FIELDS: usize = 5_000;

/// The largest form that is kept for a person whose session has ended, in bytes and in fields.
pub const MAX_KEPT: (usize, usize) = (128 << 10, 200);

/// The largest form of a route, in bytes, as a request extension, for those who may create studies.
#[derive(Clone, Copy, Debug)]
pub struct FormLimit(pub usize);

/// The fields of a form of at most this many bytes.
pub async fn read_form(max: usize, headers: &HeaderMap, body: Body) -> Result<Fields, ApiError> {
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let boundary = multer::parse_boundary(kind).ok();
    let is_form = boundary.is_some() || kind.starts_with("application/x-www-form-urlencoded");
    if !is_form || headers.contains_key(header::CONTENT_ENCODING) {
        let what = "a form is `application/x-www-form-urlencoded` or `multipart/form-data`, without an encoding";
        return Err(ApiError::media_type(what));
    }
    let bytes = bytes_of_any_type(headers, body, max).await?;
    if let Some(boundary) = boundary {
        return Fields::parse_multipart(boundary, bytes).await;
    }
    if bytes.iter().filter(|byte| **byte == b'&').count() >= MAX_FIELDS {
        let what = format!("a form has at most {MAX_FIELDS} fields");
        return Err(ApiError::too_large(what));
    }
    Ok(Fields::parse(&bytes))
}

/// The name of the field with the id of a request.
pub const REQUEST: &str = "request";
/// The name of the field with the id of the token of the person to whom a form was shown.
pub const SHOWN_TO: &str = "shown-to";
/// The prefix of the name of a field with the value that another field showed.
const WAS: &str = "was-";

/// Whether people do not see a field.
pub fn is_hidden(name: &str) -> bool {
    [REQUEST, SHOWN_TO].contains(&name) || name.starts_with(WAS)
}

/// Hidden fields of a form that submits a command: who sees it, and a new id, so that a form that is sent twice is one request.
pub fn request_id(caller: &Caller) -> Markup {
    let mut bytes = [0; 16];
    let id = getrandom::fill(&mut bytes).is_ok().then(|| hex(&bytes));
    html! {
        (shown_to(caller))
        @if let Some(id) = id { input type="hidden" name=(REQUEST) value=(id); }
    }
}

/// A hidden field: after the end of the session the form is shown to this person only.
pub fn shown_to(caller: &Caller) -> Markup {
    html! { input type="hidden" name=(SHOWN_TO) value=(caller.id()); }
}

/// A hidden field with the value that another field shows: the form then tells what its sender has changed.
pub fn was(name: &str, value: &str) -> Markup {
    html! { input type="hidden" name={ (WAS) (name) } value=(value); }
}

/// A number with a point or a comma before its fraction.
pub fn number(text: &str) -> Option<f64> {
    let text = text.replace('\u{2212}', "-");
    let text = match (text.matches(',').count(), text.contains('.')) {
        (1, false) => text.replace(',', "."),
        _ => text,
    };
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// Whether another input may be accepted: the form is shown again.
pub fn is_rejection(error: &ApiError) -> bool {
    matches!(error.status, 400 | 409 | 422)
}

/// A form as it was typed, and why it was rejected.
#[derive(Clone, Copy, Debug)]
pub struct Rejected<'a> {
    /// The form, by its address.
    pub form: &'a str,
    pub typed: &'a Fields,
    pub error: &'a ApiError,
}

/// What a form shows in its fields: the values that were typed if it was rejected, or else the given ones.
#[derive(Clone, Copy, Debug)]
pub struct Values<'a>(pub Option<Rejected<'a>>);

impl<'a> Values<'a> {
    /// The values of one form.
    pub fn of(rejected: Option<Rejected<'a>>, form: &str) -> Values<'a> {
        Values(rejected.filter(|it| it.form == form))
    }

    pub fn or(&self, name: &str, value: &'a str) -> &'a str {
        self.0.map_or(value, |it| it.typed.get(name))
    }

    pub fn get(&self, name: &str) -> &'a str {
        self.or(name, "")
    }

    /// The value of a field that shows a known one: what was typed if it was changed, or else the known one, which may be newer.
    pub fn changed_or(&self, name: &str, known: &'a str) -> &'a str {
        let typed = self.0.map(|it| (it.typed.get(name), it.typed.was(name)));
        match typed {
            Some((typed, was)) if was != Some(typed) => typed,
            _ => known,
        }
    }

    pub fn ticked(&self, name: &str) -> bool {
        self.0.is_some_and(|it| it.typed.ticked(name))
    }

    /// Whether the form was rejected.
    pub fn rejected(&self) -> bool {
        self.0.is_some()
    }
}

/// A text field with its label; `hint` describes what is expected.
pub fn text_field(
    (id, name): (&str, &str),
    label: &str,
    value: &str,
    hint: Option<&str>,
    required: bool,
) -> Markup {
    let hint_id = format!("{id}-hint");
    html! {
        div.field {
            label for=(id) { (label) }
            @if let Some(hint) = hint { p.hint id=(hint_id) { (inline(hint)) } }
            input type="text" id=(id) name=(name) value=(value) autocomplete="off"
                aria-describedby=[hint.map(|_| &hint_id)] required[required];
        }
    }
}

/// The largest numbers of options that are shown as boxes, and in a list. With more, the name is typed.
const BOXES: usize = 8;
const LIST: usize = 300;

/// A choice of one name.
pub fn choose(
    (id, name): (&str, &str),
    legend: &str,
    options: impl ExactSizeIterator<Item = String>,
    chosen: &str,
) -> Markup {
    if options.len() > LIST {
        return text_field((id, name), legend, chosen, None, true);
    }
    if options.len() > BOXES {
        return html! {
            div.field {
                label for=(id) { (legend) }
                select id=(id) name=(name) required {
                    @if chosen.is_empty() { option value="" { "Choose one" } }
                    @for option in options { option value=(option) selected[option == chosen] { (option) } }
                }
            }
        };
    }
    html! {
        fieldset {
            legend { (legend) }
            @for (i, option) in options.enumerate() {
                @let box_id = format!("{id}-{i}");
                div.choice {
                    input type="radio" id=(box_id) name=(name) value=(option) checked[option == chosen] required;
                    label for=(box_id) { bdi { (option) } }
                }
            }
        }
    }
}

/// A box to tick.
pub fn tick_box((id, name): (&str, &str), label: &str, ticked: bool) -> Markup {
    html! {
        div.choice {
            input type="checkbox" id=(id) name=(name) value="yes" checked[ticked];
            label for=(id) { (label) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_fields_of_any_bytes() {
        let fields = Fields::parse(b"a=1+2&b=%C3%A9%0D%0A&a=3&=&c&%FF=%FF");
        assert_eq!(fields.get("a"), "1 2");
        assert_eq!(fields.get("b"), "é");
        assert_eq!((fields.get("c"), fields.given("c")), ("", None));
        assert!(fields.ticked("a") && !fields.ticked("z"));
    }

    #[tokio::test]
    async fn reads_forms_with_files() {
        let read = |kind: &str, body: &'static [u8]| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_TYPE, kind.parse().unwrap());
            async move { read_form(200, &headers, Body::from(body)).await }
        };
        let kind = "multipart/form-data; boundary=x";
        let body = b"--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n b \r\n\
            --x\r\nContent-Disposition: form-data; name=\"f\"; filename=\"\"\r\n\r\n1\r\n\xff\r\n--x--\r\n";
        let fields = read(kind, body).await.unwrap();
        assert_eq!((fields.get("a"), fields.get_untrimmed("a")), ("b", " b "));
        assert_eq!(fields.get("f"), "1\n\u{fffd}");
        for wrong in [&b""[..], b"a=1", b"--x\r\n", &body[..60]] {
            assert_eq!(
                read(kind, wrong).await.unwrap_err().status,
                400,
                "{wrong:?}"
            );
        }
        assert_eq!(read(kind, &[0; 201]).await.unwrap_err().status, 413);
        let plain = read("application/x-www-form-urlencoded", b"a=1")
            .await
            .unwrap();
        assert_eq!(plain.get("a"), "1");
    }

    #[test]
    fn numbers_have_a_point_or_a_comma() {
        for (text, value) in [("0.5", 0.5), ("0,5", 0.5), ("−1", -1.0), ("1e-3", 0.001)] {
            assert_eq!(number(text), Some(value), "{text}");
        }
        for text in ["", "abc", "1,234.5", "1,2,3", "inf", "NaN", "1e999"] {
            assert_eq!(number(text), None, "{text}");
        }
    }
}
