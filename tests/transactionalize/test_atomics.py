"""Atomic additions that transactions reach: all that touches what they change becomes transactions,
told by the names that the language scopes; else they stay, and it is said why."""

import pytest
from rewriting import transactionalize

HEAD = """\
#include <pthread.h>
#include <stdio.h>
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
int hits, n;
"""
SECTION = "void f(void) { pthread_mutex_lock(&m); n++; %s; pthread_mutex_unlock(&m); }\n"
BY_NAME = SECTION % "__sync_fetch_and_add(&hits, 1)"
BY_POINTER = "void add(int* p) { __sync_fetch_and_add(p, 1); }\n" + SECTION % "add(&hits)"


def rewritten(tmp_path, text):
    (tmp_path / "a.c").write_text(HEAD + text)
    done = transactionalize("--atomic", "-o", tmp_path / "out", tmp_path / "a.c")
    return done.stderr.replace(f"{tmp_path}/", ""), (tmp_path / "out/a.c").read_text()


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "other",
    [
        "int g(int hits) { int t = ++hits; return t + hits; }",
        "int g(void) { int hits = n; if (n) { hits += 2; } return hits++; }",
        "int g(void) { for (int i = 0; i < 2; i++) { long x, hits = i; n += hits++; } return n; }",
    ],
)
def test_another_variable_of_that_name_is_another(tmp_path, other):
    said, text = rewritten(tmp_path, BY_NAME + other + "\n")
    assert said == "m: 1 of 1 sections, 1 atomic\n"
    assert other in text
    assert "__transaction_atomic { hits += (1); }" in text


def test_a_use_of_the_variable_itself_is_one(tmp_path):
    other = "int g(void) { extern int hits; return n = hits++; }\n"
    said, text = rewritten(tmp_path, BY_NAME + other)
    assert "a.c:6: hits: it is stored within an expression\n" in said
    assert "n++; __sync_fetch_and_add(&hits, 1);" in text


def test_what_is_changed_through_a_pointer_may_be_changed_by_its_name(tmp_path):
    """Were only one of the two a transaction, additions would be lost."""
    said, text = rewritten(
        tmp_path, BY_POINTER + "void g(void) { __sync_fetch_and_add(&hits, 2); }\n"
    )
    assert said == "m: 1 of 1 sections, 1 atomic\n"
    assert "__transaction_atomic { *(p) += (1); }" in text
    assert "__transaction_atomic { hits += (2); }" in text


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "other, why",
    [
        ("void h(int*); void g(void) { __sync_fetch_and_add(&hits, 2); h(&hits); }", "hits stays"),
        ("int g(void) { __sync_fetch_and_add(&hits, 2); return n = hits++; }", "hits stays"),
        ("void g(void) { __atomic_store_n(&hits, 2, 0); }", "__atomic_store_n is used"),
        ("int g(int* q) { return __sync_bool_compare_and_swap(q, 1, 2); }",
         "__sync_bool_compare_and_swap is used"),
    ],
)  # fmt: skip
def test_where_one_stays_atomic_so_does_what_no_name_tells(tmp_path, other, why):
    said, text = rewritten(tmp_path, BY_POINTER + other + "\n")
    assert f"a.c:5: p: it is changed through a pointer, and {why}\n" in said
    assert "m: 1 of 1 sections, 0 atomic\n" in said
    assert "{ __sync_fetch_and_add(p, 1); }" in text and other in text


def test_headers_are_included_only_where_code_runs_in_transactions(tmp_path):
    """A file whose lock stays is as it was."""
    (tmp_path / "a.c").write_text(HEAD + SECTION % "hits++")
    stays = (
        "#include <pthread.h>\n#include <string.h>\nstatic pthread_mutex_t k;\n"
        "#define LOCK(x) pthread_mutex_lock(&(x))\nvoid begin(void) { LOCK(k); }\n"
        "void end(void) { pthread_mutex_unlock(&k); }\n"
        "int length(const char* s) { return (int)strlen(s); }\n"
    )
    (tmp_path / "b.c").write_text(stays)
    done = transactionalize("--atomic", "-o", tmp_path / "out", tmp_path / "a.c", tmp_path / "b.c")
    assert "m: 1 of 1 sections, 1 atomic\n" in done.stderr
    assert (tmp_path / "out/b.c").read_text() == stays
    assert "#include <syncopate/tm/wrap_libc.h>" in (tmp_path / "out/a.c").read_text()
