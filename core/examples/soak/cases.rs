//! Random small sets, options and settings, each determined by its seed.

use codiag::{Criterion, Init, Matrix, Method, Rank, SetOptions, Settings};

use super::checks::Case;

/// The pseudo-random number generator `SplitMix64` (Steele et al. 2014).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An integer below `limit`.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit as u64) as usize
    }

    /// True with probability 1/n.
    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Approximately standard normal: a sum of four uniform numbers.
    fn normal(&mut self) -> f64 {
        let sum: f64 = (0..4).map(|_| self.uniform()).sum();
        (sum - 2.0) * 3.0_f64.sqrt()
    }

    fn choose<X: Copy>(&mut self, from: &[X]) -> X {
        from[self.below(from.len())]
    }
}

/// A complex number; the second part is zero in real sets.
type Pair = (f64, f64);

fn times((a, b): Pair, (c, d): Pair) -> Pair {
    (a * c - b * d, a * d + b * c)
}

/// Generator of the matrices of a set.
struct Generator<'a> {
    random: &'a mut Random,
    n: usize,
    p: usize,
    complex: bool,
    /// Whether the matrices are to be positive definite.
    definite: bool,
}

impl Generator<'_> {
    fn number(&mut self) -> Pair {
        let real = self.random.normal();
        let imaginary = if self.complex {
            self.random.normal()
        } else {
            0.0
        };
        (real, imaginary)
    }

    fn matrix(&mut self, columns: usize) -> Vec<Pair> {
        (0..self.p * columns).map(|_| self.number()).collect()
    }

    /// Adds M diag(powers) Mᴴ to a matrix.
    fn add(&self, out: &mut [Pair], m: &[Pair], powers: &[f64]) {
        let (p, r) = (self.p, powers.len());
        for a in 0..p {
            for b in 0..=a {
                let mut sum = (0.0, 0.0);
                for k in 0..r {
                    let (x, y) = (m[a * r + k], m[b * r + k]);
                    let product = times(x, (y.0, -y.1));
                    sum.0 += product.0 * powers[k];
                    sum.1 += product.1 * powers[k];
                }
                if a == b {
                    out[a * p + a].0 += sum.0;
                    continue;
                }
                // Both triangles get the same sum, so that the matrix is exactly Hermitian.
                out[a * p + b].0 += sum.0;
                out[a * p + b].1 += sum.1;
                out[b * p + a].0 += sum.0;
                out[b * p + a].1 -= sum.1;
            }
        }
    }

    fn power(&mut self) -> f64 {
        if self.definite {
            0.05 + self.random.uniform() * 2.0
        } else {
            self.random.normal()
        }
    }

    /// The matrices A Λⁱ Aᴴ plus noise, where A has the given number of columns.
    fn mixed(&mut self, columns: usize, noise: f64) -> Vec<Vec<Pair>> {
        let mixing = self.matrix(columns);
        let ones = vec![noise; self.p];
        let mut set = Vec::new();
        for _ in 0..self.n {
            let powers: Vec<f64> = (0..columns).map(|_| self.power()).collect();
            let mut matrix = vec![(0.0, 0.0); self.p * self.p];
            self.add(&mut matrix, &mixing, &powers);
            if noise > 0.0 {
                let other = self.matrix(self.p);
                self.add(&mut matrix, &other, &ones);
            }
            set.push(matrix);
        }
        set
    }

    /// Sample covariances or, if the matrices need not be definite, differences of two.
    fn covariances(&mut self, samples: usize) -> Vec<Vec<Pair>> {
        let mut set = Vec::new();
        for _ in 0..self.n {
            let mut matrix = vec![(0.0, 0.0); self.p * self.p];
            let x = self.matrix(samples);
            self.add(&mut matrix, &x, &vec![1.0; samples]);
            if !self.definite {
                let y = self.matrix(samples);
                self.add(&mut matrix, &y, &vec![-1.0; samples]);
            }
            set.push(matrix);
        }
        set
    }

    /// Multiplies entry (a, b) of every matrix by `scale[a] scale[b]`.
    fn scaled(mut set: Vec<Vec<Pair>>, p: usize, scale: &[f64]) -> Vec<Vec<Pair>> {
        for matrix in &mut set {
            for (k, x) in matrix.iter_mut().enumerate() {
                let unit = scale[k / p] * scale[k % p];
                *x = (x.0 * unit, x.1 * unit);
            }
        }
        set
    }

    /// Small integers, which cause ties, zeros and equal eigenvalues.
    fn integers(&mut self) -> Vec<Vec<Pair>> {
        let (p, complex) = (self.p, self.complex);
        let mut set = Vec::new();
        for _ in 0..self.n {
            let mut matrix = vec![(0.0, 0.0); p * p];
            for a in 0..p {
                for b in 0..a {
                    let mut part = || self.random.below(3) as f64 - 1.0;
                    let (x, y) = (part(), part());
                    let y = if complex { y } else { 0.0 };
                    matrix[a * p + b] = (x, y);
                    matrix[b * p + a] = (x, -y);
                }
                let shift = if self.definite { 2.0 * p as f64 } else { -1.0 };
                matrix[a * p + a].0 = self.random.below(3) as f64 + shift;
            }
            set.push(matrix);
        }
        set
    }

    /// Arbitrary floating-point numbers, including NaN, infinities and subnormal numbers.
    fn any_numbers(&mut self) -> Vec<Vec<Pair>> {
        let complex = self.complex;
        let number = |random: &mut Random| match random.below(6) {
            0 => f64::from_bits(random.bits()),
            1 => 0.0,
            2 => random.choose(&[
                f64::NAN,
                f64::INFINITY,
                f64::MAX,
                f64::MIN_POSITIVE,
                5e-324,
                -0.0,
            ]),
            _ => random.normal(),
        };
        let symmetric = !self.random.one_in(3);
        let p = self.p;
        let mut set = Vec::new();
        for _ in 0..self.n {
            let mut matrix = vec![(0.0, 0.0); p * p];
            for a in 0..p {
                for b in 0..p {
                    let x = number(self.random);
                    let y = if complex && a != b {
                        number(self.random)
                    } else {
                        0.0
                    };
                    matrix[a * p + b] = (x, y);
                    if symmetric && b < a {
                        matrix[b * p + a] = (x, -y);
                    }
                }
            }
            if symmetric {
                for a in 0..p {
                    for b in 0..a {
                        matrix[b * p + a] = (matrix[a * p + b].0, -matrix[a * p + b].1);
                    }
                }
            }
            set.push(matrix);
        }
        set
    }

    /// Returns the matrices, the name of their family, and whether they are valid.
    fn generate(&mut self) -> (Vec<Vec<Pair>>, &'static str, bool) {
        let p = self.p;
        match self.random.below(15) {
            0 => (self.mixed(p, 0.0), "exact", false),
            1 => (self.mixed(p, 0.1), "noisy", true),
            2 => (self.mixed(p, 1e-9), "nearly exact", false),
            3 => (self.covariances(3 * p), "covariances", true),
            4 => (self.covariances(p), "covariances of few samples", false),
            5 => (self.proportional(), "proportional", true),
            6 => (self.diagonal(), "diagonal", true),
            7 => (self.integers(), "integers", self.definite),
            8 => (self.any_numbers(), "any numbers", false),
            9 => {
                let units = (0..p).map(|_| 10.0_f64.powf(self.random.uniform() * 12.0 - 6.0));
                let units: Vec<f64> = units.collect();
                let set = self.covariances(3 * p);
                (Self::scaled(set, p, &units), "units", self.definite)
            }
            10 => {
                let unit = 10.0_f64.powi(self.random.below(281) as i32 - 140);
                let set = self.covariances(3 * p);
                let set = Self::scaled(set, p, &vec![unit.sqrt(); p]);
                (set, "huge or tiny", false)
            }
            11 => (self.uneven(), "uneven", false),
            12 => (self.ill_conditioned(), "ill-conditioned", false),
            13 => {
                let unit = 10.0_f64.powf(120.0 * self.random.uniform() - 60.0);
                let set = self.covariances(3 * p);
                let set = Self::scaled(set, p, &vec![unit.sqrt(); p]);
                (set, "other unit", true)
            }
            _ => {
                let columns = 1 + self.random.below(p);
                (self.mixed(columns, 0.0), "low rank", false)
            }
        }
    }

    /// Multiples of one matrix, whose components are not identifiable.
    fn proportional(&mut self) -> Vec<Vec<Pair>> {
        let mut set = self.covariances(3 * self.p);
        let first = set[0].clone();
        for matrix in &mut set {
            let factor = 0.5 + self.random.uniform();
            let times = |x: &Pair| (x.0 * factor, x.1 * factor);
            *matrix = first.iter().map(times).collect();
        }
        set
    }

    /// Exact or noisy sets with nearly dependent channels, with condition numbers up to 1e12.
    fn ill_conditioned(&mut self) -> Vec<Vec<Pair>> {
        let p = self.p;
        let noise = if self.random.one_in(2) { 0.0 } else { 0.1 };
        let set = self.mixed(p, noise);
        // Each channel becomes the mean of all channels plus a small multiple of itself.
        let small = 10.0_f64.powf(-6.0 * self.random.uniform());
        let mean = |row: &[Pair]| {
            let sum = row.iter().fold((0.0, 0.0), |s, x| (s.0 + x.0, s.1 + x.1));
            (sum.0 / p as f64, sum.1 / p as f64)
        };
        let mixed = |matrix: &[Pair]| -> Vec<Pair> {
            let rows = matrix.chunks_exact(p).flat_map(|row| {
                let mean = mean(row);
                row.iter()
                    .map(move |x| (mean.0 + small * x.0, mean.1 + small * x.1))
            });
            let rows: Vec<Pair> = rows.collect();
            // Apply the transform to the columns, too.
            (0..p * p)
                .map(|k| {
                    let (a, b) = (k / p, k % p);
                    let column: Vec<Pair> = (0..p).map(|c| rows[c * p + b]).collect();
                    let mean = mean(&column);
                    let x = column[a];
                    (mean.0 + small * x.0, mean.1 + small * x.1)
                })
                .collect()
        };
        let set = set.iter().map(|matrix| {
            let matrix = mixed(matrix);
            let symmetric = (0..p * p).map(|k| {
                let (x, y) = (matrix[k], matrix[k % p * p + k / p]);
                (0.5 * (x.0 + y.0), 0.5 * (x.1 - y.1))
            });
            symmetric.collect()
        });
        set.collect()
    }

    fn diagonal(&mut self) -> Vec<Vec<Pair>> {
        let p = self.p;
        let mut set = self.mixed(p, 0.0);
        for matrix in &mut set {
            for (k, x) in matrix.iter_mut().enumerate() {
                *x = if k / p == k % p { *x } else { (0.0, 0.0) };
            }
        }
        set
    }

    /// Matrices of very different norms; some are zero.
    fn uneven(&mut self) -> Vec<Vec<Pair>> {
        let mut set = self.covariances(3 * self.p);
        for matrix in &mut set {
            let factor = match self.random.below(6) {
                0 => 0.0,
                k => 10.0_f64.powi(4 * k as i32 - 12),
            };
            for x in matrix.iter_mut() {
                *x = (x.0 * factor, x.1 * factor);
            }
        }
        set
    }
}

