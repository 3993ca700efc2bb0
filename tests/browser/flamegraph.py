"""Flame graphs opened from files in headless Chromium: prints a line per test as tests/run wants it.

    flamegraph.py DRAW FOLDER       DRAW makes SVG from folded text; FOLDER is for files
"""
import os
import random
import subprocess
import sys
import time

from webdriver import Browser, Failed

draw, folder = sys.argv[1:]
slack = float(os.environ.get("LIVE_SLACK", "1"))

MIXED = """\
app;main;parse;lex 200
app;main;parse;Lexer::next (const) 100
app;main;eval;call;parse;lex 100
app;main;eval;<script>window.evil = 1</script> 50
app;main;eval;' onclick='window.evil = 1 50
app;idle 300
"""
CHANGED = """\
app;main;parse 200 260
app;main;eval 230 120
app;main;gone 30 0
app;main;fresh 0 55
idle 300 300
"""

SNAPSHOT = """
const rects = [...document.querySelectorAll(".boxes rect")];
return JSON.stringify([rects.filter(r => r.getAttribute("display") !== "none").map(r =>
	[r.firstChild.textContent, r.getAttribute("x"), r.getAttribute("width"), r.getAttribute("class")]),
	[...document.querySelectorAll(".labels text")].map(t => t.textContent),
	document.querySelector(".matched").textContent, document.querySelector("input").value,
	document.querySelector(".ignore").checked]);
"""
# the frame whose title begins like that
RECT = """
const rect = [...document.querySelectorAll(".boxes rect")].find(r =>
	r.firstChild.textContent.startsWith(arguments[0] + " ("));
"""


def picture(name, folded, *options):
    """An SVG in the folder; its address."""
    path = os.path.join(folder, name + ".svg")
    with open(path, "wb") as out:
        subprocess.run([draw, *options], input=folded.encode("utf-8", "surrogateescape"), stdout=out,
                       stderr=subprocess.DEVNULL, check=True)
    return "file://" + path


def want(is_so, what):
    if not is_so:
        raise Failed(f"not so: {what}")


def equal(got, wanted, what):
    if got != wanted:
        raise Failed(f"{what}: {got!r}, not {wanted!r}")


class Page:
    """What a person does with a picture, and what they see."""

    def __init__(self, browser):
        self.browser = browser

    def open(self, address):
        self.browser.open(address)

    def click(self, name):
        element = self.browser.script(RECT + "return rect;", name)
        self.browser.click(element)

    def box(self, name):
        """x and width in percent; None if it is hidden or not there."""
        return self.browser.script(RECT + """
            if (!rect || rect.getAttribute("display") === "none") return null;
            return [parseFloat(rect.getAttribute("x")), parseFloat(rect.getAttribute("width"))];""", name)

    def has_class(self, name, kind):
        return self.browser.script(RECT + "return rect.classList.contains(arguments[1]);", name, kind)

    def labels(self):
        return self.browser.script(
            'return [...document.querySelectorAll(".labels text")].map(t => t.textContent)')

    def text(self, selector):
        return self.browser.script("return document.querySelector(arguments[0]).textContent", selector)

    def fragment(self):
        return self.browser.script("return location.hash")

    def snapshot(self):
        return self.browser.script(SNAPSHOT)

    def search(self, text):
        self.browser.press("/", text)


def opens(p, at):
    """a picture opens from a file, with names on its frames"""
    p.open(at["mixed"])
    labels = p.labels()
    for name in "all", "app", "main", "parse", "idle", "Lexer::next (const)":
        want(name in labels, f"a label {name}")
    equal(p.box("main"), [37.5, 62.5], "main")
    equal(p.browser.script("return document.title"), "Flame graph", "the window's title")


