"""The library for everyday use has no code for recording: not a test, not a call, not a byte."""

import re
import subprocess

import pytest

from syncopate.base import paths
from syncopate.launch import transactions

HOT = (
    "syncopate::tm::begin(",
    "syncopate::tm::(anonymous namespace)::commit_any(",
    "_ITM_beginTransaction",
    "_ITM_RU8",
)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def symbols(library):
    return output("nm", "-C", paths.require(library))


def test_the_everyday_library_has_no_recorder():
    ours = re.compile(r"syncopate::(record|tm::observer)::")
    assert not ours.search(symbols(transactions.LIBRARY))
    assert ours.search(symbols(transactions.RECORDING_LIBRARY))


@pytest.mark.parametrize("function", HOT)
def test_machine_code_of_begin_and_commit(function):
    """Direct calls and jumps of the everyday library's hot functions: none leads to an observer,
    and those of the recording library's begin and commit do."""
    targets = {
        library: branches(paths.require(library), function)
        for library in (transactions.LIBRARY, transactions.RECORDING_LIBRARY)
    }
    assert not any("observer" in target for target in targets[transactions.LIBRARY])
    observed = any("observer" in target for target in targets[transactions.RECORDING_LIBRARY])
    assert observed == function.startswith("syncopate::")


def branches(library, function):
    listing = output("objdump", "-d", "-C", "--no-show-raw-insn", library)
    parts = {part.partition("\n")[0]: part for part in listing.split("\n\n")}
    (body,) = [
        part for head, part in parts.items() if f"<{function}" in head and "[clone" not in head
    ]
    return re.findall(r"\t(?:call|j\w+) +[0-9a-f]+ <(.+)>", body)


def test_both_have_the_same_interface():
    def exported(library):
        lines = output("nm", "-D", "--defined-only", paths.require(library)).splitlines()
        return {tuple(line.split()[1:]) for line in lines}

    assert exported(transactions.LIBRARY) == exported(transactions.RECORDING_LIBRARY)
