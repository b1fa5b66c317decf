#!/usr/bin/env python3
"""Writes the golden files of the storage formats, format/*/testdata/golden/*.txtar: one function for each format.

What has a program of its own is written by that program. What has not is written byte by byte from its document, by the modules
beside this file; nothing here comes from Thole's own writers. README.md says what it needs.
"""
import csv
import io
import json
import math
import os
import struct
import tempfile
import zipfile

import numpy as np
import pyarrow
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import safetensors
import scipy
import scipy.io
import scipy.sparse
import sklearn
import sklearn.datasets

import angel
import daphne
import paddle
from golden import INF, NAN, NUMPY, Matrix, Text, cut, dense, joined, listed, packed, save


def written(suffix, by):
    """The bytes of the file that by writes."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x" + suffix)
        by(path)
        with open(path, "rb") as f:
            return f.read()


def shape(m):
    return m.said.get("shape", [m.rows, m.cols])


def array(m, order="<"):
    """A dense matrix as NumPy has it."""
    return np.array(listed(m), order + NUMPY[m.kind]).reshape(shape(m))


def npy_fields(data):
    """The fields of an array that NumPy wrote."""
    head = 10 + struct.unpack("<H", data[8:10])[0]
    return cut(data, (0, "magic"), (6, "version"), (8, "length of the header"), (10, "", "text"), (head - 1, "end of the header"),
               (head, "values"))


def npy_goldens():
    def put(name, what, m, a, write=None):
        data = written(".npy", lambda path: np.save(path, a))
        save("npy", name, f"Made by save of NumPy {np.__version__}: {what}.", [m], {"m.npy": npy_fields(data)}, write=write)

    m = dense("m", "f32", [[0.5, -0.0, math.nan], [1e-45, -INF, 0.1]])
    put("f4", "f4 in C order", m, array(m), {})
    m = dense("m", "i64", [[1, -2, 3], [1 << 40, -(1 << 63), 0]])
    put("i8_fortran", "i8 in Fortran order", m, np.asfortranarray(array(m)))
    m = dense("m", "bool", [[1, 0, 0, 1]], shape=[4])
    put("bool", "truth values of one dimension", m, array(m), {})
    m = dense("m", "u16", [[1, 256, 65535]])
    put("big_endian", "u2 of the other byte order", m, array(m, ">"))
    m = dense("m", "f16", [[0.5, 1.0, 1.5, 2.0], [65504.0, -0.0, INF, 2.0 ** -24]], shape=[2, 2, 2])
    put("cube", "f2 of three dimensions", m, array(m), {})
    m = dense("m", "f64", [[-1, 0.5, 200], [7, -0.0, 0]], labels=["id", "x", "n"], types=["i64", "f32", "u8"])
    records = [tuple(v for _, v in m.row(r)) for r in range(2)]
    put("structured", "an array of records", m, np.array(records, [("id", "<i8"), ("x", "<f4"), ("n", "u1")]), {})


def npz_goldens():
    w, n = dense("w", "f32", [[0.5, -1.5], [2.5, 3.5]]), dense("n", "i32", [[3, -4]], shape=[2])
    data = written(".npz", lambda path: np.savez(path, w=array(w), n=array(n)))
    save("npz", "npz", f"Made by savez of NumPy {np.__version__}: two arrays, not compressed.", [w, n],
         {"params.npz": zip_fields(data)})


def zip_fields(data):
    """The fields of an archive of arrays that are not compressed."""
    with zipfile.ZipFile(io.BytesIO(data)) as z:
        members, at = z.infolist(), z.start_dir
    found = []
    for i in members:
        head = data[i.header_offset:]
        name, extra = struct.unpack("<HH", head[26:30])
        found += cut(head[:30], (0, "local header"), (4, "version and flags"), (8, "method, time and date"), (14, "checksum"),
                     (18, "sizes, which are below"), (26, "lengths of the name and more"))
        found += [(Text(head[30:30 + name]), ""), (head[30 + name:30 + name + extra], "zip64: the sizes")]
        found += npy_fields(head[30 + name + extra:][:i.file_size])
    for i in members:
        found += [(data[at:at + 46], "entry of the directory"), (Text(i.filename.encode()), "")]
        at += 46 + len(i.filename)
    found.append((data[at:], "end of the directory"))
    assert joined(found) == data
    return found


def mtx_goldens():
    def put(name, what, m, a, **more):
        text = written(".mtx", lambda path: scipy.io.mmwrite(path, a, **more)).decode()
        save("mtx", name, f"Made by scipy.io.mmwrite of SciPy {scipy.__version__}: {what}.", [m], {"m.mtx": text})

    def coo(m, kind):
        at = sorted(m.cells)
        places = [r for r, _ in at], [c for _, c in at]
        return scipy.sparse.coo_array(([m.cells[p] for p in at], places), (m.rows, m.cols), kind)

    m = Matrix("m", "f64", 3, 4, {(0, 0): 0.5, (0, 3): -1e-5, (2, 1): 1 / 3, (2, 2): 1e300})
    put("general", "coordinate real general", m, coo(m, "f8"))
    m = Matrix("m", "i64", 2, 3, {(0, 1): 7, (1, 2): -(1 << 63) + 1})
    put("integer", "coordinate integer general", m, coo(m, "i8"))
    m = Matrix("m", "f64", 3, 3, {(0, 0): 2.0, (1, 0): -0.5, (0, 1): -0.5, (2, 2): 4.25})
    put("symmetric", "coordinate real symmetric, of which one triangle is stored", m, coo(m, "f8"), symmetry="symmetric")
    m = Matrix("m", "i8", 3, 3, {(0, 2): 1, (1, 0): 1, (2, 2): 1})
    put("pattern", "coordinate pattern general, whose values are 1", m, coo(m, "f8"), field="pattern")
    m = dense("m", "f64", [[1.5, -2.0, 0.0], [0.1, 1e-300, -7.0]])
    put("array", "array real general, by columns", m, array(m))


def csv_goldens():
    m = dense("m", "f64", [[1, 0.5, 1e-3], [-2, -0.0, 1e300], [(1 << 53) + 1, INF, math.nan]],
              labels=["id", "weight, kg", "say \"x\""], types=["i64", "f64", "f64"])
    out = io.StringIO()
    lines = csv.writer(out, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    lines.writerow(m.said["labels"])
    lines.writerows([v for _, v in m.row(r)] for r in range(3))
    save("csv", "header", "Made by the module csv of Python, with quoted labels.", [m], {"m.csv": out.getvalue()})

    by = f"Made by savetxt of NumPy {np.__version__}, {{}}."
    m = dense("m", "f64", [[0.5, 1.0, -2.25], [1e-7, 0.0, 3.0]])
    text = written(".csv", lambda path: np.savetxt(path, array(m), delimiter=",", fmt="%.18g")).decode()
    save("csv", "plain", by.format("without labels"), [m], {"m.csv": text})
    text = written(".tsv", lambda path: np.savetxt(path, array(m), delimiter="\t", fmt="%g")).decode()
    save("csv", "tabs", by.format("with tabs"), [m], {"m.tsv": text}, write={"meta": "false"})

    m = dense("m", "i64", [[1, 10], [2, -20]], labels=["a", "b"])
    t = pyarrow.table({"a": m.column(0), "b": m.column(1)})
    text = written(".csv", lambda path: pyarrow.csv.write_csv(t, path)).decode()
    save("csv", "arrow", f"Made by pyarrow.csv.write_csv of pyarrow {pyarrow.__version__}.", [m], {"m.csv": text})


def libsvm_goldens():
    labels = dense("labels", "f64", [[1], [-1], [0.5]])
    features = Matrix("features", "f64", 3, 5, {(0, 0): 0.5, (0, 4): -1.25, (2, 1): 1e-3, (2, 2): 3.0})
    ends, columns = np.array([0, 2, 2, 4], "i4"), np.array([0, 4, 1, 2], "i4")
    a = scipy.sparse.csr_matrix(([0.5, -1.25, 1e-3, 3.0], columns, ends), (3, 5))

    def put(name, what, options=None, **more):
        text = written(".libsvm", lambda path: sklearn.datasets.dump_svmlight_file(a, [1, -1, 0.5], path, **more)).decode()
        save("libsvm", name, f"Made by dump_svmlight_file of scikit-learn {sklearn.__version__}: {what}.", [labels, features],
             {"m.libsvm": text}, options=options)

    put("from_1", "indices from 1 on; row 1 has no feature", zero_based=False)
    put("from_0", "indices from 0 on, which must be said", {"base": 0}, zero_based=True)
    put("comment", "indices from 1 on, behind a comment", zero_based=False, comment="three examples")


def safetensors_goldens():
    names = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i64": "int64"}

    def put(name, what, *ms, metadata=None):
        raw = {m.name: np.frombuffer(b"".join(packed("<", m.kind, v) for v in listed(m)), "u1") for m in ms}
        specs = {m.name: safetensors.TensorSpec(dtype=names[m.kind], shape=shape(m), data_ptr=raw[m.name].ctypes.data,
                                                data_len=len(raw[m.name])) for m in ms}
        data = safetensors.serialize(specs, metadata)
        ms = sorted(ms, key=lambda m: data.index(f'"{m.name}":'.encode()))
        marks, at = [(0, "length of the header"), (8, "", "text")], 8 + struct.unpack("<Q", data[:8])[0]
        for m in ms:
            marks.append((at, f"values of {m.name}"))
            at += len(raw[m.name])
        save("safetensors", name, f"Made by safetensors {safetensors.__version__}: {what}.", ms,
             {"model.safetensors": cut(data, *marks)}, write={},
             beside={"metadata.json": json.dumps(metadata, separators=(",", ":"))} if metadata else None)

    put("types", "four tensors of four types, and metadata", dense("half", "f16", [[0.5, -0.0, 65504.0]]),
        dense("brain", "bf16", [[1.0, -2.0], [NAN["bf16"], 3.140625]]), dense("ids", "i64", [[7, -1, 1 << 62]], shape=[3]),
        dense("w", "f32", [[0.1, INF], [1e-45, -8.0]]), metadata={"made": "by hand"})
    put("one", "one tensor", dense("w", "f32", [[0.5, -1.5, 2.0]]))


def table():
    """Columns of four types, none of which can be null: the matrix, and the table of Arrow."""
    m = dense("m", "f64", [[-1, 0.5, 1, 0.1], [1 << 40, -0.0, 0, -INF], [7, 1e-45, 1, 1e300]],
              labels=["id", "x", "flag", "größe"], types=["i64", "f32", "bool", "f64"])
    kinds = [pyarrow.int64(), pyarrow.float32(), pyarrow.bool_(), pyarrow.float64()]
    schema = pyarrow.schema([pyarrow.field(name, kind, nullable=False) for name, kind in zip(m.said["labels"], kinds)])
    columns = [pyarrow.array([bool(v) if c == 2 else v for v in m.column(c)], kind) for c, kind in enumerate(kinds)]
    return m, pyarrow.Table.from_arrays(columns, schema=schema)


def message_fields(data, at):
    """The fields of Arrow's messages from a byte on, and where the mark of their end ends."""
    found, size = [], 1
    while size > 0:
        size = struct.unpack("<I", data[at + 4:at + 8])[0]
        found += [(data[at:at + 4], "a message follows"), (data[at + 4:at + 8], f"length of its metadata, {size}")]
        if size > 0:
            message = pyarrow.ipc.read_message(pyarrow.py_buffer(data[at:]))
            body = at + 8 + size
            found.append((data[at + 8:body], f"metadata: {message.type}"))
            at = body + (message.body.size if message.body else 0)
            found += [(data[body:at], "values")] if at > body else []
    return found, at + 8


