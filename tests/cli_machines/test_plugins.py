"""Libraries that a simulated program loads while it runs, compiled for the machine as well."""

import os
import subprocess
import sys

from modeled import BUILD, ROOT

# Each thread counts from 0, however many have ended before it, and however often it is loaded.
PLUGIN = """
#include <pthread.h>
static _Thread_local long mine = 5, more;
static void* count(void* unused) {
  for (int i = 0; i < 100; ++i) {
    ++mine;
    ++more;
  }
  return (void*)(mine + more);
}
long sum_of(int threads) {
  long sum = 0;
  for (int i = 0; i < threads; ++i) {
    pthread_t thread;
    void* result;
    pthread_create(&thread, 0, count, 0);
    pthread_join(thread, &result);
    sum += (long)result;
  }
  return sum;
}
"""
PROGRAM = """
#include <dlfcn.h>
#include <stdio.h>
int main(void) {
  for (int i = 0; i < 2; ++i) {
    void* const plugin = dlopen("./plugin.so", RTLD_NOW);
    long (*const sum_of)(int) = (long (*)(int))dlsym(plugin, "sum_of");
    printf("%ld\\n", sum_of(3));
    dlclose(plugin);
  }
}
"""


def test_thread_locals_of_a_plugin_are_new_in_each_thread(tmp_path):
    (tmp_path / "plugin.c").write_text(PLUGIN, encoding="utf-8")
    (tmp_path / "program.c").write_text(PROGRAM, encoding="utf-8")
    environ = {**os.environ, "SYNCOPATE_NATIVE": BUILD, "PYTHONPATH": str(ROOT)}
    for words in (
        ["-fPIC", "-shared", "plugin.c", "-o", "plugin.so"],
        ["program.c", "-o", "program"],
    ):
        command = [sys.executable, "-m", "syncopate", "cc", "--machine=simulated", "-O1", *words]
        subprocess.run(command, cwd=tmp_path, env=environ, check=True, timeout=120)
    done = subprocess.run(
        ["./program"], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, "615\n615\n"), done.stderr
