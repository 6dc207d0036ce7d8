//! The data that a backend keeps between requests, and which of them the next request can reuse.

use super::request::Request;
use crate::data::Criterion;
use crate::linalg::{Matrix, Scalar};

/// The points and directions for which all block states of a set keep data.
#[derive(Clone, Debug)]
pub(crate) struct Kept<T> {
    /// Metric of the sizes s_i.
    metric: Option<Matrix<T>>,
    /// B of the transformed matrices, and whether they were recomputed (true) or updated (false).
    point: Option<(Matrix<T>, bool)>,
    /// Direction of the tables, which start at this B.
    direction: Option<Matrix<T>>,
    /// B of the fitted diagonals, and whether the products Cⁱ A are kept too.
    fit: Option<(Matrix<T>, bool)>,
}

impl<T> Default for Kept<T> {
    fn default() -> Self {
        Self {
            metric: None,
            point: None,
            direction: None,
            fit: None,
        }
    }
}

/// The kept data that a request can reuse.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)] // one for each table
pub(crate) struct Reuse {
    pub sizes: bool,
    pub transformed: bool,
    /// Whether the transformed matrices can be updated along the kept direction.
    pub update: bool,
    pub line: bool,
    pub fit: bool,
    pub products: bool,
}

impl<T: Scalar> Kept<T> {
    /// Returns the data that a request can reuse.
    pub fn reuse(&self, request: &Request<T>) -> Reuse {
        let is = |kept: &Option<Matrix<T>>, wanted: &Matrix<T>| kept.as_ref() == Some(wanted);
        let at = |b: &Matrix<T>| self.point.as_ref().filter(|(kept, _)| kept == b);
        let mut reuse = Reuse::default();
        if let Request::Correlate {
            metric: Some(metric),
            ..
        } = request
        {
            reuse.sizes = is(&self.metric, metric);
        }
        let Some(b) = request.point() else {
            return reuse;
        };
        let fit = self.fit.as_ref().filter(|(kept, _)| kept == b);
        reuse.fit = fit.is_some();
        reuse.products = fit.is_some_and(|(_, products)| *products);
        reuse.transformed = at(b).is_some();
        match request {
            // Updated matrices are recomputed.
            Request::Point { update: None, .. } => {
                reuse.transformed = at(b).is_some_and(|(_, recomputed)| *recomputed);
            }
            Request::Point {
                update: Some(update),
                ..
            } => {
                reuse.update = !reuse.transformed
                    && at(&update.from).is_some()
                    && is(&self.direction, &update.e);
            }
            Request::Line { e, .. } | Request::LinePoint { e, .. } => {
                reuse.line = reuse.transformed && is(&self.direction, e);
            }
            _ => {}
        }
        reuse
    }

    /// Records the data that are kept after the request has been evaluated.
    pub fn set(&mut self, request: &Request<T>, criterion: Criterion, reuse: Reuse) {
        if let Request::Balance { metric }
        | Request::Correlate {
            metric: Some(metric),
            ..
        } = request
        {
            self.metric = Some(metric.clone());
        }
        let Some(b) = request.point() else { return };
        if criterion.is_least_squares() && !matches!(request, Request::Wedge { .. }) {
            let products = matches!(request, Request::HessianProduct { .. });
            self.fit = Some((b.clone(), products || reuse.products));
            return;
        }
        if !reuse.transformed {
            self.point = Some((b.clone(), !reuse.update));
            self.direction = None;
        }
        if let Request::Line { e, .. } | Request::LinePoint { e, .. } = request {
            self.direction = Some(e.clone());
        }
    }

    /// Whether nothing is kept.
    pub fn is_empty(&self) -> bool {
        self.metric.is_none() && self.point.is_none() && self.fit.is_none()
    }

    /// Records that the transformed matrices were computed at B.
    pub fn begin_at(&mut self, b: Matrix<T>) {
        self.point = Some((b, true));
    }

    /// Records that the transformed matrices were updated to B pair by pair.
    pub fn move_to(&mut self, b: Matrix<T>) {
        self.point = Some((b, false));
        self.direction = None;
    }
}
