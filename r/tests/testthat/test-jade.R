test_that("rjd diagonalizes arrays and stacked matrices", {
  set.seed(1)
  U <- qr.Q(qr(matrix(rnorm(16), 4)))
  X <- array(dim = c(4, 4, 6))
  for (i in 1:6) X[, , i] <- U %*% diag(rnorm(4)) %*% t(U)
  result <- rjd(X)
  expect_lt(separation_error(t(result$V), U), 1e-6)
  expect_equal(crossprod(result$V), diag(4), tolerance = 1e-10)
  expect_equal(result$D[, , 3], crossprod(result$V, X[, , 3] %*% result$V), tolerance = 1e-10)
  expect_lt(max(abs(result$D[, , 3] - diag(diag(result$D[, , 3])))), 1e-6)
  stacked <- do.call(rbind, lapply(1:6, function(i) X[, , i]))
  again <- rjd(stacked)
  expect_equal(again$V, result$V)
  expect_equal(again$D[5:8, ], result$D[, , 2], tolerance = 1e-10)
  expect_error(rjd(X, maxiter = 1, eps = 1e-12), "maxiter reached without convergence")
  expect_error(rjd(matrix(1, 5, 2)), "stacked")
  expect_error(rjd(array(1, c(1, 1, 2))), "at least two columns")
})

# Joint diagonalization by Jacobi rotations in plain R.
jacobi_rotations <- function(X) {
  p <- dim(X)[1]
  V <- diag(p)
  repeat {
    largest <- 0
    for (a in 1:(p - 1)) {
      for (b in (a + 1):p) {
        h <- rbind(X[a, a, ] - X[b, b, ], X[a, b, ] + X[b, a, ])
        G <- tcrossprod(h)
        angle <- 0.5 * atan2(2 * G[1, 2], G[1, 1] - G[2, 2] + sqrt((G[1, 1] - G[2, 2])^2 + 4 * G[1, 2]^2))
        R <- diag(p)
        R[c(a, b), c(a, b)] <- c(cos(angle), sin(angle), -sin(angle), cos(angle))
        X <- array(apply(X, 3, function(M) crossprod(R, M %*% R)), dim(X))
        V <- V %*% R
        largest <- max(largest, abs(sin(angle)))
      }
    }
    if (largest < 1e-10) return(V)
  }
}

test_that("rjd agrees with Jacobi rotations in plain R", {
  set.seed(2)
  X <- array(rnorm(9 * 20), c(3, 3, 20))
  X <- array(apply(X, 3, function(M) M + t(M)), dim(X))
  expect_equal(abs(crossprod(rjd(X, eps = 1e-9)$V, jacobi_rotations(X))), diag(3), tolerance = 1e-6)
})

test_that("SOBI separates colored sources with the conventions of JADE", {
  set.seed(3)
  S <- cbind(
    arima.sim(list(ar = 0.9), 4000), arima.sim(list(ar = -0.7), 4000), arima.sim(list(ma = c(0.5, 0.8)), 4000)
  )
  A <- matrix(rnorm(9), 3)
  X <- S %*% t(A) + 5
  result <- SOBI(X)
  expect_s3_class(result, "bss")
  expect_lt(separation_error(result$W, A), 0.25)
  expect_equal(unname(cov(result$S)), diag(3), tolerance = 1e-8)
  expect_true(all(rowSums(result$W) > 0))
  expect_equal(unname(colMeans(result$S)), numeric(3), tolerance = 1e-8)
  strength <- apply(result$S, 2, function(s) sum(acf(s, 12, plot = FALSE)$acf[1:12]^2))
  expect_false(is.unsorted(rev(strength)))
  expect_equal(result$k, 1:12)
  # All methods find the same rotation.
  for (method in c("frjd", "rjd", "quasi-newton")) {
    expect_equal(unname(SOBI(X, method = method, eps = 1e-9)$W), unname(result$W), tolerance = 1e-4)
  }
  series <- SOBI(ts(X, start = c(1961, 1), frequency = 12), k = c(1, 2, 5))
  expect_identical(tsp(series$S), tsp(ts(X, start = c(1961, 1), frequency = 12)))
  expect_error(SOBI(X, method = "djd"), "not supported")
  expect_error(SOBI(X, max_iter = 5), "did you mean 'maxiter'?", fixed = TRUE)
  expect_error(SOBI(X, method = "jacoby"), "did you mean \"jacobi\"?", fixed = TRUE)
  expect_error(SOBI(X, k = 4000), "below the number of observations")
  expect_error(SOBI(cbind(X, X[, 1])), "singular")
})

