# What `cmake --install` puts where:
#
#   lib/libforebay.so  include/  lib/pkgconfig/forebay.pc  lib/cmake/forebay/    the library
#   compat/{include/{pnetcdf.h, pnetcdf.inc, pnetcdf.mod}, lib/libpnetcdf.so, lib/pkgconfig/pnetcdf.pc,
#           bin/pnetcdf-config}                                                  what a build for PnetCDF looks for
#
# The programs install themselves where they are defined.

include_guard(GLOBAL)
include(CMakePackageConfigHelpers)

set(FOREBAY_COMPAT_DIR "compat" CACHE STRING "Folder, below the prefix, of what resolves -lpnetcdf to Forebay")
set(FOREBAY_PNETCDF_VERSION "1.12.3")  # the PnetCDF whose interface this is

install(TARGETS forebay EXPORT forebay-targets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} NAMELINK_COMPONENT Development)
install(FILES ${FOREBAY_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/forebay)
install(EXPORT forebay-targets NAMESPACE forebay:: DESTINATION ${package_dir})
configure_package_config_file(packaging/forebay-config.cmake.in packaging/forebay-config.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/packaging/forebay-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/packaging/forebay-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/packaging/forebay-config-version.cmake
  DESTINATION ${package_dir})

# The tree may be moved: the .pc files find their prefix from where they lie.
file(RELATIVE_PATH forebay_pc_to_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" forebay_pc_to_prefix "${forebay_pc_to_prefix}")
set(forebay_pc_more_cflags "")
set(forebay_pc_more_libs "")
if(FOREBAY_MPI)
  set(forebay_pc_more_cflags " -I\${prefix}/${FOREBAY_COMPAT_DIR}/include")
  # The headers include mpi.h: a compiler that is not MPI's own finds it, and the library that programs call, by these.
  foreach(folder ${MPI_C_INCLUDE_DIRS})
    string(APPEND forebay_pc_more_cflags " -I${folder}")
  endforeach()
  foreach(library ${MPI_C_LIBRARIES})
    string(APPEND forebay_pc_more_libs " ${library}")
  endforeach()
endif()
configure_file(packaging/forebay.pc.in packaging/forebay.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/packaging/forebay.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(FOREBAY_MPI)
  target_include_directories(forebay INTERFACE $<INSTALL_INTERFACE:${FOREBAY_COMPAT_DIR}/include>)
  set(generated ${CMAKE_BINARY_DIR}/generated)
  install(FILES ${generated}/include/pnetcdf.h ${generated}/include/pnetcdf.inc DESTINATION ${FOREBAY_COMPAT_DIR}/include)
  install(FILES ${generated}/pnetcdf/pnetcdf.F90 DESTINATION ${CMAKE_INSTALL_DATADIR}/forebay)
  if(TARGET forebay_pnetcdf_module)
    install(FILES $<TARGET_PROPERTY:forebay_pnetcdf_module,Fortran_MODULE_DIRECTORY>/pnetcdf.mod
      DESTINATION ${FOREBAY_COMPAT_DIR}/include)
  endif()

  # libpnetcdf.so.0d is the name that Debian's programs ask for, .so.4 to .so.8 those of PnetCDF's own builds (1.12 to
  # 1.15); libforebay.so.0 is there so that this one folder on the library path is enough.
  set(links ${CMAKE_CURRENT_BINARY_DIR}/packaging/compat)
  file(MAKE_DIRECTORY ${links})
  file(RELATIVE_PATH to_libdir /${FOREBAY_COMPAT_DIR}/lib /${CMAKE_INSTALL_LIBDIR})
  foreach(name libpnetcdf.so libpnetcdf.so.0d libpnetcdf.so.4 libpnetcdf.so.5 libpnetcdf.so.6 libpnetcdf.so.7
          libpnetcdf.so.8 libforebay.so.0)
    file(CREATE_LINK ${to_libdir}/libforebay.so.0 ${links}/${name} SYMBOLIC)
    install(FILES ${links}/${name} DESTINATION ${FOREBAY_COMPAT_DIR}/lib)
  endforeach()

  configure_file(packaging/pnetcdf.pc.in packaging/pnetcdf.pc @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/packaging/pnetcdf.pc DESTINATION ${FOREBAY_COMPAT_DIR}/lib/pkgconfig)
  # What pnetcdf-config says of build options comes from the table that the header's macros come from.
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} -B src/api/pnetcdf/generate.py features
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE FOREBAY_PNETCDF_FEATURES
    OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS src/api/pnetcdf/table.py)
  string(REGEX MATCHALL "--[a-z0-9+-]+" FOREBAY_PNETCDF_OPTIONS "${FOREBAY_PNETCDF_FEATURES}")
  list(JOIN FOREBAY_PNETCDF_OPTIONS " " FOREBAY_PNETCDF_OPTIONS)
  configure_file(packaging/pnetcdf-config.in packaging/pnetcdf-config @ONLY)
  install(PROGRAMS ${CMAKE_CURRENT_BINARY_DIR}/packaging/pnetcdf-config DESTINATION ${FOREBAY_COMPAT_DIR}/bin)
endif()
