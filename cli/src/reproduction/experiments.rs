//! The experiments and the solvers.

use anyhow::{Context, Result, bail};
use codiag::synthetic::{self, Sensors, Synthetic};
use codiag::{Init, MatrixSet, Method, SetOptions, Settings};

use crate::args::{InputArgs, Reproduce};
use crate::format;
use crate::input;
use crate::number::Either;

/// Value of ĝ at which times are compared.
pub const GRADIENT_GOAL: f64 = 1e-6;
/// Tolerance of the runs, low enough to show the asymptotic convergence.
const TOLERANCE: f64 = 1e-10;

/// An experiment: one column of the figure.
pub struct Experiment {
    pub key: &'static str,
    pub title: String,
    pub description: String,
    /// Noun for the sets, singular and plural: "seed", "seeds".
    pub repeat: [&'static str; 2],
    /// One set per seed.
    pub sets: Vec<MatrixSet>,
}

impl Experiment {
    /// Returns the number of sets with its noun: "10 seeds".
    pub fn count(&self) -> String {
        format::count(self.sets.len(), self.repeat[0], self.repeat[1])
    }
}

/// Builds the experiments.
pub fn experiments(args: &Reproduce) -> Result<Vec<Experiment>> {
    let (n, p) = (args.n, args.p);
    let synthetic = |sigma: f64| -> Result<Vec<MatrixSet>> {
        (0..u64::from(args.seeds))
            .map(|seed| {
                let made = Synthetic::try_new(n, p, sigma, seed)?.set();
                let made = made.with_context(|| format!("synthetic set of seed {seed}"))?;
                Ok(made.with_n_jobs(args.n_jobs))
            })
            .collect()
    };
    let (recorded, name) = if let Some(path) = &args.recording {
        let source = InputArgs {
            input: vec![path.clone()],
            key: None,
        };
        match input::open(&source, &mut std::io::empty())? {
            Either::Real(matrices) => matrices.into_set(&SetOptions::default())?,
            Either::Complex(matrices) => {
                bail!(
                    "{}: reproduce requires real matrices, but these are complex",
                    matrices.name
                )
            }
        }
    } else {
        let data = synthetic::meg(Sensors::Magnetometers);
        let p = 40;
        let set = MatrixSet::new(&data, data.len() / (p * p), p)?;
        (set, "MEG magnetometers".to_owned())
    };
    let (recorded_n, recorded_p) = (recorded.len(), recorded.dimension());
    let description = if args.recording.is_some() {
        format!("{recorded_n} matrices of {recorded_p} × {recorded_p} from {name}")
    } else {
        format!(
            "covariances of {recorded_n} segments of 0.24 s of a magnetoencephalography recording (the MNE \
             sample data, magnetometers), reduced to {recorded_p} components"
        )
    };
    let mixture = "A Λ Aᵀ with A normal and Λ uniform on (0, 1)";
    Ok(vec![
        Experiment {
            key: "a",
            title: "(a) σ = 0".to_owned(),
            description: format!(
                "{n} matrices of {p} × {p} that can be diagonalized exactly: {mixture}"
            ),
            repeat: ["seed", "seeds"],
            sets: synthetic(0.0)?,
        },
        Experiment {
            key: "b",
            title: "(b) σ = 0.1".to_owned(),
            description: format!(
                "{n} matrices of {p} × {p} with noise: {mixture}, plus σ² R Rᵀ with R normal"
            ),
            repeat: ["seed", "seeds"],
            sets: synthetic(0.1)?,
        },
        Experiment {
            key: "c",
            title: format!("(c) {name}"),
            description,
            repeat: ["channel order", "channel orders"],
            sets: (0..u64::from(args.seeds))
                .map(|seed| Ok(reordered(&recorded, seed)?.with_n_jobs(args.n_jobs)))
                .collect::<Result<_>>()?,
        },
    ])
}

/// Returns a set with its channels in a random order; seed 0 keeps their order.
fn reordered(set: &MatrixSet, seed: u64) -> Result<MatrixSet> {
    let (n, p) = (set.len(), set.dimension());
    let mut order: Vec<usize> = (0..p).collect();
    if seed > 0 {
        // Sort by random numbers.
        let random = Synthetic::try_new(1, p, 0.0, seed)?.mixing;
        order.sort_by(|a, b| random[(0, *a)].total_cmp(&random[(0, *b)]));
    }
    let mut data = Vec::with_capacity(n * p * p);
    for i in 0..n {
        let matrix = set.matrix(i);
        for a in &order {
            data.extend(order.iter().map(|b| matrix[(*a, *b)]));
        }
    }
    Ok(MatrixSet::new(&data, n, p)?)
}

/// A method and its starting point.
#[derive(Clone, Debug)]
pub struct Solver {
    pub key: &'static str,
    pub name: &'static str,
    pub style: usize,
    pub settings: Settings,
}

/// Returns the solvers: the quasi-Newton method of the paper, Pham's algorithm, and Newton's method
/// from the whitener and from the spectral start.
pub fn solvers(args: &Reproduce) -> [Solver; 4] {
    let settings = |method, init| {
        Settings::default()
            .method(method)
            .init(init)
            .tol(TOLERANCE)
            .max_iter(args.max_iter)
    };
    [
        Solver {
            key: "quasi-newton",
            name: "quasi-Newton (the paper)",
            style: 0,
            settings: settings(Method::QuasiNewton, Init::Whitener),
        },
        Solver {
            key: "pham",
            name: "Pham (2001)",
            style: 1,
            settings: settings(Method::Pham, Init::Whitener),
        },
        Solver {
            key: "newton-whitener",
            name: "Newton, whitener start",
            style: 2,
            settings: settings(Method::Newton, Init::Whitener),
        },
        Solver {
            key: "newton",
            name: "Newton, spectral start (codiag)",
            style: 3,
            settings: settings(Method::Newton, Init::Spectral),
        },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use codiag::synthetic::noisy;

    #[test]
    fn reordered_sets_have_the_same_matrices() {
        let set = noisy(3, 6, 0.1, 0);
        let sorted = |set: &MatrixSet, i: usize| {
            let mut entries = set.matrix(i).as_slice().to_vec();
            entries.sort_by(f64::total_cmp);
            entries
        };
        let mut firsts = Vec::new();
        for seed in 0..5 {
            let other = reordered(&set, seed).unwrap();
            for i in 0..set.len() {
                assert_eq!(sorted(&set, i), sorted(&other, i));
            }
            firsts.push(other.matrix(0));
        }
        assert_eq!(firsts[0], set.matrix(0));
        assert!((1..5).any(|seed| firsts[seed] != firsts[0]));
    }
}
