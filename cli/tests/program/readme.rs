//! The command lines of the README run in their order, and its links are valid.

use std::process::Command;

use crate::TestDir;

/// Addresses of the files of the repository.
const HOSTED: &str = "https://raw.githubusercontent.com/codiag/codiag/main/";
const SHOWN: &str = "https://github.com/codiag/codiag/blob/main/";

/// Returns the lines of all code blocks in one language.
fn lines(language: &str) -> Vec<String> {
    let readme = include_str!("../../../README.md");
    let fence = format!("```{language}\n");
    readme
        .split(&fence)
        .skip(1)
        .flat_map(|rest| rest.split("```").next().unwrap().lines())
        .map(|line| line.split(" #").next().unwrap().trim().to_owned())
        .filter(|line| !line.is_empty())
        .collect()
}

#[test]
fn command_lines_run() {
    let dir = TestDir::new();
    // Use the program under test.
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_codiag"));
    let mut folders = vec![program.parent().unwrap().to_owned()];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap()));
    let path = std::env::join_paths(folders).unwrap();
    let mut count = 0;
    for line in lines("console") {
        let Some(line) = line.strip_prefix("$ ") else {
            continue;
        };
        assert!(line.contains("codiag"), "{line}");
        let output = Command::new("sh")
            .args(["-ec", line])
            .current_dir(dir.folder.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {said}");
        count += 1;
    }
    assert!(count >= 5, "only {count} command lines in the README");
    assert!(dir.path("result/report.html").exists());
}

#[test]
fn commands_and_links_are_valid() {
    let shell = lines("sh");
    for command in ["cargo run --release -- reproduce", "make test"] {
        assert!(shell.iter().any(|line| line == command), "{command}");
    }
    let readme = include_str!("../../../README.md");
    assert!(readme.lines().count() <= 150);
    // Linked files exist. All links are absolute, because the README is also shown outside of the
    // repository.
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let inline = readme.split("](").skip(1);
    let inline = inline.filter_map(|rest| rest.split(')').next());
    let named = readme.lines().filter_map(|line| line.split_once("]: "));
    for link in inline.chain(named.clone().map(|(_, link)| link)) {
        assert!(
            link.starts_with("https://") || link.starts_with('#'),
            "{link}"
        );
        let file = [HOSTED, SHOWN].iter().find_map(|at| link.strip_prefix(at));
        assert!(file.is_none_or(|file| root.join(file).exists()), "{link}");
    }
    let labels = readme.split("][").skip(1);
    for label in labels.filter_map(|rest| rest.split(']').next()) {
        let mut names = named.clone().map(|(name, _)| &name[1..]);
        assert!(names.any(|name| name == label), "{label} is no link");
    }
    for picture in readme.split("![").skip(1) {
        let address = picture.split("](").nth(1).unwrap();
        assert!(address.starts_with(HOSTED), "{address}");
    }
}
