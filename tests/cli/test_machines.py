"""`syncopate c++`, `cc`, `simulate` and `check`, as far as no modeled machine is needed.

tests/cli_machines compiles and runs programs.
"""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import compile_c, one_line, run_cli


@pytest.fixture
def tools(tmp_path):
    """A prefix with libraries that only have the machines' names."""
    (tmp_path / "lib").mkdir()
    for machine in ("simulated", "explored", "emulated"):
        compile_c(
            "int syncopate_stand_in;\n",
            tmp_path / f"lib/libsyncopate-{machine}.so",
            "-shared",
            "-fPIC",
        )

    def run(*arguments, **others):
        environ = {"SYNCOPATE_NATIVE": str(tmp_path), "CXX": "", "CC": ""}
        return run_cli(*arguments, environ=environ, **others)

    return run


def commands(tools, *arguments, command="c++", machine="simulated") -> list[list[str]]:
    """The compiler commands that a command line becomes."""
    done = tools(command, f"--machine={machine}", "--show", *arguments)
    assert done.returncode == 0, done.stderr
    return [shlex.split(line) for line in done.stdout.splitlines()]


def source(tmp_path, name: str, text: str = "int main() { return 0; }\n") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def test_compiling_only_is_one_step(tools):
    (step,) = commands(tools, "-O2", "-c", "a.cpp", "-o", "a.o")
    assert "-fsanitize=thread" in step
    assert step[-1] == "a.cpp"
    assert step[step.index("-o") + 1] == "a.o"
    assert not any("libsyncopate" in word for word in step)


def test_compiling_and_linking_is_split(tools):
    first, second, link = commands(
        tools, "-O2", "a.cpp", "-DX=1", "b.cpp", "c.o", "-lm", "-o", "prog"
    )
    for step, name in ((first, "a.cpp"), (second, "b.cpp")):
        assert "-c" in step
        assert "-fsanitize=thread" in step
        assert "-DX=1" in step
        assert step[-1] == name
        assert "-lm" not in step
        assert "c.o" not in step
    objects = [step[step.index("-o") + 1] for step in (first, second)]
    assert "-fsanitize=thread" not in link
    assert "-no-pie" in link
    kept = [word for word in link if word in (*objects, "c.o", "-lm")]
    assert kept == [*objects, "c.o", "-lm"]
    assert any(word.endswith("libsyncopate-simulated.so") for word in link)
    assert any(word.startswith("-Wl,-rpath,") for word in link)


def test_linking_only_is_one_step(tools):
    (link,) = commands(tools, "a.o", "-o", "prog")
    assert "-fsanitize=thread" not in link
    assert any(word.endswith("libsyncopate-simulated.so") for word in link)


def test_our_headers_come_before_the_users(tools):
    (step,) = commands(tools, "-I", "mine", "-c", "a.cpp")
    folders = [step[at + 1] for at, word in enumerate(step) if word == "-I"]
    assert len(folders) == 3
    assert folders[2] == "mine"
    assert (Path(folders[0]) / "syncopate/machine/current.h").is_file()
    assert (Path(folders[1]) / "syncopate/machine.h").is_file()


def test_shared_library_is_no_fixed_address_executable(tools):
    link = commands(tools, "-shared", "-fPIC", "a.cpp", "-o", "liba.so")[-1]
    assert "-shared" in link
    assert "-no-pie" not in link


def test_debug_information_is_the_users_choice(tools):
    (step,) = commands(tools, "-g0", "-c", "a.cpp")
    assert "-g" not in step
    (step,) = commands(tools, "-c", "a.cpp")
    assert "-g" in step


def test_language_option_reaches_its_sources_only(tools):
    first, second, _link = commands(tools, "-x", "c++", "a.txt", "-x", "none", "b.c")
    assert first[-3:] == ["-x", "c++", "a.txt"]
    assert second[-3:] == ["-x", "none", "b.c"]


def test_make_rules_keep_their_names(tools):
    first, link = commands(tools, "-MD", "-MT", "prog", "a.cpp", "-o", "prog")
    assert first[first.index("-MF") + 1] == "a.d"
    assert "-MD" not in link
    assert "prog" not in link[:-1]
    (step,) = commands(tools, "-MMD", "-MF", "x.d", "-c", "a.cpp")
    assert step[step.index("-MF") + 1] == "x.d"


def test_response_files_are_read(tools, tmp_path):
    inner = source(tmp_path, "inner", "-DNAME='two words' b.cpp\n")
    outer = source(tmp_path, "outer", f"-O3 @{inner}")
    first, second, _link = commands(tools, f"@{outer}", "a.cpp")
    assert first[-1] == "b.cpp"
    assert "-DNAME=two words" in second


