! last_calls_fortran.f90 -- what gfortran makes of OpenMP, as the last call of its procedure: see
! last_calls.h. last_calls_of_fortran.c has the table.
module last_calls_fortran
  use omp_lib
  use iso_c_binding
  implicit none
  interface
    subroutine add_alone_c() bind(C, name="add_alone_c")
    end subroutine
    subroutine add_c(n) bind(C, name="add_c")
      import :: c_long
      integer(c_long), value :: n
    end subroutine
  end interface
  integer(omp_lock_kind), save :: plain
  integer(omp_nest_lock_kind), save :: nest
  real(16), save :: wide = 0
contains
  subroutine f_begin() bind(C)
    call omp_init_nest_lock(nest)
    call omp_init_lock(plain)
  end subroutine
  subroutine f_critical() bind(C)
    !$omp critical
    call add_alone_c()
    !$omp end critical
  end subroutine
  subroutine f_critical_name() bind(C)
    !$omp critical (by_name)
    call add_alone_c()
    !$omp end critical (by_name)
  end subroutine
  subroutine f_atomic() bind(C)
    call add_c(1_c_long)
    !$omp atomic
    wide = wide + 1
  end subroutine
  subroutine f_barrier() bind(C)
    call add_c(1_c_long)
    !$omp barrier
  end subroutine
  subroutine f_do() bind(C)
    integer :: i
    !$omp do schedule(dynamic)
    do i = 1, 12
      call add_c(1_c_long)
    end do
  end subroutine
  subroutine f_sections() bind(C)
    !$omp sections
    !$omp section
    call add_c(1_c_long)
    !$omp section
    call add_c(1_c_long)
    !$omp end sections
  end subroutine
  subroutine f_parallel_do() bind(C)
    integer :: i
    !$omp parallel do num_threads(2)
    do i = 1, 12
      call add_c(1_c_long)
    end do
  end subroutine
  subroutine f_task() bind(C)
    !$omp task
    call add_c(1_c_long)
    !$omp end task
  end subroutine
  subroutine f_lock() bind(C)
    call omp_set_lock(plain)
    call add_alone_c()
    call omp_unset_lock(plain)
  end subroutine
  subroutine f_nest_lock() bind(C)
    call omp_set_nest_lock(nest)
    if (omp_test_nest_lock(nest) /= 2) call add_c(100_c_long)
    call add_alone_c()
    call omp_unset_nest_lock(nest)
    call omp_unset_nest_lock(nest)
  end subroutine
end module
