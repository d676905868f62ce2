"""Pictures as matplotlib writes them, at a third of the size: coordinates to a tenth of a point,
each style once, short names. What is seen stays the same."""

import re


def smaller(svg: str) -> str:
    """The same picture in fewer bytes."""
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = re.sub(r"(\d+\.\d)\d+", r"\1", svg)
    svg = re.sub(r"(\d)\.0(?=\D)", r"\1", svg)
    names: dict[str, str] = {}

    def short(match: re.Match) -> str:
        name = match.group(2)
        return match.group(1) + names.setdefault(name, f"n{len(names)}")

    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    svg = re.sub(r' id="([^"]+)"', lambda m: m.group(0) if m.group(1) in used else "", svg)
    svg = re.sub(r'((?:url\(#|href="#|id="))([\w.-]+)', short, svg)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*\)"', "", svg)
    simple = re.compile(r"<g>\s*((?:<(?:path|use)[^<>]*/>\s*|<text[^<>]*>[^<>]*</text>\s*)*)</g>")
    before = None
    while before != svg:  # groups of nothing but drawn things say nothing
        before, svg = svg, simple.sub(r"\1", svg)
    styles: dict[str, str] = {}

    def classed(match: re.Match) -> str:
        return f'class="{styles.setdefault(match.group(1), f"c{len(styles)}")}"'

    head, style, rest = svg.partition("</style>")
    rest = re.sub(r'style="([^"]*)"', classed, rest)
    rules = "".join(
        f".{name}{{{text.replace('; ', ';').replace(': ', ':')}}}" for text, name in styles.items()
    )
    svg = head + rules + style + rest
    return re.sub(r">\s+<", "><", re.sub(r"\s*\n\s*", " ", svg)).strip() + "\n"
