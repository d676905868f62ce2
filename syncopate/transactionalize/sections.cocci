// Where locks are taken and given back, which unlock follows which lock, and who leaves in between.
@initialize:python@ @@
import json
def say(kind, p, **more):
    print("FACT " + json.dumps(dict(kind=kind, file=p.file, line=int(p.line), column=int(p.column),
                                    function=p.current_element, **more)))

@lock@
expression list es;
identifier L =~ "^(LOCKS)$";
position p;
@@
L@p(es)

@script:python@
p << lock.p;
L << lock.L;
@@
for q in p: say("lock", q, name=str(L))

@unlock@
expression list es;
identifier U =~ "^(UNLOCKS)$";
position p;
@@
U@p(es)

@script:python@
p << unlock.p;
U << unlock.U;
@@
for q in p: say("unlock", q, name=str(U))

// The structure that a mutex is a member of, which tells members of the same name apart.
@member@
type T;
T *s;
identifier f, L =~ "^(LOCKS|UNLOCKS|pthread_mutex_trylock)$";
position p;
@@
L@p(&s->f)

@script:python@
p << member.p;
T << member.T;
@@
for q in p: say("member", q, type=str(T))

@part@
type T;
T s;
identifier f, L =~ "^(LOCKS|UNLOCKS|pthread_mutex_trylock)$";
position p;
@@
L@p(&s.f)

@script:python@
p << part.p;
T << part.T;
@@
for q in p: say("member", q, type=str(T))

// Once for each group of functions that take and give back the same mutex, or any that is given.
// BEGIN GROUP
@pairGROUP exists@
expression list es;
identifier L =~ "^(GROUP_TAKES)$";
identifier U =~ "^(GROUP_GIVES)$";
position p1, p2;
@@
L@p1(es);
... when != L(es)
    when != U(es)
U@p2(es);

@script:python@
p1 << pairGROUP.p1;
p2 << pairGROUP.p2;
@@
for q in p2: say("pair", p1[0], to_line=int(q.line), to_column=int(q.column))

@heldGROUP exists@
expression list es;
identifier L =~ "^(GROUP_TAKES)$";
identifier U =~ "^(GROUP_GIVES)$";
position p1, p2;
@@
L@p1(es);
... when != U(es)
return@p2 ...;

@script:python@
p1 << heldGROUP.p1;
p2 << heldGROUP.p2;
@@
for q in p2: say("held", p1[0], to_line=int(q.line))

// END GROUP

// A trylock that a loop repeats until it succeeds.
@spin@
expression E;
position p, pt;
statement S;
@@
(
while@p (pthread_mutex_trylock@pt(E) != 0) S
|
while@p (pthread_mutex_trylock@pt(E) == EBUSY) S
|
while@p (pthread_mutex_trylock@pt(E)) S
)

@script:python@
p << spin.p;
pt << spin.pt;
@@
say("spin", p[0], to_line=int(pt[0].line), to_column=int(pt[0].column))

@attempt@
expression E;
position p, pt;
statement S;
@@
(
if@p (pthread_mutex_trylock@pt(E) == 0) S
|
if@p (!pthread_mutex_trylock@pt(E)) S
)

@script:python@
p << attempt.p;
pt << attempt.pt;
@@
say("attempt", p[0], to_line=int(pt[0].line), to_column=int(pt[0].column))

// A trylock whose failure has a branch of its own, and no other.
@gives_up@
expression E;
position p, pt;
statement S;
@@
(
if@p (pthread_mutex_trylock@pt(E) != 0) S
|
if@p (pthread_mutex_trylock@pt(E) == EBUSY) S
|
if@p (pthread_mutex_trylock@pt(E)) S
)

@script:python@
p << gives_up.p;
pt << gives_up.pt;
@@
say("gives_up", p[0], to_line=int(pt[0].line), to_column=int(pt[0].column))

@trylock@
expression E;
position p;
@@
pthread_mutex_trylock@p(E)

@script:python@
p << trylock.p;
@@
for q in p: say("trylock", q, name="pthread_mutex_trylock")

// Which functions are understood at all.
@understood@
identifier F;
position p;
@@
F@p(...) { ... }

@script:python@
p << understood.p;
@@
say("understood", p[0])
