#!/usr/bin/env python3
"""Trains the small models of this folder with the XGBoost that is installed, and writes beside each what it says of rows.json:

    python models.py FOLDER [CASE...]

Files: CASE.json or CASE.ubj, and scores.json with margins, predictions and contributions of every case (bits of float32). Any version from
1.0 on will do; what a version does not have is left out. The folders here are named by the version (1.0.2 to 3.2.0) and have, but for 3.2.0,
only some of the cases."""
import json
import os
import sys

import numpy as np
import xgboost as xgb

VERSION = tuple(int(x) for x in xgb.__version__.split(".")[:2])


def data(n=400, seed=7):
    """two numbers, one of them with gaps, a number with many zeros, two columns of levels"""
    r = np.random.RandomState(seed)
    x = np.column_stack([r.normal(size=n), r.normal(size=n), np.where(r.rand(n) < .5, 0, r.normal(size=n)), r.randint(0, 5, n), r.randint(0, 40, n)])
    x[::5, 0] = np.nan
    x = x.astype(np.float32)
    s = np.nan_to_num(x[:, 0]) + .5 * x[:, 1] * x[:, 2] + np.where(np.isin(x[:, 3], [1, 3]), 1, -.5) + np.where(x[:, 4] % 7 < 3, .7, -.4)
    return x, s + .3 * r.normal(size=n)


X, S = data()
ROWS = data(48, 11)[0]
ROWS[5, 1] = ROWS[6, 3] = ROWS[7, 4] = np.nan
ROWS[8, 3], ROWS[9, 4], ROWS[10, 4], ROWS[11, 3] = 9, 77, 39, 4  # levels that no row had in training
COUNTS = np.random.RandomState(3).poisson(np.exp(np.clip(S, -2, 2)))
CLASSES = np.digitize(S, [-.5, .8])


def numbers(y, x=X, **more):
    return xgb.DMatrix(x, label=y, missing=np.nan, **more)


def levels(x, y=None):
    return xgb.DMatrix(x, label=y, missing=np.nan, feature_names=["a", "b", "c", "town", "street"],
                       feature_types=["float", "float", "q", "c", "c"], enable_categorical=True)


def named(x, y=None):
    import pandas as pd
    towns, streets = ["Bath", "Wells", "Zurich \u00fc", "Oslo \"x\"", "Ely"], ["street %d" % i for i in range(40)]
    pick = lambda col, names: pd.Categorical([None if v != v or v >= len(names) else names[int(v)] for v in col], categories=names)
    f = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "town": pick(x[:, 3], towns), "street": pick(x[:, 4], streets)})
    return xgb.DMatrix(f, label=y, enable_categorical=True)


def ranked():
    d = numbers(np.clip(np.round(S + 1), 0, 3))
    d.set_group([20] * 20)
    return d


def survival():
    d = numbers(np.exp(S))
    d.set_float_info("label_lower_bound", np.exp(S))
    d.set_float_info("label_upper_bound", np.where(S > 1, np.inf, np.exp(S)))
    return d


