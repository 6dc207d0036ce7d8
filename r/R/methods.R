print.codiag <- function(x, digits = 4, ...) {
  cat(sprintf(
    "Joint diagonalization of %d matrices of size %d x %d\n", nrow(x$powers), ncol(x$B), ncol(x$B)
  ))
  cat(sprintf("%s by %s: %s after %d iterations\n", x$criterion, x$method, x$status, x$n_iter))
  cat(sprintf("loss %s, gradient norm %s\n", format(x$loss, digits = digits), number(x$gradient_norm)))
  cat("B, one filter per row:\n")
  print(x$B, digits = digits, ...)
  invisible(x)
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
    cat(sprintf("hardest to tell apart: components %g and %g, by %s\n", x$pair[1], x$pair[2], number(x$margin)))
  }
  if (!is.null(x$stability)) {
    cat("stability of the components:", format(x$stability, digits = 2), "\n")
  }
  cat("\nLosses of single matrices:\n")
  print(summary(x$residuals), digits = digits)
  invisible(x)
}

# How the solve went, and what the components are in each matrix.
plot.codiag <- function(x, ...) {
  before <- par(mfrow = c(1, 2))
  on.exit(par(before))
  first <- x$history[x$history$start == 0, ]
  plot(first$iteration, pmax(first$gradient_norm, 1e-18),
    log = "y", type = "b", pch = 19, xlab = "iteration", ylab = "gradient norm", main = "Convergence", ...
  )
  matplot(x$powers,
    type = "l", lty = 1, xlab = "matrix", ylab = "power", main = "Components",
    log = if (all(x$powers > 0)) "y" else ""
  )
  invisible(x)
}

print.codiag_bss <- function(x, ...) {
  print(unclass(x)[setdiff(names(x), c("S", "diagonalization"))], ...)
  invisible(x)
}

coef.codiag_bss <- function(object, ...) object$W

summary.codiag_bss <- function(object, ...) {
  S <- as.matrix(object$S)
  fourth <- colMeans(sweep(S, 2, colMeans(S))^4) / colMeans(sweep(S, 2, colMeans(S))^2)^2 - 3
  structure(list(
    W = object$W, samples = nrow(S), kurtosis = unname(fourth), diagonalization = summary(object$diagonalization)
  ), class = "summary.codiag_bss")
}

print.summary.codiag_bss <- function(x, digits = 4, ...) {
  cat(sprintf("%d sources of %d channels, %d samples\n\n", nrow(x$W), ncol(x$W), x$samples))
  cat("Unmixing matrix W:\n")
  print(x$W, digits = digits)
  cat("\nKurtosis of the sources:", format(x$kurtosis, digits = digits), "\n\n")
  print(x$diagonalization, digits = digits)
  invisible(x)
}

plot.codiag_bss <- function(x, ...) {
  S <- x$S
  if (ncol(as.matrix(S)) > 10) S <- S[, 1:10]
  plot.ts(S, main = "Sources", ...)
  invisible(x)
}
