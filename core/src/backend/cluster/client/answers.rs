//! What the solver asks of the whole set, put to its parts.

use super::super::question::Question;
use super::super::wire;
use super::{Ask, ClusterSet, Here, MOST_POWERS, matrices_of, point_of};
use crate::Error;
use crate::linalg::{Matrix, Scalar};
use crate::matrices::{Balanced, FinalSums, LinePoint, Probe, Summary, WorkingSet};
use crate::statistics::{Hessian, Statistics};
use crate::update::advanced;

impl<A: Ask + ?Sized, T: Scalar> WorkingSet<T> for ClusterSet<'_, A, T> {
    fn summary(&self) -> &Summary<T> {
        &self.summary
    }

    fn sample(&mut self, step: usize) -> Result<Option<Box<dyn WorkingSet<T> + '_>>, Error> {
        self.sampled_by(step)
    }

    fn balance(&mut self, metric: &Matrix<T>) -> Result<Balanced<T>, Error> {
        self.here.metric = Some(metric.clone());
        let metric = metric.clone();
        let lengths = [self.square(); 2];
        let [mean, spread] = self.sums(&Question::Balance { metric }, lengths)?;
        let p = self.summary.dimension();
        Ok(Balanced {
            mean: wire::matrix(p, &mean),
            spread: wire::matrix(p, &spread),
        })
    }

    fn second_moment(&mut self) -> Result<Matrix<T>, Error> {
        self.matrix(&Question::SecondMoment)
    }

    fn correlate(&mut self, matrices: &[f64], sums: &mut [f64]) -> Result<(), Error> {
        let p = self.summary.dimension();
        let question = Question::Correlate {
            // Zero: the matrices are not balanced.
            metric: self
                .here
                .metric
                .clone()
                .unwrap_or_else(|| Matrix::zeros(p, p)),
            matrices: matrices.to_vec(),
        };
        let [total] = self.sums(&question, [matrices.len()])?;
        sums.copy_from_slice(&total);
        Ok(())
    }

    fn reset(&mut self, b: &Matrix<T>) -> Result<f64, Error> {
        self.here = Here {
            metric: self.here.metric.take(),
            b: Some(b.clone()),
            ..Here::default()
        };
        let hessian = self.hessians;
        let question = Question::Reset {
            b: b.clone(),
            hessian,
        };
        let [square, plane] = self.lengths();
        let lengths = [square, plane, 1, self.hessian_len(hessian)];
        let [gradient, gamma, sum, triangles] = self.sums(&question, lengths)?;
        self.here.statistics = Some(self.statistics_of(&gradient, gamma));
        self.here.hessian = hessian.then_some(triangles);
        Ok(sum[0])
    }

    fn mean(&mut self) -> Result<Matrix<T>, Error> {
        self.matrix(&Question::Mean { b: self.b()? })
    }

    fn statistics(&mut self) -> Result<Statistics<T>, Error> {
        if let Some(statistics) = &self.here.statistics {
            return Ok(statistics.clone());
        }
        let question = Question::Statistics { b: self.b()? };
        let [gradient, gamma] = self.sums(&question, self.lengths())?;
        Ok(self.statistics_of(&gradient, gamma))
    }

    fn expect_hessian(&mut self) -> bool {
        // A fit is tried at points that are given up again.
        self.hessians = !self.summary.criterion.fits_originals();
        true
    }

    fn hessian(&mut self, hessian: &mut Hessian<T>) -> Result<(), Error> {
        let triangles = if let Some(triangles) = self.here.hessian.take() {
            triangles
        } else {
            let question = Question::Hessian { b: self.b()? };
            let [triangles] = self.sums(&question, [self.hessian_len(true)])?;
            triangles
        };
        hessian.set_triangles(&triangles);
        Ok(())
    }

    fn hessian_product(&mut self, e: &Matrix<T>) -> Result<Matrix<T>, Error> {
        self.matrix(&Question::Product {
            b: self.b()?,
            e: e.clone(),
        })
    }

    fn probe(&mut self, e: &Matrix<T>) -> Result<Probe, Error> {
        let p = self.summary.dimension();
        self.here.e = Some(e.clone());
        let question = Question::Probe {
            b: self.b()?,
            e: e.clone(),
        };
        let [linear, quadratic, start, full] = self.sums(&question, [p, p, 3, 3])?;
        self.here.points = Some([point_of(&start), point_of(&full)]);
        Ok(Probe { linear, quadratic })
    }

    fn line_point(&mut self, alpha: f64) -> Result<LinePoint, Error> {
        if let Some([start, full]) = self.here.points {
            // Exactly these two were asked for along with the probe.
            if alpha == 0.0 {
                return Ok(start);
            }
            if alpha == 1.0 {
                return Ok(full);
            }
        }
        let (b, e) = (self.b()?, self.e()?);
        let [point] = self.sums(&Question::LinePoint { b, e, alpha }, [3])?;
        Ok(point_of(&point))
    }

    fn advance(&mut self, alpha: f64, scale: &[f64]) -> Result<Statistics<T>, Error> {
        let (b, e) = (self.b()?, self.e()?);
        let next = advanced(&b, &e, alpha, scale);
        let hessian = self.hessian_is_likely();
        let question = Question::Advance {
            b,
            e,
            next: next.clone(),
            alpha,
            scale: scale.to_vec(),
            hessian,
        };
        let [square, plane] = self.lengths();
        let lengths = [square, plane, self.hessian_len(hessian)];
        let [gradient, gamma, triangles] = self.sums(&question, lengths)?;
        let statistics = self.statistics_of(&gradient, gamma);
        self.here = Here {
            metric: self.here.metric.take(),
            b: Some(next),
            before: self.gradient_norm(),
            statistics: Some(statistics.clone()),
            hessian: hessian.then_some(triangles),
            ..Here::default()
        };
        Ok(statistics)
    }

    fn wedge_sums(&mut self) -> Result<Statistics<T>, Error> {
        let question = Question::Wedge { b: self.b()? };
        let [gradient, gamma] = self.sums(&question, self.lengths())?;
        Ok(self.statistics_of(&gradient, gamma))
    }

    fn final_sums(&mut self, mean_powers: &[f64]) -> Result<FinalSums, Error> {
        let (n, p) = (self.summary.len, self.summary.dimension());
        let tables = n.saturating_mul(p) <= MOST_POWERS && self.step.is_none();
        let question = Question::FinalSums {
            b: self.b()?,
            mean_powers: mean_powers.to_vec(),
            tables,
        };
        let mut sums = vec![0.0; p + 1];
        let mut said = Vec::new();
        let answers = self.answers(&question, self.step)?;
        for (k, (answer, share)) in answers.iter().zip(&self.shares).enumerate() {
            // A part without a matrix of the sample has nothing to say.
            if *share == 0.0 && !tables {
                continue;
            }
            let of_each = if tables {
                matrices_of(&self.runs[k]) * (p + 1)
            } else {
                0
            };
            let mut numbers = answer.numbers(p + 1 + of_each)?;
            said.push(numbers.split_off(p + 1));
            if *share > 0.0 {
                let sums = sums.iter_mut().zip(&numbers);
                sums.for_each(|(sum, x)| *sum += share * x);
            }
        }
        let diagonal_sum = sums.pop().unwrap_or_default();
        Ok(FinalSums {
            diagonal_sum,
            variations: sums,
            tables: tables.then(|| self.tables(&said)),
        })
    }
}
