"""The branch IT: item locks behind functions of their own become sections of transactions."""

import json
import os
import subprocess

import pytest
from rewriting import NATIVE, PROGRAMS, SECONDS, run, transactionalize

WORDS = "^item_(locks|global_lock)$"


def rewrite(tmp_path, text: str, stage: str = "it-oncommit") -> tuple[dict, str, str]:
    """What was done to together.c as `text`, what was said, and the new source."""
    (tmp_path / "together.c").write_text(text)
    done = transactionalize(
        "--stage", stage, "--words", WORDS, "-o", tmp_path / "out", "--json", tmp_path / "d.json",
        tmp_path / "together.c", "--", "-I", PROGRAMS,
    )  # fmt: skip
    assert done.returncode in (0, 3), done.stderr
    said = json.loads((tmp_path / "d.json").read_text())
    return said, done.stderr, (tmp_path / "out/together.c").read_text()


def test_item_locks_become_sections(tmp_path):
    said, log, text = rewrite(tmp_path, (PROGRAMS / "together.c").read_text())
    assert not said["not_done"], log
    made = said["transactions"]
    assert {t["kind"] for t in made} == {"atomic"}
    assert {t["alone"] for t in made} == {"never"}
    assert sum(t["lock"].endswith("_as_one") for t in made) == 2
    assert "pthread_mutex_lock" not in text
    assert "pthread_mutex_trylock" not in text
    assert "_as_one" not in text
    locked = run(PROGRAMS, ["together.c"], tmp_path / "locked")
    built = ["-fgnu-tm", "-fno-caller-saves", "-I", str(PROGRAMS.parents[2] / "include"),
             "-L", str(NATIVE / "lib"), "-lsyncopate-tm", "-litm"]  # fmt: skip
    assert run(tmp_path / "out", ["together.c"], tmp_path / "new", *built) == locked
    ours = {**os.environ, "LD_LIBRARY_PATH": str(NATIVE / "lib/tm"), "SYNCOPATE_TM": "norec"}
    done = subprocess.run([tmp_path / "new"], env=ours, capture_output=True, text=True,
                          timeout=SECONDS, check=True)  # fmt: skip
    assert done.stdout == locked


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("what", "by", "why"),
    [
        # One try stands in no transaction: what it protects would be nobody's.
        ("    add((uint32_t)i);", "    add((uint32_t)i); void* o = item_trylock(1); if (o)"
         " item_trylock_unlock(o);", "tries it outside of transactions"),
        # A section that is no block.
        ("  ++items[which & 7];\n  item_unlock(which);",
         "  if (++items[which & 7] == 0) return;\n  item_unlock(which);", "returns with the lock"),
        # The function does more than taking it.
        ("  const int* how = &granular;\n  if (*how) {\n    pthread_mutex_lock(",
         "  const int* how = &granular;\n  ++others;\n  if (*how) {\n    pthread_mutex_lock(",
         "no functions that do nothing else"),
    ],
)  # fmt: skip
def test_what_cannot_be_a_section_stays_a_word(tmp_path, what, by, why):
    text = (PROGRAMS / "together.c").read_text()
    assert what in text
    said, log, new = rewrite(tmp_path, text.replace(what, by))
    assert why in log
    assert said["locks"]["item_locks"]["word"], log
    assert "tm_word_trylock(lock)" in new
