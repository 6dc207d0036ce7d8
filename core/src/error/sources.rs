//! Errors of the system and of other programs, shared so that they can be cloned.

use std::error::Error as StdError;
use std::fmt;
use std::io;
use std::sync::Arc;

/// An error of the system, shared so that it can be cloned; two are equal if they are of one kind.
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
    /// What kind it is.
    pub fn kind(&self) -> io::ErrorKind {
        self.0.kind()
    }

    /// The error itself.
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

/// An error of another program, shared so that it can be cloned; two are equal if they say the same.
///
/// ```
/// use std::error::Error as _;
/// use codiag::Error;
/// let timeout = std::io::Error::new(std::io::ErrorKind::TimedOut, "worker 3 does not answer");
/// let error = Error::external(timeout);
/// assert_eq!(error.to_string(), "worker 3 does not answer");
/// // What went wrong elsewhere stays reachable as the source.
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
