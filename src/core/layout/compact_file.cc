#include "layout/compact_file.h"

#include <vector>

#include "base/attempt.h"
#include "base/error.h"
#include "base/hash.h"

namespace forebay {

void copy_bytes(ByteFile& file, const BytesToMove& move) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(move.bytes));
  if (file.read_at(move.from, bytes) != bytes.size())
    throw Error(Errc::enotnc, file.path() + " ends before what lies in it");
  if (move.hash && hash_of(bytes) != *move.hash)
    throw Error(Errc::enotnc,
                file.path() + ": what lies at byte " + std::to_string(move.from) + " is damaged");
  file.write_at(move.to, std::span<const std::byte>(bytes));
}

void cut_behind(ByteFile& file, Offset end) noexcept {
  attempt_to([&] {
    if (file.size() > end) file.truncate(end);
  });
}

}  // namespace forebay
