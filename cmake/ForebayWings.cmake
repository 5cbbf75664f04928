# What is built of wings. A wing is a folder of src/wings. Its folders `api`, `files`, `commands`, `generate`, `convert`,
# `connector`, `plugin`, `companion` and `shared` go to the front ends, readers and tools, and `tests` to the tests; all others are part
# of the library.

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
# That of wing NAME is forebay_NAME.h, with or without the plural's s; but the connector for HDF5 has forebay_vol.h.
foreach(wing IN LISTS FOREBAY_ABSENT_WINGS)
  string(REGEX REPLACE "s$" "s?" name ${wing})
  string(REGEX REPLACE "^hdf5$" "vol" name ${name})
  list(FILTER FOREBAY_HEADERS EXCLUDE REGEX "/forebay_${name}\\.h$")
endforeach()

# forebay_sources_of_wing(VARIABLE WING KIND)
function(forebay_sources_of_wing variable wing kind)
  set(folder ${PROJECT_SOURCE_DIR}/src/wings/${wing})
  if(kind STREQUAL library)
    file(GLOB all CONFIGURE_DEPENDS ${folder}/*.cc ${folder}/*/*.cc)
    list(FILTER all EXCLUDE REGEX "/wings/[a-z0-9]+/(api|files|commands|generate|convert|connector|plugin|companion|shared|tests)/")
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

# forebay_add_wing_folders(NAME): that folder of each wing that is built and has a CMakeLists.txt in it: `api`, its C
# interface, which without MPI may add nothing; `tests`, its tests and fuzz targets, which have the functions and programs
# of tests/ to use.
function(forebay_add_wing_folders name)
  foreach(wing IN LISTS FOREBAY_WINGS)
    if(EXISTS ${PROJECT_SOURCE_DIR}/src/wings/${wing}/${name}/CMakeLists.txt)
      add_subdirectory(${PROJECT_SOURCE_DIR}/src/wings/${wing}/${name})
    endif()
  endforeach()
endfunction()
