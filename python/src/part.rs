//! Parts of a set, each held by one worker of a cluster: bytes in, bytes out.

use codiag::{cluster, working};
use numpy::{PyArray2, PyArray3, PyReadonlyArray2, PyReadonlyArray3};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::convert::{cube, in_place, matrix_from, matrix_to, shape};
use crate::options::Options;
use crate::words::bad_input;

/// Consecutive matrices of a larger set, checked but for their definiteness.
#[pyclass(frozen, module = "codiag._core")]
pub struct Chunk(working::Chunk);

/// What makes a chunk anew: its matrices, the first's number, weights, options.
type ChunkArguments<'py> = (
    Bound<'py, PyArray3<f64>>,
    usize,
    Vec<f64>,
    Bound<'py, PyDict>,
);

#[pymethods]
impl Chunk {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
    fn new(
        matrices: PyReadonlyArray3<'_, f64>,
        first: usize,
        weights: Option<Vec<f64>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let options = Options::from_dict(options)?.for_set(weights);
        let (n, p) = shape(&matrices);
        let matrices = in_place(&matrices)?;
        let data = matrices.as_slice()?;
        let py = matrices.py();
        let chunk = py.detach(|| working::Chunk::new(data, n, p, first, &options));
        chunk.map(Self).map_err(bad_input)
    }

    /// The sum of the weights, the number of matrices without weights.
    #[getter]
    fn weight(&self) -> f64 {
        self.0.weight()
    }

    /// What a set is reduced in rank by: the weighted mean of the matrices, or of their squares.
    fn range_sum<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        matrix_to(py, py.detach(|| self.0.range_sum()))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __sizeof__(&self) -> usize {
        bytes(self.0.len(), self.0.channels())
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, ChunkArguments<'py>)> {
        let (py, chunk) = (slf.py(), &slf.get().0);
        let (data, mut weights) = py.detach(|| chunk.matrices());
        weights.iter_mut().for_each(|w| *w *= chunk.weight());
        let matrices = cube(py, (chunk.len(), chunk.channels()), data)?;
        let options = PyDict::new(py);
        options.set_item("criterion", chunk.criterion().name())?;
        let arguments = (matrices, chunk.first(), weights, options);
        Ok((py.get_type::<Self>(), arguments))
    }
}

/// The matrices of some chunks, and where they stand.
#[pyclass(frozen, module = "codiag._core")]
pub struct Part(cluster::Part);

/// What makes a part anew: its chunks, no filters, and its threads.
type PartArguments<'py> = (
    Vec<Bound<'py, Chunk>>,
    Option<Bound<'py, PyArray2<f64>>>,
    Option<usize>,
);

#[pymethods]
impl Part {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // as above
    fn new(
        py: Python<'_>,
        chunks: Vec<PyRef<'_, Chunk>>,
        filters: Option<PyReadonlyArray2<'_, f64>>,
        threads: Option<usize>,
    ) -> PyResult<Self> {
        if chunks.is_empty() {
            return Err(PyValueError::new_err("a part has at least one chunk"));
        }
        let filters = filters.map(|f| matrix_from(&f)).transpose()?;
        let chunks: Vec<working::Chunk> = chunks.iter().map(|chunk| chunk.0.clone()).collect();
        let part = py.detach(|| cluster::Part::of_chunks(chunks, filters.as_ref(), threads));
        part.map(Self).map_err(bad_input)
    }

    /// What the solver has to know of the part.
    fn describe<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.describe())
    }

    /// The answer to a question.
    fn answer<'py>(&self, py: Python<'py>, question: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let answer = py.detach(|| self.0.answer(question));
        Ok(PyBytes::new(py, &answer.map_err(bad_input)?))
    }

    fn __sizeof__(&self) -> usize {
        bytes(self.0.len(), self.0.dimension())
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, PartArguments<'py>)> {
        let (py, part) = (slf.py(), &slf.get().0);
        let chunks = py.detach(|| part.chunks()).map_err(bad_input)?;
        let chunks: PyResult<Vec<_>> = chunks
            .into_iter()
            .map(|chunk| Bound::new(py, Chunk(chunk)))
            .collect();
        Ok((py.get_type::<Self>(), (chunks?, None, part.threads())))
    }
}

/// Lower triangles in double precision.
fn bytes(n: usize, p: usize) -> usize {
    4 * n * p * (p + 1)
}
