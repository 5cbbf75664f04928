#include "base/joined_file.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace forebay {

void throw_short(const ByteFile& file, Offset end) {
  throw Error(
      Errc::etrunc,
      file.path() + " ends before byte " + std::to_string(end) + ", where the index has values",
      "copy the file again, with all that is in its folder");
}

void JoinedFile::set_sizes(std::span<const Count> sizes) {
  std::vector<Offset> begins;
  begins.reserve(sizes.size() + 1);
  Offset end = 0;
  begins.push_back(end);
  for (const Count size : sizes) {
    if (size > std::numeric_limits<Offset>::max() - 2 * unit - end)
      throw Error(Errc::eintoverflow, path_ + ": its files have more than 2^63 bytes together",
                  "read in parts");
    begins.push_back(end += round_up(size, unit));
  }
  sizes_.assign(sizes.begin(), sizes.end());
  begins_ = std::move(begins);
}

std::size_t JoinedFile::read_at(Offset offset, std::span<std::byte> into) {
  const auto wanted = std::clamp<Count>(size() - offset, 0, std::ssize(into));
  into = into.first(static_cast<std::size_t>(wanted));
  for (auto left = into; !left.empty();) {
    const auto next = std::upper_bound(begins_.begin(), begins_.end(), offset);
    const auto number = static_cast<std::size_t>(next - begins_.begin() - 1);
    const Offset at = offset - begins_[number];
    const auto here =
        left.first(static_cast<std::size_t>(std::min<Count>(*next - offset, std::ssize(left))));
    const auto own =
        static_cast<std::size_t>(std::clamp<Count>(sizes_[number] - at, 0, std::ssize(here)));
    if (own > 0) {
      ByteFile& file = open_(static_cast<std::uint32_t>(number));
      if (file.read_at(at, here.first(own)) < own) throw_short(file, at + static_cast<Offset>(own));
    }
    std::memset(here.data() + own, 0, here.size() - own);
    offset += std::ssize(here);
    left = left.subspan(here.size());
  }
  return into.size();
}

void JoinedFile::write_at(Offset, std::span<iovec>) {
  throw Error(Errc::eperm, path_ + " is read only", "");
}

void JoinedFile::truncate(Offset) { throw Error(Errc::eperm, path_ + " is read only", ""); }

}  // namespace forebay
