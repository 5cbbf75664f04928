! A module with MITgcm's calls for checkpoints, and its files: one a rank and checkpoint, unformatted.
module OAD_cp
  use :: mpi_f08, only: MPI_COMM_WORLD, MPI_Comm_rank
  implicit none
  private
  public :: cp_io_unit, cp_init, cp_write_open, cp_read_open, cp_close, cp_fNumber, cp_finalize
  public :: cp_write_state, cp_read_state

  integer :: cp_io_unit, number

  interface cp_write_open
    procedure write_next, write_number
  end interface
  interface cp_read_open
    procedure read_before, read_number
  end interface

contains

  subroutine cp_init()
    number = 1
  end subroutine

  subroutine open_file()
    character(40) :: name
    integer :: rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    write (name, '("unformatted.",i0,".",i0)') rank, number
    open (newunit=cp_io_unit, file=name, form="unformatted")
  end subroutine

  subroutine write_next()
    call open_file()
    number = number + 1
  end subroutine

  subroutine write_number(n)
    integer, intent(in) :: n
    number = n
    call open_file()
  end subroutine

  subroutine read_before()
    number = number - 1
    call open_file()
  end subroutine

  subroutine read_number(n)
    integer, intent(in) :: n
    number = n
    call open_file()
  end subroutine

  subroutine cp_close()
    close (cp_io_unit)
  end subroutine

  integer function cp_fNumber()
    cp_fNumber = number
  end function

  subroutine cp_finalize()
  end subroutine

  subroutine open_state(unit)
    integer, intent(out) :: unit
    character(40) :: name
    integer :: rank
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    write (name, '("unformatted_state.",i0)') rank
    open (newunit=unit, file=name)
  end subroutine

  subroutine cp_write_state(currcp, curradjointcp, maxfwditer, maxadjiter, myIter)
    integer, intent(in) :: currcp, curradjointcp, maxfwditer, maxadjiter, myIter
    integer :: unit
    call open_state(unit)
    write (unit, *) currcp, curradjointcp, maxfwditer, maxadjiter, myIter
    close (unit)
  end subroutine

  subroutine cp_read_state(currcp, curradjointcp, maxfwditer, maxadjiter, myIter)
    integer, intent(inout) :: currcp, curradjointcp, maxfwditer, maxadjiter, myIter
    integer :: unit
    call open_state(unit)
    read (unit, *) currcp, curradjointcp, maxfwditer, maxadjiter, myIter
    close (unit)
  end subroutine
end module
