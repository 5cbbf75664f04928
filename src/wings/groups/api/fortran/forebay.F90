! Groups in Fortran. The names and words are those of forebay_groups.h, which says what each
! function does, whether it is collective, and who owns the memory. The differences:
!
!   - each function is a subroutine, whose last argument is 0 or an error code;
!     forebay_error_message() has the sentence;
!   - text loses the blanks at its end; empty text means "not given";
!   - dimensions are in Fortran's order, the first one varying fastest, even if a program in C wrote
!     the file. Only forebay_write_box uses the order of the group's language;
!   - starts, steps, blocks and numbers of variables count from 0, as offsets in XML do;
!   - data are scalars or arrays of any type and rank. Arrays that are not contiguous are copied;
!     only forebay_write_later and forebay_read_later refuse them;
!   - arrays that are too small for what is read are refused. Characters are an exception, because
!     their elements are not counted: forebay_read_string knows how much room there is;
!   - a communicator is the handle of mpif.h and `use mpi`, or one of mpi_f08.
module forebay
  use, intrinsic :: iso_c_binding
#ifdef FOREBAY_MPI_F08
  use :: mpi_f08, only: MPI_Comm
#endif
  implicit none
  private

  public :: forebay_init, forebay_finalize, forebay_define_group, forebay_define_var, &
            forebay_define_attribute, forebay_define_method, forebay_open, forebay_group_size, &
            forebay_write, forebay_write_later, forebay_write_box, forebay_write_string, &
            forebay_end_step, forebay_sync, forebay_close, forebay_inq_steps, forebay_inq_nvars, &
            forebay_inq_varname, forebay_inq_var, forebay_expect, forebay_inq_shape, &
            forebay_inq_blocks, forebay_inq_block, forebay_inq_statistics, &
            forebay_inq_moments, forebay_find, &
            forebay_read, forebay_read_later, forebay_perform_reads, forebay_read_block, &
            forebay_read_string, forebay_error_message, forebay_version, &
            forebay_version_number

  integer, parameter :: long = c_int64_t

  interface forebay_init
    procedure init
#ifdef FOREBAY_MPI_F08
    procedure init_f08
#endif
  end interface

  interface forebay_open
    procedure open_file
#ifdef FOREBAY_MPI_F08
    procedure open_file_f08
