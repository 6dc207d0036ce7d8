# Returns n matrices A diag(powers) A' plus noise, and A.
mixed <- function(p, n, noise = 0, complex = FALSE) {
  draw <- function(k) if (complex) complex(real = rnorm(k), imaginary = rnorm(k)) else rnorm(k)
  A <- matrix(draw(p * p), p)
  C <- array(draw(1) * 0, c(p, p, n))
  for (i in seq_len(n)) {
    C[, , i] <- A %*% (rexp(p, 0.5) * Conj(t(A)))
    if (noise > 0) {
      E <- matrix(draw(p * p), p)
      C[, , i] <- C[, , i] + noise * E %*% Conj(t(E))
    }
    C[, , i] <- (C[, , i] + Conj(t(C[, , i]))) / 2
  }
  list(A = A, C = C)
}

# Largest ratio, over the rows of B A, of the other entries to the largest one: 0 for a scaled
# permutation.
separation_error <- function(B, A) {
  M <- abs(B %*% A)
  max(rowSums(M) / apply(M, 1, max) - 1)
}

# Likelihood criterion, the mean of 1/2 (sum_a log D_aa - log det D), by its definition.
likelihood <- function(B, C) {
  one <- function(M) {
    D <- B %*% M %*% Conj(t(B))
    values <- eigen(D, symmetric = TRUE, only.values = TRUE)$values
    (sum(log(Re(diag(D)))) - sum(log(values))) / 2
  }
  mean(apply(C, 3, one))
}
