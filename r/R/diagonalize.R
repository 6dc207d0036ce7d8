METHODS <- list(
  "likelihood" = c("newton", "quasi-newton", "pham", "row-wise"),
  "frobenius" = c("newton", "quasi-newton", "jacobi"),
  "least-squares" = c("newton", "acdc", "uwedge", "ffdiag")
)

diagonalize <- function(C, weights = NULL, criterion = "likelihood", method = "newton", start = "spectral",
                        orthogonal = FALSE, rank = "full", shrinkage = 0, symmetrize = FALSE, tol = 1e-8,
                        max_iter = 1000, restarts = 0, canonical = TRUE, threads = NULL, callback = NULL,
                        stability = 0, on_failure = c("warn", "stop", "ignore")) {
  call <- match.call()
  on_failure <- match.arg(on_failure)
  answer <- solve_set(
    C,
    weights = weights, criterion = criterion, method = method, start = start, orthogonal = orthogonal, rank = rank,
    shrinkage = shrinkage, symmetrize = symmetrize, tol = tol, max_iter = max_iter, restarts = restarts,
    canonical = canonical, threads = threads, callback = callback, stability = stability
  )
  answer$stopped_by_step <- NULL
  if (!answer$converged && on_failure != "ignore") {
    told <- sprintf(
      "not converged (%s): gradient norm %s after %d iterations, tol = %s",
      answer$status, number(answer$gradient_norm), answer$n_iter, number(tol)
    )
    if (on_failure == "stop") stop(told, call. = FALSE)
    # Who asked to stop need not be told.
    if (answer$status != "stopped") warning(told, call. = FALSE)
  }
  answer$method <- method
  answer$call <- call
  structure(answer, class = "codiag")
}

# The answer as a list, of options that are checked here.
solve_set <- function(C, weights = NULL, criterion = "likelihood", method = "newton", start = "spectral",
                      orthogonal = FALSE, rank = "full", shrinkage = 0, symmetrize = FALSE, tol = 1e-8,
                      max_iter = 1000, restarts = 0, canonical = TRUE, threads = NULL, callback = NULL,
                      stability = 0, stop_step = 0) {
  C <- matrix_set(C)
  shape <- dim(C)
  criterion <- choice("criterion", criterion, names(METHODS))
  method <- choice("method", method, unique(unlist(METHODS)))
  if (is.character(start)) {
    start <- choice("start", start, c("spectral", "whitener", "identity"), " or a matrix")
  } else {
    if (!is.matrix(start) || !(is.numeric(start) || is.complex(start))) {
      stop("start must be \"spectral\", \"whitener\", \"identity\" or a matrix", call. = FALSE)
    }
    if (is.complex(start) && !is.complex(C)) {
      stop("start must be real, as the matrices are, but it is complex", call. = FALSE)
    }
    storage.mode(start) <- if (is.complex(C)) "complex" else "double"
  }
  if (!is.null(weights)) {
    if (!is.numeric(weights) || length(weights) != shape[3]) {
      stop(sprintf("expected %d weights, one per matrix, got %d", shape[3], length(weights)), call. = FALSE)
    }
    weights <- as.double(weights)
  }
  options <- list(
    weights = weights, criterion = criterion, method = method, start = start,
    orthogonal = flag("orthogonal", orthogonal), rank = rank_number(rank, shape[1]),
    shrinkage = between("shrinkage", shrinkage, 0, 1), symmetrize = flag("symmetrize", symmetrize),
    tol = positive("tol", tol), max_iter = count("max_iter", max_iter, 0), restarts = count("restarts", restarts, 0),
    canonical = flag("canonical", canonical), threads = if (is.null(threads)) 0 else count("threads", threads, 1),
    callback = NULL, stability = count("stability", stability, 0), stop_step = stop_step
  )
  caught <- NULL
  if (!is.null(callback)) {
    callback <- match.fun(callback)
    # What is raised in it is raised again once the solve has ended.
    keep <- function(condition) {
      caught <<- condition
      TRUE
    }
    options["callback"] <- list(function(fields, stage, kind) {
      tryCatch(isTRUE(callback(c(as.list(fields), stage = stage, kind = kind))), error = keep, interrupt = keep)
    })
  }
  answer <- .Call(C_diagonalize, C, as.double(shape[3:2]), options)
  if (inherits(caught, "interrupt")) interrupt()
  if (!is.null(caught)) stop(caught)
  if (failed(answer)) refuse(answer)
  if (answer$interrupted) interrupt()
  answer$interrupted <- NULL
  if (length(answer$stability) == 0) answer[c("stability", "matches")] <- NULL
  answer$history <- as.data.frame(answer$history)
  channels <- dimnames(C)[[1]]
  if (!is.null(channels)) {
    colnames(answer$B) <- channels
    rownames(answer$A) <- channels
  }
  answer
}

# As if Ctrl-C were pressed now.
interrupt <- function() {
  condition <- structure(class = c("interrupt", "condition"), list(message = "interrupted", call = NULL))
  signalCondition(condition)
  invokeRestart("abort")
}

# p x p x n numbers.
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
      "expected matrices of size p x p as a p x p x n array, got %s: if they are n x p x p, take aperm(C, c(2, 3, 1))",
      got
    ), call. = FALSE)
  }
  if (length(shape) != 3 || shape[1] != shape[2] || any(shape == 0)) {
    stop(sprintf("expected matrices of size p x p as a p x p x n array with n, p > 0, got %s", got), call. = FALSE)
  }
  if (!is.complex(C)) storage.mode(C) <- "double"
  C
}

choice <- function(name, value, choices, other = "") {
  if (!is.character(value) || length(value) != 1 || !(value %in% choices)) {
    got <- if (is.character(value)) paste0("\"", value, "\"", collapse = ", ") else class(value)[1]
    stop(sprintf("%s must be one of %s%s, got %s", name, paste0("\"", choices, "\"", collapse = ", "), other, got),
      call. = FALSE
    )
  }
  value
}

single <- function(value) is.numeric(value) && length(value) == 1 && !is.na(value)

flag <- function(name, value) {
  if (!is.logical(value) || length(value) != 1 || is.na(value)) stop(name, " must be TRUE or FALSE", call. = FALSE)
  as.double(value)
}

positive <- function(name, value) {
  if (!single(value) || !is.finite(value) || value <= 0) {
    stop(sprintf("%s must be a positive number, got %s", name, format(value)[1]), call. = FALSE)
  }
  as.double(value)
}

between <- function(name, value, low, high) {
  if (!single(value) || value < low || value > high) {
    stop(sprintf("%s must be between %g and %g, got %s", name, low, high, format(value)[1]), call. = FALSE)
  }
  as.double(value)
}

count <- function(name, value, least) {
  if (!single(value) || value != round(value) || value < least || value > 2^31) {
    stop(sprintf("%s must be a whole number of at least %g, got %s", name, least, format(value)[1]), call. = FALSE)
  }
  as.double(value)
}

# 0 for full, -1 for auto.
rank_number <- function(rank, p) {
  if (identical(rank, "full")) return(0)
  if (identical(rank, "auto")) return(-1)
  if (!single(rank) || rank != round(rank) || rank < 1 || rank > p) {
    stop(sprintf("rank must be \"full\", \"auto\" or a number from 1 to %d, got %s", p, format(rank)[1]), call. = FALSE)
  }
  as.double(rank)
}
