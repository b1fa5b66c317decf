"""Archives of golden files: what they hold, cell by cell, and the files themselves, bytes with their meaning.

The Go package format/formattest says how an archive is read. Nothing here knows of a storage format.
"""
import json
import math
import os
import struct
import textwrap

import numpy as np

FORMATS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")

# The element types, as NumPy and as struct call them. bf16 is the upper half of an f32.
NUMPY = {"f64": "f8", "f32": "f4", "f16": "f2", "i64": "i8", "i32": "i4", "i16": "i2", "i8": "i1",
         "u64": "u8", "u32": "u4", "u16": "u2", "u8": "u1", "bool": "?"}
STRUCT = {"f64": "d", "f32": "f", "f16": "e", "i64": "q", "i32": "i", "i16": "h", "i8": "b",
          "u64": "Q", "u32": "I", "u16": "H", "u8": "B", "bool": "?"}


class Bits(int):
    """A value by its bits, such as one NaN of many."""

    def __str__(self):
        return hex(self)


# The NaN that arithmetic gives.
NAN = {"f64": Bits(0x7ff8000000000000), "f32": Bits(0x7fc00000), "f16": Bits(0x7e00), "bf16": Bits(0x7fc0)}
INF = math.inf


class Text(bytes):
    """Bytes that are shown as text."""


class Matrix:
    """A matrix: its cells by row and column, and what else is known of it."""

    def __init__(self, name, kind, rows, cols, cells, layout="sparse", **said):
        self.name, self.kind, self.rows, self.cols = name, kind, rows, cols
        self.cells, self.layout, self.said = cells, layout, said

    def lines(self):
        yield f"matrix {self.name} {self.kind} {self.rows} x {self.cols} {self.layout}"
        for what, words in self.said.items():
            for level in words if what == "sequences" else [words]:
                yield " ".join([what, *(json.dumps(w, ensure_ascii=False) if what == "labels" else str(w) for w in level)])
        types = self.said.get("types")
        for row, col in sorted(self.cells):
            kind = types[col] if types else self.kind
            yield f"{row} {col} {spell(self.cells[row, col], kind)}"

    def column(self, col):
        return [self.cells[row, col] for row in range(self.rows)]

    def row(self, row):
        """The cells of a row that there are: column and value, columns ascending."""
        return [(c, self.cells[r, c]) for r, c in sorted(self.cells) if r == row]


def dense(name, kind, rows, **said):
    """A matrix with a value in every cell, from its rows."""
    first = said.get("first", [0])[0]
    cells = {(r, first + c): v for r, row in enumerate(rows) for c, v in enumerate(row)}
    return Matrix(name, kind, len(rows), len(rows[0]), cells, "dense", **said)


def listed(m):
    """All values of a dense matrix, by rows."""
    return [m.cells[at] for at in sorted(m.cells)]


def spell(value, kind):
    """A value so that it reads back to the same bits."""
    if isinstance(value, Bits):
        return str(value)
    if kind[0] not in "fb" or kind == "bool":
        return str(int(value))
    if math.isnan(value) or math.isinf(value):
        return str(float(value)).replace("nan", "NaN")
    if kind == "f32":
        return str(np.float32(value))
    return repr(float(value))


def packed(order, kind, value):
    """The bytes of a value; order is < or >."""
    if isinstance(value, Bits):
        return value.to_bytes(struct.calcsize("<" + STRUCT.get(kind, "H")), "little" if order == "<" else "big")
    if kind == "bf16":
        return packed(order, "f32", value)[slice(2, 4) if order == "<" else slice(0, 2)]
    return struct.pack(order + STRUCT[kind], value)


def cut(data, *marks):
    """Fields of data that another program wrote: each mark says where one begins and what it is."""
    ends = [at for at, *_ in marks[1:]] + [len(data)]
    return [((Text if text else bytes)(data[at:end]), meaning) for (at, meaning, *text), end in zip(marks, ends) if end > at]


def joined(fields):
    """The bytes of fields."""
    return b"".join(data for data, _ in fields)


def hexed(fields):
    """Fields as lines of bytes and their meaning."""
    for data, meaning in fields:
        if isinstance(data, Text):
            shown = ["`" + data.decode() + "`"]
        elif len(data) > 16 and len(set(data)) == 1:
            shown = [f"{data[0]:02x}*{len(data)}"]
        else:
            shown = [data[i:i + 16].hex(" ") for i in range(0, len(data), 16)]
        for i, line in enumerate(shown):
            yield f"{line:<23}  {'' if i else meaning}".rstrip()


def save(format, name, about, matrices, files, options=None, write=None, beside=None):
    """Writes an archive.

    files are texts, or lists of fields, by their names: a single file, or those of one folder. options are those to read with,
    write those with which the same bytes are to be written; beside are the files that are no part of the matrices, by their
    names, with their content where it is none of files.
    """
    folder = {"npz": "npy"}.get(format, format)
    parts = [textwrap.fill(about, 120) + "\n", "-- cells --\n", f"format {format}\n"]
    parts += [f"file {file}" + (" " + json.dumps(text) if text else "") + "\n" for file, text in (beside or {}).items()]
    parts += [line + "\n" for m in matrices for line in m.lines()]
    for section, settings in (("options", options), ("write", write)):
        if settings is not None:
            parts += [f"-- {section} --\n", *(f"{key} {value}\n" for key, value in settings.items())]
    for path, content in files.items():
        if isinstance(content, str):
            assert content.endswith("\n") and "\n-- " not in content, path
            parts += [f"-- {path} --\n", content]
        else:
            parts += [f"-- {path}.hex --\n", *(line + "\n" for line in hexed(content))]
    to = os.path.join(FORMATS, folder, "testdata", "golden")
    os.makedirs(to, exist_ok=True)
    with open(os.path.join(to, name + ".txtar"), "w", encoding="utf-8", newline="") as f:
        f.writelines(parts)
