test_that("exactly diagonalizable sets are recovered, real and complex", {
  set.seed(1)
  for (complex in c(FALSE, TRUE)) {
    simulated <- mixed(4, 25, complex = complex)
    result <- diagonalize(simulated$C)
    expect_true(result$converged)
    expect_identical(is.complex(result$B), complex)
    expect_lt(separation_error(result$B, simulated$A), 1e-7)
    expect_lt(max(Mod(result$B %*% result$A - diag(4))), 1e-10)
  }
})

test_that("the loss of all methods agrees with its definition", {
  set.seed(2)
  for (complex in c(FALSE, TRUE)) {
    simulated <- mixed(4, 30, noise = 0.1, complex = complex)
    losses <- vapply(c("newton", "quasi-newton", "pham", "row-wise"), function(method) {
      result <- diagonalize(simulated$C, method = method)
      expect_equal(result$loss, likelihood(result$B, simulated$C), tolerance = 1e-8)
      result$loss
    }, numeric(1))
    expect_lt(diff(range(losses)), 1e-8)
  }
})

test_that("fields of the result agree with their definitions", {
  set.seed(3)
  simulated <- mixed(3, 20, noise = 0.1)
  dimnames(simulated$C) <- list(c("Fz", "Cz", "Pz"), c("Fz", "Cz", "Pz"), NULL)
  weights <- seq_len(20)
  result <- diagonalize(simulated$C, weights = weights)
  D <- apply(simulated$C, 3, function(M) diag(result$B %*% M %*% t(result$B)))
  expect_equal(result$powers, t(unname(D)), tolerance = 1e-8)
  expect_equal(sum(result$residuals * weights) / sum(weights), result$loss, tolerance = 1e-8)
  expect_identical(colnames(result$B), c("Fz", "Cz", "Pz"))
  expect_identical(nrow(result$history), result$n_iter + 1L)
  expect_identical(result$history$kind[1], "init")
  expect_identical(result$history$stage[1], "full")
  expect_true(all(result$pair %in% 1:3) && result$margin > 0)
  expect_equal(result$condition_number, kappa(result$B, exact = TRUE), tolerance = 1e-6)
})

test_that("frobenius and least-squares accept indefinite matrices", {
  set.seed(4)
  simulated <- mixed(4, 20)
  C <- simulated$C
  C[, , 1] <- -C[, , 1]
  for (method in c("newton", "acdc", "uwedge", "ffdiag")) {
    result <- diagonalize(C, criterion = "least-squares", method = method, on_failure = "ignore")
    expect_lt(result$loss, 1e-6)
  }
  U <- qr.Q(qr(simulated$A))
  R <- array(apply(C, 3, function(M) U %*% diag(diag(M)) %*% t(U)), dim(C))
  for (method in c("newton", "quasi-newton", "jacobi")) {
    result <- diagonalize(R, criterion = "frobenius", method = method)
    expect_lt(separation_error(result$B, U), 1e-6)
    expect_equal(tcrossprod(result$B), diag(4), tolerance = 1e-10)
  }
})

test_that("lists, integers and single matrices are accepted and not modified", {
  simulated <- mixed(3, 5)
  list <- lapply(1:5, function(i) simulated$C[, , i])
  expect_equal(diagonalize(list)$B, diagonalize(simulated$C)$B)
  C <- array(c(2L, 1L, 1L, 3L, 5L, 1L, 1L, 1L), c(2, 2, 2))
  before <- C
  expect_true(diagonalize(C)$converged)
  expect_identical(C, before)
  expect_true(diagonalize(diag(3))$converged)
})

test_that("callbacks see each iteration and can stop the solve", {
  set.seed(5)
  simulated <- mixed(5, 40, noise = 0.5)
  seen <- c()
  result <- diagonalize(simulated$C, method = "quasi-newton", init = "whitener", callback = function(record) {
    seen <<- c(seen, record$iteration)
    record$iteration >= 2
  })
  expect_identical(result$status, "interrupted")
  expect_equal(max(seen), 2)
  expect_error(diagonalize(simulated$C, callback = function(record) stop("enough")), "enough")
})

test_that("init accepts a matrix", {
  set.seed(6)
  for (complex in c(FALSE, TRUE)) {
    simulated <- mixed(4, 30, noise = 0.2, complex = complex)
    first <- diagonalize(simulated$C)
    expect_identical(diagonalize(simulated$C, init = first$B, tol = 1e-7)$n_iter, 0L)
  }
  expect_error(diagonalize(simulated$C, init = diag(3)), "init must be 4 x 4, got 3 x 3")
  expect_error(diagonalize(mixed(2, 3)$C, init = diag(2) * 1i), "init must be real")
  expect_error(diagonalize(mixed(2, 3)$C, init = matrix(1, 2, 2)), "must be finite and invertible")
})

