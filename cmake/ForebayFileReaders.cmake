# The readers of src/tools (source.h): of classic files, and of netCDF-4 and other HDF5 files where HDF5 was found.
# What the forebay command and the Python package have in common, without what only the command needs (CLI11, libpng).

include_guard(GLOBAL)
include(ForebayHdf5Tools)

set(FOREBAY_READER_SOURCES ${PROJECT_SOURCE_DIR}/src/tools/source.cc ${PROJECT_SOURCE_DIR}/src/tools/text_table.cc)
if(TARGET forebay_hdf5_tools)
  file(GLOB hdf5_readers CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/tools/hdf5_*.cc)
  # hdf5_copy, hdf5_output and what they need write files, hdf5_log_report tells of them: that is the command's.
  list(FILTER hdf5_readers EXCLUDE
       REGEX "/hdf5_(absent|log_report|output|references|storage|[a-z_]*copy|[a-z_]*_test)\\.cc$")
  list(APPEND FOREBAY_READER_SOURCES ${hdf5_readers})
endif()

add_library(forebay_file_readers OBJECT ${FOREBAY_READER_SOURCES})
target_link_libraries(forebay_file_readers PUBLIC forebay_core)
if(TARGET forebay_hdf5_tools)
  target_link_libraries(forebay_file_readers PUBLIC forebay_hdf5_tools)
endif()
target_compile_options(forebay_file_readers PRIVATE -Wall -Wextra)
