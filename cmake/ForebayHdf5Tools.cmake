# The HDF5 of the forebay command, which reads and writes netCDF-4 files with it: a serial one, 1.10 or later.
#
#   FOREBAY_HDF5_TOOLS        AUTO (use it where it is), ON (it must be there), OFF
#   FOREBAY_HDF5_TOOLS_ROOT   a prefix to use instead of the system's; the one way to a parallel HDF5
#
# Defines the target forebay_hdf5_tools where HDF5 was found. Its names in the cache are its own: a parallel HDF5 for
# another part of the build stays apart.

include_guard(GLOBAL)

set(FOREBAY_HDF5_TOOLS AUTO CACHE STRING "HDF5 in the forebay command: AUTO, ON or OFF")
set_property(CACHE FOREBAY_HDF5_TOOLS PROPERTY STRINGS AUTO ON OFF)
set(FOREBAY_HDF5_TOOLS_ROOT "" CACHE PATH "Prefix of the HDF5 that the forebay command uses")
if(NOT FOREBAY_HDF5_TOOLS)
  message(STATUS "HDF5 of the tools: not wanted")
  return()
endif()

set(hdf5_hints)
if(NOT FOREBAY_HDF5_TOOLS_ROOT)
  pkg_check_modules(PC_HDF5_TOOLS QUIET hdf5-serial)
  if(NOT PC_HDF5_TOOLS_FOUND)
    pkg_check_modules(PC_HDF5_TOOLS QUIET hdf5)
  endif()
  set(hdf5_hints ${PC_HDF5_TOOLS_INCLUDE_DIRS} ${PC_HDF5_TOOLS_LIBRARY_DIRS})
  find_path(FOREBAY_HDF5_TOOLS_INCLUDE hdf5.h HINTS ${hdf5_hints} PATH_SUFFIXES hdf5/serial)
  find_library(FOREBAY_HDF5_TOOLS_LIBRARY NAMES hdf5_serial hdf5 HINTS ${hdf5_hints})
  find_library(FOREBAY_HDF5_TOOLS_HL NAMES hdf5_serial_hl hdf5_hl HINTS ${hdf5_hints})
else()
  find_path(FOREBAY_HDF5_TOOLS_INCLUDE hdf5.h PATHS ${FOREBAY_HDF5_TOOLS_ROOT}/include NO_DEFAULT_PATH)
  find_library(FOREBAY_HDF5_TOOLS_LIBRARY hdf5 PATHS ${FOREBAY_HDF5_TOOLS_ROOT}
               PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
  find_library(FOREBAY_HDF5_TOOLS_HL hdf5_hl PATHS ${FOREBAY_HDF5_TOOLS_ROOT}
               PATH_SUFFIXES lib lib64 NO_DEFAULT_PATH)
endif()
mark_as_advanced(FOREBAY_HDF5_TOOLS_INCLUDE FOREBAY_HDF5_TOOLS_LIBRARY FOREBAY_HDF5_TOOLS_HL)

set(hdf5_version "")
set(hdf5_parallel FALSE)
if(FOREBAY_HDF5_TOOLS_INCLUDE AND FOREBAY_HDF5_TOOLS_LIBRARY AND FOREBAY_HDF5_TOOLS_HL)
  file(GLOB hdf5_headers ${FOREBAY_HDF5_TOOLS_INCLUDE}/H5public.h ${FOREBAY_HDF5_TOOLS_INCLUDE}/H5pubconf*.h)
  foreach(header IN LISTS hdf5_headers)
    file(STRINGS ${header} lines REGEX "define +H5_(VERS_(MAJOR|MINOR|RELEASE)|HAVE_PARALLEL) ")
    foreach(line IN LISTS lines)
      if(line MATCHES "H5_VERS_(MAJOR|MINOR|RELEASE) +([0-9]+)")
        set(hdf5_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
      elseif(line MATCHES "H5_HAVE_PARALLEL +1")
        set(hdf5_parallel TRUE)
      endif()
    endforeach()
  endforeach()
  set(hdf5_version "${hdf5_MAJOR}.${hdf5_MINOR}.${hdf5_RELEASE}")
endif()

set(hdf5_fault "")
if(NOT hdf5_version)
  set(hdf5_fault "not found (libhdf5-dev, or -DFOREBAY_HDF5_TOOLS_ROOT=DIRECTORY)")
elseif(hdf5_version VERSION_LESS 1.10)
  set(hdf5_fault "${hdf5_version} is older than 1.10")
elseif(hdf5_parallel AND NOT FOREBAY_MPI)
  set(hdf5_fault "the one found is parallel, and this build has no MPI")
elseif(hdf5_parallel AND NOT FOREBAY_HDF5_TOOLS_ROOT)
  set(hdf5_fault "the one found is parallel; -DFOREBAY_HDF5_TOOLS_ROOT=DIRECTORY would use it all the same")
endif()
if(hdf5_fault)
  if(FOREBAY_HDF5_TOOLS STREQUAL AUTO)
    message(STATUS "HDF5 of the tools: ${hdf5_fault}; the command will not read netCDF-4 files")
  else()
    message(FATAL_ERROR "HDF5 of the tools: ${hdf5_fault}")
  endif()
  return()
endif()
message(STATUS "HDF5 of the tools: ${hdf5_version}, ${FOREBAY_HDF5_TOOLS_LIBRARY}")
add_library(forebay_hdf5_tools INTERFACE IMPORTED GLOBAL)  # known outside of src/core/files too
target_include_directories(forebay_hdf5_tools INTERFACE ${FOREBAY_HDF5_TOOLS_INCLUDE})
target_link_libraries(forebay_hdf5_tools INTERFACE ${FOREBAY_HDF5_TOOLS_HL} ${FOREBAY_HDF5_TOOLS_LIBRARY})
if(hdf5_parallel)
  target_link_libraries(forebay_hdf5_tools INTERFACE MPI::MPI_C)
endif()
