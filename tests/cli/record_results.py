"""What a report says of records whose every event is known."""

from pathlib import Path

from make_record import RecordBuilder

from syncopate.records.analysis import Analysis
from syncopate.records.recordfile import Record
from syncopate.records.results import Results

BEGIN = 1_000_000  # a builder's start; its end is one million ticks later
CODE_A, CODE_B, CODE_C, CODE_D = 0xA000, 0xB000, 0xC000, 0xD000  # in no module


def results_of(builder: RecordBuilder, folder: Path) -> dict:
    return Results(Analysis(Record(str(builder.write(folder / "r"))))).as_data()


def names(stacks: list[dict]) -> list[list[str]]:
    return [[frame["function"] for frame in stack["frames"]] for stack in stacks]
