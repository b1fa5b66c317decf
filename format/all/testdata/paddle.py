"""Paddle's parameters and topologies: the table of its design document ("Model Format"), and the layouts that Paddle wrote.

Every function gives fields: bytes and their meaning. Numbers are little-endian unless said otherwise.
"""
import hashlib
import io
import pickle
import pickletools
import struct
import tarfile

import numpy as np

from golden import INF, NAN, cut, dense, joined, listed, packed, save

# Codes of element types and kinds of variables, which share one list (VarType.Type).
TYPES = {"bool": 0, "i16": 1, "i32": 2, "i64": 3, "f16": 4, "f32": 5, "f64": 6, "u8": 20, "i8": 21, "bf16": 22}
DENSE_TENSOR, FEED, FETCH = 7, 9, 10


def number(code, value, meaning, order="<"):
    return struct.pack(order + code, value), f"{meaning} {value}"


def values(kind, some, order="<"):
    return [(packed(order, kind, v), f"value {v}") for v in some]


# Protocol buffers: a message is a list of fields, each behind its tag.

def varint(n):
    """Of negative numbers the low 64 bits."""
    n &= (1 << 64) - 1
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def integer(field, value, meaning):
    return [(varint(field << 3) + varint(int(value)), f"{meaning} {value}")]


def double(field, value, meaning):
    return [(varint(field << 3 | 1) + struct.pack("<d", value), f"{meaning} {value}")]


def string(field, text, meaning):
    return [(varint(field << 3 | 2) + varint(len(text)) + text.encode(), f"{meaning} {text}")]


def message(field, meaning, *parts):
    inside = sum(parts, [])
    size = len(joined(inside))
    return [(varint(field << 3 | 2) + varint(size), f"{meaning}, {size} bytes")] + [(data, "  " + what) for data, what in inside]


def tensor_desc(kind, dims):
    return integer(1, TYPES[kind], f"data type, {kind}:") + [part for d in dims for part in integer(2, d, "dimension")]


# The layouts of parameters.

def bare(kind, dims, some):
    """A tensor without sequences."""
    desc = tensor_desc(kind, dims)
    head = [number("I", 0, "tensor version"), number("i", len(joined(desc)), "length of the TensorDesc")]
    return head + desc + values(kind, some)


def levels(sequences):
    found = [number("Q", len(sequences), "levels of sequences")]
    for level in sequences:
        found.append(number("Q", 8 * len(level), "bytes of the level"))
        found += [number("Q", n, "offset") for n in level]
    return found


def stream(kind, dims, some, sequences=()):
    """A tensor as release 0.12 and later write it."""
    return [number("I", 0, "LoDTensor version")] + levels(sequences) + bare(kind, dims, some)


def v011(kind, dims, some, sequences=()):
    """A tensor as release 0.11 wrote it: the sequences come last."""
    return bare(kind, dims, some) + levels(sequences)


def selected_rows(kind, rows, height, width, some):
    found = [number("I", 0, "SelectedRows version"), number("Q", len(rows), "rows")] + [number("q", r, "row") for r in rows]
    return found + [number("q", height, "height")] + bare(kind, [len(rows), width], some)


def pr4602(kind, dims, some):
    """A tensor as the tree of October 2017 wrote it: a LoDTensorProto, and the values."""
    desc = tensor_desc(kind, dims) + integer(4, 0, "levels of sequences")
    data = values(kind, some)
    head = [number("Q", len(joined(desc)), "length of the LoDTensorProto"), number("Q", len(joined(data)), "bytes of the values")]
    return head + desc + data


def tnum(tensors):
    """The one file of releases 1.6 and 1.7; tensors are name, kind, dims and values, sorted."""
    found = [(bytes(256), "reserved"), (b"TNUM", "mark"), number("Q", len(tensors), "tensors")]
    for name, kind, dims, some in tensors:
        found += [(b"NAME", "mark"), number("Q", len(name), "length of the name"), (name.encode(), name)] + bare(kind, dims, some)
    return found


def v2_param(some):
    """A parameter of Paddle before Fluid; it does not say its shape."""
    return [number("i", 0, "format"), number("I", 4, "bytes of a value"), number("Q", len(some), "values")] + values("f32", some)


def v2_config(name, size, dims):
    found = string(1, name, "name") + integer(2, size, "size") + double(5, 0.0, "initial mean")
    return found + [part for d in dims for part in integer(9, d, "dimension")]


