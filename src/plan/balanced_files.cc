#include "plan/balanced_files.h"

#include <algorithm>

namespace forebay {
namespace {

__extension__ typedef unsigned __int128 Wide;

}  // namespace

Count file_of(Count before, Count bytes, Count total, Count files) {
  if (total == 0) return 0;
  const Wide twice_middle = Wide(before) + Wide(before) + Wide(bytes);
  const Wide file = twice_middle * Wide(files) / (Wide(total) + Wide(total));
  // A patch without bytes at the very end.
  return std::min(static_cast<Count>(file), files - 1);
}

}  // namespace forebay
