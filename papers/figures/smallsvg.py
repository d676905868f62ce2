"""Pictures as matplotlib writes them, at a fifth of the size: coordinates to a tenth of a point
(wide pictures: to a point), relative paths, each style once, short names. What is seen stays."""

import re

FONT = "font-family:'DejaVu Sans',sans-serif"


def smaller(svg: str) -> str:
    """The same picture in fewer bytes."""
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE.*?>|<metadata>.*?</metadata>", "", svg, flags=re.S)
    svg = svg.replace(' version="1.1"', "").replace(' type="text/css"', "")  # as it is without
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
    svg = head + lighter(rules) + style + rest
    svg = re.sub(r">\s+<", "><", re.sub(r"\s*\n\s*", " ", svg)).strip() + "\n"
    return _compact(svg)


def lighter(rules: str) -> str:
    """The same rules of style: all texts have one font, and colours are written short."""
    fewer, fonts = re.subn(r"(?:;font-family:[^;}]*|font-family:[^;}]*;?)", "", rules)
    short = re.sub(r"#([0-9a-f])\1([0-9a-f])\2([0-9a-f])\3(?![0-9a-f])", r"#\1\2\3", fewer)
    return f"text{{{FONT}}}{short}" if fonts else short


# ---- The drawn things: relative paths, each style and each clip once -----------------------------

NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
STEP = re.compile(r"([MLCQz])([^MLCQz]*)")
PATH = r'<path d="([^"]*)"((?: [a-z-]+="[^"]*")*)/>'
USE = r'<use xlink:href="#([^"]+)" x="([^"]+)" y="([^"]+)" (class="[^"]+")/>'
TEXT = r'<text (class="[^"]+")([^>]*)>([^<]*)</text>'
STYLE = re.compile(r"\.(c\d+){([^}]*)}")
LINE = r'd="([^"]*)"'
TICKED = re.compile(rf"(?:(?:{PATH})?{USE}(?:{TEXT})?)+")
WIDE = 1000  # points: beyond them, pictures are shown smaller, and whole points are fine enough


def _shown(value: float) -> str:
    text = f"{value:g}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def _joined(numbers: list[float]) -> str:
    text = " ".join(map(_shown, numbers))
    return text.replace(" -", "-")


def relative(path: str, digits: int) -> str:
    """The same path; every step from the place where the one before ended, both rounded."""
    out, at, start, before = [], (0.0, 0.0), (0.0, 0.0), ""
    for command, rest in STEP.findall(path):
        numbers = [round(float(n), digits) for n in NUMBER.findall(rest)]
        steps = [round(n - at[i % 2], digits) for i, n in enumerate(numbers)]
        name = command.lower()
        at = start if name == "z" else (numbers[-2], numbers[-1])
        if name == "m":
            start = at
        elif name == "l" and 0 in steps and before != "l":
            name, steps = ("h", steps[:1]) if steps[1] == 0 else ("v", steps[1:])
        text = _joined(steps)
        joined = name == before and name != "m"
        out.append((" " if joined and text[0] != "-" else "" if joined else name) + text)
        before = name
    return "".join(out).replace("m", "M", 1)


def _moved(path: str, x: float, y: float) -> str:
    def one(step: re.Match) -> str:
        numbers = [float(n) for n in NUMBER.findall(step.group(2))]
        moved = [n + (y if i % 2 else x) for i, n in enumerate(numbers)]
        return step.group(1) + " ".join(f"{n:g}" for n in moved)

    return STEP.sub(one, path)


def _grouped(found: dict[str, list[str]], form: str) -> str:
    return "".join(form.format(name, "".join(parts)) for name, parts in found.items())


def _ticks_together(svg: str, marks: dict[str, str]) -> str:
    """Lines of a grid, ticks and their numbers, which follow each other in turn: each kind in one
    element. They do not lie above each other."""

    def together(match: re.Match) -> str:
        lines: dict[str, list[str]] = {}
        texts: dict[str, list[str]] = {}
        for path, attributes, mark, x, y, style, *text in re.findall(
            rf"(?:{PATH})?{USE}(?:{TEXT})?", match.group(0)
        ):
            if mark not in marks:
                return match.group(0)
            if path:
                own = re.search(r'class="[^"]+"', attributes)
                lines.setdefault(own.group(0) if own else "", []).append(path)
            lines.setdefault(style, []).append(_moved(marks[mark], float(x), float(y)))
            if text[0]:
                texts.setdefault(text[0], []).append(f"<text{text[1]}>{text[2]}</text>")
        paths = "".join(f'<path d="{"".join(p)}" {name}/>' for name, p in lines.items())
        return paths + _grouped(texts, "<g {}>{}</g>")

    return TICKED.sub(together, svg)


def _once(svg: str, element: str, attribute: str) -> str:
    """A group for elements behind each other that have the same attribute; of lines, one path."""
    lines = {n for n, style in STYLE.findall(svg) if "fill:none" in style or "stroke:" not in style}
    one = re.compile(rf"<{element}\b[^>]*? ({attribute}=\"[^\"]*\")[^>]*/>")
    out, at = [], 0
    while match := one.search(svg, at):
        run, end, name = [match.group(0)], match.end(), match.group(1)
        while (following := one.match(svg, end)) and following.group(1) == name:
            run.append(following.group(0))
            end = following.end()
        out.append(svg[at : match.start()])
        parts = "".join(part.replace(f" {name}", "", 1) for part in run)
        if (
            attribute == "class"
            and name[7:-1] in lines
            and re.fullmatch(r'(<path d="[^"]*"/>)+', parts)
        ):
            run = [f'<path d="{"".join(re.findall(LINE, parts))}" {name}/>']
        out.append(f"<g {name}>{parts}</g>" if len(run) > 1 else run[0])
        at = end
    return "".join([*out, svg[at:]])


def _compact(svg: str) -> str:
    width = re.search(r'viewBox="0 0 ([\d.]+)', svg)
    digits = 0 if width and float(width.group(1)) > WIDE else 1
    marks = {
        name: path
        for name, path in re.findall(r'<path id="([^"]+)" d="([^"]*)"[^>]*/>', svg)
        if "C" not in path and len(path) < 40
    }
    svg = _ticks_together(svg, marks)
    svg = re.sub(
        r'(<path(?! id)[^>]* d=")([^"]*)"',
        lambda m: f'{m.group(1)}{relative(m.group(2), digits)}"',
        svg,
    )
    svg = re.sub(
        r'( [xy]=")(-?[\d.]+)"',
        lambda m: f'{m.group(1)}{_shown(round(float(m.group(2)), digits))}"',
        svg,
    )
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', svg))
    svg = re.sub(
        r'(?:<defs>)?<path id="([^"]+)"[^>]*/>(?:</defs>)?',
        lambda m: m.group(0) if m.group(1) in used else "",
        svg,
    )
    for element, attribute in (("path", "clip-path"), ("path", "class"), ("use", "class")):
        svg = _once(svg, element, attribute)
    return svg
