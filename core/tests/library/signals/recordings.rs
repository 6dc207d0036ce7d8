//! Recordings and epochs in memory.

use codiag::Error;
use codiag::signals::{Epochs, Recording, RecordingView};

fn ascending(n: usize) -> Vec<f64> {
    (0..n).map(|k| k as f64).collect()
}

#[test]
fn strides_do_not_change_the_samples() {
    let (channels, samples) = (3, 200);
    let rows = ascending(channels * samples);
    let columns: Vec<f64> = (0..samples)
        .flat_map(|t| (0..channels).map(move |c| (c * samples + t) as f64))
        .collect();
    let mut expected = vec![0.0; channels * 130];
    let view = RecordingView::new(&rows, channels, samples).unwrap();
    view.read(50..180, &mut expected).unwrap();
    assert_eq!(expected[131], 251.0);
    let mut out = vec![0.0; channels * 130];
    let transposed =
        RecordingView::with_strides(&columns, channels, samples, (1, channels)).unwrap();
    transposed.read(50..180, &mut out).unwrap();
    assert_eq!(out, expected);
    let constant = RecordingView::with_strides(&rows, 2, 5, (1, 0)).unwrap();
    constant.read(1..4, &mut out[..6]).unwrap();
    assert_eq!(out[..6], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
}

#[test]
fn epochs_are_read_as_one_recording() {
    let data = ascending(4 * 2 * 5);
    let epochs = Epochs::new(&data, 4, 2, 5).unwrap();
    assert_eq!((epochs.channels(), epochs.samples()), (2, 20));
    let mut out = vec![0.0; 2 * 9];
    epochs.read(3..12, &mut out).unwrap();
    let expected: Vec<f64> = (0..2_usize)
        .flat_map(|c| (3..12).map(move |t| (t / 5 * 10 + c * 5 + t % 5) as f64))
        .collect();
    assert_eq!(out, expected);
}

#[test]
fn invalid_shapes_are_errors() {
    let data = ascending(6);
    assert!(matches!(
        RecordingView::new(&data, 0, 6),
        Err(Error::RecordingShape { .. })
    ));
    assert!(matches!(
        RecordingView::new(&data, 2, 2),
        Err(Error::Length { .. })
    ));
    // The product of the sizes overflows to 0 modulo 2⁶⁴.
    assert!(matches!(
        RecordingView::new(&[], 1 << 32, 1 << 32),
        Err(Error::Length { .. })
    ));
    assert!(matches!(
        RecordingView::with_strides(&data, 2, 3, (4, 1)),
        Err(Error::Length { .. })
    ));
    assert!(matches!(
        Epochs::new(&data, 2, 0, 3),
        Err(Error::RecordingShape { .. })
    ));
}
