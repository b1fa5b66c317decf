"""Models as Angel writes them: metadata of a matrix, and the records of its partitions.

After the table of formats in Angel's document ("Storage Format"), and what Angel's own classes write where that says less:
binary numbers are big-endian, text has Java's spelling of numbers, the metadata are JSON behind their length.
"""
import json
import math
import struct

import numpy as np

from golden import INF, NAN, Matrix, Text, dense, joined, packed, save

ELEMENTS = {"f64": "DOUBLE", "f32": "FLOAT", "i64": "LONG", "i32": "INT"}
STORAGE = ["DENSE", "DENSE_COMPONENT", "DENSE_LONGKEY_COMPONENT",
           "SPARSE", "SPARSE_COMPONENT", "SPARSE_LONGKEY", "SPARSE_LONGKEY_COMPONENT"]


def row_type(kind, storage):
    """The number of a row type, such as T_FLOAT_SPARSE."""
    return 7 * list(ELEMENTS).index(kind) + STORAGE.index(storage)


def java(value, kind):
    """A number as Java prints it."""
    if kind in ("i64", "i32"):
        return str(value)
    if not math.isfinite(value):
        return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}[str(value)]
    digits, exponent = np.format_float_scientific(np.float32(value) if kind == "f32" else value, trim="0").split("e")
    if value == 0 or -3 <= int(exponent) < 7:
        return np.format_float_positional(np.float32(value) if kind == "f32" else value, trim="0")
    return f"{digits}E{int(exponent)}"


class Partition:
    """A part of a matrix: the columns [lo, hi) of the saved rows, or with hash the columns whose number it is."""

    def __init__(self, number, lo, hi, rows):
        self.number, self.lo, self.hi, self.rows = number, lo, hi, rows


def fields(layout, m, storage, part, shift=0, separator=","):
    """The records of a partition: lines of text, or fields. shift is taken from every column."""
    key = "q" if "LONGKEY" in storage else "i"
    if layout.endswith("ColumnFormat"):
        records = [([("column", c - shift)], [dict(cells).get(c, 0) for _, cells in part.rows]) for c, _ in part.rows[0][1]]
    else:
        ids = {"Col": ["column"], "Row": ["row", "column"], "Val": []}[layout[:3]]
        records = [([(i, {"row": r, "column": c - shift}[i]) for i in ids], [v]) for r, cells in part.rows for c, v in cells]
    if "Text" in layout:
        lines = [[str(n) for _, n in ids] + [java(v, m.kind) for v in values] for ids, values in records]
        return "".join(separator.join(line) + "\n" for line in lines)
    found = []
    for ids, values in records:
        found += [(struct.pack(">" + (key if what == "column" else "i"), n), f"{what} {n}") for what, n in ids]
        found += [(packed(">", m.kind, v), f"value {v}") for v in values]
    return found


def snapshot(m, part):
    """A partition as a server holds it: of sparse rows column and value, of dense ones values."""
    found = []
    for _, cells in part.rows:
        for c, v in cells:
            found += [(struct.pack(">i", c), f"column {c}")] if m.layout == "sparse" else []
            found += [(packed(">", m.kind, v), f"value {v}")]
    return found


def partitions(m, cuts, saved=None):
    """The partitions between the cuts of the columns, with the saved rows."""
    rows = range(m.rows) if saved is None else saved
    return [Partition(i, lo, hi, [(r, [(c, v) for c, v in m.row(r) if lo <= c < hi]) for r in rows])
            for i, (lo, hi) in enumerate(zip(cuts, cuts[1:]))]


