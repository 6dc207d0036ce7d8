//! From recordings to matrices.

use std::ffi::c_int;
use std::ptr;

use codiag::Error;
use codiag::signals::{
    self, Components, CovarianceOptions, Lags, RecordingView, SegmentLength, Segments,
};

use crate::arrays::{Layout, slice, slice_mut};
use crate::border::{Failure, guard};
use crate::choices::{self, flag};
use crate::options::{self, Growing, end_of};

/// A recording of channels x samples in memory. Set it up with codiag_recording_init.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct codiag_recording {
    /// sizeof(codiag_recording); the init function sets it.
    pub size: usize,
    /// channels x samples numbers.
    pub data: *const f64,
    /// The number of channels.
    pub channels: usize,
    /// The number of samples of each channel.
    pub samples: usize,
    /// CODIAG_LAYOUT_ROW_MAJOR (the default) for channel after channel, CODIAG_LAYOUT_COLUMN_MAJOR for
    /// sample after sample.
    pub layout: c_int,
    /// Whether the mean of what a matrix is made from is subtracted: 0 or 1 (the default).
    pub center: c_int,
    /// How many threads work; 0 (the default) for as many as pay.
    pub n_jobs: usize,
}

// SAFETY: repr(C), begins with its size; numbers and pointers may have any bytes.
unsafe impl Growing for codiag_recording {
    const FIRST_SIZE: usize = end_of!(codiag_recording, n_jobs: usize);
    const NAME: &'static str = "codiag_recording";
}

impl codiag_recording {
    fn defaults() -> Self {
        Self {
            size: size_of::<Self>(),
            data: ptr::null(),
            channels: 0,
            samples: 0,
            layout: 0,
            center: 1,
            n_jobs: 0,
        }
    }
}

/// Sets a recording to its defaults: no data yet. `size` is sizeof(codiag_recording).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_recording_init(
    recording: *mut codiag_recording,
    size: usize,
) -> c_int {
    // SAFETY: the caller passes a struct of that size.
    unsafe { options::init(recording, size, codiag_recording::defaults()) }
}

/// A recording that has been looked at.
struct Opened<'a> {
    view: RecordingView<'a>,
    channels: usize,
    layout: Layout,
    options: CovarianceOptions,
}

/// # Safety
/// `given` is null, or a recording whose data are channels x samples numbers.
unsafe fn open<'a>(given: *const codiag_recording) -> Result<Opened<'a>, Failure> {
    if given.is_null() {
        return Err(Failure::argument("the recording is NULL"));
    }
    // SAFETY: as the caller promises.
    let given = unsafe { options::read(given, codiag_recording::defaults()) }?;
    let (channels, samples) = (given.channels, given.samples);
    let layout = choices::layout(given.layout)?;
    if channels == 0 || samples == 0 {
        RecordingView::new(&[], channels, samples)?;
    }
    let shape = || vec![channels, samples];
    let count = channels.checked_mul(samples);
    let count = count.ok_or_else(|| Error::TooLarge { shape: shape() })?;
    // SAFETY: as the caller promises.
    let data = unsafe { slice(given.data, count, "the data of the recording") }?;
    let strides = match layout {
        Layout::Row => (samples, 1),
        Layout::Column => (1, channels),
    };
    let options = CovarianceOptions::default()
        .center(flag("center", given.center)?)
        .n_jobs((given.n_jobs > 0).then_some(given.n_jobs));
    Ok(Opened {
        view: RecordingView::with_strides(data, channels, samples, strides)?,
        channels,
        layout,
        options,
    })
}

/// So many matrices of p x p.
fn count(n: usize, p: usize) -> Result<usize, Failure> {
    let count = p.checked_mul(p).and_then(|square| square.checked_mul(n));
    let shape = vec![n, p, p];
    Ok(count.ok_or(Error::TooLarge { shape })?)
}

/// The covariances of so many equal segments of a recording: `out` gets segments*channels*channels
/// numbers, to be diagonalized by the likelihood.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_segment_covariances(
    recording: *const codiag_recording,
    segments: usize,
    out: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: as the caller promises.
        let opened = unsafe { open(recording) }?;
        let numbers = count(segments, opened.channels)?;
        let segments = Segments::default().length(SegmentLength::Count(segments));
        let made = signals::segment_covariances(&opened.view, &segments, &opened.options)?;
        // SAFETY: so many numbers, as the caller promises.
        unsafe { slice_mut(out, numbers, "out") }?.copy_from_slice(&made.data);
        Ok(())
    })
}

/// The lagged covariances (R + R^T)/2 of a recording, R being the sum of x(t + lag) x(t)^T divided by
/// the number of products, for so many lags in samples: `out` gets count*channels*channels numbers, to
/// be diagonalized by the Frobenius criterion if the recording is white, by least squares if not.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_lagged_covariances(
    recording: *const codiag_recording,
    lags: *const usize,
    count: usize,
    out: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: as the caller promises.
        let opened = unsafe { open(recording) }?;
        let lags = if count == 0 {
            &[]
        } else {
            // SAFETY: so many numbers, as the caller promises.
            unsafe { slice(lags, count, "lags") }?
        };
        let numbers = self::count(count, opened.channels)?;
        let lags = Lags::new(lags.iter().copied());
        let made = signals::lagged_covariances(&opened.view, &lags, &opened.options)?;
        // SAFETY: so many numbers, as the caller promises.
        unsafe { slice_mut(out, numbers, "out") }?.copy_from_slice(&made.data);
        Ok(())
    })
}

/// The fourth-order cumulant matrices of a recording, whitened to r = `components` principal components:
/// `matrices` gets r(r+1)/2 matrices of r*r numbers, to be diagonalized by the Frobenius criterion, and
/// `whitener` r x channels numbers in the layout of the recording.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn codiag_cumulants(
    recording: *const codiag_recording,
    components: usize,
    matrices: *mut f64,
    whitener: *mut f64,
) -> c_int {
    guard(|| {
        // SAFETY: as the caller promises.
        let opened = unsafe { open(recording) }?;
        let number = Components::Count(components);
        let made = signals::cumulants(&opened.view, number, &[], &opened.options)?;
        let (numbers, shape) = (made.matrices.data.len(), (components, opened.channels));
        // SAFETY: so many numbers each, as the caller promises: r components were found.
        let (matrices, whitener) = unsafe {
            (
                slice_mut(matrices, numbers, "matrices")?,
                slice_mut(whitener, shape.0 * shape.1, "whitener")?,
            )
        };
        matrices.copy_from_slice(&made.matrices.data);
        opened
            .layout
            .write(made.whitener.as_slice(), shape, whitener);
        Ok(())
    })
}
