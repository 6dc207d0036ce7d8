//! The solver on arbitrary small sets, with the checks of `make soak`.
#![no_main]

#[path = "../../core/examples/soak/checks.rs"]
mod checks;
#[path = "../../core/examples/soak/exact_gradient.rs"]
mod exact_gradient;

use codiag::{Criterion, Init, Rank, SetOptions, Settings};
use libfuzzer_sys::fuzz_target;

/// A sequence of bytes, followed by zeros.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((first, rest)) => {
                self.0 = rest;
                *first
            }
            None => 0,
        }
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::from(self.next()) % limit
    }

    /// Usually a small multiple of 1/16, so that ties occur; sometimes an arbitrary number.
    fn number(&mut self) -> f64 {
        match self.next() {
            255 => f64::from_le_bytes(std::array::from_fn(|_| self.next())),
            byte => f64::from(byte as i8) / 16.0,
        }
    }
}

fuzz_target!(|content: &[u8]| {
    let bytes = &mut Bytes(content);
    let criterion = Criterion::ALL[bytes.below(Criterion::ALL.len())];
    let method = criterion.methods()[bytes.below(criterion.methods().len())];
    let (n, p) = (1 + bytes.below(6), 1 + bytes.below(5));
    let choices = bytes.next();
    let flag = |bit: u8| choices & (1 << bit) != 0;
    let complex = flag(0);
    let mut parts = [vec![0.0; n * p * p], vec![0.0; n * p * p]];
    for i in 0..n {
        for a in 0..p {
            for b in 0..=a {
                let (low, high) = (i * p * p + a * p + b, i * p * p + b * p + a);
                let x = bytes.number();
                (parts[0][low], parts[0][high]) = (x, x);
                if complex && a != b {
                    let y = bytes.number();
                    (parts[1][low], parts[1][high]) = (y, -y);
                }
            }
            // Make some sets positive definite.
            parts[0][i * p * p + a * p + a] += if flag(1) { 8.0 * p as f64 } else { 0.0 };
        }
    }
    // Units of the channels: sometimes a common one from 1e-60 to 1e60, sometimes different ones
    // with condition numbers up to 1e12.
    let common = 10.0_f64.powf(match bytes.below(4) {
        0 => (bytes.number() * 7.5).clamp(-30.0, 30.0),
        _ => 0.0,
    });
    let different = bytes.below(4) == 0;
    let units: Vec<f64> = (0..p)
        .map(|_| match different {
            true => common * 10.0_f64.powf((bytes.number() * 0.75).clamp(-3.0, 3.0)),
            false => common,
        })
        .collect();
    for part in &mut parts {
        for (k, x) in part.iter_mut().enumerate() {
            *x *= units[k / p % p] * units[k % p];
        }
    }
    let [mut data, imaginary] = parts;
    if complex {
        data.extend(imaginary);
    }
    let rank = if flag(2) { Rank::Auto } else { Rank::Full };
    let init = match (flag(3), flag(4)) {
        (true, true) => Init::Identity,
        (true, false) => Init::Whitener,
        _ => Init::Spectral,
    };
    let case = checks::Case {
        n,
        p,
        data,
        complex,
        options: SetOptions::default()
            .criterion(criterion)
            .n_components(rank)
            .n_jobs(1),
        settings: Settings::default()
            .method(method)
            .init(init)
            .orthogonal(flag(5))
            .n_restarts(usize::from(flag(6)))
            .hessian_memory(if flag(7) { 0 } else { 1 << 30 })
            .max_iter(60),
        valid: false,
        kind: "fuzzed",
    };
    if let Err(problem) = checks::check_case(&case) {
        panic!("{problem}: {case:?}");
    }
});