def arrow_goldens():
    m, t = table()
    by = f"Made by pyarrow {pyarrow.__version__}: {{}}."
    out = io.BytesIO()
    with pyarrow.ipc.new_stream(out, t.schema) as w:
        w.write_table(t, max_chunksize=2)
    found, _ = message_fields(out.getvalue(), 0)
    assert joined(found) == out.getvalue()
    save("arrow", "stream", by.format("a stream of two record batches"), [m], {"m.arrows": found})

    def put(name, what, data):
        found, at = message_fields(data, 8)
        size = struct.unpack("<i", data[-10:-6])[0]
        found = cut(data[:8], (0, "magic"), (6, "padding")) + found
        found += cut(data[at:], (0, "footer"), (size, f"length of the footer, {size}"), (size + 4, "magic"))
        assert joined(found) == data
        save("arrow", name, by.format(what), [m], {"m.arrow": found})

    out = io.BytesIO()
    with pyarrow.ipc.new_file(out, t.schema) as w:
        w.write_table(t)
    put("file", "a file of one record batch", out.getvalue())
    put("feather", "a file of Feather 2, compressed with LZ4",
        written(".feather", lambda path: pyarrow.feather.write_feather(t, path, compression="lz4")))


def parquet_goldens():
    m, t = table()

    def put(name, what, **more):
        data = written(".parquet", lambda path: pyarrow.parquet.write_table(
            t, path, store_schema=False, write_statistics=False, **more))
        about = pyarrow.parquet.read_metadata(io.BytesIO(data))
        marks = [(0, "magic")]
        for column in (about.row_group(g).column(c) for g in range(about.num_row_groups) for c in range(about.num_columns)):
            if column.has_dictionary_page:
                marks.append((column.dictionary_page_offset, f"column {column.path_in_schema}, its dictionary"))
            marks.append((column.data_page_offset, f"column {column.path_in_schema}, rows: {column.num_values}"))
        size = struct.unpack("<I", data[-8:-4])[0]
        marks += [(len(data) - 8 - size, "footer"), (len(data) - 8, f"length of the footer, {size}"), (len(data) - 4, "magic")]
        save("parquet", name, f"Made by write_table of pyarrow {pyarrow.__version__}: {what}.", [m],
             {"m.parquet": cut(data, *marks)})

    put("plain", "plain values, without compression", use_dictionary=False, compression="none")
    put("dictionary", "dictionaries, compressed with Snappy, two groups of rows", row_group_size=2)
    put("pages_v2", "pages of version 2, compressed with Zstandard; integers as differences, floats in streams of their bytes",
        data_page_version="2.0", compression="zstd", use_dictionary=False,
        column_encoding={"id": "DELTA_BINARY_PACKED", "x": "BYTE_STREAM_SPLIT"})


if __name__ == "__main__":
    for make in (angel.goldens, daphne.goldens, paddle.goldens, npy_goldens, npz_goldens, mtx_goldens, csv_goldens,
                 libsvm_goldens, safetensors_goldens, arrow_goldens, parquet_goldens):
        make()
