library(testthat)
library(codiag)

test_check("codiag")