def model(m, layout, storage, parts, block, relative=False, columns=None, size=None, separator=",", options=None, file="_meta"):
    """The files of a matrix as Angel 3.2 or later saves it, all partitions in the data file 0.

    block is the size of a partition in rows and columns. relative is what release 3.2.0 does: it forgets the columns of the
    partitions, and in row formats writes columns relative to them. columns and size are the bounds and the number of columns
    that the metadata say. The file of the metadata was meta up to release 3.1.
    """
    column_format = layout.endswith("ColumnFormat")
    data, described, end = [], {}, 0
    for p in parts:
        shift = p.lo if relative and not column_format else 0
        records = fields(layout, m, storage, p, shift, separator)
        length = len(records) if isinstance(records, str) else len(joined(records))
        lo, hi = (0, 0) if relative or block[1] < 0 else (p.lo, p.hi)
        counts = [len(cells) for _, cells in p.rows]
        held = (p.hi - p.lo) * m.rows if m.layout == "dense" else sum(counts)
        described[str(p.number)] = {
            "partId": p.number, "startRow": 0, "endRow": m.rows, "startCol": lo, "endCol": hi, "nnz": held,
            "saveRowNum": 0 if column_format else len(p.rows), "saveColNum": counts[0] if column_format else 0,
            "saveColElemNum": len(p.rows) if column_format else 0, "fileName": "0", "offset": end, "length": length,
            "rowMetas": {str(r): {"rowId": r, "offset": -1 if column_format else end, "elementNum": n, "saveType": 0}
                         for (r, _), n in zip(p.rows, counts)}}
        data.append(records)
        end += length
    lo, hi = columns or (parts[0].lo, parts[-1].hi)
    about = {"matrixId": 0, "matrixName": m.name, "formatClassName": "com.tencent.angel.model.output.format." + layout,
             "rowType": row_type(m.kind, storage), "row": m.rows, "col": m.cols if size is None else size,
             "blockRow": block[0], "blockCol": block[1],
             "options": {**(options or {}), "feature.index.range.end": str(hi), "feature.index.range.start": str(lo)},
             "partMetas": described}
    return {file: framed(about), "0": "".join(data) if isinstance(data[0], str) else sum(data, [])}


def framed(about):
    """The metadata file, with a line for each partition and row."""
    text = json.dumps(about, separators=(",", ":"), ensure_ascii=False).replace("/", "\\/")
    lines = text
    for before in ('"formatClassName"', '"options"', '"partMetas"', '"nnz"', '"rowMetas"'):
        lines = lines.replace(before, "\n" + before)
    lines = lines.replace('},"', '},\n"')
    size = len(text.encode())
    return [(struct.pack(">i", size), f"length of the JSON, {size}")] + [(Text(line.encode()), "") for line in lines.split("\n")]


# Metadata in binary: of a server (psmeta), and of Angel 1.x.

def number(code, value, meaning):
    return struct.pack(">" + code, value), f"{meaning} {value}"


def utf(text, meaning):
    """A string as Java writes it, behind its length."""
    return struct.pack(">H", len(text)) + text.encode(), f"{meaning} {text}"


def psmeta(m, parts, kind):
    """The metadata that a server leaves beside a snapshot, whose partitions have a file each; kind is 0 dense, 1 sparse."""
    found = [number("i", 0, "matrix id"), number("i", len(parts), "partitions")]
    for p in parts:
        held = sum(len(cells) for _, cells in p.rows)
        found += [number("i", p.number, "partition"), number("i", 0, "first row"), number("i", m.rows, "end of rows"),
                  number("q", p.lo, "first column"), number("q", p.hi, "end of columns"), number("q", held, "cells"),
                  number("i", len(p.rows), "rows saved"), number("i", 0, "columns saved"), number("i", 0, "cells of a column"),
                  utf(str(p.number), "file"), number("q", 0, "offset"), number("q", len(joined(snapshot(m, p))), "length"),
                  number("i", len(p.rows), "rows")]
        for r, cells in p.rows:
            found += [number("i", r, "row"), number("q", 0, "offset")]
            found += [number("i", len(cells), "cells"), number("i", kind, "kind")]
    return found


def version_1(m, kind):
    """The files of a sparse matrix of Angel 1.x in one partition; kind is the number of its row type there."""
    data = [number("i", m.rows, "rows")]
    offsets = []
    for r in range(m.rows):
        offsets.append(len(joined(data)))
        data += [number("i", r, "row"), number("i", len(m.row(r)), "cells")]
        for c, v in m.row(r):
            data += [number("i", c, "column"), (packed(">", m.kind, v), f"value {v}")]
    file = "ParameterServer_0_0"
    meta = [number("i", 0, "matrix id"), utf(m.name, "name"), number("i", kind, "row type"), number("i", m.rows, "rows"),
            number("q", m.cols, "columns"), number("i", m.rows, "rows of a block"), number("q", m.cols, "columns of a block"),
            number("i", 0, "options"), number("i", 1, "partitions"), number("i", 0, "partition"), number("i", 0, "first row"),
            number("i", m.rows, "end of rows"), number("q", 0, "first column"), number("q", m.cols, "end of columns"),
            number("q", len(m.cells), "cells"), utf(file, "file"), number("q", 0, "offset"),
            number("q", len(joined(data)), "length"), number("i", m.rows, "rows")]
    for r, at in enumerate(offsets):
        meta += [number("i", r, "row"), number("q", at, "offset")]
    return {"meta": meta, file: data}


# The golden files.