def seed(tensors, order="<"):
    """The table of the design document. tensors are name, dims, values (f32) and sequences.

    Of its offsets 0009 is read as 0012, so that the checksum has its 32 bits: the first 8 hex digits of the MD5 of what follows.
    """
    found = []
    for name, dims, some, sequences in tensors:
        found += [(bytes([bool(sequences)]), "LoDTensor" if sequences else "tensor")]
        found += [number("I", len(name), "length of the name", order), (name.encode(), name)]
        found += [number("I", len(dims), "dimensions", order)] + [number("I", d, "dimension", order) for d in dims]
        if sequences:
            found.append(number("I", len(sequences), "levels of sequences", order))
            for level in sequences:
                found.append(number("I", len(level), "offsets of the level", order))
                found += [number("I", n, "offset", order) for n in level]
        found += values("f32", some, order)
    digest = hashlib.md5(joined(found)).hexdigest()
    little = order == "<"
    return [number("I", little, "little-endian" if little else "big-endian", order), number("I", 110, "version", order),
            (struct.pack(order + "I", int(digest[:8], 16)), f"of the MD5 {digest}")] + found


# The topology.

def variable(name, kind, dims, parameter=False, fed=False):
    desc = message(3, "dense tensor", message(1, "TensorDesc", tensor_desc(kind, dims)), integer(2, 0, "levels of sequences"))
    parts = [string(1, name, "name"), message(2, "type", integer(1, DENSE_TENSOR, "dense tensor:"), desc),
             integer(3, parameter, "persistable:"), integer(4, True, "fed:") if fed else [],
             integer(5, True, "parameter:") if parameter else []]
    return message(3, f"variable {name}", *parts)


def holder(name, kind):
    return message(3, f"variable {name}", string(1, name, "name"), message(2, "type", integer(1, kind, name + ":")),
                   integer(3, True, "persistable:"))


def operator(name, inputs, outputs, **ints):
    def slots(field, what, of):
        return [p for slot, var in of for p in message(field, what, string(1, slot, "slot"), string(2, var, "variable"))]
    attrs = [p for key, n in ints.items()
             for p in message(4, "attribute", string(1, key, "name"), integer(2, 0, "type, int:"), integer(3, n, "value"))]
    return message(4, f"operator {name}", slots(1, "input", inputs), slots(2, "output", outputs), string(3, name, "type"), attrs)


def program(version, *parts):
    """A topology of one block."""
    return (message(1, "block", integer(1, 0, "number"), integer(2, -1, "parent"), *parts)
            + message(4, "version", integer(1, version, "version")))


# The golden files.

def dims(m):
    return m.said.get("shape", [m.rows, m.cols])


def stream_of(m):
    return stream(m.kind, dims(m), listed(m), m.said.get("sequences", ()))


def goldens():
    w = dense("fc_0.w_0", "f32", [[1.0, -2.0, 0.1], [NAN["f32"], -0.0, INF]])
    b = dense("fc_0.b_0", "f32", [[0.5, 0.25, -8.0]], shape=[3])
    seqs = dense("seq", "f32", [[1.0], [2.0], [3.0], [4.0], [5.0]], sequences=[[0, 2, 3], [0, 1, 3, 5]])
    for order, name in (("<", "little"), (">", "big")):
        tensors = [(m.name, dims(m), listed(m), m.said.get("sequences", ())) for m in (w, b, seqs)]
        by = f"Made byte by byte after the table of Paddle's design document (\"Model Format\"), {name}-endian."
        save("paddle", "seed004_" + name, by, [w, b, seqs], {"params": seed(tensors, order)}, write={"endian": name})
    streams()

    def put(name, by, what, ms, file, content, write=None):
        save("paddle", name, f"Made byte by byte after what Paddle's {by} writes: {what}.", ms, {file: content}, write=write)

    rows = dense("grad", "f32", [[1.0, 2.0], [3.0, 4.0]])
    content = selected_rows("f32", [1, 6], 8, 2, listed(rows))
    rows.cells, rows.rows, rows.said = {((1, 6)[r], c): v for (r, c), v in rows.cells.items()}, 8, {"saved": [1, 6]}
    put("selected_rows", "save operator", "SelectedRows, rows 1 and 6 of 8", [rows], "grad", content, {"layout": "selectedrows"})
    put("release_0_11", "save operator (0.11)", "a LoDTensor whose sequences come last", [seqs], "seq",
        v011("f32", [5, 1], listed(seqs), seqs.said["sequences"]))
    put("pr4602", "tree of October 2017", "a LoDTensorProto, and the values", [w], "fc_0.w_0", pr4602("f32", [2, 3], listed(w)))
    put("tnum", "save (1.6 and 1.7)", "all variables with their names, sorted", [b, w], "params",
        tnum([(m.name, "f32", dims(m), listed(m)) for m in (b, w)]))
    one = dense("w", "f32", [[1.5, -0.0, 2.5]], shape=[3])
    put("v2", "v2 API", "one parameter, which does not say its shape", [one], "w", v2_param(listed(one)))
    v2_tar()
    pickled()


