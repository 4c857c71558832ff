//! The PNG, drawn large and averaged down.

use std::error::Error;
use std::io::Cursor;

use kuva::backend::png::PngBackend;
use kuva::render::render::Scene;

use super::kuva_fixes::split_dashes;

/// PNG pixels for each SVG unit.
const PNG_SCALE: u32 = 2;

/// kuva draws the PNG this many times larger, and it is then averaged down: kuva smooths
/// lines across but not upwards, so that flat curves would show steps.
const OVERSAMPLING: u32 = 3;

/// Most pixels of a PNG, in millions: kuva needs 36 bytes for each.
const MOST: f64 = 25.0;

/// The scene as a PNG, with this many SVG units per unit of the scene.
pub(super) fn render(scene: &Scene, scale: f64) -> Result<Vec<u8>, String> {
    let side = |length: f64| f64::from(PNG_SCALE) * scale * length;
    let millions = side(scene.width) * side(scene.height) / 1e6;
    if millions > MOST {
        return Err(format!(
            "it would have {millions:.0} million pixels, and at most {MOST} are drawn; choose a smaller size, or SVG or PDF"
        ));
    }
    let mut drawn = Scene::new(scene.width, scene.height);
    drawn.elements = split_dashes(&scene.elements);
    let large = PngBackend::new()
        .with_scale((f64::from(PNG_SCALE * OVERSAMPLING) * scale) as f32)
        .render_scene(&drawn)?;
    average_down(&large).map_err(|error| error.to_string())
}

/// Averages each square of `OVERSAMPLING` by `OVERSAMPLING` pixels into one.
fn average_down(large: &[u8]) -> Result<Vec<u8>, Box<dyn Error>> {
    let mut reader = png::Decoder::new(Cursor::new(large)).read_info()?;
    let mut pixels = vec![0; reader.output_buffer_size().ok_or("too many pixels")?];
    let info = reader.next_frame(&mut pixels)?;
    if info.color_type != png::ColorType::Rgba {
        return Err("kuva wrote an unexpected kind of PNG".into());
    }

    let side = OVERSAMPLING as usize;
    let (width, height) = (info.width / OVERSAMPLING, info.height / OVERSAMPLING);
    let mut small = Vec::with_capacity(width as usize * height as usize * 3);
    let mut sums = vec![[0_usize; 3]; width as usize];
    // The background is opaque, so the fourth channel says nothing.
    for rows in pixels.chunks_exact(info.line_size * side) {
        sums.fill([0; 3]);
        for row in rows.chunks_exact(info.line_size) {
            for (sum, square) in sums.iter_mut().zip(row.chunks_exact(4 * side)) {
                for pixel in square.chunks_exact(4) {
                    (0..3).for_each(|channel| sum[channel] += usize::from(pixel[channel]));
                }
            }
        }
        small.extend(sums.iter().flatten().map(|sum| (sum / (side * side)) as u8));
    }

    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    // An SVG unit is 1/96 inch; said so, both pictures have the same size on paper.
    let per_metre = (f64::from(PNG_SCALE) * 96.0 / 0.0254).round() as u32;
    encoder.set_pixel_dims(Some(png::PixelDimensions {
        xppu: per_metre,
        yppu: per_metre,
        unit: png::Unit::Meter,
    }));
    encoder.write_header()?.write_image_data(&small)?;
    Ok(bytes)
}
