test_that("exact sets are recovered, real and complex", {
  set.seed(1)
  for (complex in c(FALSE, TRUE)) {
    made <- mixed(4, 25, complex = complex)
    found <- diagonalize(made$C)
    expect_true(found$converged)
    expect_identical(is.complex(found$B), complex)
    expect_lt(leftover(found$B, made$A), 1e-7)
    expect_lt(max(Mod(found$B %*% found$A - diag(4))), 1e-10)
  }
})

test_that("the loss is what its definition says, by all methods", {
  set.seed(2)
  for (complex in c(FALSE, TRUE)) {
    made <- mixed(4, 30, noise = 0.1, complex = complex)
    losses <- vapply(c("newton", "quasi-newton", "pham", "row-wise"), function(method) {
      found <- diagonalize(made$C, method = method)
      expect_equal(found$loss, likelihood(found$B, made$C), tolerance = 1e-8)
      found$loss
    }, numeric(1))
    expect_lt(diff(range(losses)), 1e-8)
  }
})

test_that("fields are what they are said to be", {
  set.seed(3)
  made <- mixed(3, 20, noise = 0.1)
  dimnames(made$C) <- list(c("Fz", "Cz", "Pz"), c("Fz", "Cz", "Pz"), NULL)
  weights <- seq_len(20)
  found <- diagonalize(made$C, weights = weights)
  D <- apply(made$C, 3, function(M) diag(found$B %*% M %*% t(found$B)))
  expect_equal(found$powers, t(unname(D)), tolerance = 1e-8)
  expect_equal(sum(found$residuals * weights) / sum(weights), found$loss, tolerance = 1e-8)
  expect_identical(colnames(found$B), c("Fz", "Cz", "Pz"))
  expect_identical(nrow(found$history), found$n_iter + 1L)
  expect_identical(found$history$kind[1], "start")
  expect_identical(found$history$stage[1], "full")
  expect_true(all(found$pair %in% 1:3) && found$margin > 0)
  expect_equal(found$condition_number, kappa(found$B, exact = TRUE), tolerance = 1e-6)
})

test_that("other criteria take matrices that are not positive definite", {
  set.seed(4)
  made <- mixed(4, 20)
  C <- made$C
  C[, , 1] <- -C[, , 1]
  for (method in c("newton", "acdc", "uwedge", "ffdiag")) {
    found <- diagonalize(C, criterion = "least-squares", method = method, on_failure = "ignore")
    expect_lt(found$loss, 1e-6)
  }
  U <- qr.Q(qr(made$A))
  R <- array(apply(C, 3, function(M) U %*% diag(diag(M)) %*% t(U)), dim(C))
  for (method in c("newton", "quasi-newton", "jacobi")) {
    found <- diagonalize(R, criterion = "frobenius", method = method)
    expect_lt(leftover(found$B, U), 1e-6)
    expect_equal(tcrossprod(found$B), diag(4), tolerance = 1e-10)
  }
})

test_that("lists, integers and single matrices are taken, and nothing is changed", {
  made <- mixed(3, 5)
  list <- lapply(1:5, function(i) made$C[, , i])
  expect_equal(diagonalize(list)$B, diagonalize(made$C)$B)
  C <- array(c(2L, 1L, 1L, 3L, 5L, 1L, 1L, 1L), c(2, 2, 2))
  before <- C
  expect_true(diagonalize(C)$converged)
  expect_identical(C, before)
  expect_true(diagonalize(diag(3))$converged)
})

test_that("callbacks see the solve and may stop it", {
  set.seed(5)
  made <- mixed(5, 40, noise = 0.5)
  seen <- c()
  found <- diagonalize(made$C, method = "quasi-newton", start = "whitener", callback = function(record) {
    seen <<- c(seen, record$iteration)
    record$iteration >= 2
  })
  expect_identical(found$status, "stopped")
  expect_equal(max(seen), 2)
  expect_error(diagonalize(made$C, callback = function(record) stop("enough")), "enough")
})

