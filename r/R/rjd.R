rjd <- function(X, eps = 1e-06, maxiter = 100, na.action = na.fail) {
  X <- na.action(X)
  if (is.data.frame(X)) X <- as.matrix(X)
  if (!is.numeric(X)) stop("'X' must be numeric")
  shape <- dim(X)
  if (!(length(shape) %in% c(2, 3))) stop("'X' must have two or three dimensions")
  stacked <- length(shape) == 2
  if (stacked) {
    p <- shape[2]
    if (shape[1] %% p != 0) stop("'X' must be a matrix of k stacked pxp matrices")
    C <- aperm(array(X, c(p, shape[1] / p, p)), c(1, 3, 2))
  } else {
    if (shape[1] != shape[2]) stop("'X' must be an array with dim of the form c(p,p,k)")
    C <- X
  }
  p <- dim(C)[1]
  if (p == 1) stop("'X' must be at least bivariate")
  eps <- positive("eps", eps)
  # The angles depend on the symmetric parts alone.
  answer <- solve_set(C,
    criterion = "frobenius", method = "jacobi", start = "identity", symmetrize = TRUE, tol = 1e-15,
    max_iter = count("maxiter", maxiter, 1), canonical = FALSE, stop_step = eps
  )
  if (answer$status == "iteration limit") stop("maxiter reached without convergence")
  V <- t(unname(answer$B))
  D <- array(apply(C, 3, function(M) crossprod(V, M %*% V)), dim(C))
  if (stacked) D <- matrix(aperm(D, c(1, 3, 2)), ncol = p)
  list(V = V, D = D)
}
