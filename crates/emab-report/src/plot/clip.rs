//! Cuts lines and areas at the edges of the plot area: kuva's PNG backend ignores clip paths.

pub(super) type Point = (f64, f64);

/// The rectangle between the axes.
#[derive(Clone, Copy)]
pub(super) struct Area {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) right: f64,
    pub(super) bottom: f64,
}

impl Area {
    pub(super) fn contains(&self, (x, y): Point) -> bool {
        (self.left..=self.right).contains(&x) && (self.top..=self.bottom).contains(&y)
    }

    /// The edges: whether a point is on the inner side, by the sign, and how far.
    fn edges(&self) -> [impl Fn(Point) -> f64 + use<>; 4] {
        let Area {
            left,
            top,
            right,
            bottom,
        } = *self;
        let sides = [
            (1.0, 0.0, -left),
            (-1.0, 0.0, right),
            (0.0, 1.0, -top),
            (0.0, -1.0, bottom),
        ];
        sides.map(|(a, b, c)| move |(x, y): Point| a * x + b * y + c)
    }

    /// The part of a line between two points that is inside (Cyrus and Beck).
    fn segment(&self, from: Point, to: Point) -> Option<(Point, Point)> {
        let (mut enter, mut leave) = (0.0_f64, 1.0_f64);
        for inner in self.edges() {
            let (a, b) = (inner(from), inner(to));
            match (a < 0.0, b < 0.0) {
                (true, true) => return None,
                (true, false) => enter = enter.max(a / (a - b)),
                (false, true) => leave = leave.min(a / (a - b)),
                (false, false) => {}
            }
        }
        let at = |part: f64| match part {
            0.0 => from,
            1.0 => to,
            part => between(from, to, part),
        };
        (enter <= leave).then(|| (at(enter), at(leave)))
    }

    /// The parts of a line through points that are inside.
    pub(super) fn line(&self, points: &[Point]) -> Vec<Vec<Point>> {
        let mut parts: Vec<Vec<Point>> = Vec::new();
        for pair in points.windows(2) {
            let Some((from, to)) = self.segment(pair[0], pair[1]) else {
                continue;
            };
            match parts.last_mut() {
                Some(part) if part.last() == Some(&from) => part.push(to),
                _ => parts.push(vec![from, to]),
            }
        }
        parts
    }

    /// The part of a polygon that is inside (Sutherland and Hodgman).
    pub(super) fn polygon(&self, corners: &[Point]) -> Vec<Point> {
        self.edges()
            .iter()
            .fold(corners.to_vec(), |corners, inner| {
                let mut kept = Vec::with_capacity(corners.len() + 4);
                let before = corners.iter().cycle().skip(corners.len().saturating_sub(1));
                for (from, to) in before.zip(&corners) {
                    let (a, b) = (inner(*from), inner(*to));
                    if (a < 0.0) != (b < 0.0) {
                        kept.push(between(*from, *to, a / (a - b)));
                    }
                    if b >= 0.0 {
                        kept.push(*to);
                    }
                }
                kept
            })
    }
}

fn between(from: Point, to: Point, part: f64) -> Point {
    (
        from.0 + part * (to.0 - from.0),
        from.1 + part * (to.1 - from.1),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: Area = Area {
        left: 0.0,
        top: 0.0,
        right: 1.0,
        bottom: 1.0,
    };

    #[test]
    fn a_line_is_cut_where_it_leaves_and_enters() {
        let line = [
            (-1.0, 0.5),
            (0.5, 0.5),
            (0.5, 2.0),
            (0.75, 2.0),
            (0.75, 0.0),
        ];
        let parts = UNIT.line(&line);
        assert_eq!(
            parts,
            [
                vec![(0.0, 0.5), (0.5, 0.5), (0.5, 1.0)],
                vec![(0.75, 1.0), (0.75, 0.0)]
            ]
        );
        assert!(UNIT.line(&[(2.0, 0.0), (3.0, 1.0)]).is_empty());
        // It passes a corner outside.
        assert!(UNIT.line(&[(-1.0, 0.5), (0.5, -1.0)]).is_empty());
    }

    #[test]
    fn an_area_is_cut_at_all_edges() {
        let cut = UNIT.polygon(&[(-1.0, -1.0), (2.0, -1.0), (2.0, 2.0), (-1.0, 2.0)]);
        assert_eq!(cut.len(), 4);
        assert!(cut.iter().all(|corner| UNIT.contains(*corner)));
        assert!(
            UNIT.polygon(&[(2.0, 2.0), (3.0, 2.0), (3.0, 3.0)])
                .is_empty()
        );
        assert!(UNIT.polygon(&[]).is_empty());
    }
}
