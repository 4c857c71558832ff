//! A scene as a PDF of one page, with text as text and without a date, so that the same scene gives the same bytes.
//!
//! It draws the primitives that `grid::canvas` makes: texts, lines, paths of straight lines, rectangles and circles.

use std::collections::BTreeSet;
use std::io::Write;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use kuva::render::color::Color;
use kuva::render::render::{Primitive, Scene, TextAnchor};
use pdf_writer::types::{LineCapStyle, LineJoinStyle};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str};

use super::font::{Font, FontRefs, file};

/// Points per SVG unit.
const POINTS: f64 = 0.75;

const FONT: Name<'static> = Name(b"F1");

/// The scene as a PDF, with this many SVG units per unit of the scene.
pub(super) fn render(scene: &Scene, scale: f64) -> Result<Vec<u8>, String> {
    let bytes = file()?;
    let points = POINTS * scale;
    let mut page = Page {
        content: Content::new(),
        font: Font::new(&bytes)?,
        opacities: BTreeSet::new(),
    };
    let (width, height) = (
        (points * scene.width) as f32,
        (points * scene.height) as f32,
    );
    let points = points as f32;
    // The vertical axis of a scene points down.
    page.content
        .transform([points, 0.0, 0.0, -points, 0.0, height]);
    page.content.set_line_join(LineJoinStyle::RoundJoin);
    for element in &scene.elements {
        page.draw(element);
    }

    let numbers: Vec<Ref> = (1..=9).map(Ref::new).collect();
    let [
        catalog,
        pages,
        leaf,
        content,
        font,
        descendant,
        descriptor,
        file,
        to_unicode,
    ] = numbers[..]
    else {
        return Err("the objects are not numbered".into());
    };
    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([leaf]).count(1);
    let mut one = pdf.page(leaf);
    one.media_box(Rect::new(0.0, 0.0, width, height))
        .parent(pages)
        .contents(content);
    let mut resources = one.resources();
    resources.fonts().pair(FONT, font);
    let mut states = resources.ext_g_states();
    for opacity in &page.opacities {
        let name = state_name(*opacity);
        states
            .insert(Name(name.as_bytes()))
            .start::<pdf_writer::writers::ExtGraphicsState<'_>>()
            .non_stroking_alpha(f32::from(*opacity) / 1000.0);
    }
    states.finish();
    resources.finish();
    one.finish();
    pdf.stream(content, &compressed(&page.content.finish())?)
        .filter(Filter::FlateDecode);
    let refs = FontRefs {
        font,
        descendant,
        descriptor,
        file,
        to_unicode,
    };
    page.font.write(&mut pdf, &refs)?;
    Ok(pdf.finish())
}

/// The bytes, compressed as `FlateDecode` takes them.
pub(super) fn compressed(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(|error| error.to_string())
}

/// The name of the graphics state of an opacity in thousandths.
fn state_name(opacity: u16) -> String {
    format!("G{opacity}")
}

struct Page<'a> {
    content: Content,
    font: Font<'a>,
    /// Opacities in thousandths.
    opacities: BTreeSet<u16>,
}

