! Checkpoints in Fortran. The names are those of forebay_checkpoint.h, which says what each function
! does, whether it is collective, and who owns the memory. The differences:
!
!   - each function is a subroutine, whose last argument is 0 or an error code;
!     forebay_error_message() has the sentence;
!   - text loses the blanks at its end; empty text means "not given";
!   - dimensions are in Fortran's order; variables' numbers count from 0;
!   - data are scalars or arrays of any type and rank. put and get copy data that is not contiguous;
!     memory from which push takes values must be contiguous;
!   - steps and sizes are of the kind c_int64_t;
!   - a communicator is the handle of mpif.h and `use mpi`, or one of mpi_f08.
module forebay_checkpoint
  use, intrinsic :: iso_c_binding
  use :: forebay, only: forebay_error_message
#ifdef FOREBAY_MPI_F08
  use :: mpi_f08, only: MPI_Comm
#endif
  implicit none
  private

  public :: forebay_checkpoint_open, forebay_checkpoint_open_mpi, forebay_checkpoint_var, &
            forebay_checkpoint_set_bound, forebay_checkpoint_push, forebay_checkpoint_pop, forebay_checkpoint_peek, &
            forebay_checkpoint_drop, forebay_checkpoint_begin, forebay_checkpoint_put, &
            forebay_checkpoint_get, forebay_checkpoint_put_bytes, forebay_checkpoint_inq_bytes, &
            forebay_checkpoint_get_bytes, forebay_checkpoint_end, forebay_checkpoint_abandon, &
            forebay_checkpoint_drop_adjoint, forebay_checkpoint_expect, forebay_checkpoint_list, &
            forebay_checkpoint_inq_state, forebay_checkpoint_sync, forebay_checkpoint_close, &
            forebay_schedule_next
  public :: forebay_error_message

  integer, parameter :: long = c_int64_t

  ! Modes of forebay_checkpoint_begin: one of the first two, plus forebay_adjoint for a state of the
  ! adjoint. (The module forebay has a forebay_read.)
  integer, parameter, public :: forebay_reading = 0, forebay_writing = 1, forebay_adjoint = 2
  ! Tiers of a state.
  integer, parameter, public :: forebay_in_memory = 0, forebay_in_fast = 1, forebay_in_dir = 2
  ! Actions of forebay_schedule_next.
  integer, parameter, public :: forebay_advance = 0, forebay_store = 1, forebay_restore = 2, &
                                forebay_drop = 3, forebay_turn = 4, forebay_done = 5

  interface forebay_checkpoint_open_mpi
    procedure open_mpi
#ifdef FOREBAY_MPI_F08
    procedure open_mpi_f08
