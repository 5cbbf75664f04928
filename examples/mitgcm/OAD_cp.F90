! Checkpoints of MITgcm's adjoint by OpenAD, kept by Forebay in place of unformatted files
! (docs/checkpoints.md). It has the calls of the module that MITgcm brings under this name, in
! tools/OAD_support, and takes its place:
!
!   cp_init                the first number is 1
!   cp_write_open [(n)]    begins checkpoint n, or the next number
!   cp_read_open [(n)]     reads checkpoint n, or the number before
!   cp_close               ends the one that is open
!   cp_fNumber()           the number that comes next
!   cp_write_state, cp_read_state
!                          where a divided adjoint is, in a file of text: what was stored before is on
!                          the device then, and the next program finds it
!
! What lies between, OpenAD copies out of ad_inline.F: `write(unit=cp_io_unit) x` and
! `read(unit=cp_io_unit) x`. There it is cp_store and cp_restore instead:
!
!   sed -i -e 's/write *(unit=cp_io_unit) *\(.*\)/call cp_store(\1)/' \
!          -e 's/read *(unit=cp_io_unit) *\(.*\)/call cp_restore(\1)/' ad_inline.F
!
! Here they also have the names cp_arg_store_real_scalar and so on, for code that calls them.
!
! A checkpoint stays until one of the same number is written; cp_finalize removes all of them, which
! MITgcm does not ask for. The codec, and how much memory there is for checkpoints, are hints:
!
!   FOREBAY_HINTS='codec=zfp:accuracy=1e-3;checkpoint_memory=1GiB' ./mitgcmuv_ad
!
! To use it: put this file in the place of MITgcm's, change ad_inline.F as above, and add to the options
! file what `pkg-config --cflags --libs forebay-fortran` prints: the former to FFLAGS, the latter to LIBS.
! MITgcm itself was not run with it; ctest -R foreign.oad_cp makes the calls that it makes.
!
! With -DALLOW_USE_MPI, as MITgcm is compiled, ranks open together. -DOAD_CP=OAD_regular_cp and
! -DOAD_CP_FILES='"oad_reg_cp"' make the other module of MITgcm, with files of its own; so do OAD_auxillary_cp
! and oad_aux_cp.
#ifndef OAD_CP
#define OAD_CP OAD_cp
#endif
#ifndef OAD_CP_FILES
#define OAD_CP_FILES "oad_cp"
#endif
module OAD_CP
  use, intrinsic :: iso_c_binding, only: c_double, c_int64_t
  use :: forebay_checkpoint
  implicit none
  private

  public :: cp_init, cp_write_open, cp_read_open, cp_close, cp_fNumber, cp_finalize, cp_store, &
            cp_restore, cp_write_state, cp_read_state
  public :: cp_arg_store_real_scalar, cp_arg_store_real_vector, cp_arg_store_real_matrix
  public :: cp_arg_store_real_three_tensor, cp_arg_store_real_four_tensor
  public :: cp_arg_store_real_five_tensor, cp_arg_store_real_six_tensor
  public :: cp_arg_store_integer_scalar, cp_arg_store_integer_vector, cp_arg_store_integer_matrix
  public :: cp_arg_store_integer_three_tensor, cp_arg_store_integer_four_tensor
  public :: cp_arg_store_integer_five_tensor
  public :: cp_arg_store_string_scalar
  public :: cp_arg_store_bool_scalar, cp_arg_store_bool_matrix
  public :: cp_arg_restore_real_scalar, cp_arg_restore_real_vector, cp_arg_restore_real_matrix
  public :: cp_arg_restore_real_three_tensor, cp_arg_restore_real_four_tensor
  public :: cp_arg_restore_real_five_tensor, cp_arg_restore_real_six_tensor
  public :: cp_arg_restore_integer_scalar, cp_arg_restore_integer_vector, cp_arg_restore_integer_matrix
  public :: cp_arg_restore_integer_three_tensor, cp_arg_restore_integer_four_tensor
  public :: cp_arg_restore_integer_five_tensor
  public :: cp_arg_restore_string_scalar
  public :: cp_arg_restore_bool_scalar, cp_arg_restore_bool_matrix

  interface cp_write_open
    procedure write_next, write_number
  end interface

  interface cp_read_open
    procedure read_before, read_number
  end interface

  interface cp_store
    procedure store_real, store_integer, store_string, store_bool
  end interface

  interface cp_restore
    procedure restore_real, restore_integer, restore_string, restore_bool
  end interface

  interface cp_arg_store_real_scalar; procedure store_real; end interface
  interface cp_arg_store_real_vector; procedure store_real; end interface
  interface cp_arg_store_real_matrix; procedure store_real; end interface
  interface cp_arg_store_real_three_tensor; procedure store_real; end interface
  interface cp_arg_store_real_four_tensor; procedure store_real; end interface
  interface cp_arg_store_real_five_tensor; procedure store_real; end interface
  interface cp_arg_store_real_six_tensor; procedure store_real; end interface
  interface cp_arg_store_integer_scalar; procedure store_integer; end interface
  interface cp_arg_store_integer_vector; procedure store_integer; end interface
  interface cp_arg_store_integer_matrix; procedure store_integer; end interface
  interface cp_arg_store_integer_three_tensor; procedure store_integer; end interface
  interface cp_arg_store_integer_four_tensor; procedure store_integer; end interface
  interface cp_arg_store_integer_five_tensor; procedure store_integer; end interface
  interface cp_arg_store_string_scalar; procedure store_string; end interface
  interface cp_arg_store_bool_scalar; procedure store_bool; end interface
  interface cp_arg_store_bool_matrix; procedure store_bool; end interface
  interface cp_arg_restore_real_scalar; procedure restore_real; end interface
  interface cp_arg_restore_real_vector; procedure restore_real; end interface
  interface cp_arg_restore_real_matrix; procedure restore_real; end interface
  interface cp_arg_restore_real_three_tensor; procedure restore_real; end interface
  interface cp_arg_restore_real_four_tensor; procedure restore_real; end interface
  interface cp_arg_restore_real_five_tensor; procedure restore_real; end interface
  interface cp_arg_restore_real_six_tensor; procedure restore_real; end interface
  interface cp_arg_restore_integer_scalar; procedure restore_integer; end interface
  interface cp_arg_restore_integer_vector; procedure restore_integer; end interface
  interface cp_arg_restore_integer_matrix; procedure restore_integer; end interface
  interface cp_arg_restore_integer_three_tensor; procedure restore_integer; end interface
  interface cp_arg_restore_integer_four_tensor; procedure restore_integer; end interface
  interface cp_arg_restore_integer_five_tensor; procedure restore_integer; end interface
  interface cp_arg_restore_string_scalar; procedure restore_string; end interface
  interface cp_arg_restore_bool_scalar; procedure restore_bool; end interface
  interface cp_arg_restore_bool_matrix; procedure restore_bool; end interface

  ! What is stored has no name: it is known by its place among the others of a checkpoint, by its type
  ! and by its shape. Two that have the same place, in checkpoints of two kinds, are two variables.
  type known_variable
    character(8) :: type = ""
    integer(c_int64_t), allocatable :: shape(:)
    integer :: var = 0
    integer :: other = 0   ! the next one of this place
  end type

  integer :: store = 0      ! 0: not open
  integer :: number = 1, place = 0
  type(known_variable), allocatable :: known(:)
  integer, allocatable :: first(:)   ! known variable of each place
  integer :: variables = 0

