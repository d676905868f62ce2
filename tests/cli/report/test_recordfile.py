"""The reader agrees with format.h, and no damage to a file makes it fail in any other way than one
clear line."""

import os
import random
import re
import subprocess
import sys
from struct import pack

import pytest
from conftest import ROOT, one_line, run_cli
from make_record import LOCKS, RecordBuilder

from syncopate.base.errors import Failure
from syncopate.records import histogram, languages, recordformat
from syncopate.records.recordfile import Record

# Our field names in the order of each struct, and where format.h calls them otherwise.
STRUCTS = {
    "file_header": (
        recordformat.FILE_HEADER,
        "magic version header_bytes bytes_used process_id parent_id start_ticks start_monotonic_ns"
        " start_realtime_ns last_ticks last_monotonic_ns flags processors lock wait executable"
        " command capture_ticks measured ticks_per_second ended_monotonic_ns"
        " recorder recorder_id lost_waits lost_ticks lost_stacks copied_stacks"
        " looks looks_at_futex unrecorded_children unrecorded_error quiet_children"
        " unseen_cpu_ms",
    ),
    "chunk_header": (recordformat.CHUNK_HEADER, "kind bytes first used ticks"),
    "lock_entry": (
        recordformat.LOCK_ENTRY,
        "address object type flags create_stack first_stack reserved created_ticks destroyed_ticks"
        " acquisitions hold_samples hold_sum hold_max hold_histogram",
    ),
    "thread_entry": (
        recordformat.THREAD_ENTRY,
        "thread_id start_stack start_ticks end_ticks name cpu_ns delay_ns handle open.since"
        " open.end open.caller open.lock open.kind open.holder open.stack open.flags"
        " open.seen_after_ms open.seen_cpu_ns open.seen_delay_ns read_held"
        " seen_since seen_holder_since seen_holder cpu_before_us delay_before_ns",
    ),
    "wait_row": (recordformat.WAIT_ROW, "lock kind waits wait_sum wait_max histogram"),
    "event": (
        recordformat.EVENT,
        "start end lock stack holder weight kind wait on_processor sleeps preemptions",
    ),
    "stack_entry": (recordformat.STACK_ENTRY, "hash depth reserved pc"),
    "site_entry": (recordformat.SITE_ENTRY, "address first_stack"),
    "site_row": (
        recordformat.SITE_ROW,
        "address site most_retries started committed canceled hardware aborts alone waited run"
        " wasted run_alone measured reads writes most_reads most_writes",
    ),
    "conflict_row": (recordformat.CONFLICT_ROW, "address site winner cause stack times"),
    "cpu_sample": (recordformat.CPU_SAMPLE, "address in_program in_kernel"),
    "unsafe_row": (recordformat.UNSAFE_ROW, "from called site stack times switches"),
}
WIDTHS = {"Q": 8, "I": 4, "H": 2, "B": 1}


def offsets(layout: str) -> list[int]:
    """The offset of each field of a struct format; repeated numbers are one field (an array)."""
    found, offset = [], 0
    for number, code in re.findall(r"(\d*)([a-zA-Z])", layout):
        width = int(number or 1) * (1 if code in "sx" else WIDTHS[code])
        if code == "x":
            offset += width
        elif number and code != "s":
            found.append(offset)
            offset += width
        else:
            found.append(offset)
            offset += width
    return found


def test_layouts_match_the_header(tmp_path):
    lines = ['#include "record/transaction_format.h"', "#include <cstddef>", "#include <cstdio>",
             "using namespace syncopate::record;", "int main() {"]  # fmt: skip
    for struct, (_, names) in STRUCTS.items():
        lines.append(f'  std::printf("{struct} size %zu\\n", sizeof({struct}));')
        lines += [
            f'  std::printf("{struct} {name} %zu\\n", offsetof({struct}, {name}));'
            for name in names.split()
        ]
    lines += [
        '  for (unsigned t = 0; t < 100000; t += 7) std::printf("%u,", bucket(t, 64));',
        '  std::printf("\\n%.8s %u\\n", magic, version);',
        "}",
    ]
    program = tmp_path / "layout"
    subprocess.run(
        ["g++", "-std=c++20", "-w", "-x", "c++", "-", f"-I{ROOT}/src", "-o", program],
        input="\n".join(lines), text=True, check=True,
    )  # fmt: skip
    said = subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()
    theirs = {tuple(line.split()[:2]): int(line.split()[2]) for line in said[:-2]}
    sizes = {1: "lock_entry", 2: "thread_entry", 3: "wait_row", 4: "event", 5: "stack_entry"}
    sizes |= {7: "site_entry", 8: "site_row", 9: "conflict_row", 10: "unsafe_row"}
    for kind, struct in sizes.items():
        assert theirs[struct, "size"] == recordformat.ITEM_BYTES[kind] == STRUCTS[struct][0].size
    assert theirs["file_header", "size"] == recordformat.HEADER_BYTES
    assert theirs["chunk_header", "size"] == recordformat.CHUNK_BYTES
    for struct, (layout, names) in STRUCTS.items():
        ours = dict(zip(names.split(), offsets(layout.format), strict=True))
        assert ours == {name: theirs[struct, name] for name in names.split()}
    buckets = [int(number) for number in said[-2].rstrip(",").split(",")]
    for ticks, bucket in zip(range(0, 100000, 7), buckets, strict=True):
        assert histogram.lower_edge(bucket) <= ticks < histogram.lower_edge(bucket + 1)
    assert said[-1] == f"{recordformat.MAGIC.decode()} {recordformat.VERSION}"


