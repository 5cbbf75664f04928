# forebay_precompile(TARGET [HEADER ...]): in builds whose objects no other build can share through a compiler cache, with
# a sanitizer or without a cache (pip install), headers that most sources include are read once for a target: the C++
# library's, fmt's, and those named. All other builds compile a source with what it includes itself, so one that includes
# too little fails there.

include_guard(GLOBAL)

set(forebay_common_headers <algorithm> <array> <atomic> <cmath> <cstdint> <cstdlib> <cstring> <functional> <limits> <map>
    <memory> <mutex> <numeric> <optional> <set> <span> <string> <string_view> <type_traits> <unordered_map> <utility>
    <variant> <vector> <fmt/format.h>)

function(forebay_precompile target)
  # -fpch-preprocess is what ccache asks of GCC; clang's precompiled headers would need more.
  if((FOREBAY_SANITIZE OR FOREBAY_SANITIZE_THREADS OR NOT CMAKE_CXX_COMPILER_LAUNCHER) AND
     CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>" OUTPUT_VARIABLE more)
    target_precompile_headers(${target} PRIVATE ${forebay_common_headers} ${more})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
  endif()
endfunction()
