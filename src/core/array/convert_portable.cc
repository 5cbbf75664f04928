// The conversion loops, for whatever instruction set the library is built for.
#include "array/convert_kernels.h"

namespace forebay::convert_detail {
namespace {

template <Direction direction, typename Src, typename Dst>
struct Portable {
  static bool run(std::byte* dst, const std::byte* src, std::int64_t n, const std::byte* fill) {
    return convert_array<direction, Src, Dst>(dst, src, n, fill);
  }
};

}  // namespace

constinit const Kernels portable_kernels = make_kernels<Portable>();

}  // namespace forebay::convert_detail
