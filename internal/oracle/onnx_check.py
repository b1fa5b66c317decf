"""Trains a small model of every algorithm with thole, exports it as ONNX, and compares what ONNX Runtime makes of the examples with
what thole predict says. Needs onnx, onnxruntime and numpy: python onnx_check.py path/to/thole [largest difference]"""

import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile

import numpy
import onnx
import onnxruntime

FIELDS, LEVELS, ROWS = 6, 10, 300
CLASSES = 3
REGRESSION = {"linreg", "robust"}


def examples(kind, short, base):
    """Rows of (label, ids, values): one value in each field, in ascending order of columns; with short some fields are left out."""
    draw = random.Random(7)
    rows = []
    for _ in range(ROWS):
        ids, vals, score = [], [], 0.0
        for f in range(FIELDS):
            if short and f and draw.random() < 0.3:
                continue
            k = draw.randrange(LEVELS)
            ids.append(base + f * LEVELS + k)
            vals.append(round(draw.uniform(0.5, 1.5), 3))
            score += (k - 4.5) / 5 * vals[-1] * (1 if f % 2 else -1)
        label = {"value": round(score, 3), "count": max(0, round(score + 1)), "class": int(min(CLASSES - 1, max(0, score + 1)))}
        rows.append((label.get(kind, int(score > 0)), ids, vals))
    return rows


def write(path, rows, fields):
    with open(path, "w") as f:
        for label, ids, vals in rows:
            cells = [f"{(i // LEVELS) % FIELDS}:{i}:{v}" if fields else f"{i}:{v}" for i, v in zip(ids, vals)]
            f.write(f"{label} {' '.join(cells)}\n")


def feeds(session, rows):
    names = [i.name for i in session.get_inputs()]
    if names == ["x"]:
        x = numpy.zeros((len(rows), session.get_inputs()[0].shape[1]), numpy.float32)
        for r, (_, ids, vals) in enumerate(rows):
            x[r, ids] = vals
        return {"x": x}
    ids = numpy.zeros((len(rows), FIELDS), numpy.int64)
    vals = numpy.zeros((len(rows), FIELDS), numpy.float32)
    for r, (_, i, v) in enumerate(rows):
        ids[r, : len(i)] = i
        vals[r, : len(v)] = v
    return {"ids": ids, "vals": vals}


