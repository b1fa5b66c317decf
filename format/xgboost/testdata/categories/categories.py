"""Trains models whose categories are not ASCII, with XGBoost 3.2 and pandas 3, pyarrow 26: pandas' are cut off, Arrow's are whole."""
import numpy as np, pandas as pd, pyarrow as pa, xgboost as xgb

r = np.random.default_rng(0)
for name, cats in (("character", ["Rio", "São"]), ("within", ["a", "b", "é"]), ("ascii", ["a", "b"])):
    ix = r.integers(0, len(cats), 60).astype("i4")
    c = pd.Categorical.from_codes(ix, categories=cats)
    d = {"pandas": pd.DataFrame({"town": c}), "arrow": pa.table({"town": pa.DictionaryArray.from_arrays(pa.array(ix), pa.array(cats))})}
    for kind, frame in d.items():
        b = xgb.train(dict(max_depth=2, nthread=1), xgb.DMatrix(frame, ix * 3.0, enable_categorical=True), 1)
        b.save_model(f"{name}_{kind}.json")
