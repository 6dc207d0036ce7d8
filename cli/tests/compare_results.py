"""Compare two results of `codiag diagonalize` from different processors: compare_results.py A B.

Both must have converged. Losses may differ by 1e-9. Entries of B may differ by 100 times the
tolerance of the solves, relative to the largest entry, because both are near the minimizer only
within the tolerance. Requires only Python.
"""

import ast
import json
import struct
import sys
from pathlib import Path

LOSS_TOLERANCE = 1e-9
B_TOLERANCE = 1e-6


def read_npy(path):
    """Return the shape and the real numbers of a .npy file in C order."""
    data = path.read_bytes()
    if data[:6] != b"\x93NUMPY":
        sys.exit(f"{path} is not a .npy file")
    wide = data[6] > 1
    (length,) = struct.unpack_from("<I" if wide else "<H", data, 8)
    begin = (12 if wide else 10) + length
    header = ast.literal_eval(data[begin - length : begin].decode("latin1"))
    if header["descr"] != "<f8" or header["fortran_order"]:
        sys.exit(f"{path} has the type {header['descr']}, expected <f8 in C order")
    return header["shape"], struct.unpack(f"<{(len(data) - begin) // 8}d", data[begin:])


def main():
    """Compare, print one line, and return whether the results differ."""
    folders = [Path(argument) for argument in sys.argv[1:3]]
    reports = [json.loads((folder / "report.json").read_text("utf-8")) for folder in folders]
    (shape, first), (other, second) = (read_npy(folder / "B.npy") for folder in folders)
    if shape != other:
        sys.exit(f"{folders[0].name}: shapes {shape} and {other}")
    largest = max(map(abs, first))
    b_error = max(abs(x - y) for x, y in zip(first, second, strict=True)) / largest
    loss_error = abs(reports[0]["loss"] - reports[1]["loss"])
    converged = all(report["converged"] for report in reports)
    same = converged and b_error <= B_TOLERANCE and loss_error <= LOSS_TOLERANCE
    iterations = " and ".join(str(report["n_iter"]) for report in reports)
    verdict = "ok" if same else "FAILED" if converged else "FAILED, not converged"
    name = folders[0].name.removesuffix("-here")
    print(
        f"{name}: B differs by {b_error:.1e}, the loss by {loss_error:.1e}, "
        f"{iterations} iterations: {verdict}"
    )
    return not same


if __name__ == "__main__":
    sys.exit(main())
