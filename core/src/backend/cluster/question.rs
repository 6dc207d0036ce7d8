//! What a solver asks of the parts of a set.

use super::wire::{self, Header, Writer};
use crate::Error;
use crate::linalg::kernels::LANES;
use crate::linalg::{Matrix, Scalar};
use crate::matrices::packed_len;

/// One question, with all that its answer depends on.
#[derive(Clone, Debug, PartialEq)]
pub enum Question<T = f64> {
    /// How much a sample weighs, how many matrices it has, and their mean.
    Sample,
    /// Σ_i w_i Cⁱ / s_i and Σ_i w_i (1 − 1/s_i)² Cⁱ for the sizes s_i in a metric.
    Balance { metric: Matrix<T> },
    /// Σ_i w_i Cⁱ Cⁱ.
    SecondMoment,
    /// Correlations of the matrices, balanced in a metric, with a multiple of eight others.
    Correlate {
        metric: Matrix<T>,
        matrices: Vec<f64>,
    },
    /// The matrices of a sample themselves: their share of the part's weight, their weights within it,
    /// and their lower triangles.
    Matrices,
    /// The statistics at B, the sum over the diagonals and, if wanted, the exact Hessian.
    Reset { b: Matrix<T>, hessian: bool },
    /// The mean of the Dⁱ at B.
    Mean { b: Matrix<T> },
    /// The statistics at B.
    Statistics { b: Matrix<T> },
    /// The exact Hessian at B.
    Hessian { b: Matrix<T> },
    /// The product of the exact Hessian at B with E.
    Product { b: Matrix<T>, e: Matrix<T> },
    /// How the powers change along E, and the line's points at α = 0 and 1, with which every search
    /// begins.
    Probe { b: Matrix<T>, e: Matrix<T> },
    /// The line's point at α.
    LinePoint {
        b: Matrix<T>,
        e: Matrix<T>,
        alpha: f64,
    },
    /// The statistics at `next`, reached from B along E, and, if wanted, the exact Hessian there.
    Advance {
        b: Matrix<T>,
        e: Matrix<T>,
        next: Matrix<T>,
        alpha: f64,
        scale: Vec<f64>,
        hessian: bool,
    },
    /// What an answer says of all matrices together, at B, and, if wanted, what it says of each.
    FinalSums {
        b: Matrix<T>,
        mean_powers: Vec<f64>,
        tables: bool,
    },
    /// The sums for U-WEDGE and FFDIAG, at B.
    Wedge { b: Matrix<T> },
}

impl<T: Scalar> Question<T> {
    /// The number that stands for the kind of question.
    pub fn kind(&self) -> u8 {
        match self {
            Self::Sample => 0,
            Self::Balance { .. } => 1,
            Self::Correlate { .. } => 2,
            Self::Reset { .. } => 3,
            Self::Mean { .. } => 4,
            Self::Statistics { .. } => 5,
            Self::Hessian { .. } => 6,
            Self::Product { .. } => 7,
            Self::Probe { .. } => 8,
            Self::LinePoint { .. } => 9,
            Self::Advance { .. } => 10,
            Self::FinalSums { .. } => 11,
            Self::Wedge { .. } => 13,
            Self::Matrices => 14,
            Self::SecondMoment => 15,
        }
    }

