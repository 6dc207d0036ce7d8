//! Output files that are written completely or not at all.
//!
//! A regular file is written to a hidden temporary file in the same folder, flushed to the disk,
//! and renamed over its target. Symbolic links are followed, and the mode and the owner of an
//! existing file are kept. Anything else that exists (a device, a FIFO, /dev/stdout) is written to
//! and never replaced.
//!
//! A process that is killed leaves its temporary file behind. Temporary files are locked while they
//! are being written, and a lock ends with its process. So the next run can distinguish files that
//! were left behind from those that another process is writing, and removes only the former.

use std::fs::{File, FileType, Metadata, TryLockError};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

const PREFIX: &str = ".codiag-";
const SUFFIX: &str = ".tmp";
/// Number of random characters between prefix and suffix.
const RANDOM_CHARACTERS: usize = 6;
/// Maximum number of symbolic links in a row, as in Linux.
const MAX_LINKS: usize = 40;

/// Writes one file completely or not at all. A device or a FIFO is written to directly.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("b.npy");
/// codiag_cli::write_atomically(&path, |out| out.write_all(b"all of it"))?;
/// assert_eq!(std::fs::read(&path)?, b"all of it");
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// Errors of the operating system, and errors of `write`. An existing file then stays unchanged.
pub fn write_atomically(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    stage(target, write)?.persist()
}

/// Copies a file to `target` completely or not at all, like [`write_atomically`].
///
/// # Errors
/// Errors of the operating system. An existing file then stays unchanged.
pub fn copy_atomically(source: &Path, target: &Path) -> io::Result<()> {
    let mut source = File::open(source)?;
    write_atomically(target, |out| io::copy(&mut source, out).map(drop))
}

/// Checks that a file can be written to `target`. Removes temporary files that killed processes
/// left in its folder.
///
/// ```
/// let folder = tempfile::tempdir()?;
/// assert!(codiag_cli::check_writable(&folder.path().join("b.npy")).is_ok());
/// assert!(codiag_cli::check_writable(&folder.path().join("nowhere/b.npy")).is_err());
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Errors
/// The error with which writing would fail, for example because the target is a folder.
pub fn check_writable(target: &Path) -> io::Result<()> {
    if target.is_dir() {
        // The error of the operating system, with its number.
        let error = File::options().write(true).open(target).err();
        return Err(error.unwrap_or_else(|| io::ErrorKind::IsADirectory.into()));
    }
    match Destination::resolve(target)? {
        // Opening a FIFO would wait for its reader.
        Destination::Special(path) if is_fifo(&path) => Ok(()),
        Destination::Special(path) => open_special(&path).map(drop),
        Destination::OpenFile(_) => Ok(()),
        Destination::File { path, existing } => {
            if existing.is_some() {
                File::options().write(true).open(&path)?;
            }
            check_folder_writable(parent_folder(&path))
        }
    }
}

/// Checks that files can be written in a folder. Removes the temporary files that killed processes
/// left there.
pub(super) fn check_folder_writable(folder: &Path) -> io::Result<()> {
    // The temporary file is removed when it is dropped.
    create_temporary(folder, false).map(drop)?;
    remove_leftovers(folder);
    Ok(())
}

/// Destination of an output.
pub(super) enum Destination {
    /// A regular file, new or to be replaced. The path has no link as its last component.
    File {
        path: PathBuf,
        existing: Option<Metadata>,
    },
    /// A device or a FIFO: it is opened and written to.
    Special(PathBuf),
    /// A file that this process has open, such as /dev/stdout: its path in /proc.
    OpenFile(PathBuf),
}

