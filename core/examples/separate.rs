//! Separation of three voices recorded by three microphones.
//!
//! ```text
//! cargo run --release --example separate
//! ```
#![allow(clippy::print_stdout)]

use codiag::signals::{RecordingView, Separation, simulate};

fn main() -> Result<(), codiag::Error> {
    // The samples of the channels, concatenated. Use your own recording here.
    let generated = simulate::voices(3, 10.0, 0);
    let recording = RecordingView::new(&generated.data, generated.channels, generated.samples)?;

    // By default, the powers of the sources vary between about 100 segments.
    let found = Separation::default().fit(&recording)?;
    assert!(found.diagonalization.status.is_converged());
    let sources = found.sources(&recording)?;
    println!(
        "{} sources of {} samples",
        sources.rows(),
        sources.columns()
    );

    for k in 0..found.n_components() {
        let least = found.least_separable[k].expect("there is another source");
        println!(
            "source {k}: {:4.1} % of the variance, power varies by {:3.0} %, least separable from \
             source {} (margin {:.1e})",
            100.0 * found.explained_variance_ratio[k],
            100.0 * found.nonstationarity[k],
            least.partner,
            least.margin,
        );
    }
    // The true sources are known, because the recording is simulated.
    for (k, ratio) in generated
        .interference_ratios(found.filters())
        .iter()
        .enumerate()
    {
        println!("source {k}: signal-to-interference ratio {ratio:.0} dB");
    }
    Ok(())
}
