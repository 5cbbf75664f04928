#include "layout/classic_part.h"

#include <filesystem>

#include "base/attempt.h"
#include "format/classic.h"

namespace forebay {
namespace {

template <typename F>
void each_with_beside(F&& f) {
  for (const Part* part : parts(PartKind::layout)) {
    const auto& in_classic = static_cast<const LayoutEntry*>(part)->in_classic;
    if (in_classic.has_beside != nullptr) f(in_classic);
  }
}

}  // namespace

std::optional<Schema> header_for_beside(const std::string& path) noexcept {
  std::optional<Schema> header;
  attempt_to([&] {
    bool any = false;
    each_with_beside([&](const ClassicPartEntry& entry) { any |= entry.has_beside(path); });
    if (!any || !std::filesystem::is_regular_file(path)) return;
    Report unseen;
    File file(path, false, 0, unseen);
    header = classic::read_header(path, [&](std::vector<std::byte>& bytes, Offset wanted) {
      return classic::read_beginning(file, bytes, wanted);
    });
  });
  return header;
}

void remove_beside(const std::string& path, const std::optional<Schema>& header) noexcept {
  each_with_beside([&](const ClassicPartEntry& entry) {
    entry.remove_beside(path, header ? &*header : nullptr);
  });
}

}  // namespace forebay
