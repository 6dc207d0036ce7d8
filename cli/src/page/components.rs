//! Powers of the components in each matrix: a heat map and a table.

use codiag::{Scalar, SortBy};
use maud::{Markup, html};

use super::diagonalize::{MAX_BARS, not_available};
use super::solve::SolveResult;
use super::{heat_map, sparkline, stability, table};
use crate::format::{self, short};

/// Number of components in the table.
const MAX_ROWS: usize = 40;

/// Diagonal entries of all components in all matrices, each component scaled by its unit.
struct Entries<'a, T> {
    result: &'a SolveResult<'a, T>,
    /// Mean power of each component or, if powers may be negative, their root mean square.
    units: Vec<f64>,
    /// Whether all powers are positive, so that their ratios are meaningful.
    positive: bool,
}

impl<'a, T: Scalar> Entries<'a, T> {
    fn new(result: &'a SolveResult<'a, T>, weights: Option<&[f64]>) -> Self {
        let powers = result.powers;
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

    /// Scaled entries of a component.
    fn of(&self, c: usize) -> impl Iterator<Item = f64> {
        (0..self.matrices()).map(move |i| self.result.powers[(i, c)] / self.units[c])
    }

    /// Color of a scaled entry, from −1 to 1.
    fn color(&self, entry: f64) -> f64 {
        if self.positive {
            entry.log2() / 3.0
        } else {
            0.5 * entry
        }
    }

    /// Fraction of the energy of all diagonals that belongs to a component.
    fn energy_fraction(&self, c: usize) -> f64 {
        let total: f64 = self.units.iter().map(|unit| unit * unit).sum();
        self.units[c].powi(2) / total
    }

    /// Row of the table.
    fn row(&self, c: usize) -> Markup {
        let entries: Vec<f64> = self.of(c).collect();
        let low = entries.iter().fold(f64::INFINITY, |m, x| m.min(*x));
        let high = entries.iter().fold(f64::NEG_INFINITY, |m, x| m.max(*x));
        let last = if self.positive {
            let deviations: Vec<f64> = entries.iter().map(|x| (x - 1.0).abs()).collect();
            format::median(&deviations)
        } else {
            self.energy_fraction(c)
        };
        html! {
            tr {
                td { (self.result.name(c)) }
                td { (sparkline(entries.iter().copied(), 180.0, 26.0)) }
                td { (short(low)) }
                td { (short(high)) }
                td { (short(last)) }
                (stability::cell(self.result, c))
            }
        }
    }
}

/// Section of the report about components.
pub fn components<T: Scalar>(
    result: &SolveResult<'_, T>,
    weights: Option<&[f64]>,
    sort_by: Option<SortBy>,
) -> Markup {
    let by_stability = sort_by == Some(SortBy::Stability);
    let entries = Entries::new(result, weights);
    let (n, r) = (entries.matrices(), result.powers.columns());
    if n == 0 {
        return not_available();
    }
    // If there are more matrices than pixels, neighboring matrices are averaged.
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
            @for c in 0..r.min(MAX_ROWS) { (entries.row(c)) }
        }
    };
    let last: &[&str] = if entries.positive {
        &["median", "deviation"]
    } else {
        &["fraction", "of energy"]
    };
    let over = if entries.positive {
        "power over the matrices"
    } else {
        "diagonal entry over the matrices"
    };
    let over: &[&str] = &[over];
    let mut headings: Vec<&[&str]> = vec![&["component"], over, &["minimum"], &["maximum"], last];
    headings.extend(result.stability.as_ref().map(|_| stability::HEADING));
    html! {
        @if by_stability {
            p {
                "Components are sorted by their stability. The map has one row per component and one column per \
                 matrix; red is above the mean of the component (or positive), blue below (or negative)."
            }
        } @else if entries.positive {
            p {
                @if sort_by.is_some() {
                    "Components are sorted by how much their power varies over the matrices; the first ones are the easiest \
                     to separate. "
                }
                "The map has one row per component and one column per matrix; red is above the mean of the \
                 component, blue below; full color is a factor of eight."
            }
        } @else {
            p {
                @if sort_by.is_some() { "Components are sorted by the energy of their diagonal entries. " }
                "The map has one row per component and \
                 one column per matrix; red is positive, blue negative; full color is twice the root mean square of the \
                 component. The table is in units of this root mean square."
            }
        }
        (stability::explanation(result, "the matrices, drawn with replacement"))
        div.heat-wide { (map) }
        (table(None, &headings, &rows))
        @if r > MAX_ROWS {
            p { "The other " (r - MAX_ROWS) " components are not shown." }
        }
    }
}
