//! The site: the pages of `docs/` and of the root of the repository, and the notebooks, as one book.

use std::fs;
use std::path::{Component, Path, PathBuf};

use mdbook_driver::MDBook;

use crate::{Error, notebook, root};

/// Where links to files go that are not pages of the site.
const REPOSITORY: &str = "https://github.com/emab/emab/blob/main";

/// Pages at the root of the repository, and their names in the site.
const ROOT_PAGES: [(&str, &str); 5] = [
    ("README.md", "index.md"),
    ("CHANGELOG.md", "changelog.md"),
    ("CONTRIBUTING.md", "contributing.md"),
    ("DESIGN.md", "design.md"),
    ("SECURITY.md", "security.md"),
];

/// The folder of the notebooks, and that of their pages in the site.
const NOTEBOOKS: (&str, &str) = ("python/notebooks", "notebooks");

/// Builds the site in a folder.
pub fn build(folder: &Path) -> Result<(), Error> {
    let folder = std::path::absolute(folder)?;
    let sources = folder.with_extension("sources");
    if sources.exists() {
        fs::remove_dir_all(&sources)?;
    }
    let pages = sources.join("src");
    copy_folder(&root().join("docs"), &pages, Path::new("docs"))?;
    for (file, name) in ROOT_PAGES.iter().filter(|(file, _)| *file != "README.md") {
        let text = fs::read_to_string(root().join(file))?;
        fs::write(pages.join(name), with_links(&text, Path::new(file)))?;
    }
    copy_notebooks(&pages.join(NOTEBOOKS.1))?;
    for file in ["book.toml", "site.css", "site.js"] {
        fs::copy(
            root().join("tools/site/book").join(file),
            sources.join(file),
        )?;
    }
    let mut book = MDBook::load(&sources)?;
    book.config.build.build_dir = folder.clone();
    book.build()?;
    fs::remove_dir_all(sources)?;
    make_accessible(&folder)
}

/// What mdBook writes, and what replaces it, so that axe-core finds nothing: code and tables that scroll take the focus, and the
/// bar is a landmark.
const ACCESSIBLE: [(&str, &str); 3] = [
    ("<pre>", r#"<pre tabindex="0">"#),
    (
        r#"<div class="table-wrapper">"#,
        r#"<div class="table-wrapper" tabindex="0">"#,
    ),
    (
        r#"<div id="mdbook-menu-bar" "#,
        r#"<div id="mdbook-menu-bar" role="banner" "#,
    ),
];

fn make_accessible(folder: &Path) -> Result<(), Error> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            make_accessible(&path)?;
        } else if path.extension().is_some_and(|it| it == "html") {
            let text = fs::read_to_string(&path)?;
            let replace = |text: String, (from, to): &(&str, &str)| text.replace(from, to);
            fs::write(&path, ACCESSIBLE.iter().fold(text, replace))?;
        }
    }
    Ok(())
}

/// Copies the pages and their pictures, without the results that the tests of the pages expect.
fn copy_folder(from: &Path, to: &Path, name: &Path) -> Result<(), Error> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path = entry?.path();
        let Some(file) = path.file_name() else {
            continue;
        };
        let ending = path.extension().and_then(|it| it.to_str());
        let (to, name) = (to.join(file), name.join(file));
        match (path.is_dir(), ending) {
            (true, Some("out")) => {}
            (true, _) => copy_folder(&path, &to, &name)?,
            (false, Some("md")) => fs::write(to, with_links(&fs::read_to_string(&path)?, &name))?,
            (false, Some(_)) => drop(fs::copy(&path, to)?),
            // Scripts.
            (false, None) => {}
        }
    }
    Ok(())
}

