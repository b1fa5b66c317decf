"""Loads every model of a folder with XGBoost and scores rows.json: python score.py FOLDER ROWS. Writes FOLDER/scores.json."""
import json
import os
import sys

import numpy as np
import xgboost as xgb

folder, rows = sys.argv[1:3]
x = np.array(json.load(open(rows)), dtype=np.uint32).view(np.float32)


def bits(a):
    return np.ascontiguousarray(a, dtype=np.float32).view(np.uint32).reshape(len(a), -1).tolist()


out = {"version": xgb.__version__}
for name in sorted(os.listdir(folder)):
    print(name, flush=True)  # the last one, should XGBoost end the process
    try:
        b = xgb.Booster(model_file=os.path.join(folder, name), params={"nthread": 1})
        n = b.num_features()
        d = xgb.DMatrix(np.pad(x, ((0, 0), (0, max(0, n - x.shape[1]))))[:, :n], missing=np.nan, feature_names=b.feature_names,
                        feature_types=b.feature_types, enable_categorical=True)
        best = b.attr("best_iteration")
        how = {} if best is None else {"iteration_range": (0, int(best) + 1)}
        out[name] = {"margins": bits(b.predict(d, output_margin=True, **how)), "predictions": bits(b.predict(d, **how)),
                     "contributions": bits(b.predict(d, pred_contribs=True, **how))}
        b.save_model(os.path.join(folder, name))
    except Exception as e:
        out[name] = {"error": str(e)[:500]}
json.dump(out, open(os.path.join(folder, "scores.json"), "w"))
