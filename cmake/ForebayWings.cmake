# What is built of wings. A wing is a folder of src/wings. Its folders `api`, `files`, `commands`, `generate`, `convert`,
# `connector` and `shared` go to the front ends, readers and tools; all others are part of the library.

include_guard(GLOBAL)

foreach(wing IN LISTS FOREBAY_WINGS)
  if(NOT wing IN_LIST FOREBAY_ALL_WINGS)
    list(JOIN FOREBAY_ALL_WINGS ", " all)
    message(FATAL_ERROR "FOREBAY_WINGS: there is no wing ${wing}; the wings are ${all}")
  endif()
endforeach()
# The core, or another wing, still names these (scripts/check_rooms.py lists where).
foreach(wing IN ITEMS decomposed burst groups)
  if(NOT wing IN_LIST FOREBAY_WINGS)
    message(FATAL_ERROR "FOREBAY_WINGS: ${wing} cannot be left out yet")
  endif()
endforeach()

# Whether all wings are built. The tests and benchmarks outside of src, and the examples, are of all of them; without one,
# the tests beside the sources are built alone.
set(FOREBAY_HAS_ALL_WINGS ON)
foreach(wing IN LISTS FOREBAY_ALL_WINGS)
  if(NOT wing IN_LIST FOREBAY_WINGS)
    set(FOREBAY_HAS_ALL_WINGS OFF)
  endif()
endforeach()

# forebay_wing_sources(KIND SOURCES TESTS): appends the sources and tests of all wings to two lists. KIND is `library`, or
# the name of a folder that wings may have.
function(forebay_wing_sources kind sources_list tests_list)
  set(found ${${sources_list}})
  set(found_tests ${${tests_list}})
  foreach(wing IN LISTS FOREBAY_WINGS)
    set(folder ${PROJECT_SOURCE_DIR}/src/wings/${wing})
    if(kind STREQUAL library)
      file(GLOB all CONFIGURE_DEPENDS ${folder}/*.cc ${folder}/*/*.cc)
      list(FILTER all EXCLUDE REGEX "/wings/[a-z0-9]+/(api|files|commands|generate|convert|connector|shared)/")
    else()
      file(GLOB all CONFIGURE_DEPENDS ${folder}/${kind}/*.cc)
    endif()
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
