failed <- function(answer) is.list(answer) && !is.null(answer$error)

# Raises the error of the library.
refuse <- function(answer) stop(answer$error, call. = FALSE)

number <- function(x) formatC(x, digits = 4, format = "g")