    /// As bytes, for a set of that dimension; `step` if only every `step`-th matrix is meant.
    pub fn to_bytes(&self, dimension: usize, step: Option<usize>) -> Vec<u8> {
        let writer = Writer::new(Header {
            complex: T::PLANES == 2,
            kind: self.kind(),
            dimension,
            count: step.map_or(0, |step| step as u64),
        });
        let written = match self {
            Self::Sample | Self::Matrices | Self::SecondMoment => writer,
            Self::Balance { metric: only }
            | Self::Mean { b: only }
            | Self::Statistics { b: only }
            | Self::Hessian { b: only }
            | Self::Wedge { b: only } => writer.numbers(only.as_slice()),
            Self::Reset { b, hessian } => writer.numbers(b.as_slice()).flag(*hessian),
            Self::Correlate { metric, matrices } => {
                writer.numbers(metric.as_slice()).numbers(matrices)
            }
            Self::Product { b, e } | Self::Probe { b, e } => {
                writer.numbers(b.as_slice()).numbers(e.as_slice())
            }
            Self::LinePoint { b, e, alpha } => writer
                .numbers(b.as_slice())
                .numbers(e.as_slice())
                .numbers(&[*alpha]),
            Self::Advance {
                b,
                e,
                next,
                alpha,
                scale,
                hessian,
            } => writer
                .numbers(b.as_slice())
                .numbers(e.as_slice())
                .numbers(next.as_slice())
                .numbers(&[*alpha])
                .numbers(scale)
                .flag(*hessian),
            Self::FinalSums {
                b,
                mean_powers,
                tables,
            } => writer
                .numbers(b.as_slice())
                .numbers(mean_powers)
                .flag(*tables),
        };
        written.finish()
    }

    /// From bytes, for a set of that dimension; with the step, if only a sample is meant.
    pub fn from_bytes(bytes: &[u8], dimension: usize) -> Result<(Self, Option<usize>), Error> {
        Self::read(bytes, dimension).ok_or(Error::Question)
    }

    fn read(bytes: &[u8], p: usize) -> Option<(Self, Option<usize>)> {
        let (header, rest) = wire::read(bytes)?;
        if header.dimension != p || header.complex != (T::PLANES == 2) {
            return None;
        }
        let numbers = wire::numbers(rest)?;
        let mut fields = Fields { p, rest: &numbers };
        let fields = &mut fields;
        let question = match header.kind {
            0 => Self::Sample,
            1 => Self::Balance {
                metric: fields.matrix()?,
            },
            2 => Self::Correlate {
                metric: fields.matrix()?,
                matrices: fields.multiple_of(LANES * packed_len::<T>(p))?.to_vec(),
            },
            3 => Self::Reset {
                b: fields.matrix()?,
                hessian: fields.flag()?,
            },
            4 => Self::Mean {
                b: fields.matrix()?,
            },
            5 => Self::Statistics {
                b: fields.matrix()?,
            },
            6 => Self::Hessian {
                b: fields.matrix()?,
            },
            7 => Self::Product {
                b: fields.matrix()?,
                e: fields.matrix()?,
            },
            8 => Self::Probe {
                b: fields.matrix()?,
                e: fields.matrix()?,
            },
            9 => Self::LinePoint {
                b: fields.matrix()?,
                e: fields.matrix()?,
                alpha: fields.take(1)?[0],
            },
            10 => Self::Advance {
                b: fields.matrix()?,
                e: fields.matrix()?,
                next: fields.matrix()?,
                alpha: fields.take(1)?[0],
                scale: fields.take(p)?.to_vec(),
                hessian: fields.flag()?,
            },
            11 => Self::FinalSums {
                b: fields.matrix()?,
                mean_powers: fields.take(p)?.to_vec(),
                tables: fields.flag()?,
            },
            13 => Self::Wedge {
                b: fields.matrix()?,
            },
            14 => Self::Matrices,
            15 => Self::SecondMoment,
            _ => return None,
        };
        let step = usize::try_from(header.count).ok()?;
        fields
            .rest
            .is_empty()
            .then_some((question, (step > 0).then_some(step)))
    }
}

/// The numbers of a question, to be taken one field after the other.
struct Fields<'a> {
    p: usize,
    rest: &'a [f64],
}

impl<'a> Fields<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [f64]> {
        let (own, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(own)
    }

    /// All that is left, if it is so many numbers or a multiple of them.
    fn multiple_of(&mut self, count: usize) -> Option<&'a [f64]> {
        let whole = !self.rest.is_empty() && self.rest.len().is_multiple_of(count);
        whole.then(|| std::mem::take(&mut self.rest))
    }

    /// Whether something is wanted.
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
