//! Steps that keep B orthogonal: B ← exp(αE) B with E antisymmetric.

use super::course::Course;
use crate::Error;
use crate::linalg::{self, Matrix};
use crate::line_search::Line;
use crate::matrices::WorkingSet;

/// Turns by exp(αE), α = 1, ½, ¼ … until the loss decreases; returns α, or None if it never does.
pub(crate) fn turn<S: WorkingSet>(
    course: &mut Course<'_, S>,
    e: &Matrix,
) -> Result<Option<f64>, Error> {
    let p = e.rows();
    let mut alpha = 1.0;
    for _ in 0..course.settings.max_halvings.max(1) {
        let scaled = Matrix::from_fn(p, p, |a, b| alpha * e[(a, b)]);
        let mut change = linalg::rotation_exponential(&scaled);
        (0..p).for_each(|a| change[(a, a)] -= 1.0);
        // I + change is the rotation: one full step along `change` makes it.
        let probe = course.set.probe(&change)?;
        course.count(1.0);
        let mut line = Line::new(course.set, &change)?;
        let noise = line.noise;
        if let Some(point) = line.backtrack(1)? {
            course.advance(&change, &probe, point, noise)?;
            return Ok(Some(alpha));
        }
        alpha *= 0.5;
    }
    Ok(None)
}