def goldens():
    by = ("Made byte by byte after the section {} of Angel's document (\"Storage Format\"), with the metadata that Angel 3.2 "
          "and later write: {}.")

    def put(layout, storage, m, cuts, what, name=None, saved=None, block=None, **more):
        parts = partitions(m, cuts, saved)
        block = (m.rows, block or max(hi - lo for lo, hi in zip(cuts, cuts[1:])))
        settings = {"format": layout, "compat": "angel-master", "block-cols": block[1], "partitions-per-file": 5}
        save("angel", name or layout, by.format(layout, what), [m], folder(m, model(m, layout, storage, parts, block, **more)),
             write=None if name else settings)

    counts = dense("counts", "i32", [[7, 0, -2, 2147483647, 1], [0, 65536, 3, -2147483648, 0]])
    put("ValueBinaryRowFormat", "DENSE", counts, [0, 3, 5], "row type T_INT_DENSE, two partitions of 3 and 2 columns in one file")

    keys = Matrix("keys", "f64", 2, 12_000_000_000, {
        (0, -4_000_000_000): 0.25, (0, 1_999_999_999): -1e-5, (0, 2_000_000_000): -0.0,
        (1, -1): NAN["f64"], (1, 7_999_999_999): 1 / 3}, first=[-4_000_000_000])
    put("ColIdValueBinaryRowFormat", "SPARSE_LONGKEY", keys, [-4_000_000_000, 2_000_000_000, 8_000_000_000],
        "row type T_DOUBLE_SPARSE_LONGKEY, two partitions of 6000000000 columns each")

    clicks = Matrix("clicks", "i64", 3, 7, {(0, 0): (1 << 63) - 1, (0, 6): -2, (2, 1): -(1 << 63), (2, 3): 0, (2, 5): 5})
    put("RowIdColIdValueBinaryRowFormat", "SPARSE", clicks, [0, 4, 7],
        "row type T_LONG_SPARSE, two partitions; row 1 has no cell")

    special = dense("special", "f64", [[0.0, -0.0, INF, -INF], [1e-4, 12345678.9, 0.001, 1e22]])
    put("ValueTextRowFormat", "DENSE", special, [0, 2, 4], "row type T_DOUBLE_DENSE, numbers as Java spells them")

    weight = dense("input_weight", "f32", [[0.5, 0.0, -1.25, 1e-4, 0.1], [3.0, 1e7, math.nan, 9999999.0, -0.0]])
    put("ColIdValueTextRowFormat", "DENSE", weight, [0, 3, 5], "row type T_FLOAT_DENSE, what input layers have")

    sparse = Matrix("fc_weight", "f32", 3, 9, {(0, 1): 0.5, (0, 8): -0.1, (1, 4): 2.0, (2, 0): 16777216.0, (2, 4): INF})
    put("RowIdColIdValueTextRowFormat", "SPARSE", sparse, [0, 5, 9], "row type T_FLOAT_SPARSE, what fully connected layers have")

    factors = dense("embedding_embedding", "f32", [[1.0, -2.0, 0.5, 3.25], [NAN["f32"], 0.1, -0.0, -INF], [1e-30, 8.0, 7.0, 6.0]])
    put("BinaryColumnFormat", "DENSE", factors, [0, 3, 4], "row type T_FLOAT_DENSE, three rows for each column")

    doubles = dense("embedding_embedding", "f64", [[0.1, 1e-9], [-0.0, 1 / 3], [1e300, 100.0]])
    put("TextColumnFormat", "DENSE", doubles, [0, 2], "row type T_DOUBLE_DENSE, what embeddings have; one partition")

    slots = dense("w", "f32", [[0.5, -1.5, 2.0]])
    slots.rows, slots.said = 3, {"saved": [0]}
    put("ColIdValueTextRowFormat", "DENSE", slots, [0, 3], "only row 0 of 3 is saved, behind it was the state of the optimizer",
        name="slots", saved=[0], block=100,
        options={"note": "größe \"q\" \\ \t x", "matrix.save.path": "hdfs://nn:9000/model/w"})

    tabs = dense("w", "f32", [[0.5, -1.5, 1e-4]])
    put("ColIdValueTextRowFormat", "DENSE", tabs, [0, 3], "with tabs between column and value, of which the metadata say nothing",
        name="tabs", separator="\t")

    lost = Matrix("w", "f32", 2, 8, {(0, 0): 0.5, (0, 4): 1.5, (0, 7): -2.5, (1, 3): 3.5, (1, 5): 4.5})
    put("ColIdValueTextRowFormat", "SPARSE", lost, [0, 3, 6, 8], "but those of release 3.2.0, which forgets the columns of "
        "partitions and writes columns relative to them", name="release_3_2_0", relative=True)

    hashed = Matrix("emb", "f32", 2, (1 << 40) + 8, {(0, -7): 0.5, (1, 3): 2.5, (0, 1 << 40): -1.5, (1, 65538): 4.0}, first=[-7])
    parts = partitions(hashed, [0, 0, 0])
    for p in parts:
        p.rows = [(r, [(c, v) for c, v in hashed.row(r) if hashed_key(c) % 2 == p.number]) for r in range(2)]
    files = model(hashed, "ColIdValueTextRowFormat", "SPARSE_LONGKEY", parts, (-1, -1),
                  columns=(-(1 << 63), (1 << 63) - 1), size=-1)
    save("angel", "hash", by.format("ColIdValueTextRowFormat", "row type T_FLOAT_SPARSE_LONGKEY, two hash partitions"),
         [hashed], folder(hashed, files))
    other_metadata()


