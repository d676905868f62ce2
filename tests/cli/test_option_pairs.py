"""No option, and no variable, is dropped in silence beside another one: each pair is refused in one
line, or both do what they do alone."""

import itertools
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from conftest import compile_c
from make_record import RecordBuilder

from syncopate import __main__ as command_line
from syncopate.base import preloading
from syncopate.base.errors import BAD_USE, Failure
from syncopate.base.options import FLAG
from syncopate.commands import (
    check,
    commandhelp,
    record,
    recordkept,
    report,
    run,
    simulate,
    top,
)
from syncopate.records.recordformat import WaitKind
from syncopate.tuning import session

POLICY = """schema = "syncopate-policy"
version = 1
[[lock]]
created = "program+0x1139"
lock = "mcs"
"""
OMP_POLICY = """schema = "syncopate-policy"
version = 1
[default]
omp_barrier = "central"
"""


@pytest.fixture
def prefix(native, tmp_path, monkeypatch) -> Path:
    """An installation with the stand-in parts, and what else `run` and `record` load."""
    prefix = tmp_path / "prefix"
    (prefix / "lib/tm/record").mkdir(parents=True)
    (prefix / "share").symlink_to(native / "share")
    for name in ("libsyncopate-pthread.so.0", "libsyncopate-openmp.so.0"):
        (prefix / "lib" / name).symlink_to(native / "lib/libsyncopate-pthread.so.0")
    for name in ("libitm.so.1", "record/libitm.so.1"):
        (prefix / "lib/tm" / name).symlink_to(native / "lib/libsyncopate-pthread.so.0")
    monkeypatch.setenv("SYNCOPATE_NATIVE", str(prefix))
    (tmp_path / "single.toml").write_text(POLICY)
    (tmp_path / "omp.toml").write_text(OMP_POLICY)
    compile_c("#include <pthread.h>\npthread_mutex_t one; int main() {}\n", tmp_path / "program")
    monkeypatch.chdir(tmp_path)
    return prefix


# ---- run: what the program gets -----------------------------------------------------------------

# Words of `run`, and variables that are set.
SETTINGS = {
    "--lock": ["--lock", "mcs"],
    "--lock glibc": ["--lock", "glibc"],
    "--elide": ["--elide", "always"],
    "--elide auto": ["--elide", "auto"],
    "--elide off": ["--elide", "off"],
    "--policy": ["--policy", "single.toml"],
    "--policy of OpenMP": ["--policy", "omp.toml"],
    "--guard": ["--guard"],
    "--guard-log": ["--guard-log", "log"],
    "--preempted-holders": ["--preempted-holders"],
    "--omp": ["--omp"],
    "--omp-barrier": ["--omp-barrier", "central"],
    "--omp-barrier runtime": ["--omp-barrier", "runtime"],
    "--omp-lock": ["--omp-lock", "mcs"],
    "--omp-regions": ["--omp-regions", "kept"],
    "--omp-tasks": ["--omp-tasks", "ours"],
    "--wait": ["--omp-barrier", "central", "--wait", "park"],
    "--tm": ["--tm", "norec"],
    "--verbose": ["--verbose"],
    "SYNCOPATE_LOCK": {"SYNCOPATE_LOCK": "glibc"},
    "SYNCOPATE_ELIDE": {"SYNCOPATE_ELIDE": "always"},
    "SYNCOPATE_GUARD": {"SYNCOPATE_GUARD": "misuse"},
    "SYNCOPATE_GUARD slices": {"SYNCOPATE_GUARD": "slices"},
    "SYNCOPATE_SITES": {"SYNCOPATE_SITES": "m,x;v,1,lock=mcs"},
    "SYNCOPATE_SITES elides": {"SYNCOPATE_SITES": "m,x;v,1,elide=always"},
}
# Of those that say the same thing of a program, one says it: the option.
SAME_THING = [
    {"--lock", "--lock glibc", "SYNCOPATE_LOCK"},
    {"--elide", "--elide auto", "--elide off", "SYNCOPATE_ELIDE"},
    {"--policy", "SYNCOPATE_SITES", "SYNCOPATE_SITES elides"},
    {"--policy", "--policy of OpenMP"},
    {"--omp-barrier", "--omp-barrier runtime", "--wait", "--policy of OpenMP"},
    {"SYNCOPATE_SITES", "SYNCOPATE_SITES elides"},
    {"SYNCOPATE_GUARD", "SYNCOPATE_GUARD slices"},
]
GLIBC = {"--lock glibc", "SYNCOPATE_LOCK"}
MISUSE = {"--guard", "--guard-log", "SYNCOPATE_GUARD"}
# Any of the first is refused beside any of the second.
REFUSED = [
    (GLIBC, MISUSE | {"--preempted-holders", "SYNCOPATE_GUARD slices"}),
    (GLIBC, {"--elide", "--elide auto", "SYNCOPATE_ELIDE"}),
    (GLIBC, {"--policy", "SYNCOPATE_SITES", "SYNCOPATE_SITES elides"}),
    (MISUSE, {"--elide", "--elide auto", "SYNCOPATE_ELIDE", "SYNCOPATE_SITES elides"}),
    ({"--omp-barrier runtime"}, {"--omp-regions", "--omp-tasks"}),
]


