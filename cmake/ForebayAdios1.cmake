# ADIOS 1, the system of the paper, where it is installed (./dev bench groups sees to that): whether, in
# FOREBAY_ADIOS1_FOUND, and what links a target with it. Debian's is Open MPI's, and its pkg-config file names folders
# that there are not, but all libraries that the static one needs. Its package does not bring those along: one link tells
# whether they are there.
include(CheckCSourceCompiles)
find_package(PkgConfig)
find_library(FOREBAY_ADIOS1_LIBRARY adios PATH_SUFFIXES adios/openmpi)
if(PKG_CONFIG_FOUND AND FOREBAY_ADIOS1_LIBRARY AND "${MPI_C_LIBRARIES} ${MPI_CXX_LIBRARIES}" MATCHES "openmpi")
  pkg_check_modules(FOREBAY_ADIOS1 QUIET adios-openmpi)
endif()
if(FOREBAY_ADIOS1_FOUND)
  set(forebay_adios1_links ${FOREBAY_ADIOS1_LIBRARIES})
  list(REMOVE_ITEM forebay_adios1_links adios)
  list(TRANSFORM FOREBAY_ADIOS1_LIBRARY_DIRS PREPEND -L OUTPUT_VARIABLE forebay_adios1_folders)
  list(PREPEND forebay_adios1_links ${FOREBAY_ADIOS1_LIBRARY} ${forebay_adios1_folders})
  set(CMAKE_REQUIRED_LIBRARIES ${forebay_adios1_links} MPI::MPI_C)
  check_c_source_compiles("int adios_finalize(int); int main(void) { return adios_finalize(0); }" FOREBAY_ADIOS1_LINKS)
  unset(CMAKE_REQUIRED_LIBRARIES)
  if(NOT FOREBAY_ADIOS1_LINKS)
    message(STATUS "ADIOS 1 is left out: libraries that it needs are missing (./dev bench groups installs them)")
    set(FOREBAY_ADIOS1_FOUND 0)
    unset(FOREBAY_ADIOS1_LINKS CACHE)  # they may come
  endif()
endif()

function(forebay_link_adios1 target)
  target_link_libraries(${target} PRIVATE ${forebay_adios1_links})
endfunction()
