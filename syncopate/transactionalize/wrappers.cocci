// Functions that do nothing but lock, or unlock, a mutex.
@initialize:python@ @@
import json
def say(kind, p, **more):
    print("FACT " + json.dumps(dict(kind=kind, file=p.file, line=int(p.line), column=int(p.column),
                                    function=p.current_element, **more)))

@locks@
expression E;
identifier F;
identifier L =~ "^(LOCKS)$";
position p;
@@
F@p(...) { L(E); }

@script:python@
p << locks.p;
E << locks.E;
@@
for q in p: say("locks", q, lock=str(E))

@unlocks@
expression E;
identifier F;
identifier U =~ "^(UNLOCKS)$";
position p;
@@
F@p(...) { U(E); }

@script:python@
p << unlocks.p;
E << unlocks.E;
@@
for q in p: say("unlocks", q, lock=str(E))
