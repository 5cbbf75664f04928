# How tests are registered with CTest.
#
#   forebay_add_test(NAME <n> COMMAND <cmd> [args ...] [TIMEOUT 120] [LABELS ...] [ENVIRONMENT V=x ...])
#   forebay_add_mpi_test(NAME <n> TARGET <t> [RANKS 1 2 4] [ARGS ...] [TIMEOUT 120] [LABELS ...]
#                        [ENVIRONMENT V=x ...] [SERIAL])
#   forebay_add_gtests(<target> <prefix> SHARES <n>)
#
# The last adds every test of a googletest program, named <prefix><test>; with the address sanitizer, under which a program
# takes half a second to begin and to end, <n> shares of them, which record what ran in gtests/<prefix><share>.xml.
#
# What a test does on 2 or 4 ranks, where it runs on 3 as well, is labelled `more_ranks`, which the short form of ./dev test
# leaves out.
#
# The first adds one test. The second adds one test per rank count, named <n>_np<k>, which runs target <t> (or a
# program given by its path) under mpiexec; without RANKS at 1, 2, 3, 4 and 7 ranks; in a build without MPI it adds
# nothing. SERIAL keeps other tests from running beside it.
#
# Every test runs in a scratch directory of its own, also given to it as FOREBAY_TEST_DIR and, for googletest's temporary
# files, as TEST_TMPDIR: shares of one program run side by side. It sees none of the caller's method settings. Users need
# not know what Open MPI asks of root or of a machine with few cores.

include_guard(GLOBAL)

set(FOREBAY_DEFAULT_RANKS 1 2 3 4 7)

# Tests are compiled once and run for seconds, so their own code is optimised less: that takes a quarter off compiling it.
set(forebay_test_options "$<$<CONFIG:RelWithDebInfo>:-O1>")

# FOREBAY_MPI_FLAVOUR: "openmpi", "mpich" or "other", from what the launcher says of itself.
function(forebay_detect_mpi_flavour)
  if(DEFINED FOREBAY_MPI_FLAVOUR OR NOT MPIEXEC_EXECUTABLE)
    return()
  endif()
  execute_process(COMMAND ${MPIEXEC_EXECUTABLE} --version OUTPUT_VARIABLE version ERROR_VARIABLE version)
  if(version MATCHES "Open MPI|OpenRTE|PRRTE")
    set(flavour openmpi)
  elseif(version MATCHES "HYDRA|MPICH|mpich")
    set(flavour mpich)
  else()
    set(flavour other)
  endif()
  set(FOREBAY_MPI_FLAVOUR ${flavour} CACHE INTERNAL "MPI implementation of the launcher")
endfunction()

# Command line that starts <ranks> ranks, without the program.
function(forebay_mpiexec_command out ranks)
  forebay_detect_mpi_flavour()
  set(command ${MPIEXEC_EXECUTABLE})
  if(FOREBAY_MPI_FLAVOUR STREQUAL "openmpi")
    # Two jobs side by side must not both be bound to the first core.
    list(APPEND command --oversubscribe --bind-to none)
  endif()
  list(APPEND command ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS})
  set(${out} ${command} PARENT_SCOPE)
endfunction()

# The same as one word, for scripts that start ranks.
function(forebay_mpiexec_text out ranks)
  forebay_mpiexec_command(command ${ranks})
  list(JOIN command " " command)
  set(${out} ${command} PARENT_SCOPE)
endfunction()

# What waiting ranks of tests do; sanitizers want to be loaded first themselves.
if(FOREBAY_MPI AND CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT FOREBAY_SANITIZE AND NOT FOREBAY_SANITIZE_THREADS)
  add_library(forebay_yield_or_sleep MODULE ${PROJECT_SOURCE_DIR}/tests/support/yield_or_sleep.c)
endif()

