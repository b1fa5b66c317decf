def feed(rows):
    """The inputs of the model for raw rows: mappings from the names of columns to cells, such as those of csv.DictReader.

    Cells are text, numbers, booleans or datetimes; None, NaN and missing keys are missing values.
    """
    return INPUTS([encode(row) for row in rows])


def encode(row):
    """The features of a raw row by field: for each a list of (id, value), with ids counted from the first of the field."""
    fields = []
    for column in COLUMNS:
        if column["kind"] in ENCODERS:
            text = _text(row.get(column["name"]))
            try:
                fields.extend(ENCODERS[column["kind"]](column, text))
            except ValueError as error:
                raise ValueError(f"column {column['name']!r}: {error}") from None
    return fields


def features(rows):
    """The input of trees: for each row the features of all fields, NaN where one is missing."""
    out = numpy.zeros((len(rows), sum(size if how == "multi" else 1 for how, size, _, _ in FIELDS)), TYPE)
    for line, fields in zip(out, rows):
        at = 0
        for (how, size, _, _), ids in zip(FIELDS, fields):
            if how == "multi":
                for i, _ in ids:
                    line[at + i] = 1
                at += size
                continue
            (i, value), = ids
            if how == "numeric":
                line[at] = value if i == 0 else math.nan
            elif how == "buckets":
                line[at] = i if i > 0 else math.nan
            else:
                line[at] = i
            at += 1
    return {"features": out}


def sparse(rows):
    """The inputs of networks with embeddings: ids of features and their values, filled up with id 0 and value 0."""
    rows = [_placed(fields) if BY_PLACE else sum(_summed(fields), []) for fields in rows]
    width = max(map(len, rows), default=0)
    ids, vals = numpy.zeros((len(rows), width), numpy.int64), numpy.zeros((len(rows), width), numpy.float32)
    for line, row in enumerate(rows):
        for place, (i, value) in enumerate(row):
            ids[line, place], vals[line, place] = i, value
    return {"ids": ids, "vals": vals}


def dense(rows):
    """The input of networks without embeddings: a value for each feature."""
    x = numpy.zeros((len(rows), sum(size for _, size, _, _ in FIELDS)), numpy.float32)
    for line, fields in enumerate(rows):
        for i, value in sum(_summed(fields), []):
            x[line, i] = value
    return {"x": x}


def _summed(fields):
    """The features of a row by field: ids of the model with float32 values; those of several equal categories in a cell are added."""
    row = []
    for (_, _, first, _), ids in zip(FIELDS, fields):
        values = {}
        for i, value in ids:
            values[i] = numpy.float32(values.get(i, numpy.float32(0)) + numpy.float32(value))
        row.append([(first + i, values[i]) for i in sorted(values)])
    return row


def _placed(fields):
    """The features of a row, one for each field."""
    row = []
    for (_, _, _, name), ids in zip(FIELDS, _summed(fields)):
        if len(ids) > 1:
            raise ValueError(f"column {name!r}: {len(ids)} categories in a cell; the exported network takes one value for each field")
        row.extend(ids or [(0, numpy.float32(0))])
    return row


def _text(cell):
    if cell is None or cell != cell:
        return ""
    if isinstance(cell, (bool, numpy.bool_)):
        return "true" if cell else "false"
    if type(cell) is datetime.timedelta:
        clock = str(datetime.timedelta(0, cell.seconds, cell.microseconds))
        return f"{cell.days} days {'+' if cell.days < 0 else ''}{'0' if clock[1] == ':' else ''}{clock}"
    if isinstance(cell, numpy.floating):
        cell = float(str(cell))  # 0.1 of float32 is the text 0.1
    elif isinstance(cell, numpy.integer):
        cell = int(cell)
    if isinstance(cell, float) and cell == int(cell if math.isfinite(cell) else 0):
        return _plain(repr(cell))
    return str(cell)


# Numbers.

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?(inf|infinity|nan)", re.ASCII | re.IGNORECASE)


def _number(text):
    """The number that a text spells, None if it is not a number."""
    if not _NUMBER.fullmatch(text):
        return None
    x = float(text)
    return None if math.isinf(x) and "i" not in text.lower() else x  # beyond the largest float64


_ABSENT = [x for x in map(_number, MISSING) if x is not None and x == x]


def _value(column, text):
    """The number of a cell, None if it is missing."""
    x = _number(text)
    if text in MISSING or text == "" or x is not None and x in _ABSENT:
        return None
    trimmed = text.strip(" \t")
    if trimmed != text:
        return _value(column, trimmed)
    if x is None and column.get("format") == "duration":
        x = _duration(text)
    if x is None and text in _TRUTH:
        x = float(_TRUTH[text])
    if x is None or x != x:
        raise ValueError(f"{text!r}, want a number")
    if FLOAT32:
        x = float(numpy.float32(x))
    return x


