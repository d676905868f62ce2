"""Processes that write titles over their arguments, as servers do: what they are called, and what
is left out of that where arguments are."""

import json

import pytest
from conftest import compile_c, run_cli, with_pool
from kernel_support import needs_kernel
from make_record import RecordBuilder

from syncopate.records.recordformat import COMMAND_AT

# As nginx does: the master writes a title over its arguments, and so does each worker.
TITLED = with_pool(
    r"""
static void call_it(char** words, int count, const char* format) {
  static char saved[99];
  char* end = words[count - 1] + strlen(words[count - 1]);
  if (saved[0] == 0) strcpy(saved, words[1]);
  memset(words[0], 0, end - words[0]);
  snprintf(words[0], end - words[0], format, saved);
}
int main(int count, char** words) {
  call_it(words, count, "server: master process server %s");
  if (fork() == 0) {
    pthread_t t[2];
    for (int i = 0; i < 2; i++) pthread_create(&t[i], 0, work, 0);
    usleep(50000);
    call_it(words, count, "server: worker process");
    for (int i = 0; i < 2; i++) pthread_join(t[i], 0);
    return 0;
  }
  wait(0);
}
""",
    times=200,
    held=2000,
)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("redacted", [False, True])
@pytest.mark.parametrize("how", [[], pytest.param(["--kernel"], marks=needs_kernel)])
def test_what_processes_call_themselves(tmp_path, how, redacted):
    """A worker as one, although it was forked from what called itself the master; and what is in a
    title is left out as arguments are."""
    program = compile_c(TITLED, tmp_path / "server", "-O1", "-g", "-pthread", "-w")
    words = [program, "a-secret", "and-room-for-titles-of-that-length"]
    options = [*how, *["--redact"] * redacted]
    done = run_cli("record", "-q", *options, "-o", tmp_path / "rec", "--", *words)
    assert (done.returncode, done.stderr) == (0, "")
    files = sorted(tmp_path.glob("rec*"))
    records = json.loads(run_cli("report", "--json", *files).stdout)["records"]
    (worker,) = [each["process"]["command"] for each in records if each["lost_ns"]]
    assert worker == ([str(program), "(arguments left out)"] if redacted else
                      ["server: worker process"])  # fmt: skip
    assert any(b"a-secret" in file.read_bytes() for file in files) != redacted


def test_a_title_is_left_out_of_a_report_as_arguments_are(tmp_path):
    builder = RecordBuilder()
    builder.command = ["/bin/server"]  # the executable's name, too
    image = bytearray(builder.build())
    title = b"server: master process server a-secret\0"
    image[COMMAND_AT : COMMAND_AT + len(title)] = title
    (tmp_path / "rec").write_bytes(image)
    for form in ([], ["--json"], ["--html", tmp_path / "page"], ["--bundle", tmp_path / "b"]):
        done = run_cli("report", "--redact", *form, tmp_path / "rec")
        assert done.returncode == 0 and "a-secret" not in done.stdout
    for made in ("page", "b"):
        assert b"a-secret" not in (tmp_path / made).read_bytes()
    shown = json.loads(run_cli("report", "--json", "--redact", tmp_path / "rec").stdout)
    assert shown["records"][0]["process"]["command"] == ["/bin/server", "(arguments left out)"]


@pytest.mark.parametrize("how", [[], pytest.param(["--kernel"], marks=needs_kernel)])
@pytest.mark.parametrize(("length", "cut"), [(300, False), (3000, True)])
def test_what_is_cut_says_so(tmp_path, how, length, cut):
    """Half an argument looks like a whole one."""
    record = tmp_path / "rec"
    words = ["sleep", "0", *["0.01" for _ in range(length // 5)]]
    assert run_cli("record", "-q", *how, "-o", record, "--", *words).returncode == 0
    told = json.loads(run_cli("report", "--json", record).stdout)["records"][0]["process"]
    if cut:
        assert told["command"][-1].endswith("...")
        whole = told["command"][:-1]
        assert len(whole) > 300 and whole == words[: len(whole)]
    else:
        assert told["command"] == words
