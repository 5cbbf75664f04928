# FOREBAY_HAS_FORTRAN: whether there is a Fortran compiler that MPI has modules for. What needs one asks for it: the module
# of groups (src/wings/groups/api/fortran), its example, its tests.

include_guard(GLOBAL)
include(CheckLanguage)

option(FOREBAY_FORTRAN "Build the Fortran module where there is a compiler" ON)
set(FOREBAY_HAS_FORTRAN OFF)
# Sanitizers of one compiler do not go with the run-time library of another.
if(FOREBAY_MPI AND FOREBAY_FORTRAN AND NOT FOREBAY_SANITIZE AND NOT FOREBAY_SANITIZE_THREADS AND NOT FOREBAY_FUZZ)
  check_language(Fortran)
  if(CMAKE_Fortran_COMPILER)
    enable_language(Fortran)
    find_package(MPI QUIET COMPONENTS Fortran)
    set(FOREBAY_HAS_FORTRAN ${MPI_Fortran_FOUND})
  endif()
  if(NOT FOREBAY_HAS_FORTRAN)
    message(STATUS "No Fortran compiler that MPI has modules for: the Fortran module is left out, its tests are skipped")
  endif()
endif()