def sample() -> RecordBuilder:
    builder = RecordBuilder()
    stack = builder.stack(0x5000, 0x6000)
    threads = [builder.thread(100 + number) for number in range(3)]
    locks = [builder.lock(0x9000 + 64 * n, acquisitions=10, first=stack) for n in range(20)]
    for thread in threads:
        builder.row(thread, locks[0], 1, [1000, 2000])
        builder.wait(thread, locks[0], 1_100_000, 1_101_000, stack, 101)
        builder.hold(thread, locks[0], 1_100_000, 1_100_500, stack)
    builder.maps = "00400000-00401000 r-xp 00000000 08:01 1 /no/such/program\n"
    return builder


def test_what_was_written_is_read(tmp_path):
    record = Record(str(sample().write(tmp_path / "r")))
    assert [lock.address for lock in record.locks()] == [0x9000 + 64 * n for n in range(20)]
    assert [lock.id for lock in record.locks()] == list(range(1, 21))
    assert [thread.thread_id for thread in record.threads()] == [100, 101, 102]
    assert record.stacks() == {1: (0x5000, 0x6000)}
    assert [(row.thread, row.waits, row.wait_sum, row.wait_max) for row in record.rows()] == [
        (thread, 2, 3000, 2000) for thread in range(3)
    ]
    assert [(event.thread, event.kind) for event in record.events()] == [
        (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2),
    ]  # fmt: skip
    assert record.header.command == ["/usr/bin/server", "--threads", "2"]
    assert record.maps().endswith("/no/such/program\n")


def test_an_event_that_is_being_written_is_none(tmp_path):
    """Of a program that goes on: its weight is not there yet."""
    builder = sample()
    thread, lock = builder.thread(200), builder.lock(0xA000)
    builder.wait(thread, lock, 1_100_000, 1_101_000, holder=100)
    builder.hold(thread, lock, 1_100_000, 1_100_500, weight=0)
    builder.event(thread, 1, lock, 1_100_000, 1_101_000, weight=0)
    record = builder.write(tmp_path / "r")
    done = run_cli("report", "--json", record)
    assert (done.returncode, done.stderr) == (0, "")
    assert len([each for each in Record(str(record)).events() if each.lock == lock]) == 1


def test_truncated_at_any_offset_is_one_clear_line(tmp_path):
    whole = sample().build()
    cut = tmp_path / "cut"
    lengths = [*range(0, 200, 7), *range(200, len(whole), 997), 4095, 4096, len(whole) - 1]
    for length in lengths:
        cut.write_bytes(whole[:length])
        with pytest.raises(Failure, match="cut") as refused:
            Record(str(cut))
        assert refused.value.status == 1
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize("length", [0, 5, 3000, 4096, 9000])
def test_truncated_record_by_command(tmp_path, length):
    cut = tmp_path / "cut"
    cut.write_bytes(sample().build()[:length])
    done = run_cli("report", cut)
    assert done.returncode == 1
    assert str(cut) in one_line(done)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"#!/bin/sh\n" * 1000, "is not a Syncopate record"),
        (b"", "is not a Syncopate record"),
        (b"SYNCREC1", "is damaged: it ends after 8 bytes"),
    ],
)
def test_foreign_file(tmp_path, content, said):
    path = tmp_path / "foreign"
    path.write_bytes(content)
    done = run_cli("report", path)
    assert done.returncode == 1
    assert said in one_line(done)


def test_other_version(tmp_path):
    builder = sample()
    builder.version = 9
    done = run_cli("report", builder.write(tmp_path / "r"))
    assert done.returncode == 1
    assert f"record format 9 and this Syncopate reads {recordformat.VERSION}" in one_line(done)


@pytest.mark.parametrize("name", ["missing", "folder"])
def test_unreadable_file(tmp_path, name):
    (tmp_path / "folder").mkdir()
    done = run_cli("report", tmp_path / name)
    assert done.returncode == 1
    assert "cannot read" in one_line(done)


