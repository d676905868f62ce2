"""C programs with random critical sections, in random order and with random ways out.

One thread alone always prints the same, whatever the locks are; with an argument, three threads
count under each lock, and the program fails where a count is lost.
"""

from __future__ import annotations

import random

LOCKS = ["&m0", "&m1", "&inside.m", "&several[1]", "&m4", "&readers", "&spin"]  # in their order
KINDS = ["mutex"] * 5 + ["rwlock", "spin"]
GLOBALS = 6
DEEPEST = 4

HEAD = """\
#include <pthread.h>
#include <stdio.h>
#define LOCK(x) pthread_mutex_lock(x)
#define UNLOCK(x) do { pthread_mutex_unlock(x); } while (0)
struct two { int x, y; };
static pthread_mutex_t m0 = PTHREAD_MUTEX_INITIALIZER, m1 = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t m4 = PTHREAD_MUTEX_INITIALIZER;
static struct { int a; pthread_mutex_t m; } inside = {0, PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t several[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static int g[6] = {1, 2, 3, 4, 5, 6};
static unsigned long counted[7], sum[7];
static __thread unsigned long own[7];
static __thread unsigned trace;
static inline void take(pthread_mutex_t *m) { pthread_mutex_lock(m); }
static inline int take_it(pthread_mutex_t *m) { return pthread_mutex_lock(m); }
static void give(pthread_mutex_t *m) { pthread_mutex_unlock(m); }
static void at(int place) { trace = trace * 31 + place; }
static int asked(int x, int k) { at(1000 + k); return (x ^ k) % 5; }
"""
TAIL = """\
static pthread_mutex_t sums = PTHREAD_MUTEX_INITIALIZER;
static void *body(void *first) {
  for (int i = 0; i < 300; i++) {
    CALLS
  }
  pthread_mutex_lock(&sums);
  for (int i = 0; i < 7; i++) sum[i] += own[i];
  pthread_mutex_unlock(&sums);
  return 0;
}
int main(int argc, char **argv) {
  pthread_spin_init(&spin, 0);
  if (argc > 1) {
    pthread_t threads[3];
    for (long i = 0; i < 3; i++) pthread_create(&threads[i], 0, body, (void *)i);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    for (int i = 0; i < 7; i++)  // 5: counted by readers, too
      if (i != 5 && sum[i] != counted[i])
        return printf("lock %d: %lu of %lu\\n", i, counted[i], sum[i]), 1;
    return 0;
  }
  body(0);
  printf("%u", trace);
  for (int i = 0; i < 6; i++) printf(" %d", g[i]);
  for (int i = 0; i < 7; i++) printf(" %lu", counted[i]);
  printf("\\n");
  return 0;
}
"""


