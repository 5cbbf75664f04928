! A program that names what it writes, and leaves where and how to an XML file, and reads it back
! (docs/groups.md).
!
!   mpifort groups.f90 $(pkg-config --cflags --libs forebay-fortran) -o groups
!   mpiexec -n 4 ./groups groups_fortran.xml run.bp
!
! adios2 reads it:  bpls -l run.bp; there dimensions stand in C's order, T(total, 64).
program groups
  use, intrinsic :: iso_c_binding, only: c_int64_t, c_double
  use :: mpi_f08
  use :: forebay
  implicit none

  integer(c_int64_t), parameter :: columns = 64, ny = 6
  real(c_double), asynchronous, target :: temperature(columns, ny)
  real(c_double) :: time
  integer(c_int64_t) :: y0, total, step
  integer :: rank, ranks, file
  character(1000) :: xml, path

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  if (command_argument_count() /= 2) call MPI_Abort(MPI_COMM_WORLD, 2)
  call get_command_argument(1, xml)
  call get_command_argument(2, path)
  y0 = rank*ny  ! offsets count from 0
  total = ranks*ny

  call write_steps()
  call read_steps()
  call MPI_Finalize()

contains

  subroutine check(code)
    integer, intent(in) :: code
    if (code == 0) return
    print '(a)', forebay_error_message()
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine

  pure real(c_double) function value_at(i, j, when)
    integer(c_int64_t), intent(in) :: i, j
    real(c_double), intent(in) :: when
    value_at = 280 + 10*sin(0.1d0*j + when)*cos(0.1d0*i)
  end function

  subroutine write_steps()
    integer(c_int64_t) :: i, j
    integer :: ierr
    call forebay_init(xml, MPI_COMM_WORLD, ierr); call check(ierr)
    call forebay_open(file, "history", path, "w", MPI_COMM_WORLD, ierr); call check(ierr)
    do step = 0, 4
      time = 0.25d0*step
      do concurrent (j = 1:ny, i = 1:columns)
        temperature(i, j) = value_at(i, y0 + j, time)
      end do
      call forebay_write(file, "time", time, ierr); call check(ierr)
      call forebay_write(file, "ny", ny, ierr); call check(ierr)  ! the dimensions of T name these
      call forebay_write(file, "y0", y0, ierr); call check(ierr)
      call forebay_write(file, "total", total, ierr); call check(ierr)
      call forebay_write_later(file, "T", temperature, ierr); call check(ierr)  ! as it is until the step ends
      call forebay_write_string(file, "run", "an example", ierr); call check(ierr)
      call forebay_end_step(file, ierr); call check(ierr)
    end do
    call forebay_close(file, ierr); call check(ierr)
    call forebay_finalize(ierr); call check(ierr)
  end subroutine

  ! Each rank looks at the columns of the next one.
  subroutine read_steps()
    integer(c_int64_t) :: first, i, j
    integer :: ierr
    first = modulo(y0 + ny, total)
    call forebay_open(file, "", path, "r", MPI_COMM_WORLD, ierr); call check(ierr)
    do step = 0, 4
      call forebay_read(file, "time", step, time, ierr); call check(ierr)
      call forebay_read(file, "T", step, [0_c_int64_t, first], [columns, ny], temperature, ierr); call check(ierr)
      do j = 1, ny
        do i = 1, columns
          if (temperature(i, j) /= value_at(i, first + j, time)) error stop "a wrong value"
        end do
      end do
    end do
    call forebay_close(file, ierr); call check(ierr)
  end subroutine
end program
