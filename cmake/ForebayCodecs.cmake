# The libraries of the codecs (src/core/codec): libdeflate, zstd and zfp are needed; SZ3's headers are used where they are.
#
# Sets FOREBAY_CODEC_LINKS to the targets to link. All are private to the library: what links Forebay needs none of them.

include_guard(GLOBAL)

pkg_check_modules(LIBDEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)

# zfp's own package file asks for an OpenMP compiler, which its serial interface does not need.
find_path(ZFP_INCLUDE_DIR zfp.h HINTS $ENV{ZFP_ROOT} ${ZFP_ROOT} PATH_SUFFIXES include)
find_library(ZFP_LIBRARY zfp HINTS $ENV{ZFP_ROOT} ${ZFP_ROOT} PATH_SUFFIXES lib lib64)
if(NOT ZFP_INCLUDE_DIR OR NOT ZFP_LIBRARY)
  message(FATAL_ERROR "zfp was not found: install libzfp-dev, or name its prefix with -DZFP_ROOT=DIRECTORY")
endif()
add_library(forebay_zfp INTERFACE IMPORTED)
target_link_libraries(forebay_zfp INTERFACE ${ZFP_LIBRARY})
target_include_directories(forebay_zfp INTERFACE ${ZFP_INCLUDE_DIR})

set(FOREBAY_CODEC_LINKS PkgConfig::LIBDEFLATE PkgConfig::ZSTD forebay_zfp)
# Blocks that adios2's operator bzip2 made; sources look for its header.
find_package(BZip2)
if(BZIP2_FOUND)
  list(APPEND FOREBAY_CODEC_LINKS BZip2::BZip2)
endif()

# SZ3 3.1 (later versions have other headers): SZ3_ROOT is a prefix or a folder that holds SZ3/, as an option or in the
# environment. Only sz3.cc sees it.
find_path(FOREBAY_SZ3_INCLUDE SZ3/frontend/SZGeneralFrontend.hpp HINTS ${SZ3_ROOT} $ENV{SZ3_ROOT} PATH_SUFFIXES include)
mark_as_advanced(FOREBAY_SZ3_INCLUDE ZFP_INCLUDE_DIR ZFP_LIBRARY)
# Decoding must predict just what encoding predicted, on other machines too: no fused multiply-add.
set(sz3_options -ffp-contract=off)
if(FOREBAY_SZ3_INCLUDE)
  list(APPEND sz3_options -DFOREBAY_SZ3=1 -isystem ${FOREBAY_SZ3_INCLUDE})
  message(STATUS "SZ3: ${FOREBAY_SZ3_INCLUDE}")
else()
  message(STATUS "SZ3: not found (-DSZ3_ROOT=DIRECTORY); the codec sz3 will be missing")
endif()
set_source_files_properties(src/core/codec/sz3.cc PROPERTIES COMPILE_OPTIONS "${sz3_options}" SKIP_PRECOMPILE_HEADERS ON)
