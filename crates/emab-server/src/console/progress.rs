//! The progress of a study: gains, overrides, agreement of the shadow learners and certificates over its log.

use emab_report::{AxisRange, LegendPlace, PlotOptions, Series, SeriesPoint, draw_curves, figure};
use maud::{Markup, html};

use super::layout::{AsOf, Page, Tab, time};
use super::visit::{PageResult, Visit};
use super::words::amount;
use crate::app::head;
use crate::app::progress::{EventBlock, Mean, Plan, Progress, SAMPLE, Share, WHOLE};
use crate::tokens::Permission;

/// The smallest number of values of a point in a figure: the interval of a mean of fewer would hide the others.
const LEAST: u64 = 5;
/// The number of shadow learners in a figure.
const LEARNERS: usize = 4;

pub async fn page(visit: Visit<String>) -> PageResult {
    visit.caller.may_in(Permission::Estimates, &visit.path)?;
    let (name, cache) = (visit.path.clone(), visit.app.progress.clone());
    let read = visit.app.service.read_snapshot(move |store| {
        let head = head(store, &name)?;
        let progress = cache.read(store, &head)?;
        Ok((head, progress))
    });
    let (head, progress) = read.await?;
    // The API shows shadow learners in the log only.
    let shadows = visit.has_in(Permission::Log, &visit.path);
    let content = html! {
        (how(&progress))
        (gains(&progress))
        @if shadows { p { a href="evaluation" { "Evaluation" } ": what a case would gain if all cases followed what the learners recommend now." } }
        (overrides(&progress))
        @if shadows { (agreement(&visit, &progress)) }
        (certificates(&progress))
    };
    let page = Page::of_study("Progress", &head.name, Tab::Progress, AsOf::of(&head));
    Ok(page.show(&visit, &content))
}

/// How the points are made.
fn how(progress: &Progress) -> Markup {
    let of = |plan: &Plan, blocks: usize, what: &str| {
        let Plan { count, length, .. } = *plan;
        match plan.is_whole() {
            true => format!(
                "All {count} {what} are read, in blocks of {length}; the last one may be shorter or longer."
            ),
            false => format!(
                "Of {count} {what}, which are more than {WHOLE}, {blocks} blocks of at most {SAMPLE} at evenly spaced places are read."
            ),
        }
    };
    html! {
        p { "Each point is a block of consecutive events or cases, at the last of them. "
            (of(&progress.events, progress.event_blocks.len(), "events")) " "
            @if progress.learned.count > 0 { (of(&progress.learned, progress.gain_blocks.len(), "learned cases")) } }
    }
}

/// A point of a curve, if there are enough values.
fn of_share(x: u64, share: Share) -> Option<SeriesPoint> {
    let (value, band) = (share.value()?, share.interval()?);
    (share.of >= LEAST).then(|| SeriesPoint {
        band,
        ..SeriesPoint::exact(x as f64, value)
    })
}

fn of_mean(x: u64, mean: Option<Mean>) -> Option<SeriesPoint> {
    let mean = mean.filter(|it| it.count >= LEAST)?;
    Some(SeriesPoint {
        band: (mean.mean - mean.half, mean.mean + mean.half),
        ..SeriesPoint::exact(x as f64, mean.mean)
    })
}

fn series(label: &str, points: impl Iterator<Item = Option<SeriesPoint>>) -> Series {
    Series {
        label: label.into(),
        points: points.flatten().collect(),
        bound: false,
    }
}

/// What a figure shows.
struct Chart<'a> {
    caption: &'a str,
    x_label: &'a str,
    y_label: &'a str,
    is_share: bool,
}

/// The figure, or why there is none.
fn chart(chart: &Chart<'_>, mut all: Vec<Series>) -> Markup {
    all.retain(|series| !series.points.is_empty());
    if all.iter().all(|series| series.points.len() < 2) {
        return html! { p { "There are too few data for a figure: it needs two blocks with at least " (LEAST) " values each." } };
    }
    let share = AxisRange {
        from: Some(0.0),
        to: Some(1.0),
    };
    let options = PlotOptions {
        x_label: chart.x_label.into(),
        y_label: chart.y_label.into(),
        y_range: if chart.is_share {
            share
        } else {
            AxisRange::default()
        },
        legend: if all.len() > 1 {
            LegendPlace::Below
        } else {
            LegendPlace::None
        },
        size: Some((720.0, 300.0)),
        ..PlotOptions::default()
    };
    let drawn = options.for_page(|options| draw_curves(&all, options));
    html! {
        @match drawn {
            Ok(picture) => (figure(chart.caption, &picture.svg, picture.narrow.as_deref().unwrap_or(&picture.svg))),
            Err(error) => { p.notice { "The figure cannot be drawn: " (error) "." } }
        }
    }
}