def prepared(names, monkeypatch) -> dict[str, str]:
    """The environment in which `run` with these settings starts the program."""
    words = []
    with monkeypatch.context() as patch:
        for name in names:
            if isinstance(SETTINGS[name], dict):
                for variable, value in SETTINGS[name].items():
                    patch.setenv(variable, value)
            else:
                words += SETTINGS[name]
        options, _ = run.read_options(words, run.OPTIONS, run.ALIASES)
        return run.prepare(options, ["./program"])[1]


def effects(environ: dict[str, str]) -> set[tuple[str, str]]:
    """What is in an environment, list by list, as far as our options may put it there. (Not
    the mark that a line has been said, which nobody asks for.)"""
    lists = (preloading.LIST, preloading.FOLDERS, "SYNCOPATE_GUARD")
    return {
        (name, part)
        for name, text in environ.items()
        if name in lists or (name.startswith("SYNCOPATE_") and name != "SYNCOPATE_TOLD")
        for part in (text.replace(":", ",").split(",") if name in lists else [text])
    }


def test_what_run_does_with_each_pair(prefix, monkeypatch):
    for name in ("SYNCOPATE_LOCK", "SYNCOPATE_GUARD", "SYNCOPATE_ELIDE"):
        monkeypatch.delenv(name, raising=False)
    nothing = effects(prepared([], monkeypatch))
    alone = {name: effects(prepared([name], monkeypatch)) - nothing for name in SETTINGS}
    does_nothing = {name for name, found in alone.items() if not found}
    assert not does_nothing
    for one, other in itertools.combinations(SETTINGS, 2):
        refused = any({one, other} & a and {one, other} & b and not {one, other} <= a
                      for a, b in REFUSED)  # fmt: skip
        try:
            both = effects(prepared([one, other], monkeypatch))
        except Failure as failure:
            assert refused, (one, other, failure)
            assert failure.status == BAD_USE and "\n" not in str(failure)
            continue
        assert not refused, (one, other)
        if any({one, other} <= same for same in SAME_THING):
            continue
        assert both >= alone[one] | alone[other], (one, other)


def test_every_option_of_run_is_paired():
    assert {name.partition(" ")[0] for name in SETTINGS if name.startswith("--")} == (
        run.OPTIONS.keys() - {"--force", "--help"}
    )


@pytest.mark.parametrize(
    "names", [["--wait", "spin"], ["--omp-barrier", "futex", "--wait", "spin"]]
)
def test_a_way_to_wait_that_nobody_follows_is_refused(cli, names):
    done = cli("run", *names, "true")
    assert done.returncode == BAD_USE
    assert "--wait spin: neither barrier" in done.stderr and done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "variable"),
    [
        (["run"], "SYNCOPATE_OMP_BARRIER"),
        (["run"], "SYNCOPATE_WAIT"),
        (["run", "--tm", "norec"], "SYNCOPATE_GUARD"),
        (["run", "--tm", "norec"], "SYNCOPATE_LOCK"),  # modeled machines read it, and are not here
        (["record", "-q", "--omp"], "SYNCOPATE_LOCK"),
        (["record", "-q"], "SYNCOPATE_OMP_LOCK"),
        (["record", "-q", "--tm", "norec"], "SYNCOPATE_GUARD_LOG"),
    ],
)
def test_variables_of_what_is_not_loaded_are_said(prefix, cli, tmp_path, words, variable):
    environ = {"SYNCOPATE_NATIVE": str(prefix), variable: "park"}
    done = cli(*words, "true", environ=environ, cwd=tmp_path)
    assert f"syncopate: {variable} is set, and nothing reads it: " in done.stderr