/// Writes a page for every notebook.
fn copy_notebooks(to: &Path) -> Result<(), Error> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(root().join(NOTEBOOKS.0))? {
        let path = entry?.path();
        let Some(stem) = path.file_stem().filter(|_| is_notebook(&path)) else {
            continue;
        };
        let page = notebook::page(&fs::read_to_string(&path)?)?;
        let name = Path::new(NOTEBOOKS.0).join(stem).with_extension("ipynb");
        let to = to.join(stem).with_extension("md");
        fs::write(to, with_links(&page, &name))?;
    }
    Ok(())
}

fn is_notebook(path: &Path) -> bool {
    path.extension().is_some_and(|it| it == "ipynb")
}

/// The text of a page with its links adapted to the site. `page` is its path in the repository.
fn with_links(text: &str, page: &Path) -> String {
    // The name that the highlighter knows, and the notation of the tests for what varies and for exit codes.
    let text = text.replace("```jsonl", "```json").replace("[..]", "…");
    let text = text
        .replace("\n? 1\n", "\n(exit code 1)\n")
        .replace("\n? 2\n", "\n(exit code 2)\n");
    let mut parts = text.split("](");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap_or((part, ""));
        let new = link(target, page).unwrap_or_else(|| target.to_owned());
        out += &format!("]({new}){rest}");
    }
    out
}

/// The new target of a link to a file of the repository, if it changes.
fn link(target: &str, page: &Path) -> Option<String> {
    let (file, anchor) = target.split_at(target.find('#').unwrap_or(target.len()));
    if file.is_empty() || file.contains("://") {
        return None;
    }
    let file = resolve(&page.parent()?.join(file))?;
    if !root().join(&file).exists() {
        return None;
    }
    let in_site = |path: &Path| {
        let name = path.to_str()?;
        let renamed = ROOT_PAGES.iter().find(|(file, _)| *file == name);
        let inside = || path.strip_prefix("docs").ok().map(Into::into);
        let notebook = || {
            let file = path
                .strip_prefix(NOTEBOOKS.0)
                .ok()
                .filter(|it| is_notebook(it))?;
            Some(Path::new(NOTEBOOKS.1).join(file).with_extension("md"))
        };
        renamed
            .map(|it| PathBuf::from(it.1))
            .or_else(inside)
            .or_else(notebook)
    };
    let Some(to) = in_site(&file) else {
        return Some(format!("{REPOSITORY}/{}{anchor}", file.to_str()?));
    };
    let from = in_site(page)?;
    let up = "../".repeat(from.components().count() - 1);
    Some(format!("{up}{}{anchor}", to.to_str()?))
}

/// A path without `..`.
fn resolve(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => out.pop().then_some(())?,
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_into_the_site_or_to_the_repository() {
        let adapted = |text: &str, page: &str| with_links(text, Path::new(page));
        for (page, link, expected) in [
            (
                "docs/plots.md",
                "results.md#the-arena",
                "results.md#the-arena",
            ),
            ("docs/plots.md", "../DESIGN.md#engine", "design.md#engine"),
            ("docs/plots.md", "../README.md", "index.md"),
            ("docs/reference/errors.md", "../service.md", "../service.md"),
            (
                "docs/reference/errors.md",
                "commands.md",
                "../reference/commands.md",
            ),
            ("CHANGELOG.md", "docs/plots.md", "plots.md"),
            (
                "docs/logs.md",
                "../python/notebooks/your_own_problem.ipynb",
                "notebooks/your_own_problem.md",
            ),
            (
                "python/notebooks/reproduce_the_paper.ipynb",
                "../../docs/theory.md",
                "../theory.md",
            ),
            ("CHANGELOG.md", "https://semver.org/", "https://semver.org/"),
            ("docs/plots.md", "#here", "#here"),
            (
                "docs/plots.md",
                "../benches/peers/README.md",
                "https://github.com/emab/emab/blob/main/benches/peers/README.md",
            ),
        ] {
            assert_eq!(
                adapted(&format!("a [b]({link}) c"), page),
                format!("a [b]({expected}) c")
            );
        }
    }
}
