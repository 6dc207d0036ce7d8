//! Some components of a block: the entries between them set apart for the steps of pairs, and all others brought along.
//!
//! What decides the steps, and what they change of it, is a small copy that stays in the nearest caches. The entries between
//! selected components and others are then read and written once for all steps together.

use pulp::{Simd, WithSimd};

use super::{arch, planes, vectors_mut, vectors_per_row};
use crate::linalg::{Scalar, Triangle};

/// At most so many components are selected at once, unless all are: with more, what is set apart outgrows the caches.
pub const MOST_SELECTED: usize = 16;

/// Steps that pairs of selected components have taken, one after another: as shears, and a factor for each component in the end. So
/// a rotation takes no more operations than a shear.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    shears: Vec<Shear>,
    scale: Vec<f64>,
}

/// Rows (a, b) ← (a + e_ab·b, b + e_ba·a), of complex numbers the real and the imaginary part.
#[derive(Clone, Copy, Debug)]
struct Shear {
    a: usize,
    b: usize,
    ab: [f64; 2],
    ba: [f64; 2],
}

impl Steps {
    /// None yet, of so many components.
    pub fn new(count: usize) -> Self {
        Self {
            shears: Vec::new(),
            scale: vec![1.0; count],
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.shears.is_empty()
    }

    /// Adds rows (a, b) ← (c·a + ab·b, c·b + ba·a), a and b being numbered among the selected components, c ≠ 0.
    pub fn push<T: Scalar>(&mut self, (a, b): (usize, usize), c: f64, (ab, ba): (T, T)) {
        assert!(c != 0.0 && a != b);
        // Rows are kept without their factors.
        let ratio = self.scale[b] / self.scale[a];
        let parts = |z: T| [z.real(), z.imaginary()];
        self.shears.push(Shear {
            a,
            b,
            ab: parts(ab * (ratio / c)),
            ba: parts(ba / (ratio * c)),
        });
        self.scale[a] *= c;
        self.scale[b] *= c;
    }
}

/// Copies the entries between the selected components, which ascend, to `out`, a block of matrices of that size.
pub fn select(p: usize, block: &[f64], lanes: usize, components: &[usize], out: &mut [f64]) {
    let triangle = Triangle::new(p);
    assert_eq!(
        planes(out, components.len(), lanes),
        planes(block, p, lanes)
    );
    let mut out = out.chunks_exact_mut(lanes);
    for plane in block.chunks_exact(triangle.len() * lanes) {
        for ((a, b), row) in pairs(components).zip(&mut out) {
            row.copy_from_slice(&plane[triangle.index(a, b) * lanes..][..lanes]);
        }
    }
}

/// D ← M D Mᴴ, where M takes the selected components, which ascend, through some steps. The entries between them, already
/// transformed, are those of `selected`.
pub fn rejoin(
    p: usize,
    block: &mut [f64],
    lanes: usize,
    components: &[usize],
    selected: &[f64],
    steps: &Steps,
) {
    let triangle = Triangle::new(p);
    let planes = planes(block, p, lanes);
    assert_eq!(super::planes(selected, components.len(), lanes), planes);
    assert!(components.len() <= MOST_SELECTED || components.len() == p);
    assert_eq!(components.len(), steps.scale.len());
    let mut selected = selected.chunks_exact(lanes);
    for plane in block.chunks_exact_mut(triangle.len() * lanes) {
        for ((a, b), row) in pairs(components).zip(&mut selected) {
            plane[triangle.index(a, b) * lanes..][..lanes].copy_from_slice(row);
        }
    }
    arch().dispatch(Others {
        triangle,
        block,
        lanes,
        planes,
        components,
        steps,
    });
}

/// The pairs (a, b) of components, b not after a, in the order of a packed triangle.
fn pairs(components: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let numbers = Triangle::new(components.len()).pairs();
    numbers.map(|(a, b)| (components[a], components[b]))
}

/// The entries between the selected components and all others.
struct Others<'a> {
    triangle: Triangle,
    block: &'a mut [f64],
    lanes: usize,
    planes: usize,
    components: &'a [usize],
    steps: &'a Steps,
}

