//! Files with a few changed bytes give a result or an error, never a panic.
//!
//! `make soak` runs more cases (`CODIAG_MUTATIONS`).

use std::io::{Cursor, Write};
use std::sync::atomic::AtomicBool;

use codiag_cli::{BAD_INPUT, NOT_CONVERGED, Session, run};
use zip::write::SimpleFileOptions;

use crate::{Array, TestDir};

/// SplitMix64.
pub struct Random(pub u64);

impl Random {
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit.max(1) as u64) as usize
    }
}

/// Values that are likely to break readers.
const PIECES: [&[u8]; 16] = [
    b"0",
    b"-1",
    b"9999999999999999999",
    b"4294967296",
    b"nan",
    b"inf",
    b"1e999",
    b"(,)",
    b"()",
    b"\xff\xff\xff\xff",
    b"\x00\x00\x00\x00",
    b"PK\x03\x04",
    b"\x93NUMPY\x02\x00",
    b"\n",
    b",",
    b"\"",
];

/// Changes a file in one to four positions, mostly in its header.
fn mutate(random: &mut Random, file: &mut Vec<u8>) {
    for _ in 0..=random.below(4) {
        let reach = if random.below(3) == 0 {
            file.len()
        } else {
            file.len().min(128)
        };
        let at = random.below(reach);
        let rest = file.len() - at;
        match random.below(7) {
            0 => file.truncate(at),
            1 if rest > 0 => file[at] ^= 1 << random.below(8),
            2 if rest > 0 => file[at] = random.bits() as u8,
            3 => {
                let piece = PIECES[random.below(PIECES.len())];
                file.splice(at..at, piece.iter().copied());
            }
            4 => {
                let piece = PIECES[random.below(PIECES.len())];
                let end = at + piece.len().min(rest);
                file.splice(at..end, piece.iter().copied());
            }
            5 => {
                let end = at + random.below(rest.min(40));
                file.drain(at..end);
            }
            _ => {
                let end = at + random.below(rest.min(40));
                let again = file[at..end].to_vec();
                file.splice(at..at, again);
            }
        }
    }
}

/// A valid file and the arguments that read it: `@` is its path, `-` standard input.
struct Seed {
    arguments: &'static str,
    ending: &'static str,
    content: Vec<u8>,
}

fn archive(arrays: &[(&str, &[u8])], method: zip::CompressionMethod) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, content) in arrays {
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn seeds(dir: &TestDir) -> Vec<Seed> {
    let set = codiag::synthetic::Synthetic::new(4, 3, 0.1, 0).data;
    let of = |description: &str, bytes: fn(f64) -> Vec<u8>, fortran: bool| {
        // In Fortran order, the first index varies fastest.
        let fortran_index = |k: usize| (k % 4) * 9 + (k / 4 % 3) * 3 + k / 12;
        let data: Vec<u8> = (0..36)
            .flat_map(|k| bytes(set[if fortran { fortran_index(k) } else { k }]))
            .collect();
        Array::bytes(description, fortran, "(4, 3, 3)", &data)
    };
    let doubles = of("<f8", |x| x.to_le_bytes().to_vec(), false);
    let singles = of("<f4", |x| (x as f32).to_le_bytes().to_vec(), true);
    let swapped = of(">f8", |x| x.to_be_bytes().to_vec(), false);
    let stored = archive(&[("C.npy", &doubles)], zip::CompressionMethod::Stored);
    let packed = archive(
        &[("C.npy", &doubles), ("D.npy", &singles)],
        zip::CompressionMethod::Deflated,
    );
    let lines = |separator: &str| -> Vec<u8> {
        let row = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>();
        let rows = set[..9].chunks(3).map(|x| row(x).join(separator) + "\r\n");
        rows.collect::<String>().into_bytes()
    };
    let signal: Vec<f64> = (0..120_i32).map(|k| f64::from(k * k % 37) - 18.0).collect();
    let recording = Array::of("(3, 40)", &signal);
    let row = |some: &[f64]| {
        some.iter()
            .map(f64::to_string)
            .collect::<Vec<_>>()
            .join(",")
    };
    let text = format!("{}\n{}\n", row(&signal[..40]), row(&signal[40..80])).into_bytes();
    dir.write("good.npy", &recording);
    dir.write("set.npy", &doubles);
    let info = br#"{"name": "x", "names": ["Cz", "Fz", "EOG"], "positions": [[0, 1], null, [1, 0]],
        "groups": [0, 0, 1], "bad_spans": [[3, 7]]}"#;
    let seed = |arguments, ending, content: &[u8]| Seed {
        arguments,
        ending,
        content: content.to_vec(),
    };
    vec![
        seed("check -", "npy", &doubles),
        seed("check -", "npy", &singles),
        seed("check @", "npy", &swapped),
        seed("diagonalize - --json --max-iter 20", "npy", &doubles),
        seed(
            "diagonalize @ --json --max-iter 20 --memory 100MB",
            "npy",
            &doubles,
        ),
        seed("check -", "npz", &stored),
        seed("check - --key D", "npz", &packed),
        seed("check @ --key C", "npz", &packed),
        seed("check @", "csv", &lines(",")),
        seed("check @", "txt", &lines(" ")),
        seed("diagonalize @ --json --max-iter 20", "tsv", &lines("\t")),
        seed(
            "separate @ --n-segments 4 --json --max-iter 20",
            "npy",
            &recording,
        ),
        seed(
            "separate @ --n-segments 4 --sfreq 20 --max-iter 20 --quiet",
            "csv",
            &text,
        ),
        seed(
            "separate GOOD --n-segments 4 --info @ --json --max-iter 20",
            "json",
            info,
        ),
        seed(
            "separate GOOD --n-segments 4 --names @ --json --max-iter 20",
            "txt",
            b"Cz\nFz\nPz\n",
        ),
        seed(
            "diagonalize SET --sample-weight @ --json --max-iter 20",
            "csv",
            b"1\n2\n0.5\n3\n",
        ),
        seed(
            "diagonalize SET --init @ --json --max-iter 20",
            "csv",
            b"1,0,0\n0,1,0.5\n0,0,1\n",
        ),
    ]
}

