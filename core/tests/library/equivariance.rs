//! Equivariance: order, units, signs, reference and mixing of the channels change neither the
//! components nor the loss.

use codiag::synthetic::{Sensors, Synthetic, indefinite, meg, mixed};
use codiag::{
    Criterion, Diagonalization, Matrix, MatrixSet, Method, SetOptions, Settings, diagonalize,
};

/// Pseudo-random numbers from a multiplicative congruential generator.
struct Random(u64);

impl Random {
    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        self.0 = self.0 * 48_271 % 2_147_483_647;
        self.0 as f64 / 2_147_483_647.0
    }

    /// Approximately standard normal.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// Matrices of size p × p, concatenated.
struct Set {
    name: &'static str,
    p: usize,
    data: Vec<f64>,
}

impl Set {
    fn solve(&self, criterion: Criterion, settings: &Settings) -> Diagonalization {
        let options = SetOptions::default().criterion(criterion);
        let n = self.data.len() / (self.p * self.p);
        let set = MatrixSet::with_options(&self.data, n, self.p, &options).unwrap();
        diagonalize(&set, settings).unwrap()
    }

    /// The matrices Q Cⁱ Qᵀ.
    fn transformed(&self, q: &Matrix) -> Self {
        let matrices = self.data.chunks_exact(self.p * self.p);
        let data = matrices.flat_map(|c| {
            let c = Matrix::from_rows(self.p, self.p, c.to_vec());
            let d = &(q * &c) * &q.transpose();
            let symmetric = Matrix::from_fn(self.p, self.p, |a, b| 0.5 * (d[(a, b)] + d[(b, a)]));
            symmetric.into_vec()
        });
        Self {
            data: data.collect(),
            ..*self
        }
    }

    fn mean(&self) -> Matrix {
        let matrices = self.data.chunks_exact(self.p * self.p);
        let n = matrices.len() as f64;
        let mut mean = vec![0.0; self.p * self.p];
        for c in matrices {
            mean.iter_mut().zip(c).for_each(|(x, y)| *x += y / n);
        }
        Matrix::from_rows(self.p, self.p, mean)
    }
}

/// Number of rows of B that another B contains, up to sign and order.
///
/// Two rows match if the correlation of their components under the mean matrix exceeds 0.999 in
/// absolute value; without a mean, the cosine of the rows is used.
fn matching_rows(one: &Matrix, other: &Matrix, mean: Option<&Matrix>) -> usize {
    let metric = mean.cloned().unwrap_or(Matrix::identity(one.columns()));
    let unit = |b: &Matrix| {
        let powers = &(b * &metric) * &b.transpose();
        Matrix::from_fn(b.rows(), b.columns(), |a, c| {
            b[(a, c)] / powers[(a, a)].sqrt()
        })
    };
    let correlations = &(&unit(one) * &metric) * &unit(other).transpose();
    let rows = 0..one.rows();
    rows.filter(|&a| correlations.row(a).iter().any(|r| r.abs() > 0.999))
        .count()
}

/// Asserts that a set and its transform by Q have equal losses and matching components.
fn assert_equivariant(
    set: &Set,
    transform: &str,
    q: &Matrix,
    criterion: Criterion,
    settings: &Settings,
) {
    let plain = set.solve(criterion, settings);
    let other = set.transformed(q).solve(criterion, settings);
    let name = format!("{} {transform}", set.name);
    let difference = (plain.loss - other.loss).abs();
    assert!(
        difference <= 1e-9 * (1.0 + plain.loss.abs()),
        "{name}: the losses are {} and {}",
        plain.loss,
        other.loss
    );
    let mean = set.mean();
    let mean = (criterion == Criterion::Likelihood).then_some(&mean);
    let matching = matching_rows(&plain.b, &(&other.b * q), mean);
    assert_eq!(matching, set.p, "{name}: number of matching components");
}

fn permutation(p: usize, random: &mut Random) -> Matrix {
    let mut order: Vec<usize> = (0..p).collect();
    for last in (1..p).rev() {
        order.swap(last, (random.uniform() * (last + 1) as f64) as usize);
    }
    Matrix::from_fn(p, p, |a, b| f64::from(u8::from(order[a] == b)))
}

