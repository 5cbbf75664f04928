# The Python package (python/): its extension module _forebay, over the serial reader and Dataset.
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

file(GLOB python_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/src/*.cc)
nanobind_add_module(_forebay NB_STATIC NOMINSIZE ${python_sources})
target_link_libraries(_forebay PRIVATE forebay_core)
target_compile_options(_forebay PRIVATE -Wall -Wextra)
set_target_properties(_forebay PROPERTIES INSTALL_RPATH "" LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/python)

install(TARGETS _forebay LIBRARY DESTINATION forebay COMPONENT python)
if(SKBUILD)
  install(TARGETS forebay_tool RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)
endif()
