"""Writes the pickles beside it. They were made with Python 3.11 and NumPy 2.4."""
import collections
import os
import pickle

import numpy as np


def write(name, obj, protocol):
    with open(name, "wb") as f:
        pickle.dump(obj, f, protocol=protocol)


class Reduced:
    """Pickled as a call."""

    def __init__(self, function, *args):
        self.call = function, args

    def __reduce__(self):
        return self.call


three = np.arange(3, dtype="f4")

types = collections.OrderedDict()
for t in ["f4", "f8", "f2", "i8", "i4", "i2", "i1", "u8", "u4", "u2", "u1"]:
    types[t] = np.array([0, 1, 2, 100], dtype=t)
types["b1"] = np.array([0, 1, 1, 0], dtype=bool)
types["big"] = np.array([[1, 2], [3, -4]], dtype=">i4")
types["fortran"] = np.asfortranarray(np.arange(6, dtype="f4").reshape(2, 3))
types["cube"] = np.asfortranarray(np.arange(24, dtype="i2").reshape(2, 3, 4))
types["rank0"] = np.array(7.5, dtype="f4")
types["empty"] = np.zeros((0, 3), dtype="f4")
types["scalar"] = np.float64(0.25)
for p in (2, 4, 5):
    write(f"types_p{p}.pdparams", types, p)

flat = np.arange(10, dtype="f4")
sliced = {"a": np.array([1.5], dtype="f4")}
for i, (lo, hi) in enumerate([(0, 4), (4, 8), (8, 10)]):
    sliced[f"w@@.{i}"] = flat[lo:hi]
sliced["StructuredToParameterName@@"] = {"w": "linear_0.w_0", "a": "a"}
sliced["UnpackBigParamInfor@@"] = {"w": {"OriginShape": (2, 5), "slices": ["w@@.0", "w@@.1", "w@@.2"]}}
for p in (2, 3):
    write(f"sliced_p{p}.pdparams", sliced, p)

for p in (2, 4):
    write(f"tensor_p{p}.pdparams", Reduced(tuple, ("fc_0.w_0", three)), p)
    lod = {"x": Reduced(eval, "data", {"data": three}),
           "list": [Reduced(tuple, ("t0", three)), Reduced(eval, "data", {"data": three + 1})]}
    write(f"lod_p{p}.pdparams", lod, p)
    write(f"opt_p{p}.pdopt", {
        "linear_0.w_0_moment1_0": three,
        "LR_Scheduler": {"last_epoch": 3, "last_lr": 0.01, "verbose": False, "base": None},
        "master_weights": {"linear_0.w_0": three * 2},
        "n": -5, "big": 1 << 40, "milestones": [1, 2, 300, 70000],
    }, p)
    write(f"hostile_p{p}.pdparams", {"w": three, "x": Reduced(os.system, "echo pwned")}, p)

write("hostile_eval.pdparams", {"w": three, "x": Reduced(eval, '__import__("os").system("echo pwned")')}, 2)
write("hostile_eval2.pdparams", {"w": three, "x": Reduced(eval, "data", {"data": three, "x": 1})}, 2)
write("complex.pdparams", {"w": three, "z": np.array([1 + 2j], dtype="c8")}, 4)
write("object.pdparams", {"w": np.array([None], dtype=object)}, 4)
loop = []
loop.append(loop)
write("loop.pdparams", {"w": three, "l": loop}, 4)

one = [np.array([i], dtype="f4") for i in range(11)]
write("list_p2.pdparams", one, 2)
write("numbers_p4.pdparams", dict(enumerate(one)), 4)
write("array_p4.pdparams", one[1], 4)
