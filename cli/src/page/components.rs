//! What the components of an result are in each matrix: a map, and a table.

use codiag::{Diagonalization, Scalar, SortBy};
use maud::{Markup, html};

use super::diagonalize::{MAX_BARS, not_available};
use super::{heat_map, sparkline, stability, table};
use crate::format::{self, short};

/// Components shown with their own line.
const SHOWN: usize = 40;

/// The diagonal entries of all components in all matrices, in a unit of each component's own.
struct Entries<'a, T> {
    result: &'a Diagonalization<T>,
    /// The mean power of each component or, where powers may be negative, their root mean square.
    units: Vec<f64>,
    /// Whether all powers are positive, so that factors of them can be compared.
    positive: bool,
}

impl<'a, T: Scalar> Entries<'a, T> {
    fn new(result: &'a Diagonalization<T>, weights: Option<&[f64]>) -> Self {
        let powers = &result.powers;
        let positive = result.criterion.requires_definite();
        let weight = |i: usize| weights.map_or(1.0, |weights| weights[i]);
        let total: f64 = (0..powers.rows()).map(weight).sum();
        let mean = |c: usize, exponent: i32| {
            let terms = (0..powers.rows()).map(|i| weight(i) * powers[(i, c)].powi(exponent));
            terms.sum::<f64>() / total
        };
        let unit = |c| {
            if positive {
                mean(c, 1)
            } else {
                mean(c, 2).sqrt().max(f64::MIN_POSITIVE)
            }
        };
        Self {
            result,
            units: (0..powers.columns()).map(unit).collect(),
            positive,
        }
    }

    fn matrices(&self) -> usize {
        self.result.powers.rows()
    }

    /// A component's entries in its unit.
    fn of(&self, c: usize) -> impl Iterator<Item = f64> {
        (0..self.matrices()).map(move |i| self.result.powers[(i, c)] / self.units[c])
    }

    /// The color of an entry in its unit, from −1 to 1.
    fn color(&self, entry: f64) -> f64 {
        if self.positive {
            entry.log2() / 3.0
        } else {
            0.5 * entry
        }
    }

    /// The share of a component in the energy of all diagonals.
    fn share(&self, c: usize) -> f64 {
        let total: f64 = self.units.iter().map(|unit| unit * unit).sum();
        self.units[c].powi(2) / total
    }

    fn row(&self, c: usize) -> Markup {
        let entries: Vec<f64> = self.of(c).collect();
        let low = entries.iter().fold(f64::INFINITY, |m, x| m.min(*x));
        let high = entries.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
        let last = if self.positive {
            let deviations: Vec<f64> = entries.iter().map(|x| (x - 1.0).abs()).collect();
            format::median(&deviations)
        } else {
            self.share(c)
        };
        html! {
            tr {
                td { (c) }
                td { (sparkline(entries.iter().copied(), 180.0, 26.0)) }
                td { (short(low)) }
                td { (short(high)) }
                td { (short(last)) }
                (stability::cell(self.result, c))
            }
        }
    }
}

/// The section of the page.
pub fn components<T: Scalar>(
    result: &Diagonalization<T>,
    weights: Option<&[f64]>,
    order: SortBy,
) -> Markup {
    let by_stability = order == SortBy::Stability;
    let entries = Entries::new(result, weights);
    let (n, r) = (entries.matrices(), result.powers.columns());
    if n == 0 {
        return not_available();
    }
    // More matrices than pixels are averaged, so that the picture stays true in the large.
    let columns = n.min(MAX_BARS);
    let described = "power of each component in each matrix";
    let colors: Vec<Vec<f64>> = (0..r)
        .map(|c| entries.of(c).map(|x| entries.color(x)).collect())
        .collect();
    let map = heat_map(r, columns, described, |c, k| {
        let bin = &colors[c][k * n / columns..((k + 1) * n / columns)];
        bin.iter().sum::<f64>() / bin.len() as f64
    });
    let rows = html! {
        tbody {
            @for c in 0..r.min(SHOWN) { (entries.row(c)) }
        }
    };
    let last: &[&str] = if entries.positive {
        &["typical", "deviation"]
    } else {
        &["share of", "energy"]
    };
    let over = if entries.positive {
        "power over the set"
    } else {
        "diagonal entry over the set"
    };
    let over: &[&str] = &[over];
    let mut headings: Vec<&[&str]> = vec![&["component"], over, &["least"], &["most"], last];
    headings.extend(result.stability.as_ref().map(|_| stability::HEADING));
    html! {
        @if by_stability {
            p {
                "Components come in the order of their stability. Below, one row per component, one column per \
                 matrix; red is above the component's mean (or positive), blue below."
            }
        } @else if entries.positive {
            p {
                "Components come in the order of how much their power varies over the set: the first are the \
                 best told apart. Below, one row per component, one column per matrix; red is above the component's \
                 mean, blue below, full color a factor of eight."
            }
        } @else {
            p {
                "Components come in the order of the energy of their diagonal entries. Below, one row per \
                 component, one column per matrix; red is positive, blue negative, full color twice the \
                 component's root mean square, which is the unit of the table."
            }
        }
        (stability::explanation(result, "the matrices, drawn with replacement"))
        div.heat-wide { (map) }
        (table(None, &headings, &rows))
        @if r > SHOWN {
            p { "The other " (r - SHOWN) " are in diagonals.npy." }
        }
    }
}
