# Validation of arguments, and error messages.

# Raises the error of a failed call of the library.
stop_if_failed <- function(result) {
  if (is.list(result) && !is.null(result$error)) stop(result$error, call. = FALSE)
}

number <- function(x) formatC(x, digits = 4, format = "g")

# Returns the most similar valid name, or NULL if none is similar. One name may be the beginning of
# the other.
nearest <- function(name, valid) {
  distance <- drop(adist(name, valid, ignore.case = TRUE))
  distance[startsWith(name, valid) | startsWith(valid, name)] <- 1
  best <- which.min(distance)
  if (length(best) == 1 && distance[best] <= max(2, nchar(name) %/% 3)) valid[best]
}

# Raises an error if there are unused arguments: names or expressions of `...`.
stop_if_unused <- function(unused, valid) {
  if (length(unused) == 0) return(invisible())
  name <- names(unused)[1]
  if (is.null(name) || !nzchar(name)) stop("too many arguments; name the options, as in tol = 1e-6", call. = FALSE)
  similar <- nearest(name, setdiff(valid, "..."))
  hint <- if (is.null(similar)) "" else sprintf("; did you mean '%s'?", similar)
  stop(sprintf("unused argument '%s'%s", name, hint), call. = FALSE)
}

# Formats a value for a message.
quoted <- function(value) {
  if (is.character(value)) return(paste0("\"", value, "\"", collapse = ", "))
  if (is.atomic(value) && length(value) > 0) format(value)[1] else class(value)[1]
}

choice <- function(name, value, choices, other = "") {
  valid <- paste0(quoted(choices), other)
  if (!is.character(value) || length(value) != 1 || is.na(value)) {
    stop(sprintf("%s must be one of %s, got %s", name, valid, quoted(value)), call. = FALSE)
  }
  if (!(value %in% choices)) {
    similar <- nearest(value, choices)
    hint <- if (is.null(similar)) "valid" else sprintf("did you mean \"%s\"? Valid", similar)
    stop(sprintf("unknown %s \"%s\"; %s: %s", name, value, hint, valid), call. = FALSE)
  }
  value
}

is_number <- function(value) is.numeric(value) && length(value) == 1 && !is.na(value)

flag <- function(name, value) {
  if (!is.logical(value) || length(value) != 1 || is.na(value)) {
    stop(sprintf("%s must be TRUE or FALSE, got %s", name, quoted(value)), call. = FALSE)
  }
  as.double(value)
}

positive <- function(name, value) {
  if (!is_number(value) || !is.finite(value) || value <= 0) {
    stop(sprintf("%s must be a positive number, got %s", name, quoted(value)), call. = FALSE)
  }
  as.double(value)
}

between <- function(name, value, low, high) {
  if (!is_number(value) || value < low || value > high) {
    stop(sprintf("%s must be between %g and %g, got %s", name, low, high, quoted(value)), call. = FALSE)
  }
  as.double(value)
}

count <- function(name, value, least) {
  if (!is_number(value) || value != round(value) || value < least || value > 2^31) {
    stop(sprintf("%s must be an integer of at least %g, got %s", name, least, quoted(value)), call. = FALSE)
  }
  as.double(value)
}
