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

# Makes the module `name` from its template and installs its source, which programs of another compiler compile among
# their own files. Adds the test symbols.TEST, which compares the module with HEADERS; BESIDES are names that are
# Fortran's alone. Sets `source` to the module's path.
function(forebay_fortran_module name)
  cmake_parse_arguments(PARSE_ARGV 1 module "" TEST "HEADERS;BESIDES")
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(template ${CMAKE_CURRENT_SOURCE_DIR}/${name}.F90.in)
  set(script ${PROJECT_SOURCE_DIR}/cmake/make_fortran_module.py)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}.F90)
  execute_process(COMMAND ${Python3_EXECUTABLE} -B ${script} ${template} ${source} COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${template} ${script})
  install(FILES ${source} DESTINATION ${CMAKE_INSTALL_DATADIR}/forebay)
  if(FOREBAY_TESTS)
    list(TRANSFORM module_HEADERS PREPEND ${PROJECT_SOURCE_DIR}/include/)
    forebay_add_test(NAME symbols.${module_TEST}
      COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/unit/fortran_module.py --module ${source}
              ${module_HEADERS} --besides ${module_BESIDES})
  endif()
  set(source ${source} PARENT_SCOPE)
endfunction()
