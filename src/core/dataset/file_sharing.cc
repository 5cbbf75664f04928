#include "dataset/file_sharing.h"

#include <limits>

#include "base/attempt.h"
#include "dataset/probe.h"
#include "dataset/stage_member.h"

namespace forebay {

namespace {

const SharingEntry by_itself{
    [](bool is_root, const char*, int mode, bool) {
      return OpeningFacts{is_root ? mode : std::numeric_limits<std::int64_t>::min()};
    },
    [](const Comm&, const char*, const OpeningFacts& facts) {
      return AgreedOpening{static_cast<int>(facts[0]), false};
    },
    [] { return std::make_unique<Entrance>(); },
    [](std::unique_ptr<Dataset> file) { file->close(); },
    [](std::unique_ptr<Dataset> file) { file->abort(); },
    [](const std::string& path) { delete_file(path); }};

}  // namespace

// The file may be one that a thread makes.
void Entrance::join(Dataset& file, const OpeningFacts& /*found*/) {
  StageMember* const member = file.as_member();
  if (member == nullptr) return;
  const auto failed = attempt_to([&] { member->file().finish_making(); });
  if (!failed) return;
  attempt_to([&] { file.abort(); });
  throw *failed;
}

const SharingEntry& file_sharing() {
  const auto all = built_in_sharings();
  return all.empty() ? by_itself : *all.front();
}

}  // namespace forebay
