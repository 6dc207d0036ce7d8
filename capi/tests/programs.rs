//! Compiles the examples and the README with all warnings as errors, links them to the shared and
//! to the static library, and runs them, also under valgrind or AddressSanitizer where available.

#![cfg(unix)] // compilers of other systems are not called `cc`
#![allow(clippy::print_stdout)] // prints which checks were skipped

use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of the C libraries, which is that of this test program.
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
    assert!(path.exists(), "{} does not exist", path.display());
    path
}

/// Returns the path of the static library, the newest if there are several.
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
    newest.expect("cargo builds the static library")
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn is_installed(program: &str) -> bool {
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

/// Temporary folder with links to the shared library under its installed names.
struct TestFolder {
    folder: tempfile::TempDir,
}

impl TestFolder {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
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
        if !is_installed(language.compiler) {
            println!(
                "{} was not found; {} was not compiled",
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
        let output_text = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() && !flags.is_empty() {
            println!("{} does not support {flags:?}", language.compiler);
            return None;
        }
        assert!(output.status.success(), "{}: {output_text}", file.display());
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
    let folder = TestFolder::new();
    for (language, file) in &EXAMPLES {
        if let Some(program) = folder.compile(language, &source(file), "program", &[]) {
            let output_text = folder.run(&mut Command::new(program));
            assert!(
                output_text.contains("converged after"),
                "{file}: {output_text}"
            );
            assert!(
                output_text.contains("expected error: matrix "),
                "{file}: {output_text}"
            );
        }
    }
}

#[test]
fn header_compiles_as_c99_and_cpp17() {
    let folder = TestFolder::new();
    let file = folder.path("header.c");
    std::fs::write(
        &file,
        "#include <codiag.h>\nint main(void) { return codiag_version()[0] == 0; }\n",
    )
    .expect("a temporary file");
    for (language, flags) in [(C, ["-x", "c"]), (CPP, ["-x", "c++"])] {
        if !is_installed(language.compiler) {
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
fn header_compiles_as_c89() {
    let folder = TestFolder::new();
    let file = folder.path("header.c");
    let text = "#include <codiag.h>\nint main(void) { return codiag_version()[0] == 0; }\n";
    std::fs::write(&file, text).expect("a temporary file");
    let c89 = Language {
        compiler: "cc",
        standard: "-std=c89",
    };
    folder.compile(&c89, &file, "program", &[]);
}

#[test]
fn version_macros_match_the_library() {
    let folder = TestFolder::new();
    let file = folder.path("version.c");
    let text = "#include <codiag.h>\n#include <stdio.h>\nint main(void) {\n    printf(\"%d.%d.%d %s %s\", \
         CODIAG_VERSION_MAJOR, CODIAG_VERSION_MINOR, CODIAG_VERSION_PATCH, CODIAG_VERSION, codiag_version());\n    \
         return 0;\n}\n";
    std::fs::write(&file, text).expect("a temporary file");
    if let Some(program) = folder.compile(&C, &file, "program", &[]) {
        let version = env!("CARGO_PKG_VERSION");
        assert_eq!(
            folder.run(&mut Command::new(program)),
            format!("{version} {version} {version}")
        );
    }
}

/// CMake (shared and static) and pkg-config find the files that `make capi` installs.
#[test]
fn cmake_and_pkg_config_find_installed_files() {
    let folder = TestFolder::new();
    let (built, prefix) = (folder.path("built"), folder.path("prefix"));
    std::fs::create_dir(&built).expect("a temporary folder");
    for (from, name) in [
        (shared_library(), shared_library()),
        (static_library(), "libcodiag_c.a".into()),
    ] {
        let name = name.file_name().expect("a library has a name").to_owned();
        std::os::unix::fs::symlink(from, built.join(name)).expect("a link");
    }
    let install = source("install.sh");
    folder.run(Command::new(install).arg(&prefix).arg(&built));
    for name in ["LICENSE", "THIRD-PARTY-LICENSES"] {
        assert!(
            prefix.join("share/doc/codiag").join(name).exists(),
            "{name}"
        );
    }
    let version = env!("CARGO_PKG_VERSION");
    if is_installed("pkg-config") {
        let found = folder.run(
            Command::new("pkg-config")
                .args(["--modversion", "codiag"])
                .env("PKG_CONFIG_PATH", prefix.join("lib/pkgconfig")),
        );
        assert_eq!(found.trim(), version);
    }
    if !is_installed("cmake") || !is_installed("cc") {
        println!("cmake was not found; its configuration files were not tested");
        return;
    }
    let project = format!(
        "cmake_minimum_required(VERSION 3.10)\nproject(test C)\nfind_package(codiag {version} REQUIRED)\n\
         foreach(kind codiag static)\n  add_executable(with-${{kind}} {})\n  \
         target_link_libraries(with-${{kind}} codiag::${{kind}} m)\nendforeach()\n",
        source("examples/diagonalize.c").display()
    );
    std::fs::write(folder.path("CMakeLists.txt"), project).expect("a temporary file");
    folder.run(
        Command::new("cmake")
            .args(["-S", ".", "-B", "made"])
            .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())),
    );
    folder.run(Command::new("cmake").args(["--build", "made"]));
    for kind in ["codiag", "static"] {
        let output_text = folder.run(&mut Command::new(folder.path(&format!("made/with-{kind}"))));
        assert!(
            output_text.contains("converged after"),
            "{kind}: {output_text}"
        );
    }
    // Another minor version of 0.x is incompatible.
    let newer = "cmake_minimum_required(VERSION 3.10)\nproject(test C)\nfind_package(codiag 0.99 QUIET)\n\
                 if(codiag_FOUND)\n  message(FATAL_ERROR \"found\")\nendif()\n";
    std::fs::write(folder.path("CMakeLists.txt"), newer).expect("a temporary file");
    folder.run(
        Command::new("cmake")
            .args(["-S", ".", "-B", "other"])
            .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display())),
    );
}

/// The static library needs only system libraries.
#[test]
fn static_library_links() {
    let folder = TestFolder::new();
    let mut libraries = vec![static_library().display().to_string()];
    if cfg!(target_os = "linux") {
        libraries.extend(["-lpthread".to_owned(), "-ldl".to_owned()]);
    }
    let (language, file) = (&C, source("examples/diagonalize.c"));
    if let Some(program) = folder.link(language, &file, "program", &[], &libraries) {
        assert!(
            folder
                .run(&mut Command::new(program))
                .contains("converged after")
        );
    }
}

/// Each C block of the README compiles and runs.
#[test]
fn readme_runs() {
    let folder = TestFolder::new();
    let text = std::fs::read_to_string(source("README.md")).expect("the README can be read");
    let blocks: Vec<&str> = text
        .split("```c\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next())
        .collect();
    assert!(!blocks.is_empty(), "the README has an example");
    for (k, block) in blocks.iter().enumerate() {
        let file = folder.path(&format!("readme{k}.c"));
        std::fs::write(&file, block).expect("a temporary file");
        if let Some(program) = folder.compile(&C, &file, "program", &[]) {
            let output_text = folder.run(&mut Command::new(program));
            assert!(output_text.contains("converged"), "{output_text}");
        }
    }
}

/// The examples have no invalid memory accesses, and free all handles.
#[test]
fn examples_are_memory_safe() {
    let folder = TestFolder::new();
    for (language, file) in &EXAMPLES {
        if is_installed("valgrind") {
            let Some(program) = folder.compile(language, &source(file), "program", &[]) else {
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
            let output_text = String::from_utf8_lossy(&output.stderr);
            if output_text.contains("unhandled instruction")
                || output_text.contains("Illegal instruction")
            {
                println!(
                    "valgrind does not support the instructions of this processor; {file} was not checked"
                );
                continue;
            }
            assert!(output.status.success(), "{file}: {output_text}");
            println!("{file}: valgrind found no errors");
            continue;
        }
        let flags = ["-fsanitize=address", "-fno-omit-frame-pointer"];
        let Some(program) = folder.compile(language, &source(file), "program", &flags) else {
            println!(
                "neither valgrind nor AddressSanitizer was found; the memory of {file} was not checked"
            );
            continue;
        };
        // Leak detection does not work in all sandboxes.
        let mut command = Command::new(program);
        folder.run(command.env("ASAN_OPTIONS", "detect_leaks=0"));
        println!("{file}: AddressSanitizer found no errors");
    }
}