def zooms(p, at):
    """a click makes a frame as wide as the picture, Back and the root undo it"""
    p.open(at["mixed"])
    whole = p.snapshot()
    p.click("eval")
    equal(p.box("eval"), [0, 100], "eval")
    equal(p.box("call"), [50, 50], "call, half of it")
    for name in "all", "app", "main":
        equal(p.box(name), [0, 100], f"its caller {name}")
        want(p.has_class(name, "above"), f"{name} is dimmed")
    equal(p.box("idle"), None, "a frame beside it")
    want("idle" not in p.labels(), "no label of a hidden frame")
    want(p.fragment().startswith("#zoom="), "the address says so")
    p.click("call")
    equal(p.box("call"), [0, 100], "call, zoomed further")
    p.browser.script("history.back()")
    p.browser.wait('return document.querySelectorAll(".boxes .above").length === 3', "Back undoes one")
    equal(p.box("eval"), [0, 100], "eval again")
    p.click("all")
    equal(p.snapshot(), whole, "the root shows all")
    equal(p.fragment(), "", "the address without a fragment")


def searches(p, at):
    """a search marks frames and counts what lies in each other once"""
    p.open(at["mixed"])
    p.search("parse|lex")
    want(p.has_class("lex", "hit") and p.has_class("parse", "hit"), "both are marked")
    want(not p.has_class("Lexer::next (const)", "hit"), "another case is another name")
    equal(p.text(".matched"), "matched 50.00% in 4 frames", "lex is part of parse")
    p.browser.press("Escape")
    equal(p.text(".matched"), "", "nothing after Escape")
    p.search("LEX")
    equal(p.text(".matched"), "matched 0.00% in 0 frames", "no name of that case")
    p.browser.click(p.browser.find(".ignore"))
    equal(p.text(".matched"), "matched 50.00% in 3 frames", "case ignored")
    p.click("eval")
    equal(p.text(".matched"), "matched 50.00% in 3 frames, 50.00% of this view", "zoomed")


def takes_any_unit(p, at):
    """a name ends where its weight begins, whatever the unit is called"""
    p.open(at["unit"])
    want("Lexer::next (const)" in p.labels() and "idle" in p.labels(), f"labels: {p.labels()}")
    p.search("samples|us")
    equal(p.text(".matched"), "matched 0.00% in 0 frames", "the unit is no part of a name")


def refuses(p, at):
    """what is no regular expression is said to be none"""
    p.open(at["mixed"])
    p.search("pa(")
    equal(p.text(".matched"), "not a regular expression", "while it is typed")
    p.browser.press("r)")
    equal(p.text(".matched"), "matched 50.00% in 2 frames", "when it is whole")


def resets(p, at):
    """the button shows everything again"""
    p.open(at["mixed"])
    whole = p.snapshot()
    p.search("lex")
    p.browser.click(p.browser.find(".ignore"))
    p.click("eval")
    p.browser.click(p.browser.find("button"))
    equal(p.snapshot(), whole, "as opened")
    equal(p.fragment(), "", "the address without a fragment")


def reopens(p, at):
    """a link shows the same view again"""
    p.open(at["mixed"])
    p.search("LEX")
    p.browser.click(p.browser.find(".ignore"))
    p.click("parse")
    seen, address = p.snapshot(), p.browser.address()
    p.open(address)
    equal(p.snapshot(), seen, f"what {address} shows")
    p.open(at["mixed"] + "#zoom=99999&search=%3Cscript%3E&case=x&other=1")
    equal(p.box("all"), [0, 100], "a frame that is not there is none")
    want(p.has_class("<script>window.evil = 1</script>", "hit"), "the search is taken as it is")


def has_keys(p, at):
    """all of it works from the keyboard"""
    for name, up, down in ("mixed", "Up", "Down"), ("icicle", "Down", "Up"):
        p.open(at[name])
        p.browser.press("Tab", up)
        want(p.text(".details").startswith("all (800 samples"), "it begins at the root")
        p.browser.press(up, up)
        want(p.text(".details").startswith("idle (300 samples, 37.50%"), "two rows deeper")
        p.browser.press("Right")
        want(p.text(".details").startswith("main ("), "to the right")
        p.browser.press("Left", "Right", up, up, down, "Enter")
        equal(p.box("eval"), [0, 100], "Enter zooms")
        p.browser.press("Escape")
        equal(p.box("idle"), [0, 37.5], "Escape shows all")
        p.browser.press("/", "idle", "Enter", "Down")
        want(p.has_class("idle", "hit"), "/ searches")


