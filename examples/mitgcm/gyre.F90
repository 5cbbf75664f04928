! A barotropic ocean gyre and its adjoint, whose checkpoints go through the module OAD_cp as those of
! MITgcm do. The ocean is that of MITgcm's first tutorial: 1200 km by 1200 km, 5000 m deep, on a beta
! plane, with a wind that turns it. This program was written anew: MITgcm integrates layers with a free
! surface, this one the vorticity below a lid.
!
!   z' = F - J(p, z) - beta p_x + A (z_xx + z_yy),  p_xx + p_yy = z,  p = 0 at the coast
!
! The cost is the mean square of the current's streamfunction p at the end. The adjoint gives its
! gradient with respect to F, the curl of the wind, at each point.
!
!   gyre FILE STEPS INTERVAL [TOLERANCE]
!
! Every INTERVAL steps the state is stored. The adjoint takes the last of these first, runs from it once
! more, stores each step, and goes back. FILE.RANK gets the gradient, bit by bit. Each rank has an ocean
! with a wind of its own. The program fails if the gradient differs from what a change of the wind does by
! more than TOLERANCE, 10^-6 of it; a lossy codec needs more.
!
! With -DUNFORMATTED it is linked with a module that keeps unformatted files, as MITgcm's own one.
#ifdef UNFORMATTED
#define STORE(x) write(unit=cp_io_unit) x
#define RESTORE(x) read(unit=cp_io_unit) x
#else
#define STORE(x) call cp_store(x)
#define RESTORE(x) call cp_restore(x)
#endif
program gyre
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use :: mpi_f08
  use :: OAD_cp
  implicit none

  integer, parameter :: n = 60                            ! points in each direction, without the coast
  real(real64), parameter :: side = 1.2e6_real64          ! m
  real(real64), parameter :: dx = side/(n + 1)
  real(real64), parameter :: dt = 1200._real64            ! s
  real(real64), parameter :: beta = 1e-11_real64          ! 1/(m s)
  real(real64), parameter :: viscosity = 400._real64      ! m^2/s
  real(real64), parameter :: stress = 0.1_real64          ! N/m^2
  real(real64), parameter :: mass = 5000._real64*1000._real64  ! kg/m^2, of the water below 1 m^2
  real(real64), parameter :: pi = acos(-1._real64)
  real(real64), parameter :: now = 1.6_real64, before = -0.6_real64  ! Adams and Bashforth's, as in MITgcm

  type state
    real(real64) :: z(n, n) = 0, tendency(n, n) = 0   ! of the step before
    integer :: step = 0
  end type

  real(real64) :: sines(n, n), inverse(n, n), wind(n, n), gradient(n, n)
  real(real64) :: seconds, computed, tried, error, tolerance
  integer :: rank, steps, interval, unit, i, j
  character(300) :: path, word

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call get_command_argument(1, path)
  call get_command_argument(2, word)
  read (word, *) steps
  call get_command_argument(3, word)
  read (word, *) interval
  tolerance = 1e-6_real64
  call get_command_argument(4, word)
  if (word /= "") read (word, *) tolerance

  ! Sines are the eigenvectors of the discrete Laplacian, and `sines` is its own inverse.
  do j = 1, n
    do i = 1, n
      sines(i, j) = sqrt(2._real64/(n + 1))*sin(pi*i*j/(n + 1))
      inverse(i, j) = -dx**2/(4*(sin(pi*i/(2*(n + 1)))**2 + sin(pi*j/(2*(n + 1)))**2))
    end do
  end do
  do j = 1, n
    wind(:, j) = -(1 + 0.1_real64*rank)*stress*pi/(side*mass)*sin(pi*j/(n + 1))
  end do

  seconds = MPI_Wtime()
  call find_gradient()
  seconds = MPI_Wtime() - seconds
  computed = sum(gradient*wind)*1e-4_real64
  tried = (cost_of(wind*(1 + 1e-4_real64)) - cost_of(wind*(1 - 1e-4_real64)))/2
  error = abs(computed - tried)/abs(tried)

  write (path, '(a,".",i0)') trim(path), rank
  open (newunit=unit, file=path)
  write (unit, '(z16.16)') transfer(gradient, [0_int64])
  close (unit)
  if (rank == 0) print '(a,i0,a,f8.3,a,es9.2)', "gyre: ", steps, " steps and their adjoint in ", seconds, &
    " s; the gradient differs by ", error
  if (.not. error < tolerance) error stop "gyre: the gradient is wrong"
  call MPI_Finalize()

