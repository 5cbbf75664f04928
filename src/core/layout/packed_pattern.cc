#include "layout/packed_pattern.h"

#include "base/number_bytes.h"
#include "format/pattern_bytes.h"

namespace forebay::logged {
namespace {

// Limits for run lists, so that a damaged file cannot cause large allocations: their length, and
// their ratio to the packed bytes. zstd cannot exceed that ratio (blocks of 128 KiB that take four
// bytes).
constexpr std::uint64_t most_bytes = std::uint64_t{4} << 30, most_ratio = 32 << 10;

ChunkInfo as_chunk(std::size_t bytes) { return {Type::byte, {static_cast<Count>(bytes)}}; }

}  // namespace

BytePacker::BytePacker() : pipeline_(Pipeline::parse("zstd:1")) {}

// packed = 2 × (length of the printed bytes) + (1 if compressed), bytes
std::vector<std::byte> BytePacker::pack(std::span<const std::byte> printed) {
  const auto encoded = pipeline_.encode(as_chunk(printed.size()), printed, workspace_);
  Printer out;
  out.number(2 * printed.size() + (encoded.skipped == 0 ? 1 : 0));
  out.raw(encoded.bytes);
  return std::move(out.bytes());
}

std::vector<std::byte> BytePacker::pack(std::span<const std::byte> printed, std::uint64_t most) {
  if (printed.size() > most)
    throw Error(Errc::evarsize,
                "a list of runs takes " + std::to_string(printed.size()) +
                    " bytes, files have room for " + std::to_string(most),
                "write it in several calls");
  return pack(printed);
}

std::vector<std::byte> BytePacker::unpack(std::span<const std::byte> packed, std::uint64_t most) {
  Parser in(packed);
  const std::uint64_t front = in.number();
  const bool compressed = front % 2 == 1;
  const std::uint64_t bytes = front / 2;
  const auto rest = in.take(in.left());
  if (!compressed) {
    if (rest.size() != bytes || bytes > most) damaged("the length of packed numbers");
    return {rest.begin(), rest.end()};
  }
  if (bytes > most || bytes / most_ratio > rest.size())
    damaged("packed numbers of " + std::to_string(bytes) + " bytes");
  std::vector<std::byte> printed(bytes);
  try {
    pipeline_.decode(as_chunk(printed.size()), rest, 0, printed, workspace_);
  } catch (const Error& error) {
    damaged(error.message());
  }
  return printed;
}

std::vector<std::byte> PatternPacker::pack(const Pattern& pattern) {
  return packer_.pack(print_pattern(pattern), most_bytes);
}

Pattern PatternPacker::unpack(std::span<const std::byte> packed) {
  return parse_pattern(packer_.unpack(packed, most_bytes));
}

}  // namespace forebay::logged