impl Destination {
    /// Follows symbolic links, also to a file that does not exist yet.
    fn resolve(target: &Path) -> io::Result<Self> {
        let mut path = target.to_owned();
        for _ in 0..MAX_LINKS {
            let found = match std::fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let existing = None;
                    return Ok(Self::File { path, existing });
                }
                found => found?,
            };
            if found.is_file() {
                let existing = Some(found);
                return Ok(Self::File { path, existing });
            }
            if !found.is_symlink() {
                return Ok(Self::Special(path));
            }
            let folder = std::fs::canonicalize(parent_folder(&path))?;
            if folder.starts_with("/proc") {
                // The link refers to an open file, whose path may have been removed.
                let name = path.file_name().unwrap_or_default();
                return Ok(Self::OpenFile(folder.join(name)));
            }
            path = parent_folder(&path).join(std::fs::read_link(&path)?);
        }
        Err(io::Error::other("too many levels of symbolic links"))
    }
}

fn is_fifo(path: &Path) -> bool {
    let is = |kind: FileType| {
        #[cfg(unix)]
        {
            std::os::unix::fs::FileTypeExt::is_fifo(&kind)
        }
        #[cfg(not(unix))]
        {
            let _ = kind;
            false
        }
    };
    std::fs::metadata(path).is_ok_and(|found| is(found.file_type()))
}

fn open_special(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}

/// Opens the file behind a path in /proc. Standard output and standard error are shared with this
/// process, so that its later output follows; other files are appended to.
fn reopen_proc_path(path: &Path) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::fd::AsFd;
        let own = format!("/proc/{}/fd", std::process::id());
        if path == Path::new(&own).join("1") {
            return Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?));
        }
        if path == Path::new(&own).join("2") {
            return Ok(File::from(io::stderr().as_fd().try_clone_to_owned()?));
        }
    }
    File::options().append(true).open(path)
}

/// Output in a temporary file that has not been moved to its target yet.
pub(super) enum Staged {
    /// A temporary file in the folder of its target.
    SameFolder {
        temporary: NamedTempFile,
        target: PathBuf,
        existing: Option<Metadata>,
    },
    /// A temporary file without a name, to be copied to a destination that cannot be replaced.
    Unnamed {
        temporary: File,
        destination: Destination,
    },
}

impl Staged {
    /// Creates an empty temporary file for `target`.
    pub fn new(target: &Path) -> io::Result<Self> {
        match Destination::resolve(target)? {
            Destination::File { path, existing } => {
                if existing.is_some() {
                    // A file that is protected from writing is not replaced.
                    File::options().write(true).open(&path)?;
                }
                Ok(Self::SameFolder {
                    // On the same file system, so that renaming is one step.
                    temporary: create_temporary(parent_folder(&path), existing.is_some())?,
                    target: path,
                    existing,
                })
            }
            destination => Ok(Self::Unnamed {
                temporary: tempfile::tempfile()?,
                destination,
            }),
        }
    }

    /// Returns the temporary file.
    pub fn file(&mut self) -> &mut File {
        match self {
            Self::SameFolder { temporary, .. } => temporary.as_file_mut(),
            Self::Unnamed { temporary, .. } => temporary,
        }
    }

    /// Moves or copies the output to its target.
    pub fn persist(self) -> io::Result<()> {
        match self {
            Self::SameFolder {
                temporary,
                target,
                existing,
            } => {
                if let Some(existing) = existing {
                    keep_attributes(temporary.as_file(), &existing)?;
                }
                temporary.as_file().sync_all()?;
                temporary.persist(&target).map_err(|e| e.error)?;
                sync_folder(parent_folder(&target));
                Ok(())
            }
            Self::Unnamed {
                mut temporary,
                destination,
            } => {
                temporary.rewind()?;
                let mut out = match destination {
                    Destination::OpenFile(path) => reopen_proc_path(&path)?,
                    Destination::Special(path) | Destination::File { path, .. } => {
                        open_special(&path)?
                    }
                };
                match io::copy(&mut temporary, &mut out) {
                    // A broken pipe is ignored only for standard output itself.
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                        Err(io::Error::other("the reader closed the pipe"))
                    }
                    copied => copied.map(drop),
                }
            }
        }
    }
}

