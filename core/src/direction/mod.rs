//! Which way to go: pure p×p arithmetic, no matrix set in sight.

mod bounds;
pub(crate) mod newton;
pub(crate) mod quasi_newton;
