// Fuzz target over BP: what other programs wrote, or a disk damaged, must do no harm.
//
// The first byte chooses what the others are: a variable's entry of an index, an attribute's, a
// head and records of md.idx, the index of groups of md.0, a file of BP3; its bits, byte order, the
// order of dimensions, and who wrote it. Or they are a block behind an operator of adios2.
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <vector>

#include "base/error.h"
#include "groups/format/bp3_read.h"
#include "groups/format/bp_cursor.h"
#include "groups/format/bp_read.h"
#include "groups/operators/operators.h"
#include "must.h"

namespace {

using forebay::Count;
using forebay::Errc;
using forebay::Error;
namespace bp = forebay::bp;
using Bytes = std::span<const std::byte>;

/// What a block says can be computed with: nothing overflows, and it lies within its array.
void check_block(const bp::Variable& variable, const bp::Block& block) {
  const bp::Shape& at = block.at;
  must(at.start.empty() || at.start.size() == at.count.size(), "start and count go together");
  Count bytes = bp::size_of(variable.type);
  for (std::size_t d = 0; d < at.count.size(); ++d) {
    must(at.count[d] >= 0, "counts are not negative");
    must(!__builtin_mul_overflow(bytes, at.count[d], &bytes), "sizes are numbers");
    if (at.start.empty()) continue;
    must(at.start[d] >= 0 && at.start[d] <= at.shape[d] - at.count[d], "a block is in its array");
  }
  must(variable.type == bp::Type::string || block.bytes == bytes, "bytes are those of elements");
  must(block.has_value || block.bytes == 0 || block.payload > 0, "values lie somewhere");
}

void variable(Bytes bytes, bp::Origin origin) {
  bp::VariableEntry entry(bytes, origin);
  must(!entry.variable().name.empty(), "a variable has a name");
  std::size_t blocks = 0;
  for (bp::Block block; entry.next(block); ++blocks) check_block(entry.variable(), block);
  must(blocks <= bytes.size() / 5 && entry.at() <= bytes.size(), "no more than there is");
}

void attribute(Bytes bytes, bp::Origin origin) {
  const auto [parsed, group, variable] = bp::parse_attribute(bytes, origin);
  must(!parsed.name.empty() && parsed.values.size() + parsed.texts.size() <= bytes.size(),
       "no more than there is");
  must(variable.has_value() == (parsed.type == bp::Type::reference), "a reference is to something");
}

void index(Bytes bytes) {
  const bool swapped = bp::parse_head(bytes);
  for (bytes = bytes.subspan(bp::head_bytes); bytes.size() >= bp::record_bytes;
       bytes = bytes.subspan(bp::record_bytes)) {
    const auto record = bp::parse_record(bytes.first<bp::record_bytes>(), swapped);
    must(record.groups >= 0 && record.groups <= record.variables &&
             record.variables <= record.attributes && record.attributes <= record.end,
         "the parts of a step lie in order");
  }
}

void file(Bytes bytes) {
  if (bytes.size() < bp::footer_bytes) return;
  const bp::Footer footer =
      bp::parse_footer(bytes.last<bp::footer_bytes>(), static_cast<Count>(bytes.size()));
  must(footer.groups >= 0 && footer.groups <= footer.variables &&
           footer.variables <= footer.attributes && footer.attributes <= footer.end &&
           footer.end <= static_cast<Count>(bytes.size()),
       "the parts of an index lie in order");
  Bytes groups = bytes.subspan(static_cast<std::size_t>(footer.groups));
  const auto number = bp::parse_groups_head(groups, footer.swapped);
  groups = groups.subspan(bp::groups_head_bytes);
  for (std::uint64_t group = 0; group < number && groups.size() >= 2; ++group) {
    const auto n = static_cast<std::size_t>(bp::parse_group_bytes(groups, footer.swapped));
    if (n > groups.size()) return;
    bp::Cursor entry(groups.first(n), footer.swapped);
    must(bp::parse_group(entry).place >= 0, "a group lies somewhere");
    groups = groups.subspan(n);
  }
}

/// The first bytes are the type, the operator, and the number of elements; the rest is the payload.
void coded(Bytes bytes) {
  constexpr std::size_t head = 4, most_elements = 1 << 14;
  constexpr bp::Type types[] = {bp::Type::float64,    bp::Type::float32, bp::Type::int32,
                                bp::Type::complex128, bp::Type::uint8,   bp::Type::int64};
  if (bytes.size() <= head) return;
  const auto number = [&](std::size_t at) { return std::to_integer<std::size_t>(bytes[at]); };
  const bp::Type type = types[number(0) % std::size(types)];
  bp::Block block;
  block.operation = std::array{"zfp", "bzip2", "blosc"}[number(1) % 3];
  const std::size_t elements = 1 + (number(2) + (number(3) << 8)) % most_elements;
  block.bytes = static_cast<Count>(elements) * bp::size_of(type);
  const Bytes payload = bytes.subspan(head);
  block.stored = static_cast<Count>(payload.size());
  if (!forebay::operators::why_unreadable(block).empty()) return;
  forebay::CodecWorkspace workspace;
  std::vector<std::byte> values(static_cast<std::size_t>(block.bytes));
  forebay::operators::decode(type, block, payload, values, workspace);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes = std::as_bytes(std::span(data + 1, size - 1));
  bp::Origin origin;
  origin.swapped = (data[0] & 8) != 0;
  origin.column_major = (data[0] & 16) != 0;
  origin.form = static_cast<bp::Form>((data[0] >> 5) % 3);
  const bool swapped = origin.swapped;
  try {
    switch (data[0] & 7) {
      case 0:
        variable(bytes, origin);
        break;
      case 1:
        attribute(bytes, origin);
        break;
      case 2:
        index(bytes);
        break;
      case 3:
        file(bytes);
        break;
      case 4:
        coded(bytes);
        break;
      default:
        (void)bp::parse_column_major(bytes, swapped);
        (void)bp::parse_elements_head(bytes, swapped);
    }
  } catch (const Error& error) {
    must(error.code() == Errc::ebad_file || error.code() == Errc::enotsupport,
         "what is wrong is the file's fault");
  }
  return 0;
}