/// The case of a seed.
pub fn case(seed: u64) -> Case {
    let random = &mut Random::new(seed);
    let criterion = random.choose(&Criterion::ALL);
    let (mut n, mut p) = (1 + random.below(12), 1 + random.below(7));
    // Some sets are large enough for stages in single precision.
    if seed % 64 == 63 {
        (n, p) = (5 * n, 31 + p);
    }
    let complex = random.one_in(3);
    let definite = criterion.requires_definite() || random.one_in(3);
    let mut generator = Generator {
        random,
        n,
        p,
        complex,
        definite,
    };
    let (matrices, kind, mut valid) = generator.generate();
    let parts = |part: fn(&Pair) -> f64| matrices.iter().flatten().map(part).collect::<Vec<_>>();
    let mut data = parts(|x| x.0);
    if complex {
        data.extend(parts(|x| x.1));
    }

    let mut options = SetOptions::default().criterion(criterion).n_jobs(1);
    if random.one_in(3) {
        let weight = |random: &mut Random| match random.below(6) {
            0 => 0.0,
            1 => 1e-12,
            _ => random.uniform(),
        };
        let weights: Vec<f64> = (0..n).map(|_| weight(random)).collect();
        valid &= weights.iter().any(|w| *w > 0.0);
        options = options.weights(weights);
    }
    if random.one_in(5) {
        options = options.shrinkage(random.uniform());
    }
    if random.one_in(5) {
        let rank = match random.below(2) {
            0 => Rank::Auto,
            _ => Rank::Exactly(1 + random.below(p)),
        };
        options = options.n_components(rank);
        // Reducing an indefinite set may be an error.
        valid &= definite;
    }

    let method = random.choose(criterion.methods());
    let mut settings = Settings::default()
        .method(method)
        .max_iter(random.choose(&[0, 1, 5, 100, 300]))
        .n_restarts(random.choose(&[0, 0, 0, 0, 1, 3]))
        .canonical(!random.one_in(4))
        .hessian_memory(random.choose(&[0, 1 << 30]));
    settings = match random.below(8) {
        0 | 1 => settings.init(Init::Whitener),
        2 => settings.init(Init::Identity),
        3 => {
            let b = Matrix::from_fn(p, p, |_, _| random.normal());
            valid = false;
            settings.init(Init::Given(b))
        }
        _ => settings,
    };
    if !matches!(method, Method::Pham | Method::RowWise) && random.one_in(6) {
        settings = settings.orthogonal(true);
    }
    settings = settings.n_resamples(random.choose(&[0, 0, 0, 0, 0, 2]));
    Case {
        n,
        p,
        data,
        complex,
        options,
        settings,
        valid,
        kind,
    }
}
