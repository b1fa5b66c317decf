#!/usr/bin/env python3
"""Makes the files of scipy/: a sparse matrix in each format that scipy.sparse.save_npz writes, and its values as an array.

    python make_sparse.py scipy
"""
import sys

import numpy as np
import scipy.sparse as sp

dense = np.array([[1, 0, 2.5, 0, 0, -3], [0, 0, 0, 0, 0, 0], [0, 4, 0, 0, 5, 0], [6, 0, 0, 7, 0, 8]])
folder = sys.argv[1]


def save(name, m, deflated):
    sp.save_npz("%s/%s.npz" % (folder, name), m, compressed=deflated)
    np.save("%s/%s.npy" % (folder, name), np.asarray(m.toarray()))


save("csr", sp.csr_matrix(dense), True)
save("csc", sp.csc_matrix(dense), False)
save("coo", sp.coo_matrix(dense.astype(np.int16)), True)
save("bsr", sp.bsr_matrix(dense.astype(np.float32), blocksize=(2, 3)), False)
save("dia", sp.dia_matrix(dense), True)
save("array", sp.csr_array(dense > 0), True)
save("twice", sp.coo_matrix(([1.5, 2, 4, -1], ([3, 0, 3, 1], [2, 0, 2, 5])), shape=(4, 6)), False)
row = sp.csr_matrix((np.array([1, 2, 3, 4.0]), np.array([2, 0, 2, 5], dtype=np.int64), np.array([0, 3, 4, 4, 4], dtype=np.int64)), shape=(4, 6))
save("unsorted", row, False)
save("empty", sp.csr_matrix((3, 5)), True)
off = sp.dia_matrix((np.arange(1.0, 13).reshape(2, 6), [-2, 3]), shape=(4, 6))
save("offsets", off, True)