#endif
  end interface

  ! The first writes a box of a global array, the second one of any other array.
  interface forebay_write_box
    procedure write_global_box, write_box
  end interface

  ! The first reads a box, the second the whole variable.
  interface forebay_read
    procedure read_box, read_all
  end interface

  interface forebay_read_later
    procedure read_box_later, read_all_later
  end interface

  interface
    integer(c_int) function c_init(xml, comm) bind(c, name="forebay_f_init")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: xml(*)
      integer(c_int), value :: comm
    end function
    integer(c_int) function c_finalize() bind(c, name="forebay_finalize")
      import :: c_int
    end function
    integer(c_int) function c_define_group(group, language) bind(c, name="forebay_define_group")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: group(*), language(*)
    end function
    integer(c_int) function c_define_var(group, name, type, dimensions, global, offsets, options) &
        bind(c, name="forebay_define_var")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: group(*), name(*), type(*), dimensions(*), global(*), &
                                            offsets(*), options(*)
    end function
    integer(c_int) function c_define_attribute(group, name, value, type) &
        bind(c, name="forebay_define_attribute")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: group(*), name(*), value(*), type(*)
    end function
    integer(c_int) function c_define_method(group, hints) bind(c, name="forebay_define_method")
      import :: c_int, c_char
      character(kind=c_char), intent(in) :: group(*), hints(*)
    end function
    integer(c_int) function c_open(file, group, path, mode, comm) bind(c, name="forebay_f_open")
      import :: c_int, c_char
      integer(c_int), intent(inout) :: file
      character(kind=c_char), intent(in) :: group(*), path(*), mode(*)
      integer(c_int), value :: comm
    end function

    integer(c_int) function c_group_size(file, bytes) bind(c, name="forebay_group_size")
      import :: c_int, long
      integer(c_int), value :: file
      integer(long), value :: bytes
    end function
    integer(c_int) function c_write(file, name, lent, contiguous, data) bind(c, name="forebay_f_write")
      import :: c_int, c_char, c_ptr
      integer(c_int), value :: file, lent, contiguous
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), value :: data
    end function
    integer(c_int) function c_write_string(file, name, text) bind(c, name="forebay_f_write_string")
      import :: c_int, c_char
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*), text(*)
    end function
    integer(c_int) function c_write_box(file, name, sizes, shape, start, count, data) &
        bind(c, name="forebay_f_write_box")
      import :: c_int, c_char, c_ptr, long
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int), intent(in) :: sizes(3)
      integer(long), intent(in), optional :: shape(*), start(*)
      integer(long), intent(in) :: count(*)
      type(c_ptr), value :: data
    end function
    integer(c_int) function c_end_step(file) bind(c, name="forebay_end_step")
      import :: c_int
      integer(c_int), value :: file
    end function
    integer(c_int) function c_sync(file) bind(c, name="forebay_sync")
      import :: c_int
      integer(c_int), value :: file
    end function
    integer(c_int) function c_close(file) bind(c, name="forebay_close")
      import :: c_int
      integer(c_int), value :: file
    end function

    integer(c_int) function c_inq_steps(file, steps) bind(c, name="forebay_inq_steps")
      import :: c_int, long
      integer(c_int), value :: file
      integer(long), intent(inout) :: steps
    end function
    integer(c_int) function c_inq_nvars(file, nvars) bind(c, name="forebay_inq_nvars")
      import :: c_int
      integer(c_int), value :: file
      integer(c_int), intent(inout) :: nvars
    end function
    integer(c_int) function c_inq_varname(file, number, name) bind(c, name="forebay_inq_varname")
      import :: c_int, c_ptr
      integer(c_int), value :: file, number
      type(c_ptr), intent(inout) :: name
    end function
    integer(c_int) function c_inq_var(file, name, type, ndims) bind(c, name="forebay_inq_var")
      import :: c_int, c_char, c_ptr
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      type(c_ptr), intent(inout) :: type
      integer(c_int), intent(inout) :: ndims
    end function
    integer(c_int) function c_expect(file, name, type, ndims) bind(c, name="forebay_expect")
      import :: c_int, c_char
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*), type(*)
      integer(c_int), value :: ndims
    end function
    integer(c_int) function c_inq_shape(file, name, step, size, shape, bytes) &
        bind(c, name="forebay_f_inq_shape")
      import :: c_int, c_char, long
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(long), value :: step
      integer(c_int), value :: size
      integer(long), intent(inout) :: shape(*), bytes
    end function
    integer(c_int) function c_inq_blocks(file, name, step, nblocks) &
        bind(c, name="forebay_inq_blocks")
      import :: c_int, c_char, long
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(long), value :: step
      integer(long), intent(inout) :: nblocks
    end function
    integer(c_int) function c_inq_block(file, name, step, block, sizes, start, count) &
        bind(c, name="forebay_f_inq_block")
      import :: c_int, c_char, long
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(long), value :: step, block
      integer(c_int), intent(in) :: sizes(2)
      integer(long), intent(inout) :: start(*), count(*)
    end function
    integer(c_int) function c_inq_statistics(file, name, step, any, least, greatest) &
        bind(c, name="forebay_inq_statistics")
      import :: c_int, c_char, long, c_double
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(long), value :: step
      integer(c_int), intent(inout) :: any
      real(c_double), intent(inout) :: least, greatest
    end function
    integer(c_int) function c_inq_moments(file, name, step, count, mean, deviation) &
        bind(c, name="forebay_inq_moments")
      import :: c_int, c_char, long, c_double
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(long), value :: step
      integer(long), intent(inout) :: count
      real(c_double), intent(inout) :: mean, deviation
    end function
    integer(c_int) function c_find(file, condition, most, steps, blocks, found) &
        bind(c, name="forebay_find")
      import :: c_int, c_char, long
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: condition(*)
      integer(long), value :: most
      integer(long), intent(inout) :: steps(*), blocks(*), found
    end function
    integer(c_int) function c_read(file, name, step, sizes, start, count, elements, data, later, &
        contiguous) bind(c, name="forebay_f_read")
      import :: c_int, c_char, c_ptr, long
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(long), value :: step
      integer(c_int), intent(in), optional :: sizes(2)
      integer(long), intent(in), optional :: start(*), count(*)
      integer(long), value :: elements
      type(c_ptr), value :: data
      integer(c_int), value :: later, contiguous
    end function
    integer(c_int) function c_perform_reads(file) bind(c, name="forebay_perform_reads")
      import :: c_int
      integer(c_int), value :: file
    end function
    integer(c_int) function c_read_block(file, name, step, block, elements, data) &
        bind(c, name="forebay_f_read_block")
      import :: c_int, c_char, c_ptr, long
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(long), value :: step, block, elements
      type(c_ptr), value :: data
    end function
    integer(c_int) function c_read_string(file, name, step, size, text) &
        bind(c, name="forebay_f_read_string")
      import :: c_int, c_char, long
      integer(c_int), value :: file
      character(kind=c_char), intent(in) :: name(*)
      integer(long), value :: step, size
      character(kind=c_char), intent(inout) :: text(*)
    end function
    type(c_ptr) function c_error_message() bind(c, name="forebay_error_message")
      import :: c_ptr
    end function
    ! The version as a number: 1002003 is 1.2.3.
    integer(c_int) function forebay_version_number() bind(c, name="forebay_version_number")
      import :: c_int
    end function
    type(c_ptr) function c_version() bind(c, name="forebay_version")
      import :: c_ptr
    end function
    integer(c_size_t) function c_length(text) bind(c, name="strlen")
      import :: c_size_t, c_ptr
      type(c_ptr), value :: text
    end function
  end interface

