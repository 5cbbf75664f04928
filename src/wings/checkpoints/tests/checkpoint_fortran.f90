! The Fortran module of checkpoints: states that are pushed and popped, pieces, bytes, what is
! refused, and what to do next.
!
!   checkpoint_fortran NAME
program checkpoint_fortran
  use, intrinsic :: iso_c_binding
  use :: mpi_f08
  use :: forebay_checkpoint
  implicit none

  integer, parameter :: long = c_int64_t, einval = -36, enotvar = -49
  integer, parameter :: columns = 40, steps = 30
  real(c_double), target, asynchronous :: theta(columns, 5)
  real(c_float) :: salt(3, 2, columns), salt_back(3, 2, columns)
  integer, target, asynchronous :: counter
  integer :: store, v_theta, v_counter, v_salt, v, ierr, faults = 0, all_faults, rank, i, tier
  integer(long) :: step, list(40), found, bytes, raw_bytes
  character(12) :: note
  character(200) :: name

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, name)

  call forebay_checkpoint_open_mpi(MPI_COMM_WORLD, name, "checkpoint_memory=8KiB", store, ierr)
  call must(ierr, "open")
  call forebay_checkpoint_var(store, "theta", "double", "shuffle,zstd:1", theta, v_theta, ierr)
  call must(ierr, "var theta")
  call forebay_checkpoint_var(store, "counter", "int", "", counter, v_counter, ierr)
  call must(ierr, "var counter")
  call forebay_checkpoint_var(store, "salt", "float", shape(salt, long), "", v_salt, ierr)
  call must(ierr, "var salt")

  ! What is refused, and changes nothing.
  call forebay_checkpoint_var(store, "gaps", "double", "", theta(1:9:2, :), v, ierr)
  call expect(ierr == einval, "memory with gaps")
  call expect(index(forebay_error_message(), "gaps") > 0, "the message tells of gaps")
  call forebay_checkpoint_begin(store, 3_long, forebay_writing, ierr)
  call must(ierr, "begin")
  call forebay_checkpoint_put(store, v_salt, salt(:, :, 2:), ierr)
  call expect(ierr == einval, "an array that is too small")
  call forebay_checkpoint_put(store, 17, salt, ierr)
  call expect(ierr == enotvar, "a variable that was not declared")
  call forebay_checkpoint_abandon(store, ierr)

  ! Pushed, and popped in the opposite order.
  do i = 1, 12
    call fill(i)
    call forebay_checkpoint_push(store, int(i, long), ierr)
    call must(ierr, "push")
  end do
  call fill(7)
  call forebay_checkpoint_expect(store, [7_long, 12_long, 11_long], ierr)
  call must(ierr, "expect")
  theta = 0
  call forebay_checkpoint_peek(store, 7_long, ierr)
  call must(ierr, "peek")
  call expect(is_that_of(7), "what was looked at")
  call forebay_checkpoint_drop(store, 7_long, ierr)
  call must(ierr, "drop")
  do i = 12, 8, -1
    theta = 0
    call forebay_checkpoint_pop(store, step, ierr)
    call must(ierr, "pop")
    call expect(step == i .and. is_that_of(i), "what was popped")
  end do
  call forebay_checkpoint_list(store, 0, list, found, ierr)
  call must(ierr, "list")
  call expect(found == 6 .and. all(list(1:6) == [1, 2, 3, 4, 5, 6]), "the list")

  call forebay_checkpoint_inq_state(store, 6_long, 0, tier, bytes, raw_bytes, ierr)
  call must(ierr, "inq_state")
  call expect(raw_bytes == 8*columns*5 + 4 .and. bytes < raw_bytes .and. bytes > 0, "bytes of a state")
  call expect(tier == forebay_in_memory .or. tier == forebay_in_dir, "where a state is")

  ! In pieces, and a state of the adjoint.
  salt = reshape([(real(i + rank), i=1, size(salt))], shape(salt))
  call forebay_checkpoint_begin(store, 5_long, forebay_writing + forebay_adjoint, ierr)
  call must(ierr, "begin of the adjoint")
  call forebay_checkpoint_put(store, v_salt, salt, ierr)
  call must(ierr, "put")
  call forebay_checkpoint_put_bytes(store, "note", "hello, bytes", 12_long, ierr)
  call must(ierr, "put_bytes")
  call forebay_checkpoint_end(store, ierr)
  call must(ierr, "end")
  call forebay_checkpoint_begin(store, 5_long, forebay_reading + forebay_adjoint, ierr)
  call must(ierr, "begin to read")
  call forebay_checkpoint_get(store, v_salt, salt_back(:, 2:1:-1, :), ierr)
  call must(ierr, "get")
  call expect(all(salt_back(:, 2:1:-1, :) == salt), "an array with gaps")
  bytes = 0
  call forebay_checkpoint_inq_bytes(store, "note", bytes, ierr)
  call expect(ierr == 0 .and. bytes == 12, "how many bytes")
  call forebay_checkpoint_get_bytes(store, "note", note, bytes, ierr)
  call expect(ierr == 0 .and. note == "hello, bytes", "bytes")
  call forebay_checkpoint_end(store, ierr)
  call must(ierr, "end of reading")

  ! Kept, and found again by integers' communicator.
  call forebay_checkpoint_sync(store, ierr)
  call must(ierr, "sync")
  call forebay_checkpoint_close(store, .true., ierr)
  call must(ierr, "close")
  call forebay_checkpoint_open_mpi(MPI_COMM_WORLD%MPI_VAL, name, "", store, ierr)
  call must(ierr, "open again")
  call forebay_checkpoint_list(store, 0, list, found, ierr)
  call expect(ierr == 0 .and. found == 6, "the list of what was kept")
  do while (found > 0)
    call forebay_checkpoint_drop(store, list(found), ierr)
    call must(ierr, "drop what was kept")
    found = found - 1
  end do
  call forebay_checkpoint_drop_adjoint(store, 5_long, ierr)
  call must(ierr, "drop the adjoint's")
  call forebay_checkpoint_var(store, "theta", "double", "", theta, v_theta, ierr)
  call must(ierr, "var theta again")
  call reverse()
  call forebay_checkpoint_close(store, .false., ierr)
  call must(ierr, "close for good")

  call MPI_Allreduce(faults, all_faults, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0) print '(i0,a)', all_faults, " faults"
  call MPI_Finalize()
  if (all_faults > 0) error stop

