"""Checks a file of perfbox --json lines: every line an object of known form. Prints what is wrong; status 1."""
import json
import math
import re
import sys

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
NAME = re.compile(r"[a-z][a-z0-9_]*")
IDS = {"tid", "tgid", "cpu"}


def pairs(items):
    names = [k for k, _ in items]
    if len(set(names)) != len(names):
        raise ValueError("a name twice in one object")
    return dict(items)


def nonsense(text):
    raise ValueError("%s is no JSON number" % text)


def check(line):
    row = json.loads(line, object_pairs_hook=pairs, parse_constant=nonsense)
    names = list(row)
    if names[:2] != ["table", "time"] or not TIME.fullmatch(row["time"]):
        raise ValueError("table and time do not lead")
    for name, value in row.items():
        if not NAME.fullmatch(name):
            raise ValueError("name %r" % name)
        if isinstance(value, dict) and (row["table"], name) != ("findings", "evidence"):
            raise ValueError("%s is an object" % name)
        if isinstance(value, list):
            raise ValueError("%s is a list" % name)
        if name in IDS and not (value is None or isinstance(value, str)):
            raise ValueError("%s is not a string" % name)
        is_measure = name.endswith(("_ns", "_ratio", "_per_second", "_bytes", "_cpus", "_count"))
        if is_measure and not (value is None or type(value) in (int, float)):
            raise ValueError("%s is not a number" % name)
    if row["table"] == "findings":
        want = {"id", "state", "netns", "subject", "evidence", "text", "proof", "next"}
        if set(names) - {"table", "time", "names"} != want:
            raise ValueError("members of a finding: %s" % names)
        for name, value in row["evidence"].items():
            if not NAME.fullmatch(name) or isinstance(value, (dict, list)):
                raise ValueError("evidence %r" % name)
            if isinstance(value, float) and not math.isfinite(value):
                raise ValueError("evidence %r" % value)
    return row["table"], tuple(names)


members = {}
with open(sys.argv[1], "rb") as f:
    data = f.read()
if not data.endswith(b"\n"):
    sys.exit("no newline at the end")
for number, line in enumerate(data[:-1].split(b"\n"), 1):
    try:
        table, names = check(line.decode("utf-8"))
        if members.setdefault(table, names) != names:
            raise ValueError("other members than the row of %s before" % table)
    except ValueError as e:
        sys.exit("line %d: %s: %s" % (number, e, line[:200]))
