"""What the scripts of Ruby's integration say, without a Ruby that is built."""

import os
import shutil
import subprocess
import sys

from test_ruby import COST, INTEGRATION, REMOVALS, ROOT


def test_a_source_that_cannot_be_had_is_told(tmp_path):
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("apt-get", "dpkg-source"):
        (tools / name).write_text("#!/bin/sh\necho 'no network' >&2\nexit 100\n")
        (tools / name).chmod(0o755)
    done = subprocess.run(
        ["sh", str(INTEGRATION / "fetch.sh"), str(tmp_path / "ruby")],
        capture_output=True,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"},
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    log = tmp_path / "ruby" / "fetch.log"
    assert done.stderr == f"fetch.sh: cannot get Debian's source package ruby3.1; see {log}\n"
    assert "no network" in log.read_text()
    assert not (tmp_path / "ruby" / "ruby").exists()


def test_bad_arguments_are_told(tmp_path):
    build = str(INTEGRATION / "build.sh")
    done = subprocess.run(["sh", build], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2 and done.stderr.startswith("usage: build.sh FOLDER PRODUCTS")


def test_make_tells_what_is_missing_before_it_builds(tmp_path):
    for name in ("Makefile", "integrations/ruby/build.sh"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    fakes = {"scripts/setup.sh": "echo setup ran", "tools/cmake": "echo cmake ran",
             "tools/gcc": "exit 1", "tools/ruby": "", "tools/dpkg-source": ""}  # fmt: skip
    for name, does in fakes.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / name).chmod(0o755)
    for name in ("scripts/requirements.txt", "CMakePresets.json"):
        (tmp_path / name).touch()
    # `make check` may be what runs this.
    without_make = {key: os.environ[key] for key in os.environ if not key.startswith("MAKE")}
    done = subprocess.run(
        ["make", "ruby"],
        capture_output=True,
        cwd=tmp_path,
        env={**without_make, "PATH": f"{tmp_path / 'tools'}:{os.environ['PATH']}"},
        text=True,
        check=False,
        timeout=60,
    )
    packages = "libssl-dev libyaml-dev zlib1g-dev libffi-dev libreadline-dev"
    assert done.returncode == 2
    assert done.stderr.startswith(f"build.sh: needs Debian's packages {packages}\n")
    assert not done.stdout


def told(*command: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, *(str(each) for each in command)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.returncode, done.stderr


def test_what_is_not_built_is_told(tmp_path):
    nothing = tmp_path / "nothing"
    assert told(INTEGRATION / "removals.py", nothing) == (
        2,
        f"removals.py: there is no {nothing}: run build.sh\n",
    )
    assert told(COST, nothing) == (
        2,
        f"ruby_cost.py: {nothing} lacks bin/ruby or plain/bin/ruby: build.sh makes both\n",
    )


FAKE_RUBY = """#!/bin/sh
echo '[1]'
aborts=50
[ "$SYNCOPATE_RUBY_REMOVE" != all ] || aborts=1
echo "{\\"transactions\\": 100, \\"aborts\\": $aborts, \\"fallbacks\\": 0}" > "$SYNCOPATE_GIL_STATS"
"""


def test_the_table_of_removals_is_put_into_a_page(tmp_path):
    ruby, page = tmp_path / "ruby", tmp_path / "page.md"
    ruby.write_text(FAKE_RUBY)
    ruby.chmod(0o755)
    mark = "<!-- removals.py -->\n"
    page.write_text(f"before\n{mark}old\n{mark}after\n")
    options = ("--kinds", "calls", "--quick", "--page", page)
    assert told(INTEGRATION / "removals.py", ruby, *options)[0] == 0
    alone = "".join(f"| `{name}` alone | 33 % |\n" for name in REMOVALS)
    table = f"| removed | calls |\n|---|--:|\n| none | 33 % |\n{alone}| all | 1.0 % |\n"
    assert page.read_text() == f"before\n{mark}{table}{mark}after\n"
    page.write_text("nothing of it\n")
    status, error = told(INTEGRATION / "removals.py", ruby, *options)
    assert status == 1 and error.endswith("has no two lines <!-- removals.py -->\n")
    assert page.read_text() == "nothing of it\n"
    assert (INTEGRATION / "README.md").read_text().count(mark) == 2
