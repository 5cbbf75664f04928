! Writes by generated code the groups that examples/groups.f90 and write_groups.f90 write by hand, the
! first with the same values, and reads them back.
program generated
  use, intrinsic :: iso_c_binding
  use :: mpi_f08
  use :: forebay
  implicit none

  integer :: rank, ranks, faults = 0, all_faults, ierr
  character(1000) :: example_xml, fields_xml, divided_xml, path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call get_command_argument(1, example_xml)
  call get_command_argument(2, fields_xml)
  call get_command_argument(3, divided_xml)
  call get_command_argument(4, path)
  call example()
  call fields()
  call divide()
  call MPI_Allreduce(faults, all_faults, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (all_faults > 0) error stop 1

contains

  subroutine require(is_so, what)
    logical, intent(in) :: is_so
    character(*), intent(in) :: what
    if (is_so) return
    print '("rank ", i0, ": ", a, ": ", a)', rank, what, forebay_error_message()
    faults = faults + 1
  end subroutine

  ! Kinds are not those of the file here.
  subroutine example()
    integer, parameter :: ny = 6
    real(c_double) :: temperature(64, ny), written(64, ny)
    real(c_float) :: time
    integer :: y0, total, i, j, step
    integer :: forebay_file, forebay_status
    integer(c_int64_t) :: forebay_step
    character(20) :: run
    forebay_status = 0
    run = "an example"
    y0 = ny*rank
    total = ny*ranks
    call forebay_init(example_xml, MPI_COMM_WORLD, ierr); call require(ierr == 0, "init")
    call forebay_open(forebay_file, "history", trim(path)//"/generated.bp", "w", MPI_COMM_WORLD, ierr)
    call require(ierr == 0, "open")
    do step = 0, 4
      time = 0.25*step
      do j = 1, ny
        do i = 1, 64
          temperature(i, j) = value_at(i, y0 + j, real(time, c_double))
        end do
      end do
      include 'gwrite_history.fh'
      call forebay_end_step(forebay_file, ierr); call require(ierr == 0, "end_step")
    end do
    call require(forebay_status == 0, "writing")
    call forebay_close(forebay_file, ierr); call require(ierr == 0, "close")
    written = temperature
    temperature = 0
    run = "?"
    call forebay_open(forebay_file, "", trim(path)//"/generated.bp", "r", MPI_COMM_WORLD, ierr)
    forebay_step = 4
    include 'gread_history.fh'
    call require(forebay_status == 0, "reading")
    call require(all(temperature == written) .and. time == 1 .and. run == "an example", "what was read")
    forebay_step = 5
    include 'gread_history.fh'
    call require(forebay_status /= 0, "a step that there is not")
    call forebay_close(forebay_file, ierr); call require(ierr == 0, "close")
    call forebay_finalize(ierr); call require(ierr == 0, "finalize")
  end subroutine

  pure real(c_double) function value_at(i, j, when)
    integer, intent(in) :: i, j
    real(c_double), intent(in) :: when
    value_at = 280 + 10*sin(0.1d0*j + when)*cos(0.1d0*i)
  end function

  ! Joined arrays, each rank's own, numbers of two parts, text.
  subroutine fields()
    real(c_float), allocatable :: A(:, :), A_written(:, :)
    real(c_double), allocatable :: part(:, :), part_written(:, :)
    integer(c_int16_t), allocatable :: P(:, :), P_written(:, :)
    integer(c_int32_t) :: B(4)
    integer(c_int8_t) :: own(3)
    complex(c_float_complex) :: z
    character(6) :: letters
    character(12) :: title
    integer :: n, x0, total, i, j
    integer :: forebay_file, forebay_status
    integer(c_int64_t), parameter :: forebay_step = 0
    type(MPI_Comm) :: forebay_comm
    forebay_comm = MPI_COMM_WORLD
    forebay_status = 0
    n = columns_of(rank)
    x0 = sum([(columns_of(i), i=0, rank - 1)])
    total = sum([(columns_of(i), i=0, ranks - 1)])
    allocate (A(5, n), part(5, n), P(2, n))
    do j = 1, n
      A(:, j) = real(field_at([1, 2, 3, 4, 5], j, rank), c_float)
      part(:, j) = field_at([1, 2, 3, 4, 5], j, rank) + 0.5
      P(:, j) = int(field_at([1, 2], j, rank), c_int16_t)
    end do
    A_written = A; part_written = part; P_written = P
    B = [4, 3, 2, 1]
    own = int(10*rank + [1, 2, 3], c_int8_t)
    z = (1, -2)
    letters = "abc de"
    title = "the title"
    call forebay_init(fields_xml, MPI_COMM_WORLD, ierr); call require(ierr == 0, "init")
    call forebay_open(forebay_file, "fields", trim(path)//"/fields.bp", "w", MPI_COMM_WORLD, ierr)
    include 'gwrite_fields.fh'
    call require(forebay_status == 0, "writing fields")
    call forebay_end_step(forebay_file, ierr); call require(ierr == 0, "end_step")
    call forebay_close(forebay_file, ierr); call require(ierr == 0, "close")
    A = -1; part = -1; P = -1; B = -1; own = -1; z = 0; letters = "?"; title = "?"
    call forebay_open(forebay_file, "", trim(path)//"/fields.bp", "r", MPI_COMM_WORLD, ierr)
    include 'gread_fields.fh'
    call require(forebay_status == 0, "reading fields")
    call require(all(A == A_written) .and. all(part == part_written) .and. all(P == P_written), "A, part and P")
    call require(all(B == [4, 3, 2, 1]) .and. all(own == 10*rank + [1, 2, 3]), "B and own")
    call require(z == (1, -2) .and. letters == "abc de" .and. title == "the title", "z, letters, title")
    call forebay_close(forebay_file, ierr); call require(ierr == 0, "close")
    call forebay_finalize(ierr); call require(ierr == 0, "finalize")
  end subroutine

  ! Statements that divide by 0 are refused by the library, or by themselves.
  subroutine divide()
    real(c_double) :: share(3)
    integer, parameter :: n = 6
    integer :: parts
    integer :: forebay_file, forebay_status
    integer(c_int64_t), parameter :: forebay_step = 0
    type(MPI_Comm) :: forebay_comm
    forebay_comm = MPI_COMM_WORLD
    share = [rank, 2, 3]
    call forebay_init(divided_xml, MPI_COMM_WORLD, ierr); call require(ierr == 0, "init")
    call forebay_open(forebay_file, "divided_fortran", trim(path)//"/divided.bp", "w", MPI_COMM_WORLD, ierr)
    do parts = 4, 0, -4
      forebay_status = 0
      include 'gwrite_divided_fortran.fh'
      call require((forebay_status == 0) .eqv. (parts == 4), "writing a share")
      if (parts == 4) call forebay_end_step(forebay_file, ierr)
      call require(ierr == 0, "end_step")
    end do
    call forebay_close(forebay_file, ierr); call require(ierr == 0, "close")
    call forebay_open(forebay_file, "", trim(path)//"/divided.bp", "r", MPI_COMM_WORLD, ierr)
    share = -1
    do parts = 0, 4, 4
      forebay_status = 0
      include 'gread_divided_fortran.fh'
      call require((forebay_status == 0) .eqv. (parts == 4), "reading a share")
      if (parts == 0) call require(all(share == -1), "nothing is read")
    end do
    call require(all(share == [rank, 2, 3]), "share")
    call forebay_close(forebay_file, ierr); call require(ierr == 0, "close")
    call forebay_finalize(ierr); call require(ierr == 0, "finalize")
  end subroutine

  ! Each element of all ranks' fields has its own value.
  elemental real(c_double) function field_at(i, j, r)
    integer, intent(in) :: i, j, r
    field_at = 1000*r + 10*j + i
  end function

  pure integer function columns_of(r)
    integer, intent(in) :: r
    columns_of = merge(0, r + 2, ranks > 2 .and. r == 1)
  end function
end program
