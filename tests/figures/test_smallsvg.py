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
  <path id="m1a2b" d="M 0.123456 1.987654 L 3.000001 4" style="stroke: #000; fill: none"/>
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
    names = {each.get("id") for each in root.iter() if each.get("id")}
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', small))
    assert names == used and len(names) == 2
    classes = {each.get("class") for each in root.iter() if each.get("class")}
    (rules,) = [each.text for each in root.iter() if each.tag.endswith("style")]
    assert all(f".{name}{{" in rules for name in classes) and len(classes) == 3
    uses = [each for each in root.iter() if each.tag.endswith(("use", "text"))]
    assert [(each.get("x"), each.get("y")) for each in uses] == [("1.2", "2"), (None, None)]
    assert "fill:red" in rules and "stroke:#000;fill:none" in rules


def test_docs_stay_small():
    sizes = {
        path: path.stat().st_size
        for folder in ("docs", "papers/results")
        for path in (ROOT / folder).rglob("*")
        if path.is_file()
    }
    large = [path for path, size in sizes.items() if path.suffix == ".svg" and size > 150_000]
    assert not large
    assert sum(sizes.values()) < 6_000_000
