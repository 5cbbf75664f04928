# ADIOS 1, the system of the paper, where it is installed (./dev bench groups sees to that): whether, in
# FOREBAY_ADIOS1_FOUND, and what links a target with it. Debian's is Open MPI's, and its pkg-config file names folders
# that there are not, but all libraries that the static one needs.
find_package(PkgConfig)
find_library(FOREBAY_ADIOS1_LIBRARY adios PATH_SUFFIXES adios/openmpi)
if(PKG_CONFIG_FOUND AND FOREBAY_ADIOS1_LIBRARY AND "${MPI_C_LIBRARIES} ${MPI_CXX_LIBRARIES}" MATCHES "openmpi")
  pkg_check_modules(FOREBAY_ADIOS1 QUIET adios-openmpi)
endif()

function(forebay_link_adios1 target)
  set(libraries ${FOREBAY_ADIOS1_LIBRARIES})
  list(REMOVE_ITEM libraries adios)
  list(TRANSFORM FOREBAY_ADIOS1_LIBRARY_DIRS PREPEND -L OUTPUT_VARIABLE folders)
  target_link_libraries(${target} PRIVATE ${FOREBAY_ADIOS1_LIBRARY} ${folders} ${libraries})
endfunction()
