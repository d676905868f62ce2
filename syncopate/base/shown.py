"""Text of unknown origin as it may be shown: what would act on a terminal or a page is written out.

Names of threads, programs, files and symbols come from whoever made the program, or the record. A
control character in them could move the cursor, set a window's title or hide a line; a mark of
direction turns the text behind it around.
"""

import re
import shlex

# C0, DEL and C1; marks of direction; separators of lines; what cannot be encoded.
_ACTING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def _written_out(found: re.Match) -> str:
    code = ord(found[0])
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8
        code -= 0xDC00
    return {9: "\\t", 10: "\\n", 13: "\\r"}.get(code) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    )


def shown(text: str) -> str:
    """The text with each such character as \\n, \\x1b or \\u202e, on one line."""
    return _ACTING.sub(_written_out, text)


def typed(word: str) -> str:
    """The word as one types it into a shell; one that would act on the terminal, as bash and zsh
    take it."""
    if not _ACTING.search(word):
        return shlex.quote(word)
    out = ""
    for byte_or_letter in word.replace("\\", "\\\\").replace("'", "\\'"):
        code = ord(byte_or_letter)
        is_letter = code >= 0x80 and not 0xDC80 <= code <= 0xDCFF
        acts = _ACTING.fullmatch(byte_or_letter)
        out += f"\\u{code:04x}" if acts and is_letter else shown(byte_or_letter)
    return f"$'{out}'"


def typed_file(path: str) -> str:
    """The same of a file's name, which is to be taken for no option."""
    return typed(f"./{path}" if path.startswith("-") else path)


def all_shown(data):
    """The same for all texts in what JSON or TOML gave."""
    if isinstance(data, str):
        return shown(data)
    if isinstance(data, list):
        return [all_shown(each) for each in data]
    if isinstance(data, dict):
        return {shown(key): all_shown(value) for key, value in data.items()}
    return data
