//! The lines between the axes, with their bands, error bars and marks.

use super::super::clip::{Area, Point};
use super::super::grid::canvas::{Canvas, Marker, Stroke};
use super::super::series::{Series, SeriesPoint};
use super::super::style::Style;
use super::Segments;
use super::frame::Axes;

/// Opacities of a band: alone, and with a wider band around it.
const BAND_OPACITY: f64 = 0.2;
const INNER_OPACITY: f64 = 0.22;
const OUTER_OPACITY: f64 = 0.13;

/// Marks on the line of a bound.
const MARKS: usize = 6;

/// All lines of a figure.
pub(super) struct Content<'a> {
    style: &'a Style<'a>,
    pub(super) lines: Vec<Line<'a>>,
}

/// One series, as it is drawn.
pub(super) struct Line<'a> {
    pub(super) label: &'a str,
    pub(super) segments: &'a Segments,
    pub(super) stroke: Stroke<'a>,
    /// The mark of a bound; none for a result.
    pub(super) marker: Option<Marker>,
}

/// The area between the axes, in which values have places.
pub(super) struct Plane<'a> {
    pub(super) axes: &'a Axes,
    pub(super) area: Area,
}

impl Plane<'_> {
    fn at(&self, x: f64, y: f64) -> Point {
        let Area {
            left,
            top,
            right,
            bottom,
        } = self.area;
        (
            left + self.axes.x.fraction(x) * (right - left),
            bottom - self.axes.y.fraction(y) * (bottom - top),
        )
    }

    fn centre(&self, point: &SeriesPoint) -> Point {
        self.at(point.x, point.centre)
    }
}

impl<'a> Content<'a> {
    pub(super) fn new(style: &'a Style<'a>, series: &'a [Series], curves: &'a [Segments]) -> Self {
        let (mut results, mut bounds) = (0, 0);
        let lines = series.iter().zip(curves).map(|(one, segments)| {
            let (stroke, marker) = if one.bound {
                bounds += 1;
                let (stroke, marker) = style.bound(bounds - 1);
                (stroke, Some(marker))
            } else {
                results += 1;
                (style.result(results - 1), None)
            };
            Line {
                label: &one.label,
                segments,
                stroke,
                marker,
            }
        });
        Self {
            style,
            lines: lines.collect(),
        }
    }

    /// The places of all points, for a legend that avoids them.
    pub(super) fn places(&self, plane: &Plane<'_>) -> Vec<Point> {
        let segments = self.lines.iter().flat_map(|line| line.segments);
        let places = segments.flat_map(|segment| {
            let line: Vec<Point> = segment.iter().map(|point| plane.centre(point)).collect();
            match line.len() {
                1 => line,
                _ => plane
                    .area
                    .line(&line)
                    .iter()
                    .flat_map(|part| along(part, 8.0, 0.0))
                    .collect(),
            }
        });
        places.collect()
    }

    /// Draws bands below, then lines, the first series on top.
    pub(super) fn draw(&self, canvas: &mut Canvas, plane: &Plane<'_>) {
        let segments = || {
            let lines = self.lines.iter().rev();
            lines.flat_map(|line| line.segments.iter().map(move |segment| (line, segment)))
        };
        for (line, segment) in segments() {
            if line.marker.is_none() && !self.style.shows_points(segment) {
                draw_bands(canvas, plane, line, segment);
            }
        }
        for (line, segment) in segments() {
            let places: Vec<Point> = segment.iter().map(|point| plane.centre(point)).collect();
            for part in plane.area.line(&places) {
                canvas.polyline(part, &line.stroke);
            }
            match line.marker {
                Some(marker) => draw_marks(canvas, plane, &places, (marker, line)),
                None if self.style.shows_points(segment) => {
                    draw_points(canvas, plane, line, segment);
                }
                None => {}
            }
        }
    }
}

fn draw_bands(canvas: &mut Canvas, plane: &Plane<'_>, line: &Line<'_>, segment: &[SeriesPoint]) {
    let mut band = |edges: &dyn Fn(&SeriesPoint) -> Option<(f64, f64)>, opacity: f64| {
        let known = || segment.iter().filter_map(|p| Some((p.x, edges(p)?)));
        let upper = known().map(|(x, (_, upper))| plane.at(x, upper));
        let lower = known().rev().map(|(x, (lower, _))| plane.at(x, lower));
        let corners: Vec<Point> = upper.chain(lower).collect();
        canvas.area(&plane.area.polygon(&corners), line.stroke.ink, opacity);
    };
    let two = segment.iter().any(|point| point.outer.is_some());
    band(&|p| p.outer, OUTER_OPACITY);
    band(
        &|p| Some(p.band),
        if two { INNER_OPACITY } else { BAND_OPACITY },
    );
}

/// Draws dots with error bars; a wider band is a thinner bar.
fn draw_points(canvas: &mut Canvas, plane: &Plane<'_>, line: &Line<'_>, segment: &[SeriesPoint]) {
    const CAP: f64 = 3.0;
    for point in segment {
        let place = plane.centre(point);
        if !plane.area.contains(place) {
            continue;
        }
        let bars: Vec<_> = point.bands().collect();
        for (i, (lower, upper)) in bars.iter().enumerate() {
            let stroke = Stroke {
                width: if i + 1 == bars.len() && bars.len() > 1 {
                    3.0
                } else {
                    1.2
                },
                dashes: &[],
                ..line.stroke
            };
            let ends = [plane.at(point.x, *lower), plane.at(point.x, *upper)];
            for part in plane.area.line(&ends) {
                canvas.polyline(part, &stroke);
            }
            let caps = ends
                .iter()
                .filter(|end| bars.len() == 1 && plane.area.contains(**end));
            for (x, y) in caps {
                canvas.polyline(vec![(x - CAP, *y), (x + CAP, *y)], &stroke);
            }
        }
        canvas.dot(place, 4.0, line.stroke.ink);
    }
}

/// Draws marks along the line of a bound.
fn draw_marks(
    canvas: &mut Canvas,
    plane: &Plane<'_>,
    places: &[Point],
    (marker, line): (Marker, &Line<'_>),
) {
    for part in plane.area.line(places) {
        let length: f64 = part.windows(2).map(|pair| distance(pair[0], pair[1])).sum();
        let apart = length / MARKS as f64;
        // Marks of lines that are close to each other are not at the same place.
        let first = match marker {
            Marker::Triangle => 0.2,
            Marker::Square => 0.4,
            Marker::Diamond => 0.6,
            Marker::Circle => 0.8,
        };
        for place in along(&part, apart, first * apart) {
            canvas.marker(place, marker, line.stroke.ink);
        }
    }
    if let [alone] = places
        && plane.area.contains(*alone)
    {
        canvas.marker(*alone, marker, line.stroke.ink);
    }
}

fn distance(a: Point, b: Point) -> f64 {
    (b.0 - a.0).hypot(b.1 - a.1)
}

/// Places on a line at this distance from each other, the first after `next`.
fn along(line: &[Point], apart: f64, mut next: f64) -> Vec<Point> {
    let mut places = Vec::new();
    for pair in line.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let length = distance(from, to);
        while next < length && apart > 0.0 {
            let part = next / length;
            places.push((
                from.0 + part * (to.0 - from.0),
                from.1 + part * (to.1 - from.1),
            ));
            next += apart;
        }
        next -= length;
    }
    places
}
