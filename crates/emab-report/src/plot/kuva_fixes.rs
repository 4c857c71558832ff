//! Corrections of kuva's scene before it is rendered as PNG.

use kuva::render::render::Primitive;

/// The elements with each dashed line replaced by its dashes, for the PNG backend.
pub(super) fn split_dashes(elements: &[Primitive]) -> Vec<Primitive> {
    let pieces = elements.iter().flat_map(|element| {
        let Primitive::PolyLine {
            points,
            stroke,
            stroke_width,
            stroke_dasharray: Some(pattern),
        } = element
        else {
            return vec![element.clone()];
        };
        let lengths: Vec<f64> = pattern.split(' ').filter_map(|n| n.parse().ok()).collect();
        dash_pieces(points, &lengths, *stroke_width)
            .into_iter()
            .map(|points| Primitive::PolyLine {
                points,
                stroke: stroke.clone(),
                stroke_width: *stroke_width,
                stroke_dasharray: None,
            })
            .collect()
    });
    pieces.collect()
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