#endif
  end interface

  ! With memory: (store, name, type, codec, memory, var, ierr); without: (store, name, type, shape,
  ! codec, var, ierr).
  interface forebay_checkpoint_var
    procedure var_in_memory, var_of_shape
  end interface

  interface
    integer(c_int) function c_open(name, hints, store) bind(c, name="forebay_checkpoint_open")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: name(*), hints(*)
      integer(c_int), intent(inout) :: store
    end function
    integer(c_int) function c_open_mpi(comm, name, hints, store) &
        bind(c, name="forebay_f_checkpoint_open")
      import :: c_int, c_char
      integer(c_int), value :: comm
      character(kind=c_char), intent(in) :: name(*), hints(*)
      integer(c_int), intent(inout) :: store
    end function
    integer(c_int) function c_var(store, name, type, ndims, shape, codec, contiguous, memory, var) &
        bind(c, name="forebay_f_checkpoint_var")
      import :: c_int, c_char, c_ptr, long
      integer(c_int), value :: store, ndims, contiguous
      character(kind=c_char), intent(in) :: name(*), type(*), codec(*)
      integer(long), intent(in) :: shape(*)
      type(c_ptr), value :: memory
      integer(c_int), intent(inout) :: var
    end function
    integer(c_int) function c_set_bound(store, var, bound) &
        bind(c, name="forebay_checkpoint_set_bound")
      import :: c_int, c_double
      integer(c_int), value :: store, var
      real(c_double), value :: bound
    end function
    integer(c_int) function c_push(store, step) bind(c, name="forebay_checkpoint_push")
      import :: c_int, long
      integer(c_int), value :: store
      integer(long), value :: step
    end function
    integer(c_int) function c_pop(store, step) bind(c, name="forebay_checkpoint_pop")
      import :: c_int, long
      integer(c_int), value :: store
      integer(long), intent(inout) :: step
    end function
    integer(c_int) function c_peek(store, step) bind(c, name="forebay_checkpoint_peek")
      import :: c_int, long
      integer(c_int), value :: store
      integer(long), value :: step
    end function
    integer(c_int) function c_drop(store, step) bind(c, name="forebay_checkpoint_drop")
      import :: c_int, long
      integer(c_int), value :: store
      integer(long), value :: step
    end function
    integer(c_int) function c_drop_adjoint(store, step) &
        bind(c, name="forebay_checkpoint_drop_adjoint")
      import :: c_int, long
      integer(c_int), value :: store
      integer(long), value :: step
    end function
    integer(c_int) function c_begin(store, step, mode) bind(c, name="forebay_checkpoint_begin")
      import :: c_int, long
      integer(c_int), value :: store, mode
      integer(long), value :: step
    end function
    integer(c_int) function c_put(store, var, elements, values) &
        bind(c, name="forebay_f_checkpoint_put")
      import :: c_int, c_ptr, long
      integer(c_int), value :: store, var
      integer(long), value :: elements
      type(c_ptr), value :: values
    end function
    integer(c_int) function c_get(store, var, elements, values) &
        bind(c, name="forebay_f_checkpoint_get")
      import :: c_int, c_ptr, long
      integer(c_int), value :: store, var
      integer(long), value :: elements
      type(c_ptr), value :: values
    end function
    integer(c_int) function c_put_bytes(store, name, bytes, size) &
        bind(c, name="forebay_checkpoint_put_bytes")
      import :: c_int, c_char, c_ptr, long
      integer(c_int), value :: store
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: bytes
      integer(long), value :: size
    end function
    integer(c_int) function c_get_bytes(store, name, bytes, size) &
        bind(c, name="forebay_checkpoint_get_bytes")
      import :: c_int, c_char, c_ptr, long
      integer(c_int), value :: store
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: bytes
      integer(long), intent(inout) :: size
    end function
    integer(c_int) function c_end(store) bind(c, name="forebay_checkpoint_end")
      import :: c_int
      integer(c_int), value :: store
    end function
    integer(c_int) function c_abandon(store) bind(c, name="forebay_checkpoint_abandon")
      import :: c_int
      integer(c_int), value :: store
    end function
    integer(c_int) function c_expect(store, steps, n) bind(c, name="forebay_checkpoint_expect")
      import :: c_int, long
      integer(c_int), value :: store
      integer(long), intent(in) :: steps(*)
      integer(long), value :: n
    end function
    integer(c_int) function c_list(store, mode, most, steps, found) &
        bind(c, name="forebay_checkpoint_list")
      import :: c_int, long
      integer(c_int), value :: store, mode
      integer(long), value :: most
      integer(long), intent(inout) :: steps(*), found
    end function
    integer(c_int) function c_inq_state(store, step, mode, tier, bytes, raw_bytes) &
        bind(c, name="forebay_checkpoint_inq_state")
      import :: c_int, long
      integer(c_int), value :: store, mode
      integer(long), value :: step
      integer(c_int), intent(inout) :: tier
      integer(long), intent(inout) :: bytes, raw_bytes
    end function
    integer(c_int) function c_sync(store) bind(c, name="forebay_checkpoint_sync")
      import :: c_int
      integer(c_int), value :: store
    end function
    integer(c_int) function c_close(store, keep) bind(c, name="forebay_checkpoint_close")
      import :: c_int
      integer(c_int), value :: store, keep
    end function
    integer(c_int) function c_next(store, model, adjoint, action, from, to) &
        bind(c, name="forebay_schedule_next")
      import :: c_int, long
      integer(c_int), value :: store
      integer(long), value :: model, adjoint
      integer(c_int), intent(inout) :: action
      integer(long), intent(inout) :: from, to
    end function
  end interface