def streams():
    by = "Made byte by byte after what Paddle's {} writes: {}."
    one = dense("seq", "bf16", [[1.0], [-2.0], [3.140625]], sequences=[[0, 1, 3]])
    save("paddle", "stream", by.format("save operator (0.12 and later)", "one LoDTensor, of type bf16, with sequences"),
         [one], {"seq": stream_of(one)}, write={"layout": "stream"})

    weight, bias = dense("fc_0.w_0", "f32", [[0.5], [-1.5]]), dense("fc_0.b_0", "f32", [[22.5]], shape=[1])
    linear = program(
        1008005, holder("feed", FEED), holder("fetch", FETCH),
        variable("fc_0.b_0", "f32", [1], parameter=True), variable("fc_0.w_0", "f32", [2, 1], parameter=True),
        variable("x", "f32", [-1, 2], fed=True), variable("y", "f32", [-1, 1]), variable("z", "f32", [-1, 1]),
        operator("feed", [("X", "feed")], [("Out", "x")], col=0),
        operator("mul", [("X", "x"), ("Y", "fc_0.w_0")], [("Out", "y")], x_num_col_dims=1, y_num_col_dims=1),
        operator("elementwise_add", [("X", "y"), ("Y", "fc_0.b_0")], [("Out", "z")], axis=1),
        operator("fetch", [("X", "z")], [("Out", "fetch")], col=0))
    save("paddle", "separate", by.format("save_inference_model (1.8)", "a topology, and a file for each variable"),
         [bias, weight], {"model/__model__": linear, "model/fc_0.b_0": stream_of(bias), "model/fc_0.w_0": stream_of(weight)},
         write={"layout": "separate"}, beside={"__model__": None})

    table, ids = dense("emb.w", "f32", [[0.5, 1.5], [-2.5, 0.1]]), dense("ids", "i64", [[7, -1, 1 << 40]], shape=[3])
    lookup = program(
        2004002, variable("ids", "i64", [3], parameter=True), variable("emb.w", "f32", [2, 2], parameter=True),
        variable("y", "f32", [3, 2]), operator("lookup_table_v2", [("Ids", "ids"), ("W", "emb.w")], [("Out", "y")]))
    save("paddle", "combined", by.format("jit.save (2.x)", "a topology, and one file of all variables, sorted, without names"),
         [table, ids], {"model/net.pdmodel": lookup, "model/net.pdiparams": stream_of(table) + stream_of(ids)},
         write={"layout": "combined"}, beside={"net.pdmodel": None})


# Where the fields of a member of an archive begin.
TAR = [(0, "name"), (100, "mode"), (108, "owner"), (116, "group"), (124, "size"), (136, "time"), (148, "checksum"),
       (156, "type: a file"), (157, "link"), (257, "magic"), (265, "owner"), (297, "group"), (329, "device"), (345, "prefix")]


def v2_tar():
    """The archive of Paddle's v2 API, by Python's tarfile as Paddle made it."""
    w = dense("w", "f32", [[1.5, -2.5], [0.1, 8.0]])
    members = {"w": v2_param(listed(w)), "w.protobuf": v2_config("w", 4, [2, 2])}
    out = io.BytesIO()
    with tarfile.TarFile(fileobj=out, mode="w") as t:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(joined(content))
            t.addfile(info, io.BytesIO(joined(content)))
    data, found = out.getvalue(), []
    for content in members.values():
        at = len(joined(found))
        found += cut(data[at:at + 512], *TAR) + content
        found += [(bytes(-len(joined(content)) % 512), "up to 512 bytes")]
    found.append((data[len(joined(found)):], "the end"))
    assert joined(found) == data
    save("paddle", "v2_tar", "Made by tarfile of Python, as Parameters.to_tar of Paddle's v2 API does: a member for the values "
         "and one for the description of each parameter.", [w], {"params.tar": found})


def pickled():
    """A state dict as paddle.save pickles it."""
    w = dense("fc.weight", "f32", [[0.5, -0.0], [NAN["f32"], 1e-3]])
    n = dense("steps", "i64", [[12, -1]], shape=[2])
    weight = np.frombuffer(b"".join(packed("<", "f32", v) for v in listed(w)), "<f4").reshape(2, 2).copy()
    names = {"fc.weight": "linear_0.w_0", "steps": "linear_0.n_0"}
    state = {"fc.weight": weight, "steps": np.array([12, -1], "<i8"), "StructuredToParameterName@@": names}
    data = pickle.dumps(state, protocol=4)
    marks = []
    for op, arg, at in pickletools.genops(data):
        if op.name != "MEMOIZE":  # which stands behind all that may come again
            marks.append((at, op.name if arg is None else f"{op.name} {len(arg) if isinstance(arg, bytes) else arg}"))
    save("paddle", "pickle", f"Made by pickle of Python, protocol 4, of arrays of NumPy {np.__version__}, as paddle.save does.",
         [w, n], {"model.pdparams": cut(data, *marks)})