class Function:
    """Writes one function. `held` are the locks that a place holds, `loops` those that were held
    where each loop around it begins."""

    def __init__(self, choose: random.Random, number: int):
        self.choose, self.number = choose, number
        self.variables = ["a"]
        self.made = self.depth = self.place = 0
        self.labels: set[str] = set()

    def text(self) -> str:
        lines = self.statements([], [], self.choose.randint(1, 3))
        lines += ["g[0] ^= a;", "return a;"]
        for label in sorted(self.labels):
            lines += [f"{label}: {self.here()}", f"return a + {self.choose.randrange(9)};"]
        static = self.choose.choice(["static ", ""])
        return "\n".join([f"{static}int f{self.number}(int a) {{", *lines, "}", ""])

    def here(self) -> str:
        self.place += 1
        return f"at({100 * self.number + self.place});"

    def global_(self) -> str:
        return f"g[{self.choose.randrange(GLOBALS)}]"

    def variable(self) -> str:
        return self.choose.choice(self.variables)

    def value(self) -> str:
        of, small = self.variable(), self.choose.randrange(9)
        forms = [of, f"{of} + {small}", self.global_(), f"asked({of}, {small})", f"{of} * 3 % 17"]
        return self.choose.choice(forms)

    def condition(self) -> str:
        of, small = self.variable(), self.choose.randrange(5)
        forms = [f"{of} & {1 << small}", f"{of} > {small}", f"{self.global_()} % 2",
                 f"asked({of}, {small})", f"!({of} % 3)"]  # fmt: skip
        return self.choose.choice(forms)

    def lock(self, which: int) -> str:
        name = LOCKS[which]
        if KINDS[which] == "rwlock":
            return f"pthread_rwlock_{self.choose.choice(['rd', 'wr'])}lock({name});"
        if KINDS[which] == "spin":
            return f"pthread_spin_lock({name});"
        forms = ["pthread_mutex_lock({});", "LOCK({});", "take({});", "take_it({});",
                 "while (pthread_mutex_trylock({})) ;"]  # fmt: skip
        return self.choose.choice(forms).format(name)

    def unlock(self, which: int) -> str:
        if KINDS[which] != "mutex":
            return f"pthread_{KINDS[which]}_unlock({LOCKS[which]});"
        forms = ["pthread_mutex_unlock({});", "UNLOCK({});", "give({});"]
        return self.choose.choice(forms).format(LOCKS[which])

    def statements(self, held: list[int], loops: list[list[int]], count: int) -> list[str]:
        """Those of a block: what they declare ends with it."""
        before, lines = self.variables, []
        for _ in range(count):
            lines += self.statement(held, loops)
        self.variables = before
        return lines

    def statement(self, held: list[int], loops: list[list[int]]) -> list[str]:
        if self.depth == DEEPEST:
            return self.simple(held, loops)
        kinds = [self.simple, self.declaration, self.branch, self.loop, self.switch, self.section]
        self.depth += 1
        lines = self.choose.choices(kinds, [4, 2, 2, 2, 1, 8])[0](held, loops)
        self.depth -= 1
        return lines

    def simple(self, held: list[int], _loops) -> list[str]:
        forms = [f"{self.global_()} = {self.value()};", f"{self.variable()} += {self.value()};",
                 self.here()]  # fmt: skip
        if held:
            forms.append(self.count(held))
        elif self.number:
            callee = self.choose.randrange(self.number)
            forms.append(f"{self.variable()} = f{callee}({self.value()});")
        return [self.choose.choice(forms)]

    def count(self, held: list[int]) -> str:
        which = self.choose.choice(held)
        return f"counted[{which}]++; own[{which}]++;"

    def declaration(self, _held, _loops) -> list[str]:
        self.made += 1
        name, value = f"v{self.made}", self.value()
        member = f"struct two of_{name} = {{.x = {value}}}; int {name} = of_{name}.x;"
        forms = [f"int {name} = {value};"] * 3
        forms += [f"int {name} = {value}, *to_{name} = &{name}; *to_{name} += 2;",
                  f"int of_{name}[3] = {{1, {value}}}; int {name} = of_{name}[1];",
                  member]  # fmt: skip
        self.variables = [*self.variables, name]
        return [self.choose.choice(forms)]

    def branch(self, held: list[int], loops: list[list[int]]) -> list[str]:
        lines = [f"if ({self.condition()}) {{", *self.statements(held, loops, 1)]
        if self.choose.random() < 0.35:
            lines += self.way_out(held, loops)
        if self.choose.random() < 0.4:
            lines += ["} else {", *self.statements(held, loops, 2)]
        return [*lines, "}"]

    def loop(self, held: list[int], loops: list[list[int]]) -> list[str]:
        self.made += 1
        i, within = f"i{self.made}", [*loops, held]
        lines = [f"for (int {i} = 0; {i} < {self.choose.randint(1, 3)}; {i}++) {{"]
        lines += self.statements(held, within, self.choose.randint(1, 3))
        if self.choose.random() < 0.2:
            lines += [f"if ({self.condition()}) {{", *self.way_out(held, within), "}"]
        return [*lines, "}"]

    def switch(self, held: list[int], _loops) -> list[str]:
        lines = [f"switch (({self.value()}) & 3) {{"]
        for case in range(self.choose.randint(1, 2)):
            lines += [f"case {case}: {{", *self.statements(held, [], 1), "}"]
            lines += self.choose.choice([["break;"], ["break;"], []])
        return [*lines, "default: break;", "}"]

    def way_out(self, held: list[int], loops: list[list[int]]) -> list[str]:
        """Gives back what it must, and leaves."""
        label = f"out{self.choose.randrange(2)}"
        leaves = [f"return {self.value()};", f"goto {label};"]
        if loops:
            leaves += ["break;", "continue;"]
        leave = self.choose.choice(leaves)
        if leave.startswith("goto"):
            self.labels.add(label)
        kept = loops[-1] if leave in ("break;", "continue;") else []
        lines = [self.here()] if self.choose.random() < 0.5 else []
        lines += [self.unlock(which) for which in reversed(held) if which not in kept]
        if self.choose.random() < 0.4:
            lines.append(self.here())
        return [*lines, leave]

    def section(self, held: list[int], loops: list[list[int]]) -> list[str]:
        first = max(held) + 1 if held else 0
        if first == len(LOCKS):
            return [self.here()]
        which = self.choose.randrange(first, len(LOCKS))
        within = [*held, which]
        if KINDS[which] == "mutex" and self.choose.random() < 0.12:
            lines = [f"if (pthread_mutex_trylock({LOCKS[which]}) == 0) {{"]
            lines += [*self.statements(within, loops, 2), self.unlock(which), "}"]
            return lines
        lines = [self.lock(which), self.count(within)]
        for _ in range(self.choose.randint(1, 3)):  # what it declares is known behind it
            lines += self.statement(within, loops)
        lines += self.end(which, held, loops)
        if self.choose.random() < 0.5:
            lines.append(f"{self.global_()} += {self.variable()};")
        return lines

    def end(self, which: int, held: list[int], loops: list[list[int]]) -> list[str]:
        form = self.choose.random()
        if form < 0.08:
            return [f"if ({self.condition()}) {{", self.unlock(which), self.here(), "} else {",
                    self.here(), self.unlock(which), "}"]  # fmt: skip
        if form < 0.14 and not held and not loops:
            return [self.unlock(which), f"if ({self.condition()}) return {self.value()};"]
        return [self.unlock(which)]


def program(seed: int) -> str:
    choose = random.Random(seed)
    functions = range(choose.randint(2, 4))
    texts = [Function(choose, number).text() for number in functions]
    calls = "\n    ".join(f"at(f{number}(i + (int)(long)first));" for number in functions)
    return "\n".join([HEAD, *texts, TAIL.replace("CALLS", calls)])
