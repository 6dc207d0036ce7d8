//! Safety of outputs and inputs: devices, FIFOs, links, permissions, closed streams, endless files.

use std::ffi::OsStr;
use std::fs::{self, FileType};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::{Array, TestDir, skip};

/// Runs a shell command, in which `$codiag` is the program.
fn shell(dir: &TestDir, line: &str) -> Output {
    let output = Command::new("sh")
        .args(["-c", line])
        .current_dir(dir.folder.path())
        .env("codiag", env!("CARGO_BIN_EXE_codiag"))
        .output();
    output.unwrap()
}

fn error_of(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

fn kind(path: &Path) -> FileType {
    fs::symlink_metadata(path).unwrap().file_type()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// Creates a FIFO and starts a process that reads it once.
fn fifo(dir: &TestDir, name: &str) -> Child {
    assert!(shell(dir, &format!("mkfifo {name}")).status.success());
    let reader = Command::new("cat")
        .arg(dir.path(name))
        .stdout(Stdio::piped())
        .spawn();
    reader.unwrap()
}

#[test]
fn fifo_is_written_to_and_not_replaced() {
    let dir = TestDir::with_set();
    let reader = fifo(&dir, "set");
    dir.codiag("generate -n 20 -p 5 --seed 1 -o set")
        .assert()
        .success();
    let read = Array::parse(&reader.wait_with_output().unwrap().stdout);
    assert_eq!(read.data, dir.array("covs.npy").data);
    assert!(kind(&dir.path("set")).is_fifo());

    // A FIFO in the folder of results.
    fs::create_dir(dir.path("result")).unwrap();
    let reader = fifo(&dir, "result/B.npy");
    dir.codiag("diagonalize covs.npy -o result")
        .assert()
        .success();
    let read = Array::parse(&reader.wait_with_output().unwrap().stdout);
    assert_eq!(read.shape, [5, 5]);
    assert!(kind(&dir.path("result/B.npy")).is_fifo());
}

#[test]
fn device_is_written_to_and_not_replaced() {
    let dir = TestDir::with_set();
    // Use copies of /dev/null and /dev/full to keep the real ones safe.
    let output = shell(
        &dir,
        "mknod null c 1 3 && mknod full c 1 7 && : > null && ! echo x > full",
    );
    if !output.status.success() {
        skip("creating devices requires root and a system that permits it");
        return;
    }
    dir.codiag("generate -n 3 -p 2 -o null").assert().success();
    dir.codiag("diagonalize covs.npy --checkpoint null")
        .assert()
        .success();
    for args in [
        "generate -n 3 -p 2 -o full",
        "diagonalize covs.npy --checkpoint full",
    ] {
        let assert = dir.codiag(args).assert().code(2);
        assert!(error_of(assert.get_output()).contains("full: cannot be written"));
    }
    for (name, device) in [("null", 0x103), ("full", 0x107)] {
        assert!(kind(&dir.path(name)).is_char_device());
        let found = fs::metadata(dir.path(name)).unwrap().rdev();
        assert_eq!(found, device);
    }
}

#[test]
fn symbolic_links_are_followed() {
    let dir = TestDir::with_set();
    fs::create_dir(dir.path("elsewhere")).unwrap();
    dir.write("elsewhere/old.npy", "old");
    let commands = "ln -s elsewhere/old.npy first && ln -s first second && ln -s elsewhere/new.npy new \
                && ln -s loop loop";
    assert!(shell(&dir, commands).status.success());
    for (link, file) in [("second", "old.npy"), ("new", "new.npy")] {
        dir.codiag(&format!("generate -n 20 -p 5 --seed 1 -o {link}"))
            .assert()
            .success();
        assert!(kind(&dir.path(link)).is_symlink());
        let written = dir.array(&format!("elsewhere/{file}"));
        assert_eq!(written.data, dir.array("covs.npy").data);
    }
    assert_eq!(dir.files("elsewhere"), ["new.npy", "old.npy"]);
    dir.codiag("generate -o loop").assert().code(2);
    dir.codiag("diagonalize covs.npy --checkpoint new")
        .assert()
        .success();
    assert_eq!(dir.array("elsewhere/new.npy").shape, [5, 5]);
}

#[test]
fn existing_file_keeps_its_mode_and_new_file_follows_the_umask() {
    let dir = TestDir::new();
    dir.write("private.npy", "old");
    dir.write("executable.npy", "old");
    let private = fs::Permissions::from_mode(0o600);
    fs::set_permissions(dir.path("private.npy"), private).unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(dir.path("executable.npy"), executable).unwrap();
    let line =
        "umask 027; for x in private executable new; do $codiag generate -n 2 -p 2 -o $x.npy; done";
    assert!(shell(&dir, line).status.success());
    for (name, expected) in [("private", 0o600), ("executable", 0o755), ("new", 0o640)] {
        let path = dir.path(&format!("{name}.npy"));
        assert_eq!(mode(&path), expected, "{name}");
        assert_eq!(Array::read(&path).shape, [2, 2, 2]);
    }
}

#[test]
fn existing_file_keeps_its_owner() {
    let dir = TestDir::new();
    dir.write("theirs.npy", "old");
    if !shell(&dir, "chown 12345:23456 theirs.npy").status.success() {
        skip("changing the owner of a file requires root");
        return;
    }
    dir.codiag("generate -n 2 -p 2 -o theirs.npy")
        .assert()
        .success();
    let found = fs::metadata(dir.path("theirs.npy")).unwrap();
    assert_eq!((found.uid(), found.gid()), (12345, 23456));
    assert_eq!(dir.array("theirs.npy").shape, [2, 2, 2]);
}

#[test]
fn write_protected_file_is_not_replaced() {
    let dir = TestDir::with_set();
    dir.write("kept.npy", "old");
    let protected = fs::Permissions::from_mode(0o444);
    fs::set_permissions(dir.path("kept.npy"), protected).unwrap();
    if fs::File::options()
        .write(true)
        .open(dir.path("kept.npy"))
        .is_ok()
    {
        skip("root can write to protected files");
        return;
    }
    for args in [
        "generate -o kept.npy",
        "diagonalize covs.npy --checkpoint kept.npy",
    ] {
        dir.codiag(args).assert().code(2);
    }
    assert_eq!(fs::read(dir.path("kept.npy")).unwrap(), b"old");
}

#[test]
#[cfg(target_os = "linux")]
fn standard_output_by_its_path_is_not_truncated() {
    let dir = TestDir::with_set();
    // /dev/stdout is such a link.
    assert!(shell(&dir, "ln -s /proc/self/fd/1 stdout").status.success());
    let line = "$codiag generate -n 20 -p 5 --seed 1 -o stdout > out.npy";
    assert!(shell(&dir, line).status.success());
    assert_eq!(dir.array("out.npy").data, dir.array("covs.npy").data);
    let line = "{ echo before; $codiag generate -n 2 -p 2 -o stdout; echo after; } > all; cat all";
    let all = shell(&dir, line).stdout;
    assert!(all.starts_with(b"before\n\x93NUMPY") && all.ends_with(b"after\n"));
    let piped = shell(&dir, "$codiag generate -n 2 -p 2 -o stdout | cat").stdout;
    assert_eq!(Array::parse(&piped).shape, [2, 2, 2]);
    assert!(kind(&dir.path("stdout")).is_symlink());
}

#[test]
fn closed_or_full_standard_output_is_an_error() {
    let dir = TestDir::with_set();
    let mut targets = vec![(">&-", "closed")];
    if Path::new("/dev/full").exists() {
        targets.push(("> /dev/full", "no space"));
    } else {
        skip("there is no /dev/full");
    }
    for args in [
        "diagonalize covs.npy -o -",
        "diagonalize covs.npy --json",
        "diagonalize covs.npy",
        "generate -n 1 -p 1",
        "check covs.npy",
        "--help",
        "completions bash",
    ] {
        for (target, reason) in &targets {
            let output = shell(&dir, &format!("$codiag {args} {target}"));
            let text = error_of(&output);
            assert_eq!(output.status.code(), Some(2), "{args} {target}: {text}");
            assert!(text.contains("standard output"), "{args} {target}: {text}");
            assert!(text.contains(reason), "{args} {target}: {text}");
        }
        let output = shell(&dir, &format!("$codiag {args} > out"));
        assert!(output.status.success(), "{args}");
    }
    // Closed streams do not matter if nothing is written to them.
    let output = shell(
        &dir,
        "$codiag -q diagonalize covs.npy -o result <&- >&- 2>&-",
    );
    assert!(output.status.success());
    assert_eq!(dir.array("result/B.npy").shape, [5, 5]);
}

#[test]
fn closed_pipe_is_not_an_error() {
    let dir = TestDir::with_set();
    for args in [
        "generate -n 2000 -p 20",
        "diagonalize covs.npy --json",
        "--help",
    ] {
        let line = format!("{{ $codiag {args}; echo $? >&2; }} | head -c 1 > out");
        assert_eq!(error_of(&shell(&dir, &line)).trim(), "0", "{args}");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn non_utf8_file_names_are_supported() {
    let dir = TestDir::with_set();
    let name = |text: &[u8]| OsStr::from_bytes(text).to_owned();
    let run = |args: &[&[u8]]| {
        let output = Command::new(env!("CARGO_BIN_EXE_codiag"))
            .current_dir(dir.folder.path())
            .args(args.iter().map(|text| name(text)))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", error_of(&output));
    };
    let path = |text: &[u8]| dir.folder.path().join(name(text));
    fs::copy(dir.path("covs.npy"), path(b"n\xff.npy")).unwrap();
    fs::write(path(b"w\xff.txt"), "1\n".repeat(20)).unwrap();
    run(&[
        b"diagonalize",
        b"n\xff.npy",
        b"-o",
        b"r\xff",
        b"--checkpoint",
        b"c\xff.npy",
        b"--sample-weight",
        b"w\xff.txt",
    ]);
    run(&[
        b"diagonalize",
        b"n\xff.npy",
        b"-o",
        b"again",
        b"--init",
        b"c\xff.npy",
    ]);
    run(&[b"check", b"n\xff.npy"]);
    let report = dir.json("again/report.json");
    assert_eq!(report["input"]["files"][0], "n\u{fffd}.npy");
    assert_eq!(report["settings"]["init"], "c\u{fffd}.npy");
    assert_eq!(report["n_iter"], 0);

    run(&[b"generate", b"--eeg", b"-o", b"e\xff.npy"]);
    let separate: [&[u8]; 7] = [
        b"separate",
        b"e\xff.npy",
        b"--sfreq",
        b"250",
        b"--n-components",
        b"4",
        b"-o",
    ];
    run(&[&separate[..], &[b"s\xff"]].concat());
    run(&[&separate[..], &[b"more", b"--init", b"s\xff/filters.npy"]].concat());
    let report = dir.json("more/report.json");
    assert_eq!(report["input"]["files"][0], "e\u{fffd}.npy");
}

#[test]
fn endless_inputs_are_errors() {
    let dir = TestDir::with_set();
    dir.codiag("generate --eeg -o eeg.npy").assert().success();
    if !Path::new("/dev/zero").exists() {
        skip("there is no /dev/zero");
        return;
    }
    dir.write(
        "zero.json",
        r#"{"reference_channels": [{"name": "EOG", "kind": "blink"}], "reference_file": "/dev/zero"}"#,
    );
    dir.write(
        "fifo.json",
        r#"{"reference_channels": [{"name": "EOG", "kind": "blink"}], "reference_file": "endless"}"#,
    );
    let commands = "mkfifo endless && ln -s /dev/zero zero.csv && ln -s /dev/zero zero.npy && ln -s /dev/zero zero.mat \
                && ln -s /dev/zero zero.npz && ln -s endless endless.csv && ln -s endless endless.mat";
    assert!(shell(&dir, commands).status.success());
    for args in [
        "separate eeg.npy --info zero.json",
        "separate eeg.npy --info /dev/zero",
        "separate eeg.npy --names /dev/zero",
        "separate zero.csv",
        "separate zero.npy",
        "diagonalize covs.npy --sample-weight /dev/zero",
        "diagonalize covs.npy --sample-weight zero.npy",
        "diagonalize covs.npy --init /dev/zero",
        "diagonalize covs.npy --init zero.npy",
        "diagonalize zero.csv",
        "diagonalize zero.npy",
        "diagonalize zero.npz",
        "diagonalize zero.mat",
        "diagonalize zero.npy --memory 1GB",
    ] {
        expect_bounded_error(&dir, args, "");
    }
    for args in [
        "separate eeg.npy --info fifo.json",
        "separate eeg.npy --info endless",
        "separate eeg.npy --names endless",
        "separate endless.csv",
        "diagonalize covs.npy --sample-weight endless",
        "diagonalize covs.npy --init endless",
        "diagonalize endless.csv",
        "diagonalize endless.mat",
    ] {
        expect_bounded_error(&dir, args, "yes 1,2,3 > endless &");
    }
    // A FIFO that ends is read.
    let weights = "yes 1 | head -n 20 > endless &";
    let output = shell(
        &dir,
        &format!("{weights} $codiag diagonalize covs.npy --sample-weight endless"),
    );
    assert!(output.status.success(), "{}", error_of(&output));
}

/// Runs `before`, then the program with limited memory, and expects one line of error.
fn expect_bounded_error(dir: &TestDir, args: &str, before: &str) {
    // On systems that cannot limit memory, the program runs without a limit.
    let limit = "ulimit -v 4000000 2> /dev/null";
    let output = shell(dir, &format!("{before} {limit}; exec $codiag {args}"));
    let text = error_of(&output);
    assert_eq!(output.status.code(), Some(2), "{args}: {text}");
    assert_eq!(text.lines().count(), 1, "{args}: {text}");
}

#[test]
fn archive_entry_is_unpacked_only_up_to_the_size_in_its_header() {
    use std::io::Write;
    let dir = TestDir::new();
    let mut archive = zip::ZipWriter::new(fs::File::create(dir.path("bomb.npz")).unwrap());
    archive
        .start_file("C.npy", zip::write::SimpleFileOptions::default())
        .unwrap();
    let small = Array::of("(1, 2, 2)", &[2.0, 0.5, 0.5, 1.0]);
    archive.write_all(&small).unwrap();
    let zeros = vec![0; 1 << 20];
    for _ in 0..1500 {
        archive.write_all(&zeros).unwrap();
    }
    archive.finish().unwrap();
    let line = "ulimit -v 1000000 2> /dev/null; exec $codiag diagonalize bomb.npz --n-jobs 1";
    let output = shell(&dir, line);
    assert!(output.status.success(), "{}", error_of(&output));
}
