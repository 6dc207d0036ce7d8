//! The modules of the library depend on each other in one direction only.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Appends the source code of a module to `out`, without comments and tests.
fn sources(path: &Path, out: &mut String) {
    if path.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            sources(&entry.unwrap().path(), out);
        }
        return;
    }
    let name = path.file_name().unwrap().to_string_lossy();
    let is_test = path.components().any(|part| part.as_os_str() == "tests") || name == "tests.rs";
    if is_test || !name.ends_with(".rs") {
        return;
    }
    let text = fs::read_to_string(path).unwrap();
    let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
    let code = code
        .split("\n#[cfg(all(test, feature = \"synthetic\"))]\nmod tests {")
        .next();
    for line in code.unwrap().lines() {
        out.push_str(line.split("//").next().unwrap());
        out.push(' ');
    }
}

/// Returns the names that follow `crate::`, one level deep.
fn imports(code: &str) -> BTreeSet<String> {
    let is_name = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    for rest in code.split("crate::").skip(1) {
        let names = match rest.strip_prefix('{') {
            Some(list) => list.split('}').next().unwrap(),
            None => rest.split(|c| !is_name(c)).next().unwrap(),
        };
        let names = names
            .split(',')
            .map(|name| name.split("::").next().unwrap().trim());
        found.extend(names.map(str::to_owned));
    }
    found
}

#[test]
fn no_two_top_level_modules_import_each_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut modules: BTreeMap<String, String> = BTreeMap::new();
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        // `lib` declares the modules; `compiled` only lists the compiled features.
        if name != "lib" && name != "compiled" {
            sources(&path, modules.entry(name).or_default());
        }
    }
    // Names re-exported by the crate root, with the modules that define them.
    let root = fs::read_to_string(root.join("lib.rs")).unwrap();
    let mut defined: BTreeMap<String, String> = BTreeMap::new();
    for line in root.split("pub use ").skip(1) {
        let (path, _) = line.split_once(';').unwrap();
        if let Some((module, names)) = path.split_once("::") {
            for name in names.trim_matches(['{', '}']).split(',') {
                defined.insert(name.trim().to_owned(), module.to_owned());
            }
        }
    }
    let imported = |code: &String| {
        let names = imports(code).into_iter();
        let names = names.map(|name| defined.get(&name).cloned().unwrap_or(name));
        names.collect::<BTreeSet<String>>()
    };
    let graph: BTreeMap<&String, BTreeSet<String>> = modules
        .iter()
        .map(|(name, code)| (name, imported(code)))
        .collect();
    assert!(
        graph.values().any(|names| names.contains("backend")),
        "{graph:?}"
    );
    for (name, others) in &graph {
        for other in others.iter().filter(|other| *other != *name) {
            let back = graph.get(other).is_some_and(|names| names.contains(*name));
            assert!(!back, "{name} and {other} import each other");
        }
    }
}
