# Blind source separation, with the conventions of the package JADE: X = S A' + mu, one row per observation.

observations <- function(X) {
  X <- as.matrix(X)
  if (!is.numeric(X)) stop("'X' must be numeric", call. = FALSE)
  if (any(dim(X) == 0)) stop("'X' has no observations", call. = FALSE)
  if (anyNA(X)) stop("missing values are not allowed", call. = FALSE)
  storage.mode(X) <- "double"
  X
}

# The method of the library for a name of the package JADE or of ours.
rotation_method <- function(method) {
  if (identical(method, "djd")) {
    stop("method = \"djd\" finds components one after the other, which is not joint diagonalization: it is not here",
      call. = FALSE
    )
  }
  named <- c(frjd = "jacobi", rjd = "jacobi", rjd.fortran = "jacobi")
  if (is.character(method) && length(method) == 1 && method %in% names(named)) return(named[[method]])
  choice("method", method, METHODS$frobenius, ", \"frjd\" or \"rjd\"")
}

# The rotation that diagonalizes the matrices of what is white.
rotation <- function(matrices, method, eps, maxiter) {
  eps <- positive("eps", eps)
  maxiter <- count("maxiter", maxiter, 1)
  # Jacobi's method stops by the largest sine of a sweep, as in the package JADE; the others by the gradient.
  jacobi <- method == "jacobi"
  answer <- solve_set(matrices,
    criterion = "frobenius", method = method, tol = if (jacobi) 1e-15 else eps, max_iter = maxiter,
    stop_step = if (jacobi) eps else 0
  )
  if (answer$status == "iteration limit") stop("maxiter reached without convergence", call. = FALSE)
  answer$converged <- answer$converged || answer$stopped_by_step
  if (answer$stopped_by_step) answer$status <- "converged"
  answer$stopped_by_step <- NULL
  answer$method <- method
  answer$call <- sys.call(-1)
  structure(answer, class = "codiag")
}

# Rows with positive sums.
signed <- function(W) W * ifelse(rowSums(W) < 0, -1, 1)

# Sums of squared autocorrelations of each column. As in the package JADE, k are indices into the result of acf, whose
# first entry is lag 0: the lags are k - 1. One column at a time, because acf of a matrix computes all pairs of columns.
autocorrelation_strength <- function(S, k) {
  vapply(seq_len(ncol(S)), function(j) sum(acf(S[, j], lag.max = max(k), plot = FALSE)$acf[k]^2), numeric(1))
}

SOBI <- function(X, ...) UseMethod("SOBI")

SOBI.default <- function(X, k = 12, method = "newton", eps = 1e-06, maxiter = 100, ...) {
  X <- observations(X)
  n <- nrow(X)
  if (!is.numeric(k) || length(k) == 0 || anyNA(k) || any(k != round(k)) || any(k < 1)) {
    stop("'k' must be a positive whole number, or a vector of lags", call. = FALSE)
  }
  if (length(k) == 1) k <- seq_len(k)
  if (max(k) >= n) stop(sprintf("'k' must be below the number of observations, %d", n), call. = FALSE)
  solver <- rotation_method(method)
  MU <- colMeans(X)
  centred <- sweep(X, 2, MU)
  decomposed <- eigen(cov(X), symmetric = TRUE)
  if (min(decomposed$values) <= 1e-12 * max(decomposed$values)) {
    stop("the covariance of 'X' is singular: leave out columns that depend on others", call. = FALSE)
  }
  whitener <- decomposed$vectors %*% (t(decomposed$vectors) / sqrt(decomposed$values))
  lagged <- .Call(C_lagged_covariances, centred %*% whitener, as.double(k))
  if (failed(lagged)) refuse(lagged)
  found <- rotation(lagged, solver, eps, maxiter)
  W <- signed(found$B %*% whitener)
  S <- tcrossprod(centred, W)
  order <- order(autocorrelation_strength(S, k), decreasing = TRUE)
  W <- W[order, , drop = FALSE]
  colnames(W) <- colnames(X)
  S <- ts(S[, order, drop = FALSE], names = paste("Series", seq_along(order)))
  structure(
    list(W = W, k = k, method = method, S = S, MU = MU, diagonalization = found),
    class = c("codiag_bss", "bss")
  )
}

SOBI.ts <- function(X, ...) {
  found <- SOBI.default(as.matrix(X), ...)
  tsp(found$S) <- tsp(X)
  found
}

JADE <- function(X, n.comp = NULL, eps = 1e-06, maxiter = 100, na.action = na.fail, method = "newton") {
  X <- observations(na.action(X))
  if (is.null(n.comp)) n.comp <- ncol(X)
  if (!single(n.comp) || n.comp != round(n.comp) || n.comp < 1 || n.comp > ncol(X)) {
    stop(sprintf("'n.comp' must be a number from 1 to that of the columns of X, %d", ncol(X)), call. = FALSE)
  }
  solver <- rotation_method(method)
  Xmu <- colMeans(X)
  white <- .Call(C_cumulants, X, as.double(n.comp))
  if (failed(white)) refuse(white)
  found <- rotation(white$matrices, solver, eps, maxiter)
  W <- signed(found$B %*% t(white$whitener))
  S <- tcrossprod(sweep(X, 2, Xmu), W)
  # By decreasing fourth moments.
  order <- order(colMeans(S^4), decreasing = TRUE)
  W <- W[order, , drop = FALSE]
  S <- S[, order, drop = FALSE]
  colnames(W) <- colnames(X)
  colnames(S) <- paste0("IC.", seq_len(n.comp))
  # W C W' = I, so that A = C W' is the mixing of what is kept.
  A <- if (n.comp == ncol(X)) solve(W) else tcrossprod(crossprod(sweep(X, 2, Xmu)) / nrow(X), W)
  dimnames(A) <- list(colnames(X), colnames(S))
  structure(
    list(A = A, W = W, S = S, Xmu = Xmu, diagonalization = found),
    class = c("codiag_bss", "bss")
  )
}
