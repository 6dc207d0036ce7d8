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
    let known = gathered(values, positions);
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

/// The largest size of a value that has a place.
pub fn largest(values: &[f64], positions: &[Option<[f64; 2]>]) -> f64 {
    gathered(values, positions)
        .iter()
        .fold(0.0_f64, |m, (_, v)| m.max(v.abs()))
}

/// Values with places, each place once: of several channels at one place, as gradiometers are, the root of the
/// sum of squares.
fn gathered(values: &[f64], positions: &[Option<[f64; 2]>]) -> Vec<([f64; 2], f64)> {
    let mut known: Vec<([f64; 2], f64)> = Vec::new();
    for (place, value) in positions.iter().zip(values) {
        let Some(place) = place.filter(|place| place.iter().all(|x| x.is_finite())) else {
            continue;
        };
        if !value.is_finite() {
            continue;
        }
        match known.iter_mut().find(|(other, _)| *other == place) {
            Some((_, sum)) => *sum = sum.hypot(*value),
            None => known.push((place, *value)),
        }
    }
    known
}

/// What the colors of a map mean: from minus the largest value to it, in a unit.
pub fn color_bar(largest: f64, unit: &str) -> String {
    let picture = heat::data(1, 64, |_, column| (2.0 * column as f64 + 1.0) / 64.0 - 1.0);
    let label = format!("{} {unit}", crate::format::short(largest));
    let label = super::escape(label.trim());
    format!(
        "<svg class=\"topography-bar\" viewBox=\"0 0 200 26\" font-size=\"11\" role=\"img\" aria-label=\"from \
         minus {label} to {label}\"><image href=\"{picture}\" x=\"50\" y=\"2\" width=\"100\" height=\"7\" \
         preserveAspectRatio=\"none\"/><rect class=\"frame\" x=\"50\" y=\"2\" width=\"100\" height=\"7\"/>\
         <text class=\"soft\" x=\"50\" y=\"22\" text-anchor=\"middle\">−{label}</text>\
         <text class=\"soft\" x=\"150\" y=\"22\" text-anchor=\"middle\">{label}</text></svg>"
    )
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
    let centered = |place: &[f64; 2]| [place[0] - middle[0], place[1] - middle[1]];
    let radius = known
        .iter()
        .map(|(place, _)| centered(place))
        .fold(0.0_f64, |m, [x, y]| m.max(x.hypot(y)));
    (radius > 0.0).then(|| {
        let place = |(place, _): &([f64; 2], f64)| centered(place).map(|x| 0.93 * x / radius);
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
        // Two at one place are one dot, of their root sum of squares.
        let twice = [square[0], square[0], square[1], square[2], square[3]];
        let values = [3.0, -4.0, 1.0, 1.0, 1.0];
        let drawn = draw(&values, &twice, "").unwrap();
        assert_eq!(drawn.matches("class=\"ink\"").count(), 4);
        assert_eq!(largest(&values, &twice), 5.0);
        assert!(color_bar(5.0, "fT").contains(">5.00 fT<"));
        assert!(draw(&[1.0; 4], &[None; 4], "").is_none());
    }
}
