#include "groups/files/bp_follower.h"

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/attempt.h"
#include "base/error.h"
#include "comm/agree.h"
#include "groups/process_group/old_files.h"
#include "groups/records/group_terms.h"

namespace forebay {

using process_group::Kind;
using process_group::StoredVariable;

bool BpFollower::has_begun(const std::string& path) {
  const std::string plain = process_group::plain_path(path);
  std::error_code none;
  if (std::filesystem::is_regular_file(plain, none)) return true;
  // A writer makes md.idx last.
  return process_group::has_index(plain) && std::filesystem::exists(plain + "/md.0", none);
}

const std::string& BpFollower::begun(const Comm& comm, const std::string& path, double seconds) {
  by_root(comm, [&] {
    if (!(seconds >= 0))
      throw Error(Errc::einval, "a file is waited for " + std::to_string(seconds) + " seconds",
                  "give a number that is not negative");
    const std::chrono::duration<double> most(seconds);
    const auto begin = std::chrono::steady_clock::now();
    while (!has_begun(path)) {
      if (std::chrono::steady_clock::now() - begin >= most)
        throw Error(Errc::enoent, path + " is not there, or has not begun",
                    "wait for it longer, or check the path");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  return path;
}

BpFollower::BpFollower(const Comm& comm, const std::string& path, double seconds)
    : comm_(comm), reader_(comm_, begun(comm_, path, seconds), report_) {}

BpFollower::StepStatus BpFollower::begin_step(double seconds, std::size_t& step) {
  if (next_ >= reader_.steps())
    if (const auto found = reader_.find_steps(comm_, seconds); found != StepStatus::ok)
      return found;
  step = next_++;
  return StepStatus::ok;
}

std::vector<BpFollower::Variable> BpFollower::variables(std::size_t step,
                                                        std::vector<LeftOut>& left_out) const {
  std::vector<Variable> all;
  for (std::size_t v = 0; v < reader_.variables().size(); ++v) {
    const StoredVariable& its = reader_.variables()[v];
    if (!its.steps.find(step)) continue;
    const auto leave_out = [&](const std::string& why) {
      left_out.push_back({its.variable.name, why});
    };
    if (!its.unreadable.empty()) {
      leave_out(its.unreadable);
    } else if (!its.fault.empty()) {
      leave_out(its.fault);
    } else if (its.variable.type == bp::Type::long_double) {
      leave_out("long double");
    } else if (its.variable.type == bp::Type::string && its.kind != Kind::scalar) {
      leave_out("a string of each rank's own");
    } else {
      Variable made{v, its.variable, {}};
      const auto failed = attempt_to([&] { made.shape = reader_.array(v, step).shape; });
      if (failed && failed->code() != Errc::enotsupport) throw *failed;
      if (failed)
        leave_out("local blocks that differ in more than one extent");
      else
        all.push_back(std::move(made));
    }
  }
  return all;
}

void BpFollower::read(const Variable& variable, std::size_t step, const Subarray& box,
                      std::byte* out) const {
  const auto fill = group_terms::fill_of(variable.stored.type);
  reader_.read(variable.number, step, box, out,
               std::span(fill).first(static_cast<std::size_t>(bp::size_of(variable.stored.type))));
}

}  // namespace forebay