def _scaled(column, x):
    """The number as the model sees it: log, then standardized, if the column has these settings."""
    if column.get("log"):
        a = abs(x)
        x = math.copysign(math.log1p(a) if a < 1e-3 else math.log(1 + a), x)
    if column.get("scale") != "none":
        x -= column.get("mean", 0)
        if column.get("deviation", 0) > 0:
            x *= 1 / column["deviation"]
    return x


def _numeric(column, text):
    return [_numbered(column, _value(column, text))]


def _numbered(column, x):
    if x is None:
        return [(1, 1.0 if column.get("nothing") else 0.0)]
    return [(0, _scaled(column, x))]


def _buckets(column, text):
    x = _value(column, text)
    if x is None:
        return [[(0, 1.0 if column.get("nothing") else 0.0)]]
    return [[(1 + bisect.bisect_right(column.get("bounds", []), x), 1.0)]]


def _duration(text):
    m = re.fullmatch(r"(-?)(?:(\d{1,9}) days?(?: ([+-]?)(?=\d))?)?(?:(\d{1,9}):([0-5]\d):([0-5]\d)(\.\d+)?)?", text, re.ASCII)
    if not m or m[2] is None and m[4] is None:
        return None
    sign = -1.0 if m[1] else 1.0
    seconds = sign * 86400 * float(m[2]) if m[2] else 0.0
    if m[4] is None:
        return seconds
    if m[2]:
        if int(m[4]) > 23:
            return None
        sign = -1.0 if m[3] == "-" else 1.0
    fraction = int((m[7] or ".")[1:10].ljust(9, "0") or "0") / 1e9
    return seconds + sign * (int(m[4]) * 3600.0 + (int(m[5]) * 60 + int(m[6])) + fraction)


# Categories.

_TRUTH = {"true": 1, "True": 1, "TRUE": 1, "false": 0, "False": 0, "FALSE": 0}


