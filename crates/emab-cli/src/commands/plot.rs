//! `emab plot`: the curves of a folder of results.

use std::path::Path;

use emab_report::{Folder, PlotOptions, draw};
use serde_json::json;

use super::run::{plot_options, read_result, series};
use crate::args::Plot;
use crate::failure::Failure;
use crate::terminal;

pub fn plot(args: &Plot, json: bool) -> Result<(), Failure> {
    let folder = Folder::open(&args.folder).map_err(|error| Failure::input(error.to_string()))?;
    if !folder.has(super::run::RESULT) {
        return Err(Failure::input(format!(
            "{} holds no results: there is no {}",
            args.folder.display(),
            super::run::RESULT
        )));
    }
    let result = read_result(&folder)?;
    let options = plot_options(&result);
    let options = PlotOptions {
        title: args.title.clone().unwrap_or(options.title),
        log_x: args.log_x,
        log_y: args.log_y,
        ..options
    };
    let kind = match &args.output {
        None => None,
        Some(path) => Some((path, picture_kind(path)?)),
    };
    let picture = draw(&series(&result), &options)?;
    let mut written = Vec::new();
    match kind {
        None => {
            folder.write("regret.svg", picture.svg.as_bytes())?;
            folder.write("regret.png", &picture.png)?;
            written.extend([folder.file("regret.svg"), folder.file("regret.png")]);
        }
        Some((path, kind)) => {
            let parent = path
                .parent()
                .filter(|p| !p.as_os_str().is_empty())
                .unwrap_or(Path::new("."));
            let name = path.file_name().unwrap_or_default();
            let content = match kind {
                Kind::Svg => picture.svg.as_bytes(),
                Kind::Png => &picture.png,
            };
            Folder::create(parent)?.write(name, content)?;
            written.push(path.clone());
        }
    }
    let written: Vec<String> = written
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    if json {
        return terminal::print_json(&json!({"written": written}));
    }
    terminal::print(&format!("wrote {}", written.join(" and ")))
}

enum Kind {
    Svg,
    Png,
}

fn picture_kind(path: &Path) -> Result<Kind, Failure> {
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("svg") => Ok(Kind::Svg),
        Some("png") => Ok(Kind::Png),
        _ => Err(Failure::input(format!(
            "--output must end in .svg or .png, got {}",
            path.display()
        ))),
    }
}