test_that("errors name the arguments of R", {
  C <- mixed(3, 5)$C
  bad <- C
  bad[2, 3, 4] <- NaN
  expect_error(diagonalize(bad), "matrix 4: entry (2, 3) is NaN", fixed = TRUE)
  bad <- C
  bad[2, 1, 4] <- 100
  expect_error(diagonalize(bad), "matrix 4 is not symmetric")
  expect_error(diagonalize(bad), "symmetrize = TRUE")
  bad <- C
  bad[, , 2] <- -bad[, , 2]
  expect_error(diagonalize(bad), "matrix 2 is not positive definite.*criterion = \"frobenius\"")
  flat <- array(apply(C, 3, function(M) rbind(cbind(M, rowSums(M)), c(colSums(M), sum(M)))), c(4, 4, 5))
  expect_error(diagonalize(flat, symmetrize = TRUE), "n_components = \"auto\" or n_components = 3")
  expect_identical(dim(diagonalize(flat, n_components = "auto", symmetrize = TRUE)$B), c(3L, 4L))
  expect_error(diagonalize(aperm(C, c(3, 1, 2))), "aperm(C, c(2, 3, 1))", fixed = TRUE)
  expect_error(diagonalize(C[, 1:2, ]), "got 3 x 2 x 5")
  expect_error(diagonalize("a"), "array of numbers")
  expect_error(diagonalize(C, weights = 1:4), "expected 5 weights")
  expect_error(diagonalize(C, weights = c(1, -1, 1, 1, 1)), "weight 2 is -1")
  expect_error(diagonalize(C, tol = 0), "tol must be a positive number")
  expect_error(diagonalize(C, method = "fastica"), "unknown method \"fastica\"; valid: \"newton\"")
  expect_error(diagonalize(C, method = 1), "method must be one of")
  expect_error(diagonalize(C, method = "newtn"), "did you mean \"newton\"?", fixed = TRUE)
  expect_error(diagonalize(C, tolerence = 1), "did you mean 'tol'?", fixed = TRUE)
  expect_error(diagonalize(C, max_iters = 5), "did you mean 'max_iter'?", fixed = TRUE)
  expect_error(diagonalize(C, sort_by = "stability"), "n_resamples = 20 or n_restarts = 20")
  expect_error(diagonalize(C, method = "jacobi"), "criterion = \"likelihood\" does not support method = \"jacobi\"")
  expect_error(diagonalize(C, method = "pham", orthogonal = TRUE), "does not support orthogonal = TRUE")
  expect_error(diagonalize(C, n_jobs = 0), "n_jobs must be an integer of at least 1")
  expect_error(diagonalize(C, n_components = 4), "n_components must be")
})

test_that("failed convergence is reported", {
  set.seed(7)
  C <- mixed(5, 40, noise = 0.5)$C
  expect_warning(diagonalize(C, max_iter = 1), "not converged \\(max_iter\\)")
  expect_error(diagonalize(C, max_iter = 1, on_failure = "stop"), "not converged")
  expect_silent(diagonalize(C, max_iter = 1, on_failure = "ignore"))
})

test_that("results can be printed, summarized and plotted", {
  set.seed(8)
  result <- diagonalize(mixed(3, 10, noise = 0.1)$C)
  expect_output(print(result), "Joint diagonalization of 10 matrices of size 3 x 3")
  expect_output(print(summary(result)), "least separable components")
  expect_identical(coef(result), result$B)
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  plot(result)
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
  unlink(file)
})

test_that("stability is the median of the matches", {
  set.seed(8)
  simulated <- mixed(4, 40, noise = 0.01)
  expect_null(diagonalize(simulated$C)$stability)
  result <- diagonalize(simulated$C, n_resamples = 6)
  expect_identical(dim(result$matches), c(6L, 4L))
  expect_equal(result$stability, apply(result$matches, 2, median), tolerance = 1e-12)
  expect_true(all(result$matches >= 0 & result$matches <= 1 + 1e-12))
  expect_output(print(summary(result)), "stability of the components")
  sorted <- diagonalize(simulated$C, n_resamples = 6, sort_by = "stability")
  expect_false(is.unsorted(rev(sorted$stability)))
  expect_error(diagonalize(simulated$C, n_resamples = -1), "n_resamples must be an integer")
})

test_that("large results print in a few lines", {
  set.seed(9)
  result <- diagonalize(mixed(40, 60, noise = 0.1)$C, n_resamples = 2)
  expect_lt(length(capture.output(print(result))), 40)
  expect_lt(length(capture.output(print(summary(result)))), 20)
  expect_output(print(result), "60 matrices of size 40 x 40")
  expect_output(print(result), "(40 x 40, first 6 rows and 8 columns):", fixed = TRUE)
  expect_output(print(result), "converged after")
  expect_output(print(result), "loss ")
})

test_that("integer axes have ticks at integers", {
  expect_identical(codiag:::integer_ticks(0:3), c(0, 1, 2, 3))
  expect_identical(codiag:::integer_ticks(0), 0)
  expect_true(all(codiag:::integer_ticks(0:37) %% 1 == 0))
})