contains

  pure function to_c(text)
    character(*), intent(in) :: text
    character(len_trim(text) + 1, kind=c_char) :: to_c
    to_c = trim(text)//c_null_char
  end function

  ! -- opening, declaring ----------------------------------------------------------------------------

  subroutine forebay_checkpoint_open(name, hints, store, ierr)
    character(*), intent(in) :: name, hints
    integer, intent(inout) :: store
    integer, intent(out) :: ierr
    ierr = c_open(to_c(name), to_c(hints), store)
  end subroutine

  subroutine open_mpi(comm, name, hints, store, ierr)
    integer, intent(in) :: comm
    character(*), intent(in) :: name, hints
    integer, intent(inout) :: store
    integer, intent(out) :: ierr
    ierr = c_open_mpi(comm, to_c(name), to_c(hints), store)
  end subroutine

#ifdef FOREBAY_MPI_F08
  subroutine open_mpi_f08(comm, name, hints, store, ierr)
    type(MPI_Comm), intent(in) :: comm
    character(*), intent(in) :: name, hints
    integer, intent(inout) :: store
    integer, intent(out) :: ierr
    call open_mpi(comm%MPI_VAL, name, hints, store, ierr)
  end subroutine
#endif

  ! `memory` is a variable of the program with the attributes target and asynchronous, which must
  ! stay at its address. Its shape is the variable's shape.
  subroutine var_in_memory(store, name, type, codec, memory, var, ierr)
    integer, intent(in) :: store
    character(*), intent(in) :: name, type, codec
    type(*), dimension(..), intent(inout), target, asynchronous :: memory
    integer, intent(inout) :: var
    integer, intent(out) :: ierr
    ierr = c_var(store, to_c(name), to_c(type), rank(memory), shape(memory, kind=long), to_c(codec), &
                 merge(1, 0, is_contiguous(memory)), c_loc(memory), var)
  end subroutine

  subroutine var_of_shape(store, name, type, shape, codec, var, ierr)
    integer, intent(in) :: store
    character(*), intent(in) :: name, type, codec
    integer(long), intent(in) :: shape(:)
    integer, intent(inout) :: var
    integer, intent(out) :: ierr
    ierr = c_var(store, to_c(name), to_c(type), size(shape), shape, to_c(codec), 1, c_null_ptr, var)
  end subroutine

  subroutine forebay_checkpoint_set_bound(store, var, bound, ierr)
    integer, intent(in) :: store, var
    real(c_double), intent(in) :: bound
    integer, intent(out) :: ierr
    ierr = c_set_bound(store, var, bound)
  end subroutine

  ! -- states ----------------------------------------------------------------------------------------

  subroutine forebay_checkpoint_push(store, step, ierr)
    integer, intent(in) :: store
    integer(long), intent(in) :: step
    integer, intent(out) :: ierr
    ierr = c_push(store, step)
  end subroutine

  subroutine forebay_checkpoint_pop(store, step, ierr)
    integer, intent(in) :: store
    integer(long), intent(inout) :: step
    integer, intent(out) :: ierr
    ierr = c_pop(store, step)
  end subroutine

  subroutine forebay_checkpoint_peek(store, step, ierr)
    integer, intent(in) :: store
    integer(long), intent(in) :: step
    integer, intent(out) :: ierr
    ierr = c_peek(store, step)
  end subroutine

  subroutine forebay_checkpoint_drop(store, step, ierr)
    integer, intent(in) :: store
    integer(long), intent(in) :: step
    integer, intent(out) :: ierr
    ierr = c_drop(store, step)
  end subroutine

  subroutine forebay_checkpoint_drop_adjoint(store, step, ierr)
    integer, intent(in) :: store
    integer(long), intent(in) :: step
    integer, intent(out) :: ierr
    ierr = c_drop_adjoint(store, step)
  end subroutine

  subroutine forebay_checkpoint_begin(store, step, mode, ierr)
    integer, intent(in) :: store, mode
    integer(long), intent(in) :: step
    integer, intent(out) :: ierr
    ierr = c_begin(store, step, mode)
  end subroutine

  subroutine forebay_checkpoint_put(store, var, values, ierr)
    integer, intent(in) :: store, var
    type(*), dimension(..), intent(in), target, contiguous :: values
    integer, intent(out) :: ierr
    ierr = c_put(store, var, size(values, kind=long), c_loc(values))
  end subroutine

  subroutine forebay_checkpoint_get(store, var, values, ierr)
    integer, intent(in) :: store, var
    type(*), dimension(..), intent(inout), target, contiguous :: values
    integer, intent(out) :: ierr
    ierr = c_get(store, var, size(values, kind=long), c_loc(values))
  end subroutine

  ! `size`: bytes of the data.
  subroutine forebay_checkpoint_put_bytes(store, name, data, size, ierr)
    integer, intent(in) :: store
    character(*), intent(in) :: name
    type(*), dimension(..), intent(in), target, contiguous :: data
    integer(long), intent(in) :: size
    integer, intent(out) :: ierr
    ierr = c_put_bytes(store, to_c(name), c_loc(data), size)
  end subroutine

  subroutine forebay_checkpoint_inq_bytes(store, name, size, ierr)
    integer, intent(in) :: store
    character(*), intent(in) :: name
    integer(long), intent(inout) :: size
    integer, intent(out) :: ierr
    ierr = c_get_bytes(store, to_c(name), c_null_ptr, size)
  end subroutine

  ! `size`: bytes of the data; becomes the number of bytes put there.
  subroutine forebay_checkpoint_get_bytes(store, name, data, size, ierr)
    integer, intent(in) :: store
    character(*), intent(in) :: name
    type(*), dimension(..), intent(inout), target, contiguous :: data
    integer(long), intent(inout) :: size
    integer, intent(out) :: ierr
    ierr = c_get_bytes(store, to_c(name), c_loc(data), size)
  end subroutine

  subroutine forebay_checkpoint_end(store, ierr)
    integer, intent(in) :: store
    integer, intent(out) :: ierr
    ierr = c_end(store)
  end subroutine

  subroutine forebay_checkpoint_abandon(store, ierr)
    integer, intent(in) :: store
    integer, intent(out) :: ierr
    ierr = c_abandon(store)
  end subroutine

  ! -- all states ------------------------------------------------------------------------------------

  subroutine forebay_checkpoint_expect(store, steps, ierr)
    integer, intent(in) :: store
    integer(long), intent(in) :: steps(:)
    integer, intent(out) :: ierr
    ierr = c_expect(store, steps, size(steps, kind=long))
  end subroutine

  ! Fills `steps` as far as it goes; `found` may be larger.
  subroutine forebay_checkpoint_list(store, mode, steps, found, ierr)
    integer, intent(in) :: store, mode
    integer(long), intent(inout) :: steps(:), found
    integer, intent(out) :: ierr
    ierr = c_list(store, mode, size(steps, kind=long), steps, found)
  end subroutine

  subroutine forebay_checkpoint_inq_state(store, step, mode, tier, bytes, raw_bytes, ierr)
    integer, intent(in) :: store, mode
    integer(long), intent(in) :: step
    integer, intent(inout) :: tier
    integer(long), intent(inout) :: bytes, raw_bytes
    integer, intent(out) :: ierr
    ierr = c_inq_state(store, step, mode, tier, bytes, raw_bytes)
  end subroutine

  subroutine forebay_checkpoint_sync(store, ierr)
    integer, intent(in) :: store
    integer, intent(out) :: ierr
    ierr = c_sync(store)
  end subroutine

  subroutine forebay_checkpoint_close(store, keep, ierr)
    integer, intent(in) :: store
    logical, intent(in) :: keep
    integer, intent(out) :: ierr
    ierr = c_close(store, merge(1, 0, keep))
  end subroutine

  subroutine forebay_schedule_next(store, model, adjoint, action, from, to, ierr)
    integer, intent(in) :: store
    integer(long), intent(in) :: model, adjoint
    integer, intent(inout) :: action
    integer(long), intent(inout) :: from, to
    integer, intent(out) :: ierr
    ierr = c_next(store, model, adjoint, action, from, to)
  end subroutine

end module forebay_checkpoint