def test_clang_gets_its_own_options(tools):
    step = commands(tools, "--compiler=clang++", "-c", "a.cpp")[0]
    assert "-tsan-instrument-read-before-write=1" in step
    assert "--param" not in step


def test_the_emulated_machine_is_called_directly(tools):
    step, link = commands(tools, "a.cpp", machine="emulated")
    assert "-fno-plt" in step and "-Wl,-z,now" in link
    assert "-fno-plt" not in commands(tools, "a.cpp")[0]


def test_wide_vectors_with_clang_are_said(tools, tmp_path):
    path = source(tmp_path, "a.cpp")
    options = ["--machine=emulated", "-march=x86-64", "-c", path]
    assert tools("c++", *options, "--compiler=g++", "-mavx2", cwd=tmp_path).stderr == ""
    assert tools("c++", *options, "--compiler=clang++", cwd=tmp_path).stderr == ""
    done = tools("c++", *options, "--compiler=clang++", "-mavx2", cwd=tmp_path)
    assert done.returncode == 0
    (line,) = done.stderr.splitlines()
    assert "-mavx2: without libsyncopate-clang" in line
    assert "clang shows the machine no access of more than 16 bytes" in line


def test_clang_gets_the_plugin_of_its_version(tools, tmp_path):
    options = ("--compiler=clang++", "-c", "a.cpp")
    assert not any("-fpass-plugin" in word for word in commands(tools, *options)[0])
    for major in range(5, 40):
        (tmp_path / f"lib/libsyncopate-clang{major}.so").touch()
    (option,) = [word for word in commands(tools, *options)[0] if "-fpass-plugin" in word]
    said = subprocess.run(["clang++", "-dumpversion"], capture_output=True, text=True, check=True)
    assert option.endswith(f"/lib/libsyncopate-clang{said.stdout.split('.')[0]}.so")


def test_gcc_gets_the_plugin_of_its_version(tools, tmp_path):
    for major in range(5, 40):
        (tmp_path / f"lib/libsyncopate-gcc{major}.so").touch()
    said = subprocess.run(["g++", "-dumpversion"], capture_output=True, text=True, check=True)
    for machine, told in (("explored", True), ("emulated", True), ("simulated", False)):
        words = commands(tools, "--compiler=g++", "-c", "a.cpp", machine=machine)[0]
        plugins = [word for word in words if "-fplugin" in word]
        assert ("-DSYNCOPATE_STRUCTS_SEEN" in words) == told and len(plugins) == int(told)
        major = said.stdout.strip().split(".")[0]
        assert all(word.endswith(f"/lib/libsyncopate-gcc{major}.so") for word in plugins)


@pytest.mark.parametrize(
    ("name", "version", "said"),
    [
        ("g++", "10", True),
        ("g++", "11", False),
        ("clang++", "11.0.1", True),
        ("clang++", "", False),
    ],
)
def test_a_compiler_that_is_too_old_is_called_so(tools, tmp_path, name, version, said):
    compiler = source(
        tmp_path,
        name,
        f"""#!/bin/sh
[ "$1" = -dumpversion ] && echo {version} && exit
echo 'no such option' >&2
exit 1
""",
    )
    compiler.chmod(0o755)
    done = tools("c++", "--machine=simulated", f"--compiler={compiler}", "-c", "a.cpp")
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == "no such option"
    major = version.partition(".")[0]
    assert lines[1:] == said * [
        f"syncopate c++: {name} is of version {major}; machines need GCC 11, clang 12 or newer:"
        " name one with --compiler=PATH"
    ]


def test_assembler_files_are_left_alone(tools):
    first, _link = commands(tools, "a.S", "-o", "prog", command="cc")
    assert "-fsanitize=thread" not in first


