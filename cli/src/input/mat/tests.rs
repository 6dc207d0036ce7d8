//! Reader of .mat files: tests with files written according to the format's specification.

use std::io::Write;

use super::*;

/// Writes elements in either byte order.
struct Writer {
    big_endian: bool,
}

impl Writer {
    fn number(&self, x: u32) -> [u8; 4] {
        if self.big_endian {
            x.to_be_bytes()
        } else {
            x.to_le_bytes()
        }
    }

    fn element(&self, kind: u32, content: &[u8]) -> Vec<u8> {
        let mut out = [self.number(kind), self.number(content.len() as u32)].concat();
        out.extend(content);
        out.resize(out.len().next_multiple_of(8), 0);
        out
    }

    fn small(&self, kind: u32, content: &[u8]) -> Vec<u8> {
        let mut out = self.number((content.len() as u32) << 16 | kind).to_vec();
        out.extend(content);
        out.resize(8, 0);
        out
    }

    fn doubles(&self, numbers: &[f64]) -> Vec<u8> {
        let bytes = |x: &f64| {
            if self.big_endian {
                x.to_be_bytes()
            } else {
                x.to_le_bytes()
            }
        };
        self.element(9, &numbers.iter().flat_map(bytes).collect::<Vec<u8>>())
    }

    /// Writes a variable whose parts are elements.
    fn variable(&self, name: &str, flags: u32, dims: &[u32], parts: &[Vec<u8>]) -> Vec<u8> {
        let dims: Vec<u8> = dims.iter().flat_map(|size| self.number(*size)).collect();
        let name = if name.len() <= 4 {
            self.small(INT8, name.as_bytes())
        } else {
            self.element(INT8, name.as_bytes())
        };
        let flags = [self.number(flags), self.number(0)].concat();
        let content = [
            self.element(UINT32, &flags),
            self.element(INT32, &dims),
            name,
        ]
        .concat();
        self.element(MATRIX, &[content, parts.concat()].concat())
    }

    fn file(&self, elements: &[Vec<u8>]) -> Vec<u8> {
        let mut out = b"MATLAB 5.0 MAT-file".to_vec();
        out.resize(124, b' ');
        out.extend(if self.big_endian { [1, 0] } else { [0, 1] });
        out.extend(if self.big_endian { b"MI" } else { b"IM" });
        out.extend(elements.concat());
        out
    }

    fn compressed(&self, element: &[u8]) -> Vec<u8> {
        let mut encoder =
            flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(element).unwrap();
        let content = encoder.finish().unwrap();
        let mut out = [self.number(COMPRESSED), self.number(content.len() as u32)].concat();
        out.extend(content);
        out
    }
}

const LITTLE: Writer = Writer { big_endian: false };

fn ascending(n: u32) -> Vec<f64> {
    (0..n).map(f64::from).collect()
}

#[test]
fn both_byte_orders_and_compression_are_read() {
    for big_endian in [false, true] {
        let writer = Writer { big_endian };
        let numbers = writer.doubles(&ascending(12));
        let variable = writer.variable("covariances", 6, &[2, 2, 3], &[numbers]);
        for element in [variable.clone(), writer.compressed(&variable)] {
            let variables = read(&writer.file(&[element])).unwrap();
            let (name, stack) = MatrixStack::choose(variables, None).unwrap();
            assert_eq!((name.as_str(), stack.n, stack.p), ("covariances", 3, 2));
            assert_eq!(stack.entry(2, 1, 0), (9.0, 0.0));
        }
    }
}

#[test]
fn all_number_types_are_converted() {
    let one = |kind: u32, content: &[u8]| {
        // MATLAB stores a matrix of doubles in a smaller type if its values allow it.
        let variable = LITTLE.variable("C", 6, &[1, 1], &[LITTLE.small(kind, content)]);
        let (_, stack) =
            MatrixStack::choose(read(&LITTLE.file(&[variable])).unwrap(), None).unwrap();
        stack.entry(0, 0, 0).0
    };
    assert_eq!(one(1, &[0xfe]), -2.0);
    assert_eq!(one(2, &[0xfe]), 254.0);
    assert_eq!(one(3, &(-300_i16).to_le_bytes()), -300.0);
    assert_eq!(one(4, &60_000_u16.to_le_bytes()), 60_000.0);
    assert_eq!(one(5, &(-70_000_i32).to_le_bytes()), -70_000.0);
    assert_eq!(one(6, &4_000_000_000_u32.to_le_bytes()), 4e9);
    assert_eq!(one(7, &1.5_f32.to_le_bytes()), 1.5);
    let long = LITTLE.element(12, &(-5_i64).to_le_bytes());
    let variable = LITTLE.variable("C", 14, &[1, 1], &[long]);
    let (_, stack) = MatrixStack::choose(read(&LITTLE.file(&[variable])).unwrap(), None).unwrap();
    assert_eq!(stack.entry(0, 0, 0).0, -5.0);
}

#[test]
fn imaginary_parts_are_read() {
    let parts = [
        LITTLE.doubles(&ascending(4)),
        LITTLE.doubles(&[0.0, -1.0, 1.0, 0.0]),
    ];
    let variable = LITTLE.variable("S", 6 | COMPLEX, &[2, 2], &parts);
    let (_, stack) = MatrixStack::choose(read(&LITTLE.file(&[variable])).unwrap(), None).unwrap();
    assert!(stack.is_complex());
    assert_eq!(stack.entry(0, 1, 0), (1.0, -1.0));
}

