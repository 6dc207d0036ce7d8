//! PNG from SVG, with the typeface carried in the program: figures look the same on a machine
//! without any.

use anyhow::{Context, Result};
use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree};

use super::letters::Letters;

/// Draws an SVG, `zoom` pixels to its unit.
pub fn render(svg: &str, zoom: f32) -> Result<Vec<u8>> {
    let svg = Letters::new()?.outlined(svg);
    let tree = Tree::from_str(&svg, &Options::default()).context("the figure cannot be drawn")?;
    let size = tree.size();
    let (width, height) = (size.width() * zoom, size.height() * zoom);
    let mut picture = Pixmap::new(width.ceil() as u32, height.ceil() as u32)
        .context("the figure is too large")?;
    resvg::render(
        &tree,
        Transform::from_scale(zoom, zoom),
        &mut picture.as_mut(),
    );
    picture.encode_png().context("the figure cannot be encoded")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{standalone, text};

    #[test]
    fn text_appears_without_the_fonts_of_a_system() {
        let dark = |content: &str| {
            let png = render(&standalone(60.0, 20.0, "t", content), 1.0).unwrap();
            let picture = Pixmap::decode_png(&png).unwrap();
            assert_eq!((picture.width(), picture.height()), (60, 20));
            picture.pixels().iter().filter(|p| p.red() < 128).count()
        };
        assert_eq!(dark(""), 0);
        assert!(dark(&text(2.0, 15.0, "ink", "", "ĝ σ 10⁻⁹")) > 20);
    }
}
