//! Speed of covariances, cospectra and separation for an MEG recording of 306 channels and 14,400
//! samples.
//!
//! ```text
//! cargo bench -p codiag --bench signals
//! ```

use std::hint::black_box;
use std::time::Duration;

use codiag::Settings;
use codiag::signals::{
    Bands, Components, CovarianceOptions, RecordingView, SegmentLength, Segments, Separation,
    Shrinkage, cospectra, segment_covariances, simulate,
};
use criterion::{Criterion, criterion_group, criterion_main};

fn signals(criterion: &mut Criterion) {
    let generated = simulate::nonstationary(306, 100, 144, 0);
    let recording =
        RecordingView::new(&generated.data, generated.channels, generated.samples).unwrap();
    // A segment has more samples than these channels, so that its covariance has full rank.
    let fewer = RecordingView::new(
        &generated.data[..100 * generated.samples],
        100,
        generated.samples,
    )
    .unwrap();
    let options = CovarianceOptions::default().n_jobs(1);
    let shrunk = options.clone().shrinkage(Shrinkage::Fixed(0.1));
    let mut group = criterion.benchmark_group("306 x 14400");
    group
        .sample_size(10)
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3));
    let segments = Segments::default().length(SegmentLength::Count(100));
    group.bench_function("100 segment covariances", |b| {
        b.iter(|| segment_covariances(black_box(&recording), &segments, &shrunk).unwrap());
    });
    group.bench_function("100 segment covariances of 100 channels", |b| {
        b.iter(|| segment_covariances(black_box(&fewer), &segments, &options).unwrap());
    });
    let bands = Bands::even(1.0, 40.0, 20, 100.0);
    group.bench_function("20 cospectra of 100 channels", |b| {
        b.iter(|| cospectra(black_box(&fewer), &bands, &options).unwrap());
    });
    let separation = Separation::default()
        .n_components(Components::Count(40))
        .n_jobs(1)
        .solver(Settings::default().tol(1e-6));
    group.bench_function("to 40 sources", |b| {
        b.iter(|| {
            let found = separation.fit(black_box(&recording)).unwrap();
            found.sources(&recording).unwrap()
        });
    });
    group.finish();
}

criterion_group!(benches, signals);
criterion_main!(benches);
