"""papers/figures/smallsvg.py, and the size of what docs/ carries."""

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import smallsvg

ROOT = Path(__file__).resolve().parents[2]
SVG = """<?xml version="1.0"?>
<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9" xmlns="http://www.w3.org/2000/svg">
 <metadata>who made it</metadata>
 <defs><style type="text/css">*{stroke-linejoin: round}</style>
  <path id="m1a2b" d="M 0.123456 1.987654 C 1 2 2 3 3.000001 4" style="stroke: #000; fill: none"/>
  <clipPath id="p77"><rect x="1.23456" y="2" width="3" height="4"/></clipPath></defs>
 <g id="line_1"><g><use xlink:href="#m1a2b" x="1.25999" y="2.000001" style="fill: red"/></g>
  <path clip-path="url(#p77)" d="M 1 2" style="fill: red"/></g>
 <g id="text_1"><text style="font: 10px sans" transform="rotate(-0 1 2)">two &lt; 3.14159</text></g>
</svg>
"""


def test_what_is_seen_stays():
    small = smallsvg.smaller(SVG)
    root = ElementTree.fromstring(small)
    assert len(small) < len(SVG) * 0.85
    assert "<style>" in small
    names = {each.get("id") for each in root.iter() if each.get("id")}
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', small))
    assert names == used and len(names) == 2
    classes = {each.get("class") for each in root.iter() if each.get("class")}
    (rules,) = [each.text for each in root.iter() if each.tag.endswith("style")]
    assert all(f".{name}{{" in rules for name in classes) and len(classes) == 3
    uses = [each for each in root.iter() if each.tag.endswith(("use", "text"))]
    assert [(each.get("x"), each.get("y")) for each in uses] == [("1.2", "2"), (None, None)]
    assert "fill:red" in rules and "stroke:#000;fill:none" in rules


def absolute(path: str) -> list[tuple[str, list[float]]]:
    """A path's steps, each with the place where it ends."""
    out, at, start = [], (0.0, 0.0), (0.0, 0.0)
    for command, rest in re.findall(r"([MmLlHhVvCcz])([^MmLlHhVvCcz]*)", path):
        numbers = [float(n) for n in re.findall(r"-?(?:\d+\.?\d*|\.\d+)", rest)]
        size = {"h": 1, "v": 1, "c": 6, "z": 0}.get(command.lower(), 2)
        for i in range(0, max(len(numbers), 1), max(size, 1)):
            step = numbers[i : i + size]
            if command == "h":
                at = (at[0] + step[0], at[1])
            elif command == "v":
                at = (at[0], at[1] + step[0])
            elif command == "z":
                at = start
            else:
                base = (0.0, 0.0) if command.isupper() else at
                at = (base[0] + step[-2], base[1] + step[-1])
            start = at if command.lower() == "m" else start
            out.append(("M" if command.lower() == "m" else "z" if command == "z" else "L", at))
    return out


def test_relative_paths_end_where_the_absolute_ones_do():
    path = "M 10.26 20 L 10.26 5.5 L 30.14 5.5 L 31.2 7.9 L 40 7.9 L 41 7 z M 1 2 "
    path += "C 1 3 4 5 6.5 -7 L 0 0 "
    for digits in (0, 1):
        small = smallsvg.relative(path, digits)
        wanted, found = absolute(path), absolute(small)
        assert [each for each, _ in wanted] == [each for each, _ in found]
        for (_, (x, y)), (_, (to_x, to_y)) in zip(wanted, found, strict=True):
            assert abs(x - to_x) <= 0.51 * 10**-digits and abs(y - to_y) <= 0.51 * 10**-digits
        assert len(small) < 0.8 * len(path)


def test_docs_stay_small():
    files = [*(ROOT / "docs").rglob("*"), *(ROOT / "papers/results").rglob("*")]
    sizes = {path: path.stat().st_size for path in files if path.is_file()}
    assert not [path for path, size in sizes.items() if path.suffix == ".svg" and size > 60_000]
    assert sum(sizes.values()) < 2_520_000


def test_texts_have_one_font_and_colours_are_short():
    rules = (
        ".c0{fill:#ffffff}.c1{font-size:10px;font-family:'A','B';text-anchor:end}.c2{fill:#1f77b4}"
    )
    lighter = smallsvg.lighter(rules)
    assert lighter == (
        f"text{{{smallsvg.FONT}}}.c0{{fill:#fff}}.c1{{font-size:10px;text-anchor:end}}.c2{{fill:#1f77b4}}"
    )
    assert smallsvg.lighter(".c0{stroke:#aabbc0}") == ".c0{stroke:#aabbc0}"