def light(colour):
    parts = [c / 255 for c in colour]
    parts = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(a, b):
    """As the Web Content Accessibility Guidelines compute it; text needs 4.5."""
    high, low = max(light(a), light(b)), min(light(a), light(b))
    return (high + 0.05) / (low + 0.05)


LOOKS = """
const of = (element) => getComputedStyle(element).fill.match(/[0-9]+/g).map(Number);
const box = (name) => of([...document.querySelectorAll(".boxes rect")].find(r =>
	r.firstChild.textContent.startsWith(name)));
return { paper: of(document.querySelector(".paper")), text: of(document.querySelector(".labels text")),
	 page: getComputedStyle(document.documentElement).backgroundColor.match(/[0-9]+/g).map(Number),
	 grew: box("parse"), fell: box("eval"), fresh: box("fresh") };
"""


def is_dark(p, at):
    """colours follow the reader's preference, and mean the same"""
    p.open(at["changed"])
    try:
        for night in False, True:
            p.browser.dark(night)
            seen = p.browser.script(LOOKS)
            want((light(seen["paper"]) < 0.05) == night, f"paper by night: {night}")
            equal(seen["page"], seen["paper"], "the page around it")
            want(seen["grew"][0] > max(seen["grew"][1:]), "what grew is red")
            want(seen["fell"][2] > max(seen["fell"][:2]), "what fell is blue")
            want(min(seen["fresh"][:2]) > seen["fresh"][2], "what is new is yellow")
            want(contrast(seen["text"], seen["paper"]) > 7, "text on paper")
    finally:
        p.browser.dark(False)


def can_be_read(p, at):
    """names can be read on all colours, by day and by night"""
    names = [f"f{i}{mark}" for i in range(80) for mark in ("", "_[k]", "_[j]", "_[i]", "_[w]", "::x")]
    names += [f"java/{i}" for i in range(80)] + [f"[{i}]" for i in range(80)] + ["--"]
    pairs = "".join(f"f{i} 100 {i * 5}\n" for i in range(80))
    seen = 0
    for option in "on-cpu", "off-cpu", "memory", "wakeup", "chain", "kinds", "difference", "hot-cold":
        address = picture("colours", pairs if option in ("difference", "hot-cold") else
                          "".join(f"{name} 1\n" for name in names), option)
        p.open(address)
        for is_night in False, True:
            p.browser.dark(is_night)
            colours = p.browser.script("""return [...new Set([...document.querySelectorAll("rect[class^=c]")]
                .map(r => getComputedStyle(r).fill))].map(c => c.match(/[0-9]+/g).map(Number))""")
            text = p.browser.script("""return getComputedStyle(document.querySelector(".title"))
                .fill.match(/[0-9]+/g).map(Number)""")
            for colour in colours:
                seen += 1
                ratio = contrast(text, colour)
                want(ratio >= 4.5, f"{option}: {text} on {colour} is {ratio:.1f}")
        p.browser.dark(False)
    want(seen > 300, f"{seen} colours")


def needs_no_script(p, at):
    """without script names and numbers are there, and no control that does nothing"""
    try:
        p.browser.scripts_off(True)
        p.open(at["fixed"])
        labels = p.labels()
        want("Lexer::next (const)" in labels and "parse" in labels, f"labels: {labels}")
        equal(p.browser.script(RECT + "return rect.firstChild.textContent", "idle"),
              "idle (300 samples, 37.50%)", "the title of idle")
        equal(p.browser.script('return document.querySelectorAll("input, button").length'), 0, "controls")
        sizes = p.browser.script("""return [...document.querySelectorAll(".labels text")].map(t =>
            [t.getComputedTextLength(), [...document.querySelectorAll(".boxes rect")].find(r =>
             r.getAttribute("x") === t.getAttribute("x") && +r.getAttribute("y") + 11 == t.getAttribute("y"))
             .getBoundingClientRect().width])""")
        for length, room in sizes:
            want(length <= room, f"a label of {length} px fits into {room} px")
    finally:
        p.browser.scripts_off(False)


