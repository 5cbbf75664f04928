# The Python package (python/): its extension module _forebay, over the serial reader and Dataset, and, where HDF5 was
# found, _hdf5, over the readers of src/core/files and the wings. They are two so that HDF5, with the thirty libraries that it brings along,
# is loaded with the first file that needs it, not with the package.
#
# `pip install .` configures with FOREBAY_PYTHON=ON through scikit-build-core, which puts what belongs to the component
# `python` into the wheel: the extension beside the package's sources, the forebay command among the scripts.
# Without it the whole package stands in lib/forebay/python, and lib/forebay/python3, for `forebay plot`, runs a Python with it.

include_guard(GLOBAL)

find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
if(NOT nanobind_ROOT)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
find_package(nanobind CONFIG)
if(NOT nanobind_FOUND)
  message(FATAL_ERROR "nanobind was not found: ${Python_EXECUTABLE} -m pip install nanobind, or -DFOREBAY_PYTHON=OFF")
endif()

set(python_src ${PROJECT_SOURCE_DIR}/python/src)
file(GLOB python_sources CONFIGURE_DEPENDS ${python_src}/*.cc)
list(FILTER python_sources EXCLUDE REGEX "/hdf5[a-z_]*\\.cc$")
set(sources_of_burst staged)
set(sources_of_checkpoints checkpoints)
set(sources_of_groups groups)
foreach(wing IN LISTS FOREBAY_ABSENT_WINGS)
  list(REMOVE_ITEM python_sources ${python_src}/${sources_of_${wing}}.cc)
endforeach()
nanobind_add_module(_forebay NB_STATIC NOMINSIZE ${python_sources})
foreach(wing bundles burst checkpoints groups patches)
  if(wing IN_LIST FOREBAY_WINGS)
    string(TOUPPER ${wing} name)
    target_compile_definitions(_forebay PRIVATE FOREBAY_PYTHON_${name}=1)
  endif()
endforeach()
target_link_libraries(_forebay PRIVATE forebay_files)
set(python_modules _forebay)
if(TARGET forebay_hdf5_tools)
  nanobind_add_module(_hdf5 NB_STATIC NOMINSIZE ${python_src}/hdf5.cc ${python_src}/errors.cc ${python_src}/support.cc)
  target_link_libraries(_hdf5 PRIVATE forebay_all_files)
  add_dependencies(_forebay _hdf5)  # so that a build of the one is a build of the package
  target_compile_definitions(_forebay PRIVATE FOREBAY_PYTHON_HDF5=1)
  list(APPEND python_modules _hdf5)
endif()
if(TARGET forebay_netcdf4)
  add_dependencies(_forebay forebay_netcdf4)
endif()
set(companions "")  # which plug-ins and modules start
foreach(companion forebay_netcdf4_reader forebay_hdf5_reader)
  if(TARGET ${companion})
    add_dependencies(_forebay ${companion})
    list(APPEND companions ${companion})
  endif()
endforeach()
if(SKBUILD)
  set(package_destination forebay)
  set(library_folder "")  # beside the modules
else()
  set(library_folder $ORIGIN/../../../../${CMAKE_INSTALL_LIBDIR})
  set(package_destination lib/forebay/python/forebay)
  file(GLOB_RECURSE package_files CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python
       ${PROJECT_SOURCE_DIR}/python/forebay/*.py)
  set(package_copies "")
  foreach(file IN LISTS package_files)
    set(copy ${CMAKE_BINARY_DIR}/lib/forebay/python/${file})
    add_custom_command(OUTPUT ${copy} DEPENDS ${PROJECT_SOURCE_DIR}/python/${file}
                       COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_SOURCE_DIR}/python/${file} ${copy} VERBATIM)
    list(APPEND package_copies ${copy})
  endforeach()
  add_custom_target(forebay_python_package DEPENDS ${package_copies})
  add_dependencies(_forebay forebay_python_package)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/python3.in ${CMAKE_BINARY_DIR}/lib/forebay/python3 @ONLY
                 FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  install(PROGRAMS ${CMAKE_BINARY_DIR}/lib/forebay/python3 DESTINATION lib/forebay COMPONENT python)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/python/forebay DESTINATION lib/forebay/python COMPONENT python
          FILES_MATCHING PATTERN "*.py" PATTERN __pycache__ EXCLUDE)
endif()
foreach(module IN LISTS python_modules)
  target_compile_options(${module} PRIVATE -Wall -Wextra)
  set_target_properties(${module} PROPERTIES INSTALL_RPATH "${library_folder}"
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${package_destination})
endforeach()

install(TARGETS ${python_modules} LIBRARY DESTINATION ${package_destination} COMPONENT python)
if(SKBUILD)
  foreach(companion IN LISTS companions)
    install(PROGRAMS $<TARGET_FILE:${companion}> DESTINATION ${package_destination} COMPONENT python)
  endforeach()
  install(TARGETS forebay_tool RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
  if(TARGET forebay_netcdf4)
    install(TARGETS forebay_netcdf4 LIBRARY DESTINATION ${package_destination} COMPONENT python)
    set(packages $ORIGIN/../lib/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR})
    set_target_properties(forebay_tool PROPERTIES INSTALL_RPATH "${packages}/site-packages/forebay;${packages}/dist-packages/forebay")
  endif()
endif()