contains

  real(real64) function cost_of(its_wind)
    real(real64), intent(in) :: its_wind(n, n)
    type(state) :: ocean
    ocean = state()
    do while (ocean%step < steps)
      call advance(ocean, its_wind)
    end do
    cost_of = cost(ocean%z)
  end function

  ! In units of (10^4 m^2/s)^2.
  real(real64) function cost(z)
    real(real64), intent(in) :: z(n, n)
    cost = sum((solve(z)*1e-4_real64)**2)/n**2
  end function

  function solve(z) result(p)
    real(real64), intent(in) :: z(n, n)
    real(real64) :: p(n, n)
    p = matmul(sines, matmul(matmul(sines, matmul(z, sines))*inverse, sines))
  end function

  ! With the coast around it, where everything is 0.
  function with_coast(x) result(y)
    real(real64), intent(in) :: x(n, n)
    real(real64) :: y(0:n + 1, 0:n + 1)
    y = 0
    y(1:n, 1:n) = x
  end function

  function east(x) result(y)   ! the derivative to the east; its adjoint is its negative
    real(real64), intent(in) :: x(n, n)
    real(real64) :: y(n, n), wide(0:n + 1, 0:n + 1)
    wide = with_coast(x)
    y = (wide(2:n + 1, 1:n) - wide(0:n - 1, 1:n))/(2*dx)
  end function

  function north(x) result(y)
    real(real64), intent(in) :: x(n, n)
    real(real64) :: y(n, n), wide(0:n + 1, 0:n + 1)
    wide = with_coast(x)
    y = (wide(1:n, 2:n + 1) - wide(1:n, 0:n - 1))/(2*dx)
  end function

  function laplacian(x) result(y)   ! its own adjoint
    real(real64), intent(in) :: x(n, n)
    real(real64) :: y(n, n), wide(0:n + 1, 0:n + 1)
    wide = with_coast(x)
    y = (wide(2:n + 1, 1:n) + wide(0:n - 1, 1:n) + wide(1:n, 2:n + 1) + wide(1:n, 0:n - 1) - 4*x)/dx**2
  end function

  subroutine advance(ocean, its_wind)
    type(state), intent(inout) :: ocean
    real(real64), intent(in) :: its_wind(n, n)
    real(real64) :: p(n, n), tendency(n, n)
    p = solve(ocean%z)
    tendency = its_wind - east(p)*north(ocean%z) + north(p)*east(ocean%z) - beta*east(p) &
               + viscosity*laplacian(ocean%z)
    ocean%z = ocean%z + dt*(now*tendency + before*ocean%tendency)
    ocean%tendency = tendency
    ocean%step = ocean%step + 1
  end subroutine

  ! The adjoint of advance() at the state `ocean` before the step. `a` is the adjoint of what follows, and
  ! becomes that of `ocean`.
  subroutine go_back(ocean, a)
    type(state), intent(in) :: ocean
    type(state), intent(inout) :: a
    real(real64) :: p(n, n), of_tendency(n, n), of_p(n, n)
    p = solve(ocean%z)
    of_tendency = dt*now*a%z + a%tendency
    a%tendency = dt*before*a%z
    gradient = gradient + of_tendency
    of_p = east(north(ocean%z)*of_tendency) - north(east(ocean%z)*of_tendency) + beta*east(of_tendency)
    a%z = a%z + north(east(p)*of_tendency) - east(north(p)*of_tendency) &
          + viscosity*laplacian(of_tendency) + solve(of_p)
    a%step = ocean%step
  end subroutine

  subroutine find_gradient()
    type(state) :: ocean, a
    integer :: step, first, last, outer
    call cp_init()
    ocean = state()
    do while (ocean%step < steps)
      if (mod(ocean%step, interval) == 0) call keep(ocean, ocean%step/interval + 1)
      call advance(ocean, wind)
    end do
    a = state()
    a%z = 2*1e-8_real64*solve(solve(ocean%z))/n**2
    gradient = 0
    outer = (steps - 1)/interval + 1
    last = steps
    do first = outer, 1, -1
      call take(ocean, first)
      do while (ocean%step < last - 1)
        call keep(ocean, outer + 1 + mod(ocean%step, interval))
        call advance(ocean, wind)
      end do
      do step = last - 1, (first - 1)*interval, -1
        if (step < last - 1) call take(ocean, outer + 1 + mod(step, interval))
        call go_back(ocean, a)
      end do
      last = (first - 1)*interval
    end do
    call cp_finalize()
  end subroutine

  subroutine keep(ocean, number)
    type(state), intent(in) :: ocean
    integer, intent(in) :: number
    call cp_write_open(number)
    STORE(ocean%step)
    STORE(ocean%z)
    STORE(ocean%tendency)
    call cp_close()
  end subroutine

  subroutine take(ocean, number)
    type(state), intent(inout) :: ocean
    integer, intent(in) :: number
    call cp_read_open(number)
    RESTORE(ocean%step)
    RESTORE(ocean%z)
    RESTORE(ocean%tendency)
    call cp_close()
  end subroutine

end program
