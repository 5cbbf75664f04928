#include "container/fill_bytes.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace forebay {

void fill_bytes(const Comm& comm, File& file, std::span<const std::byte> value, Offset offset,
                Count elements) {
  constexpr Count most = 8 << 20;
  const Count width = std::ssize(value);
  const Count share = elements / comm.size(), extra = elements % comm.size();
  const Count first = share * comm.rank() + std::min<Count>(comm.rank(), extra);
  const Count mine = share + (comm.rank() < extra ? 1 : 0);
  std::vector<std::byte> block(static_cast<std::size_t>(std::min(mine, most / width) * width));
  for (std::size_t at = 0; at < block.size(); at += value.size())
    std::memcpy(block.data() + at, value.data(), value.size());
  Offset at = offset + first * width;
  for (Count left = mine * width; left > 0;) {
    const Count now = std::min<Count>(left, std::ssize(block));
    file.write_at(at, {block.data(), static_cast<std::size_t>(now)});
    at += now;
    left -= now;
  }
}

}  // namespace forebay