def check(thole, algo, variant, train=(), export=(), short=False, base=0, fields=False, scale=1.0):
    """The largest differences of score and prediction, relative to 1 and the value. Values are multiplied by scale after training."""
    run = lambda *args: subprocess.run([thole, *map(str, args)], check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    kind = "value" if algo in REGRESSION else {"poisson": "count", "softmax": "class"}.get(algo, "binary")
    with tempfile.TemporaryDirectory() as dir:
        at = lambda name: os.path.join(dir, name)
        rows = examples(kind, short, base)
        data = at("rows.ffm" if fields else "rows.libsvm")
        write(data, rows, fields)
        try:
            run("train", *(("--algo", algo) if algo else ()), "--data", data, "--index-base", 0, "--epochs", 3, "--model", at("model"),
                "--runs", "none", *train)
            if scale != 1:
                one = lambda v, sign: [v[0] * scale * sign] + [0] * (len(v) - 1)  # of several far ones the digits would cancel
                rows = [(label, i, one(v, (-1) ** r)) for r, (label, i, v) in enumerate(rows)]
            elif "dense" not in export:  # every seventh row has a feature of the same field that training did not see
                rows = [(label, [*i[:-1], i[-1] + 1000 * FIELDS * LEVELS] if r % 7 == 3 else i, v) for r, (label, i, v) in enumerate(rows)]
            data = at("fed.ffm" if fields else "fed.libsvm")
            write(data, rows, fields)
            run("predict", "--model", at("model"), "--data", data, "--index-base", 0, "--out", at("out.csv"))
            run("export", at("model"), at("model.onnx"), *export)
        except subprocess.CalledProcessError as e:
            sys.exit(f"{algo or 'other layers'} {variant}: {' '.join(e.cmd)}\n{e.stderr.decode()}")
        model = onnx.load(at("model.onnx"))
        onnx.checker.check_model(model, full_check=True)
        session = onnxruntime.InferenceSession(at("model.onnx"), providers=["CPUExecutionProvider"])
        score, prediction = session.run(["score", "prediction"], feeds(session, rows))
        with open(at("out.csv")) as f:
            head, *table = list(csv.reader(f))
    got = {"margin": score[:, 0], "prediction": prediction[:, 0]}
    for c, name in enumerate(head):
        for pattern, values in (("margin|score", score), ("prob", prediction)):
            if re.match(pattern, name) and re.search(r"[0-9]$", name):
                got[name] = values[:, int(re.search(r"[0-9]+$", name).group())]
    if score.shape[1] > 1:
        got["prediction"] = prediction.argmax(1)
        del got["margin"]
    differences = {"score": 0.0, "prediction": 0.0}
    compared = 0
    for c, name in enumerate(head):
        if name not in got:
            continue
        want = numpy.array([float(row[c]) for row in table])
        got[name] = got[name].astype(numpy.float64)
        same = (got[name] == want) | (numpy.isnan(got[name]) & numpy.isnan(want))  # also where there is no difference, inf - inf
        with numpy.errstate(invalid="ignore"):
            diff = numpy.max(numpy.where(same, 0, numpy.abs(got[name] - want) / (1 + numpy.abs(want))))
        kind = "score" if re.match("margin|score", name) else "prediction"
        differences[kind] = max(differences[kind], float(diff))
        compared += 1
    if compared < 2:
        sys.exit(f"{algo} {variant}: columns {head}, want a margin and a prediction at least")
    return differences["score"], differences["prediction"]


def layers(name):
    """A network of the kinds of layers and transfer functions that no algorithm has, and a loss."""
    fc = lambda name, of, n, f: {"name": name, "type": "FCLayer", "outputdims": [n], "transfuncs": [f], "inputlayer": of}
    return {
        "data": {"format": "libsvm", "indexrange": FIELDS * LEVELS, "numfield": FIELDS},
        "train": {"epoch": 3, "lr": 0.05, "batchsize": 50},
        "default_optimizer": "adam",
        "layers": [
            {"name": "embedding", "type": "Embedding", "numfactors": 3, "outputdim": 3 * FIELDS},
            {"name": "norm", "type": "BatchNormLayer", "inputlayer": "embedding"},
            {"name": "drop", "type": "DropoutLayer", "proba": 0.2, "inputlayer": "norm"},
            {"name": "outer", "type": "BiOuterCross", "inputlayer": "embedding"},
            {"name": "cross", "type": "CrossLayer", "rank": 2, "depth": 2, "inputlayer": "drop"},
            fc("a", "outer", 4, "sigmoid"),
            fc("b", "cross", 4, "tanh"),
            fc("c", "drop", 4, "softmax"),
            {"name": "mul", "type": "MulPooling", "inputlayers": ["a", "b"]},
            {"name": "dot", "type": "DotPooling", "inputlayers": ["b", "c"]},
            {"name": "sum", "type": "SumPooling", "inputlayers": ["mul", "c"]},
            {"name": "side", "type": "ConcatLayer", "inputlayers": ["sum", "dot"]},
            fc("out", "side", 1, "sigmoid" if name == "crossentropyloss" else "identity"),
            {"name": "loss", "type": "SimpleLossLayer", "lossfunc": name, "inputlayer": "out"},
        ],
    }


def main():
    thole, bound = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 1e-5
    listed = subprocess.run([thole, "algos"], check=True, stdout=subprocess.PIPE).stdout.decode()
    algos = re.findall(r"^  (\w+)  ", listed.split("Update rules")[0], re.M)
    failed = False
    print("| model | variant | score | prediction |\n|---|---|---|---|")
    dim = ("--dim", FIELDS * LEVELS)
    for algo in algos:
        fields = ("--fields", FIELDS) if algo in FIELD_ALGOS else ()
        cases = [("sparse feed", dict(train=(*dim, *fields), export=("--feed", "sparse"), fields=algo == "ffm"))]
        if algo in OPEN:
            cases.append(("shorter rows", dict(train=dim, export=("--feed", "sparse"), short=True)))
        if algo in DENSE:
            cases.append(("dense feed", dict(train=dim, export=("--feed", "dense"), short=True)))
        if algo in OPEN:  # in layers behind each other the digits of far values cancel
            far = 1e30 if algo in DENSE else 1e5
            cases.append((f"values times {far:.0e}", dict(train=dim, export=("--feed", "sparse"), scale=far)))
        cases.append(("columns by key", dict(train=("--sparse", *fields), export=("--external-data",), base=10**12 // 60 * 60,
                                              fields=algo == "ffm")))
        for variant, how in cases:
            score, prediction = check(thole, algo, variant, **how)
            failed |= not (score <= bound and prediction <= bound)
            print(f"| {algo} | {variant} | {score:.1e} | {prediction:.1e} |", flush=True)
    for loss in ("logloss", "crossentropyloss", "hingeloss", "l2loss", "huberloss", "poissonloss"):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as f:
            json.dump(layers(loss), f)
            f.flush()
            score, prediction = check(thole, None, loss, train=("--graph", f.name))
        failed |= not (score <= bound and prediction <= bound)
        print(f"| other layers | {loss} | {score:.1e} | {prediction:.1e} |", flush=True)
    sys.exit("a difference is beyond %g" % bound if failed else 0)


DENSE = {"lr", "linreg", "svm", "softmax", "robust", "poisson"}
OPEN = DENSE | {"fm", "nfm"}
FIELD_ALGOS = {"dnn", "wdl", "deepfm", "pnn", "dcn"}

if __name__ == "__main__":
    main()
