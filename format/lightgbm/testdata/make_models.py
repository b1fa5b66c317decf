#!/usr/bin/env python3
"""Makes the models of models/: small ones of every kind, by the LightGBM that is installed, each with rows, raw scores and contributions.

    python make_models.py models        once for each version; the name of a file begins with it
    python make_models.py models nan    one of them

A .tsv beside each model has a row a line: its values as float32, then the raw scores of the classes, then, in the newest version, the
contributions of the first class with the bias last, all as the hexadecimal digits of their bits. Missing values are NaN.
"""
import struct
import sys

import lightgbm as lgb
import numpy as np

VERSION = lgb.__version__
ROWS, CHECKED = 400, 25
rng = np.random.RandomState(7)


def rows(n):
    """two numbers with NaN, one with zeros, one of few levels, one of many"""
    x = rng.randn(n, 5).astype(np.float32)
    x[rng.rand(n) < 0.2, 0] = np.nan
    x[rng.rand(n) < 0.3, 1] = 0
    x[:, 3] = rng.randint(0, 4, n)
    x[:, 4] = np.minimum(rng.zipf(1.3, n), 90) - 1
    return x


def score(x):
    a = np.where(np.isnan(x[:, 0]), 0.7, x[:, 0])
    return a - 0.5 * x[:, 1] * (x[:, 1] != 0) + np.where(x[:, 3] == 2, 1.2, 0) + np.where(x[:, 4] % 3 == 1, 1, -0.5) + 0.3 * rng.randn(len(x))


X = rows(ROWS)
S = score(X)
BASE = dict(num_leaves=7, learning_rate=0.2, min_data_in_leaf=8, verbose=-1, seed=3, num_threads=1, deterministic=True,
            min_data_per_group=5, cat_smooth=1, max_cat_to_onehot=4)
BINARY, COUNT = (S > 0.3).astype(int), np.maximum(0, np.floor(S + 2)).astype(int)
THREE = np.digitize(S, [-0.4, 0.9])
CASES = {
    "binary": (dict(objective="binary"), BINARY, {}),
    "sigmoid": (dict(objective="binary", sigmoid=0.7, boost_from_average=False), BINARY, {}),
    "zero": (dict(objective="regression", zero_as_missing=True, categorical=None), S, {}),
    "none": (dict(objective="regression", use_missing=False, monotone_constraints=[1, -1, 0, 0, 0], categorical=None), S + 50, {}),
    "onehot": (dict(objective="regression", max_cat_to_onehot=200), S, {}),
    "sqrt": (dict(objective="regression", reg_sqrt=True), S, {}),
    "multiclass": (dict(objective="multiclass", num_class=3), THREE, {}),
    "ova": (dict(objective="multiclassova", num_class=3, sigmoid=0.8), THREE, {}),
    "poisson": (dict(objective="poisson"), COUNT, {}),
    "quantile": (dict(objective="quantile", alpha=0.8), S, {}),
    "tweedie": (dict(objective="tweedie", tweedie_variance_power=1.3), COUNT, {}),
    "xentropy": (dict(objective="cross_entropy"), 1 / (1 + np.exp(-S)), {}),
    "xentlambda": (dict(objective="cross_entropy_lambda"), 1 / (1 + np.exp(-S)), {}),
    "lambdarank": (dict(objective="lambdarank"), np.minimum(COUNT, 4), dict(group=[20] * (ROWS // 20))),
    "forest": (dict(objective="binary", boosting="rf", bagging_freq=1, bagging_fraction=0.6), BINARY, {}),
    "dart": (dict(objective="binary", boosting="dart", drop_rate=0.5, skip_drop=0.1), BINARY, {}),
    "leaf": (dict(objective="regression", min_data_in_leaf=ROWS), S, {}),
    "pandas": (dict(objective="binary"), BINARY, {}),
    "nan": (dict(objective="regression", categorical=None), np.isnan(X[:, 0]) + 0.1 * S, {}),  # splits by NaN alone: threshold=inf
}
OLD = {"2.3.1": ["binary", "zero", "none", "multiclass", "forest", "pandas"], "3.3.5": ["binary", "onehot", "leaf", "quantile"], "4.0.0": ["binary", "sigmoid"]}


def frame(x):
    import pandas as pd
    colours = ["red", "green", "blue", "grey, dark"]
    return pd.DataFrame({"first number": x[:, 0].astype(float), "b": x[:, 1].astype(float), "c": x[:, 2].astype(float),
                         "colour": pd.Categorical(np.array(colours)[x[:, 3].astype(int)], categories=colours),
                         "code": pd.Categorical(x[:, 4].astype(int), categories=list(range(90)))})


def make(name, folder):
    params, y, more = CASES[name]
    params = dict(BASE, **params)
    categorical = [3, 4] if "categorical" not in params else params.pop("categorical") or []
    if name == "pandas":
        data = lgb.Dataset(frame(X), y, params=params, free_raw_data=False)
    else:
        data = lgb.Dataset(X, y, params=params, categorical_feature=categorical, free_raw_data=False, **more)
    booster = lgb.train(params, data, 4)
    text = booster.model_to_string()
    path = "%s/%s_%s" % (folder, VERSION, name)
    with open(path + ".txt", "w", newline="") as f:
        f.write(text)
    seen = rows(CHECKED)
    seen[0] = np.nan
    seen[1] = 0
    seen[2, 3:] = [-1, 3000]
    seen[3, 3:] = [7.9, 1e30]
    seen[4] = [np.inf, -np.inf, 1e-36, np.nan, 2]
    seen[5] = [-1e-36, 1e-35, -0.0, 3, np.nan]
    plain = lgb.Booster(model_str=text)
    plain.pandas_categorical = None
    raw = plain.predict(seen.astype(np.float64), raw_score=True).reshape(CHECKED, -1)
    shap = plain.predict(seen.astype(np.float64), pred_contrib=True)[:, :6] if VERSION not in OLD else np.zeros((CHECKED, 0))
    with open(path + ".tsv", "w", newline="") as f:
        for values, scores, parts in zip(seen, raw, shap):
            words = [struct.pack(">f", v).hex() for v in values] + [struct.pack(">d", v).hex() for v in list(scores) + list(parts)]
            f.write("\t".join(words) + "\n")


for case in sys.argv[2:] or OLD.get(VERSION, CASES):
    make(case, sys.argv[1])