# Properties that all tests share. <environment> and <labels> are names of lists.
function(_forebay_test_properties name timeout environment labels)
  set(scratch ${CMAKE_BINARY_DIR}/scratch/${name})
  file(MAKE_DIRECTORY ${scratch})
  set(changes "")
  foreach(variable FOREBAY_HINTS PNETCDF_HINTS FOREBAY_CONFIG FOREBAY_REPORT PNETCDF_VERBOSE_DEBUG_MODE)
    list(APPEND changes "${variable}=unset:")
  endforeach()
  # Other work goes on beside a test: ranks that wait leave it the core. Open MPI's way of messages that machines without
  # special networks get is named: looking for those networks takes a quarter of a second a start, of hundreds.
  list(JOIN FOREBAY_WINGS "," wings)
  list(APPEND changes
    "FOREBAY_TEST_WINGS=set:${wings}"
    "FOREBAY_TEST_DIR=set:${scratch}"
    "TEST_TMPDIR=set:${scratch}"
    "OMPI_MCA_mpi_yield_when_idle=set:1"
    "OMPI_MCA_pml=set:ob1"
    "OMPI_ALLOW_RUN_AS_ROOT=set:1"
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=set:1"
    "OMPI_MCA_rmaps_base_oversubscribe=set:1")
  # Several times as slow, and as many side by side.
  set(limit ${timeout})
  if(FOREBAY_SANITIZE OR FOREBAY_SANITIZE_THREADS)
    math(EXPR limit "3 * ${timeout}")
  endif()
  if(FOREBAY_SANITIZE)
    set(leaks 1)
    if("mpi" IN_LIST ${labels})
      set(leaks 0)  # MPI libraries keep memory to the end of the process
    endif()
    list(APPEND changes
      "ASAN_OPTIONS=set:detect_leaks=${leaks}:abort_on_error=0:detect_stack_use_after_return=1"
      "UBSAN_OPTIONS=set:halt_on_error=1:print_stacktrace=1")
  endif()
  if(TARGET forebay_yield_or_sleep)
    list(APPEND changes "LD_PRELOAD=set:$<TARGET_FILE:forebay_yield_or_sleep>")
  endif()
  foreach(setting IN LISTS ${environment})
    string(REGEX REPLACE "^([^=]+)=(.*)$" "\\1=set:\\2" change "${setting}")
    list(APPEND changes "${change}")
  endforeach()
  # Those that may take long begin first, so that none is left at the end to be waited for.
  set_tests_properties(${name} PROPERTIES
    TIMEOUT ${limit}
    COST ${timeout}
    WORKING_DIRECTORY ${scratch}
    ENVIRONMENT_MODIFICATION "${changes}"
    LABELS "${${labels}}")
endfunction()

function(forebay_add_test)
  cmake_parse_arguments(ARG "SERIAL" "NAME;TIMEOUT" "COMMAND;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  add_test(NAME ${ARG_NAME} COMMAND ${ARG_COMMAND})
  _forebay_test_properties(${ARG_NAME} ${ARG_TIMEOUT} ARG_ENVIRONMENT ARG_LABELS)
  set_tests_properties(${ARG_NAME} PROPERTIES RUN_SERIAL ${ARG_SERIAL})
endfunction()

# The label of a test on <ranks> ranks which also runs on these others; empty for most.
function(forebay_ranks_label out ranks)
  set(${out} "" PARENT_SCOPE)
  if(ranks MATCHES "^[24]$" AND 3 IN_LIST ARGN)
    set(${out} more_ranks PARENT_SCOPE)
  endif()
endfunction()

function(forebay_add_mpi_test)
  cmake_parse_arguments(ARG "SERIAL" "NAME;TARGET;TIMEOUT" "RANKS;ARGS;LABELS;ENVIRONMENT" ${ARGN})
  if(NOT FOREBAY_MPI)
    return()
  endif()
  if(NOT ARG_RANKS)
    set(ARG_RANKS ${FOREBAY_DEFAULT_RANKS})
  endif()
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(program ${ARG_TARGET})
  if(TARGET ${ARG_TARGET})
    set(program $<TARGET_FILE:${ARG_TARGET}>)
  endif()
  list(APPEND ARG_LABELS mpi)
  foreach(ranks IN LISTS ARG_RANKS)
    set(name ${ARG_NAME}_np${ranks})
    forebay_mpiexec_command(launch ${ranks})
    add_test(NAME ${name} COMMAND ${launch} ${program} ${MPIEXEC_POSTFLAGS} ${ARG_ARGS})
    forebay_ranks_label(more_ranks ${ranks} ${ARG_RANKS})
    set(of_ranks ${ARG_LABELS} ${more_ranks})
    _forebay_test_properties(${name} ${ARG_TIMEOUT} ARG_ENVIRONMENT of_ranks)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${ranks} RUN_SERIAL ${ARG_SERIAL})
  endforeach()
endfunction()

function(forebay_add_gtests target prefix)
  cmake_parse_arguments(ARG "" "SHARES" "" ${ARGN})
  if(NOT FOREBAY_SANITIZE)
    gtest_discover_tests(${target} TEST_PREFIX ${prefix} DISCOVERY_TIMEOUT 60)
    return()
  endif()
  math(EXPR last "${ARG_SHARES} - 1")
  # Uses of stacks that were returned from are looked for in tests with MPI: it takes a sixth of the time.
  foreach(share RANGE ${last})
    forebay_add_test(NAME ${prefix}share_${share} TIMEOUT 300
                     COMMAND ${target} --gtest_output=xml:${CMAKE_BINARY_DIR}/gtests/${prefix}${share}.xml
                     ENVIRONMENT GTEST_TOTAL_SHARDS=${ARG_SHARES} GTEST_SHARD_INDEX=${share}
                                 ASAN_OPTIONS=detect_leaks=1:abort_on_error=0)
  endforeach()
endfunction()