contains

  ! -- text ------------------------------------------------------------------------------------------

  pure function to_c(text)
    character(*), intent(in) :: text
    character(len_trim(text) + 1, kind=c_char) :: to_c
    to_c = trim(text)//c_null_char
  end function

  function from_c(text)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: from_c
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    call c_f_pointer(text, characters, [c_length(text)])
    allocate (character(size(characters)) :: from_c)
    do i = 1, size(characters)
      from_c(i:i) = characters(i)
    end do
  end function

  ! Describes the last call that failed.
  function forebay_error_message()
    character(:), allocatable :: forebay_error_message
    forebay_error_message = from_c(c_error_message())
  end function

  function forebay_version()
    character(:), allocatable :: forebay_version
    forebay_version = from_c(c_version())
  end function

  ! -- declaring -------------------------------------------------------------------------------------

  subroutine init(xml, comm, ierr)
    character(*), intent(in) :: xml
    integer, intent(in) :: comm
    integer, intent(out) :: ierr
    ierr = c_init(to_c(xml), comm)
  end subroutine

  subroutine forebay_finalize(ierr)
    integer, intent(out) :: ierr
    ierr = c_finalize()
  end subroutine

  subroutine forebay_define_group(group, language, ierr)
    character(*), intent(in) :: group, language
    integer, intent(out) :: ierr
    ierr = c_define_group(to_c(group), to_c(language))
  end subroutine

  subroutine forebay_define_var(group, name, type, dimensions, global, offsets, options, ierr)
    character(*), intent(in) :: group, name, type, dimensions, global, offsets, options
    integer, intent(out) :: ierr
    ierr = c_define_var(to_c(group), to_c(name), to_c(type), to_c(dimensions), to_c(global), &
                        to_c(offsets), to_c(options))
  end subroutine

  subroutine forebay_define_attribute(group, name, value, type, ierr)
    character(*), intent(in) :: group, name, value, type
    integer, intent(out) :: ierr
    ierr = c_define_attribute(to_c(group), to_c(name), to_c(value), to_c(type))
  end subroutine

  subroutine forebay_define_method(group, hints, ierr)
    character(*), intent(in) :: group, hints
    integer, intent(out) :: ierr
    ierr = c_define_method(to_c(group), to_c(hints))
  end subroutine

  ! -- writing ---------------------------------------------------------------------------------------

  subroutine open_file(file, group, path, mode, comm, ierr)
    integer, intent(inout) :: file
    character(*), intent(in) :: group, path, mode
    integer, intent(in) :: comm
    integer, intent(out) :: ierr
    ierr = c_open(file, to_c(group), to_c(path), to_c(mode), comm)
  end subroutine

