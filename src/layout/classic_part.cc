#include "layout/classic_part.h"

namespace forebay {

void remove_beside(const std::string& path) noexcept {
  for (const Part* part : parts(PartKind::layout)) {
    const auto& in_classic = static_cast<const LayoutEntry*>(part)->in_classic;
    if (in_classic.remove_beside != nullptr) in_classic.remove_beside(path);
  }
}

}  // namespace forebay
