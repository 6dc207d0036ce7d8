//! wip
use codiag::synthetic::*;
use codiag::*;
fn main() {
    let mut sets: Vec<(String, MatrixSet)> = vec![
        ("(a)".into(), exact(100, 40, 0)),
        ("(b)".into(), noisy(100, 40, 0.1, 0)),
        ("0.3".into(), noisy(100, 40, 0.3, 0)),
    ];
    for s in [Sensors::Magnetometers, Sensors::Gradiometers] {
        sets.push((format!("{s:?}"), MatrixSet::new(&meg(s), 100, 40).unwrap()));
    }
    sets.push(("p5".into(), noisy(100, 5, 0.1, 0)));
    for (name, set) in &sets {
        for (m, st) in [
            (Method::QuasiNewton, Start::Whitener),
            (Method::Newton, Start::Spectral),
            (Method::Pham, Start::Whitener),
        ] {
            let settings = Settings {
                method: m,
                start: st,
                tolerance: 1e-6,
                threads: Some(1),
                ..Settings::default()
            };
            let t = std::time::Instant::now();
            let a = diagonalize(set, &settings).unwrap();
            let s = t.elapsed().as_secs_f64();
            println!(
                "{name:15} {:13} {:20} it {:5} passes {:7.1} g {:.1e} loss {:.6} {:.2} ms",
                m.name(),
                a.status.name(),
                a.iterations,
                a.history.last().unwrap().passes,
                a.gradient_norm,
                a.loss,
                s * 1e3
            );
        }
    }
}
