#include "array/convert.h"

#include "array/convert_kernels.h"
#include "base/byteorder.h"

namespace forebay {
namespace {

using convert_detail::Kernel;
using convert_detail::KernelTable;

const convert_detail::Kernels& kernels() {
#if FOREBAY_HAVE_AVX2_KERNELS
  if (__builtin_cpu_supports("avx2")) return convert_detail::avx2_kernels;
#endif
  return convert_detail::portable_kernels;
}

void copy_same_type(Type type, std::byte* dst, const std::byte* src, std::int64_t n) {
  const int width = size_of(type);
  copy_swapped(dst, src, static_cast<std::size_t>(n) * static_cast<std::size_t>(width), width);
}

bool run(const KernelTable& table, Type ext, Type mem, std::byte* dst, const std::byte* src,
         std::int64_t n, Type result, const std::byte* fill) {
  const Kernel kernel = table[static_cast<std::size_t>(ext)][static_cast<std::size_t>(mem)];
  if (fill != nullptr) return kernel(dst, src, n, fill);
  std::byte standard[8];
  default_fill(result, standard);
  return kernel(dst, src, n, standard);
}

}  // namespace

bool to_external(Type ext, std::byte* dst, Type mem, const void* src, std::int64_t n,
                 const std::byte* fill) {
  const auto* from = static_cast<const std::byte*>(src);
  if (!is_plain_copy(ext, mem))
    return run(kernels().to_external, ext, mem, dst, from, n, ext, fill);
  copy_same_type(ext, dst, from, n);
  return false;
}

bool from_external(Type ext, const std::byte* src, Type mem, void* dst, std::int64_t n,
                   const void* fill_native) {
  auto* to = static_cast<std::byte*>(dst);
  if (!is_plain_copy(ext, mem))
    return run(kernels().from_external, ext, mem, to, src, n, mem,
               static_cast<const std::byte*>(fill_native));
  copy_same_type(ext, to, src, n);
  return false;
}

}  // namespace forebay
