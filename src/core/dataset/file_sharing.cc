#include "dataset/file_sharing.h"

#include <limits>

#include "base/attempt.h"
#include "dataset/probe.h"
#include "dataset/stage_member.h"
#include "method/method_values.h"

namespace forebay {

namespace {

class EntranceAlone final : public Entrance {
  void join(Dataset& file, const OpeningFacts& found) override {
    Entrance::join(file, found);
    if (!file.writable() || !file.method().passed_on.contains("bundle")) return;
    // All ranks have met for the last time: a sentence for which there is no memory is left out.
    attempt_to([&] {
      file.remark("bundle " + method_value(file.method(), "bundle") +
                  ": left out, as this build has no bundles");
    });
  }
};

}  // namespace

const SharingEntry sharing_by_none{
    [](bool is_root, const char*, int mode, bool) {
      return OpeningFacts{is_root ? mode : std::numeric_limits<std::int64_t>::min()};
    },
    [](const Comm&, const char*, const OpeningFacts& facts) {
      return AgreedOpening{static_cast<int>(facts[0]), false};
    },
    []() -> std::unique_ptr<Entrance> { return std::make_unique<EntranceAlone>(); },
    [](std::unique_ptr<Dataset> file) { file->close(); },
    [](std::unique_ptr<Dataset> file) { file->abort(); },
    delete_file};

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
  return all.empty() ? sharing_by_none : *all.front();
}

}  // namespace forebay
