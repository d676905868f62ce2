"""The paper's stages: each rewritten program is compiled and run, and what the compiler lets run
alone shrinks from one to the next, for the reasons that are named."""

import json
import os
import re
import subprocess

import pytest
from rewriting import NATIVE, PROGRAMS, ROOT, SECONDS, transactionalize

FILES = ["stages.c", "stages_more.c", "stages.h"]
STAGES = ["ip", "callable", "max", "lib", "oncommit"]
# By the function that the section stands in: the first stage at which it is never alone.
SAFE_FROM = {
    "plain": "ip",
    "other_file": "max",
    "counts": "max",
    "users_of": "ip",
    "tries": "max",
    "grows": "lib",
    "reports": "lib",
    "logs": "oncommit",
}


def build_and_run(folder, program, environ=None) -> tuple[str, str]:
    sources = [folder / name for name in FILES if name.endswith(".c")]
    sources.append(PROGRAMS / "stages_library.c")
    subprocess.run(
        ["gcc", "-O2", "-w", "-fgnu-tm", "-I", ROOT / "include", "-I", PROGRAMS, *sources,
         "-o", program, "-L", NATIVE / "lib", "-lsyncopate-tm", "-litm", "-pthread"], check=True,
    )  # fmt: skip
    done = subprocess.run(
        [program], capture_output=True, text=True, timeout=SECONDS, check=True,
        env={**os.environ, **(environ or {})},
    )  # fmt: skip
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    """All stages of the branch ip, rewritten in one run: its folder, and what it said of each."""
    folder = tmp_path_factory.mktemp("stages")
    done = transactionalize(
        *(word for stage in STAGES for word in ("--stage", stage)),
        "--words", "^item_locks$", "--pure", "^library_version$", "-o", folder / "out",
        "--json", folder / "done.json", *(PROGRAMS / name for name in FILES),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = json.loads((folder / "done.json").read_text())["stages"]
    return folder / "out", {one["stage"]: one for one in said}, done.stderr


def full_name(stage: str) -> str:
    return stage if stage == "ip" else f"ip-{stage}"


def function_at(line: int) -> str:
    """The function of stages.c that a line stands in."""
    text = (PROGRAMS / "stages.c").read_text().splitlines()
    return next(
        m[1] for n in range(line, 0, -1) if (m := re.match(r"static \S.*?(\w+)\(", text[n - 1]))
    )


@pytest.mark.long
def test_each_stage_frees_its_own(stages):
    _, said, _ = stages
    for number, stage in enumerate(STAGES):
        made = said[full_name(stage)]["transactions"]
        assert len(made) == len(SAFE_FROM)
        for one in made:
            first = SAFE_FROM[function_at(one["line"])]
            if number >= STAGES.index(first):
                assert one["alone"] == "never", (stage, one)
            elif STAGES.index(first) > 1:
                assert one["alone"] != "never", (stage, one)
                assert one["why"], (stage, one)
    assert {one["kind"] for one in said["ip-callable"]["transactions"]} == {"relaxed"}
    assert {one["kind"] for one in said["ip-oncommit"]["transactions"]} == {"atomic"}


@pytest.mark.long
def test_why_they_run_alone_is_named(stages):
    _, said, text = stages
    by_stage = {
        "ip": ["digest, which is in another file", "calls realloc", "users: an atomic instruction",
               "stopping: a volatile variable", "calls fprintf"],
        "ip-max": ["calls realloc", "calls fprintf", "calls print_to, which is variadic"],
        "ip-lib": ["calls fprintf", "calls library_version"],
    }  # fmt: skip
    for stage, reasons in by_stage.items():
        why = [e["why"] for t in said[stage]["transactions"] for e in t["why"]]
        for reason in reasons:
            assert any(reason in one for one in why), (stage, reason, why)
    assert not any("realloc" in e["why"] for t in said["ip-lib"]["transactions"] for e in t["why"])
    assert re.search(r"ip-oncommit: 8 transactions, 8 atomic; 0 begin alone, 0 may have", text)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("stage", STAGES)
def test_stages_run_alike(stages, tmp_path, stage):
    folder, _, _ = stages
    printed, logged = build_and_run(folder / full_name(stage), tmp_path / "program")
    assert (printed, logged) == build_and_run(PROGRAMS, tmp_path / "locked")
    ours = {"LD_LIBRARY_PATH": str(NATIVE / "lib/tm"), "SYNCOPATE_TM": "norec"}
    again = build_and_run(folder / full_name(stage), tmp_path / "program", ours)
    assert again == (printed, logged)
    assert re.fullmatch(r"79600 \d+ 200 2 one,two total=79600\n", printed)
    assert logged == "3 of version 5\n"


def test_patches_follow_one_another(stages, tmp_path):
    folder, _, _ = stages
    for name in FILES:
        (tmp_path / name).write_text((PROGRAMS / name).read_text())
    for stage in STAGES:
        with open(folder / f"{full_name(stage)}.patch") as patch:
            subprocess.run(["patch", "-s", "-p1"], cwd=tmp_path, stdin=patch, check=True)
        for name in FILES:
            there = folder / full_name(stage) / name
            assert (tmp_path / name).read_text() == there.read_text(), (stage, name)


def test_a_function_that_may_be_called_and_is_unsafe_keeps_its_type_unsafe(tmp_path):
    """The same program, where one more function of that type, which prints to a file, is used."""
    text = (PROGRAMS / "stages.c").read_text()
    other = (
        "static void other(const char* name, unsigned length, void* to) { system(name); }\n"
        "report chosen = other;\nstatic void plain("
    )
    (tmp_path / "stages.c").write_text(text.replace("static void plain(", other, 1))
    for name in FILES[1:]:
        (tmp_path / name).write_text((PROGRAMS / name).read_text())
    done = transactionalize(
        "--stage", "oncommit", "--words", "^item_locks$", "--pure", "^library_version$",
        "-o", tmp_path / "out", "--json", tmp_path / "done.json", *(tmp_path / n for n in FILES),
        "--", "-I", PROGRAMS,
    )  # fmt: skip
    made = json.loads((tmp_path / "done.json").read_text())["transactions"]
    assert [t["kind"] for t in made].count("relaxed") == 1, done.stderr
    relaxed = next(t for t in made if t["kind"] == "relaxed")
    assert any("calls system" in e["why"] for e in relaxed["why"])
    assert (
        "(const char* name, unsigned length, void* to) __attribute__((transaction_callable));"
        in (tmp_path / "out/stages.h").read_text()
    )


def test_mistaken_stages(tmp_path):
    file = PROGRAMS / "stages.c"
    assert transactionalize("--stage", "best", file).returncode == 2
    assert transactionalize("--stage", "ip", "--atomic", file).returncode == 2
    assert transactionalize("--stage", "ip", "--stage", "max", file).returncode == 2
