"""The Open POSIX Test Suite: a program for each sentence of POSIX; of it, those with threads."""

from standard import Test

PACKAGE = "posixtestsuite"
LEAST = 380  # Tests that pass without us; far fewer means that the build of them broke.
# Its stress/ is left out: programs that run until they are stopped.
# Two processes use a condition variable that is not process-shared, which POSIX leaves undefined.
UNDEFINED = "pthread_cond_init/1-3.c"
FOLDERS = ["conformance/interfaces", "functional/threads"]


def tests(source, work, jobs):
    """Returns the tests of the unpacked source: the programs that use threads."""
    del work, jobs
    flags = ("-std=gnu99", "-O2", "-D_GNU_SOURCE", "-I", str(source / "include"))
    found = []
    for folder in FOLDERS:
        for path in sorted((source / folder).rglob("*.c")):
            text = path.read_text(encoding="utf-8", errors="replace")
            # Nobody's clock is set by a test of ours.
            if "clock_settime" in text or str(path).endswith(UNDEFINED):
                continue
            if "main(" in text.replace(" (", "(") and "pthread_" in text:
                name = str(path.relative_to(source).with_suffix("")).replace("/", "-")
                own = (*flags, "-I", str(path.parent))
                found.append(Test(name, (path,), own, ("-lpthread", "-lrt", "-lm")))
    return found