impl WithSimd for Others<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let stride = vectors_per_row::<f64, S>(self.lanes);
        let mut column = Column {
            simd,
            block: vectors_mut::<S>(self.block),
            plane: self.triangle.len() * stride,
            steps: self.steps,
            scaled: self.steps.scale.iter().any(|x| *x != 1.0),
            places: [0; MOST_SELECTED],
            before: 0,
        };
        for c in 0..self.triangle.size() {
            if self.components.get(column.before) == Some(&c) {
                column.before += 1;
                continue;
            }
            for (place, &a) in column.places.iter_mut().zip(self.components) {
                *place = self.triangle.index(a, c) * stride;
            }
            // As many vectors at once as hide the latency of the multiply-adds and fit into registers.
            let mut at = 0;
            if self.planes == 1 {
                while at + 4 <= stride {
                    column.transform_real::<4>(at);
                    at += 4;
                }
            }
            while at + 2 <= stride {
                if self.planes == 1 {
                    column.transform_real::<2>(at);
                } else {
                    column.transform_complex::<2>(at);
                }
                at += 2;
            }
            if at < stride {
                if self.planes == 1 {
                    column.transform_real::<1>(at);
                } else {
                    column.transform_complex::<1>(at);
                }
            }
        }
    }
}

/// The entries between the selected components and one other, c.
struct Column<'a, S: Simd> {
    simd: S,
    block: &'a mut [S::f64s],
    /// How far behind the real parts the imaginary ones are.
    plane: usize,
    steps: &'a Steps,
    /// Whether any factor is not 1.
    scaled: bool,
    /// Where the row of each component begins.
    places: [usize; MOST_SELECTED],
    /// How many of the components come before c: what is stored of them is the conjugate.
    before: usize,
}

