// What is done with condition variables.
@initialize:python@ @@
import json
def say(kind, p, **more):
    print("FACT " + json.dumps(dict(kind=kind, file=p.file, line=int(p.line), column=int(p.column),
                                    function=p.current_element, **more)))

// The maintenance thread's own loop: asks again after each wait.
@loop@
expression C, L, P;
position p, pw;
@@
(
while@p (P) pthread_cond_wait@pw(C, L);
|
while@p (P) { pthread_cond_wait@pw(C, L); }
)

@script:python@
p << loop.p;
pw << loop.pw;
@@
say("loop", p[0], to_line=int(pw[0].line), to_column=int(pw[0].column))

@use@
identifier F =~ "^pthread_cond_(wait|timedwait|clockwait|signal|broadcast|init|destroy)$";
expression list es;
position p;
@@
F@p(es)

@script:python@
p << use.p;
F << use.F;
@@
for q in p: say("condition", q, name=str(F))

// The structure whose mutex a wait gives back.
@member@
type T;
T *s;
expression C;
identifier f, F =~ "^pthread_cond_(wait|timedwait|clockwait)$";
position p;
@@
F@p(C, &s->f, ...)

@script:python@
p << member.p;
T << member.T;
@@
for q in p: say("member", q, type=str(T))

@part@
type T;
T s;
expression C;
identifier f, F =~ "^pthread_cond_(wait|timedwait|clockwait)$";
position p;
@@
F@p(C, &s.f, ...)

@script:python@
p << part.p;
T << part.T;
@@
for q in p: say("member", q, type=str(T))

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
