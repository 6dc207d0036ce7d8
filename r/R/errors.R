# What the library finds wrong, in the words of R: matrices are counted from 1, options have R's names.

failed <- function(answer) is.list(answer) && !is.null(answer$error)

# The names of codiag_error and codiag_remedy in codiag.h.
CODES <- list(
  not_finite = 3L, asymmetric = 4L, not_positive_definite = 5L, weights = 6L, start = 7L, conflict = 9L, memory = 12L
)
REMEDIES <- list(reduce = 1L, shrink = 2L)

number <- function(x) formatC(x, digits = 4, format = "g")

words <- function(e, call) {
  entry <- sprintf("(%g, %g)", e$row, e$column)
  if (e$error == CODES$not_finite && !is.na(e$matrix)) {
    return(sprintf("matrix %g: entry %s is %s, not a finite number", e$matrix, entry, format(e$value)))
  }
  if (e$error == CODES$not_finite && !is.na(e$row)) {
    return(sprintf("column %g, row %g is %s, not a finite number", e$row, e$column, format(e$value)))
  }
  if (e$error == CODES$asymmetric) {
    return(sprintf(paste(
      "matrix %g is not symmetric (if complex, Hermitian): entry %s and its mirror image differ by %s of the largest",
      "entry (at most 1e-8 is taken as rounding); symmetrize = TRUE takes the mean of the two"
    ), e$matrix, entry, number(e$value)))
  }
  if (e$error == CODES$not_positive_definite) {
    which <- if (is.na(e$matrix)) "the mean of the matrices" else sprintf("matrix %g", e$matrix)
    advice <- if (e$remedy == REMEDIES$reduce) {
      sprintf(paste(
        "all matrices share a null space (the mean has rank %g): reduce the set to its range with rank = \"auto\"",
        "or rank = %g"
      ), e$rank, e$rank)
    } else if (e$remedy == REMEDIES$shrink) {
      sprintf("its companions do not share its null space: lift it with shrinkage = %s", number(e$shrinkage))
    } else {
      "only criterion = \"frobenius\" and \"least-squares\" can take a set that is not positive definite"
    }
    return(sprintf(
      "%s is not positive definite: its smallest eigenvalue is %s; %s", which, number(e$value), advice
    ))
  }
  if (e$error == CODES$weights && !is.na(e$matrix)) {
    return(sprintf("weight %g is %s: weights must be finite and not negative", e$matrix, format(e$value)))
  }
  if (e$error == CODES$conflict) {
    return(conflict(call))
  }
  if (e$error == CODES$start) {
    return(sub("^b must", "start must", e$message))
  }
  if (e$error == CODES$memory) {
    return(sub("; components =", "; n.comp =", e$message, fixed = TRUE))
  }
  e$message
}

# Which of the choices exclude each other.
conflict <- function(options) {
  criterion <- options$criterion
  methods <- METHODS[[criterion]]
  if (!(options$method %in% methods)) {
    return(sprintf(
      "criterion = \"%s\" has the methods %s, not \"%s\"",
      criterion, paste0("\"", methods, "\"", collapse = ", "), options$method
    ))
  }
  if (options$orthogonal && options$method == "pham") {
    return("orthogonal = TRUE is not for method = \"pham\"")
  }
  if (options$orthogonal && criterion == "least-squares") {
    return("orthogonal = TRUE is not for criterion = \"least-squares\": over rotations it is criterion = \"frobenius\"")
  }
  if (options$orthogonal && options$rank != 0) {
    return("orthogonal = TRUE is not for a set reduced by rank, whose axes are not those of the channels")
  }
  "these options exclude each other"
}

# Raises what the library found wrong.
refuse <- function(e, options = NULL) stop(words(e, options), call. = FALSE)