def _plain(text):
    """The text that all spellings of the same number share, the text itself if it is not a number."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    whole = len(digits) - len(digits.lstrip("0123456789"))
    if whole > 1 and digits[0] == "0":
        return text
    if digits and whole == len(digits):
        return digits if digits == "0" or text[0] == "+" else text
    x = _number(text)
    if x is None or x != x:
        return text
    if digits[whole:whole + 1] == "." and "e" not in digits.lower():
        fraction = digits[whole + 1:].rstrip("0")
        if len((digits[:whole].lstrip("0") + fraction).lstrip("0")) > 17:
            if f"{abs(x):.{len(digits) - whole - 1}f}" == digits:
                return _plain(repr(x))
            return ("-" if text[0] == "-" else "") + (digits[:whole] or "0") + ("." + fraction if fraction else "")
    if math.isinf(x):
        return "inf" if x > 0 else "-inf"
    if abs(x) < 2**64 and x == int(x):
        return str(int(x))
    short = repr(x)
    return format(decimal.Decimal(short), "f") if 1e-15 <= abs(x) < 1e15 else short


def _instant(text):
    """The text that all spellings of a time share, None if it is not a time."""
    if len(text) < 10 or text[4] != "-":
        return None
    for form in _ISO:
        found = _parsed(form, text)
        if found:
            at, offset = found
            m = re.search(r"[.,](\d+)", text)
            fraction = m[1][:9].rstrip("0") if m else ""
            at = at - (offset or datetime.timedelta(0))
            day = offset is None and not fraction and at == datetime.datetime(at.year, at.month, at.day)
            shown = at.strftime("%Y-%m-%d" if day else "%Y-%m-%d %H:%M:%S").rjust(10, "0")
            return shown + ("." + fraction if fraction else "") + ("" if offset is None else "Z")
    return None


def _is_plain(text):
    plain = _plain(text)
    return plain != text or bool(re.fullmatch(r"-?(0|[1-9]\d*)(\.\d*[1-9])?|-?\d(\.\d*[1-9])?e[+-]\d\d+|-?inf", text, re.ASCII))


def _comparison(levels):
    """How categories are compared: as numbers or booleans if all of them are those, else as texts."""
    levels = [t for t in (level.strip(" \t") for level in levels) if t]
    if levels and all(map(_instant, levels)):
        return "times"
    numbers = [t for t in levels if t not in _TRUTH]
    if not levels or not all(map(_is_plain, numbers)):
        return "texts"
    if all(_plain(t) in ("0", "1") for t in numbers):
        return "booleans"
    return "texts" if len(numbers) < len(levels) else "numbers"


def _key(comparison, text):
    """The text that all cells of a category share."""
    text = text.strip(" \t")
    if comparison == "booleans" and text in _TRUTH:
        return str(_TRUTH[text])
    if comparison == "times":
        return _instant(text) or text
    return _plain(text) if comparison in ("booleans", "numbers") else text


def _known(column):
    """The ids of categories by their texts and other spellings of them."""
    if "_known" in column:
        return column["_known"]
    levels = [level if isinstance(level, str) else None for level in column.get("levels", [])]
    known = {level: i + 1 for i, level in enumerate(levels) if level is not None}
    missing = known.get("", 0 if column.get("nothing") else None)
    if missing is not None:
        for text in ["", *MISSING]:
            known.setdefault(text, missing)
    said = column.get("compare", "")
    column["_compare"] = said or _comparison([level for level in levels if level])
    alias = column["_compare"] if column["_compare"] in ("booleans", "times") or said == "texts" else "numbers"
    for i, level in enumerate(levels):
        if level:
            known.setdefault(_key(alias, level), i + 1)
    if column["_compare"] in ("booleans", "numbers"):
        for text, i in _singles(levels):
            known.setdefault(text, i)
    column["_known"] = known
    return known


def _singles(levels):
    """The other spellings of fractions of float32, with their ids: of 0.1 all digits of the float64, of all digits 0.1."""
    numbers = [(i + 1, _number(level)) for i, level in enumerate(levels) if level]
    all_single = all(abs(x) < 3.4e38 and float(numpy.float32(x)) == x for _, x in numbers if x is not None)
    for i, x in numbers:
        if x is None or not abs(x) < 3.4e38 or x == int(x):
            continue
        single = numpy.float32(x)
        short = float(str(single))
        if short == x:
            yield _plain(repr(float(single))), i
        elif all_single:
            yield _plain(repr(short)), i


def _category(column, text):
    """The id of the category of a cell: 0 for all categories without an id."""
    known = _known(column)
    i = known.get(text)
    if i is None:
        i = known.get(_key(column["_compare"], text), 0)
    return i, 1.0 if i > 0 or column.get("other") else 0.0


def _categorical(column, text):
    return [[_category(column, text)]]


def _multi(column, text):
    parts = [part.strip() for part in text.split(column["separator"])]
    ids = [_category(column, part) for part in parts]
    return [[(i, value / len(parts)) for i, value in ids]]


def _hash(column, text):
    if column.get("compare"):
        text = _key(column["compare"], text)
        if text in MISSING:
            text = ""
    data = text.encode("utf-8")
    h, mask = len(data), 2**64 - 1
    for at in range(0, len(data), 8):
        h ^= int.from_bytes(data[at:at + 8], "little")
        for _ in range(2):
            h ^= h >> 32
            h = h * 0xD6E8FEB86659FD93 & mask
        h ^= h >> 32
    return [[(h * column["size"] >> 64, 1.0)]]


# Times.

_PARTS = {
    "hour": lambda t: t.hour + 1,
    "weekday": lambda t: t.isoweekday() % 7 + 1,  # 1 is Sunday
    "day": lambda t: t.day,
    "month": lambda t: t.month,
}
_MONTHS = ["january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november", "december"]
_DAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
_ZONES = {"UTC": 0, "GMT": 0, "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7, "Z": 0, "z": 0}
_EXPANDED = {"%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y", "%e": "%d", "%B": "%b", "%h": "%b", "%A": "%a"}
_DIRECTIVES = {
    "Y": r"(?P<Y>\d{4})", "G": r"(?P<G>\d{4})", "y": r"(?P<y>\d\d)", "m": r"(?P<m>\d\d?)", "d": r" ?(?P<d>\d\d?)", "j": r"(?P<j>\d{1,3})",
    "b": r"(?P<b>[A-Za-z]{3,})", "a": r"(?P<a>[A-Za-z]{3,})", "H": r"(?P<H>\d\d?)", "I": r"(?P<I>\d\d?)", "M": r"(?P<M>\d\d)",
    "S": r"(?P<S>\d\d?)(?:[.,](?P<F>\d+))?", "f": r"(?P<f>\d+)", "p": r"(?P<p>[AaPp](?:[Mm]|\.[Mm]\.))",
    "z": r"(?P<z>[+-]\d\d(?::?\d\d)?|" + "|".join(_ZONES) + ")", "V": r"(?P<V>\d\d)", "u": r"(?P<u>\d)",
    "s": r"(?P<s>[-+.\deE]+)", "Q": r"(?P<Q>[-+.\deE]+)",
}
_ISO = ["%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S%z", "%Y-%m-%dT%H:%M:%S%z", "%Y-%m-%d %H:%M",
        "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M%z", "%Y-%m-%dT%H:%M%z", "%Y-%m-%d %H:%M:%S %Z"]


@functools.lru_cache(None)
def _pattern(form):
    form = re.sub("%[%FTRDeBhA]", lambda m: _EXPANDED.get(m[0], m[0]), form)
    out, at = "", 0
    while at < len(form):
        c = form[at]
        if c == "%" and form[at + 1] != "%":
            d = form[at + 1].replace("Z", "z")
            out += r"(?P<S>\d\d?)" if form[at:at + 4] == "%S%f" else _DIRECTIVES[d]
            at += 2
        else:
            out += " +" if c == " " else re.escape(c)
            at += 2 if c == "%" else 1
    return re.compile(out, re.ASCII)


def _named(word, names):
    for i, name in enumerate(names):
        if word.lower() in (name, name[:3]) or name == "september" and word.lower() == "sept":
            return i + 1
    raise ValueError(word)


def _parsed(form, text):
    """The time that a text shows in a format, and its offset from UTC, None without one; None if the text does not have the format."""
    m = _pattern(form).fullmatch(text)
    if not m:
        return None
    g = {name: value for name, value in m.groupdict().items() if value is not None}
    try:
        for name, unit in (("s", 1), ("Q", 1000)):
            if name in g:
                seconds = math.floor(float(g[name]) / unit)
                return datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds), datetime.timedelta(0)
        hour = int(g.get("H", g.get("I", 0)))
        if "I" in g and not 1 <= hour <= 12 or "u" in g and not 1 <= int(g["u"]) <= 7:
            return None
        if "I" in g and "p" in g:
            hour = hour % 12 + (12 if g["p"][0] in "pP" else 0)
        year = int(g.get("Y", g.get("G", 1970)))
        if "y" in g:
            year = 1900 + int(g["y"]) + (100 if int(g["y"]) < 69 else 0)
        if "G" in g or "V" in g:
            day = datetime.date.fromisocalendar(year, int(g.get("V", 1)), int(g.get("u", 1)))
        elif "j" in g:
            day = datetime.date(year, 1, 1) + datetime.timedelta(days=int(g["j"]) - 1)
            if int(g["j"]) < 1 or day.year != year:
                return None
        else:
            day = datetime.date(year, _named(g["b"], _MONTHS) if "b" in g else int(g.get("m", 1)), int(g.get("d", 1)))
        if "a" in g:
            _named(g["a"], _DAYS)
        second = int(g.get("S", 0))
        if second > 60:
            return None
        at = datetime.datetime(day.year, day.month, day.day, hour, int(g.get("M", 0))) + datetime.timedelta(seconds=second)
    except ValueError:
        return None
    if "z" not in g:
        return at, None
    if g["z"] in _ZONES:
        return at, datetime.timedelta(hours=_ZONES[g["z"]])
    sign, digits = -1 if g["z"][0] == "-" else 1, g["z"][1:].replace(":", "").ljust(4, "0")
    return at, sign * datetime.timedelta(hours=int(digits[:2]), minutes=int(digits[2:]))


@functools.lru_cache(None)
def _zone(name):
    if name in ("Z", "UTC", "GMT"):
        return datetime.timezone.utc
    if name[0] in "+-":
        return datetime.timezone(_parsed("%H:%M%z", "00:00" + name)[1])
    return zoneinfo.ZoneInfo(name)


def _time(column, text):
    """The local time in the zone of the column, None if it is missing."""
    text = text.strip(" \t")
    form = column["format"]
    forms = [form]
    if not re.search("%[YymdjbGVuFDsQeBh]", form):
        forms += ["%H:%M:%S", "%H:%M"]
    elif len(text) >= 10 and text[4] == "-":
        forms += _ISO
    for one in forms:
        found = _parsed(one, text)
        if found:
            at, offset = found
            if offset is None or not column.get("timezone"):
                return at
            return (at - offset).replace(tzinfo=datetime.timezone.utc).astimezone(_zone(column["timezone"])).replace(tzinfo=None)
    if text == "" or text in MISSING:
        return None
    raise ValueError(f"{text!r}, want a time in the format {form}")


def _date(column, text):
    at = _time(column, text)
    for part in column["parts"]:
        if part == "days":
            days = None if at is None else (at - datetime.datetime(1970, 1, 1)) // datetime.timedelta(seconds=1) / 86400
            yield from [_numbered(column, days)]
        else:
            yield [(0 if at is None else _PARTS[part](at), 1.0)]


ENCODERS = {"numeric": _numeric, "buckets": _buckets, "categorical": _categorical, "multi": _multi, "hash": _hash, "date": _date}
INPUTS = {"trees": features, "sparse": sparse, "dense": dense}[KIND]