#[test]
fn matrix_index_is_deduced_from_the_shape() {
    let stack = |dims: &[u32]| {
        let count = dims.iter().product();
        let variable = LITTLE.variable("C", 6, dims, &[LITTLE.doubles(&ascending(count))]);
        MatrixStack::choose(read(&LITTLE.file(&[variable])).unwrap(), None).map(|(_, stack)| stack)
    };
    let last = stack(&[2, 2, 5]).unwrap();
    assert_eq!((last.n, last.p, last.entry(4, 0, 1).0), (5, 2, 18.0));
    let first = stack(&[5, 2, 2]).unwrap();
    assert_eq!((first.n, first.p, first.entry(4, 0, 1).0), (5, 2, 14.0));
    let one = stack(&[3, 3]).unwrap();
    assert_eq!((one.n, one.p), (1, 3));
    let scalars = stack(&[1, 1, 4]).unwrap();
    assert_eq!((scalars.n, scalars.p), (4, 1));
    let error = |dims: &[u32]| stack(dims).unwrap_err().to_string();
    assert!(error(&[3, 3, 3]).contains("3 x 3 x 3 is ambiguous: it may be p x p x n or n x p x p"));
    assert!(error(&[3, 3, 3]).contains("num2cell(C, [1 2])"));
    assert!(error(&[2, 3, 4]).ends_with("got 2 x 3 x 4"));
    assert!(error(&[2, 3]).ends_with("got 2 x 3"));
    assert!(error(&[0, 0, 2]).ends_with("got 0 x 0 x 2"));
    assert!(error(&[2, 2, 2, 2]).ends_with("got 2 x 2 x 2 x 2"));
}

#[test]
fn cell_arrays_of_matrices_are_read() {
    let cell = |k: f64| LITTLE.variable("", 6, &[2, 2], &[LITTLE.doubles(&[k, 0.0, 0.0, 1.0])]);
    let cells = [cell(7.0), cell(8.0), cell(9.0)];
    let variable = LITTLE.variable("D", 1, &[1, 1, 3], &cells);
    let (_, stack) = MatrixStack::choose(read(&LITTLE.file(&[variable])).unwrap(), None).unwrap();
    assert_eq!((stack.n, stack.p, stack.entry(1, 0, 0).0), (3, 2, 8.0));
    let other = LITTLE.variable("", 6, &[1, 2], &[LITTLE.doubles(&[1.0, 2.0])]);
    let variable = LITTLE.variable("D", 1, &[1, 2], &[cell(1.0), other]);
    let result = MatrixStack::choose(read(&LITTLE.file(&[variable])).unwrap(), None);
    assert_eq!(
        result.unwrap_err().to_string(),
        "cell 2 is 1 x 2, but the first cell is 2 x 2; all cells must have the same size"
    );
}

#[test]
fn variables_are_chosen_by_name() {
    let array = |name| LITTLE.variable(name, 6, &[1, 1], &[LITTLE.doubles(&[2.0])]);
    let text = LITTLE.variable("note", 4, &[1, 1], &[LITTLE.small(4, &[65, 0])]);
    let truth = LITTLE.variable("mask", 9 | LOGICAL, &[1, 1], &[LITTLE.small(2, &[1])]);
    let file = LITTLE.file(&[text, array("C"), truth, array("D")]);
    let choose = |key| MatrixStack::choose(read(&file).unwrap(), key).map(|(name, _)| name);
    assert_eq!(choose(Some("D")).unwrap(), "D");
    let error = |key| choose(key).unwrap_err().to_string();
    assert_eq!(
        error(None),
        "the file has several arrays; choose one with --key C|D"
    );
    assert_eq!(
        error(Some("E")),
        "the file has no array \"E\"; choose one of C, D"
    );
    assert_eq!(
        error(Some("note")),
        "\"note\" is text, not an array of numbers"
    );
    assert_eq!(
        error(Some("mask")),
        "\"mask\" is a logical array, not an array of numbers"
    );
}

#[test]
fn other_formats_are_named_in_errors() {
    let error = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert!(error(b"\x89HDF\r\n\x1a\n").contains("version 7.3 (HDF5)"));
    let mut newer = LITTLE.file(&[]);
    newer[125] = 2;
    assert!(error(&newer).contains("save('x.mat', 'C', '-v7')"));
    assert!(error(b"# Created by Octave 7.3.0").contains("Octave's text format"));
    assert!(error(b"MATLAB 5.0").contains("ends within its header"));
    assert!(error(&[0; 200]).contains("not a .mat file of version 5"));
}

/// Changed and truncated files give a value or an error, without a panic.
#[test]
fn damaged_files_do_not_panic() {
    let numbers = LITTLE.doubles(&ascending(12));
    let plain = LITTLE.variable(
        "covariances",
        6 | COMPLEX,
        &[2, 2, 3],
        &[numbers.clone(), numbers],
    );
    let cells = LITTLE.variable(
        "D",
        1,
        &[1, 1],
        &[LITTLE.variable("", 6, &[1, 1], &[LITTLE.doubles(&[1.0])])],
    );
    let file = LITTLE.file(&[LITTLE.compressed(&plain), plain, cells]);
    for length in 0..file.len() {
        let _ = read(&file[..length]).and_then(|found| MatrixStack::choose(found, Some("D")));
    }
    let mut state = 1_u64;
    let mut random = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for _ in 0..3000 {
        let mut changed = file.clone();
        for _ in 0..=random() % 4 {
            let at = HEADER + random() % (file.len() - HEADER);
            changed[at] = (random() % 256) as u8;
        }
        for key in ["D", "covariances"] {
            let stack = read(&changed).and_then(|found| MatrixStack::choose(found, Some(key)));
            if let Ok((_, stack)) = stack {
                let (i, p) = (stack.n - 1, stack.p - 1);
                let _ = stack.entry(i, p, p);
            }
        }
    }
}
