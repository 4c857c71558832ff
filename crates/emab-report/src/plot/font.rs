//! The font of a PDF: DejaVu Sans, as in the PNG, reduced to the glyphs that a figure uses.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kuva::backend::svg::SvgBackend;
use kuva::render::render::Scene;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Filter, Finish, Name, Pdf, Rect, Ref, Str};
use subsetter::GlyphRemapper;
use ttf_parser::{Face, GlyphId};

use super::pdf::compressed;

/// The name of the font in a PDF; six letters mark a subset.
const NAME: Name<'static> = Name(b"EMABAA+DejaVuSans");
const SYSTEM: SystemInfo<'static> = SystemInfo {
    registry: Str(b"Adobe"),
    ordering: Str(b"Identity"),
    supplement: 0,
};

/// The objects of an embedded font.
pub(super) struct FontRefs {
    pub(super) font: Ref,
    pub(super) descendant: Ref,
    pub(super) descriptor: Ref,
    pub(super) file: Ref,
    pub(super) to_unicode: Ref,
}

/// The glyphs of the characters used so far.
pub(super) struct Font<'a> {
    bytes: &'a [u8],
    face: Face<'a>,
    remapper: GlyphRemapper,
    characters: BTreeMap<u16, char>,
}

/// The bytes of the font file. kuva exports it only inside an SVG document with an embedded font.
pub(super) fn file() -> Result<Vec<u8>, String> {
    let svg = SvgBackend::new()
        .with_embedded_font(true)
        .render_scene(&Scene::new(1.0, 1.0));
    let text = svg.split_once("base64,").map(|(_, after)| after);
    let text = text.and_then(|after| after.split([')', '\'', '"']).next());
    let text = text.ok_or("kuva embeds no font")?;
    STANDARD
        .decode(text)
        .map_err(|error| format!("kuva's font: {error}"))
}

impl<'a> Font<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Result<Self, String> {
        Ok(Self {
            bytes,
            face: Face::parse(bytes, 0).map_err(|error| format!("kuva's font: {error}"))?,
            remapper: GlyphRemapper::new(),
            characters: BTreeMap::new(),
        })
    }

    /// A length of the font in thousandths of its size.
    fn thousandths(&self, length: f32) -> f32 {
        1000.0 * length / f32::from(self.face.units_per_em())
    }

    /// The numbers of the glyphs of a text in the subset, as bytes of a PDF, and the width of the text in units of the font size. A character that
    /// the font does not have is a box.
    pub(super) fn encode(&mut self, text: &str) -> (Vec<u8>, f64) {
        let (mut bytes, mut wide) = (Vec::new(), 0.0);
        for c in text.chars() {
            let glyph = self.face.glyph_index(c).unwrap_or(GlyphId(0));
            let number = self.remapper.remap(glyph.0);
            self.characters.entry(number).or_insert(c);
            bytes.extend(number.to_be_bytes());
            wide += f64::from(self.advance(glyph)) / 1000.0;
        }
        (bytes, wide)
    }

    fn advance(&self, glyph: GlyphId) -> f32 {
        self.thousandths(f32::from(self.face.glyph_hor_advance(glyph).unwrap_or(0)))
    }

    /// Writes the font with the glyphs that were used.
    pub(super) fn write(&self, pdf: &mut Pdf, refs: &FontRefs) -> Result<(), String> {
        let subset = subsetter::subset(self.bytes, 0, &self.remapper);
        let subset = subset.map_err(|error| format!("the font cannot be reduced: {error}"))?;
        pdf.type0_font(refs.font)
            .base_font(NAME)
            .encoding_predefined(Name(b"Identity-H"))
            .descendant_font(refs.descendant)
            .to_unicode(refs.to_unicode);
        let mut cid = pdf.cid_font(refs.descendant);
        cid.subtype(CidFontType::Type2)
            .base_font(NAME)
            .system_info(SYSTEM)
            .font_descriptor(refs.descriptor)
            .cid_to_gid_map_predefined(Name(b"Identity"));
        let widths = self
            .remapper
            .remapped_gids()
            .map(|old| self.advance(GlyphId(old)));
        cid.widths().consecutive(0, widths);
        cid.finish();

        let round = |length: i16| self.thousandths(f32::from(length));
        let bounds = self.face.global_bounding_box();
        let (descender, ascender) = (round(self.face.descender()), round(self.face.ascender()));
        pdf.font_descriptor(refs.descriptor)
            .name(NAME)
            .flags(FontFlags::NON_SYMBOLIC)
            .bbox(Rect::new(
                round(bounds.x_min),
                round(bounds.y_min),
                round(bounds.x_max),
                round(bounds.y_max),
            ))
            .italic_angle(0.0)
            .ascent(ascender)
            .descent(descender)
            .cap_height(self.face.capital_height().map_or(ascender, round))
            .stem_v(80.0)
            .font_file2(refs.file);
        let file = compressed(&subset)?;
        pdf.stream(refs.file, &file)
            .filter(Filter::FlateDecode)
            .pair(
                Name(b"Length1"),
                i32::try_from(subset.len()).unwrap_or(i32::MAX),
            );
        let mut unicode = UnicodeCmap::new(Name(b"Custom"), SYSTEM);
        for (glyph, c) in &self.characters {
            unicode.pair(*glyph, *c);
        }
        pdf.cmap(refs.to_unicode, &unicode.finish());
        Ok(())
    }
}