# The package JADE sums acf(S)$acf[k, j, j]^2, where index 1 is lag 0.
test_that("SOBI sorts its sources by the same lags as the package JADE", {
  set.seed(6)
  n <- 5000
  innovations <- function() rnorm(n + 2)
  e <- innovations()
  f <- innovations()
  # The first source is correlated at lag 1, the second more strongly at lag 2. With k = 2, JADE
  # uses lags 0 and 1.
  S <- cbind(e[3:(n + 2)] + 0.4 * e[2:(n + 1)], f[3:(n + 2)] + 0.9 * f[1:n])
  X <- S %*% t(matrix(c(1, 0.5, 0.3, 1), 2))
  result <- SOBI(X, k = 2)
  expect_equal(abs(diag(cor(result$S, S))), c(1, 1), tolerance = 0.05)
  for (k in list(1:2, c(1, 3), 4)) {
    all_pairs <- acf(result$S, lag.max = max(k), plot = FALSE)$acf
    expect_equal(
      codiag:::squared_autocorrelation(result$S, k),
      vapply(1:2, function(j) sum(all_pairs[k, j, j]^2), numeric(1))
    )
  }
})

test_that("JADE separates non-Gaussian sources with the conventions of the package JADE", {
  set.seed(4)
  S <- cbind(runif(4000), rexp(4000), sign(rnorm(4000)) * rexp(4000))
  A <- matrix(rnorm(9), 3)
  X <- S %*% t(A) - 2
  result <- JADE(X)
  expect_lt(separation_error(result$W, A), 0.25)
  expect_equal(crossprod(result$S) / 4000, diag(3), tolerance = 1e-8, ignore_attr = TRUE)
  expect_true(all(rowSums(result$W) > 0))
  expect_false(is.unsorted(rev(colMeans(result$S^4))))
  expect_equal(result$W %*% result$A, diag(3), tolerance = 1e-8, ignore_attr = TRUE)
  expect_equal(result$Xmu, colMeans(X))
  expect_equal(unname(sweep(X, 2, result$Xmu) %*% t(result$W)), unname(result$S), tolerance = 1e-8)
  expect_equal(unname(JADE(X, method = "rjd", eps = 1e-9)$W), unname(result$W), tolerance = 1e-4)
  two <- JADE(as.data.frame(X), n.comp = 2)
  expect_identical(dim(two$W), c(2L, 3L))
  expect_equal(unname(two$W %*% two$A), diag(2), tolerance = 1e-8)
  expect_error(JADE(X, 4), "n.comp")
  X[3, 2] <- NA
  expect_error(JADE(X), "missing values")
})

test_that("results of SOBI can be printed, summarized and plotted", {
  set.seed(5)
  X <- cbind(arima.sim(list(ar = 0.9), 300), rnorm(300))
  result <- SOBI(X)
  expect_output(print(result), "Unmixing matrix W (2 x 2):", fixed = TRUE)
  expect_output(print(result), "lags 1 to 12")
  expect_output(print(summary(result)), "2 sources of 2 channels, 300 samples")
  expect_identical(coef(result), result$W)
  file <- tempfile(fileext = ".pdf")
  grDevices::pdf(file)
  plot(result)
  grDevices::dev.off()
  expect_gt(file.size(file), 1000)
  unlink(file)
})
