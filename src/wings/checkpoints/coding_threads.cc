#include "checkpoints/coding_threads.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"

namespace forebay::checkpoint {

namespace {

struct Helper {
  std::size_t member = 0;
  std::shared_ptr<std::atomic<bool>> begun;  ///< set by the thread, or by the caller in its place
  std::thread thread;
};

}  // namespace

void Team::share(std::size_t n, std::size_t least, const Work& f) {
  join_late();
  const std::size_t members = std::clamp<std::size_t>(n / least, 1, size());
  std::vector<std::optional<Error>> failed(members);
  const auto work = [&](std::size_t member) {
    failed[member] =
        attempt_to([&] { f(member, member * n / members, (member + 1) * n / members); });
  };
  std::vector<Helper> helpers;
  helpers.reserve(members);
  late_.reserve(members);
  for (std::size_t member = 1; member < members; ++member) {
    const auto none = attempt_to([&] {
      auto begun = std::make_shared<std::atomic<bool>>(false);
      // A late thread may only touch the flag: everything else is gone.
      std::thread thread([&work, begun, member] {
        if (!begun->exchange(true)) work(member);
      });
      helpers.push_back({member, std::move(begun), std::move(thread)});
    });
    if (none) work(member);
  }
  work(0);
  for (Helper& helper : helpers) {
    if (helper.begun->exchange(true)) continue;
    work(helper.member);
    late_.push_back(std::move(helper.thread));
  }
  for (Helper& helper : helpers)
    if (helper.thread.joinable()) helper.thread.join();
  for (const auto& error : failed)
    if (error) throw *error;
}

void Team::join_late() noexcept {
  for (std::thread& thread : late_) thread.join();
  late_.clear();
}

}  // namespace forebay::checkpoint
