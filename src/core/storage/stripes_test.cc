#include "storage/stripes.h"

#include <gtest/gtest.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "storage/file.h"

namespace forebay {
namespace stripes_test {

constexpr std::uint32_t version_1 = 0x0bd10bd0, version_3 = 0x0bd30bd0, composite = 0x0bd60bd0;

// Lustre's layout has magic, pattern, object, stripe size, stripe count, generation, objects.
std::vector<std::byte> layout(std::uint32_t magic, std::uint32_t size, std::uint16_t count) {
  std::vector<std::byte> bytes(64);
  std::memcpy(&bytes[0], &magic, sizeof magic);
  std::memcpy(&bytes[24], &size, sizeof size);
  std::memcpy(&bytes[28], &count, sizeof count);
  return bytes;
}

TEST(Stripes, are_those_of_lustre) {
  for (const std::uint32_t magic : {version_1, version_3}) {
    const Stripes stripes = lustre_stripes(layout(magic, 4 << 20, 12));
    EXPECT_EQ(stripes.unit, 4 << 20);
    EXPECT_EQ(stripes.count, 12);
    EXPECT_EQ(lustre_stripes(layout(magic, 1 << 20, 0xffff)).count, 0);  // all servers
    EXPECT_EQ(lustre_stripes(layout(magic, 0, 1)).unit, 0);
    EXPECT_EQ(lustre_stripes(layout(magic, 100'000, 1)).unit, 0);
    EXPECT_EQ(lustre_stripes(layout(magic, 0xffff0000, 1)).unit, 0);
    const auto whole = layout(magic, 4 << 20, 12);
    EXPECT_EQ(lustre_stripes(std::span(whole).first(31)).unit, 0);
  }
  EXPECT_EQ(lustre_stripes(layout(composite, 4 << 20, 12)).unit, 0);
  EXPECT_EQ(lustre_stripes({}).unit, 0);
}

TEST(Stripes, are_blocks_where_servers_have_them) {
  EXPECT_EQ(stripes_of_kind(0x47504653, 8 << 20).unit, 8 << 20);  // GPFS
  EXPECT_EQ(stripes_of_kind(0x6969, 1 << 20).unit, 1 << 20);      // NFS
  EXPECT_EQ(stripes_of_kind(0x6969, 4096).unit, 0);
  EXPECT_EQ(stripes_of_kind(static_cast<int>(0xff534d42), 1 << 20).unit, 1 << 20);
  EXPECT_EQ(stripes_of_kind(0xef53, 1 << 20).unit, 0);  // ext4
  EXPECT_EQ(stripes_of_kind(0x01021994, 2 << 20).unit, 0);
}

TEST(Stripes, are_asked_of_the_file) {
  const std::string path = "forebay_stripes_" + std::to_string(::getpid());
  Report report;
  File file(path, true, 0, report);
  file.create(true);
  EXPECT_EQ(stripes_of(file.descriptor()).unit, 0);
  const auto bytes = layout(version_3, 2 << 20, 3);
  const bool kept = ::setxattr(path.c_str(), "user.lov", bytes.data(), bytes.size(), 0) == 0;
  const int error = errno;
  const Stripes stripes = stripes_of(file.descriptor(), "user.lov");
  std::filesystem::remove(path);
  EXPECT_EQ(stripes_of(-1).unit, 0);
  if (!kept && error == ENOTSUP) GTEST_SKIP() << "no attributes here";
  EXPECT_EQ(stripes.unit, 2 << 20);
  EXPECT_EQ(stripes.count, 3);
}

}  // namespace stripes_test
}  // namespace forebay