def test_chunk_that_claims_too_many_items(tmp_path):
    builder = sample()
    builder.chunks.append(builder.chunk(LOCKS, 500, [b"\0" * 256], used=99))
    with pytest.raises(Failure, match="claims 99 items"):
        Record(str(builder.write(tmp_path / "r")))


def test_a_hole_is_damage_and_no_end(tmp_path):
    """As of a copy that was not finished: no chunk is there, or no header, before the end."""
    whole = sample().build()
    for start, end, said in ((4096, len(whole), "no sound chunk at byte 4096"),
                             (16, 4096, "says that 0 bytes of it are used")):  # fmt: skip
        image = bytearray(whole)
        image[start:end] = bytes(end - start)
        path = tmp_path / "r"
        path.write_bytes(image)
        done = run_cli("report", path)
        assert done.returncode == 1 and said in one_line(done)


def test_a_copy_of_a_record_that_grows_meanwhile_is_whole(tmp_path):
    builder = sample()
    path = builder.write(tmp_path / "r")
    record = Record(str(path))
    before = len(list(record.locks()))
    with open(path, "r+b") as file:  # the same file, as its program writes it
        file.seek(0, os.SEEK_END)
        file.write(builder.chunk(LOCKS, 500, [pack("<QQ240x", 0xB000, 1)]))
        used = file.tell()
        file.seek(16)
        file.write(pack("<Q", used))
    copy = tmp_path / "copy"
    copy.write_bytes(b"".join(record.pieces()))
    assert len(list(Record(str(copy)).locks())) == before


def test_a_program_of_any_name_is_known_to_run(tmp_path, monkeypatch):
    image = sample().build()
    program = b"/tmp/\xff\xe9"
    path = tmp_path / "r"
    path.write_bytes(image.replace(b"/usr/bin/server\0", program.ljust(16, b"\0"), 1))
    monkeypatch.setattr(os, "readlink", lambda _: os.fsdecode(program))
    assert Record(str(path)).is_of_a_running_program()


@pytest.mark.parametrize("seed", range(40))
def test_damaged_bytes_never_make_a_traceback(tmp_path, seed):
    """Flips bytes behind the magic; any answer will do but an exception of another kind."""
    from syncopate.records.analysis import Analysis
    from syncopate.records.results import Results

    dice = random.Random(seed)
    image = bytearray(sample().build())
    for _ in range(dice.choice([1, 10, 200])):
        image[dice.randrange(12, len(image))] = dice.choice([0, 1, 255, dice.randrange(256)])
    path = tmp_path / "damaged"
    path.write_bytes(image)
    try:
        results = Results(Analysis(Record(str(path)))).as_data()
    except Failure as failure:
        assert failure.status == 1, f"seed {seed}"
    else:
        assert results["file"] == str(path), f"seed {seed}"


READS_EVENTS = """
import sys
from syncopate.records.recordfile import Record
record = Record(sys.argv[1])
for event in record.events(record.choose(200_000)):
    pass
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_a_large_record_is_not_held_in_memory(tmp_path):
    """400 MB of events, which are holes: what has been read of the file is let go again."""
    path, used, chunks = tmp_path / "r", 100_000, 84
    start = RecordBuilder().build()
    size = (64 + used * recordformat.EVENT.size + 4095) // 4096 * 4096
    with open(path, "wb") as file:
        file.write(start)
        for number in range(chunks):
            file.seek(len(start) + number * size)
            file.write(pack("<IIIIQ", recordformat.EVENTS, size, 0, used, 0))
        file.truncate(len(start) + chunks * size)
        file.seek(16)
        file.write(pack("<Q", len(start) + chunks * size))
    done = subprocess.run(
        [sys.executable, "-c", READS_EVENTS, path], env={"PYTHONPATH": str(ROOT)},
        check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert int(done.stdout) * 1024 < 150_000_000


def test_few_locks_are_read_by_their_ids(tmp_path):
    """As all are: also those that languages tell apart. Ids that no lock has are left out."""
    builder = RecordBuilder()
    known = [builder.lock(0x9000 + 64 * number, 1, number) for number in range(300)]
    record = Record(str(builder.write(tmp_path / "r")))
    every = {lock.id: lock for lock in record.locks()}
    assert record.locks_of([known[0], known[299], known[7], known[7], 10**6]) == {
        each: every[each] for each in (known[0], known[299], known[7])
    }
    more = every[known[7]]._replace(id=10**6)
    moved = languages.Retold(known[1], 6, 0, {})
    kept = languages.Retold(known[2], 6, 9, {})
    record.retell({known[0]: moved, known[2]: kept}, {known[3]: None}, [more])
    every = {lock.id: lock for lock in record.locks()}
    assert record.locks_of([*known, 10**6]) == every
    assert known[0] not in every and known[3] not in every and every[known[2]].type == 9