def test_other_sanitizers_are_left_out_and_said(tools, tmp_path):
    path = source(tmp_path, "a.cpp")
    done = tools(
        "c++", "--machine=simulated", "-fsanitize=address", "-flto", "-c", path, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stderr.splitlines()
    assert "-fsanitize=address left out" in first
    assert "-flto left out" in second


def test_the_command_itself_is_no_compiler(tools, tmp_path):
    """As under `make CC='syncopate cc --machine=simulated'`, which exports CC."""
    path = source(tmp_path, "a.c")
    itself = "/opt/bin/syncopate cc --machine=simulated"
    done = run_cli(
        "cc", "--machine=simulated", "--show", "-c", path,
        environ={"SYNCOPATE_NATIVE": str(tmp_path), "CC": itself}, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert shlex.split(done.stdout)[0].endswith("gcc")


@pytest.mark.parametrize("command", ["cc", "c++"])
def test_a_script_around_the_command_does_not_start_itself_again(tools, tmp_path, command):
    """As with a configure script whose $CC has to be one word."""
    variable = {"cc": "CC", "c++": "CXX"}[command]
    script, starts = tmp_path / "compiler", tmp_path / "starts"
    script.write_text(
        f"#!/bin/sh\necho >> {starts}\n[ $(wc -l < {starts}) -le 3 ] || exit 9\n"
        f'exec "{sys.executable}" -m syncopate {command} --machine=simulated "$@"\n'
    )
    script.chmod(0o755)
    object_file = tmp_path / "a.o"
    done = run_cli(
        command, "--machine=simulated", "-c", source(tmp_path, "a.cpp"), "-o", object_file,
        environ={"SYNCOPATE_NATIVE": str(tmp_path), variable: str(script)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert object_file.exists()


@pytest.mark.parametrize("option", ["-E", "-S", "-MM"])
def test_steps_that_do_not_link_pass_through(tools, tmp_path, option):
    path = source(tmp_path, "a.cpp")
    done = tools("c++", "--machine=simulated", option, path, "-o", "-", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "main" in done.stdout or "a.cpp" in done.stdout


def test_questions_are_the_compilers(tools):
    done = tools("c++", "--machine=explored", "--version")
    assert done.returncode == 0
    assert "g++" in done.stdout


def test_compile_errors_are_the_compilers(tools, tmp_path):
    path = source(tmp_path, "a.cpp", "int main() { return nothing; }\n")
    done = tools("c++", "--machine=simulated", path, cwd=tmp_path)
    assert done.returncode == 1
    assert "nothing" in done.stderr
    assert not (tmp_path / "a.out").exists()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["c++", "a.cpp"], 2, "for which machine?"),
        (["c++", "--machine=simulate", "a.cpp"], 2, "did you mean simulated or emulated?"),
        (["c++", "--machin=simulated", "a.cpp"], 2, "did you mean --machine?"),
        (["c++", "--machine"], 2, "--machine needs a value"),
        (["cc", "--machine=explored", "-static", "a.c"], 2, "leave -static out"),
        (["cc", "--machine=explored", "-fopenmp", "a.c"], 2, "no OpenMP runtime yet"),
        (["c++", "--machine=simulated", "a.o", "-fopenmp"], 2, "by --libgomp=FOLDER"),
        (
            ["c++", "--machine=simulated", "-fopenmp=libomp", "a.cpp", "--libgomp=."],
            2,
            "only GCC's -fopenmp",
        ),
        (
            ["cc", "--machine=simulated", "-fopenmp", "a.c", "--libgomp=/none"],
            2,
            "/none/libgomp.a: No such file",
        ),
        (["cc", "--machine=explored", "-ftree-parallelize-loops=4", "a.c"], 2, "no OpenMP"),
        (["cc", "--machine=explored", "a.c", "-o"], 2, "-o needs a value"),
        (["cc", "--machine=explored", "--compiler=no-such-cc", "a.c"], 127, "not found"),
        (["simulate"], 2, "no program named"),
        (["simulate", "--machine", "opteron-6727", "true"], 2, "did you mean opteron-6272"),
        (["simulate", "--machine", "./no.toml", "true"], 2, "no such machine file"),
        (["simulate", "true"], 2, "was not compiled for the simulated machine"),
        (["simulate", "--plot", "true"], 2, "--plot needs --sweep"),
        (["simulate", "--sweep", "threads", "true"], 2, "NAME=VALUE"),
        (["simulate", "--json", "no-such-report", "true"], 2, "a name in .json"),
        (["simulate", "no-such.cpp"], 2, "no such file"),
        (["check"], 2, "nothing named"),
        (["check", "--seconds", "many", "all"], 2, "'many' is not a number"),
        (["check", "/bin/true"], 2, "was not compiled for the explored machine"),
        (["check", "all", "more"], 2, "one name"),
        (["check", "glibc"], 2, "futex has its algorithm"),
        (["check", "null"], 2, "there is nothing to check"),
    ],
)
def test_bad_use(tools, arguments, status, said):
    done = tools(*arguments)
    assert done.returncode == status
    assert said in one_line(done)


@pytest.mark.parametrize("command", ["c++", "cc", "simulate", "check"])
def test_help(tools, command):
    done = tools(command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: syncopate {command}")
    assert "Exit status:" in done.stdout


def test_machines_are_listed(tools):
    done = tools("simulate", "--machines")
    assert done.returncode == 0, done.stderr
    lines = {line.split()[0]: line for line in done.stdout.splitlines()}
    assert "64" in lines["opteron-6272"].split()
    assert "2.10" in lines["opteron-6272"].split()
    assert "?" not in done.stdout
