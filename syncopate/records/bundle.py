"""Bundles: records, and what names of them need, in one file that can be read on another machine.

A bundle is a ZIP file: `bundle.json` lists the records, and the programs and libraries that they
refer to, each as it was recorded (by build-id) and with its debug information in it.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import IO, NamedTuple

from syncopate.base import boundedfile, scratch, wholefile
from syncopate.base.errors import FAILED, Failure
from syncopate.base.shown import shown
from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.records.recordformat import BUNDLE_MAGIC
from syncopate.symbols.standins import StandIn, StandIns, with_symbols
from syncopate.symbols.symbols import Symbolizer

SCHEMA, VERSION = "syncopate-bundle", 1
LIST = "bundle.json"
MOST_LISTED = 4 << 20  # bytes of the list
MOST_UNPACKED = 16 << 30  # bytes
A_PIECE = 1 << 20
MEMBER = re.compile(r"(record|module)s/[0-9]{1,6}")
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError)


def is_bundle(path: str) -> bool:
    return boundedfile.starts_with(path, BUNDLE_MAGIC)


def write(path: str, of: Iterable[tuple[Record, Symbolizer]]) -> None:
    """Writes the records with what their names were found in, as far as the symbolizers were
    asked; readable by its owner only."""
    records: list[dict] = []
    modules: dict[tuple[str, bool], dict] = {}
    with (
        wholefile.replacing(path, 0o600) as place,
        scratch.folder() as folder,
        open(place, "wb") as whole_file,  # by its name a pipe would be opened twice
        zipfile.ZipFile(_target(whole_file), "w", zipfile.ZIP_DEFLATED, compresslevel=1) as file,
    ):
        for record, symbolizer in of:
            member = f"records/{len(records)}"
            with file.open(member, "w", force_zip64=True) as into:
                for piece in record.pieces():
                    into.write(piece)
            records.append({"file": member, "name": os.path.basename(record.path)})
            for each in symbolizer.sources():
                key = each.build_id or each.path
                if (key, each.has_code) in modules:
                    continue
                member = f"modules/{len(modules)}"
                whole = with_symbols(each.file, folder) if each.has_code else each.file
                file.write(whole, member)
                modules[key, each.has_code] = {"file": member, "of": key,
                                               "has_code": each.has_code}  # fmt: skip
        listed = {"schema": SCHEMA, "version": VERSION, "records": records,
                  "modules": list(modules.values())}  # fmt: skip
        file.writestr(LIST, json.dumps(listed, indent=1))


class _Stream:
    """What can only be written to, from its begin to its end."""

    def __init__(self, file: IO[bytes]):
        self.write, self.flush = file.write, file.flush


def _target(file: IO[bytes]) -> IO[bytes] | _Stream:
    """A device says that it can be told where it is, and is always at its begin."""
    is_plain = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    return file if is_plain else _Stream(file)


def of_records(path: str, records: Iterable[str]) -> None:
    """Writes a bundle of records that nobody has looked at yet; of those that can be read."""
    from syncopate.records.results import Results  # which asks for all names

    analyses = []
    for each in records:
        analyses.append(Analysis(Record(each)))
        Results(analyses[-1]).as_data()
    write(path, ((each.record, each.symbolizer) for each in analyses))


class Unpacked(NamedTuple):
    """What is in a bundle."""

    records: list[tuple[str, str]]  # (its name, where it has been unpacked to)
    stand_ins: StandIns


def read(path: str) -> list[Record]:
    """The records of a bundle, or the one record that the file is."""
    if not is_bundle(path):
        return [Record(path)]
    found = _unpacked(path)
    records = []
    for name, place in found.records:
        record = Record(place, shown_as=f"{path}:{name}" if len(found.records) > 1 else path)
        record.stand_ins = found.stand_ins
        records.append(record)
    return records


def read_one(path: str) -> Record:
    """The same, of what has to be one record."""
    records = read(path)
    if len(records) != 1:
        raise Failure(
            f"{path} holds {len(records)} records, and one is wanted; see `syncopate report`",
            FAILED,
        )
    return records[0]


def _unpacked(path: str) -> Unpacked:
    folder = tempfile.mkdtemp(prefix="syncopate-", dir=scratch.place())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        with boundedfile.open_plain(path) as raw, zipfile.ZipFile(raw) as file:
            listed = _listed(path, file)
            room = MOST_UNPACKED
            records = []
            for number, (member, name) in enumerate(listed["records"]):
                place = os.path.join(folder, f"{number}.rec")
                room -= _unpack(path, file, member, place, room)
                records.append((name, place))
            copies = {}
            for number, (member, of, has_code) in enumerate(listed["modules"]):
                place = os.path.join(folder, f"{number}.module")
                room -= _unpack(path, file, member, place, room)
                copies[of] = StandIn(place, has_code)
    except BROKEN as error:
        raise _damaged(path, shown(str(error))[:200] or type(error).__name__) from None
    except (OSError, MemoryError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Failure(f"cannot unpack {path}: {reason}", FAILED) from None
    return Unpacked(records, StandIns(copies))


def _damaged(path: str, what: str) -> Failure:
    return Failure(f"{path} is a damaged bundle: {what}; write it again", FAILED)


def _listed(path: str, file: zipfile.ZipFile) -> dict[str, list[tuple]]:
    """What the bundle says that it holds: `records` (member, name) and `modules` (member, of what,
    whether it has code)."""
    wrong = (LookupError, TypeError, AttributeError, RecursionError)
    try:
        with file.open(LIST) as raw:
            listed = json.loads(raw.read(MOST_LISTED))
        if (listed["schema"], listed["version"]) != (SCHEMA, VERSION):
            raise Failure(
                f"{path} is bundle version {shown(str(listed['version']))[:40]} and this Syncopate"
                f" reads {VERSION}; read it with the version that wrote it",
                FAILED,
            )
        records = [(_member(each), shown(str(each["name"]))) for each in listed["records"]]
        modules = [
            (_member(each), str(each["of"]), bool(each["has_code"])) for each in listed["modules"]
        ]
    except wrong as error:
        raise _damaged(path, f"its list ({type(error).__name__})") from None
    if not records:
        raise _damaged(path, "it has no record")
    return {"records": records, "modules": modules}


def _member(entry: dict) -> str:
    if not MEMBER.fullmatch(entry["file"]):
        raise LookupError
    return entry["file"]


def _unpack(path: str, file: zipfile.ZipFile, member: str, place: str, room: int) -> int:
    """Writes a member to a file of its own; returns its bytes, which are at most `room`."""
    size = 0
    try:
        packed = file.open(member)
    except KeyError:
        raise _damaged(path, f"it lacks {member}") from None
    with packed, open(place, "xb") as into:
        for piece in _pieces(packed):
            size += len(piece)
            if size > room:
                raise _damaged(path, f"it unpacks to more than {MOST_UNPACKED >> 30} GiB")
            into.write(piece)
    return size


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(A_PIECE):
        yield piece
