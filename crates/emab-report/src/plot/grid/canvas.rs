//! Drawing primitives on a kuva scene, and the frame of a page: title and size.

use kuva::render::color::Color;
use kuva::render::render::{PathData, Primitive, Scene, TextAnchor};

use super::colour::Rgb;
use super::text::wrap;

/// The fonts that kuva names in its own figures.
const FONTS: &str = "DejaVu Sans, Verdana, Liberation Sans, Arial, sans-serif";

const INK: [u8; 3] = [0x1a; 3];
const HATCH: [u8; 3] = [0x9a; 3];
const PALE: [u8; 3] = [0xf2; 3];

/// Width of the margin around a figure.
pub(crate) const MARGIN: f64 = 18.0;

const TITLE: u32 = 17;
const TITLE_LINE: f64 = 24.0;

const CAPTION: u32 = 12;
const CAPTION_LINE: f64 = 16.0;
const CAPTION_GAP: f64 = 8.0;
const CAPTION_INK: [u8; 3] = [0x44; 3];

/// Colour, width and dash pattern of a line; an empty pattern is a solid line.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stroke<'a> {
    pub(crate) ink: Rgb,
    pub(crate) width: f64,
    pub(crate) dashes: &'a [f64],
}

/// The shape of a mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Triangle,
    Square,
    Diamond,
    Circle,
}

/// A scene under construction.
pub(crate) struct Canvas {
    scene: Scene,
}

impl Canvas {
    /// An empty page of this width; [`Canvas::finish`] sets its height.
    pub(crate) fn new(width: f64) -> Self {
        let mut scene = Scene::new(width, 0.0);
        scene.font_family = Some(FONTS.to_owned());
        Self { scene }
    }

    /// Writes the title of the figure in at most `lines` lines; returns where the content begins.
    pub(crate) fn title(&mut self, title: &str, lines: usize, space_below: f64) -> f64 {
        let (width, mut top) = (self.scene.width, MARGIN);
        for line in wrap(title, width - 2.0 * MARGIN, TITLE, lines) {
            let at = (width / 2.0, top + 14.0);
            self.text(at, TITLE, TextAnchor::Middle, &line);
            top += TITLE_LINE;
        }
        if top > MARGIN { top + space_below } else { top }
    }

    /// Writes the caption of the figure below its content; returns where the figure ends.
    pub(crate) fn caption(&mut self, caption: &str, top: f64, margin: f64) -> f64 {
        let lines = wrap(
            caption,
            self.scene.width - 2.0 * margin,
            CAPTION,
            usize::MAX,
        );
        let begin = top + if lines.is_empty() { 0.0 } else { CAPTION_GAP };
        for (i, line) in lines.iter().enumerate() {
            let y = begin + CAPTION_LINE * i as f64 + 11.0;
            self.write(
                (margin, y),
                CAPTION,
                TextAnchor::Start,
                None,
                CAPTION_INK,
                line,
            );
        }
        begin + CAPTION_LINE * lines.len() as f64
    }

    /// The scene of this height.
    pub(crate) fn finish_at(mut self, height: f64) -> Scene {
        self.scene.height = height;
        self.scene
    }

    /// The scene, ending below `bottom`.
    pub(crate) fn finish(self, bottom: f64) -> Scene {
        self.finish_at((bottom + MARGIN - 6.0).ceil())
    }

    pub(crate) fn text(&mut self, at: (f64, f64), size: u32, anchor: TextAnchor, text: &str) {
        self.write(at, size, anchor, None, INK, text);
    }

    pub(crate) fn upward_text(
        &mut self,
        at: (f64, f64),
        size: u32,
        anchor: TextAnchor,
        text: &str,
    ) {
        self.write(at, size, anchor, Some(-90.0), INK, text);
    }

    /// A centred text in this colour.
    pub(crate) fn inked_text(&mut self, at: (f64, f64), size: u32, ink: Rgb, text: &str) {
        self.write(at, size, TextAnchor::Middle, None, ink, text);
    }