/// Runs the program in this process. Returns its exit code and standard error, or a violated
/// expectation.
fn attempt(dir: &TestDir, seed: &Seed, content: &[u8]) -> Result<(i32, String), String> {
    let path = dir.path(&format!("mutated.{}", seed.ending));
    if seed.arguments.contains('@') {
        std::fs::write(&path, content).map_err(|e| e.to_string())?;
    }
    let text = |path: &std::path::Path| path.display().to_string();
    let arguments = seed.arguments.split(' ').map(|argument| match argument {
        "@" => text(&path),
        "GOOD" => text(&dir.path("good.npy")),
        "SET" => text(&dir.path("set.npy")),
        other => other.to_owned(),
    });
    let interrupted = AtomicBool::new(false);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut session = Session::new(content, &mut out, &mut err, &interrupted);
    let code = run(
        std::iter::once("codiag".to_owned()).chain(arguments),
        &mut session,
    );
    drop(session);
    let messages = String::from_utf8(err).map_err(|e| e.to_string())?;
    let errors = messages.lines().filter(|line| line.starts_with("error: "));
    match code {
        // `check` reports problems on standard output.
        BAD_INPUT if errors.count() == 1 || seed.arguments.starts_with("check") => {}
        0 | NOT_CONVERGED if !messages.contains("error: ") => {
            if seed.arguments.contains("--json") {
                let report: serde_json::Value =
                    serde_json::from_slice(&out).map_err(|e| e.to_string())?;
                if !report["loss"].is_f64() {
                    return Err(format!("a loss of {}", report["loss"]));
                }
            }
        }
        _ => return Err(format!("exit code {code}, standard error: {messages}")),
    }
    Ok((code, messages))
}

#[test]
fn corrupted_files_give_a_result_or_an_error() {
    let dir = TestDir::new();
    let seeds = seeds(&dir);
    for seed in &seeds {
        let code = attempt(&dir, seed, &seed.content);
        let accepted = matches!(code, Ok((0 | NOT_CONVERGED, _)));
        assert!(accepted, "{}: {code:?}", seed.arguments);
    }
    let cases = std::env::var("CODIAG_MUTATIONS").ok();
    let cases = cases.and_then(|text| text.parse().ok()).unwrap_or(4000);
    let random = &mut Random(1);
    let mut errors = 0;
    for k in 0..cases {
        let seed = &seeds[random.below(seeds.len())];
        let mut content = seed.content.clone();
        mutate(random, &mut content);
        let judged = std::panic::catch_unwind(|| attempt(&dir, seed, &content))
            .unwrap_or_else(|_| Err("a panic".to_owned()));
        match judged {
            Ok((code, _)) => errors += usize::from(code == BAD_INPUT),
            Err(problem) => panic!(
                "mutation {k} of {} ({}): {problem}; the file is {content:?}",
                seed.arguments, seed.ending
            ),
        }
    }
    // Many mutations, but not all, must affect the readers.
    assert!(errors > cases / 4 && errors < cases, "{errors} of {cases}");
}
