// last_calls_of_fortran.c -- runs the procedures of last_calls_fortran.f90: see last_calls.h.
#include "last_calls.h"

void f_begin(void), f_critical(void), f_critical_name(void), f_atomic(void), f_barrier(void);
void f_do(void), f_sections(void), f_parallel_do(void), f_task(void), f_lock(void);
void f_nest_lock(void);

void add_c(long n) { add(n); }
void add_alone_c(void) { add_alone(); }

static const struct last_call cases[] = {{"critical of Fortran", f_critical, 1, 0, anywhere},
                                         {"critical (name)", f_critical_name, 1, 0, anywhere},
                                         {"atomic of a real(16)", f_atomic, 1, 0, anywhere},
                                         {"barrier of Fortran", f_barrier, 1, 0, of_all},
                                         {"do schedule(dynamic)", f_do, 0, 12, of_all},
                                         {"sections of Fortran", f_sections, 0, 2, of_all},
                                         {"parallel do", f_parallel_do, 12, 0, anywhere},
                                         {"task of Fortran", f_task, 1, 0, anywhere},
                                         {"omp_unset_lock", f_lock, 1, 0, anywhere},
                                         {"omp_unset_nest_lock", f_nest_lock, 1, 0, anywhere},
                                         {NULL, NULL, 0, 0, anywhere}};

void last_calls(void (*through)(void (*)(void))) {
  f_begin();
  run(cases, through);
}
