//! Colour differences of the palette: CIEDE2000, also as colour-blind readers see it (Machado, Oliveira and Fernandes, 2009), and
//! lightness for print in grey.

use super::*;

/// Full protanopia, deuteranopia and tritanopia, for linear RGB.
const BLIND: [[[f64; 3]; 3]; 3] = [
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
];

const XYZ: [[f64; 3]; 3] = [
    [0.4124564, 0.3575761, 0.1804375],
    [0.2126729, 0.7151522, 0.0721750],
    [0.0193339, 0.1191920, 0.9503041],
];

fn times(matrix: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    matrix.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum())
}

fn linear(colour: Rgb) -> [f64; 3] {
    colour.map(|part| {
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 {
            part / 12.92
        } else {
            ((part + 0.055) / 1.055).powf(2.4)
        }
    })
}

/// Lightness, green to red, and blue to yellow (CIELAB).
fn lab(linear: [f64; 3]) -> [f64; 3] {
    let white = times(&XYZ, [1.0; 3]);
    let xyz = times(&XYZ, linear);
    let [x, y, z] = [0, 1, 2].map(|i| {
        let part = xyz[i] / white[i];
        if part > 216.0 / 24389.0 {
            part.cbrt()
        } else {
            (24389.0 / 27.0 * part + 16.0) / 116.0
        }
    });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn ciede2000(one: [f64; 3], two: [f64; 3]) -> f64 {
    let power = |c: f64| (c.powi(7) / (c.powi(7) + 25_f64.powi(7))).sqrt();
    let g = 0.5 * (1.0 - power((one[1].hypot(one[2]) + two[1].hypot(two[2])) / 2.0));
    let polar = |[l, a, b]: [f64; 3]| {
        let a = a * (1.0 + g);
        (l, a.hypot(b), b.atan2(a).to_degrees().rem_euclid(360.0))
    };
    let ((l1, c1, h1), (l2, c2, h2)) = (polar(one), polar(two));
    let turn = (h2 - h1 + 180.0).rem_euclid(360.0) - 180.0;
    let hue = 2.0 * (c1 * c2).sqrt() * (turn / 2.0).to_radians().sin();
    let (l, c) = ((l1 + l2) / 2.0, (c1 + c2) / 2.0);
    let h = match ((h1 - h2).abs() <= 180.0, h1 + h2 < 360.0) {
        (true, _) => (h1 + h2) / 2.0,
        (false, true) => (h1 + h2 + 360.0) / 2.0,
        (false, false) => (h1 + h2 - 360.0) / 2.0,
    };
    let cos = |degrees: f64| degrees.to_radians().cos();
    let t = 1.0 - 0.17 * cos(h - 30.0) + 0.24 * cos(2.0 * h) + 0.32 * cos(3.0 * h + 6.0)
        - 0.2 * cos(4.0 * h - 63.0);
    let away = (l - 50.0).powi(2);
    let dl = (l2 - l1) / (1.0 + 0.015 * away / (20.0 + away).sqrt());
    let dc = (c2 - c1) / (1.0 + 0.045 * c);
    let dh = hue / (1.0 + 0.015 * c * t);
    let rotation = 60.0 * (-((h - 275.0) / 25.0).powi(2)).exp();
    let r = -rotation.to_radians().sin() * 2.0 * power(c);
    (dl * dl + dc * dc + dh * dh + r * dc * dh).sqrt()
}

#[test]
fn the_difference_is_that_of_the_published_examples() {
    // Sharma, Wu and Dalal (2005), pairs 1, 4 and 17.
    for (one, two, expected) in [
        ([50.0, 2.6772, -79.7751], [50.0, 0.0, -82.7485], 2.0425),
        ([50.0, -1.3802, -84.2814], [50.0, 0.0, -82.7485], 1.0000),
        ([50.0, 2.5, 0.0], [73.0, 25.0, -18.0], 27.1492),
    ] {
        assert!((ciede2000(one, two) - expected).abs() < 1e-4);
    }
}

/// The grey of a colour, from 0 to 100 (ITU-R BT.601).
fn luma(colour: Rgb) -> f64 {
    let [red, green, blue] = colour.map(f64::from);
    (0.299 * red + 0.587 * green + 0.114 * blue) / 2.55
}

#[test]
fn twelve_lines_can_be_told_apart() {
    for (i, one) in COLOURS.iter().enumerate() {
        let lightness = lab(linear(*one))[0];
        assert!(lightness < 76.0, "too pale for white paper: {i}");
        for (j, two) in COLOURS.iter().enumerate().skip(i + 1) {
            let seen = [lab(linear(*one)), lab(linear(*two))];
            assert!(ciede2000(seen[0], seen[1]) > 20.0, "{i} {j}");
            let same_dashes = i / PER_DASH == j / PER_DASH;
            // Printers turn colours into grey by lightness or by luma.
            let grey = (seen[0][0] - seen[1][0])
                .abs()
                .min((luma(*one) - luma(*two)).abs());
            assert!(!same_dashes || grey > 14.0, "in grey: {i} {j} {grey}");
            for matrix in &BLIND {
                let blind = [one, two].map(|colour| {
                    lab(times(matrix, linear(*colour)).map(|part| part.clamp(0.0, 1.0)))
                });
                let least = if same_dashes { 16.0 } else { 6.0 };
                let difference = ciede2000(blind[0], blind[1]);
                assert!(difference > least, "colour-blind: {i} {j} {difference}");
            }
        }
    }
}

#[test]
fn styles_repeat_after_48_lines() {
    let style = Style::Learners;
    let looks: std::collections::BTreeSet<String> =
        (0..48).map(|i| format!("{:?}", style.result(i))).collect();
    assert_eq!(looks.len(), 48);
    assert_eq!(
        format!("{:?}", style.result(0)),
        format!("{:?}", style.result(48))
    );
    // The first three are solid.
    assert!(
        (0..3).all(|i| style.result(i).dashes.is_empty()) && !style.result(3).dashes.is_empty()
    );
}
