"""DAPHNE's binary format: headers and blocks after its document ("Binary Data Format"), and what DAPHNE itself writes instead.

All numbers are little-endian. Every function gives fields: bytes and their meaning.
"""
import struct

from golden import INF, NAN, Matrix, listed, packed, save
from golden import dense as matrix

# The codes of value types: of the document, and of DAPHNE.
DOCUMENT = {"u8": 1, "u16": 2, "u32": 3, "u64": 4, "i8": 5, "i16": 6, "i32": 7, "i64": 8, "f32": 9, "f64": 10}
DAPHNE = {"i8": 0, "i32": 1, "i64": 2, "u8": 3, "u32": 4, "u64": 5, "f32": 6, "f64": 7}

DENSE, CSR, FRAME = (1, "DenseMatrix"), (2, "CSRMatrix"), (3, "Frame")


def number(code, value, meaning):
    return struct.pack("<" + code, value), f"{meaning} {value}"


def header(data_type, rows, cols, kinds, codes, labels=()):
    """The header of a matrix, or with labels that of a frame."""
    code, name = data_type
    found = [number("B", 1, "version"), (bytes([code]), f"data type {code}, {name}"), number("Q", rows, "rows"),
             number("Q", cols, "columns")]
    found += [(bytes([codes[k]]), f"value type {codes[k]}, {k}") for k in kinds]
    for label in labels:
        text = label.encode()
        found += [number("H", len(text), "length of the label"), (text, label)]
    return found


def position(row, col):
    return [number("Q", row, "row of the block"), number("Q", col, "column of the block")]


def block(rows, cols, code, name):
    return [number("I", rows, "rows of the block"), number("I", cols, "columns of the block"),
            (bytes([code]), f"block type {code}, {name}")]


def values(kind, some):
    return [(packed("<", kind, v), f"value {v}") for v in some]


def value_type(kind, codes):
    return [(bytes([codes[kind]]), f"value type {codes[kind]}, {kind}")]


def empty(rows, cols):
    return block(rows, cols, 0, "empty")


def dense(rows, cols, kind, some, codes=DOCUMENT):
    return block(rows, cols, 1, "dense") + value_type(kind, codes) + values(kind, some)


def csr(rows, cols, kind, cells, codes=DOCUMENT):
    """The document's sparse block: of each row the count, then column and value. cells are by row and column of the block."""
    found = block(rows, cols, 2, "sparse") + value_type(kind, codes) + [number("Q", len(cells), "stored cells")]
    for r in range(rows):
        row = [(c, v) for (at, c), v in sorted(cells.items()) if at == r]
        found.append(number("I", len(row), f"row {r}, stored cells"))
        for c, v in row:
            found += [number("I", c, "  column")] + values(kind, [v])
    return found


def coo(rows, cols, kind, cells, codes=DOCUMENT):
    """The document's ultra-sparse block: row, column and value; no column where there is but one."""
    found = block(rows, cols, 3, "ultra-sparse") + value_type(kind, codes) + [number("I", len(cells), "stored cells")]
    for (r, c), v in sorted(cells.items()):
        found += [number("I", r, "row")] + ([number("I", c, "column")] if cols > 1 else []) + values(kind, [v])
    return found


def three_arrays(rows, cols, kind, cells):
    """DAPHNE's sparse block: where each row begins, all columns, all values."""
    found = block(rows, cols, 2, "sparse") + value_type(kind, DAPHNE) + [number("Q", len(cells), "stored cells")]
    ends = [sum(1 for r, _ in cells if r < end) for end in range(rows + 1)]
    found += [number("Q", n, f"row {r} begins at" if r < rows else "the last row ends at") for r, n in enumerate(ends)]
    found += [number("Q", c, "column") for _, c in sorted(cells)]
    return found + values(kind, [cells[at] for at in sorted(cells)])


def release_0_1(m):
    """A dense matrix as release 0.1 wrote it: the structures of its memory, with their padding."""
    found = [number("B", 1, "version"), (b"\x01", "data type 1, DenseMatrix"), (bytes(6), "padding"), number("Q", m.rows, "rows"),
             number("Q", m.cols, "columns")] + value_type(m.kind, DAPHNE) + position(0, 0)
    found += block(m.rows, m.cols, 1, "dense") + [(bytes(3), "padding")] + value_type(m.kind, DAPHNE)
    return found + values(m.kind, [m.cells[at] for at in sorted(m.cells)])


