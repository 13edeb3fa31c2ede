"""Times scipy's co-occurrence counts XᵀX (and numpy's for dense data) on a file that the bench wrote.

The file holds three little-endian u64 (rows, columns, ones), then row starts (u64), then column indices (u32).
"""

import sys
import time

import numpy
import scipy.sparse

with open(sys.argv[1], "rb") as file:
    rows, columns, ones = (int(number) for number in numpy.fromfile(file, "<u8", 3))
    starts = numpy.fromfile(file, "<u8", rows + 1).astype(numpy.int64)
    indices = numpy.fromfile(file, "<u4", ones).astype(numpy.int32)
table = scipy.sparse.csr_matrix((numpy.ones(ones, numpy.int32), indices, starts), shape=(rows, columns))
if ones < rows * columns // 8:
    begin = time.perf_counter()
    counts = table.T @ table
    print(f"scipy XᵀX: {time.perf_counter() - begin:.3f} s, checksum {int(counts.sum())}")
else:
    dense = table.toarray().astype(numpy.float64)
    begin = time.perf_counter()
    counts = dense.T @ dense
    print(f"numpy XᵀX in f64: {time.perf_counter() - begin:.3f} s, checksum {int(counts.sum())}")
