// The conversion loops, for x86-64 processors with AVX2.
#include "array/convert_kernels.h"

#if FOREBAY_HAVE_AVX2_KERNELS

namespace forebay::convert_detail {
namespace {

template <Direction direction, typename Src, typename Dst>
struct Avx2 {
  __attribute__((target("avx2"))) static bool run(std::byte* dst, const std::byte* src,
                                                  std::int64_t n, const std::byte* fill) {
    return convert_array<direction, Src, Dst>(dst, src, n, fill);
  }
};

}  // namespace

constinit const Kernels avx2_kernels = make_kernels<Avx2>();

}  // namespace forebay::convert_detail

#endif
