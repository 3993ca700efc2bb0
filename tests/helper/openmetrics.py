"""A strict reader of OpenMetrics text 1.0, and of what the older Prometheus text format (which collectors of text
files still parse with) does not take. Prints what is wrong; status 1. --self-test feeds it nonsense."""
import math
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(r"(%s)(?:\{((?:%s(?:,%s)*)?)\})? (\S+)" % (NAME, LABEL, LABEL))
COMMENT = re.compile(r"# (HELP|TYPE|UNIT) (%s) (.*)" % NAME)
NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|NaN|[+-]Inf")


class Bad(Exception):
    pass


def family_of(name, families):
    if name in families:
        return name
    if name.endswith("_total") and name[:-6] in families:
        return name[:-6]
    raise Bad("sample %s belongs to no family" % name)


def check(data):
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as e:
        raise Bad("not UTF-8: %s" % e)
    if not text.endswith("# EOF\n") or text.count("# EOF\n") != 1:
        raise Bad("does not end in one # EOF")
    if "\r" in text:
        raise Bad("a carriage return")
    families, order, seen, current = {}, [], set(), None
    for number, line in enumerate(text[:-6].split("\n")[:-1], 1):
        try:
            current = check_line(line, families, order, seen, current)
        except Bad as e:
            raise Bad("line %d: %s: %s" % (number, e, line[:200]))
    for name, family in families.items():
        if not family["samples"]:
            raise Bad("family %s has no sample" % name)
        if "TYPE" not in family or "HELP" not in family:
            raise Bad("family %s lacks TYPE or HELP" % name)
        if "UNIT" in family and not name.endswith("_" + family["UNIT"]):
            raise Bad("family %s does not end in its unit %s" % (name, family["UNIT"]))
    return len(seen)


def check_line(line, families, order, seen, current):
    if line.startswith("#"):
        m = COMMENT.fullmatch(line)
        if not m:
            raise Bad("no comment that is allowed")
        kind, name, rest = m.groups()
        if name != current:
            if name in families:
                raise Bad("the family is not in one piece")
            families[name] = {"samples": 0}
            order.append(name)
        family = families[name]
        if kind in family:
            raise Bad("%s twice" % kind)
        if family["samples"]:
            raise Bad("%s behind a sample" % kind)
        if kind == "TYPE" and rest not in ("gauge", "counter"):
            raise Bad("type %s" % rest)
        if kind == "TYPE" and rest == "counter" and name.endswith("_total"):
            raise Bad("the family of a counter ends in _total")
        if kind == "HELP" and re.search(r'(?<!\\)(?:\\\\)*(?:\\[^\\n"]|")', rest):
            raise Bad("an escape or a quote that not both formats know")
        family[kind] = rest
        return name
    m = SAMPLE.fullmatch(line)
    if not m:
        raise Bad("neither a comment nor a sample")
    name, labels, value = m.groups()
    family = family_of(name, families)
    if family != current:
        raise Bad("the family is not in one piece")
    kind = families[family].get("TYPE")
    if (kind == "counter") != name.endswith("_total") or (kind == "gauge" and name != family):
        raise Bad("name does not fit type %s" % kind)
    if not NUMBER.fullmatch(value):
        raise Bad("value %s" % value)
    number = float(value)
    if kind == "counter" and not (number >= 0 and math.isfinite(number)):
        raise Bad("a counter of %s" % value)
    if not math.isfinite(number):
        raise Bad("unknown is left out, not %s" % value)
    names = re.findall(r'([a-zA-Z_][a-zA-Z0-9_]*)="', re.sub(r'"(?:[^"\\]|\\.)*"', '""', labels or "").replace('""', '"'))
    if len(set(names)) != len(names):
        raise Bad("a label twice")
    if any(n.startswith("__") for n in names):
        raise Bad("a reserved label")
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f]", labels or ""):
        raise Bad("a control byte in a label")
    key = (name, tuple(sorted(re.findall(LABEL, labels or ""))))
    if key in seen:
        raise Bad("the sample is there twice")
    seen.add(key)
    families[family]["samples"] += 1
    return current


def self_test():
    head = "# HELP a_seconds text\n# TYPE a_seconds gauge\n# UNIT a_seconds seconds\n"
    good = head + 'a_seconds{x="1\\"\\\\\\n"} 1.5\na_seconds{x="2"} -2\n# HELP c text\n# TYPE c counter\nc_total 4\n# EOF\n'
    check(good.encode())
    bad = {
        "no end": good.replace("# EOF\n", ""), "two ends": good + "# EOF\n",
        "behind the end": good + "a 1\n", "a family in two pieces": head + "a_seconds 1\n# HELP b x\n# TYPE b gauge\nb 1\n"
        "a_seconds{x=\"2\"} 1\n# EOF\n", "no type": "# HELP a x\na 1\n# EOF\n", "no help": "# TYPE a gauge\na 1\n# EOF\n",
        "wrong unit": good.replace("UNIT a_seconds seconds", "UNIT a_seconds bytes"), "no value": head + "a_seconds\n# EOF\n",
        "a word": head + "a_seconds one\n# EOF\n", "NaN": head + "a_seconds NaN\n# EOF\n", "a time": head + "a_seconds 1 5\n# EOF\n",
        "a double": head + 'a_seconds{x="1"} 1\na_seconds{x="1"} 2\n# EOF\n', "label name": head + 'a_seconds{1x="1"} 1\n# EOF\n',
        "same label twice": head + 'a_seconds{x="1",x="2"} 1\n# EOF\n', "an open quote": head + 'a_seconds{x="1} 1\n# EOF\n',
        "escape": head + 'a_seconds{x="\\t"} 1\n# EOF\n', "a tab": head + 'a_seconds\t1\n# EOF\n',
        "a counter without _total": "# HELP c x\n# TYPE c counter\nc 1\n# EOF\n", "an empty line": head + "\na_seconds 1\n# EOF\n",
        "counter below 0": "# HELP c x\n# TYPE c counter\nc_total -1\n# EOF\n", "empty family": head + "# EOF\n",
        "a metric of nobody": "b 1\n# EOF\n", "late type": "# HELP a x\na 1\n# TYPE a gauge\n# EOF\n",
    }
    for what, text in bad.items():
        try:
            check(text.encode())
        except Bad:
            continue
        sys.exit("took for good: %s" % what)
    try:
        check(good.replace("text", "\udcff").encode("utf-8", "surrogateescape"))
        sys.exit("took for good: not UTF-8")
    except Bad:
        pass


if sys.argv[1] == "--self-test":
    self_test()
else:
    with open(sys.argv[1], "rb") as f:
        try:
            if not check(f.read()):
                raise Bad("no sample at all")
        except Bad as e:
            sys.exit(str(e))