# ---- other commands: what they look at ----------------------------------------------------------


class Looked(dict):
    """Options, and which of them somebody has asked for by name."""

    def __init__(self, options: dict[str, str]):
        super().__init__(options)
        self.asked: set[str] = set()

    def __contains__(self, name) -> bool:
        self.asked.add(name)
        return super().__contains__(name)

    def __getitem__(self, name):
        self.asked.add(name)
        return super().__getitem__(name)

    def get(self, name, default=None):
        self.asked.add(name)
        return super().get(name, default)


class Nothing:
    """Stands for whatever would start something."""

    title = ""
    left = ()
    trouble = None

    def __init__(self, *_, **__):
        pass

    def __call__(self, *_, **__):
        return 0

    def ended(self) -> bool:
        return True

    wait = finish = begin = leave = stop = ended


def stand_in(monkeypatch):
    """Nothing is started, and nothing is looked at."""
    for module, names in {
        record: ["run_and_wait", "keep_measured", "Watch"],
        recordkept: ["say_where"],
        record.kernelview: ["obstacle", "process_named", "KernelRecorder"],
        record.jvm: ["runs_java", "in_environment"],
        top: ["_watch", "Watched", "Attached"],
        top.subprocess: ["Popen"],
        simulate.modeled: ["run"],
        check.checkset: ["run", "scenarios"],
        simulate.sweeps: ["run"],
    }.items():
        for name in names:
            monkeypatch.setattr(module, name, Nothing() if name[0].islower() else Nothing)
    monkeypatch.setattr(top, "_watch", Nothing())
    monkeypatch.setattr(top.Started, "leave", Nothing())
    for module in (record, top):
        quiet = SimpleNamespace(**vars(module.signal))
        quiet.signal = quiet.pthread_sigmask = Nothing()
        monkeypatch.setattr(module, "signal", quiet)
    monkeypatch.setattr(simulate.modeled, "find", lambda name, _: name)
    monkeypatch.setattr(simulate.modeled, "compile_source", lambda name, *_, **_named: name)
    monkeypatch.setattr(simulate, "list_machines", Nothing())
    monkeypatch.setattr(check, "_mutate", lambda *_: 0)
    monkeypatch.setattr(check, "show_json", lambda *_: 0)


