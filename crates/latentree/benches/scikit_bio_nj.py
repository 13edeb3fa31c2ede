"""Prints the seconds of scikit-bio's neighbour joining on a strict lower triangle of little-endian f64 that the bench wrote."""

import sys
import time

import numpy
import skbio

n = int(sys.argv[2])
matrix = numpy.zeros((n, n))
matrix[numpy.tril_indices(n, -1)] = numpy.fromfile(sys.argv[1], "<f8")
matrix += matrix.T
distances = skbio.DistanceMatrix(matrix, [f"x{ix}" for ix in range(n)])
begin = time.perf_counter()
skbio.tree.nj(distances)
print(time.perf_counter() - begin)
