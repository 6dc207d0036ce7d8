//! A pattern over a head seen from above.

use std::fmt::Write;

use super::heat;

/// Pixels each way.
const PIXELS: usize = 64;
/// Fewer places than this do not make a picture.
const FEWEST: usize = 4;

/// The head, the nose at the top, with one dot per channel: red is positive, blue negative. None if too
/// few channels have a place.
pub fn draw(values: &[f64], positions: &[Option<[f64; 2]>], title: &str) -> Option<String> {
    let known: Vec<([f64; 2], f64)> = positions
        .iter()
        .zip(values)
        .filter_map(|(place, value)| Some(((*place)?, *value)))
        .filter(|(place, value)| place.iter().all(|x| x.is_finite()) && value.is_finite())
        .collect();
    let largest = known.iter().fold(0.0_f64, |m, (_, v)| m.max(v.abs()));
    let places = within_the_head(&known)?;
    let value = |row: usize, column: usize| {
        let at = |k: usize| (2 * k + 1) as f64 / PIXELS as f64 - 1.0;
        let (x, y) = (at(column), -at(row));
        if x.hypot(y) > 1.0 {
            return 0.0;
        }
        let (mut sum, mut total) = (0.0, 0.0);
        for ([a, b], (_, v)) in places.iter().zip(&known) {
            // Near channels count, far ones hardly do; at a channel, it alone.
            let weight = ((x - a).powi(2) + (y - b).powi(2) + 1e-4).powi(-2);
            sum += weight * v;
            total += weight;
        }
        sum / total / largest
    };
    let picture = heat::data(PIXELS, PIXELS, value);
    let dots: String = places.iter().fold(String::new(), |mut dots, [x, y]| {
        let _ = write!(
            dots,
            "<circle class=\"ink\" cx=\"{x:.3}\" cy=\"{:.3}\" r=\".018\"/>",
            -y
        );
        dots
    });
    Some(format!(
        "<svg class=\"topography\" viewBox=\"-1.12 -1.22 2.24 2.36\"><title>{}</title>\
         <image href=\"{picture}\" x=\"-1\" y=\"-1\" width=\"2\" height=\"2\"/>\
         <g class=\"frame\" style=\"stroke-width:.02\"><circle r=\"1\"/>\
         <path d=\"M-.13 -.99L0 -1.16L.13 -.99M-1 -.16q-.1 .16 0 .32M1 -.16q.1 .16 0 .32\"/></g>{dots}</svg>",
        super::escape(title)
    ))
}

/// The places moved and scaled into a circle of radius 1.
fn within_the_head(known: &[([f64; 2], f64)]) -> Option<Vec<[f64; 2]>> {
    if known.len() < FEWEST {
        return None;
    }
    let middle = [0, 1].map(|axis| {
        let along = known.iter().map(|(place, _)| place[axis]);
        let low = along.clone().fold(f64::INFINITY, f64::min);
        0.5 * (low + along.fold(f64::NEG_INFINITY, f64::max))
    });
    let centred = |place: &[f64; 2]| [place[0] - middle[0], place[1] - middle[1]];
    let radius = known
        .iter()
        .map(|(place, _)| centred(place))
        .fold(0.0_f64, |m, [x, y]| m.max(x.hypot(y)));
    (radius > 0.0).then(|| {
        let place = |(place, _): &([f64; 2], f64)| centred(place).map(|x| 0.93 * x / radius);
        known.iter().map(place).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_fill_the_head_and_too_few_make_none() {
        let square = [[5.0, 5.0], [7.0, 5.0], [5.0, 7.0], [7.0, 7.0]].map(Some);
        let drawn = draw(&[1.0, -1.0, 0.5, 0.0], &square, "a < b").unwrap();
        assert_eq!(drawn.matches("class=\"ink\"").count(), 4);
        assert!(drawn.contains("cx=\"0.658\" cy=\"0.658\"") && drawn.contains("a &lt; b"));
        assert!(draw(&[1.0; 3], &square[..3], "").is_none());
        assert!(draw(&[1.0; 4], &[square[0]; 4], "").is_none());
        assert!(draw(&[1.0; 4], &[None; 4], "").is_none());
    }
}
