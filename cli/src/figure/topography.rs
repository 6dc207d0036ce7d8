//! Topographic maps: a pattern on a head seen from above.

use std::fmt::Write;

use super::heat;

/// Width and height in pixels.
const PIXELS: usize = 64;
/// Minimum number of positions for a map.
const MIN_POSITIONS: usize = 4;

/// Draws a topographic map: a head with the nose at the top and one dot per channel. Positive
/// values are red, negative values blue. Returns None if too few channels have a position.
pub fn draw(values: &[f64], positions: &[Option<[f64; 2]>], title: &str) -> Option<String> {
    let known = values_by_position(values, positions);
    let largest = known.iter().fold(0.0_f64, |m, (_, v)| m.max(v.abs()));
    let points = fit_to_head(&known)?;
    let value = |row: usize, column: usize| {
        let at = |k: usize| (2 * k + 1) as f64 / PIXELS as f64 - 1.0;
        let (x, y) = (at(column), -at(row));
        if x.hypot(y) > 1.0 {
            return 0.0;
        }
        let (mut sum, mut total) = (0.0, 0.0);
        for ([a, b], (_, v)) in points.iter().zip(&known) {
            // Interpolate by inverse distances to the fourth power.
            let weight = ((x - a).powi(2) + (y - b).powi(2) + 1e-4).powi(-2);
            sum += weight * v;
            total += weight;
        }
        sum / total / largest
    };
    let picture = heat::data_url(PIXELS, PIXELS, value);
    let dots: String = points.iter().fold(String::new(), |mut dots, [x, y]| {
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

/// Returns the largest magnitude of the values that have a position.
pub fn largest(values: &[f64], positions: &[Option<[f64; 2]>]) -> f64 {
    values_by_position(values, positions)
        .iter()
        .fold(0.0_f64, |m, (_, v)| m.max(v.abs()))
}

/// Collects values by position. Channels at equal positions, such as pairs of gradiometers, give
/// the root of the sum of squares.
fn values_by_position(values: &[f64], positions: &[Option<[f64; 2]>]) -> Vec<([f64; 2], f64)> {
    let mut known: Vec<([f64; 2], f64)> = Vec::new();
    for (position, value) in positions.iter().zip(values) {
        let Some(position) = position.filter(|position| position.iter().all(|x| x.is_finite()))
        else {
            continue;
        };
        if !value.is_finite() {
            continue;
        }
        match known.iter_mut().find(|(other, _)| *other == position) {
            Some((_, sum)) => *sum = sum.hypot(*value),
            None => known.push((position, *value)),
        }
    }
    known
}

/// Draws the color bar of a map, from minus the largest value to plus the largest value.
pub fn color_bar(largest: f64, unit: &str) -> String {
    let picture = heat::data_url(1, 64, |_, column| (2.0 * column as f64 + 1.0) / 64.0 - 1.0);
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

/// Moves and scales the positions into a circle of radius 1.
fn fit_to_head(known: &[([f64; 2], f64)]) -> Option<Vec<[f64; 2]>> {
    if known.len() < MIN_POSITIONS {
        return None;
    }
    let center = [0, 1].map(|axis| {
        let along = known.iter().map(|(point, _)| point[axis]);
        let low = along.clone().fold(f64::INFINITY, f64::min);
        0.5 * (low + along.fold(f64::NEG_INFINITY, f64::max))
    });
    let centered = |point: &[f64; 2]| [point[0] - center[0], point[1] - center[1]];
    let radius = known
        .iter()
        .map(|(point, _)| centered(point))
        .fold(0.0_f64, |m, [x, y]| m.max(x.hypot(y)));
    (radius > 0.0).then(|| {
        let scaled = |(point, _): &([f64; 2], f64)| centered(point).map(|x| 0.93 * x / radius);
        known.iter().map(scaled).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_fill_the_head_and_too_few_give_none() {
        let square = [[5.0, 5.0], [7.0, 5.0], [5.0, 7.0], [7.0, 7.0]].map(Some);
        let drawn = draw(&[1.0, -1.0, 0.5, 0.0], &square, "a < b").unwrap();
        assert_eq!(drawn.matches("class=\"ink\"").count(), 4);
        assert!(drawn.contains("cx=\"0.658\" cy=\"0.658\"") && drawn.contains("a &lt; b"));
        assert!(draw(&[1.0; 3], &square[..3], "").is_none());
        assert!(draw(&[1.0; 4], &[square[0]; 4], "").is_none());
        // Two channels at one position give one dot, with the root of the sum of squares.
        let twice = [square[0], square[0], square[1], square[2], square[3]];
        let values = [3.0, -4.0, 1.0, 1.0, 1.0];
        let drawn = draw(&values, &twice, "").unwrap();
        assert_eq!(drawn.matches("class=\"ink\"").count(), 4);
        assert_eq!(largest(&values, &twice), 5.0);
        assert!(color_bar(5.0, "fT").contains(">5.00 fT<"));
        assert!(draw(&[1.0; 4], &[None; 4], "").is_none());
    }
}
