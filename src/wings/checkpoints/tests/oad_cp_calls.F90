! What OpenAD's code does with checkpoints, through the module OAD_cp: that of examples/mitgcm, or,
! with -DUNFORMATTED, one that has MITgcm's files. All that comes back goes to FILE.RANK, bit by bit;
! the test compares the two.
!
!   oad_cp_calls FILE [ends | goes_on]
!
! A program that ends leaves checkpoints to one that goes on, as in a divided adjoint.
#ifdef UNFORMATTED
#define STORE(call, x) write(unit=cp_io_unit) x
#define RESTORE(call, x) read(unit=cp_io_unit) x
#else
#define STORE(name, x) call name(x)
#define RESTORE(name, x) call name(x)
#endif
program oad_cp_calls
  use, intrinsic :: iso_c_binding
  use :: mpi_f08
  use :: OAD_cp
  implicit none

  type active
    real(c_double) :: v, d
  end type

  real(c_double) :: scalar, vector(700), matrix(40, 30), cube(5, 4, 30), six(2, 3, 1, 2, 3, 4)
  real(c_double) :: four(3, 2, 2, 5), five(2, 2, 2, 2, 3)
  type(active) :: tracer, field(20, 10)
  integer :: counter, levels(300), table(3, 5), out, rank, number, step
  logical :: wet, mask(9, 7)
  character(80) :: text
  character(200) :: path
  character(10) :: part

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, path)
  write (path, '(a,".",i0)') trim(path), rank
  open (newunit=out, file=path)
  call get_command_argument(2, part)
  if (part /= "") then
    call divided(part)
    close (out)
    call MPI_Finalize()
    stop
  end if

  ! Numbers of their own: the first five, of which the last one is read first.
  call cp_init()
  do step = 1, 5
    call fill(step)
    call cp_write_open()
    call store_all()
    call cp_close()
  end do
  write (out, *) cp_fNumber()
  do step = 5, 3, -1
    call cp_read_open()
    call restore_all()
    call cp_close()
  end do
  ! Written once more, in place of what was there; another kind of checkpoint, with the same numbers.
  do step = 11, 12
    call fill(step)
    call cp_write_open()
    call store_few()
    call cp_close()
  end do
  write (out, *) cp_fNumber()
  do step = 1, 2
    call cp_read_open()
    call restore_few()
    call cp_close()
  end do
  ! With numbers, in any order, one of them twice; not all of a checkpoint is read.
  do number = 30, 10, -10
    call fill(number)
    call cp_write_open(number)
    call store_all()
    call cp_close()
  end do
  do step = 1, 4
    call cp_read_open(merge(20, 10*step, step == 4))
    call restore_all()
    call cp_close()
    write (out, *) cp_fNumber()
  end do
  call cp_read_open(10)
  RESTORE(cp_arg_restore_real_scalar, scalar)
  write (out, *) transfer(scalar, 0_c_int64_t)
  call cp_close()
  call cp_finalize()
  close (out)
  call MPI_Finalize()

