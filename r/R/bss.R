# Blind source separation, with the conventions of the package JADE: X = S A' + mu with one row per
# observation.

observations <- function(X) {
  X <- as.matrix(X)
  if (!is.numeric(X)) stop("'X' must be numeric", call. = FALSE)
  if (any(dim(X) == 0)) stop("'X' must have at least one row and one column", call. = FALSE)
  if (anyNA(X)) stop("'X' must not have missing values", call. = FALSE)
  storage.mode(X) <- "double"
  X
}

# Returns the method of the library for a method name of this package or of the package JADE.
rotation_method <- function(method) {
  if (identical(method, "djd")) {
    stop("method = \"djd\" (deflation) is not supported; use \"newton\", \"quasi-newton\" or \"jacobi\"",
      call. = FALSE
    )
  }
  named <- c(frjd = "jacobi", rjd = "jacobi", rjd.fortran = "jacobi")
  if (is.character(method) && length(method) == 1 && method %in% names(named)) return(named[[method]])
  choice("method", method, METHODS$frobenius, ", \"frjd\" or \"rjd\"")
}

# Computes the rotation that jointly diagonalizes the matrices of whitened data.
rotation <- function(matrices, method, eps, maxiter) {
  eps <- positive("eps", eps)
  maxiter <- count("maxiter", maxiter, 1)
  # Jacobi's method stops by the largest sine of the angles of a sweep, as in the package JADE;
  # others by the gradient.
  jacobi <- method == "jacobi"
  result <- solve_set(matrices,
    criterion = "frobenius", method = method, tol = if (jacobi) 1e-15 else eps, max_iter = maxiter,
    stop_step = if (jacobi) eps else 0
  )
  if (result$status == "max_iter") stop("maxiter reached without convergence", call. = FALSE)
  result$converged <- result$converged || result$stopped_by_step
  if (result$stopped_by_step) result$status <- "converged"
  result$stopped_by_step <- NULL
  result$method <- method
  result$call <- sys.call(-1)
  structure(result, class = "codiag")
}

# Changes the signs of rows so that their sums are positive.
with_positive_row_sums <- function(W) W * ifelse(rowSums(W) < 0, -1, 1)

# Sum of squared autocorrelations of each column. As in the package JADE, k indexes the result of
# acf, whose first entry is lag 0, so the lags are k - 1. Columns are processed separately, because
# acf of a matrix computes all pairs.
squared_autocorrelation <- function(S, k) {
  vapply(seq_len(ncol(S)), function(j) sum(acf(S[, j], lag.max = max(k), plot = FALSE)$acf[k]^2), numeric(1))
}

SOBI <- function(X, ...) UseMethod("SOBI")

SOBI.default <- function(X, k = 12, method = "newton", eps = 1e-06, maxiter = 100, ...) {
  stop_if_unused(match.call(expand.dots = FALSE)$..., names(formals(SOBI.default)))
  X <- observations(X)
  n <- nrow(X)
  if (!is.numeric(k) || length(k) == 0 || anyNA(k) || any(k != round(k)) || any(k < 1)) {
    stop("'k' must be a positive integer or a vector of lags", call. = FALSE)
  }
  if (length(k) == 1) k <- seq_len(k)
  if (max(k) >= n) stop(sprintf("'k' must be below the number of observations, %d", n), call. = FALSE)
  solver <- rotation_method(method)
  MU <- colMeans(X)
  centered <- sweep(X, 2, MU)
  decomposed <- eigen(cov(X), symmetric = TRUE)
  if (min(decomposed$values) <= 1e-12 * max(decomposed$values)) {
    stop("the covariance of 'X' is singular; remove columns that are linear combinations of others", call. = FALSE)
  }
  whitener <- decomposed$vectors %*% (t(decomposed$vectors) / sqrt(decomposed$values))
  lagged <- .Call(C_lagged_covariances, centered %*% whitener, as.double(k))
  stop_if_failed(lagged)
  solution <- rotation(lagged, solver, eps, maxiter)
  W <- with_positive_row_sums(solution$B %*% whitener)
  S <- tcrossprod(centered, W)
  order <- order(squared_autocorrelation(S, k), decreasing = TRUE)
  W <- W[order, , drop = FALSE]
  colnames(W) <- colnames(X)
  S <- ts(S[, order, drop = FALSE], names = paste("Series", seq_along(order)))
  structure(
    list(W = W, k = k, method = method, S = S, MU = MU, diagonalization = solution),
    class = c("codiag_bss", "bss")
  )
}

SOBI.ts <- function(X, ...) {
  result <- SOBI.default(as.matrix(X), ...)
  tsp(result$S) <- tsp(X)
  result
}

JADE <- function(X, n.comp = NULL, eps = 1e-06, maxiter = 100, na.action = na.fail, method = "newton") {
  X <- observations(na.action(X))
  if (is.null(n.comp)) n.comp <- ncol(X)
  if (!is_number(n.comp) || n.comp != round(n.comp) || n.comp < 1 || n.comp > ncol(X)) {
    stop(sprintf("'n.comp' must be an integer from 1 to %d, the number of columns of X", ncol(X)), call. = FALSE)
  }
  solver <- rotation_method(method)
  Xmu <- colMeans(X)
  white <- .Call(C_cumulants, X, as.double(n.comp))
  stop_if_failed(white)
  solution <- rotation(white$matrices, solver, eps, maxiter)
  W <- with_positive_row_sums(solution$B %*% t(white$whitener))
  S <- tcrossprod(sweep(X, 2, Xmu), W)
  # By decreasing fourth moment.
  order <- order(colMeans(S^4), decreasing = TRUE)
  W <- W[order, , drop = FALSE]
  S <- S[, order, drop = FALSE]
  colnames(W) <- colnames(X)
  colnames(S) <- paste0("IC.", seq_len(n.comp))
  # Since W C W' = I, the mixing matrix of the retained components is C W'.
  A <- if (n.comp == ncol(X)) solve(W) else tcrossprod(crossprod(sweep(X, 2, Xmu)) / nrow(X), W)
  dimnames(A) <- list(colnames(X), colnames(S))
  structure(
    list(A = A, W = W, S = S, Xmu = Xmu, diagonalization = solution),
    class = c("codiag_bss", "bss")
  )
}
