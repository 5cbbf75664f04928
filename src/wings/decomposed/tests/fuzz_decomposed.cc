// Fuzz target over what decomposed variables have beside a file: the parsers of sections, slots and
// inverse maps, and a whole data file with a section, whose index is loaded and patterns unpacked.
//
// The first byte chooses what the others are. Checksums are put right before, or nothing would get
// past them. Whatever the bytes are, all returns or throws forebay::Error; what is accepted prints
// to what reads back the same.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/memory_file_testing.h"
#include "decomposed/data_file.h"
#include "decomposed/format/decomposed_files.h"
#include "decomposed/format/inverse_map.h"
#include "layout/packed_pattern.h"
#include "must.h"

namespace {

using forebay::Error;
namespace decomposed = forebay::decomposed;
using Bytes = std::vector<std::byte>;

void sign(Bytes& bytes) {
  if (bytes.size() < 8) return;
  const auto front = std::span(bytes).first(bytes.size() - 8);
  forebay::store_be(bytes.data() + front.size(), forebay::hash_of(front));
}

void check_section(Bytes bytes) {
  constexpr forebay::Offset size = 1 << 20;
  sign(bytes);
  const auto section = decomposed::parse_section(bytes, size);
  const auto printed = decomposed::print_section(section);
  must(decomposed::print_section(decomposed::parse_section(printed, size)) == printed,
       "what is printed is read back");
}

void check_slots(Bytes bytes) {
  bytes.resize(static_cast<std::size_t>(decomposed::slot_bytes));
  sign(bytes);
  if (const auto state = decomposed::parse_state(bytes))
    must(decomposed::parse_state(decomposed::print_state(*state)) == state, "a state");
}

void check_root(Bytes bytes) {
  bytes.resize(static_cast<std::size_t>(decomposed::slot_bytes));
  sign(bytes);
  if (const auto root = decomposed::parse_root(bytes))
    must(decomposed::parse_root(decomposed::print_root(*root)) == root, "a root");
}

void check_file(Bytes section) {
  sign(section);
  const decomposed::Front front{1, 2};
  auto disk = std::make_shared<forebay::MemoryDisk>();
  const auto file = std::make_shared<forebay::MemoryFile>("data/2", disk);
  decomposed::DataFileWriter(file, front).create();
  file->write_at(decomposed::first_block, std::span<const std::byte>(section));
  // Its epoch is in its bytes: the root that fits is as good as any.
  std::uint64_t epoch = 1;
  try {
    epoch = decomposed::parse_section(section, 1 << 20).epoch;
  } catch (const Error&) {
  }
  const auto root = decomposed::print_root(
      {epoch, decomposed::first_block, static_cast<forebay::Count>(section.size())});
  file->write_at(decomposed::root_place(0), std::span<const std::byte>(root));
  decomposed::DataFileReader reader(file, front);
  reader.load(UINT64_MAX);
  forebay::logged::PatternPacker packer;
  for (std::uint32_t n = 0; n < reader.index().patterns(); ++n) {
    const auto pattern = packer.unpack(reader.index().pattern(n).packed);
    must(!forebay::fault_of(pattern), "an unpacked pattern is possible");
  }
  decomposed::DataFileWriter writer(file, front);
  decomposed::RootsFound found;
  writer.open(epoch, 0, found);
}

void check_directory(const Bytes& bytes) {
  const auto directory = decomposed::parse_inverse_directory(bytes, 1 << 20);
  const auto printed = decomposed::print_inverse_directory(directory);
  must(decomposed::print_inverse_directory(decomposed::parse_inverse_directory(printed, 1 << 20)) ==
           printed,
       "a directory");
}

void check_page(const Bytes& bytes) {
  if (bytes.size() < 4) return;
  // What the directory would say is in the first bytes, and in what can be parsed.
  decomposed::InversePage page;
  page.runs = std::to_integer<std::uint32_t>(bytes[0]);
  page.first = {0, std::to_integer<forebay::Offset>(bytes[1])};
  page.end = {std::to_integer<std::uint32_t>(bytes[2]) % 3,
              std::to_integer<forebay::Offset>(bytes[3])};
  const auto runs = decomposed::parse_inverse_page(std::span(bytes).subspan(4), page);
  must(decomposed::parse_inverse_page(decomposed::print_inverse_page(runs), page) == runs,
       "a page");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto all = std::as_bytes(std::span(data, size));
  const Bytes bytes(all.begin() + 1, all.end());
  try {
    switch (data[0] % 6) {
      case 0:
        check_section(bytes);
        break;
      case 1:
        check_slots(bytes);
        break;
      case 2:
        check_root(bytes);
        break;
      case 3:
        check_file(bytes);
        break;
      case 4:
        check_directory(bytes);
        break;
      default:
        check_page(bytes);
    }
  } catch (const Error&) {
  }
  return 0;
}
