# Prints the name and dimensions of a matrix, then at most `rows` rows and `columns` columns.
print_matrix <- function(M, name, digits = 4, rows = 6, columns = 8, ...) {
  size <- sprintf("%d x %d", nrow(M), ncol(M))
  shown <- M[seq_len(min(nrow(M), rows)), seq_len(min(ncol(M), columns)), drop = FALSE]
  if (length(shown) < length(M)) size <- sprintf("%s, first %d rows and %d columns", size, nrow(shown), ncol(shown))
  cat(sprintf("%s (%s):\n", name, size))
  print(shown, digits = digits, ...)
}

# Positions of axis ticks at integers.
integer_ticks <- function(x) {
  at <- pretty(x)
  at[at == round(at) & at >= min(x) & at <= max(x)]
}

print.codiag <- function(x, digits = 4, ...) {
  cat(sprintf(
    "Joint diagonalization of %d matrices of size %d x %d\n", nrow(x$powers), ncol(x$B), ncol(x$B)
  ))
  cat(sprintf("%s by %s: %s after %d iterations\n", x$criterion, x$method, x$status, x$n_iter))
  cat(sprintf("loss %s, gradient norm %s\n", format(x$loss, digits = digits), number(x$gradient_norm)))
  print_matrix(x$B, "B, one filter per row", digits = digits, ...)
  invisible(x)
}

# Formats the first `most` values of a vector.
first_values <- function(x, digits, most = 10) {
  c(format(x[seq_len(min(length(x), most))], digits = digits), if (length(x) > most) sprintf("... (%d)", length(x)))
}

coef.codiag <- function(object, ...) object$B

summary.codiag <- function(object, ...) {
  structure(list(
    call = object$call, criterion = object$criterion, method = object$method, status = object$status,
    matrices = nrow(object$powers), channels = ncol(object$B), components = nrow(object$B), n_iter = object$n_iter,
    loss = object$loss, gradient_norm = object$gradient_norm, condition_number = object$condition_number,
    margin = object$margin, pair = object$pair, residuals = object$residuals, stability = object$stability
  ), class = "summary.codiag")
}

print.summary.codiag <- function(x, digits = 4, ...) {
  cat("Call:", deparse(x$call, width.cutoff = 100L)[1], "\n\n")
  cat(sprintf("%d matrices of %d channels, %d components\n", x$matrices, x$channels, x$components))
  cat(sprintf("%s by %s: %s after %d iterations\n", x$criterion, x$method, x$status, x$n_iter))
  cat(sprintf(
    "loss %s, gradient norm %s, condition number of B %s\n",
    format(x$loss, digits = digits), number(x$gradient_norm), number(x$condition_number)
  ))
  if (!is.na(x$margin)) {
    cat(sprintf("least separable components: %g and %g, identifiability margin %s\n", x$pair[1], x$pair[2], number(x$margin)))
  }
  if (!is.null(x$stability)) {
    cat("stability of the components:", first_values(x$stability, 2), "\n")
  }
  cat("\nLosses of the matrices:\n")
  print(summary(x$residuals), digits = digits)
  invisible(x)
}

# Plots the gradient norm of each iteration, and the power of each component in each matrix.
plot.codiag <- function(x, ...) {
  before <- par(mfrow = c(1, 2))
  on.exit(par(before))
  first <- x$history[x$history$start == 0, ]
  plot(first$iteration, pmax(first$gradient_norm, 1e-18),
    log = "y", type = "b", pch = 19, xaxt = "n", xlab = "iteration", ylab = "gradient norm", main = "Convergence", ...
  )
  axis(1, at = integer_ticks(first$iteration))
  components <- ncol(x$powers)
  colors <- hcl.colors(components, "viridis")
  matplot(x$powers,
    type = "l", lty = 1, col = colors, xaxt = "n", xlab = "matrix", ylab = "power", main = "Components",
    log = if (all(x$powers > 0)) "y" else ""
  )
  axis(1, at = integer_ticks(seq_len(nrow(x$powers))))
  # The legend shows at most six components.
  named <- unique(round(seq(1, components, length.out = min(components, 6))))
  legend("topright", legend = named, col = colors[named], lty = 1, title = "component", bg = "white", cex = 0.8)
  invisible(x)
}

print.codiag_bss <- function(x, ...) {
  S <- as.matrix(x$S)
  cat(sprintf("%d sources of %d channels, %d samples\n", nrow(x$W), ncol(x$W), nrow(S)))
  solve <- x$diagonalization
  cat(sprintf(
    "%s after %d iterations, loss %s\n", solve$status, solve$n_iter, format(solve$loss, digits = 4)
  ))
  if (!is.null(x$k)) cat(sprintf("lags %s\n", lag_range(x$k)))
  print_matrix(x$W, "Unmixing matrix W", ...)
  invisible(x)
}

# Formats lags: "1 to 12" if they are consecutive, otherwise a list.
lag_range <- function(k) {
  if (length(k) > 2 && all(diff(k) == 1)) return(sprintf("%g to %g", k[1], k[length(k)]))
  strtrim(paste(k, collapse = ", "), 60)
}

coef.codiag_bss <- function(object, ...) object$W

summary.codiag_bss <- function(object, ...) {
  S <- as.matrix(object$S)
  centered <- sweep(S, 2, colMeans(S))
  kurtosis <- colMeans(centered^4) / colMeans(centered^2)^2 - 3
  structure(list(
    W = object$W, samples = nrow(S), kurtosis = unname(kurtosis), diagonalization = summary(object$diagonalization)
  ), class = "summary.codiag_bss")
}

print.summary.codiag_bss <- function(x, digits = 4, ...) {
  cat(sprintf("%d sources of %d channels, %d samples\n\n", nrow(x$W), ncol(x$W), x$samples))
  print_matrix(x$W, "Unmixing matrix W", digits = digits)
  cat("\nKurtosis of the sources:", first_values(x$kurtosis, digits), "\n\n")
  print(x$diagonalization, digits = digits)
  invisible(x)
}

plot.codiag_bss <- function(x, ...) {
  S <- x$S
  if (ncol(as.matrix(S)) > 10) S <- S[, 1:10]
  plot.ts(S, main = "Sources", ...)
  invisible(x)
}
