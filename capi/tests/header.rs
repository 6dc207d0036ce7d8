//! include/codiag.h says what the sources say.

use std::fmt::Write;
use std::path::Path;

/// With `CODIAG_BLESS=1 cargo test -p codiag-c --test header` it is written anew.
#[test]
fn the_header_is_true() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config =
        cbindgen::Config::from_file(here.join("cbindgen.toml")).expect("cbindgen.toml");
    let constants = config.after_includes.take().unwrap_or_default();
    config.after_includes = Some(version_macros() + &constants);
    let mut builder = cbindgen::Builder::new().with_config(config);
    // In the order in which a reader meets them.
    let files = [
        "border", "details", "choices", "options", "observer", "set", "answer", "signals",
        "library",
    ];
    for file in files {
        builder = builder.with_src(here.join(format!("src/{file}.rs")));
    }
    let mut made = Vec::new();
    builder
        .generate()
        .expect("the sources are read")
        .write(&mut made);
    let made = String::from_utf8(made).expect("a header is UTF-8");
    // C89 allows neither a comma after the last constant of an enum nor // comments.
    let made = made.replace(",\n} ", "\n} ");
    let made = made.replace("#endif // __cplusplus", "#endif");
    let made = made.replace("#endif  // __cplusplus", "#endif");
    let path = here.join("include/codiag.h");
    if std::env::var_os("CODIAG_BLESS").is_some() {
        std::fs::write(&path, &made).expect("the header can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        made == kept.replace("\r\n", "\n"),
        "include/codiag.h is not what the sources say: CODIAG_BLESS=1 cargo test -p codiag-c --test header writes it anew"
    );
    for function in exported() {
        assert!(
            made.contains(&format!("{function}(")),
            "{function} is not in the header"
        );
    }
}

/// The version of the package, as macros.
fn version_macros() -> String {
    let mut out = "\n/** The version of this header; codiag_version() is that of the library. */\n"
        .to_owned();
    for (name, value) in [
        ("_MAJOR", env!("CARGO_PKG_VERSION_MAJOR").to_owned()),
        ("_MINOR", env!("CARGO_PKG_VERSION_MINOR").to_owned()),
        ("_PATCH", env!("CARGO_PKG_VERSION_PATCH").to_owned()),
        ("", format!("\"{}\"", env!("CARGO_PKG_VERSION"))),
    ] {
        writeln!(out, "#define CODIAG_VERSION{name} {value}").expect("a string takes all");
    }
    out
}

/// The functions of the sources that C can call.
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
