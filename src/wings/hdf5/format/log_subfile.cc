#include "hdf5/format/log_subfile.h"

#include "base/hash.h"
#include "base/number_bytes.h"
#include "hdf5/format/log_section.h"

namespace forebay::logged {
namespace {

constexpr std::uint64_t subfile_magic = 0x4642535542465331;  // "FBSUBFS1"
constexpr std::size_t hashed_subfile_bytes = 24;

}  // namespace

// The front: magic u64 | version u32 | number u32 | session u64 | hash u64 | zeros.
std::vector<std::byte> print_subfile_front(const SubfileFront& front) {
  Printer out;
  out.fixed(subfile_magic);
  out.fixed(std::uint32_t{version});
  out.fixed(front.number);
  out.fixed(front.session);
  out.fixed(hash_of(std::span(out.bytes()).first(hashed_subfile_bytes)));
  out.bytes().resize(subfile_front_bytes);
  return std::move(out.bytes());
}

SubfileFront parse_subfile_front(std::span<const std::byte> bytes) {
  Parser in(bytes);
  SubfileFront front;
  if (in.fixed<std::uint64_t>() != subfile_magic) damaged("a subfile does not begin like one");
  check_version(in.fixed<std::uint32_t>(), version, "a subfile");
  front.number = in.fixed<std::uint32_t>();
  front.session = in.fixed<std::uint64_t>();
  if (in.fixed<std::uint64_t>() != hash_of(bytes.first(hashed_subfile_bytes)))
    damaged("the checksum of a subfile's beginning does not hold");
  return front;
}

}  // namespace forebay::logged
