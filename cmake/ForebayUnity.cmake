# forebay_unity(LIST NAME [ALONE source ...]): replaces the C++ sources of a list by a few generated ones that include
# them, those of one folder together, since four fifths of the time of a source alone go to headers. NAME is a word for
# the generated files. Those named behind ALONE, and sources in other languages, stay as they are.
#
# -DFOREBAY_UNITY=OFF compiles each source by itself: quicker while one of them is changed, and lint does so. Names in
# unnamed namespaces are therefore unique in a folder, no source but those of C interfaces has a `using namespace` outside of a function, and what is
# a test's own is in a namespace that is called as its file.
#
# (CMake's own unity builds name sources by absolute paths, so that no two trees could share objects by ccache.)

include_guard(GLOBAL)

option(FOREBAY_UNITY "Compile the sources of a folder together" ON)
set(FOREBAY_UNITY_SIZE 12 CACHE STRING "How many sources are compiled together at most")

function(forebay_unity list name)
  cmake_parse_arguments(ARG "" "" "ALONE" ${ARGN})
  if(NOT FOREBAY_UNITY)
    return()
  endif()
  set(result "")
  set(folders "")
  foreach(source IN LISTS ${list})
    if(source IN_LIST ARG_ALONE OR NOT source MATCHES "\\.cc$")
      list(APPEND result ${source})
      continue()
    endif()
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND sources_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  set(output ${CMAKE_BINARY_DIR}/generated/unity)
  foreach(folder IN LISTS folders)
    list(LENGTH sources_${folder} count)
    math(EXPR batches "(${count} + ${FOREBAY_UNITY_SIZE} - 1) / ${FOREBAY_UNITY_SIZE}")
    set(index 0)
    foreach(source IN LISTS sources_${folder})
      math(EXPR batch "${index} * ${batches} / ${count}")
      file(RELATIVE_PATH path ${output} ${source})
      string(APPEND text_${batch} "#include \"${path}\"\n")
      math(EXPR index "${index} + 1")
    endforeach()
    math(EXPR last "${batches} - 1")
    foreach(batch RANGE ${last})
      set(file ${output}/${name}_${folder}_${batch}.cc)
      file(CONFIGURE OUTPUT ${file} CONTENT "${text_${batch}}" @ONLY)
      set(text_${batch} "")
      list(APPEND result ${file})
    endforeach()
  endforeach()
  set(${list} ${result} PARENT_SCOPE)
endfunction()