contains

  subroutine check(ierr)
    integer, intent(in) :: ierr
    if (ierr == 0) return
    print '(2a)', "OAD_cp: ", forebay_error_message()
    error stop "ABNORMAL END: OAD_cp"
  end subroutine

  subroutine cp_init()
    number = 1
    call open_store()
  end subroutine

  ! Also for programs that do without cp_init.
  subroutine open_store()
    character(*), parameter :: names = OAD_CP_FILES
    integer :: ierr
#ifdef ALLOW_USE_MPI
    include "mpif.h"
#endif
    if (store /= 0) return
    allocate (known(64), first(64))
    first = 0
#ifdef ALLOW_USE_MPI
    call forebay_checkpoint_open_mpi(MPI_COMM_WORLD, names, "", store, ierr)
#else
    call forebay_checkpoint_open(names, "", store, ierr)
#endif
    call check(ierr)
  end subroutine

  ! Ends what cp_init began; the checkpoints are gone.
  subroutine cp_finalize()
    integer :: ierr
    if (store == 0) return
    call forebay_checkpoint_close(store, .false., ierr)
    call check(ierr)
    store = 0
    variables = 0
    deallocate (known, first)
  end subroutine

  subroutine begin(mode)
    integer, intent(in) :: mode
    integer :: ierr
    call open_store()
    call forebay_checkpoint_begin(store, int(number, c_int64_t), mode, ierr)
    call check(ierr)
    place = 0
  end subroutine

  subroutine write_next()
    call begin(forebay_writing)
    number = number + 1
  end subroutine

  subroutine write_number(n)
    integer, intent(in) :: n
    number = n
    call begin(forebay_writing)
  end subroutine

  subroutine read_before()
    number = number - 1
    call begin(forebay_reading)
  end subroutine

  subroutine read_number(n)
    integer, intent(in) :: n
    number = n
    call begin(forebay_reading)
  end subroutine

  subroutine cp_close()
    integer :: ierr
    call forebay_checkpoint_end(store, ierr)
    call check(ierr)
  end subroutine

  integer function cp_fNumber()
    cp_fNumber = number
  end function

  ! -- a divided adjoint: the program ends, and another one goes on -----------------------------------

  subroutine cp_write_state(currcp, curradjointcp, maxfwditer, maxadjiter, myIter)
    integer, intent(in) :: currcp, curradjointcp, maxfwditer, maxadjiter, myIter
    integer :: unit, ierr
    call open_store()
    call forebay_checkpoint_sync(store, ierr)
    call check(ierr)
    open (newunit=unit, file=state_file(), form="formatted", status="unknown")
    write (unit, '(i0)') currcp, curradjointcp, maxfwditer, maxadjiter, myIter
    close (unit)
  end subroutine

  subroutine cp_read_state(currcp, curradjointcp, maxfwditer, maxadjiter, myIter)
    integer, intent(inout) :: currcp, curradjointcp, maxfwditer, maxadjiter, myIter
    integer :: unit
    open (newunit=unit, file=state_file(), form="formatted", status="old")
    read (unit, *) currcp, curradjointcp, maxfwditer, maxadjiter, myIter
    close (unit)
  end subroutine

  ! MITgcm's name for it: whoever begins writes it by hand.
  function state_file()
    character(17) :: state_file
    integer :: rank
