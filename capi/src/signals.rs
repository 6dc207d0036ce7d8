//! Covariance, lagged covariance and cumulant matrices of recordings.

use std::ffi::c_int;
use std::ptr;

use codiag::Error;
use codiag::signals::{
    self, Components, CovarianceOptions, Lags, RecordingView, SegmentLength, Segments,
};

use crate::arrays::{Layout, slice, slice_mut};
use crate::choices::{self, flag};
use crate::ffi_guard::{Failure, guard};
use crate::options::{self, VersionedStruct, end_of};

/// Multichannel recording in memory. Initialize it with codiag_recording_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_recording {
    /// sizeof(codiag_recording), set by codiag_recording_init.
    pub size: usize,
    /// n_channels x n_samples numbers.
    pub data: *const f64,
    /// Number of channels.
    pub n_channels: usize,
    /// Number of samples of each channel.
    pub n_samples: usize,
    /// Layout of `data`, a codiag_layout: CODIAG_LAYOUT_ROW_MAJOR for channel by channel,
    /// CODIAG_LAYOUT_COLUMN_MAJOR for sample by sample. Default: CODIAG_LAYOUT_ROW_MAJOR.
    pub layout: c_int,
    /// Whether the mean of the samples of each matrix is subtracted: 0 or 1. Default: 1.
    pub center: c_int,
    /// Number of threads. Default: 0 (chosen automatically).
    pub n_jobs: usize,
}

// SAFETY: repr(C), its first field is its size; any bytes are valid numbers and pointers.
unsafe impl VersionedStruct for codiag_recording {
    const FIRST_SIZE: usize = end_of!(codiag_recording, n_jobs: usize);
    const NAME: &'static str = "codiag_recording";
}

impl codiag_recording {
    fn defaults() -> Self {
        Self {
            size: size_of::<Self>(),
            data: ptr::null(),
            n_channels: 0,
            n_samples: 0,
            layout: 0,
            center: 1,
            n_jobs: 0,
        }
    }
}

/// Sets a recording to its defaults, without data. `size` is sizeof(codiag_recording). Returns 0 or
/// a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_recording_init(
    recording: *mut codiag_recording,
    size: usize,
) -> c_int {
    // SAFETY: null or a struct of `size` bytes, as the caller guarantees.
    unsafe { options::init(recording, size, codiag_recording::defaults()) }
}

/// Validated recording.
struct ValidRecording<'a> {
    view: RecordingView<'a>,
    channels: usize,
    layout: Layout,
    options: CovarianceOptions,
}

/// Validates a recording.
///
/// # Safety
/// `given` is null, or a recording whose data are n_channels x n_samples numbers.
unsafe fn validate<'a>(given: *const codiag_recording) -> Result<ValidRecording<'a>, Failure> {
    if given.is_null() {
        return Err(Failure::argument(
            "the recording is NULL; pass a codiag_recording initialized by codiag_recording_init",
        ));
    }
    // SAFETY: null or valid, as the caller guarantees.
    let given = unsafe { options::read(given, codiag_recording::defaults()) }?;
    let (channels, samples) = (given.n_channels, given.n_samples);
    let layout = choices::layout(given.layout)?;
    if channels == 0 || samples == 0 {
        RecordingView::new(&[], channels, samples)?;
    }
    let shape = || vec![channels, samples];
    let count = channels.checked_mul(samples);
    let count = count.ok_or_else(|| Error::TooLarge { shape: shape() })?;
    // SAFETY: null or valid, as the caller guarantees.
    let data = unsafe { slice(given.data, count, "the data of the recording") }?;
    let strides = match layout {
        Layout::Row => (samples, 1),
        Layout::Column => (1, channels),
    };
    let options = CovarianceOptions::default()
        .center(flag("center", given.center)?)
        .n_jobs((given.n_jobs > 0).then_some(given.n_jobs));
    Ok(ValidRecording {
        view: RecordingView::with_strides(data, channels, samples, strides)?,
        channels,
        layout,
        options,
    })
}

/// Returns n*p*p. Fails if it exceeds the address space.
fn count(n: usize, p: usize) -> Result<usize, Failure> {
    let count = p.checked_mul(p).and_then(|square| square.checked_mul(n));
    let shape = vec![n, p, p];
    Ok(count.ok_or(Error::TooLarge { shape })?)
}

/// Computes the covariances of `n_segments` segments of equal length of a recording, for example to
/// diagonalize them by the likelihood. `out` has room for n_segments*n_channels*n_channels numbers.
/// Returns 0 or a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_segment_covariances(
    recording: *const codiag_recording,
    n_segments: usize,
    out: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: null or valid, as the caller guarantees.
        let recording = unsafe { validate(recording) }?;
        let numbers = count(n_segments, recording.channels)?;
        let segments = Segments::default().length(SegmentLength::Count(n_segments));
        let computed =
            signals::segment_covariances(&recording.view, &segments, &recording.options)?;
        // SAFETY: null or an array of `numbers` numbers, as the caller guarantees.
        unsafe { slice_mut(out, numbers, "out") }?.copy_from_slice(&computed.data);
        Ok(())
    })
}

/// Computes the symmetrized lagged covariances (R + R^T)/2 of a recording, where R is the mean of
/// x(t + lag) x(t)^T over t, for `n_lags` lags in samples. Diagonalize them by the Frobenius
/// criterion if the recording is white, otherwise by least squares. `out` has room for
/// n_lags*n_channels*n_channels numbers. Returns 0 or a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_lagged_covariances(
    recording: *const codiag_recording,
    lags: *const usize,
    n_lags: usize,
    out: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: null or valid, as the caller guarantees.
        let recording = unsafe { validate(recording) }?;
        let lags = if n_lags == 0 {
            &[]
        } else {
            // SAFETY: null or `n_lags` numbers, as the caller guarantees.
            unsafe { slice(lags, n_lags, "lags") }?
        };
        let numbers = count(n_lags, recording.channels)?;
        let lags = Lags::new(lags.iter().copied());
        let computed = signals::lagged_covariances(&recording.view, &lags, &recording.options)?;
        // SAFETY: null or an array of `numbers` numbers, as the caller guarantees.
        unsafe { slice_mut(out, numbers, "out") }?.copy_from_slice(&computed.data);
        Ok(())
    })
}

/// Computes the fourth-order cumulant matrices of a recording that is whitened to r =
/// `n_components` principal components (JADE). Diagonalize them by the Frobenius criterion.
/// `matrices` has room for r(r+1)/2 matrices of r*r numbers; `whitener` for r x n_channels numbers,
/// which are written in the layout of the recording. Returns 0 or a codiag_error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_cumulants(
    recording: *const codiag_recording,
    n_components: usize,
    matrices: *mut f64,
    whitener: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: null or valid, as the caller guarantees.
        let recording = unsafe { validate(recording) }?;
        let components = Components::Count(n_components);
        let computed = signals::cumulants(&recording.view, components, &[], &recording.options)?;
        let (numbers, shape) = (
            computed.matrices.data.len(),
            (n_components, recording.channels),
        );
        // SAFETY: null or arrays of these lengths, as the caller guarantees.
        let (matrices, whitener) = unsafe {
            (
                slice_mut(matrices, numbers, "matrices")?,
                slice_mut(whitener, shape.0 * shape.1, "whitener")?,
            )
        };
        matrices.copy_from_slice(&computed.matrices.data);
        recording
            .layout
            .write(computed.whitener.as_slice(), shape, whitener);
        Ok(())
    })
}
