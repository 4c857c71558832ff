//! Corrections of kuva's scene before it is rendered.

use kuva::render::layout::ComputedLayout;
use kuva::render::render::{Primitive, Scene};

use super::axis::Axis;

const MINOR_TICK: f64 = 3.0;

/// Adds the ticks between the powers of ten.
pub(super) fn add_minor_ticks(
    scene: &mut Scene,
    frame: &ComputedLayout,
    x_axis: &Axis,
    y_axis: &Axis,
) {
    let mut add = |x1: f64, y1: f64, dx: f64, dy: f64| {
        scene.add(Primitive::Line {
            x1,
            y1,
            x2: x1 + dx,
            y2: y1 + dy,
            stroke: (&frame.theme.tick_color).into(),
            stroke_width: 1.0,
            stroke_dasharray: None,
        });
    };
    let (left, bottom) = (frame.margin_left, frame.height - frame.margin_bottom);
    for tick in x_axis.minor_ticks() {
        add(frame.map_x(tick), bottom, 0.0, MINOR_TICK);
    }
    for tick in y_axis.minor_ticks() {
        add(left, frame.map_y(tick), -MINOR_TICK, 0.0);
    }
}

/// Names each clip path after its position instead of kuva's process-wide number, so that equal pictures are equal and
/// several pictures fit one HTML page.
pub(super) fn name_clip_paths(scene: &mut Scene) {
    for element in &mut scene.elements {
        if let Primitive::ClipStart {
            x,
            y,
            width,
            height,
            id,
        } = element
        {
            let name = format!("plot-area-{x:.2}-{y:.2}-{width:.2}-{height:.2}");
            let old = std::mem::replace(id, name);
            for definition in &mut scene.defs {
                *definition = definition.replace(&format!("\"{old}\""), &format!("\"{id}\""));
            }
        }
    }
}

/// Replaces each dashed line by its dashes, for the PNG backend.
pub(super) fn split_dashes(scene: &mut Scene) {
    scene.elements = std::mem::take(&mut scene.elements)
        .into_iter()
        .flat_map(|element| {
            let (points, pattern, stroke, stroke_width) = match element {
                Primitive::PolyLine {
                    points,
                    stroke,
                    stroke_width,
                    stroke_dasharray: Some(pattern),
                } => (points, pattern, stroke, stroke_width),
                Primitive::Line {
                    x1,
                    y1,
                    x2,
                    y2,
                    stroke,
                    stroke_width,
                    stroke_dasharray: Some(pattern),
                } => (vec![(x1, y1), (x2, y2)], pattern, stroke, stroke_width),
                other => return vec![other],
            };
            let lengths: Vec<f64> = pattern.split(' ').filter_map(|n| n.parse().ok()).collect();
            dash_pieces(&points, &lengths, stroke_width)
                .into_iter()
                .map(|points| Primitive::PolyLine {
                    points,
                    stroke: stroke.clone(),
                    stroke_width,
                    stroke_dasharray: None,
                })
                .collect()
        })
        .collect();
}

/// Cuts a line into the dashes of a pattern of dash and gap lengths.
pub(super) fn dash_pieces(
    line: &[(f64, f64)],
    pattern: &[f64],
    width: f64,
) -> Vec<Vec<(f64, f64)>> {
    // The PNG backend rounds the ends of a line and the SVG does not: each dash is shortened by its round ends.
    let mut lengths = pattern
        .iter()
        .enumerate()
        .cycle()
        .map(|(turn, length)| match turn % 2 {
            0 => (length - width).max(0.1),
            _ => length + width,
        });
    let Some(mut left) = lengths.next() else {
        return vec![line.to_vec()];
    };
    let mut pieces = Vec::new();
    let mut piece: Vec<_> = line.first().copied().into_iter().collect();
    let mut drawing = true;
    for pair in line.windows(2) {
        let (mut from, to) = (pair[0], pair[1]);
        let mut length = (to.0 - from.0).hypot(to.1 - from.1);
        while length >= left {
            let part = left / length;
            from.0 += part * (to.0 - from.0);
            from.1 += part * (to.1 - from.1);
            piece.push(from);
            match drawing {
                true => pieces.push(std::mem::take(&mut piece)),
                false => piece = vec![from],
            }
            drawing = !drawing;
            length -= left;
            left = lengths.next().unwrap_or(f64::INFINITY);
        }
        left -= length;
        if drawing && length > 0.0 {
            piece.push(to);
        }
    }
    if drawing && piece.len() > 1 {
        pieces.push(piece);
    }
    pieces
}
