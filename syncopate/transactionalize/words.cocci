// Atomic increments and decrements, and variables declared volatile with what is done to them.
@initialize:python@ @@
import json
def say(kind, p, **more):
    print("FACT " + json.dumps(dict(kind=kind, file=p.file, line=int(p.line), column=int(p.column),
                                    function=p.current_element, **more)))

@atomic@
identifier F =~ "^__(sync|atomic)_(fetch_(and_)?(add|sub)|(add|sub)_(and_)?fetch)$";
expression list es;
position p;
@@
F@p(es)

@script:python@
p << atomic.p;
F << atomic.F;
@@
for q in p: say("atomic", q, name=str(F))

// Every use as a value or a place, as the language scopes it: declarations do not match.
@use@
identifier x =~ "^(WORDS)$";
position p;
@@
x@p

@script:python@
p << use.p;
x << use.x;
@@
for q in p: say("use", q, name=str(x))

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
