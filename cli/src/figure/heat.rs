//! Heat maps as small pictures: one pixel an entry, colours by sign, and transparent at zero so that
//! they suit any background.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use resvg::tiny_skia::{ColorU8, Pixmap};

/// The largest picture; more entries are summarised by the largest of their neighbours.
const LARGEST: usize = 512;

/// Values from −1 (blue) to 1 (red), as an `<img>` that fills its place.
pub fn image(
    rows: usize,
    columns: usize,
    description: &str,
    value: impl Fn(usize, usize) -> f64,
) -> String {
    format!(
        "<img class=\"heat\" alt=\"{}\" src=\"{}\">",
        super::escape(description),
        data(rows, columns, value)
    )
}

/// The picture itself, as a `data:` address.
pub fn data(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> String {
    let (height, width) = (rows.min(LARGEST), columns.min(LARGEST));
    let Some(mut picture) = Pixmap::new(width as u32, height as u32) else {
        return String::new();
    };
    for (k, pixel) in picture.pixels_mut().iter_mut().enumerate() {
        let (y, x) = (k / width, k % width);
        let mut extreme = 0.0_f64;
        for a in y * rows / height..((y + 1) * rows / height) {
            for b in x * columns / width..((x + 1) * columns / width) {
                let v = value(a, b);
                if v.abs() > extreme.abs() {
                    extreme = v;
                }
            }
        }
        let strength = extreme.abs().min(1.0).powf(0.7);
        let (r, g, b) = if extreme > 0.0 {
            (222, 73, 36)
        } else {
            (32, 119, 196)
        };
        let alpha = (strength * 255.0).round() as u8;
        *pixel = ColorU8::from_rgba(r, g, b, alpha).premultiply();
    }
    let bytes = picture.encode_png().unwrap_or_default();
    format!("data:image/png;base64,{}", BASE64_STANDARD.encode(bytes))
}
