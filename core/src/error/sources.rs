//! Errors of the operating system and of external code, behind an `Arc` so that they can be cloned.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

/// An error of the operating system. Two are equal if their [`kind`](Self::kind) is.
///
/// ```
/// use codiag::{Error, MatrixFile};
/// let Err(Error::File { path, error }) = MatrixFile::open("no/such/file.npy") else {
///     panic!("there is no such file");
/// };
/// let Error::Io(error) = *error else { panic!("{error}") };
/// assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
/// assert!(path.ends_with("file.npy"));
/// ```
#[derive(Clone, Debug)]
pub struct IoError(pub(super) Arc<io::Error>);

impl IoError {
    /// Returns the kind of the error.
    pub fn kind(&self) -> io::ErrorKind {
        self.0.kind()
    }

    /// Returns the error of the standard library.
    pub fn get(&self) -> &io::Error {
        &self.0
    }
}

impl PartialEq for IoError {
    fn eq(&self, other: &Self) -> bool {
        self.kind() == other.kind()
    }
}

impl fmt::Display for IoError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for IoError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}

/// An error of external code. Two are equal if their messages are.
///
/// ```
/// use std::error::Error as _;
/// use codiag::Error;
/// let timeout = std::io::Error::new(std::io::ErrorKind::TimedOut, "worker 3 does not respond");
/// let error = Error::external(timeout);
/// assert_eq!(error.to_string(), "worker 3 does not respond");
/// // The original error is the source.
/// assert!(matches!(&error, Error::External(inner) if inner.source().is_some()));
/// ```
#[derive(Clone, Debug)]
pub struct ExternalError(pub(super) Arc<dyn StdError + Send + Sync>);

impl PartialEq for ExternalError {
    fn eq(&self, other: &Self) -> bool {
        self.0.to_string() == other.0.to_string()
    }
}

impl fmt::Display for ExternalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for ExternalError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&*self.0)
    }
}