test_that("a start is a matrix of R", {
  set.seed(6)
  for (complex in c(FALSE, TRUE)) {
    made <- mixed(4, 30, noise = 0.2, complex = complex)
    first <- diagonalize(made$C)
    expect_identical(diagonalize(made$C, start = first$B, tol = 1e-7)$n_iter, 0L)
  }
  expect_error(diagonalize(made$C, start = diag(3)), "start must be 4 x 4, got 3 x 3")
  expect_error(diagonalize(mixed(2, 3)$C, start = diag(2) * 1i), "start must be real")
  expect_error(diagonalize(mixed(2, 3)$C, start = matrix(1, 2, 2)), "start must be finite and invertible")
})

test_that("errors name the options of R", {
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
  expect_error(diagonalize(flat, symmetrize = TRUE), "rank = \"auto\" or rank = 3")
  expect_identical(dim(diagonalize(flat, rank = "auto", symmetrize = TRUE)$B), c(3L, 4L))
  expect_error(diagonalize(aperm(C, c(3, 1, 2))), "aperm(C, c(2, 3, 1))", fixed = TRUE)
  expect_error(diagonalize(C[, 1:2, ]), "got 3 x 2 x 5")
  expect_error(diagonalize("a"), "array of numbers")
  expect_error(diagonalize(C, weights = 1:4), "expected 5 weights")
  expect_error(diagonalize(C, weights = c(1, -1, 1, 1, 1)), "weight 2 is -1")
  expect_error(diagonalize(C, tol = 0), "tol must be a positive number")
  expect_error(diagonalize(C, method = "fastica"), "method must be one of")
  expect_error(diagonalize(C, method = "jacobi"), "criterion = \"likelihood\" does not support method = \"jacobi\"")
  expect_error(diagonalize(C, method = "pham", orthogonal = TRUE), "does not support orthogonal = TRUE")
  expect_error(diagonalize(C, threads = 0), "threads must be a whole number of at least 1")
  expect_error(diagonalize(C, rank = 4), "rank must be")
})

test_that("not converging is told", {
  set.seed(7)
  C <- mixed(5, 40, noise = 0.5)$C
  expect_warning(diagonalize(C, max_iter = 1), "not converged \\(iteration limit\\)")
  expect_error(diagonalize(C, max_iter = 1, on_failure = "stop"), "not converged")
  expect_silent(diagonalize(C, max_iter = 1, on_failure = "ignore"))
})

test_that("answers print, are summarized and plotted", {
  set.seed(8)
  found <- diagonalize(mixed(3, 10, noise = 0.1)$C)
  expect_output(print(found), "Joint diagonalization of 10 matrices of size 3 x 3")
  expect_output(print(summary(found)), "hardest to tell apart")
  expect_identical(coef(found), found$B)
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  plot(found)
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
  unlink(file)
})

test_that("stability is the median of the matches", {
  set.seed(8)
  made <- mixed(4, 40, noise = 0.01)
  expect_null(diagonalize(made$C)$stability)
  found <- diagonalize(made$C, stability = 6)
  expect_identical(dim(found$matches), c(6L, 4L))
  expect_equal(found$stability, apply(found$matches, 2, median), tolerance = 1e-12)
  expect_true(all(found$matches >= 0 & found$matches <= 1 + 1e-12))
  expect_output(print(summary(found)), "stability of the components")
  expect_error(diagonalize(made$C, stability = -1), "stability must be a whole number")
})

test_that("large results print in a few lines", {
  set.seed(9)
  found <- diagonalize(mixed(40, 60, noise = 0.1)$C, stability = 2)
  expect_lt(length(capture.output(print(found))), 40)
  expect_lt(length(capture.output(print(summary(found)))), 20)
  expect_output(print(found), "60 matrices of size 40 x 40")
  expect_output(print(found), "(40 x 40, first 6 rows and 8 columns):", fixed = TRUE)
  expect_output(print(found), "converged after")
  expect_output(print(found), "loss ")
})

test_that("axes that count have ticks at integers", {
  expect_identical(codiag:::integer_ticks(0:3), c(0, 1, 2, 3))
  expect_identical(codiag:::integer_ticks(0), 0)
  expect_true(all(codiag:::integer_ticks(0:37) %% 1 == 0))
})
