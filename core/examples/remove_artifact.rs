//! Detection and removal of blinks in a simulated electroencephalogram.
//!
//! ```text
//! cargo run --release --example remove_artifact
//! ```
#![allow(clippy::print_stdout)]

use codiag::signals::{ArtifactKind, RecordingView, Separation, find_artifacts, simulate};

fn main() -> Result<(), codiag::Error> {
    // The samples of the channels, concatenated. Use your own recording here.
    let generated = simulate::eeg_with_blinks(16, 8, 120.0, 0);
    let recording = RecordingView::new(&generated.data, generated.channels, generated.samples)?;

    let found = Separation::default().fit(&recording)?;
    let sources = found.sources(&recording)?;
    let mut blinks = Vec::new();
    for k in 0..found.n_components() {
        for artifact in find_artifacts(sources.row(k), generated.sfreq, &[]) {
            println!("source {k}: {}, {}", artifact.kind.name(), artifact.reason);
            if artifact.kind == ArtifactKind::Blink {
                blinks.push(k);
            }
        }
    }

    let clean = found.remove(&recording, &blinks)?;
    let power = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>();
    for c in [0, generated.channels - 1] {
        let before = &generated.data[c * generated.samples..][..generated.samples];
        let remaining = 100.0 * power(clean.row(c)) / power(before);
        println!("channel {c} keeps {remaining:.0} % of its power");
    }
    Ok(())
}
