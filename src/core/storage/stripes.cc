#include "storage/stripes.h"

#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "storage/file_system.h"

namespace forebay {

namespace {

constexpr Count kib = 1024, gib = kib * kib * kib;

bool may_be_unit(Count bytes) { return bytes >= 64 * kib && bytes <= gib && bytes % 4096 == 0; }

// The beginning of both versions.
struct LustreLayout {
  std::uint32_t magic, pattern;
  std::uint64_t object[2];
  std::uint32_t stripe_size;
  std::uint16_t stripe_count, generation;
};
static_assert(sizeof(LustreLayout) == 32);

constexpr std::array<std::uint32_t, 2> lustre_magics{0x0bd10bd0, 0x0bd30bd0};

// Lustre is here for files without a known layout.
constexpr std::array kinds_with_blocks{file_system::gpfs, file_system::beegfs, file_system::lustre,
                                       file_system::nfs,  file_system::smb,    file_system::smb2};

}  // namespace

Stripes lustre_stripes(std::span<const std::byte> attribute) {
  LustreLayout layout;
  if (attribute.size() < sizeof layout) return {};
  std::memcpy(&layout, attribute.data(), sizeof layout);
  const bool known =
      std::find(lustre_magics.begin(), lustre_magics.end(), layout.magic) != lustre_magics.end();
  if (!known || !may_be_unit(layout.stripe_size)) return {};
  constexpr std::uint16_t all_servers = 0xffff;
  return {layout.stripe_size, layout.stripe_count == all_servers ? 0 : layout.stripe_count};
}

Stripes stripes_of_kind(long kind, Count best) {
  const auto bits = static_cast<std::uint32_t>(kind);
  const bool has_blocks = std::find(kinds_with_blocks.begin(), kinds_with_blocks.end(), bits) !=
                          kinds_with_blocks.end();
  return has_blocks && may_be_unit(best) ? Stripes{best, 0} : Stripes{};
}

Stripes stripes_of(int fd, const char* attribute) {
  std::array<std::byte, 4096> layout;
  const ssize_t n = ::fgetxattr(fd, attribute, layout.data(), layout.size());
  if (n > 0) {
    const Stripes told = lustre_stripes(std::span(layout).first(static_cast<std::size_t>(n)));
    if (told.unit > 0) return told;
  }
  struct statfs system {};
  struct stat file {};
  if (::fstatfs(fd, &system) != 0 || ::fstat(fd, &file) != 0) return {};
  return stripes_of_kind(static_cast<long>(system.f_type), file.st_blksize);
}

}  // namespace forebay
