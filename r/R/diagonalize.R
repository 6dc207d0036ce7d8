METHODS <- list(
  "likelihood" = c("newton", "quasi-newton", "pham", "row-wise"),
  "frobenius" = c("newton", "quasi-newton", "jacobi"),
  "least-squares" = c("newton", "acdc", "uwedge", "ffdiag")
)

diagonalize <- function(C, weights = NULL, criterion = "likelihood", method = "newton", init = "spectral",
                        orthogonal = FALSE, n_components = NULL, shrinkage = 0, symmetrize = FALSE, tol = 1e-8,
                        max_iter = 1000, n_restarts = 0, canonical = TRUE, n_jobs = NULL, callback = NULL,
                        n_resamples = 0, sort_by = "contrast", on_failure = c("warn", "stop", "ignore"), ...) {
  call <- match.call()
  stop_if_unused(match.call(expand.dots = FALSE)$..., names(formals(diagonalize)))
  on_failure <- choice("on_failure", on_failure[1], c("warn", "stop", "ignore"))
  result <- solve_set(
    C,
    weights = weights, criterion = criterion, method = method, init = init, orthogonal = orthogonal,
    n_components = n_components, shrinkage = shrinkage, symmetrize = symmetrize, tol = tol, max_iter = max_iter,
    n_restarts = n_restarts, canonical = canonical, n_jobs = n_jobs, callback = callback, n_resamples = n_resamples,
    sort_by = sort_by
  )
  result$stopped_by_step <- NULL
  if (!result$converged && on_failure != "ignore") {
    text <- sprintf(
      "not converged (%s): gradient norm %s after %d iterations, tol = %s",
      result$status, number(result$gradient_norm), result$n_iter, number(tol)
    )
    if (on_failure == "stop") stop(text, call. = FALSE)
    # A callback that stops the solve does so on purpose.
    if (result$status != "interrupted") warning(text, call. = FALSE)
  }
  result$method <- method
  result$call <- call
  structure(result, class = "codiag")
}

# Validates the options, solves, and returns the result as a list. `stop_step` ends the solve at the
# first step of at most this length.
solve_set <- function(C, weights = NULL, criterion = "likelihood", method = "newton", init = "spectral",
                      orthogonal = FALSE, n_components = NULL, shrinkage = 0, symmetrize = FALSE, tol = 1e-8,
                      max_iter = 1000, n_restarts = 0, canonical = TRUE, n_jobs = NULL, callback = NULL,
                      n_resamples = 0, sort_by = "contrast", stop_step = 0) {
  C <- matrix_set(C)
  shape <- dim(C)
  criterion <- choice("criterion", criterion, names(METHODS))
  method <- choice("method", method, unique(unlist(METHODS)))
  if (is.character(init)) {
    init <- choice("init", init, c("spectral", "whitener", "identity"), " or a matrix")
  } else {
    if (!is.matrix(init) || !(is.numeric(init) || is.complex(init))) {
      stop("init must be \"spectral\", \"whitener\", \"identity\" or a matrix", call. = FALSE)
    }
    if (is.complex(init) && !is.complex(C)) {
      stop("init must be real, as the matrices are, but it is complex", call. = FALSE)
    }
    storage.mode(init) <- if (is.complex(C)) "complex" else "double"
  }
  if (!is.null(weights)) {
    if (!is.numeric(weights) || length(weights) != shape[3]) {
      stop(sprintf("expected %d weights, one per matrix, but the length of weights is %d", shape[3], length(weights)), call. = FALSE)
    }
    weights <- as.double(weights)
  }
  options <- list(
    weights = weights, criterion = criterion, method = method, init = init,
    orthogonal = flag("orthogonal", orthogonal), n_components = component_number(n_components, shape[1]),
    shrinkage = between("shrinkage", shrinkage, 0, 1), symmetrize = flag("symmetrize", symmetrize),
    tol = positive("tol", tol), max_iter = count("max_iter", max_iter, 0),
    n_restarts = count("n_restarts", n_restarts, 0), canonical = flag("canonical", canonical),
    n_jobs = if (is.null(n_jobs)) 0 else count("n_jobs", n_jobs, 1), callback = NULL,
    n_resamples = count("n_resamples", n_resamples, 0),
    sort_by = choice("sort_by", sort_by, c("contrast", "stability")), stop_step = stop_step
  )
  caught <- NULL
  if (!is.null(callback)) {
    callback <- match.fun(callback)
    # R errors must not unwind through the library: a condition stops the solve, and is signaled
    # again afterwards.
    keep <- function(condition) {
      caught <<- condition
      TRUE
    }
    options["callback"] <- list(function(fields, stage, kind) {
      tryCatch(isTRUE(callback(c(as.list(fields), stage = stage, kind = kind))), error = keep, interrupt = keep)
    })
  }
  result <- .Call(C_diagonalize, C, as.double(shape[3:2]), options)
  if (inherits(caught, "interrupt")) interrupt()
  if (!is.null(caught)) stop(caught)
  stop_if_failed(result)
  if (result$user_interrupt) interrupt()
  result$user_interrupt <- NULL
  if (length(result$stability) == 0) result[c("stability", "matches")] <- NULL
  result$history <- as.data.frame(result$history)
  channels <- dimnames(C)[[1]]
  if (!is.null(channels)) {
    colnames(result$B) <- channels
    rownames(result$A) <- channels
  }
  result
}