    fn write(
        &mut self,
        (x, y): (f64, f64),
        size: u32,
        anchor: TextAnchor,
        rotate: Option<f64>,
        ink: Rgb,
        text: &str,
    ) {
        self.scene.add(Primitive::Text {
            x,
            y,
            content: text.to_owned(),
            size,
            anchor,
            rotate,
            bold: false,
            color: Some(paint(ink)),
        });
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64)) {
        self.coloured_line(from, to, INK, 1.0);
    }

    /// A line of this colour and width.
    pub(crate) fn coloured_line(&mut self, from: (f64, f64), to: (f64, f64), ink: Rgb, wide: f64) {
        self.scene.add(Primitive::Line {
            x1: from.0,
            y1: from.1,
            x2: to.0,
            y2: to.1,
            stroke: paint(ink),
            stroke_width: wide,
            stroke_dasharray: None,
        });
    }

    /// A line through points.
    pub(crate) fn polyline(&mut self, points: Vec<(f64, f64)>, stroke: &Stroke<'_>) {
        let dashes: Vec<String> = stroke.dashes.iter().map(f64::to_string).collect();
        self.scene.add(Primitive::PolyLine {
            points,
            stroke: paint(stroke.ink),
            stroke_width: stroke.width,
            stroke_dasharray: (!dashes.is_empty()).then(|| dashes.join(" ")),
        });
    }

    /// A filled area without an edge, transparent to some degree.
    pub(crate) fn area(&mut self, corners: &[(f64, f64)], fill: Rgb, opacity: f64) {
        if corners.is_empty() {
            return;
        }
        self.scene.add(Primitive::Path(Box::new(PathData {
            d: closed(corners),
            fill: Some(paint(fill)),
            stroke: Color::None,
            stroke_width: 0.0,
            opacity: Some(opacity),
            stroke_dasharray: None,
        })));
    }

    /// A white mark with an edge.
    pub(crate) fn marker(&mut self, at: (f64, f64), marker: Marker, ink: Rgb) {
        const R: f64 = 3.6;
        let (x, y) = at;
        let corners: &[(f64, f64)] = match marker {
            Marker::Triangle => &[(-1.0, -0.8), (1.0, -0.8), (0.0, 1.0)],
            Marker::Square => &[(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
            Marker::Diamond => &[(-1.15, 0.0), (0.0, -1.15), (1.15, 0.0), (0.0, 1.15)],
            Marker::Circle => return self.circle(at, R, paint([0xff; 3]), ink, 1.2),
        };
        let corners: Vec<_> = corners
            .iter()
            .map(|(dx, dy)| (x + R * dx, y + R * dy))
            .collect();
        self.polygon(&corners, [0xff; 3], ink);
    }

    /// A filled circle with a white edge, visible on its error bar.
    pub(crate) fn dot(&mut self, at: (f64, f64), radius: f64, ink: Rgb) {
        self.circle(at, radius, paint(ink), [0xff; 3], 0.8);
    }

    /// A circle.
    pub(crate) fn ring(&mut self, at: (f64, f64), radius: f64, ink: Rgb) {
        self.circle(at, radius, Color::None, ink, 1.4);
    }

    fn circle(&mut self, (cx, cy): (f64, f64), r: f64, fill: Color, edge: Rgb, thick: f64) {
        self.scene.add(Primitive::Circle {
            cx,
            cy,
            r,
            fill,
            fill_opacity: None,
            stroke: Some(paint(edge)),
            stroke_width: Some(thick),
        });
    }

    /// A hollow diamond.
    pub(crate) fn diamond(&mut self, (x, y): (f64, f64), r: f64, ink: Rgb) {
        let corners = [(x - r, y), (x, y - r), (x + r, y), (x, y + r)];
        self.polygon(&corners, [0xff; 3], ink);
    }

    /// A filled triangle that points to the left (-1) or to the right (1).
    pub(crate) fn arrow(&mut self, (x, y): (f64, f64), way: f64, ink: Rgb) {
        let (tip, back) = (x + 4.5 * way, x - 3.5 * way);
        self.polygon(&[(tip, y), (back, y - 4.0), (back, y + 4.0)], ink, ink);
    }

    fn polygon(&mut self, corners: &[(f64, f64)], fill: Rgb, ink: Rgb) {
        self.path(closed(corners), Some(fill), ink, 1.2);
    }

    fn path(&mut self, d: String, fill: Option<Rgb>, stroke: Rgb, stroke_width: f64) {
        self.scene.add(Primitive::Path(Box::new(PathData {
            d,
            fill: fill.map(paint),
            stroke: paint(stroke),
            stroke_width,
            opacity: None,
            stroke_dasharray: None,
        })));
    }

    /// A filled rectangle.
    pub(crate) fn rect(&mut self, rect: [f64; 4], fill: Rgb) {
        self.rectangle(rect, paint(fill), None);
    }

    fn rectangle(&mut self, rect: [f64; 4], fill: Color, stroke: Option<(Rgb, f64)>) {
        let [x, y, width, height] = rect;
        self.scene.add(Primitive::Rect {
            x,
            y,
            width,
            height,
            fill,
            stroke: stroke.map(|(ink, _)| paint(ink)),
            stroke_width: stroke.map(|(_, thick)| thick),
            opacity: None,
        });
    }

    /// Marks a cell whose learned action is not the benchmark's: an outline, or a dot in small cells.
    pub(crate) fn mark_difference(&mut self, rect: [f64; 4], cell: (f64, f64)) {
        let [x, y, width, height] = rect;
        match cell.0.min(cell.1) {
            small if small < 9.0 => {
                let dot = [x + width / 2.0 - 1.5, y + height / 2.0 - 1.5, 3.0, 3.0];
                self.rect(dot, INK);
            }
            small if small < 16.0 => self.outline(rect, 1.2, INK),
            _ => self.outline(rect, 2.0, INK),
        }
    }

    /// The inner edge of a rectangle.
    fn outline(&mut self, [x, y, width, height]: [f64; 4], thick: f64, ink: Rgb) {
        let half = thick / 2.0;
        let rect = [x + half, y + half, width - thick, height - thick];
        self.rectangle(rect, Color::None, Some((ink, thick)));
    }

    /// Marks the best cell: a black frame around a white one, visible on any colour and outside the cell.
    pub(crate) fn mark_best(&mut self, [x, y, width, height]: [f64; 4]) {
        let around = |by: f64| [x - by, y - by, width + 2.0 * by, height + 2.0 * by];
        self.outline(around(3.0), 2.0, [0x00; 3]);
        self.outline(around(1.0), 1.0, [0xff; 3]);
    }

    /// Cells without a value: grey, with diagonal lines that continue from cell to cell.
    pub(crate) fn hatched(&mut self, rects: &[[f64; 4]]) {
        const APART: f64 = 5.0;
        for rect in rects {
            self.rect(*rect, PALE);
        }
        // One path for all lines.
        let mut d = String::new();
        for [x, y, width, height] in rects {
            let (first, last) = (x + y, x + y + width + height);
            let mut sum = (first / APART).floor() * APART + APART;
            while sum < last {
                let (x1, x2) = (x.max(sum - y - height), (x + width).min(sum - y));
                d += &format!("M{x1:.2},{:.2}L{x2:.2},{:.2}", sum - x1, sum - x2);
                sum += APART;
            }
        }
        if !d.is_empty() {
            self.path(d, None, HATCH, 0.8);
        }
    }
}

/// The path around these corners.
fn closed(corners: &[(f64, f64)]) -> String {
    let corners = corners.iter().map(|(x, y)| format!("{x:.2},{y:.2}"));
    format!("M{}Z", corners.collect::<Vec<String>>().join("L"))
}

/// A colour as kuva takes it.
fn paint([red, green, blue]: Rgb) -> Color {
    Color::Rgb(red, green, blue)
}
