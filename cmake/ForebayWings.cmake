# What is built of wings. A wing is a folder of src/wings. Its folders `api`, `files`, `commands`, `generate`, `convert`,
# `connector` and `shared` go to the front ends, readers and tools, and `tests` to the tests; all others are part of the
# library.

include_guard(GLOBAL)

if(FOREBAY_WINGS STREQUAL "all")  # the folders of today, also where the build tree is older than one of them
  set(FOREBAY_WINGS ${FOREBAY_ALL_WINGS})
endif()
foreach(wing IN LISTS FOREBAY_WINGS)
  if(NOT wing IN_LIST FOREBAY_ALL_WINGS)
    list(JOIN FOREBAY_ALL_WINGS ", " all)
    message(FATAL_ERROR "FOREBAY_WINGS: there is no wing ${wing}; the wings are ${all}")
  endif()
endforeach()
# Sources of the others are not compiled; what names their parts is told which wing has them.
set(FOREBAY_ABSENT_WINGS ${FOREBAY_ALL_WINGS})
list(REMOVE_ITEM FOREBAY_ABSENT_WINGS ${FOREBAY_WINGS} "")

# Whether all wings are built: the pages of the docs about keys and commands, and benchmarks beside
# forebay-bench, are of all of them.
set(FOREBAY_HAS_ALL_WINGS ON)
if(FOREBAY_ABSENT_WINGS)
  set(FOREBAY_HAS_ALL_WINGS OFF)
endif()

# The public headers. One of a wing that is not built is not there, and neither are its functions.
file(GLOB FOREBAY_HEADERS ${PROJECT_SOURCE_DIR}/include/*.h)
set(headers_of_bundles forebay_bundle.h)
set(headers_of_checkpoints forebay_checkpoint.h)
set(headers_of_groups forebay_groups.h)
set(headers_of_hdf5 forebay_vol.h)
foreach(wing IN LISTS FOREBAY_ABSENT_WINGS)
  foreach(header IN LISTS headers_of_${wing})
    list(REMOVE_ITEM FOREBAY_HEADERS ${PROJECT_SOURCE_DIR}/include/${header})
  endforeach()
endforeach()

# forebay_sources_of_wing(VARIABLE WING KIND)
function(forebay_sources_of_wing variable wing kind)
  set(folder ${PROJECT_SOURCE_DIR}/src/wings/${wing})
  if(kind STREQUAL library)
    file(GLOB all CONFIGURE_DEPENDS ${folder}/*.cc ${folder}/*/*.cc)
    list(FILTER all EXCLUDE REGEX "/wings/[a-z0-9]+/(api|files|commands|generate|convert|connector|shared|tests)/")
  else()
    file(GLOB all CONFIGURE_DEPENDS ${folder}/${kind}/*.cc)
  endif()
  set(${variable} ${all} PARENT_SCOPE)
endfunction()

# forebay_wing_sources(KIND SOURCES TESTS): appends the sources and tests of all wings to two lists. KIND is `library`, or
# the name of a folder that wings may have.
function(forebay_wing_sources kind sources_list tests_list)
  set(found ${${sources_list}})
  set(found_tests ${${tests_list}})
  foreach(wing IN LISTS FOREBAY_WINGS)
    forebay_sources_of_wing(all ${wing} ${kind})
    set(all_tests ${all})
    list(FILTER all_tests INCLUDE REGEX "_test\\.cc$")
    list(FILTER all EXCLUDE REGEX "_test\\.cc$")
    list(APPEND found ${all})
    list(APPEND found_tests ${all_tests})
  endforeach()
  set(${sources_list} ${found} PARENT_SCOPE)
  set(${tests_list} ${found_tests} PARENT_SCOPE)
endfunction()

# forebay_add_wing_api(WING): its C interface, where the wing is built.
function(forebay_add_wing_api wing)
  if(wing IN_LIST FOREBAY_WINGS)
    add_subdirectory(${PROJECT_SOURCE_DIR}/src/wings/${wing}/api)
  endif()
endfunction()

# forebay_add_wing_tests(): the tests and fuzz targets of each wing that is built, src/wings/NAME/tests, which have
# the functions and programs of tests/ to use.
function(forebay_add_wing_tests)
  find_package(Python3 COMPONENTS Interpreter)
  foreach(wing IN LISTS FOREBAY_WINGS)
    if(EXISTS ${PROJECT_SOURCE_DIR}/src/wings/${wing}/tests/CMakeLists.txt)
      add_subdirectory(${PROJECT_SOURCE_DIR}/src/wings/${wing}/tests)
    endif()
  endforeach()
endfunction()
