! The peer of states without a codec: one record of an unformatted file, as MITgcm writes them.
module unformatted
  use, intrinsic :: iso_c_binding
  implicit none
contains
  function from_c(path)
    character(kind=c_char), intent(in) :: path(*)
    character(:), allocatable :: from_c
    integer :: n
    from_c = ""
    n = 1
    do while (path(n) /= c_null_char)
      from_c = from_c//path(n)
      n = n + 1
    end do
  end function

  subroutine write_unformatted(path, values, n) bind(c, name="forebay_bench_write_unformatted")
    character(kind=c_char), intent(in) :: path(*)
    integer(c_int64_t), intent(in) :: n
    real(c_double), intent(in) :: values(n)
    integer :: unit
    open (newunit=unit, file=from_c(path), form="unformatted")
    write (unit) values
    close (unit)
  end subroutine

  subroutine read_unformatted(path, values, n) bind(c, name="forebay_bench_read_unformatted")
    character(kind=c_char), intent(in) :: path(*)
    integer(c_int64_t), intent(in) :: n
    real(c_double), intent(out) :: values(n)
    integer :: unit
    open (newunit=unit, file=from_c(path), form="unformatted")
    read (unit) values
    close (unit)
  end subroutine
end module