impl Page<'_> {
    fn draw(&mut self, element: &Primitive) {
        match element {
            Primitive::Text {
                x,
                y,
                content,
                size,
                anchor,
                rotate,
                color,
                ..
            } => {
                self.fill(color.as_ref());
                self.text(
                    (*x, *y),
                    content,
                    f64::from(*size),
                    (*anchor, rotate.unwrap_or(0.0)),
                );
            }
            Primitive::Line {
                x1,
                y1,
                x2,
                y2,
                stroke,
                stroke_width,
                ..
            } => {
                self.stroke(stroke, *stroke_width, "");
                self.path(&[(*x1, *y1), (*x2, *y2)]);
                self.content.stroke();
            }
            Primitive::PolyLine {
                points,
                stroke,
                stroke_width,
                stroke_dasharray,
            } => {
                self.stroke(
                    stroke,
                    *stroke_width,
                    stroke_dasharray.as_deref().unwrap_or_default(),
                );
                self.path(points);
                self.content.stroke();
            }
            Primitive::Path(path) => {
                let parts = path.d.split('M').filter(|part| !part.is_empty());
                self.painted(
                    (path.fill.as_ref(), path.opacity),
                    Some(&path.stroke),
                    path.stroke_width,
                    |page| {
                        for part in parts {
                            let corners = part.trim_end_matches('Z').split('L').filter_map(point);
                            page.path(&corners.collect::<Vec<_>>());
                            if part.ends_with('Z') {
                                page.content.close_path();
                            }
                        }
                    },
                );
            }
            Primitive::Rect {
                x,
                y,
                width,
                height,
                fill,
                stroke,
                stroke_width,
                opacity,
            } => {
                let rect = [*x, *y, *width, *height].map(|value| value as f32);
                self.painted(
                    (Some(fill), *opacity),
                    stroke.as_ref(),
                    stroke_width.unwrap_or(1.0),
                    |page| {
                        page.content.rect(rect[0], rect[1], rect[2], rect[3]);
                    },
                );
            }
            Primitive::Circle {
                cx,
                cy,
                r,
                fill,
                fill_opacity,
                stroke,
                stroke_width,
            } => {
                self.painted(
                    (Some(fill), *fill_opacity),
                    stroke.as_ref(),
                    stroke_width.unwrap_or(1.0),
                    |page| {
                        page.circle((*cx, *cy), *r);
                    },
                );
            }
            // The canvas makes no others.
            _ => {}
        }
    }

    fn text(
        &mut self,
        (x, y): (f64, f64),
        text: &str,
        size: f64,
        (anchor, degrees): (TextAnchor, f64),
    ) {
        // `sanitize` escapes the dollar sign for kuva.
        let (glyphs, wide) = self.font.encode(&text.replace("\\$", "$"));
        let before = size
            * match anchor {
                TextAnchor::Start => 0.0,
                TextAnchor::Middle => wide / 2.0,
                TextAnchor::End => wide,
            };
        let (sin, cos) = degrees.to_radians().sin_cos();
        let matrix = [cos, sin, sin, -cos, x - before * cos, y - before * sin];
        self.content
            .begin_text()
            .set_font(FONT, size as f32)
            .set_text_matrix(matrix.map(|value| value as f32))
            .show(Str(&glyphs))
            .end_text();
    }

    fn path(&mut self, points: &[(f64, f64)]) {
        for (i, (x, y)) in points.iter().enumerate() {
            let (x, y) = (*x as f32, *y as f32);
            match i {
                0 => self.content.move_to(x, y),
                _ => self.content.line_to(x, y),
            };
        }
    }

    fn circle(&mut self, (x, y): (f64, f64), r: f64) {
        // The control points of a quarter of a circle.
        let k = 0.552_284_749_8 * r;
        let quarters = [
            [(r, k), (k, r), (0.0, r)],
            [(-k, r), (-r, k), (-r, 0.0)],
            [(-r, -k), (-k, -r), (0.0, -r)],
            [(k, -r), (r, -k), (r, 0.0)],
        ];
        let at = |(dx, dy): (f64, f64)| ((x + dx) as f32, (y + dy) as f32);
        let start = at((r, 0.0));
        self.content.move_to(start.0, start.1);
        for quarter in quarters {
            let [a, b, c] = quarter.map(at);
            self.content.cubic_to(a.0, a.1, b.0, b.1, c.0, c.1);
        }
        self.content.close_path();
    }

    /// Fills and strokes a path.
    fn painted(
        &mut self,
        (fill, opacity): (Option<&Color>, Option<f64>),
        stroke: Option<&Color>,
        width: f64,
        path: impl FnOnce(&mut Self),
    ) {
        let fill = fill.filter(|colour| rgb(colour).is_some());
        let stroke = stroke.filter(|colour| rgb(colour).is_some());
        self.content.save_state();
        self.fill(fill);
        if let Some(opacity) = opacity {
            let thousandths = (1000.0 * opacity.clamp(0.0, 1.0)).round() as u16;
            self.opacities.insert(thousandths);
            self.content
                .set_parameters(Name(state_name(thousandths).as_bytes()));
        }
        if let Some(stroke) = stroke {
            self.stroke(stroke, width, "");
        }
        path(self);
        match (fill, stroke) {
            (Some(_), Some(_)) => self.content.fill_nonzero_and_stroke(),
            (Some(_), None) => self.content.fill_nonzero(),
            (None, Some(_)) => self.content.stroke(),
            (None, None) => self.content.end_path(),
        };
        self.content.restore_state();
    }

    fn fill(&mut self, colour: Option<&Color>) {
        if let Some([red, green, blue]) = colour.and_then(rgb) {
            self.content.set_fill_rgb(red, green, blue);
        }
    }

    fn stroke(&mut self, colour: &Color, width: f64, dashes: &str) {
        if let Some([red, green, blue]) = rgb(colour) {
            self.content.set_stroke_rgb(red, green, blue);
        }
        let lengths = dashes
            .split(' ')
            .filter_map(|length| length.parse::<f32>().ok());
        self.content
            .set_line_width(width as f32)
            .set_line_cap(LineCapStyle::ButtCap)
            .set_dash_pattern(lengths, 0.0);
    }
}

/// The parts of a colour from 0 to 1; none for no colour.
fn rgb(colour: &Color) -> Option<[f32; 3]> {
    match colour {
        Color::Rgb(red, green, blue) => {
            Some([*red, *green, *blue].map(|part| f32::from(part) / 255.0))
        }
        _ => None,
    }
}

/// A point of a path, such as `1.5,2`.
fn point(text: &str) -> Option<(f64, f64)> {
    let (x, y) = text.split_once(',')?;
    Some((x.parse().ok()?, y.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::draw_curves;
    use super::super::tests::{learners, on};
    use super::*;

    #[test]
    fn a_pdf_has_the_size_of_the_figure_and_an_embedded_font() {
        let options = super::super::PlotOptions {
            size: Some((336.0, 240.0)),
            ..on(false, false)
        };
        let pdf = draw_curves(&learners(), &options)
            .expect("drawn")
            .pdf()
            .expect("a PDF");
        let text = String::from_utf8_lossy(&pdf);
        assert!(text.starts_with("%PDF-1.") && text.trim_end().ends_with("%%EOF"));
        assert!(
            text.contains("/MediaBox [0 0 252 180]"),
            "336 by 240 units in points: {:?}",
            text.split_once("/MediaBox").map(|(_, after)| &after[..30])
        );
        assert!(text.contains("+DejaVuSans") && text.contains("/FontFile2"));
        assert!(!text.contains("/CreationDate"));
        assert!(
            pdf.len() < 60_000,
            "only the glyphs that are used: {}",
            pdf.len()
        );
    }

    #[test]
    fn characters_that_the_font_lacks_are_drawn_as_boxes() {
        let bytes = file().expect("a font");
        let mut font = Font::new(&bytes).expect("a font");
        let (known, wide) = font.encode("Ω⁻⁴ − ×");
        assert!(known.chunks(2).all(|glyph| glyph != [0, 0]) && wide > 3.0);
        assert_eq!(font.encode("治").0, [0, 0]);
    }
}
