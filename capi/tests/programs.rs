//! The examples and the README, compiled with all warnings as errors, linked to the shared library
//! and to the static one, and run; under valgrind or AddressSanitizer where there is one.

#![cfg(unix)] // elsewhere compilers are not called `cc`
#![allow(clippy::print_stdout)] // what was not run is said

use std::path::{Path, PathBuf};
use std::process::Command;

/// Where cargo puts the libraries that this test depends on: beside the test itself.
fn libraries() -> PathBuf {
    let own = std::env::current_exe().expect("a test has a path");
    own.parent().expect("it is in a folder").to_owned()
}

fn shared_library() -> PathBuf {
    let name = format!(
        "libcodiag_c.{}",
        if cfg!(target_os = "macos") {
            "dylib"
        } else {
            "so"
        }
    );
    let path = libraries().join(name);
    assert!(path.exists(), "{} is not there", path.display());
    path
}

/// The newest, if cargo has left older ones.
fn static_library() -> PathBuf {
    let entries = std::fs::read_dir(libraries()).expect("the folder can be read");
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let named = paths.filter(|path| {
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        name.starts_with("libcodiag_c") && path.extension().is_some_and(|end| end == "a")
    });
    let newest = named.max_by_key(|path| path.metadata().and_then(|data| data.modified()).ok());
    newest.expect("the static library is built along")
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn there_is(program: &str) -> bool {
    Command::new(program)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

struct Language {
    compiler: &'static str,
    standard: &'static str,
}

const C: Language = Language {
    compiler: "cc",
    standard: "-std=c99",
};
const CPP: Language = Language {
    compiler: "c++",
    standard: "-std=c++17",
};

/// A folder in which the shared library has the name by which programs ask for it.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder for a while");
        let library = shared_library();
        let (major, minor) = (
            env!("CARGO_PKG_VERSION_MAJOR"),
            env!("CARGO_PKG_VERSION_MINOR"),
        );
        let abi = if major == "0" {
            format!("0.{minor}")
        } else {
            major.to_owned()
        };
        let names = if cfg!(target_os = "macos") {
            [
                "libcodiag.dylib".to_owned(),
                format!("libcodiag.{abi}.dylib"),
            ]
        } else {
            ["libcodiag.so".to_owned(), format!("libcodiag.so.{abi}")]
        };
        for name in names {
            std::os::unix::fs::symlink(&library, folder.path().join(name)).expect("a link");
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a source against the shared library; None if there is no such compiler, or it does
    /// not know the flags.
    fn compile(
        &self,
        language: &Language,
        file: &Path,
        out: &str,
        flags: &[&str],
    ) -> Option<PathBuf> {
        self.link(language, file, out, flags, &self.shared())
    }

    fn shared(&self) -> Vec<String> {
        let folder = self.folder.path().display().to_string();
        vec![
            format!("-L{folder}"),
            "-lcodiag".to_owned(),
            format!("-Wl,-rpath,{folder}"),
        ]
    }

    fn link(
        &self,
        language: &Language,
        file: &Path,
        out: &str,
        flags: &[&str],
        libraries: &[String],
    ) -> Option<PathBuf> {
        if !there_is(language.compiler) {
            println!(
                "there is no {}: {} was not compiled",
                language.compiler,
                file.display()
            );
            return None;
        }
        let path = self.path(out);
        let output = Command::new(language.compiler)
            .args([
                language.standard,
                "-O1",
                "-g",
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Werror",
            ])
            .args(flags)
            .arg("-I")
            .arg(source("include"))
            .arg(file)
            .args(libraries)
            .args(["-lm", "-o"])
            .arg(&path)
            .output()
            .expect("the compiler runs");
        let said = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() && !flags.is_empty() {
            println!("{} {flags:?} is not to be had here", language.compiler);
            return None;
        }
        assert!(output.status.success(), "{}: {said}", file.display());
        Some(path)
    }

    fn run(&self, command: &mut Command) -> String {
        let output = command
            .current_dir(self.folder.path())
            .output()
            .expect("it runs");
        let (out, error) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        assert!(
            output.status.success(),
            "{command:?}: {}\n{out}{error}",
            output.status
        );
        out.into_owned()
    }
}

const EXAMPLES: [(Language, &str); 2] =
    [(C, "examples/diagonalize.c"), (CPP, "examples/spectra.cpp")];

#[test]
fn examples_run() {
    let place = Place::new();
    for (language, file) in &EXAMPLES {
        if let Some(program) = place.compile(language, &source(file), "program", &[]) {
            let said = place.run(&mut Command::new(program));
            assert!(said.contains("converged after"), "{file}: {said}");
            assert!(said.contains("as it should be: matrix "), "{file}: {said}");
        }
    }
}

#[test]
fn the_header_is_c_and_cpp() {
    let place = Place::new();
    let file = place.path("header.c");
    std::fs::write(
        &file,
        "#include <codiag.h>\nint main(void) { return codiag_version()[0] == 0; }\n",
    )
    .expect("a file for a while");
    for (language, flags) in [(C, ["-x", "c"]), (CPP, ["-x", "c++"])] {
        if !there_is(language.compiler) {
            continue;
        }
        let flags = [&flags[..], &["-fsyntax-only"][..]].concat();
        let output = Command::new(language.compiler)
            .args([
                language.standard,
                "-Wall",
                "-Wextra",
                "-Wpedantic",
                "-Wconversion",
                "-Werror",
            ])
            .args(flags)
            .arg("-I")
            .arg(source("include"))
            .arg(&file)
            .output()
            .expect("the compiler runs");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn the_header_is_c89() {
    let place = Place::new();
    let file = place.path("header.c");
    let text = "#include <codiag.h>\nint main(void) { return codiag_version()[0] == 0; }\n";
    std::fs::write(&file, text).expect("a file for a while");
    let c89 = Language {
        compiler: "cc",
        standard: "-std=c89",
    };
    place.compile(&c89, &file, "program", &[]);
}

/// The macros of the version are those of the library.
#[test]
fn version_macros_are_those_of_the_library() {
    let place = Place::new();
    let file = place.path("version.c");
    let text = "#include <codiag.h>\n#include <stdio.h>\nint main(void) {\n    printf(\"%d.%d.%d %s %s\", \
         CODIAG_VERSION_MAJOR, CODIAG_VERSION_MINOR, CODIAG_VERSION_PATCH, CODIAG_VERSION, codiag_version());\n    \
         return 0;\n}\n";
    std::fs::write(&file, text).expect("a file for a while");
    if let Some(program) = place.compile(&C, &file, "program", &[]) {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            place.run(&mut Command::new(program)),
            format!("{version} {version} {version}")
        );
    }
}

/// What `make capi` installs is found by CMake, shared and static, and by pkg-config.
#[test]
fn installed_files_are_found_by_cmake_and_pkg_config() {
    let place = Place::new();
    let (built, prefix) = (place.path("built"), place.path("prefix"));
    std::fs::create_dir(&built).expect("a folder for a while");
    for (from, name) in [
        (shared_library(), shared_library()),
        (static_library(), "libcodiag_c.a".into()),
    ] {
        let name = name.file_name().expect("a library has a name").to_owned();
        std::os::unix::fs::symlink(from, built.join(name)).expect("a link");
    }
    let install = source("install.sh");
    place.run(Command::new(install).arg(&prefix).arg(&built));
    for name in ["LICENSE", "THIRD-PARTY-LICENSES"] {
        assert!(
            prefix.join("share/doc/codiag").join(name).exists(),
            "{name}"
        );
    }
    let version = env!("CARGO_PKG_VERSION");
    if there_is("pkg-config") {
        let found = place.run(
            Command::new("pkg-config")
                .args(["--modversion", "codiag"])
                .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")),
        );
        assert_eq!(found.trim(), version);
    }
    if !there_is("cmake") || !there_is("cc") {
        println!("there is no cmake: its configuration files were not tested");
        return;
    }
    let project = format!(
        "cmake_minimum_required(VERSION 3.10)\nproject(test C)\nfind_package(codiag {version} REQUIRED)\n\
         foreach(kind codiag static)\n  add_executable(with-${{kind}} {})\n  \
         target_link_libraries(with-${{kind}} codiag::${{kind}} m)\nendforeach()\n",
        source("examples/diagonalize.c").display()
    );
    std::fs::write(place.path("CMakeLists.txt"), project).expect("a file for a while");
    place.run(
        Command::new("cmake")
            .args(["-S", ".", "-B", "made"])
            .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())),
    );
    place.run(Command::new("cmake").args(["--build", "made"]));
    for kind in ["codiag", "static"] {
        let said = place.run(&mut Command::new(place.path(&format!("made/with-{kind}"))));
        assert!(said.contains("converged after"), "{kind}: {said}");
    }
    // Another minor version of 0.x is another library.
    let newer = "cmake_minimum_required(VERSION 3.10)\nproject(test C)\nfind_package(codiag 0.99 QUIET)\n\
                 if(codiag_FOUND)\n  message(FATAL_ERROR \"found\")\nendif()\n";
    std::fs::write(place.path("CMakeLists.txt"), newer).expect("a file for a while");
    place.run(
        Command::new("cmake")
            .args(["-S", ".", "-B", "other"])
            .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())),
    );
}