def folder(m, files):
    return {f"model/{m.name}/{file}": content for file, content in files.items()}


def hashed_key(key):
    """The hash by which Angel's HashPartitioner places a long key: its low 32 bits, folded."""
    low = key & 0xffffffff
    h = abs(low - (1 << 32) if low >> 31 else low)
    return h ^ h >> 16


def other_metadata():
    held = Matrix("w", "f32", 2, 8, {(0, 3): -1.0, (0, 0): 0.5, (1, 7): 2.0})
    one = partitions(held, [0, 8])
    save("angel", "psmeta", "A snapshot of a server: its binary metadata, and the rows as it held them. "
         "Made byte by byte after what Angel's class SnapshotFormat writes; no document says it.",
         [held], folder(held, {"psmeta": psmeta(held, one, 1), "0": snapshot(held, one[0])}))

    weight, bias = dense("input_weight", "f32", [[0.5, -1.25, 0.0, 3.0]]), dense("input_bias", "f32", [[-0.073112495]])
    files = {"model/graph.json": LR_GRAPH}
    for m in (bias, weight):
        files |= folder(m, model(m, "ColIdValueTextRowFormat", "DENSE", partitions(m, [0, m.cols]), (1, m.cols), file="meta"))
    save("angel", "release_3_1", "A model of logistic regression as Angel 2.1 to 3.1 saves it, with its network. "
         "Made byte by byte after the section ColIdValueTextRowFormat of Angel's document (\"Storage Format\").",
         [bias, weight], files, beside={"graph.json": None})

    old = Matrix("lr_weight", "f64", 2, 6, {(0, 0): 0.5, (0, 5): -1.25, (1, 2): 1e-3})
    save("angel", "release_1_5", "A model of Angel 1.x: binary metadata, and data that say their rows and counts. Row type 1 is "
         "T_DOUBLE_SPARSE. Made byte by byte after what release 1.5.1 writes; no document says it.",
         [old], folder(old, version_1(old, 1)))

    plain = dense("w", "f32", [[0.5, -1.0, 0.25], [2.0, 4.0, 8.0]])
    save("angel", "document", "Written by hand after Angel's document (\"Storage Format\") alone: the metadata are JSON, no more "
         "than the fields that it lists; the data are of its section TextColumnFormat.",
         [plain], folder(plain, {"_meta": DOCUMENT_META, "0": "0,0.5,2.0\n1,-1.0,4.0\n2,0.25,8.0\n"}))


LR_GRAPH = """{
  "data": {"format": "libsvm", "indexrange": 4},
  "model": {"modeltype": "T_FLOAT_DENSE", "modelsize": 4},
  "train": {"epoch": 10, "lr": 0.1},
  "layers": [
    {"name": "input", "type": "simpleinputlayer", "outputdim": 1, "transfunc": "identity", "optimizer": "sgd"},
    {"name": "losslayer", "type": "losslayer", "inputlayer": "input", "lossfunc": "logloss"}
  ]
}
"""

DOCUMENT_META = """{
  "matrixId": 0, "rowType": 7, "row": 2, "blockRow": 2, "col": 3, "blockCol": 3, "matrixName": "w",
  "formatClassName": "com.tencent.angel.model.output.format.TextColumnFormat", "options": {},
  "partMetas": {
    "0": {
      "startRow": 0, "endRow": 2, "startCol": 0, "endCol": 3, "nnz": 6, "fileName": "0", "offset": 0, "length": 32,
      "saveRowNum": 0, "saveColNum": 3, "saveColElemNum": 2,
      "rowMetas": {
        "0": {"rowId": 0, "offset": 0, "elementNum": 3, "saveType": 0},
        "1": {"rowId": 1, "offset": 0, "elementNum": 3, "saveType": 0}
      }
    }
  }
}
"""
