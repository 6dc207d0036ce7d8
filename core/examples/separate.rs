//! Three voices, three microphones: find the voices again.
//!
//! ```text
//! cargo run --release --example separate
//! ```
#![allow(clippy::print_stdout)]

use codiag::signals::{RecordingView, Separation, simulate};

fn main() -> Result<(), codiag::Error> {
    // In your program: channels · samples numbers, one channel after the other.
    let made = simulate::voices(3, 10.0, 0);
    let recording = RecordingView::new(&made.data, made.channels, made.samples)?;

    // 100 segments; the voices are what varies from one to the next.
    let found = Separation::default().fit(&recording)?;
    assert!(found.diagonalization.status.is_converged());
    let sources = found.sources(&recording)?;
    println!(
        "{} sources of {} samples",
        sources.rows(),
        sources.columns()
    );

    for k in 0..found.n_components() {
        let rival = found.least_separable[k].expect("there are others");
        println!(
            "source {k}: {:4.1} % of the variance, power varies by {:3.0} %, hardest to tell from \
             source {} (margin {:.1e})",
            100.0 * found.explained_variance_ratio[k],
            100.0 * found.nonstationarity[k],
            rival.partner,
            rival.margin,
        );
    }
    // Only a simulation can tell how good that is.
    for ratio in made.interference_ratios(found.filters()) {
        println!("a voice stands {ratio:.0} dB above the others");
    }
    Ok(())
}
