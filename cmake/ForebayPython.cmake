# The Python package (python/): its extension module _forebay, over the serial reader and Dataset, and, where HDF5 was
# found, _hdf5, over the readers of src/files. They are two so that HDF5, with the thirty libraries that it brings along,
# is loaded with the first file that needs it, not with the package.
#
# `pip install .` configures with FOREBAY_PYTHON=ON through scikit-build-core, which puts what belongs to the component
# `python` into the wheel: the extension beside the package's sources, the forebay command among the scripts.

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
nanobind_add_module(_forebay NB_STATIC NOMINSIZE ${python_sources})
target_link_libraries(_forebay PRIVATE forebay_files)
set(python_modules _forebay)
if(TARGET forebay_hdf5_tools)
  nanobind_add_module(_hdf5 NB_STATIC NOMINSIZE ${python_src}/hdf5.cc ${python_src}/errors.cc ${python_src}/support.cc)
  target_link_libraries(_hdf5 PRIVATE forebay_hdf5_files)
  add_dependencies(_forebay _hdf5)  # so that a build of the one is a build of the package
  target_compile_definitions(_forebay PRIVATE FOREBAY_PYTHON_HDF5=1)
  list(APPEND python_modules _hdf5)
endif()
foreach(module IN LISTS python_modules)
  target_compile_options(${module} PRIVATE -Wall -Wextra)
  set_target_properties(${module} PROPERTIES INSTALL_RPATH "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python)
endforeach()

install(TARGETS ${python_modules} LIBRARY DESTINATION forebay COMPONENT python)
if(SKBUILD)
  install(TARGETS forebay_tool RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
endif()