VALUES = {
    "--pid": "1", "--for": "1s", "--lock": "mcs", "--tm": "norec", "--omp-barrier": "central",
    "--omp-lock": "mcs", "--omp-regions": "kept", "--omp-tasks": "ours", "--wait": "park",
    "--json": "report.json", "--sweep": "A=1,2", "--figure": "a.svg", "--interval": "1",
    "--rows": "3", "--set": "steps=9", "--replay": "1 2", "--machine": "small-2c",
}  # fmt: skip
COMMANDS = [
    (record, [["./program"]], ("--help", "--wait")),
    (top, [["--", "./program"], ["12345"]], ("--help",)),
    (simulate, [["./program"], ["a.c"]], ("--help", "--from", *simulate.OF_RECORDS)),
    (check, [["./program"], ["a.c"]], ("--help",)),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("which", range(4), ids=["record", "top", "simulate", "check"])
def test_no_option_of_a_pair_goes_unlooked_at(prefix, monkeypatch, which):
    command, operands, left_out = COMMANDS[which]
    stand_in(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(prefix))  # what is made there may stay
    given = [name for name in command.OPTIONS if name not in left_out]
    followed = 0
    for pair in [*((name,) for name in given), *itertools.combinations(given, 2)]:
        for operand in operands:
            options = Looked(
                {
                    name: "1" if command.OPTIONS[name] == FLAG else VALUES.get(name, "3")
                    for name in pair
                }
            )
            words = [] if "--pid" in pair or "--machines" in pair else operand[-1:]
            monkeypatch.setattr(command, "read_options", lambda *_, o=options, w=words: (o, w))
            try:
                command.main(operand)
            except Failure as failure:
                assert failure.status == BAD_USE, (pair, operand, failure)
                continue
            followed += 1
            assert set(pair) <= options.asked, (pair, operand)
    assert followed > len(given)


# ---- report: which forms an option acts on ------------------------------------------------------


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> Path:
    builder = RecordBuilder()
    thread = builder.thread(11)
    for number in range(3):
        builder.row(thread, builder.lock(0x7000 + number), WaitKind.MUTEX, [800_000])
    return builder.write(tmp_path_factory.mktemp("record") / "r")


FORMS = {
    "text": [], "--json": ["--json"], "--html": ["--html", "page"], "--folded": ["--folded"],
    "--perfetto": ["--perfetto", "trace"], "--firefox": ["--firefox", "profile"],
    "--bundle": ["--bundle", "bundle"], "--advice": ["--advice", "json"],
}  # fmt: skip
MODIFIERS = {
    "--top": (["--top", "1"], {"text", "--json", "--html", "--folded"}),
    "--sort": (["--sort", "max"], {"text", "--json", "--html", "--folded"}),
    "--lock": (["--lock", "x7001"], FORMS.keys() - {"--bundle"}),
    "--holders": (["--holders"], {"--folded"}),
    "--policy": (["--policy", "single.toml"], {"--html"}),
    "--whatif": (["--whatif", "none.json"], {"text", "--json", "--html", "--advice"}),
    "--predict": (["--predict", "nowhere"], {"text", "--json", "--html", "--advice"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_an_option_that_does_not_change_the_form_is_refused(
    recorded, tmp_path, monkeypatch, capsys, form
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "single.toml").write_text(POLICY)
    for name, (words, acts_on) in MODIFIERS.items():
        refused = ""
        try:
            report.main([*FORMS[form], *words, str(recorded)])
        except Failure as failure:
            refused = str(failure)
        capsys.readouterr()
        assert (f"{name} changes" in refused) == (form not in acts_on), (form, name, refused)


def test_tune_says_which_variables_it_leaves_out(monkeypatch, capsys):
    monkeypatch.setenv("SYNCOPATE_LOCK", "mcs")
    monkeypatch.setenv("SYNCOPATE_GUARD", "")
    session.say_left_out(["SYNCOPATE_LOCK", "SYNCOPATE_GUARD", "PATH"])
    said = capsys.readouterr().err
    assert said.startswith("syncopate: tune: SYNCOPATE_LOCK is set, and left out: ")
    assert said.count("\n") == 1


def options_with_values() -> list[tuple[str, ...]]:
    """Words of every command and action before an option that takes a value, and its name."""
    found = []
    for name in [*command_line.COMMANDS, "cc"]:
        actions = commandhelp.actions(commandhelp.page([name]))
        for words in [[name], *([name, action] for action in actions)]:
            options = commandhelp.options(commandhelp.page(words))
            found += [(*words, each.names[-1]) for each in options if each.takes]
    return found


def test_an_option_with_an_empty_value_is_not_one_that_is_not_given():
    asked = options_with_values()
    assert len(asked) > 100 and {words[0] for words in asked} >= {"run", "bench", "c++", "tune"}
    for *words, option in asked:
        given = [f"{option}="] if option.startswith("--") else [option, ""]
        with pytest.raises(Failure, match=f"{option}.*(needs|expected) a") as refused:
            command_line.dispatch([*words, *given, "true"])
        assert refused.value.status == BAD_USE, (words, option)


@pytest.mark.parametrize("time", ["nan", "inf", "1e400", "9" * 23, "-1", "0", "soon"])
@pytest.mark.parametrize(
    "words",
    [["record", "-p", "1", "--for"], ["top", "--interval"], ["top", "--rows"], ["tune", "--budget"],
     ["calibrate", "--seconds"], ["bench", "run", "--limit"], ["bench", "paper", "--limit"],
     ["bench", "regret", "--seconds"]],
)  # fmt: skip
def test_a_time_is_a_finite_number_above_0(words, time):
    *before, option = words
    of = [] if before[0] in ("record", "calibrate") else ["true"]
    with pytest.raises(Failure, match=f"{option}.*(wanted|needs a number)") as refused:
        command_line.dispatch([*before, f"{option}={time}", *of])
    assert refused.value.status == BAD_USE
