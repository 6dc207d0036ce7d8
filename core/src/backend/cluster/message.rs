//! Messages to workers, and their conversion to bytes.

use super::wire::{self, Header, Writer};
use crate::Error;
use crate::backend::{Request, Update};
use crate::linalg::kernels::LANES;
use crate::linalg::{Matrix, Scalar, Triangle};

/// A message to a worker.
#[derive(Clone, Debug, PartialEq)]
pub enum Message<T = f64> {
    /// A request of the solver.
    Request(Request<T>),
    /// Asks for the weight of a sample, the number of its matrices, and their mean.
    Sample,
    /// Asks for the matrices of a sample and their weights.
    Matrices,
}

impl<T: Scalar> Message<T> {
    /// Returns the number of the kind of message.
    pub fn kind(&self) -> u8 {
        let Self::Request(request) = self else {
            return if *self == Self::Sample { 1 } else { 2 };
        };
        match request {
            Request::Balance { .. } => 3,
            Request::SecondMoment => 4,
            Request::Correlate { .. } => 5,
            Request::Point { .. } => 6,
            Request::Hessian { .. } => 7,
            Request::HessianProduct { .. } => 8,
            Request::Mean { .. } => 9,
            Request::Line { .. } => 10,
            Request::LinePoint { .. } => 11,
            Request::Weighted { .. } => 12,
            Request::Wedge { .. } => 13,
            Request::Components { .. } => 14,
        }
    }

    /// Converts the message to bytes. `step` is given if it is for the sample of every `step`-th
    /// matrix.
    pub fn to_bytes(&self, dimension: usize, step: Option<usize>) -> Vec<u8> {
        let header = Header {
            complex: T::PLANES == 2,
            kind: self.kind(),
            dimension,
            count: step.unwrap_or(0) as u64,
        };
        let writer = Writer::new(header);
        let Self::Request(request) = self else {
            return writer.finish();
        };
        let matrix = |writer: Writer, m: &Matrix<T>| writer.numbers(m.as_slice());
        match request {
            Request::SecondMoment => writer,
            Request::Balance { metric } => matrix(writer, metric),
            Request::Correlate { metric, matrices } => {
                let writer = writer.flag(metric.is_some());
                let writer = match metric {
                    Some(metric) => matrix(writer, metric),
                    None => writer,
                };
                writer.numbers(matrices)
            }
            Request::Point { b, update, hessian } => {
                let writer = matrix(writer, b).flag(*hessian).flag(update.is_some());
                match update {
                    Some(update) => matrix(matrix(writer, &update.from), &update.e)
                        .numbers(&[update.alpha])
                        .numbers(&update.scale),
                    None => writer,
                }
            }
            Request::Hessian { b }
            | Request::Mean { b }
            | Request::Weighted { b }
            | Request::Wedge { b } => matrix(writer, b),
            Request::HessianProduct { b, e } | Request::Line { b, e } => {
                matrix(matrix(writer, b), e)
            }
            Request::LinePoint { b, e, alpha } => matrix(matrix(writer, b), e).numbers(&[*alpha]),
            Request::Components {
                b,
                mean_powers,
                tables,
            } => matrix(writer, b).numbers(mean_powers).flag(*tables),
        }
        .finish()
    }

    /// Reads a message for matrices of the given dimension, and the step of its sample if it is for
    /// one.
    pub fn from_bytes(bytes: &[u8], dimension: usize) -> Result<(Self, Option<usize>), Error> {
        Self::read(bytes, dimension).ok_or(Error::InvalidRequest)
    }

    fn read(bytes: &[u8], p: usize) -> Option<(Self, Option<usize>)> {
        let (header, rest) = wire::read(bytes)?;
        if header.complex != (T::PLANES == 2) || header.dimension != p {
            return None;
        }
        let numbers = wire::numbers(rest)?;
        let mut fields = Fields { p, rest: &numbers };
        let message = match header.kind {
            1 => Self::Sample,
            2 => Self::Matrices,
            kind => Self::Request(fields.request(kind)?),
        };
        let step = usize::try_from(header.count).ok()?;
        let step = (step > 0).then_some(step);
        fields.rest.is_empty().then_some((message, step))
    }
}

/// The numbers of a message, read field by field.
struct Fields<'a> {
    p: usize,
    rest: &'a [f64],
}

impl<'a> Fields<'a> {
    fn request<T: Scalar>(&mut self, kind: u8) -> Option<Request<T>> {
        Some(match kind {
            3 => Request::Balance {
                metric: self.matrix()?,
            },
            4 => Request::SecondMoment,
            5 => {
                let metric = if self.flag()? {
                    Some(self.matrix()?)
                } else {
                    None
                };
                let group = T::PLANES * Triangle::new(self.p).len() * LANES;
                let whole = !self.rest.is_empty() && self.rest.len().is_multiple_of(group);
                let matrices = whole.then(|| std::mem::take(&mut self.rest).to_vec())?;
                Request::Correlate { metric, matrices }
            }
            6 => {
                let (b, hessian) = (self.matrix()?, self.flag()?);
                let update = if self.flag()? {
                    Some(Update {
                        from: self.matrix()?,
                        e: self.matrix()?,
                        alpha: self.take(1)?[0],
                        scale: self.take(self.p)?.to_vec(),
                    })
                } else {
                    None
                };
                Request::Point { b, update, hessian }
            }
            7 => Request::Hessian { b: self.matrix()? },
            8 => Request::HessianProduct {
                b: self.matrix()?,
                e: self.matrix()?,
            },
            9 => Request::Mean { b: self.matrix()? },
            10 => Request::Line {
                b: self.matrix()?,
                e: self.matrix()?,
            },
            11 => Request::LinePoint {
                b: self.matrix()?,
                e: self.matrix()?,
                alpha: self.take(1)?[0],
            },
            12 => Request::Weighted { b: self.matrix()? },
            13 => Request::Wedge { b: self.matrix()? },
            14 => Request::Components {
                b: self.matrix()?,
                mean_powers: self.take(self.p)?.to_vec(),
                tables: self.flag()?,
            },
            _ => return None,
        })
    }

    fn take(&mut self, count: usize) -> Option<&'a [f64]> {
        let (own, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(own)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.take(1)?[0] {
            0.0 => Some(false),
            1.0 => Some(true),
            _ => None,
        }
    }

    fn matrix<T: Scalar>(&mut self) -> Option<Matrix<T>> {
        let numbers = self.take(T::PLANES * self.p * self.p)?;
        Some(wire::matrix(self.p, numbers))
    }
}