/// A table that belongs to a figure.
fn table(label: &str, columns: &[&str], rows: impl Iterator<Item = Vec<Markup>>) -> Markup {
    html! {
        details {
            summary { "Table: " (label) }
            div.wide tabindex="0" role="group" aria-label={ "Table: " (label) } {
                table.data {
                    thead { tr { @for column in columns { th scope="col" { (column) } } } }
                    tbody { @for row in rows { tr { @for (i, cell) in row.iter().enumerate() {
                        @if i == 0 { th scope="row" { (cell) } } @else { td { (cell) } }
                    } } } }
                }
            }
        }
    }
}

/// The first two cells of the row of a block of events.
fn place(block: &EventBlock) -> [Markup; 2] {
    [html! { (block.first) " to " (block.last) }, time(&block.to)]
}

fn share_cells(share: Share) -> [Markup; 2] {
    let interval = share.interval();
    [
        html! { (share.hits) " of " (share.of) },
        html! { @match (share.value(), interval) {
            (Some(value), Some((low, high))) => { (amount(value)) ", " (amount(low)) " to " (amount(high)) }
            _ => "–"
        } },
    ]
}

fn mean_cells(mean: Option<Mean>) -> [Markup; 2] {
    let Some(Mean { count, mean, half }) = mean else {
        return [html! { "0" }, html! { "–" }];
    };
    let interval = html! {
        (amount(mean))
        @if half.is_finite() { ", " (amount(mean - half)) " to " (amount(mean + half)) }
    };
    [html! { (count) }, interval]
}

/// The rows of a table over the blocks of events.
fn event_rows(
    progress: &Progress,
    cells: impl Fn(&EventBlock) -> Vec<Markup>,
) -> impl Iterator<Item = Vec<Markup>> {
    let blocks = progress.event_blocks.iter();
    blocks.map(move |block| place(block).into_iter().chain(cells(block)).collect())
}

const EVENT: &str = "event";

fn gains(progress: &Progress) -> Markup {
    let blocks = &progress.gain_blocks;
    let points = blocks.iter().map(|block| of_mean(block.last, block.gain));
    let caption = "Mean gain of learned cases, in the order in which they were learned, with 95 % intervals (Student's t below 30 values). The gain is the \
                   terminal reward of the last step less the costs.";
    let about = Chart {
        caption,
        x_label: "learned cases",
        y_label: "mean gain",
        is_share: false,
    };
    let rows = blocks.iter().map(|block| {
        let place = html! { (block.first) " to " (block.last) };
        let unknown = html! { (block.unknown) };
        [place]
            .into_iter()
            .chain(mean_cells(block.gain))
            .chain([unknown])
            .collect()
    });
    let columns = [
        "Learned cases",
        "Known gains",
        "Mean gain, 95 % interval",
        "Unknown gains",
    ];
    html! {
        h2 { "Gain" }
        @if blocks.is_empty() { p { "No case is learned yet." } } @else {
            (chart(&about, vec![series("", points)]))
            (table("gain", &columns, rows))
            p.hint { "Values are those known now: corrections are included, and voided cases are not. Learned cases are kept without their times." }
        }
    }
}

fn overrides(progress: &Progress) -> Markup {
    let blocks = progress.event_blocks.iter();
    let points = blocks.map(|block| of_share(block.last, block.overrides));
    let about = Chart {
        caption: "Share of overrides among the reported choices, with 95 % intervals (Wilson). An override is a choice other than the \
                  recommended one.",
        x_label: EVENT,
        y_label: "share of overrides",
        is_share: true,
    };
    let columns = ["Events", "Last event", "Overrides", "Share, 95 % interval"];
    let rows = event_rows(progress, |block| share_cells(block.overrides).into());
    html! {
        h2 { "Overrides" }
        @if progress.event_blocks.iter().all(|block| block.overrides.of == 0) { p { "No choice is reported yet." } } @else {
            (chart(&about, vec![series("", points)]))
            (table("overrides", &columns, rows))
            p.hint { "Choices count as they were first reported, without later corrections of steps." }
        }
    }
}

