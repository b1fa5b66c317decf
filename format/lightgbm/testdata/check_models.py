#!/usr/bin/env python3
"""Holds LightGBM to the rows beside models that we wrote (see python_test.go): python check_models.py FOLDER

Each NAME.txt is loaded twice, from the file and as a string with its levels, and must give the raw scores of NAME.tsv bit for bit.
Contributions must be finite, add up to the score, and be those of the file where it has them.
"""
import glob
import struct
import sys

import lightgbm as lgb
import numpy as np


def read(path, features, classes):
    rows, scores, parts = [], [], []
    for line in open(path):
        words = line.rstrip("\n").split("\t")
        rows.append([struct.unpack(">f", bytes.fromhex(w))[0] for w in words[:features]])
        numbers = [struct.unpack(">d", bytes.fromhex(w))[0] for w in words[features:]]
        scores.append(numbers[:classes])
        parts.append(numbers[classes:])
    return np.array(rows, dtype=np.float64), np.array(scores), np.array(parts)


failed = 0
models = sorted(glob.glob(sys.argv[1] + "/*.txt"))
for path in models:
    booster = lgb.Booster(model_file=path)
    classes, features = booster.num_model_per_iteration(), booster.num_feature()
    rows, want, parts = read(path[:-4] + ".tsv", features, classes)
    levels, booster.pandas_categorical = booster.pandas_categorical, None
    text = open(path, encoding="utf-8").read()
    trees = booster.num_trees() // classes
    mean = trees if "\naverage_output\n" in text else 1
    got = booster.predict(rows, raw_score=True).reshape(len(rows), classes) / mean
    shap = booster.predict(rows, pred_contrib=True).reshape(len(rows), classes, features + 1)
    problems = []
    if not (got == want).all():
        problems.append("scores differ by %g" % np.abs(got - want).max())
    if not np.isfinite(shap).all():
        problems.append("contributions are not finite")
    elif mean == 1 and np.abs(shap.sum(2) - want).max() > 1e-9 * (1 + np.abs(want).max()):
        problems.append("contributions do not add up")
    if parts.size and np.abs(shap[:, 0] - parts).max() > 1e-12:
        problems.append("contributions differ by %g" % np.abs(shap[:, 0] - parts).max())
    if levels is not None and not all(isinstance(level, (str, int, float)) for one in levels for level in one):
        problems.append("levels %r" % levels)
    booster.dump_model()
    lgb.Booster(model_str=booster.model_to_string())
    for problem in problems:
        failed += 1
        print("%s: %s" % (path, problem))
print("%d models by LightGBM %s" % (len(models), lgb.__version__))
sys.exit(failed > 0)
