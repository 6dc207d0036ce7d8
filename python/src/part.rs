//! Parts of a set, each held by one worker of a cluster: bytes in, bytes out.

use codiag::{Matrix, Scalar, SetOptions, backend, c64, cluster};
use numpy::{Element, PyReadonlyArray3};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};

use crate::convert::{
    Either, MatrixArg, MatrixStack, cube, either, in_place, matrix_from, matrix_to, shape,
};
use crate::errors::bad_input;
use crate::options::Options;

/// Consecutive matrices of a larger set, checked except for definiteness.
#[pyclass(frozen, module = "codiag._core")]
pub struct Chunk(Either<backend::Chunk, backend::Chunk<c64>>);

/// Arguments that recreate a chunk: its matrices, the first's number, weights, options.
type ChunkArguments<'py> = (Bound<'py, PyAny>, usize, Vec<f64>, Bound<'py, PyDict>);

#[pymethods]
impl Chunk {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
    fn new(
        matrices: MatrixStack<'_>,
        first: usize,
        weights: Option<Vec<f64>>,
        options: &Bound<'_, PyDict>,
    ) -> PyResult<Self> {
        let options = Options::from_dict(options)?.for_set(weights);
        Ok(Self(match matrices {
            MatrixStack::Real(matrices) => Either::Real(gathered(&matrices, first, &options)?),
            MatrixStack::Complex(matrices) => {
                Either::Complex(gathered(&matrices, first, &options)?)
            }
        }))
    }

    /// The sum of the weights, the number of matrices without weights.
    #[getter]
    fn weight(&self) -> f64 {
        either!(&self.0, chunk => chunk.weight())
    }

    /// The weighted mean of the matrices or of their squares, which determines the reduction of a
    /// set.
    fn range_sum<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        either!(&self.0, chunk => Ok(matrix_to(py, py.detach(|| chunk.range_sum()))?.into_any()))
    }

    fn __len__(&self) -> usize {
        either!(&self.0, chunk => chunk.len())
    }

    fn __sizeof__(&self) -> usize {
        match &self.0 {
            Either::Real(chunk) => bytes(chunk.len(), chunk.channels(), 1),
            Either::Complex(chunk) => bytes(chunk.len(), chunk.channels(), 2),
        }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, ChunkArguments<'py>)> {
        let py = slf.py();
        let arguments = either!(&slf.get().0, chunk => chunk_arguments(py, chunk)?);
        Ok((py.get_type::<Self>(), arguments))
    }
}

fn gathered<T: Scalar + Element>(
    matrices: &PyReadonlyArray3<'_, T>,
    first: usize,
    options: &SetOptions,
) -> PyResult<backend::Chunk<T>> {
    let (n, p) = shape(matrices);
    let matrices = in_place(matrices)?;
    let data = matrices.as_slice()?;
    let py = matrices.py();
    let chunk = py.detach(|| backend::Chunk::new(data, n, p, first, options));
    chunk.map_err(bad_input)
}

fn chunk_arguments<'py, T: Scalar + Element>(
    py: Python<'py>,
    chunk: &backend::Chunk<T>,
) -> PyResult<ChunkArguments<'py>> {
    let (data, mut weights) = py.detach(|| chunk.matrices());
    weights.iter_mut().for_each(|w| *w *= chunk.weight());
    let matrices = cube(py, (chunk.len(), chunk.channels()), data)?.into_any();
    let options = PyDict::new(py);
    options.set_item("criterion", chunk.criterion().name())?;
    Ok((matrices, chunk.first(), weights, options))
}

/// The matrices of some chunks, with their transforms.
#[pyclass(frozen, module = "codiag._core")]
pub struct Worker(Either<cluster::Worker, cluster::Worker<c64>>);

/// Arguments that recreate a part: its chunks, no filters, and its number of threads.
type PartArguments<'py> = (
    Vec<Bound<'py, Chunk>>,
    Option<Bound<'py, PyAny>>,
    Option<usize>,
);

#[pymethods]
impl Worker {
    #[new]
    #[allow(clippy::needless_pass_by_value)] // arguments of Python functions are owned
    fn new(
        py: Python<'_>,
        chunks: Vec<PyRef<'_, Chunk>>,
        filters: Option<MatrixArg<'_>>,
        n_jobs: Option<usize>,
    ) -> PyResult<Self> {
        let (mut real, mut complex) = (Vec::new(), Vec::new());
        for chunk in &chunks {
            match &chunk.0 {
                Either::Real(chunk) => real.push(chunk.clone()),
                Either::Complex(chunk) => complex.push(chunk.clone()),
            }
        }
        let part = match (real.is_empty(), complex.is_empty(), filters) {
            (true, true, _) => return Err(PyValueError::new_err("a part has at least one chunk")),
            (false, true, None) => Either::Real(part_of(py, real, None, n_jobs)?),
            (true, false, None) => Either::Complex(part_of(py, complex, None, n_jobs)?),
            (false, true, Some(MatrixArg::Real(filters))) => {
                Either::Real(part_of(py, real, Some(&matrix_from(&filters)?), n_jobs)?)
            }
            (true, false, Some(MatrixArg::Complex(filters))) => {
                Either::Complex(part_of(py, complex, Some(&matrix_from(&filters)?), n_jobs)?)
            }
            _ => {
                let expected = "expected chunks and filters that are all real or all complex";
                return Err(PyTypeError::new_err(expected));
            }
        };
        Ok(Self(part))
    }

    /// The description of the part for the solver.
    fn describe<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &either!(&self.0, part => part.describe()))
    }

    /// The response to a request.
    fn respond<'py>(&self, py: Python<'py>, request: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let response = py.detach(|| either!(&self.0, part => part.respond(request)));
        Ok(PyBytes::new(py, &response.map_err(bad_input)?))
    }

    fn __sizeof__(&self) -> usize {
        match &self.0 {
            Either::Real(part) => bytes(part.len(), part.dimension(), 1),
            Either::Complex(part) => bytes(part.len(), part.dimension(), 2),
        }
    }

    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyType>, PartArguments<'py>)> {
        let py = slf.py();
        let (chunks, n_jobs) = match &slf.get().0 {
            Either::Real(part) => (chunks_of(py, part, Either::Real)?, part.n_jobs()),
            Either::Complex(part) => (chunks_of(py, part, Either::Complex)?, part.n_jobs()),
        };
        Ok((py.get_type::<Self>(), (chunks, None, n_jobs)))
    }
}

fn part_of<T: Scalar>(
    py: Python<'_>,
    chunks: Vec<backend::Chunk<T>>,
    filters: Option<&Matrix<T>>,
    n_jobs: Option<usize>,
) -> PyResult<cluster::Worker<T>> {
    let part = py.detach(|| cluster::Worker::of_chunks(chunks, filters, n_jobs));
    part.map_err(bad_input)
}

fn chunks_of<'py, T: Scalar>(
    py: Python<'py>,
    part: &cluster::Worker<T>,
    wrap: fn(backend::Chunk<T>) -> Either<backend::Chunk, backend::Chunk<c64>>,
) -> PyResult<Vec<Bound<'py, Chunk>>> {
    let chunks = py.detach(|| part.chunks()).map_err(bad_input)?;
    chunks
        .into_iter()
        .map(|chunk| Bound::new(py, Chunk(wrap(chunk))))
        .collect()
}

/// Size of n lower triangles in double precision.
fn bytes(n: usize, p: usize, planes: usize) -> usize {
    4 * planes * n * p * (p + 1)
}