fn agreement(visit: &Visit<String>, progress: &Progress) -> Markup {
    let blocks = &progress.event_blocks;
    let mut learners: Vec<&str> = Vec::new();
    for (learner, _) in blocks.iter().flat_map(|block| &block.shadows) {
        if !learners.contains(&&**learner) {
            learners.push(learner);
        }
    }
    let all = learners.len();
    let from = visit.query.get("shadows").parse().unwrap_or(1);
    let from = usize::clamp(from, 1, all.max(1));
    let learners: Vec<&str> = learners.into_iter().skip(from - 1).take(LEARNERS).collect();
    let share = |block: &EventBlock, learner: &str| {
        let found = block.shadows.iter().find(|(name, _)| name == learner);
        found.map_or(Share::default(), |it| it.1)
    };
    let curves = learners.iter().map(|learner| {
        let points = blocks
            .iter()
            .map(|block| of_share(block.last, share(block, learner)));
        series(learner, points)
    });
    let about = Chart {
        caption: "Share of decisions in which a shadow learner chose the same as the decision, with 95 % intervals (Wilson).",
        x_label: EVENT,
        y_label: "share of agreement",
        is_share: true,
    };
    let mut columns = vec!["Events", "Last event"];
    columns.extend(&learners);
    let rows = event_rows(progress, |block| {
        let cells = learners.iter().map(|learner| {
            let [counts, interval] = share_cells(share(block, learner));
            html! { (interval) " (" (counts) ")" }
        });
        cells.collect()
    });
    html! {
        h2 { "Shadow learners" }
        @if learners.is_empty() { p { "The decisions of this study record no shadow learner." } } @else {
            (chart(&about, curves.collect()))
            (table("agreement of shadow learners", &columns, rows))
            @if all > LEARNERS {
                nav.pages aria-label="Other shadow learners" { ul {
                    @for first in (1..=all).step_by(LEARNERS) {
                        li { a href={ "progress?shadows=" (first) } aria-current=[(first == from).then_some("page")] {
                            "Shadow learners " (first) " to " (all.min(first + LEARNERS - 1)) " of " (all)
                        } }
                    }
                } }
            }
        }
    }
}

fn certificates(progress: &Progress) -> Markup {
    let blocks = &progress.event_blocks;
    let without = blocks
        .iter()
        .map(|block| of_share(block.last, block.uncertified));
    let points = blocks
        .iter()
        .map(|block| of_mean(block.last, block.certificate));
    let about = Chart {
        caption: "Mean certificate of the decisions that have one, with 95 % intervals (Student's t below 30 values). A certificate says how far the \
                  recommendation can be from the best one, in units of gain.",
        x_label: EVENT,
        y_label: "mean certificate",
        is_share: false,
    };
    let about_share = Chart {
        caption: "Share of decisions without a certificate, with 95 % intervals (Wilson).",
        x_label: EVENT,
        y_label: "share without a certificate",
        is_share: true,
    };
    let decisions: u64 = blocks.iter().map(|block| block.uncertified.of).sum();
    let without_one: u64 = blocks.iter().map(|block| block.uncertified.hits).sum();
    let columns = [
        "Events",
        "Time",
        "Certificates",
        "Mean certificate, 95 % interval",
        "Decisions without one",
        "Share, 95 % interval",
    ];
    let rows = event_rows(progress, |block| {
        let cells = mean_cells(block.certificate).into_iter();
        cells.chain(share_cells(block.uncertified)).collect()
    });
    html! {
        h2 { "Certificates" }
        @if decisions == 0 { p { "There is no decision yet." } }
        @else if without_one == decisions { p { "None of the " (decisions) " decisions that were read has a certificate." } }
        @else {
            (chart(&about, vec![series("", points)]))
            @if without_one > 0 { (chart(&about_share, vec![series("", without)])) }
            (table("certificates", &columns, rows))
        }
    }
}
