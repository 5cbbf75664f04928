// Fuzz target over process groups of BP4: what is left in data files that a kill or a disk damaged
// must do no harm to who makes an index of it.
//
// The first byte chooses what the others are: a group's head, a block, an attribute.
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/attempt.h"
#include "base/error.h"
#include "groups/format/bp_group.h"
#include "groups/format/bp_read.h"
#include "groups/format/bp_write.h"
#include "must.h"

namespace {

using forebay::Count;
using forebay::Errc;
using forebay::Error;
namespace bp = forebay::bp;
using Bytes = std::span<const std::byte>;

void head(Bytes bytes) {
  const bp::GroupHead parsed = bp::parse_group_head(bytes);
  must(parsed.first_block <= static_cast<Count>(bytes.size()), "no more than there is");
  must(parsed.first_block <= parsed.attributes && parsed.attributes < parsed.bytes,
       "the parts of a group lie in order");
  must(!parsed.mark || parsed.mark->rank >= 0, "ranks are not negative");
}

/// What stands in the index is what its reader refuses, or makes sense.
void block(Bytes bytes) {
  const bp::GroupBlock parsed = bp::parse_group_block(bytes);
  must(parsed.payload <= static_cast<Count>(bytes.size()) && parsed.payload <= parsed.bytes,
       "a payload lies in its block");
  bp::Bytes entry, printed;
  bp::append_block(printed, parsed.variable, parsed.block);
  bp::append_variable_head(entry, parsed.variable, parsed.member, 1, std::ssize(printed));
  entry.insert(entry.end(), printed.begin(), printed.end());
  bp::VariableEntry read(entry, {});
  must(read.variable() == parsed.variable, "a variable is what it was");
  bp::Block again;
  must(read.next(again), "a block is one");
}

void attribute(Bytes bytes) {
  const Count length = bp::parse_group_attribute_bytes(bytes);
  if (length > static_cast<Count>(bytes.size())) return;
  const auto parsed = bp::parse_group_attribute(bytes.first(static_cast<std::size_t>(length)));
  must(parsed.attribute.values.size() + parsed.attribute.texts.size() <= bytes.size(),
       "no more than there is");
  if (forebay::attempt_to([&] { bp::check(parsed.attribute); })) return;
  bp::Bytes entry;
  bp::append_attribute(entry, parsed.attribute, parsed.member, 1, 0);
  must(bp::parse_attribute(entry, {}).attribute == parsed.attribute, "an attribute is what it was");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const Bytes bytes = std::as_bytes(std::span(data + 1, size - 1));
  try {
    if (data[0] % 3 == 0) head(bytes);
    if (data[0] % 3 == 1) block(bytes);
    if (data[0] % 3 == 2) attribute(bytes);
  } catch (const Error& error) {
    must(error.code() == Errc::ebad_file, "what is wrong is the file's fault");
  }
  return 0;
}
