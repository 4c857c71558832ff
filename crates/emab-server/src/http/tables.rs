//! Tables: which form a caller asks for, and the calls for decisions and the codebook.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::App;
use super::call::{Call, Number};
use super::error::ApiError;
use super::response::{ApiResult, json, typed};
use super::studies::Page;
use crate::app::head;
use crate::app::tables::{self as app_tables, EpisodeReader, Format, Rows, Table};
use crate::domain::Rejection;
use crate::domain::json::short;
use crate::domain::tables::{self, CodebookRow, Column, DecisionRow, JsonRow};
use crate::tokens::Permission;

const CSV: &str = "text/csv";
pub const PARQUET: &str = "application/vnd.apache.parquet";

/// The form of an answer, in a query: for browsers, which do not set `Accept`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Form {
    /// A page as JSON.
    Json,
    /// A table as comma-separated values.
    Csv,
    /// A table as a Parquet file.
    Parquet,
}

impl Form {
    /// The media type, and the types that accept it.
    fn media(self) -> (&'static str, [&'static str; 3]) {
        match self {
            Form::Json => (
                "application/json",
                ["application/json", "application/*", "*/*"],
            ),
            Form::Csv => (CSV, [CSV, "text/*", "*/*"]),
            Form::Parquet => (PARQUET, [PARQUET, "application/*", "*/*"]),
        }
    }

    /// The form of a table; none for JSON.
    pub fn table(self) -> Option<Format> {
        match self {
            Form::Json => None,
            Form::Csv => Some(Format::Csv),
            Form::Parquet => Some(Format::Parquet),
        }
    }

    /// The form that a request asks for: the one in its query, or the one that `Accept` prefers, of equal ones the first.
    pub fn asked(given: Option<Form>, headers: &HeaderMap) -> Result<Form, ApiError> {
        if let Some(form) = given {
            return Ok(form);
        }
        let texts = headers.get_all(header::ACCEPT).iter();
        let texts: Vec<&str> = texts.filter_map(|text| text.to_str().ok()).collect();
        let accept = texts.join(",");
        if accept.trim().is_empty() {
            return Ok(Form::Json);
        }
        let mut best: Option<(Form, u16)> = None;
        for form in [Form::Json, Form::Csv, Form::Parquet] {
            let quality = quality(&accept, form.media().1);
            if quality > best.map_or(0, |(_, quality)| quality) {
                best = Some((form, quality));
            }
        }
        best.map(|(form, _)| form).ok_or_else(|| {
            let accept = short(&accept);
            ApiError::not_acceptable(format!(
                "`Accept` is `{accept}`; this call answers with `application/json`, `{CSV}` or `{PARQUET}`"
            ))
        })
    }
}

/// The quality of a media type in `Accept`, in thousandths, by the most specific of the ranges that include it (RFC 9110, section 12.5.1).
fn quality(accept: &str, ranges: [&str; 3]) -> u16 {
    let mut found = None;
    for part in accept.split(',') {
        let mut fields = part.split(';').map(str::trim);
        let range = fields.next().unwrap_or("");
        let place = ranges.iter().position(|it| range.eq_ignore_ascii_case(it));
        let quality = fields.find_map(|field| {
            let (name, value) = field.split_once('=')?;
            name.trim()
                .eq_ignore_ascii_case("q")
                .then_some(value.trim())
        });
        let quality = match quality.map(str::parse::<f64>) {
            None => 1.0,
            Some(Ok(value)) if (0.0..=1.0).contains(&value) => value,
            // A malformed quality accepts nothing.
            Some(_) => 0.0,
        };
        let quality = (quality * 1000.0) as u16;
        if let Some(place) = place
            && found
                .is_none_or(|(before, best)| place < before || (place == before && quality > best))
        {
            found = Some((place, quality));
        }
    }
    found.map_or(0, |(_, quality)| quality)
}