impl<S: Simd> Column<'_, S> {
    /// Takes W vectors of each row through all steps. Consecutive steps of one component keep its own in registers.
    #[inline(always)]
    fn transform_real<const W: usize>(&mut self, at: usize) {
        let simd = self.simd;
        for run in self.steps.shears.chunk_by(|x, y| x.a == y.a) {
            let own = self.places[run[0].a] + at;
            let mut x = self.load::<W>(own);
            for shear in run {
                let other = self.places[shear.b] + at;
                let mut y = self.load::<W>(other);
                let (ab, ba) = (simd.splat_f64s(shear.ab[0]), simd.splat_f64s(shear.ba[0]));
                for w in 0..W {
                    (x[w], y[w]) = (
                        simd.mul_add_e_f64s(ab, y[w], x[w]),
                        simd.mul_add_e_f64s(ba, x[w], y[w]),
                    );
                }
                self.store(other, y);
            }
            self.store(own, x);
        }
        if self.scaled {
            for (a, scale) in self.steps.scale.iter().enumerate() {
                self.multiply::<W>(self.places[a] + at, *scale);
            }
        }
    }

    /// The same of complex numbers.
    #[inline(always)]
    fn transform_complex<const W: usize>(&mut self, at: usize) {
        let plane = self.plane;
        for a in 0..self.before {
            self.multiply::<W>(plane + self.places[a] + at, -1.0);
        }
        for run in self.steps.shears.chunk_by(|x, y| x.a == y.a) {
            let own = self.places[run[0].a] + at;
            let (mut x, mut x_im) = (self.load::<W>(own), self.load::<W>(plane + own));
            for shear in run {
                let other = self.places[shear.b] + at;
                let (y, y_im) = (self.load::<W>(other), self.load::<W>(plane + other));
                let (new_x, new_x_im) = self.plus_multiple((x, x_im), shear.ab, (y, y_im));
                let (new_y, new_y_im) = self.plus_multiple((y, y_im), shear.ba, (x, x_im));
                (x, x_im) = (new_x, new_x_im);
                self.store(other, new_y);
                self.store(plane + other, new_y_im);
            }
            self.store(own, x);
            self.store(plane + own, x_im);
        }
        for (a, scale) in self.steps.scale.iter().enumerate() {
            let sign = if a < self.before { -1.0 } else { 1.0 };
            self.multiply::<W>(self.places[a] + at, *scale);
            self.multiply::<W>(plane + self.places[a] + at, sign * scale);
        }
    }

    /// x + e·y of complex numbers.
    #[inline(always)]
    fn plus_multiple<const W: usize>(
        &self,
        (mut x, mut x_im): ([S::f64s; W], [S::f64s; W]),
        [e, e_im]: [f64; 2],
        (y, y_im): ([S::f64s; W], [S::f64s; W]),
    ) -> ([S::f64s; W], [S::f64s; W]) {
        let simd = self.simd;
        let (re, im) = (simd.splat_f64s(e), simd.splat_f64s(e_im));
        let minus = simd.splat_f64s(-e_im);
        for w in 0..W {
            x[w] = simd.mul_add_e_f64s(re, y[w], x[w]);
            x[w] = simd.mul_add_e_f64s(minus, y_im[w], x[w]);
            x_im[w] = simd.mul_add_e_f64s(re, y_im[w], x_im[w]);
            x_im[w] = simd.mul_add_e_f64s(im, y[w], x_im[w]);
        }
        (x, x_im)
    }

    #[inline(always)]
    fn multiply<const W: usize>(&mut self, at: usize, by: f64) {
        let by = self.simd.splat_f64s(by);
        for x in &mut self.block[at..][..W] {
            *x = self.simd.mul_f64s(by, *x);
        }
    }

    #[inline(always)]
    fn load<const W: usize>(&self, at: usize) -> [S::f64s; W] {
        let mut values = [self.simd.splat_f64s(0.0); W];
        values.copy_from_slice(&self.block[at..][..W]);
        values
    }

    #[inline(always)]
    fn store<const W: usize>(&mut self, at: usize, values: [S::f64s; W]) {
        self.block[at..][..W].copy_from_slice(&values);
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Scalar256b, Scalar512b};

    use super::*;
    use crate::linalg::c64;

    /// A block whose columns went through some steps, in vectors of one width.
    fn in_vectors<S: Simd, T: Scalar>(simd: S, p: usize, lanes: usize) -> Vec<f64> {
        let triangle = Triangle::new(p);
        let mut block: Vec<f64> = (0..T::PLANES * triangle.len() * lanes)
            .map(|k| 1.0 + 0.1 * ((k * 7) % 11) as f64)
            .collect();
        let mut steps = Steps::new(3);
        let (ab, ba) = (T::from_parts(0.3, 0.2), T::from_parts(-0.1, 0.4));
        steps.push((1, 0), 1.0, (ab, ba));
        steps.push((2, 0), 0.8, (ba, ab));
        steps.push((2, 1), 1.0, (ab, ba));
        Others {
            triangle,
            block: &mut block,
            lanes,
            planes: T::PLANES,
            components: &[1, 2, 4],
            steps: &steps,
        }
        .with_simd(simd);
        block
    }

    fn same_numbers<T: Scalar>() {
        for (p, lanes) in [(6, 8), (7, 16), (10, 56)] {
            let expected = in_vectors::<_, T>(pulp::Scalar, p, lanes);
            for numbers in [
                in_vectors::<_, T>(Scalar256b, p, lanes),
                in_vectors::<_, T>(Scalar512b, p, lanes),
            ] {
                for (x, y) in numbers.iter().zip(&expected) {
                    assert!((x - y).abs() <= 1e-12 * (1.0 + y.abs()), "p {p}: {x} {y}");
                }
            }
        }
    }

    #[test]
    fn every_width_of_vectors_gives_the_same_numbers() {
        same_numbers::<f64>();
        same_numbers::<c64>();
    }
}