# The golden files.

def goldens():
    document = "Made byte by byte after DAPHNE's document (\"Binary Data Format\"), {}."
    own = "Made byte by byte after what DAPHNE's own writer (0.2 and later) makes of {}."

    def put(name, about, m, head, *body, write=None):
        save("daphne", name, about, [m], {"m.dbdf": sum(body, head)}, write=write)

    m = matrix("m", "f64", [[1.5, -0.0, NAN["f64"]], [INF, 5e-324, 0.1]])
    put("dense", document.format("section Dense block"), m, header(DENSE, 2, 3, ["f64"], DOCUMENT),
        position(0, 0), dense(2, 3, "f64", listed(m)), write={"blocks": "as-is"})
    put("dense_daphne", own.format("a DenseMatrix"), m, header(DENSE, 2, 3, ["f64"], DAPHNE),
        position(0, 0), dense(2, 3, "f64", listed(m), DAPHNE), write={"dialect": "daphne", "meta": "false"})
    put("dense_0_1", "Made byte by byte after what DAPHNE's release 0.1 wrote of a DenseMatrix: structures of its memory, with "
        "their padding.", m, release_0_1(m))

    s = Matrix("m", "f32", 4, 6, {(0, 1): 1.5, (0, 5): -2.0, (3, 0): 0.1, (3, 2): -INF, (3, 3): 3.0, (3, 4): 1e-45})
    put("csr", document.format("section Sparse block"), s, header(CSR, 4, 6, ["f32"], DOCUMENT),
        position(0, 0), csr(4, 6, "f32", s.cells), write={"blocks": "as-is"})
    put("csr_daphne", own.format("a CSRMatrix"), s, header(CSR, 4, 6, ["f32"], DAPHNE),
        position(0, 0), three_arrays(4, 6, "f32", s.cells), write={"dialect": "daphne", "meta": "false"})

    few = Matrix("m", "i64", 5, 3, {(0, 2): -1, (4, 0): 1 << 40})
    put("coo", document.format("section Ultra-sparse block: a block with more than one column, and one with one"), few,
        header(CSR, 5, 3, ["i64"], DOCUMENT), position(0, 0), coo(5, 2, "i64", {(4, 0): 1 << 40}),
        position(0, 2), coo(5, 1, "i64", {(0, 0): -1}))

    b = matrix("m", "i32", [[1, 2, 0, 0], [3, 255, 0, 0], [0, -70000, 0, 0], [0, 0, 9, 0]])
    put("multiblock", document.format("sections Body and Block types: four blocks of all types and of several value types"), b,
        header(DENSE, 4, 4, ["i32"], DOCUMENT), position(0, 0), dense(2, 2, "u8", [1, 2, 3, 255]), position(0, 2), empty(2, 2),
        position(2, 0), csr(2, 2, "i32", {(0, 1): -70000}), position(2, 2), coo(2, 2, "u16", {(1, 0): 9}))

    kinds, labels = ["i64", "f64", "u8"], ["id", "größe", "flag"]
    f = matrix("m", "f64", [[-1, 0.5, 1], [7, -0.0, 255]], labels=labels, types=kinds)
    columns = [part for c, k in enumerate(kinds) for part in position(0, c) + dense(2, 1, k, f.column(c))]
    put("frame", document.format("section Header: a frame, each column of which is a block"), f,
        header(FRAME, 2, 3, kinds, DOCUMENT, labels), columns, write={"meta": "false"})

    f.said = {"types": kinds}
    rows = [part for r in range(2) for c, v in f.row(r) for part in values(kinds[c], [v])]
    put("frame_daphne", own.format("a Frame, but for the labels, which hold pieces of its memory there and nothing here: "
                                   "no block, the values of each row together"), f,
        header(FRAME, 2, 3, kinds, DAPHNE, [""] * 3), position(0, 0), rows, write={"dialect": "daphne", "meta": "false"})