/// A table as a file, as of an event.
pub fn table_response(
    (study, table): (&str, Table),
    format: Format,
    as_of: Option<(u64, &str)>,
    body: impl Into<Body>,
) -> Response<Body> {
    let (kind, ending) = match format {
        Format::Csv => ("text/csv; charset=utf-8", "csv"),
        Format::Parquet => (PARQUET, "parquet"),
    };
    let mut response = typed(StatusCode::OK, kind, body);
    let headers = response.headers_mut();
    let name = match study {
        "" => table.name().to_owned(),
        study => format!("{study}-{}", table.name()),
    };
    let file = format!("attachment; filename=\"{name}.{ending}\"");
    if let Ok(file) = HeaderValue::from_str(&file) {
        headers.insert(header::CONTENT_DISPOSITION, file);
    }
    if let Some((seq, hash)) = as_of {
        set_head(headers, seq, hash);
    }
    response
}

/// States the last event that an answer includes; an empty hash is left out.
pub fn set_head(headers: &mut HeaderMap, seq: u64, hash: &str) {
    headers.insert("emab-seq", HeaderValue::from(seq));
    if let Ok(hash) = HeaderValue::from_str(hash)
        && !hash.is_empty()
    {
        headers.insert("emab-hash", hash);
    }
}

/// Streams the table of episodes, or of their decisions.
pub async fn episode_table(
    app: &App,
    (study, table): (&str, Table),
    format: Format,
    rows: Rows,
) -> ApiResult {
    let blinded = rows.blinded;
    let decisions = table == Table::Decisions;
    let read = app.service.episode_table(study, decisions, format, rows);
    let (head, stream) = read.await?;
    // A hash would let a blinded caller test guesses.
    let hash = if blinded { "" } else { head.hash.as_str() };
    let body = Body::from_stream(stream);
    let as_of = Some((head.seq, hash));
    Ok(table_response((study, table), format, as_of, body))
}

/// Which decisions to read.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct DecisionFilter {
    /// Start after the episode with this name.
    #[serde(default)]
    #[param(value_type = Option<String>, pattern = "^([A-Za-z0-9][A-Za-z0-9._-]{0,127})?$")]
    after: String,
    /// The number of rows, up to 1000: the answer ends with the episode that reaches it. As JSON 100 if left out; a table then has all rows.
    #[param(value_type = Option<u64>, minimum = 1, maximum = 1000)]
    limit: Option<Number>,
    /// The form, instead of `Accept`.
    #[param(inline)]
    format: Option<Form>,
}

/// Decisions with what was done.
#[derive(Serialize, ToSchema)]
pub struct DecisionList {
    /// One row per step that an episode has reached, in the order of episodes and steps.
    #[schema(value_type = Vec<DecisionRowView>)]
    pub decisions: Vec<Box<RawValue>>,
    /// The value of `after` for the next page, if there is one.
    pub next: Option<String>,
}

/// Columns of a table as a schema.
macro_rules! row_schema {
    ($name:ident, $columns:expr, $about:literal) => {
        pub struct $name;

        impl ToSchema for $name {}

        impl PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                let schema = tables::schema($columns, $about);
                serde_json::from_value(schema).map_or_else(
                    |_| utoipa::openapi::Object::new().into(),
                    utoipa::openapi::RefOr::T,
                )
            }
        }
    };
}

row_schema!(
    DecisionRowView,
    tables::DECISIONS,
    "A step of an episode: the decision, and what was done. What a `blinded` token does not see is `null`."
);
row_schema!(CodebookRowView, tables::CODEBOOK, "A column of a table.");

fn json_rows<R>(
    columns: &[Column<R>],
    rows: &[R],
    blinded: bool,
) -> Result<Vec<Box<RawValue>>, Rejection> {
    let rows = rows.iter().map(|row| {
        let row = JsonRow {
            columns,
            row,
            blinded,
        };
        to_raw_value(&row).map_err(|error| Rejection::internal(error.to_string()))
    });
    rows.collect()
}

/// Read the decisions of a study
///
/// One row per step that an episode has reached: the state, the recommended action and its estimates, what was done and observed, the
/// cost and the terminal reward, and the status of the episode. In the order of episodes and steps; imported episodes have rows without a
/// recommendation. As JSON a page; with `Accept: text/csv` or `application/vnd.apache.parquet` a table of one moment, whose last
/// event the headers `emab-seq` and `emab-hash` state. `GET /v1/codebook` describes the columns.
#[utoipa::path(get, operation_id = "readDecisions", path = "/v1/studies/{study}/decisions", tag = "episodes",
    params(("study" = String, Path), DecisionFilter),
    responses((status = 200, description = "The decisions", content(
        (DecisionList = "application/json"), (String = "text/csv"), (Vec<u8> = "application/vnd.apache.parquet")))))]
