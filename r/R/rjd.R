rjd <- function(X, eps = 1e-06, maxiter = 100, na.action = na.fail) {
  X <- na.action(X)
  if (is.data.frame(X)) X <- as.matrix(X)
  if (!is.numeric(X)) stop("'X' must be numeric")
  shape <- dim(X)
  if (!(length(shape) %in% c(2, 3))) stop("'X' must have two or three dimensions")
  stacked <- length(shape) == 2
  if (stacked) {
    p <- shape[2]
    if (shape[1] %% p != 0) stop("'X' must be a matrix of k stacked p x p matrices")
    C <- aperm(array(X, c(p, shape[1] / p, p)), c(1, 3, 2))
  } else {
    if (shape[1] != shape[2]) stop("'X' must be an array of dimension c(p, p, k)")
    C <- X
  }
  p <- dim(C)[1]
  if (p == 1) stop("'X' must have at least two columns")
  eps <- positive("eps", eps)
  # The rotation angles depend only on the symmetric parts.
  result <- solve_set(C,
    criterion = "frobenius", method = "jacobi", init = "identity", symmetrize = TRUE, tol = 1e-15,
    max_iter = count("maxiter", maxiter, 1), canonical = FALSE, stop_step = eps
  )
  if (result$status == "max_iter") stop("maxiter reached without convergence")
  V <- t(unname(result$B))
  D <- array(apply(C, 3, function(M) crossprod(V, M %*% V)), dim(C))
  if (stacked) D <- matrix(aperm(D, c(1, 3, 2)), ncol = p)
  list(V = V, D = D)
}