# Signals a user interrupt, as Ctrl-C does.
interrupt <- function() {
  condition <- structure(class = c("interrupt", "condition"), list(message = "interrupted", call = NULL))
  signalCondition(condition)
  invokeRestart("abort")
}

# Converts a list, a matrix or an array to a p x p x n array of doubles or complex numbers.
matrix_set <- function(C) {
  if (is.list(C) && length(C) > 0 && all(vapply(C, is.matrix, logical(1)))) {
    shapes <- unique(lapply(C, dim))
    if (length(shapes) > 1) stop("all matrices of the list must have the same size", call. = FALSE)
    named <- dimnames(C[[1]])
    C <- array(unlist(C, use.names = FALSE), c(shapes[[1]], length(C)), if (!is.null(named)) c(named, list(NULL)))
  }
  if (!is.numeric(C) && !is.complex(C)) {
    stop("C must be an array of numbers or a list of matrices", call. = FALSE)
  }
  if (is.matrix(C)) {
    named <- dimnames(C)
    C <- array(C, c(dim(C), 1), if (!is.null(named)) c(named, list(NULL)))
  }
  shape <- dim(C)
  got <- paste(if (is.null(shape)) length(C) else shape, collapse = " x ")
  if (length(shape) == 3 && shape[1] != shape[2] && shape[2] == shape[3]) {
    stop(sprintf(
      "expected matrices of size p x p as a p x p x n array, got %s; if C is n x p x p, use aperm(C, c(2, 3, 1))",
      got
    ), call. = FALSE)
  }
  if (length(shape) != 3 || shape[1] != shape[2] || any(shape == 0)) {
    stop(sprintf("expected matrices of size p x p as a p x p x n array with n, p > 0, got %s", got), call. = FALSE)
  }
  if (!is.complex(C)) storage.mode(C) <- "double"
  C
}

# Returns the number of components for the library: 0 for all, -1 for "auto".
component_number <- function(n_components, p) {
  if (is.null(n_components)) return(0)
  if (identical(n_components, "auto")) return(-1)
  if (!is_number(n_components) || n_components != round(n_components) || n_components < 1 || n_components > p) {
    stop(sprintf(
      "n_components must be NULL (all), \"auto\" or a number from 1 to %d, got %s", p, quoted(n_components)
    ), call. = FALSE)
  }
  as.double(n_components)
}
