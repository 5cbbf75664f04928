#include "hdf5/log/masked_signature.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "base/descriptor.h"
#include "base/hdf5_signature.h"

namespace forebay::logged {

// A superblock begins at 0, or at a power of two from 512 on.
std::optional<Offset> find_masked_signature(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return std::nullopt;
  std::array<char, hdf5_signature.size()> there;
  for (Offset place = 0;; place = place == 0 ? 512 : 2 * place) {
    if (::pread(file.get(), there.data(), there.size(), place) != std::ssize(there)) return {};
    const std::string_view found(there.data(), there.size());
    if (found == masked_signature) return place;
    if (found == hdf5_signature) return {};
  }
}

void restore_signature(const std::string& path, Offset place) noexcept {
  const Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) return;
  const auto written = ::pwrite(file.get(), hdf5_signature.data(), hdf5_signature.size(), place);
  (void)written;
}

}  // namespace forebay::logged
