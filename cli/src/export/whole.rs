//! Files that appear whole or not at all: each is written beside its place, under a hidden name, then
//! renamed.
//!
//! A program that is killed leaves its hidden file behind. While one is being written it is locked; a
//! lock ends with its process, on whatever computer that ran. So the next run tells what was left
//! behind from what another program is just writing, and removes only the former.

use std::fs::{File, TryLockError};
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

const PREFIX: &str = ".codiag-";
const SUFFIX: &str = ".tmp";
/// The letters between them.
const LETTERS: usize = 6;

/// Writes one file.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("b.npy");
/// codiag_cli::write_whole(&path, |out| out.write_all(b"all of it"))?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Those of the system, and those of `write`; there is no new file then.
pub fn write_whole(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    persist(stage(target, write)?, target)
}

/// Whether a file could be written there. What killed programs left in that folder is removed.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// assert!(codiag_cli::try_place(&folder.path().join("b.npy")).is_ok());
/// assert!(codiag_cli::try_place(&folder.path().join("nowhere/b.npy")).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// What the system says to a file there, or that it is a folder.
pub fn try_place(target: &Path) -> io::Result<()> {
    if target.is_dir() {
        // The system's own error, with its number.
        let refusal = File::options().write(true).open(target).err();
        return Err(refusal.unwrap_or_else(|| io::ErrorKind::IsADirectory.into()));
    }
    try_folder(folder_of(target))
}

/// Whether files could be written in a folder. What killed programs left there is removed.
pub(super) fn try_folder(folder: &Path) -> io::Result<()> {
    // Dropped at once, and with it removed.
    hidden_in(folder).map(drop)?;
    remove_leftovers(folder);
    Ok(())
}

/// Removes the hidden files that killed programs left in a folder. What cannot be removed stays.
fn remove_leftovers(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_hidden_name);
        // A link is nothing we have made.
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let opened = File::options().read(true).write(true).open(&path);
        if let Ok(file) = opened
            && file.try_lock().is_ok()
        {
            // Locked until it is gone: whoever has just made it finds out, in `hidden_in`.
            let _ = std::fs::remove_file(&path);
        }
    }
}

fn is_hidden_name(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX))
        .is_some_and(|letters| {
            letters.len() == LETTERS && letters.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

/// A hidden file with what `write` writes.
pub(super) fn stage(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<NamedTempFile> {
    let mut file = beside(target)?;
    let mut buffered = io::BufWriter::new(file.as_file_mut());
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    Ok(file)
}

/// Puts a hidden file in its place.
pub(super) fn persist(file: NamedTempFile, target: &Path) -> io::Result<()> {
    file.persist(target).map(drop).map_err(|e| e.error)
}

/// A hidden neighbour of `target`, on the same disk so that renaming is one step. It goes when it is
/// dropped.
pub(super) fn beside(target: &Path) -> io::Result<NamedTempFile> {
    hidden_in(folder_of(target))
}

fn hidden_in(folder: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX).rand_bytes(LETTERS);
    // Others may read results as they may read any file; temporary files are private otherwise.
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    loop {
        let file = builder.tempfile_in(folder)?;
        match file.as_file().try_lock() {
            // Another program that took it for a leftover, before it was locked, removes it.
            Err(TryLockError::WouldBlock) => {}
            Ok(()) if !file.path().exists() => {}
            // Where files cannot be locked, they are written all the same, and never taken for
            // leftovers.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

fn folder_of(target: &Path) -> &Path {
    match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = entries
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn only_what_nobody_writes_any_more_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("b.npy");
        let writing = beside(&target).unwrap();
        // As a process that is killed leaves it: unlocked, and not removed.
        let (file, left) = beside(&target).unwrap().keep().unwrap();
        drop(file);
        let others = [".codiag-notes.tmp", ".codiag-abcdef", "codiag-abcdef.tmp"];
        for name in others {
            std::fs::write(place.path().join(name), "").unwrap();
        }
        try_place(&target).unwrap();
        assert!(!left.exists() && writing.path().exists());
        assert_eq!(names(place.path()).len(), others.len() + 1);
        drop(writing);
        write_whole(&target, |out| out.write_all(b"B")).unwrap();
        assert_eq!(names(place.path()).len(), others.len() + 1);
        assert_eq!(std::fs::read(&target).unwrap(), b"B");
    }

    #[test]
    fn nothing_is_written_where_writing_fails() {
        let place = tempfile::tempdir().unwrap();
        let target = place.path().join("b.npy");
        let failed = write_whole(&target, |out| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(names(place.path()).is_empty());
        let kind = |path: &Path| try_place(path).unwrap_err().kind();
        // Windows has another word for it.
        #[cfg(unix)]
        assert_eq!(kind(place.path()), io::ErrorKind::IsADirectory);
        assert_eq!(
            kind(&place.path().join("none/b.npy")),
            io::ErrorKind::NotFound
        );
        assert!(names(place.path()).is_empty());
    }
}