contains

  subroutine divided(part)
    character(*), intent(in) :: part
    integer :: now, adjoint, forward, backward, iteration
    call cp_init()
    if (part == "ends") then
      do number = 6, 7
        call fill(number)
        call cp_write_open(number)
        call store_all()
        call cp_close()
      end do
      call cp_write_state(7, -1, 3, 4, 55000)
      return
    end if
    call cp_read_state(now, adjoint, forward, backward, iteration)
    write (out, *) now, adjoint, forward, backward, iteration
    do number = now, now - 1, -1
      call cp_read_open(number)
      call restore_all()
      call cp_close()
    end do
    call cp_finalize()
  end subroutine

  ! Other values for each step and rank.
  subroutine fill(seed)
    integer, intent(in) :: seed
    integer :: i
    real(c_double) :: base
    base = seed + 100*rank
    scalar = sin(base)
    vector = [(sin(base + i), i=1, size(vector))]
    matrix = reshape([(cos(base*i), i=1, size(matrix))], shape(matrix))
    cube = reshape([(base/i, i=1, size(cube))], shape(cube))
    four = reshape([(base - i, i=1, size(four))], shape(four))
    five = reshape([(base + 2*i, i=1, size(five))], shape(five))
    six = reshape([(base*i, i=1, size(six))], shape(six))
    tracer = active(base, -base)
    field%v = reshape([(sqrt(base*i), i=1, size(field))], shape(field))
    field%d = -1
    counter = seed
    levels = [(seed*i, i=1, size(levels))]
    table = reshape([(seed - i, i=1, size(table))], shape(table))
    wet = mod(seed, 2) == 0
    mask = reshape([(mod(i*seed, 3) == 0, i=1, size(mask))], shape(mask))
    write (text, '(a,i0)') "  step ", seed
  end subroutine

  subroutine store_all()
    STORE(cp_arg_store_real_scalar, scalar)
    STORE(cp_arg_store_real_vector, vector)
    STORE(cp_arg_store_real_matrix, matrix)
    STORE(cp_arg_store_real_matrix, matrix(3:31:2, 30:2:-3))
    STORE(cp_arg_store_real_three_tensor, cube)
    STORE(cp_arg_store_real_four_tensor, four)
    STORE(cp_arg_store_real_five_tensor, five)
    STORE(cp_arg_store_real_six_tensor, six)
    STORE(cp_arg_store_real_scalar, tracer%v)
    STORE(cp_arg_store_real_matrix, field%v)
    STORE(cp_arg_store_integer_scalar, counter)
    STORE(cp_arg_store_integer_vector, levels)
    STORE(cp_arg_store_integer_matrix, table)
    STORE(cp_arg_store_bool_scalar, wet)
    STORE(cp_arg_store_bool_matrix, mask)
    STORE(cp_arg_store_string_scalar, text)
  end subroutine

  subroutine restore_all()
    call fill(0)
    RESTORE(cp_arg_restore_real_scalar, scalar)
    RESTORE(cp_arg_restore_real_vector, vector)
    RESTORE(cp_arg_restore_real_matrix, matrix)
    RESTORE(cp_arg_restore_real_matrix, matrix(1:29:2, 10:1:-1))
    RESTORE(cp_arg_restore_real_three_tensor, cube)
    RESTORE(cp_arg_restore_real_four_tensor, four)
    RESTORE(cp_arg_restore_real_five_tensor, five)
    RESTORE(cp_arg_restore_real_six_tensor, six)
    RESTORE(cp_arg_restore_real_scalar, tracer%v)
    RESTORE(cp_arg_restore_real_matrix, field%v)
    RESTORE(cp_arg_restore_integer_scalar, counter)
    RESTORE(cp_arg_restore_integer_vector, levels)
    RESTORE(cp_arg_restore_integer_matrix, table)
    RESTORE(cp_arg_restore_bool_scalar, wet)
    RESTORE(cp_arg_restore_bool_matrix, mask)
    RESTORE(cp_arg_restore_string_scalar, text)
    call tell()
  end subroutine

  ! Another order, other shapes.
  subroutine store_few()
    STORE(cp_store, levels)
    STORE(cp_store, vector(1:400))
    STORE(cp_store, matrix)
    STORE(cp_store, text)
  end subroutine

  subroutine restore_few()
    call fill(0)
    RESTORE(cp_restore, levels)
    RESTORE(cp_restore, vector(101:500))
    RESTORE(cp_restore, matrix)
    RESTORE(cp_restore, text)
    call tell()
  end subroutine

  subroutine tell()
    write (out, '(*(z0,1x))') transfer(scalar, [0_c_int64_t]), transfer(vector, [0_c_int64_t]), &
      transfer(matrix, [0_c_int64_t]), transfer(cube, [0_c_int64_t]), &
      transfer(four, [0_c_int64_t]), transfer(five, [0_c_int64_t]), transfer(six, [0_c_int64_t]), &
      transfer(tracer, [0_c_int64_t]), transfer(field, [0_c_int64_t])
    write (out, *) counter, levels, table, wet, mask, "<"//text//">"
  end subroutine
end program
