//! Output files: atomic writes, .npy, .csv and JSON.

pub mod atomic_write;
pub mod history;
pub mod npy;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::input::file_error;

/// An output folder whose files are staged first and appear only at [`publish`](Self::publish).
pub struct OutputFolder {
    path: PathBuf,
    /// Whether this run created the folder.
    new: bool,
    staged: Vec<(atomic_write::Staged, PathBuf)>,
}

impl OutputFolder {
    /// Creates the folder if necessary and checks that it is writable, so that errors are reported
    /// before a solve.
    pub fn create(path: &Path) -> Result<Self> {
        let folder = Self {
            path: path.to_owned(),
            new: !path.exists(),
            staged: Vec::new(),
        };
        std::fs::create_dir_all(path).map_err(|e| file_error("written", path, e))?;
        atomic_write::check_folder_writable(path).map_err(|e| file_error("written", path, e))?;
        Ok(folder)
    }

    /// Stages a file with the content that `write` writes.
    pub fn add(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<()> {
        let target = self.path.join(name);
        let staged =
            atomic_write::stage(&target, write).map_err(|e| file_error("written", &target, e))?;
        self.staged.push((staged, target));
        Ok(())
    }

    /// Stages a .npy matrix of the given shape. `fill` writes it in blocks of columns, and may read
    /// rows back.
    pub fn add_rows<T>(
        &mut self,
        name: &str,
        shape: (usize, usize),
        fill: impl FnOnce(&mut npy::RowFile<'_>) -> Result<T>,
    ) -> Result<T> {
        let target = self.path.join(name);
        let mut staged =
            atomic_write::Staged::new(&target).map_err(|e| file_error("written", &target, e))?;
        let rows = npy::RowFile::new(staged.file(), shape);
        let done = fill(&mut rows.map_err(|e| file_error("written", &target, e))?)?;
        self.staged.push((staged, target));
        Ok(done)
    }

    /// Moves all staged files to their targets.
    pub fn publish(mut self) -> Result<()> {
        for (staged, target) in std::mem::take(&mut self.staged) {
            staged
                .persist()
                .map_err(|e| file_error("written", &target, e))?;
        }
        Ok(())
    }
}

impl Drop for OutputFolder {
    /// Removes a folder that this run created and left empty.
    fn drop(&mut self) {
        self.staged.clear();
        if self.new {
            // Fails, as intended, if the folder has files.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// Checks that a file can be written, so that errors are reported before a solve.
pub fn check_writable(target: &Path) -> Result<()> {
    atomic_write::check_writable(target).map_err(|e| file_error("written", target, e))
}

/// Writes one file completely or not at all.
pub fn write_file(
    target: &Path,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    atomic_write::write_atomically(target, write).map_err(|e| file_error("written", target, e))
}

/// Writes indented JSON with a final newline.
pub fn json(out: &mut dyn Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// Prints JSON to standard output.
pub fn print_json(out: &mut dyn Write, value: &impl serde::Serialize) -> Result<()> {
    json(out, value).context("standard output cannot be written")
}
