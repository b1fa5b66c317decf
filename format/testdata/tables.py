"""Writes the tables of cells that the tests of format/parquet and format/arrow read, and what is in them.

python tables.py FORMAT_DIRECTORY

Made with pyarrow 26. Each cell is a text in tables.json: "null"; whole numbers, truth values (0, 1) and nanoseconds since 1970 in
decimal digits; the 64 bits of a double as 16 hexadecimal digits; text, and decimals of more than 15 digits, in JSON's quotes; lists as
[a, b].
"""

import datetime
import decimal
import json
import pathlib
import struct
import sys

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

decimal.getcontext().prec = 60
N = 40
D = decimal.Decimal


def some(i, value, every):
    return None if i % every == 1 else value


def times(i):
    return datetime.datetime(1969, 12, 31, 23, 59, 58) + datetime.timedelta(days=i * 300, microseconds=i * 1001)


words = ["red", "green", "", "blue", "grün, \"yes\"", "a\tb"]
COLUMNS = [
    ("word", pa.string(), [words[i * 7 % 6] for i in range(N)]),
    ("word_null", pa.string(), [some(i, words[i * 5 % 6], 3) for i in range(N)]),
    ("text", pa.large_string(), ["item %04d %s" % (i // 2, "x" * (i % 9)) for i in range(N)]),
    ("text_null", pa.string(), [some(i, "t%d" % i, 5) for i in range(N)]),
    ("nothing", pa.string(), [None] * N),
    ("id", pa.int64(), [2**53 + 1 + i * 2**57 for i in range(N)]),
    ("uid", pa.uint64(), [2**64 - 1 - i * 2**58 for i in range(N)]),
    ("small", pa.int8(), [some(i, -20 + i, 4) for i in range(N)]),
    ("u32", pa.uint32(), [2**32 - 1 - i for i in range(N)]),
    ("i32", pa.int32(), [some(i, i * i * (-1) ** i, 6) for i in range(N)]),
    ("f16", pa.float16(), [i / 4 for i in range(N)]),
    ("f32", pa.float32(), [some(i, i / 3, 7) for i in range(N)]),
    ("f64", pa.float64(), [some(i, (float("nan") if i == 3 else i / 7), 8) for i in range(N)]),
    ("yes", pa.bool_(), [i % 3 == 0 for i in range(N)]),
    ("yes_null", pa.bool_(), [some(i, i % 4 == 0, 5) for i in range(N)]),
    ("day", pa.date32(), [some(i, times(i).date(), 9) for i in range(N)]),
    ("ms", pa.timestamp("ms", "UTC"), [times(i).replace(microsecond=i * 1000) for i in range(N)]),
    ("us", pa.timestamp("us"), [some(i, times(i), 4) for i in range(N)]),
    ("ns", pa.timestamp("ns", "Europe/Berlin"), [times(i) for i in range(N)]),
    ("clock", pa.time64("us"), [times(i).time() for i in range(N)]),
    ("money", pa.decimal128(9, 2), [D(i * 12345 - 99999) / 100 for i in range(N)]),
    ("count", pa.decimal128(18, 0), [some(i, D(10**16 + i), 5) for i in range(N)]),
    ("wide", pa.decimal128(38, 10), [D(-(7**i) if i % 2 else 3**i).scaleb(-10) for i in range(N)]),
    ("tags", pa.list_(pa.string()), [some(i, words[: i % 5] + ([None] if i % 6 == 0 else []), 7) for i in range(N)]),
    ("tags_need", pa.list_(pa.field("item", pa.string(), nullable=False)), [["w%d" % (k % 4) for k in range(i % 4)] for i in range(N)]),
    ("ids", pa.list_(pa.int64()), [[2**60 + k for k in range(i % 3)] for i in range(N)]),
    ("values", pa.list_(pa.float32()), [some(i, [k / 3 if k != 1 else None for k in range(i % 6)], 9) for i in range(N)]),
    ("pair", pa.struct([("a", pa.int32()), ("b", pa.string())]), [{"a": i, "b": "s"} for i in range(N)]),
    ("last", pa.string(), ["end%d" % (i % 2) for i in range(N)]),
]


def text(v, t):
    if v is None:
        return "null"
    if isinstance(v, list):
        return "[" + ", ".join(text(x, t.value_type) for x in v) + "]"
    if pa.types.is_floating(t):
        return "%016x" % struct.unpack(">Q", struct.pack(">d", v))[0]
    if pa.types.is_decimal(t) and t.precision > 15 and t.scale > 0:
        return json.dumps(f"{v:f}")
    if pa.types.is_decimal(t) and t.scale > 0:
        return "%016x" % struct.unpack(">Q", struct.pack(">d", float(v)))[0]
    if isinstance(v, str):
        return json.dumps(v, ensure_ascii=False)
    return str(int(v))


def cells(column):
    t = column.type
    if pa.types.is_dictionary(t):
        column, t = column.cast(t.value_type), t.value_type
    if pa.types.is_timestamp(t):
        scale = {"s": 10**9, "ms": 10**6, "us": 1000, "ns": 1}[t.unit]
        return ["null" if v is None else str(v * scale) for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date32(t):
        return ["null" if v is None else str(v * 86400 * 10**9) for v in column.cast(pa.int32()).to_pylist()]
    if pa.types.is_date64(t):
        return ["null" if v is None else str(v * 10**6) for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_time(t):
        return [str(v) for v in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_struct(t):
        return None
    return [text(v, t) for v in column.to_pylist()]


def expect(into, name, table):
    into[name] = {f.name: cells(table[f.name].combine_chunks()) for f in table.schema}


def parquet(out, all):
    table = pa.table([pa.array(v, t) for _, t, v in COLUMNS], [n for n, _, _ in COLUMNS])
    expect(all, "table.parquet", table)
    pq.write_table(table, out / "table_v1.parquet", compression="snappy", row_group_size=25, write_page_checksum=True)
    pq.write_table(table, out / "table_pages.parquet", compression="none", data_page_size=48, write_batch_size=5,
                   dictionary_pagesize_limit=24, row_group_size=33)
    encodings = {"word": "DELTA_BYTE_ARRAY", "word_null": "DELTA_LENGTH_BYTE_ARRAY", "text": "DELTA_BYTE_ARRAY", "text_null": "PLAIN",
                 "nothing": "DELTA_BYTE_ARRAY", "id": "DELTA_BINARY_PACKED", "f32": "BYTE_STREAM_SPLIT", "f64": "BYTE_STREAM_SPLIT",
                 "i32": "DELTA_BINARY_PACKED", "yes": "RLE", "wide": "BYTE_STREAM_SPLIT", "last": "DELTA_LENGTH_BYTE_ARRAY"}
    pq.write_table(table, out / "table_v2.parquet", compression="zstd", data_page_version="2.0", use_dictionary=False,
                   column_encoding=encodings, data_page_size=100, write_batch_size=9)
    old = table.select(["word", "us", "money", "wide"])
    pq.write_table(old, out / "table_old.parquet", use_deprecated_int96_timestamps=True, store_decimal_as_integer=True, version="1.0",
                   compression="none")


def arrow(out, all):
    extra = [
        ("view", pa.string_view(), ["v%d" % i + "long enough to be elsewhere" * (i % 2) for i in range(N)]),
        ("views", pa.string_view(), [some(i, "view %d of these" % i, 3) for i in range(N)]),
        ("big_list", pa.large_list(pa.string()), [some(i, ["b%d" % k for k in range(i % 3)], 8) for i in range(N)]),
        ("three", pa.list_(pa.int16(), 3), [some(i, [i, None, -i], 6) for i in range(N)]),
        ("seconds", pa.timestamp("s"), [times(i) for i in range(N)]),
        ("date64", pa.date64(), [times(i).date() for i in range(N)]),
        ("null", pa.null(), [None] * N),
        ("level", pa.dictionary(pa.int8(), pa.string()), [some(i, words[i % 4], 5) for i in range(N)]),
        ("level_big", pa.dictionary(pa.uint16(), pa.large_string()), ["l%d" % (i * i % 7) for i in range(N)]),
        ("levels", pa.list_(pa.dictionary(pa.int16(), pa.string())), [some(i, words[: i % 4] + [None], 6) for i in range(N)]),
        ("level_id", pa.dictionary(pa.int32(), pa.int64()), [some(i, 2**55 + i % 3, 4) for i in range(N)]),
    ]
    columns = COLUMNS[:-1] + extra + COLUMNS[-1:]
    arrays = [pa.array(v, t) for _, t, v in columns]
    codes = pa.array([some(i, i % 3, 7) for i in range(N)], pa.int8())  # of entries of which one is null
    for values in (["a", None, "b"], [2.5, 0.5, None]):
        columns.append(("entry_null_%d" % len(columns), None, None))
        arrays.append(pa.DictionaryArray.from_arrays(codes, pa.array(values)))
    table = pa.table(arrays, [n for n, _, _ in columns])
    expect(all, "table.arrow", table)
    for name, codec in [("table.arrow", None), ("table_lz4.arrow", "lz4"), ("table_zstd.arrow", "zstd")]:
        with pa.ipc.new_file(out / name, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as w:
            w.write_table(table, max_chunksize=17)

    def batch(levels):
        codes = pa.array([0, None, len(levels) - 1, 1], pa.int8())
        return pa.record_batch([pa.DictionaryArray.from_arrays(codes, pa.array(levels))], ["level"])

    levels = [batch(names) for names in (["a", "b"], ["a", "b", "ccc"], ["a", "b", "ccc", "d"])]
    expect(all, "deltas.arrow", pa.table({"level": ["a", None, "b", "b", "a", None, "ccc", "b", "a", None, "d", "b"]}))
    expect(all, "replaced.arrows", pa.table({"level": ["a", None, "b", "b", "x", None, "z", "y"]}))
    with pa.ipc.new_file(out / "deltas.arrow", levels[0].schema, options=pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
        for b in levels:
            w.write_batch(b)
    with pa.ipc.new_stream(out / "replaced.arrows", levels[0].schema) as w:
        for names in (["a", "b"], ["x", "y", "z"]):
            w.write_batch(batch(names))


def main():
    root, all = pathlib.Path(sys.argv[1]), {}
    parquet(root / "parquet/testdata", all)
    arrow(root / "arrow/testdata", all)
    quote = lambda v: json.dumps(v, ensure_ascii=False)
    lines = ['%s: {\n%s\n}' % (quote(file), ",\n".join("%s: %s" % (quote(c), quote(v)) for c, v in columns.items()))
             for file, columns in all.items()]
    (root / "testdata/tables.json").write_text("{" + ",\n".join(lines) + "}\n")


main()