BINARY = (S > 0).astype(int)
# name: first version, ending, training data, rounds, parameters
CASES = {
    "binary": ((1, 0), "json", lambda: numbers(BINARY), 4, dict(objective="binary:logistic", max_depth=3)),
    "start": ((1, 0), "json", lambda: numbers(BINARY), 2, dict(objective="binary:logistic", max_depth=2, base_score=.3)),
    "squared": ((1, 0), "json", lambda: numbers(S), 3, dict(objective="reg:squarederror", max_depth=3, base_score=.7)),
    "multi": ((1, 0), "json", lambda: numbers(CLASSES), 2, dict(objective="multi:softprob", num_class=3, max_depth=2)),
    "softmax": ((1, 0), "json", lambda: numbers(CLASSES), 1, dict(objective="multi:softmax", num_class=3, max_depth=2)),
    "poisson": ((1, 0), "json", lambda: numbers(COUNTS), 3, dict(objective="count:poisson", max_depth=2)),
    "dart": ((1, 0), "json", lambda: numbers(BINARY), 5, dict(objective="binary:logistic", booster="dart", max_depth=2, rate_drop=.5, seed=3)),
    "forest": ((1, 0), "json", lambda: numbers(CLASSES), 2, dict(objective="multi:softprob", num_class=3, max_depth=2, num_parallel_tree=2,
                                                            subsample=.6, seed=5)),
    "early": ((1, 0), "json", lambda: numbers(BINARY), 40, dict(objective="binary:logistic", max_depth=2, eta=1.5, eval_metric="logloss")),
    "pruned": ((1, 0), "json", lambda: numbers(S), 2, dict(objective="reg:squarederror", tree_method="exact", gamma=4, max_depth=5)),
    "lossguide": ((1, 0), "ubj", lambda: numbers(S), 2, dict(objective="reg:squarederror", tree_method="hist", grow_policy="lossguide",
                                                           max_leaves=7, max_depth=0)),
    "rank": ((1, 0), "ubj", ranked, 2, dict(objective="rank:ndcg", max_depth=2)),
    "pairwise": ((1, 0), "ubj", ranked, 1, dict(objective="rank:pairwise", max_depth=2)),
    "onehot": ((1, 6), "ubj", lambda: levels(X, S), 3, dict(objective="reg:squarederror", tree_method="hist", max_depth=3, max_cat_to_onehot=99)),
    "sets": ((1, 6), "json", lambda: levels(X, S), 3, dict(objective="reg:squarederror", tree_method="hist", max_depth=3, max_cat_to_onehot=1)),
    "named": ((1, 6), "ubj", lambda: named(X, S), 3, dict(objective="reg:squarederror", tree_method="hist", max_depth=3, max_cat_to_onehot=1)),
    "absolute": ((1, 7), "ubj", lambda: numbers(S), 2, dict(objective="reg:absoluteerror", tree_method="hist", max_depth=2)),
    "quantiles": ((2, 0), "json", lambda: numbers(S), 2, dict(objective="reg:quantileerror", tree_method="hist", max_depth=2,
                                                              quantile_alpha=np.array([.2, .8]))),
    "quantile": ((2, 0), "ubj", lambda: numbers(S), 1, dict(objective="reg:quantileerror", tree_method="hist", max_depth=2, quantile_alpha=.3)),
    "hinge": ((1, 0), "ubj", lambda: numbers(BINARY), 1, dict(objective="binary:hinge", max_depth=2)),
    "logitraw": ((1, 0), "ubj", lambda: numbers(BINARY), 1, dict(objective="binary:logitraw", max_depth=2)),
    "logistic": ((1, 0), "ubj", lambda: numbers(1 / (1 + np.exp(-S))), 1, dict(objective="reg:logistic", max_depth=2)),
    "pseudohuber": ((1, 0), "ubj", lambda: numbers(S), 1, dict(objective="reg:pseudohubererror", max_depth=2)),
    "gamma": ((1, 0), "ubj", lambda: numbers(np.exp(S)), 1, dict(objective="reg:gamma", max_depth=2)),
    "tweedie": ((1, 0), "ubj", lambda: numbers(COUNTS), 1, dict(objective="reg:tweedie", max_depth=2, tweedie_variance_power=1.3)),
    "cox": ((1, 0), "ubj", lambda: numbers(np.exp(S)), 1, dict(objective="survival:cox", max_depth=2)),
    "aft": ((1, 2), "ubj", survival, 1, dict(objective="survival:aft", max_depth=2)),
    "many": ((2, 0), "ubj", lambda: numbers(np.column_stack([S, -S + X[:, 1]])), 2, dict(objective="reg:squarederror", tree_method="hist", max_depth=2)),
    "labels": ((1, 6), "json", lambda: numbers(np.column_stack([BINARY, S > .7])), 2, dict(objective="binary:logistic", tree_method="hist",
                                                                                          max_depth=2)),
    "counts": ((1, 6), "ubj", lambda: numbers(np.column_stack([COUNTS, COUNTS[::-1]])), 1, dict(objective="count:poisson", tree_method="hist",
                                                                                                max_depth=2)),
    "hinges": ((1, 6), "ubj", lambda: numbers(np.column_stack([BINARY, S > .7])), 1, dict(objective="binary:hinge", tree_method="hist",
                                                                                          max_depth=2)),
    "linear": ((1, 0), "json", lambda: numbers(np.nan_to_num(S), np.nan_to_num(X)), 2, dict(objective="reg:squarederror", booster="gblinear")),
    "vector": ((2, 0), "json", lambda: numbers(np.column_stack([S, -S])), 1, dict(objective="reg:squarederror", tree_method="hist", max_depth=1,
                                                                                  multi_strategy="multi_output_tree")),
}


def bits(a):
    """numbers of 32 bits as the integers of the same bits"""
    return np.ascontiguousarray(a, dtype=np.float32).view(np.uint32).reshape(len(a), -1).tolist()


def main():
    folder, only = sys.argv[1], sys.argv[2:]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "../rows.json"), "w") as f:
        json.dump(bits(ROWS), f)
    scores = {}
    for name, (first, ending, train, rounds, params) in CASES.items():
        if VERSION < first or only and name not in only:
            continue
        d, more = train(), {}
        if name == "early":
            held, s = data(200, 9)
            more = dict(evals=[(numbers((s > 0).astype(int), held), "held")], early_stopping_rounds=3, verbose_eval=False)
        if name == "dart" and VERSION < (1, 2):
            params = dict(params, eval_metric="error")
        params = dict(dict(nthread=1), **params)
        try:
            b = xgb.train(params, d, rounds, **more)
            path = os.path.join(folder, name + "." + (ending if VERSION >= (1, 6) else "json"))
            b.save_model(path)
        except Exception as e:
            print("no", name, str(e).splitlines()[0], file=sys.stderr)
            continue
        if name in ("linear", "vector"):  # which are refused
            continue
        rows = levels(ROWS) if name in ("onehot", "sets") else named(ROWS) if name == "named" else xgb.DMatrix(ROWS, missing=np.nan)
        how = {}
        if name == "early":
            how = dict(iteration_range=(0, b.best_iteration + 1)) if VERSION >= (1, 4) else dict(ntree_limit=b.best_ntree_limit)
        one = {"margins": bits(b.predict(rows, output_margin=True, **how)), "predictions": bits(b.predict(rows, **how))}
        try:
            one["contributions"] = bits(b.predict(rows, pred_contribs=True, **how)[:6])
        except Exception as e:
            print("no contributions of", name, str(e).splitlines()[0], file=sys.stderr)
        scores[name] = one
    with open(os.path.join(folder, "scores.json"), "w") as f:
        json.dump(scores, f, separators=(",", ":"))


main()
