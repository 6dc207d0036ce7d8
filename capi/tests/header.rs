//! include/codiag.h is up to date with the sources.

use std::fmt::Write;
use std::path::Path;

/// `CODIAG_BLESS=1 cargo test -p codiag-c --test header` regenerates the header.
#[test]
fn header_matches_sources() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config =
        cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml");
    let constants = config.after_includes.take().unwrap_or_default();
    config.after_includes = Some(version_macros() + &constants);
    let mut builder = cbindgen::Builder::new().with_config(config);
    // In reading order.
    let files = [
        "ffi_guard",
        "error_details",
        "choices",
        "options",
        "observer",
        "set",
        "result",
        "signals",
        "library",
    ];
    for file in files {
        builder = builder.with_src(here.join(format!("src/{file}.rs")));
    }
    let mut generated = Vec::new();
    builder
        .generate()
        .expect("the sources can be read")
        .write(&mut generated);
    let generated = String::from_utf8(generated).expect("a header is UTF-8");
    // C89 allows neither a comma after the last constant of an enum nor // comments.
    let generated = generated.replace(",\n} ", "\n} ");
    let generated = generated.replace("#endif // __cplusplus", "#endif");
    let generated = generated.replace("#endif  // __cplusplus", "#endif");
    let path = here.join("include/codiag.h");
    if std::env::var_os("CODIAG_BLESS").is_some() {
        std::fs::write(&path, &generated).expect("the header can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        generated == kept.replace("\r\n", "\n"),
        "include/codiag.h is outdated; regenerate it by CODIAG_BLESS=1 cargo test -p codiag-c --test header"
    );
    for function in exported() {
        assert!(
            generated.contains(&format!("{function}(")),
            "{function} is not in the header"
        );
    }
}

/// Returns the macros of the package version.
fn version_macros() -> String {
    let mut out =
        "\n/** Version of this header; codiag_version() returns the version of the library. */\n"
            .to_owned();
    for (name, value) in [
        ("_MAJOR", env!("CARGO_PKG_VERSION_MAJOR").to_owned()),
        ("_MINOR", env!("CARGO_PKG_VERSION_MINOR").to_owned()),
        ("_PATCH", env!("CARGO_PKG_VERSION_PATCH").to_owned()),
        ("", format!("\"{}\"", env!("CARGO_PKG_VERSION"))),
    ] {
        writeln!(out, "#define CODIAG_VERSION{name} {value}")
            .expect("writing to a string succeeds");
    }
    out
}

/// Returns the names of all functions that the sources export to C.
fn exported() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).expect("there are sources") {
        let text = std::fs::read_to_string(entry.expect("an entry").path()).expect("a source");
        let after = text.split("extern \"C\" fn ").skip(1);
        names.extend(
            after
                .filter(|rest| rest.starts_with("codiag_"))
                .map(|rest| {
                    let end = rest.find('(').unwrap_or(rest.len());
                    rest[..end].to_owned()
                }),
        );
    }
    assert!(names.len() > 20, "only {names:?}");
    names
}
