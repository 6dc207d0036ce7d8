//! Keys of the data that a backend caches between requests, to decide which of them the next
//! request can reuse.

use super::request::Request;
use crate::data::Criterion;
use crate::linalg::{Matrix, Scalar};

/// Points and directions for which the block states of a set have cached data.
#[derive(Clone, Debug)]
pub(crate) struct CacheKeys<T> {
    /// Metric of the sizes s_i.
    metric: Option<Matrix<T>>,
    /// B of the transformed matrices, and whether they were recomputed (true) or updated (false).
    point: Option<(Matrix<T>, bool)>,
    /// Direction of the tables, which start at this B.
    direction: Option<Matrix<T>>,
    /// B of the fitted diagonals, and whether the products Cⁱ A are cached too.
    fit: Option<(Matrix<T>, bool)>,
}

impl<T> Default for CacheKeys<T> {
    fn default() -> Self {
        Self {
            metric: None,
            point: None,
            direction: None,
            fit: None,
        }
    }
}

/// Cached data that a request can reuse.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[allow(clippy::struct_excessive_bools)] // one flag per table
pub(crate) struct Reuse {
    pub sizes: bool,
    pub transformed: bool,
    /// Whether the transformed matrices can be updated along the cached direction.
    pub update: bool,
    pub line: bool,
    pub fit: bool,
    pub products: bool,
}

impl<T: Scalar> CacheKeys<T> {
    /// Returns which cached data a request can reuse.
    pub fn reuse(&self, request: &Request<T>) -> Reuse {
        let is = |cached: &Option<Matrix<T>>, wanted: &Matrix<T>| cached.as_ref() == Some(wanted);
        let at = |b: &Matrix<T>| self.point.as_ref().filter(|(cached, _)| cached == b);
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
        let fit = self.fit.as_ref().filter(|(cached, _)| cached == b);
        reuse.fit = fit.is_some();
        reuse.products = fit.is_some_and(|(_, products)| *products);
        reuse.transformed = at(b).is_some();
        match request {
            // Without an update, the request asks for recomputed matrices.
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

    /// Records the data that are cached after the evaluation of a request.
    pub fn record(&mut self, request: &Request<T>, criterion: Criterion, reuse: Reuse) {
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

    /// Whether no data are cached.
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
