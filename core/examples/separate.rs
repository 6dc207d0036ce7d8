//! Three voices, three microphones: find the voices again.
//!
//! ```text
//! cargo run --release --example separate
//! ```
#![allow(clippy::print_stdout)]

use codiag::signals::{Separation, View, simulate};

fn main() -> Result<(), codiag::Error> {
    // In your program: channels · samples numbers, one channel after the other.
    let made = simulate::voices(3, 10.0, 0);
    let recording = View::new(&made.data, made.channels, made.samples)?;

    // 100 segments; the voices are what varies from one to the next.
    let found = Separation::default().fit(&recording)?;
    assert!(found.diagonalization.status.converged());
    let sources = found.sources(&recording)?;
    println!(
        "{} sources of {} samples",
        sources.rows(),
        sources.columns()
    );

    for k in 0..found.components() {
        let rival = found.rivals[k].expect("there are others");
        println!(
            "source {k}: {:4.1} % of the variance, power varies by {:3.0} %, hardest to tell from \
             source {} (margin {:.1e})",
            100.0 * found.variance_shares[k],
            100.0 * found.nonstationarity[k],
            rival.source,
            rival.margin,
        );
    }
    // Only a simulation can tell how good that is.
    for ratio in made.interference_ratios(found.filters()) {
        println!("a voice stands {ratio:.0} dB above the others");
    }
    Ok(())
}