def is_harmless(p, at):
    """names are shown, never run"""
    p.open(at["mixed"])
    p.click("<script>window.evil = 1</script>")
    p.click("all")
    p.click("' onclick='window.evil = 1")
    want("' onclick='window.evil = 1" in p.labels(), "its label is its name")
    p.search("evil")
    equal(p.text(".matched"), "matched 12.50% in 2 frames, 100.00% of this view", "both are found")
    equal(p.browser.script("return window.evil"), None, "window.evil")


def is_fluid(p, at):
    """names are fitted again when the window's width changes"""
    p.open(at["mixed"])
    want("Lexer::next (const)" in p.labels(), "there is room at first")
    try:
        p.browser.size(500, 700)
        p.browser.wait("""return ![...document.querySelectorAll(".labels text")].some(t =>
                          t.textContent === "Lexer::next (const)")""", "less room, shorter names")
        want(p.browser.script("return document.documentElement.scrollWidth <= innerWidth"), "it fits")
        want("Lexer.." in p.labels(), f"cut names: {p.labels()}")
    finally:
        p.browser.size(1300, 900)


def begins_below(p, at):
    """a picture higher than the window begins at its root, with the controls in sight"""
    p.open(at["tall"])
    for what in "document.querySelector('.boxes rect')", "document.querySelector('.controls')":
        p.browser.wait(f"const r = {what}.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight",
                       f"{what} is in sight")
    want("not drawn: 300 frames more than 2000 deep" in p.text(".facts"), "what is cut is said")


# After the frame in which it is drawn.
ZOOM = """
const done = arguments[1], start = performance.now();
document.querySelectorAll(".boxes rect")[arguments[0]].dispatchEvent(new MouseEvent("click", { bubbles: true }));
requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
"""


def is_quick(p, at):
    """200,000 different stacks: open and zoom in less than a second"""
    address = at["large"]
    size = os.path.getsize(address[len("file://"):])
    want(size < 3000000, f"{size} bytes are less than 3 MB")
    opened, zoomed, back = [], [], []
    for _ in range(3):
        p.open(address)
        opened.append(p.browser.wait(
            "const n = performance.getEntriesByType('navigation')[0]; return n && n.loadEventEnd", "loaded"))
        for frame, times in (1, zoomed), (0, back):
            times.append(p.browser.ask("POST", "/execute/async", {"script": ZOOM, "args": [frame]}))
    want(p.browser.script("return document.querySelectorAll('.boxes rect').length") > 5000, "5000 frames")
    for what, times in ("open", opened), ("zoom", zoomed), ("zoom back", back):
        want(min(times) < 1000 * slack, f"{what} takes {min(times):.0f} ms")
    return f"{size / 1e6:.1f} MB; opens in {min(opened):.0f} ms, zooms in {min(zoomed):.0f} ms"


def large():
    chance = random.Random(1)
    stacks = {}
    while len(stacks) < 200000:
        depth = chance.randint(6, 24)
        stack = ";".join(f"ns{i}::Class{min(int(chance.paretovariate(1)), 12)}<int>::method_{i}"
                         for i in range(depth))
        stacks.setdefault(stack, int(chance.paretovariate(1.2)))
    return "".join(f"{stack} {weight}\n" for stack, weight in stacks.items())


def main():
    at = {
        "mixed": picture("mixed", MIXED), "icicle": picture("icicle", MIXED, "icicle"),
        "unit": picture("unit", MIXED, "unit=us (busy (and waiting))"),
        "fixed": picture("fixed", MIXED, "fixed"), "changed": picture("changed", CHANGED, "difference"),
        "tall": picture("tall", ";".join(["f"] * 2300) + " 1\n"), "large": picture("large", large()),
    }
    browser = Browser(os.path.join(folder, "profile"))
    page = Page(browser)
    try:
        for test in (opens, zooms, searches, takes_any_unit, refuses, resets, reopens, has_keys, is_dark, can_be_read, needs_no_script,
                     is_harmless, is_fluid, begins_below, is_quick):
            what = test.__doc__
            try:
                remark = test(page, at)
                console = browser.console()
                want(not console, f"no error in the console: {console}")
                print(f"ok browser/flamegraph: {what}" + (f" ({remark})" if remark else ""))
            except Failed as error:
                print(f"FAIL browser/flamegraph: {what}: {error}")
    finally:
        browser.close()


main()