pub async fn decisions(call: Call<String, DecisionFilter>) -> ApiResult {
    call.may(Permission::ReadEpisode)?;
    let form = Form::asked(call.query.format, &call.headers)?;
    let query = &call.query;
    let page = Page {
        after: query.after.clone(),
        limit: query.limit.clone(),
    };
    let blinded = call.caller.is_blinded();
    let (limit, after) = (page.limit()?, page.after()?.to_owned());
    let rows = Rows {
        after,
        limit: query.limit.is_some().then_some(limit),
        blinded,
        ..Rows::default()
    };
    if let Some(format) = form.table() {
        let names = (&*call.path, Table::Decisions);
        return episode_table(&call.app, names, format, rows).await;
    }
    let (service, study) = (call.app.service.clone(), call.path);
    let list = call.app.service.read_snapshot(move |store| {
        let head = head(store, &study)?;
        let study = service.study(store, &head)?;
        let mut reader = EpisodeReader::new(store, study, head.key, rows);
        let rows: Vec<DecisionRow> = reader.steps(limit)?;
        let last = rows.last().filter(|_| rows.len() >= limit);
        Ok(DecisionList {
            next: last.map(|row| row.episode.id.clone()),
            decisions: json_rows(tables::DECISIONS, &rows, blinded)?,
        })
    });
    json(StatusCode::OK, &list.await?)
}

/// The form of the codebook.
#[derive(Default, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
pub struct CodebookForm {
    /// The form, instead of `Accept`.
    #[param(inline)]
    format: Option<Form>,
}

/// The columns of the tables.
#[derive(Serialize, ToSchema)]
pub struct Codebook {
    /// One row per column.
    #[schema(value_type = Vec<CodebookRowView>)]
    pub columns: Vec<Box<RawValue>>,
}

/// Read the codebook
///
/// The columns of the tables of episodes, decisions and estimates, with their types and meanings; as JSON, CSV or Parquet.
#[utoipa::path(get, operation_id = "readCodebook", path = "/v1/codebook", tag = "studies", params(CodebookForm),
    responses((status = 200, description = "The columns", content(
        (Codebook = "application/json"), (String = "text/csv"), (Vec<u8> = "application/vnd.apache.parquet")))))]
pub async fn codebook(call: Call<(), CodebookForm>) -> ApiResult {
    call.caller.may(Permission::ReadStudy)?;
    let form = Form::asked(call.query.format, &call.headers)?;
    match form.table() {
        Some(format) => {
            let bytes = app_tables::codebook(format);
            let bytes = bytes.map_err(|error| ApiError::internal(error.to_string()))?;
            Ok(table_response(("", Table::Codebook), format, None, bytes))
        }
        None => {
            let rows: Vec<CodebookRow> = tables::codebook();
            let columns = json_rows(tables::CODEBOOK, &rows, false)?;
            json(StatusCode::OK, &Codebook { columns })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_follows_accept() {
        let asked = |accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, accept.parse().unwrap());
            Form::asked(None, &headers)
        };
        for (accept, form) in [
            ("", Form::Json),
            ("*/*", Form::Json),
            ("application/*", Form::Json),
            ("application/json", Form::Json),
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                Form::Json,
            ),
            ("text/csv", Form::Csv),
            ("Text/CSV; charset=utf-8", Form::Csv),
            ("text/*", Form::Csv),
            ("application/json;q=0.5, text/csv", Form::Csv),
            ("text/csv;q=0.5, */*;q=0.4", Form::Csv),
            ("application/vnd.apache.parquet", Form::Parquet),
            ("application/json;q=0, application/*", Form::Parquet),
        ] {
            assert_eq!(asked(accept), Ok(form), "{accept}");
        }
        for accept in [
            "text/html",
            "application/xml",
            "text/csv;q=0",
            "*/*;q=x",
            "csv",
        ] {
            let error = asked(accept).unwrap_err();
            assert_eq!(error.status, 406, "{accept}");
            assert!(error.detail.contains(CSV), "{}", error.detail);
        }
        let headers = HeaderMap::new();
        assert_eq!(Form::asked(Some(Form::Csv), &headers), Ok(Form::Csv));
        assert_eq!(Form::asked(None, &headers), Ok(Form::Json));
    }
}
