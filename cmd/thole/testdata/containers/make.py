"""Makes the table of this folder as CSV, Parquet and Arrow: python make.py (pandas, pyarrow).

The files hold the same rows: integers, floats, whole floats with gaps, booleans, times with and without a zone, padded and
non-ASCII text, a dictionary column, decimals, nulls.
"""

import decimal
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as parquet

rng, n = np.random.default_rng(7), 240
hours = pd.to_datetime("2020-01-15") + pd.to_timedelta(rng.integers(0, 8000, n), unit="h")
t = pd.DataFrame({
    "count": rng.integers(0, 90, n),
    "price": rng.choice([0.5, 1.0, 2.25, 1e-5, 1234.5678], n),
    "gaps": np.where(rng.random(n) < 0.2, np.nan, rng.integers(1, 5, n) * 10_000_000.0),
    "single": rng.choice(np.array([0.1, 0.3, 1e9], "f4"), n),
    "paid": rng.random(n) < 0.5,
    "plain": hours,
    "zoned": hours.tz_localize("UTC").tz_convert("Europe/Berlin"),
    "padded": rng.choice(["a ", "b", "c  "], n),
    "town": rng.choice(["Köln", "São Paulo", "日本", 'say "no", please'], n),
    "code": rng.choice(["01", "1", "001"], n),
    "kind": pd.Categorical(rng.choice(["x", "y", "z"], n)),
    "cost": [decimal.Decimal(x) for x in rng.choice(["1.50", "2.00", "12.25"], n)],
    "maybe": pd.Series(rng.choice(["u", "v"], n)).where(rng.random(n) < 0.8, None),
})
score = t["count"] / 30 + t.paid * 1.5 + (t.town == "Köln") * 2 + t.kind.cat.codes - 3 + (t.zoned.dt.hour > 12) * 1.0
t["label"] = (score + rng.normal(size=n) > 0).astype(int)
t.to_csv("table.csv", index=False)
table = pa.Table.from_pandas(t, preserve_index=False)
parquet.write_table(table, "table.parquet", compression="zstd")
feather.write_feather(table, "table.arrow", compression="zstd")

# Values with more digits than float64 tells apart, and times of INT96 with a zone, and UUIDs.
decimal.getcontext().prec = 50
pick, digits = rng.integers(0, 4, 120), lambda scale: [decimal.Decimal(f"1234567890123456{k}").scaleb(-scale) for k in range(4)]
e = pa.table({
    "deal": pa.array([digits(4)[k] + decimal.Decimal("12000000000000") for k in pick], pa.decimal128(18, 4)),
    "long": pa.array([None if k == 3 else digits(15)[k] - 5 * 10**20 for k in pick], pa.decimal128(38, 15)),
    "whole": pa.array([digits(0)[k] * 10**8 for k in pick], pa.decimal256(40, 0)),
    "at": pa.array([10**15 + 7 * int(k) for k in pick], pa.timestamp("us", "Europe/Berlin")),
    "key": pa.array([None if k == 2 else uuid.UUID(int=2**96 * int(k) + 12345).bytes for k in pick], pa.uuid()),
    "label": pick % 2,
})
e.to_pandas().to_csv("exact.csv", index=False)
parquet.write_table(e, "exact.parquet", compression="zstd", use_deprecated_int96_timestamps=True, store_decimal_as_integer=True)
feather.write_feather(e, "exact.arrow", compression="zstd")