fn signs(p: usize, random: &mut Random) -> Matrix {
    let sign = |_| if random.uniform() < 0.5 { 1.0 } else { -1.0 };
    Matrix::diagonal(&(0..p).map(sign).collect::<Vec<f64>>())
}

fn units(p: usize, random: &mut Random) -> Matrix {
    let unit = |_| 10_f64.powf(24.0 * random.uniform() - 12.0);
    Matrix::diagonal(&(0..p).map(unit).collect::<Vec<f64>>())
}

/// Change to the average reference; the old reference counts as one more channel.
fn average_reference(p: usize) -> Matrix {
    Matrix::from_fn(p, p, |a, b| {
        f64::from(u8::from(a == b)) - 1.0 / (p + 1) as f64
    })
}

fn normal(p: usize, random: &mut Random) -> Matrix {
    Matrix::from_fn(p, p, |_, _| random.normal())
}

/// A random orthogonal matrix, as a product of Householder reflections.
fn orthogonal(p: usize, random: &mut Random) -> Matrix {
    let mut q = Matrix::identity(p);
    for _ in 0..p {
        let v: Vec<f64> = (0..p).map(|_| random.normal()).collect();
        let square: f64 = v.iter().map(|x| x * x).sum();
        let reflection = Matrix::from_fn(p, p, |a, b| {
            f64::from(u8::from(a == b)) - 2.0 * v[a] * v[b] / square
        });
        q = &reflection * &q;
    }
    q
}

fn sets() -> [Set; 4] {
    let synthetic = |name, sigma| Set {
        name,
        p: 40,
        data: Synthetic::new(100, 40, sigma, 0).data,
    };
    let recorded = |name, sensors| Set {
        name,
        p: 40,
        data: meg(sensors),
    };
    [
        synthetic("experiment (b)", 0.1),
        synthetic("sigma 0.3", 0.3),
        recorded("magnetometers", Sensors::Magnetometers),
        recorded("gradiometers", Sensors::Gradiometers),
    ]
}

#[test]
fn likelihood_is_equivariant_under_order_units_signs_reference_and_mixing() {
    for set in &sets() {
        let random = &mut Random(1);
        let transforms = [
            ("permuted", permutation(set.p, random)),
            ("in other units", units(set.p, random)),
            ("with other signs", signs(set.p, random)),
            ("re-referenced", average_reference(set.p)),
            ("mixed", normal(set.p, random)),
        ];
        for (transform, q) in &transforms {
            assert_equivariant(
                set,
                transform,
                q,
                Criterion::Likelihood,
                &Settings::default(),
            );
        }
    }
}

#[test]
fn restarts_and_other_methods_are_equivariant_under_mixing() {
    let random = &mut Random(2);
    let set = Set {
        name: "sigma 1",
        p: 12,
        data: Synthetic::new(20, 12, 1.0, 3).data,
    };
    let settings = Settings::default().n_restarts(3);
    for q in [permutation(12, random), normal(12, random)] {
        assert_equivariant(&set, "mixed", &q, Criterion::Likelihood, &settings);
    }
    for method in [Method::QuasiNewton, Method::Pham] {
        let settings = Settings::default().method(method);
        assert_equivariant(
            &set,
            "mixed",
            &normal(12, random),
            Criterion::Likelihood,
            &settings,
        );
    }
}

#[test]
fn all_criteria_are_equivariant_under_rotations() {
    let random = &mut Random(3);
    let p = 20;
    let frobenius = Set {
        name: "Frobenius",
        p,
        data: indefinite(60, p, 0.5, 1).0,
    };
    let fit = Set {
        name: "least squares",
        p: 8,
        data: mixed(40, 8, 0.3, 1).0,
    };
    let over_rotations = Settings::default().orthogonal(true);
    let covariances = &sets()[2];
    for _ in 0..2 {
        let q = &orthogonal(p, random);
        for method in [Method::Newton, Method::Jacobi] {
            let settings = Settings::default().method(method);
            assert_equivariant(&frobenius, "rotated", q, Criterion::Frobenius, &settings);
        }
        let q = &orthogonal(8, random);
        assert_equivariant(
            &fit,
            "rotated",
            q,
            Criterion::LeastSquares,
            &Settings::default(),
        );
        let q = &orthogonal(40, random);
        assert_equivariant(
            covariances,
            "rotated",
            q,
            Criterion::Likelihood,
            &over_rotations,
        );
    }
}
