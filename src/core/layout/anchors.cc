#include "layout/anchors.h"

#include <vector>

namespace forebay {

void write_anchors(ByteFile& file, const Schema& schema, std::size_t first,
                   const std::function<bool(const Variable&)>& is_anchor) {
  // The largest hole that may be filled: padding, as another variable takes at least four bytes. In
  // a new file, nothing between two anchors has a value yet.
  const Offset between = first > 0 ? 3 : 4096;
  constexpr std::size_t enough = 1 << 20;  // bytes of a call; headers may have any size
  std::vector<std::byte> bytes;
  Offset begin = 0;
  const auto write = [&] {
    if (!bytes.empty()) file.write_at(begin, bytes);
    bytes.clear();
  };
  for (std::size_t i = first; i < schema.vars.size(); ++i) {
    const Variable& var = schema.vars[i];
    if (!is_anchor(var)) continue;
    if (bytes.empty() || bytes.size() >= enough || var.begin < begin ||
        var.begin > begin + static_cast<Offset>(bytes.size()) + between) {
      write();
      begin = var.begin;
    }
    bytes.resize(static_cast<std::size_t>(var.begin - begin));
    const auto fill = external_fill(var);
    bytes.insert(bytes.end(), fill.begin(), fill.end());
  }
  write();
}

}  // namespace forebay