#ifdef ALLOW_USE_MPI
    include "mpif.h"
    integer :: ierr
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
#else
    rank = 0
#endif
    write (state_file, '("oad_reg_state.",i3.3)') rank
  end function

  ! -- variables -------------------------------------------------------------------------------------

  ! The variable of the next place, which is declared when it comes the first time.
  integer function next_var(type, shape)
    character(*), intent(in) :: type
    integer(c_int64_t), intent(in) :: shape(:)
    integer :: at
    place = place + 1
    if (place > size(first)) first = [first, spread(0, 1, size(first))]
    at = first(place)
    do while (at /= 0)
      if (known(at)%type == type .and. size(known(at)%shape) == size(shape)) then
        if (all(known(at)%shape == shape)) exit
      end if
      at = known(at)%other
    end do
    if (at == 0) at = declare(type, shape)
    next_var = known(at)%var
  end function

  integer function declare(type, shape) result(at)
    character(*), intent(in) :: type
    integer(c_int64_t), intent(in) :: shape(:)
    type(known_variable) :: new
    character(200) :: name
    integer :: ierr
    write (name, '(i0,"_",a,*("_",i0))') place, type, shape
    new%type = type
    new%shape = shape
    new%other = first(place)
    call forebay_checkpoint_var(store, trim(name), type, shape, "", new%var, ierr)
    call check(ierr)
    if (variables == size(known)) known = [known, known]
    variables = variables + 1
    known(variables) = new
    first(place) = variables
    at = variables
  end function

  subroutine put(type, shape, values)
    character(*), intent(in) :: type
    integer(c_int64_t), intent(in) :: shape(:)
    type(*), dimension(..), intent(in), contiguous :: values
    integer :: ierr
    call forebay_checkpoint_put(store, next_var(type, shape), values, ierr)
    call check(ierr)
  end subroutine

  subroutine get(type, shape, values)
    character(*), intent(in) :: type
    integer(c_int64_t), intent(in) :: shape(:)
    type(*), dimension(..), intent(inout), contiguous :: values
    integer :: ierr
    call forebay_checkpoint_get(store, next_var(type, shape), values, ierr)
    call check(ierr)
  end subroutine

  subroutine store_real(x)
    real(c_double), dimension(..), intent(in), contiguous :: x
    call put("double", shape(x, kind=c_int64_t), x)
  end subroutine

  subroutine restore_real(x)
    real(c_double), dimension(..), intent(inout), contiguous :: x
    call get("double", shape(x, kind=c_int64_t), x)
  end subroutine

  subroutine store_integer(i)
    integer, dimension(..), intent(in), contiguous :: i
    call put("int", shape(i, kind=c_int64_t), i)
  end subroutine

  subroutine restore_integer(i)
    integer, dimension(..), intent(inout), contiguous :: i
    call get("int", shape(i, kind=c_int64_t), i)
  end subroutine

  ! All its characters, with the blanks at its end.
  subroutine store_string(s)
    character(*), intent(in) :: s
    character :: characters(len(s))
    characters = transfer(s, characters)
    call put("char", [len(s, kind=c_int64_t)], characters)
  end subroutine

  subroutine restore_string(s)
    character(*), intent(inout) :: s
    character :: characters(len(s))
    call get("char", [len(s, kind=c_int64_t)], characters)
    s = transfer(characters, s)
  end subroutine

  ! As integers of their size.
  subroutine store_bool(b)
    logical, dimension(..), intent(in), contiguous :: b
    call put("int", shape(b, kind=c_int64_t), b)
  end subroutine

  subroutine restore_bool(b)
    logical, dimension(..), intent(inout), contiguous :: b
    call get("int", shape(b, kind=c_int64_t), b)
  end subroutine

end module OAD_CP