/// Gives a file the owner, where that is permitted, and the mode of the file that it replaces.
fn keep_attributes(file: &File, existing: &Metadata) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        let own = file.metadata()?;
        let (user, group) = (existing.uid(), existing.gid());
        if own.gid() != group {
            let _ = fchown(file, None, Some(group));
        }
        if own.uid() != user {
            let _ = fchown(file, Some(user), None);
        }
    }
    // The owner is set first, because changing it may clear bits of the mode. File systems with one
    // mode for all files do not support changing it.
    let mode = existing.permissions();
    if file.metadata()?.permissions() == mode {
        return Ok(());
    }
    file.set_permissions(mode)
}

/// Makes a rename durable in case of a power failure, on systems that support it.
fn sync_folder(folder: &Path) {
    #[cfg(unix)]
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    #[cfg(not(unix))]
    let _ = folder;
}

/// Removes the temporary files that killed processes left in a folder, where that is permitted.
fn remove_leftovers(folder: &Path) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(is_temporary_name);
        // codiag does not create symbolic links with such names.
        if !is_ours || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        let path = entry.path();
        let opened = File::options().read(true).write(true).open(&path);
        if let Ok(file) = opened
            && file.try_lock().is_ok()
        {
            // Locked until it is removed: a process that has just created it notices in
            // `create_temporary`.
            let _ = std::fs::remove_file(&path);
        }
    }
}

fn is_temporary_name(name: &str) -> bool {
    name.strip_prefix(PREFIX)
        .and_then(|rest| rest.strip_suffix(SUFFIX))
        .is_some_and(|letters| {
            letters.len() == RANDOM_CHARACTERS && letters.bytes().all(|b| b.is_ascii_alphanumeric())
        })
}

/// Creates a temporary file for `target` and fills it by `write`.
pub(super) fn stage(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Staged> {
    let mut staged = Staged::new(target)?;
    let mut buffered = io::BufWriter::new(staged.file());
    write(&mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    Ok(staged)
}

/// Creates a locked temporary file that is removed when it is dropped. A file that is not private
/// gets the mode of the umask.
fn create_temporary(folder: &Path, private: bool) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder
        .prefix(PREFIX)
        .suffix(SUFFIX)
        .rand_bytes(RANDOM_CHARACTERS);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = if private { 0o600 } else { 0o666 };
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = private;
    loop {
        let file = builder.tempfile_in(folder)?;
        match file.as_file().try_lock() {
            // Another process considered it a leftover before it was locked, and removes it.
            Err(TryLockError::WouldBlock) => {}
            Ok(()) if !file.path().exists() => {}
            // File systems without locks: the file is written without one and never considered a
            // leftover.
            Ok(()) | Err(TryLockError::Error(_)) => return Ok(file),
        }
    }
}

fn parent_folder(target: &Path) -> &Path {
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
    fn unlocked_temporary_files_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("b.npy");
        let writing = create_temporary(folder.path(), false).unwrap();
        // A killed process leaves its file unlocked and not removed.
        let (file, left) = create_temporary(folder.path(), false)
            .unwrap()
            .keep()
            .unwrap();
        drop(file);
        let others = [".codiag-notes.tmp", ".codiag-abcdef", "codiag-abcdef.tmp"];
        for name in others {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        check_writable(&target).unwrap();
        assert!(!left.exists() && writing.path().exists());
        assert_eq!(names(folder.path()).len(), others.len() + 1);
        drop(writing);
        write_atomically(&target, |out| out.write_all(b"B")).unwrap();
        assert_eq!(names(folder.path()).len(), others.len() + 1);
        assert_eq!(std::fs::read(&target).unwrap(), b"B");
    }

    #[test]
    fn failed_write_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("b.npy");
        let failed = write_atomically(&target, |out| {
            out.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(names(folder.path()).is_empty());
        let kind = |path: &Path| check_writable(path).unwrap_err().kind();
        // Windows reports another error.
        #[cfg(unix)]
        assert_eq!(kind(folder.path()), io::ErrorKind::IsADirectory);
        assert_eq!(
            kind(&folder.path().join("none/b.npy")),
            io::ErrorKind::NotFound
        );
        assert!(names(folder.path()).is_empty());
    }
}