/// The static library has all it needs but what the system has.
#[test]
fn the_static_library_links() {
    let place = Place::new();
    let mut libraries = vec![static_library().display().to_string()];
    if cfg!(target_os = "linux") {
        libraries.extend(["-lpthread".to_owned(), "-ldl".to_owned()]);
    }
    let (language, file) = (&C, source("examples/diagonalize.c"));
    if let Some(program) = place.link(language, &file, "program", &[], &libraries) {
        assert!(
            place
                .run(&mut Command::new(program))
                .contains("converged after")
        );
    }
}

/// Every block of C of the README is a program, or the body of one.
#[test]
fn the_readme_runs() {
    let place = Place::new();
    let text = std::fs::read_to_string(source("README.md")).expect("there is a README");
    let blocks: Vec<&str> = text
        .split("```c\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!blocks.is_empty(), "the README has an example");
    for (k, block) in blocks.iter().enumerate() {
        let file = place.path(&format!("readme{k}.c"));
        std::fs::write(&file, block).expect("a file for a while");
        if let Some(program) = place.compile(&C, &file, "program", &[]) {
            let said = place.run(&mut Command::new(program));
            assert!(said.contains("converged"), "{said}");
        }
    }
}

/// Neither reads nor writes beyond arrays, nor handles that are not freed.
#[test]
fn examples_keep_to_their_memory() {
    let place = Place::new();
    for (language, file) in &EXAMPLES {
        if there_is("valgrind") {
            let Some(program) = place.compile(language, &source(file), "program", &[]) else {
                continue;
            };
            let output = Command::new("valgrind")
                .args([
                    "--error-exitcode=99",
                    "--leak-check=full",
                    "--errors-for-leak-kinds=definite",
                ])
                .arg(program)
                .output()
                .expect("valgrind runs");
            let said = String::from_utf8_lossy(&output.stderr);
            if said.contains("unhandled instruction") || said.contains("Illegal instruction") {
                println!(
                    "this valgrind does not know the instructions of this machine: {file} was not checked"
                );
                continue;
            }
            assert!(output.status.success(), "{file}: {said}");
            println!("{file}: nothing that valgrind minds");
            continue;
        }
        let flags = ["-fsanitize=address", "-fno-omit-frame-pointer"];
        let Some(program) = place.compile(language, &source(file), "program", &flags) else {
            println!("neither valgrind nor AddressSanitizer: the memory of {file} was not checked");
            continue;
        };
        // Leaks are looked for in ways that not all sandboxes allow.
        let mut command = Command::new(program);
        place.run(command.env("ASAN_OPTIONS", "detect_leaks=0"));
        println!("{file}: nothing that AddressSanitizer minds");
    }
}
