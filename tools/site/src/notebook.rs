//! A notebook as a page of the site: its text, its code, and the outputs that are saved in it.

use serde_json::Value;

use crate::Error;

/// The page of a notebook, in Markdown.
pub fn page(notebook: &str) -> Result<String, Error> {
    let notebook: Value = serde_json::from_str(notebook)?;
    let cells = notebook["cells"].as_array().ok_or("no `cells`")?;
    let mut page = String::new();
    for cell in cells {
        let source = text(&cell["source"]);
        match cell["cell_type"].as_str() {
            Some("markdown") => page += &source,
            Some("code") => {
                page += &fenced("python", &source);
                let outputs = cell["outputs"].as_array().into_iter().flatten();
                outputs.for_each(|output| page += &shown(output));
            }
            kind => return Err(format!("a cell of the kind {kind:?}").into()),
        }
        page += "\n\n";
    }
    Ok(page)
}

/// A text that is saved as one string or as a list of lines.
fn text(value: &Value) -> String {
    match value {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().into(),
    }
}

fn fenced(language: &str, text: &str) -> String {
    format!("```{language}\n{}\n```\n", text.trim_end())
}

/// An output: a picture, a table or a text.
fn shown(output: &Value) -> String {
    let data = &output["data"];
    if let Some(png) = data.get("image/png") {
        let png: String = text(png).split_whitespace().collect();
        return format!("\n![Figure made by the code above](data:image/png;base64,{png})\n");
    }
    let html = text(&data["text/html"]);
    if let (Some(begin), Some(end)) = (html.find("<table"), html.find("</table>")) {
        // Without line breaks: an empty line would end the table.
        let table: String = html[begin..end].lines().map(str::trim).collect();
        let table = without_empty_headers(&table.replace(r#" border="1""#, ""));
        return format!("\n<div class=\"table-wrapper\">{table}</table></div>\n");
    }
    let plain = match data.get("text/plain") {
        Some(plain) => text(plain),
        None => text(&output["text"]),
    };
    format!("\n{}", fenced("text", &plain))
}

/// A table whose empty header cells are ordinary cells: a header without a text is announced as one and says nothing.
fn without_empty_headers(table: &str) -> String {
    let mut parts = table.split("<th");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once("></th>") {
            Some((attributes, rest)) if !attributes.contains('>') => {
                out += &format!("<td{attributes}></td>{rest}");
            }
            _ => out += &format!("<th{part}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn empty_headers_are_cells() {
        let table = "<thead><tr><th></th><th a=\"b\"></th><th>c</th></tr></thead>";
        let expected = "<thead><tr><td></td><td a=\"b\"></td><th>c</th></tr></thead>";
        assert_eq!(without_empty_headers(table), expected);
    }

    #[test]
    fn a_page_has_text_code_and_outputs() {
        let notebook = json!({"cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "Text."]},
            {"cell_type": "code", "source": "table", "outputs": [
                {"text": ["printed\n"]},
                {"data": {"text/html": "<div>\n<style></style>\n<table border=\"1\">\n\n  <tr></tr>\n</table>\n</div>", "text/plain": "no"}},
                {"data": {"text/html": "<pre>no</pre>", "text/plain": ["a\n", "b"]}},
                {"data": {"image/png": "iVBO\nRw0=\n", "text/plain": "no"}},
            ]},
        ]});
        let expected = "# Title\nText.\n\n```python\ntable\n```\n\n```text\nprinted\n```\n\n<div class=\"table-wrapper\"><table><tr></tr></table></div>\n\
                        \n```text\na\nb\n```\n\n![Figure made by the code above](data:image/png;base64,iVBORw0=)\n\n\n";
        assert_eq!(page(&notebook.to_string()).unwrap(), expected);
        assert!(page("{}").is_err());
    }
}