#ifdef FOREBAY_MPI_F08
  subroutine init_f08(xml, comm, ierr)
    character(*), intent(in) :: xml
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out) :: ierr
    call init(xml, comm%MPI_VAL, ierr)
  end subroutine

  subroutine open_file_f08(file, group, path, mode, comm, ierr)
    integer, intent(inout) :: file
    character(*), intent(in) :: group, path, mode
    type(MPI_Comm), intent(in) :: comm
    integer, intent(out) :: ierr
    call open_file(file, group, path, mode, comm%MPI_VAL, ierr)
  end subroutine
#endif

  subroutine forebay_group_size(file, bytes, ierr)
    integer, intent(in) :: file
    integer(long), intent(in) :: bytes
    integer, intent(out) :: ierr
    ierr = c_group_size(file, bytes)
  end subroutine

  subroutine forebay_write(file, name, data, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    type(*), dimension(..), intent(in), target, contiguous :: data
    integer, intent(out) :: ierr
    ierr = c_write(file, to_c(name), 0, 1, c_loc(data))
  end subroutine

  ! `data` must stay at its address and unchanged until forebay_end_step. It is a variable of the
  ! program with the attributes target and asynchronous, not an expression.
  subroutine forebay_write_later(file, name, data, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    type(*), dimension(..), intent(in), target, asynchronous :: data
    integer, intent(out) :: ierr
    ierr = c_write(file, to_c(name), 1, merge(1, 0, is_contiguous(data)), c_loc(data))
  end subroutine

  ! Writes the value of a variable of type string.
  subroutine forebay_write_string(file, name, text, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name, text
    integer, intent(out) :: ierr
    ierr = c_write_string(file, to_c(name), to_c(text))
  end subroutine

  subroutine write_global_box(file, name, shape, start, count, data, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: shape(:), start(:), count(:)
    type(*), dimension(..), intent(in), target, contiguous :: data
    integer, intent(out) :: ierr
    ierr = c_write_box(file, to_c(name), [size(shape), size(start), size(count)], shape, start, &
                       count, c_loc(data))
  end subroutine

  subroutine write_box(file, name, count, data, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: count(:)
    type(*), dimension(..), intent(in), target, contiguous :: data
    integer, intent(out) :: ierr
    ierr = c_write_box(file, to_c(name), [0, 0, size(count)], count=count, data=c_loc(data))
  end subroutine

  subroutine forebay_end_step(file, ierr)
    integer, intent(in) :: file
    integer, intent(out) :: ierr
    ierr = c_end_step(file)
  end subroutine

  subroutine forebay_sync(file, ierr)
    integer, intent(in) :: file
    integer, intent(out) :: ierr
    ierr = c_sync(file)
  end subroutine

  subroutine forebay_close(file, ierr)
    integer, intent(in) :: file
    integer, intent(out) :: ierr
    ierr = c_close(file)
  end subroutine

  ! -- what there is ---------------------------------------------------------------------------------

  subroutine forebay_inq_steps(file, steps, ierr)
    integer, intent(in) :: file
    integer(long), intent(inout) :: steps
    integer, intent(out) :: ierr
    ierr = c_inq_steps(file, steps)
  end subroutine

  subroutine forebay_inq_nvars(file, nvars, ierr)
    integer, intent(in) :: file
    integer, intent(inout) :: nvars
    integer, intent(out) :: ierr
    ierr = c_inq_nvars(file, nvars)
  end subroutine

  subroutine forebay_inq_varname(file, number, name, ierr)
    integer, intent(in) :: file, number
    character(:), allocatable, intent(out) :: name
    integer, intent(out) :: ierr
    type(c_ptr) :: known
    ierr = c_inq_varname(file, number, known)
    if (ierr == 0) name = from_c(known)
  end subroutine

  subroutine forebay_inq_var(file, name, type, ndims, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    character(:), allocatable, intent(out) :: type
    integer, intent(inout) :: ndims
    integer, intent(out) :: ierr
    type(c_ptr) :: known
    ierr = c_inq_var(file, to_c(name), known, ndims)
    if (ierr == 0) type = from_c(known)
  end subroutine

  subroutine forebay_expect(file, name, type, ndims, ierr)
    integer, intent(in) :: file, ndims
    character(*), intent(in) :: name, type
    integer, intent(out) :: ierr
    ierr = c_expect(file, to_c(name), to_c(type), ndims)
  end subroutine

  subroutine forebay_inq_shape(file, name, step, shape, bytes, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step
    integer(long), intent(inout) :: shape(:), bytes
    integer, intent(out) :: ierr
    ierr = c_inq_shape(file, to_c(name), step, size(shape), shape, bytes)
  end subroutine

  subroutine forebay_inq_blocks(file, name, step, nblocks, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step
    integer(long), intent(inout) :: nblocks
    integer, intent(out) :: ierr
    ierr = c_inq_blocks(file, to_c(name), step, nblocks)
  end subroutine

  subroutine forebay_inq_block(file, name, step, block, start, count, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step, block
    integer(long), intent(inout) :: start(:), count(:)
    integer, intent(out) :: ierr
    ierr = c_inq_block(file, to_c(name), step, block, [size(start), size(count)], start, count)
  end subroutine

  subroutine forebay_inq_statistics(file, name, step, any, least, greatest, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step
    integer, intent(inout) :: any
    real(c_double), intent(inout) :: least, greatest
    integer, intent(out) :: ierr
    ierr = c_inq_statistics(file, to_c(name), step, any, least, greatest)
  end subroutine

  subroutine forebay_inq_moments(file, name, step, count, mean, deviation, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step
    integer(long), intent(inout) :: count
    real(c_double), intent(inout) :: mean, deviation
    integer, intent(out) :: ierr
    ierr = c_inq_moments(file, to_c(name), step, count, mean, deviation)
  end subroutine

  ! Fills `steps` and `blocks` as far as both go; `found` may be larger.
  subroutine forebay_find(file, condition, steps, blocks, found, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: condition
    integer(long), intent(inout) :: steps(:), blocks(:), found
    integer, intent(out) :: ierr
    ierr = c_find(file, to_c(condition), min(size(steps, kind=long), size(blocks, kind=long)), &
                  steps, blocks, found)
  end subroutine

  ! -- reading ---------------------------------------------------------------------------------------

  subroutine read_box(file, name, step, start, count, data, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step, start(:), count(:)
    type(*), dimension(..), intent(inout), target, contiguous :: data
    integer, intent(out) :: ierr
    ierr = c_read(file, to_c(name), step, [size(start), size(count)], start, count, &
                  size(data, kind=long), c_loc(data), 0, 1)
  end subroutine

  subroutine read_all(file, name, step, data, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step
    type(*), dimension(..), intent(inout), target, contiguous :: data
    integer, intent(out) :: ierr
    ierr = c_read(file, to_c(name), step, elements=size(data, kind=long), data=c_loc(data), later=0, &
                  contiguous=1)
  end subroutine

  ! Arrays need the attributes target and asynchronous, and belong to the library until
  ! forebay_perform_reads has returned.
  subroutine read_box_later(file, name, step, start, count, data, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step, start(:), count(:)
    type(*), dimension(..), intent(inout), target, asynchronous :: data
    integer, intent(out) :: ierr
    ierr = c_read(file, to_c(name), step, [size(start), size(count)], start, count, &
                  size(data, kind=long), c_loc(data), 1, merge(1, 0, is_contiguous(data)))
  end subroutine

  subroutine read_all_later(file, name, step, data, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step
    type(*), dimension(..), intent(inout), target, asynchronous :: data
    integer, intent(out) :: ierr
    ierr = c_read(file, to_c(name), step, elements=size(data, kind=long), data=c_loc(data), later=1, &
                  contiguous=merge(1, 0, is_contiguous(data)))
  end subroutine

  subroutine forebay_perform_reads(file, ierr)
    integer, intent(in) :: file
    integer, intent(out) :: ierr
    ierr = c_perform_reads(file)
  end subroutine

  subroutine forebay_read_block(file, name, step, block, data, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step, block
    type(*), dimension(..), intent(inout), target, contiguous :: data
    integer, intent(out) :: ierr
    ierr = c_read_block(file, to_c(name), step, block, size(data, kind=long), c_loc(data))
  end subroutine

  ! Reads a string, or all characters of a character variable, and pads with blanks.
  subroutine forebay_read_string(file, name, step, text, ierr)
    integer, intent(in) :: file
    character(*), intent(in) :: name
    integer(long), intent(in) :: step
    character(*), intent(inout) :: text
    integer, intent(out) :: ierr
    ierr = c_read_string(file, to_c(name), step, len(text, kind=long), text)
  end subroutine

end module forebay