contains

  subroutine must(code, what)
    integer, intent(in) :: code
    character(*), intent(in) :: what
    if (code == 0) return
    print '(4a)', what, ": ", forebay_error_message()
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  subroutine expect(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    print '(a,i0,2a)', "rank ", rank, ": wrong: ", what
    faults = faults + 1
  end subroutine

  subroutine fill(seed)
    integer, intent(in) :: seed
    theta = seed + rank
    theta(2, 3) = -seed
    counter = seed
  end subroutine

  logical function is_that_of(seed)
    integer, intent(in) :: seed
    is_that_of = counter == seed .and. theta(2, 3) == -seed .and. theta(2, 2) == seed + rank
    counter = -1
  end function

  ! A run of `steps` in the room of a few states: each step is reversed from the state it began with.
  subroutine reverse()
    integer :: action
    integer(long) :: model, adjoint, from, to
    model = 0
    adjoint = steps
    theta = 0
    do
      call forebay_schedule_next(store, model, adjoint, action, from, to, ierr)
      call must(ierr, "next")
      select case (action)
      case (forebay_advance)
        theta = theta + (to - from)
        model = to
      case (forebay_store)
        ! Where it has no room the next answer plans without it.
        call forebay_checkpoint_push(store, from, ierr)
      case (forebay_restore)
        call forebay_checkpoint_peek(store, from, ierr)
        call must(ierr, "peek at what next said")
        model = from
      case (forebay_drop)
        call forebay_checkpoint_drop(store, from, ierr)
        call must(ierr, "drop of what next said")
      case (forebay_turn)
        call expect(from == adjoint - 1 .and. all(theta == from), "the state of a step")
        adjoint = from
        model = -1
      case (forebay_done)
        exit
      end select
    end do
    call expect(adjoint == 0, "all steps are reversed")
  end subroutine
end program
