//! Heat maps as small PNG images: one pixel per entry, colors by sign, transparent at zero so that
//! they suit light and dark backgrounds.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

/// Maximum width and height in pixels. Of entries that share a pixel, the largest in magnitude is
/// shown.
const MAX_PIXELS: usize = 512;

/// Returns an image of values from −1 (blue) to 1 (red) as a `data:` URL.
pub fn data_url(rows: usize, columns: usize, value: impl Fn(usize, usize) -> f64) -> String {
    let (height, width) = (rows.min(MAX_PIXELS), columns.min(MAX_PIXELS));
    let mut pixels = Vec::with_capacity(4 * width * height);
    for y in 0..height {
        for x in 0..width {
            let mut extreme = 0.0_f64;
            for a in y * rows / height..((y + 1) * rows / height) {
                for b in x * columns / width..((x + 1) * columns / width) {
                    let v = value(a, b);
                    if v.abs() > extreme.abs() {
                        extreme = v;
                    }
                }
            }
            pixels.extend(color(extreme));
        }
    }
    let bytes = encode(width, height, &pixels).unwrap_or_default();
    format!("data:image/png;base64,{}", BASE64_STANDARD.encode(bytes))
}

/// Red, green, blue and opacity of a value.
fn color(value: f64) -> [u8; 4] {
    let opacity = (value.abs().min(1.0).powf(0.7) * 255.0).round() as u8;
    if value > 0.0 {
        [222, 73, 36, opacity]
    } else {
        [32, 119, 196, opacity]
    }
}

/// Encodes RGBA pixels as PNG.
fn encode(width: usize, height: usize, pixels: &[u8]) -> Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width as u32, height as u32);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_have_the_colors_of_their_values() {
        let url = data_url(1, 3, |_, column| [1.0, 0.0, -1.0][column]);
        let bytes = url.strip_prefix("data:image/png;base64,").unwrap();
        let bytes = BASE64_STANDARD.decode(bytes).unwrap();
        let decoder = png::Decoder::new(std::io::Cursor::new(bytes));
        let mut reader = decoder.read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let size = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((size.width, size.height), (3, 1));
        assert_eq!(pixels[..4], [222, 73, 36, 255]);
        assert_eq!(pixels[7], 0, "transparent at zero");
        assert_eq!(pixels[8..], [32, 119, 196, 255]);
        // The size of the image is limited.
        assert!(data_url(2000, 2000, |a, b| if a == b { 1.0 } else { 0.0 }).len() < 1 << 16);
    }
}
