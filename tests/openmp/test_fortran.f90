! The names that end in an underscore: locks, nest locks, critical, single, barriers, from Fortran.
program fortran
  use omp_lib
  implicit none
  integer, parameter :: rounds = 500
  integer(omp_lock_kind) :: lock
  integer(omp_nest_lock_kind) :: nest
  integer :: total, nested, inside, threads, r, value, depth
  logical :: right

  total = 0
  nested = 0
  inside = 0
  threads = 0
  right = .true.
  call omp_init_lock(lock)
  call omp_init_nest_lock(nest)
  !$omp parallel private(r, value, depth) reduction(.and.: right)
  !$omp atomic
  threads = threads + 1
  do r = 1, rounds
    call omp_set_lock(lock)
    total = total + 1
    call omp_unset_lock(lock)
    call omp_set_nest_lock(nest)
    depth = omp_test_nest_lock(nest)
    if (depth /= 2) right = .false.
    nested = nested + 1
    call omp_unset_nest_lock(nest)
    call omp_unset_nest_lock(nest)
    !$omp critical (section)
    inside = inside + 1
    !$omp end critical (section)
    !$omp barrier
    !$omp single
    value = r * 3
    !$omp end single copyprivate(value)
    if (value /= r * 3) right = .false.
  end do
  !$omp end parallel
  call omp_destroy_nest_lock(nest)
  call omp_destroy_lock(lock)
  if (.not. right) stop 1
  if (total /= threads * rounds .or. nested /= total .or. inside /= total) stop 2
  print '(a)', 'fortran: all hold'
end program fortran
