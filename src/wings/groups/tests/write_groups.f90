! Writes and reads through the Fortran module what write_groups.c does not: all shapes of arguments,
! boxes, text, and what is refused. Rank 1 of three or more has no columns. The communicator is an
! integer here; examples/groups.f90 has the other kind.
program write_groups
  use, intrinsic :: iso_c_binding
  use :: mpi
  use :: forebay
  implicit none

  integer, parameter :: long = c_int64_t
  integer, parameter :: einval = -36, eperm = -37, einvalcoords = -40, ebadtype = -45, ebaddim = -46, &
                        enotvar = -49, enomem = -61
  integer :: rank, ranks, file, ierr, faults = 0, all_faults
  integer(c_int32_t) :: n
  integer(long) :: x0, total
  character(1000) :: xml, path

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  call get_command_argument(1, xml)
  call get_command_argument(2, path)
  n = columns_of(rank)
  x0 = sum([integer(long) :: (columns_of(ierr), ierr=0, rank - 1)])
  total = sum([integer(long) :: (columns_of(ierr), ierr=0, ranks - 1)])

  call forebay_init("no such file.xml", MPI_COMM_WORLD, ierr)
  call require("what no XML is", ierr, einval)
  if (index(forebay_error_message(), "no such file.xml") == 0) call fault("the message")
  if (len(forebay_version()) < 5) call fault("the version")
  call forebay_init(xml, MPI_COMM_WORLD, ierr); call ok("init")
  call write_fields()
  call read_fields()
  call write_by_calls()
  call forebay_finalize(ierr); call ok("finalize")
  call MPI_Allreduce(faults, all_faults, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  call MPI_Finalize(ierr)
  if (all_faults > 0) error stop 1

contains

  pure integer(c_int32_t) function columns_of(r)
    integer, intent(in) :: r
    columns_of = merge(0, r + 2, ranks > 2 .and. r == 1)
  end function

  subroutine fault(what)
    character(*), intent(in) :: what
    print '("rank ", i0, ": ", a)', rank, what
    faults = faults + 1
  end subroutine

  subroutine require(what, got, expected)
    character(*), intent(in) :: what
    integer, intent(in) :: got, expected
    character(12) :: code
    if (got == expected) return
    write (code, '(i0)') got
    call fault(what//": "//trim(code)//": "//forebay_error_message())
  end subroutine

  subroutine ok(what)
    character(*), intent(in) :: what
    call require(what, ierr, 0)
  end subroutine

  subroutine same(what, got, expected)
    character(*), intent(in) :: what
    integer(long), intent(in) :: got, expected
    character(80) :: numbers
    if (got == expected) return
    write (numbers, '(i0, ", not ", i0)') got, expected
    call fault(what//" is "//trim(numbers))
  end subroutine

  pure real(c_float) function a_at(i, j, step)
    integer, intent(in) :: i, step
    integer(long), intent(in) :: j
    a_at = 1000*step + 10*real(j, c_float) + i
  end function

  subroutine write_fields()
    real(c_float), allocatable :: a(:, :)
    real(c_double) :: wide(10, 2*n)
    integer(c_int16_t), asynchronous, target :: p(2, n)
    integer(c_int32_t) :: b(4)
    integer :: i, step
    integer(long) :: j
    allocate (a(5, n))
    call forebay_open(file, "fields", trim(path)//"/fields.bp", "w", MPI_COMM_WORLD, ierr); call ok("open")
    do step = 0, 2
      do j = 1, n
        do i = 1, 5
          a(i, j) = a_at(i, x0 + j, step)
          wide(2*i - 1, 2*j - 1) = a(i, j) + 0.5d0
        end do
        p(:, j) = int([x0 + j, -x0 - j], c_int16_t)
      end do
      call forebay_group_size(file, 4096_long, ierr); call ok("group_size")
      call forebay_group_size(file, -1_long, ierr); call require("group_size of -1", ierr, einval)
      call forebay_write(file, "A", a, ierr); call require("A before n", ierr, einval)
      call forebay_write(file, "n", n, ierr); call ok("n")
      call forebay_write(file, "x0", int(x0 + 0, long), ierr); call ok("x0")
      call forebay_write(file, "total", total, ierr); call ok("total")
      call forebay_write(file, "A", a, ierr); call ok("A")
      call forebay_write(file, "part", wide(1::2, 1::2), ierr); call ok("part")
      call forebay_write_later(file, "P", p(:, ::2), ierr)
      if (n > 2) call require("a lent section", ierr, einval)
      if (n > 2) call forebay_write_later(file, "P", p, ierr)
      if (n <= 2) call forebay_write(file, "P", p, ierr)
      do i = 0, 1
        b = [(100*step + int(10*(2*rank + i)) + j, j=1, 4)]
        call forebay_write_box(file, "B", [4_long, 2_long*ranks], [0_long, 2_long*rank + i], [4_long, 1_long], b, ierr)
        call ok("B")
      end do
      call forebay_write_box(file, "B", [4_long], [0_long, 0_long], [4_long, 1_long], b, ierr)
      call require("a shape of one number", ierr, einval)
      call forebay_write_box(file, "B", [4_long, 1_long, 1_long], b, ierr)
      call require("a box of three dimensions", ierr, einval)
      call forebay_write_box(file, "own", [3_long], int([1, 2, 3] + 10*rank, c_int8_t), ierr); call ok("own")
      if (rank == 0) then
        call forebay_write(file, "z", cmplx(step, -1, c_double_complex), ierr); call ok("z")
        call forebay_write(file, "letters", "abc de", ierr); call ok("letters")
        call forebay_write(file, "title", "the title", ierr); call require("a string without an end", ierr, ebadtype)
        call forebay_write_string(file, "title", "the title   ", ierr); call ok("title")
        call forebay_write_string(file, "own", "x", ierr); call require("no string", ierr, ebadtype)
      end if
      call forebay_write(file, "Title", 1, ierr); call require("Title", ierr, enotvar)
      call forebay_end_step(file, ierr); call ok("end_step")
    end do
    call forebay_expect(file, "A", "real", 2, ierr); call ok("expect, writing")
    call forebay_inq_steps(file, j, ierr); call require("inquiring while writing", ierr, eperm)
    call forebay_sync(file, ierr); call ok("sync")
    call forebay_close(file, ierr); call ok("close")
  end subroutine

  ! Where C and adios2 have A(total, 5), Fortran has A(5, total).
  subroutine read_fields()
    character(:), allocatable :: text
    character(9) :: title
    character(3) :: short
    real(c_float) :: a(5, total), few(4), wide(4, total)
    complex(c_double_complex) :: z
    integer(c_int16_t) :: p(2, total)
    integer(long) :: steps, shape(2), bytes, blocks, start(2), count(2), found, where_steps(1), where_blocks(1)
    real(c_double) :: least, greatest
    integer :: nvars, ndims, i, any, step
    integer(long) :: j
    call forebay_open(file, "", trim(path)//"/fields.bp", "r", MPI_COMM_WORLD, ierr); call ok("open")
    call forebay_inq_steps(file, steps, ierr); call ok("steps")
    call same("steps", steps, 3_long)
    call forebay_inq_nvars(file, nvars, ierr); call ok("nvars")
    call same("variables", int(nvars, long), 11_long)
    do i = 0, nvars - 1
      call forebay_inq_varname(file, i, text, ierr); call ok("varname")
      if (text == "A") ndims = i
    end do
    call forebay_inq_varname(file, nvars, text, ierr); call require("one name more", ierr, enotvar)
    call forebay_inq_var(file, "A   ", text, ndims, ierr); call ok("inq_var")
    if (text /= "float" .or. ndims /= 2) call fault("A is "//text)
    call forebay_expect(file, "A", "real", 2, ierr); call ok("expect")
    call forebay_expect(file, "A", "double", 2, ierr); call require("another type", ierr, ebadtype)
    call forebay_expect(file, "A", "real", 1, ierr); call require("other dimensions", ierr, ebaddim)
    call forebay_expect(file, "A", "tensor", 1, ierr); call require("no type", ierr, ebadtype)
    call forebay_inq_shape(file, "A", 1_long, shape, bytes, ierr); call ok("shape")
    call same("rows", shape(1), 5_long)
    call same("columns", shape(2), total)
    call same("bytes", bytes, 20*total)
    call forebay_inq_shape(file, "A", 1_long, shape(1:1), bytes, ierr); call require("one extent", ierr, einval)
    call forebay_inq_blocks(file, "A", 1_long, blocks, ierr); call ok("blocks")
    call forebay_inq_block(file, "A", 1_long, blocks - 1, start, count, ierr); call ok("block")
    call same("the first row of the last block", start(1), 0_long)
    call same("its first column", start(2), total - columns_of(ranks - 1))
    call same("its rows", count(1), 5_long)
    call forebay_inq_block(file, "A", 1_long, blocks, start, count, ierr); call require("one more", ierr, einvalcoords)
    call forebay_inq_statistics(file, "A", 1_long, any, least, greatest, ierr); call ok("statistics")
    if (any /= 1 .or. least /= a_at(1, 1_long, 1) .or. greatest /= a_at(5, total, 1)) call fault("the range of A")
    call forebay_find(file, "A > 2000", where_steps, where_blocks, found, ierr); call ok("find")
    call same("blocks found", found, int(merge(ranks - 1, ranks, ranks > 2), long))  ! those with elements
    call same("the step of the first", where_steps(1), 2_long)

    do step = 0, 2
      call forebay_read(file, "A", int(step, long), a, ierr); call ok("read")
      do j = 1, total
        do i = 1, 5
          if (a(i, j) /= a_at(i, j, step)) call fault("a value of A")
        end do
      end do
      call forebay_read(file, "A", int(step, long), [1_long, total - 1], [4_long, 1_long], few, ierr); call ok("box")
      do i = 1, 4
        if (few(i) /= a_at(i + 1, total, step)) call fault("a value of the box")
      end do
      wide = -1
      call forebay_read(file, "A", int(step, long), [2_long, 0_long], [2_long, total], wide(1::2, :), ierr)
      call ok("a section")
      do j = 1, total
        if (wide(1, j) /= a_at(3, j, step) .or. wide(2, j) /= -1 .or. wide(3, j) /= a_at(4, j, step)) &
          call fault("a value of the section")
      end do
    end do
    ! Together.
    a = -1
    few = -1
    call forebay_read_later(file, "A", 1_long, a, ierr); call ok("read later")
    call forebay_read_later(file, "A", 2_long, [1_long, total - 1], [4_long, 1_long], few, ierr); call ok("a box later")
    call forebay_read_later(file, "A", 1_long, [2_long, 0_long], [2_long, total], wide(1::2, :), ierr)
    call require("a section later", ierr, einval)
    call forebay_perform_reads(file, ierr); call ok("perform")
    do j = 1, total
      do i = 1, 5
        if (a(i, j) /= a_at(i, j, 1)) call fault("a value of A, read together")
      end do
    end do
    do i = 1, 4
      if (few(i) /= a_at(i + 1, total, 2)) call fault("a value of the box, read together")
    end do
    call forebay_read(file, "A", 0_long, [0_long], [4_long], few, ierr); call require("one start", ierr, einval)
    call forebay_read(file, "A", 0_long, few, ierr); call require("all into 4", ierr, einval)
    call forebay_read(file, "A", 0_long, [0_long, 0_long], [5_long, 1_long], few, ierr)
    call require("5 into 4", ierr, einval)
    call forebay_read(file, "P", 2_long, p, ierr); call ok("P")
    do j = 1, total
      if (p(1, j) /= j .or. p(2, j) /= -j) call fault("a value of P")
    end do
    call forebay_read_block(file, "P", 2_long, 0_long, p, ierr); call ok("a block of P")
    call forebay_read_block(file, "P", 2_long, 0_long, p(1:2, 1:1), ierr); call require("a block into 2", ierr, einval)
    call forebay_read(file, "z", 2_long, z, ierr); call ok("z")
    if (z /= (2, -1)) call fault("z")
    call forebay_read_string(file, "title", 2_long, title, ierr); call ok("title")
    if (title /= "the title") call fault("title is "//title)
    call forebay_read_string(file, "title", 2_long, short, ierr); call require("a short title", ierr, einval)
    call forebay_read_string(file, "letters", 2_long, title, ierr); call ok("letters")
    if (title /= "abc de   ") call fault("letters are "//title)
    call forebay_read_string(file, "z", 2_long, title, ierr); call require("a number as text", ierr, ebadtype)
    call forebay_read(file, "title", 2_long, few, ierr); call require("text as numbers", ierr, ebadtype)
    call forebay_close(file, ierr); call ok("close")
  end subroutine

  subroutine write_by_calls()
    call forebay_define_group("made", "Fortran", ierr); call ok("define_group")
    call forebay_define_var("made", "m", "integer", "", "", "", "", ierr); call ok("define_var")
    call forebay_define_var("made", "C", "integer", "2,3", "2,3*m", "0,3", "steps=once", ierr); call ok("define_var")
    call forebay_define_attribute("made", "C/levels", "1, 2", "double", ierr); call ok("define_attribute")
    call forebay_define_method("made", "subfiling=none", ierr); call ok("define_method")
    call forebay_define_method("made", "subfiling=sometimes", ierr); call require("no method", ierr, einval)
    call forebay_open(file, "made", trim(path)//"/made.bp", "w", MPI_COMM_WORLD, ierr); call ok("open")
    if (rank == 0) then
      call forebay_write(file, "m", 2, ierr); call ok("m")
      call forebay_write(file, "C", reshape([1, 2, 3, 4, 5, 6], [2, 3]), ierr); call ok("C")
    end if
    call forebay_end_step(file, ierr); call ok("end_step")
    call forebay_close(file, ierr); call ok("close")
  end subroutine
end program
