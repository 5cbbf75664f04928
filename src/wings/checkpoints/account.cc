#include "checkpoints/account.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/append_report.h"
#include "base/attempt.h"
#include "method/method_values.h"

namespace forebay::checkpoint {

namespace {

using Json = nlohmann::ordered_json;
constexpr std::string_view json_prefix = "json:";
constexpr const char* number_names[Account::number_count] = {
    "pushes",       "reads",        "drops",      "raw_bytes",  "stored_bytes",  "in_memory",
    "in_fast",      "in_dir",       "moved_down", "waits",      "decoded_ahead", "push_seconds",
    "read_seconds", "wait_seconds", "advanced",   "recomputed", "turned"};

bool is_time(int number) { return number >= Account::push_ns && number <= Account::wait_ns; }
double seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

double ratio_of(const Account& sums) {
  const auto stored = static_cast<double>(sums.numbers[Account::stored_bytes]);
  return stored > 0 ? static_cast<double>(sums.numbers[Account::raw_bytes]) / stored : 0;
}

const char* name_of(Tier tier) { return tier_names[static_cast<int>(tier)]; }

}  // namespace

void Account::note_advance(Count from, Count to) {
  (*this)[advanced] += to - from;
  (*this)[recomputed] += std::max<Count>(std::min(to, furthest) - from, 0);
  furthest = std::max(furthest, to);
}

void Account::note_reason(const std::string& reason) {
  constexpr std::size_t most_reasons = 100;
  if (reasons.size() < most_reasons &&
      std::find(reasons.begin(), reasons.end(), reason) == reasons.end())
    reasons.push_back(reason);
}

std::string account_text(const std::string& name, int ranks, const Account& sums,
                         const Account& longest, const Account& mine) {
  const auto& n = sums.numbers;
  std::string text =
      fmt::format("forebay: checkpoints {} on {} rank{}\n", name, ranks, ranks == 1 ? "" : "s");
  text += fmt::format("  pushed {} states, {} in {}, ratio {:.3g}, {:.3f} s\n", n[Account::pushes],
                      friendly_size(n[Account::raw_bytes]), friendly_size(n[Account::stored_bytes]),
                      ratio_of(sums), seconds(longest.numbers[Account::push_ns]));
  text +=
      fmt::format("  went to memory {}, fast {}, dir {}; moved down {}\n", n[Account::in_memory],
                  n[Account::in_fast], n[Account::in_directory], n[Account::moved_down]);
  text += fmt::format("  read {}, {} of them decoded ahead, {:.3f} s; dropped {}\n",
                      n[Account::reads], n[Account::decoded_ahead],
                      seconds(longest.numbers[Account::read_ns]), n[Account::drops]);
  text += fmt::format("  waited {} times, {:.3f} s\n", n[Account::waits],
                      seconds(longest.numbers[Account::wait_ns]));
  // These numbers are equal on all ranks.
  if (mine.numbers[Account::turned] > 0)
    text += fmt::format("  advanced {} steps, {} of them once more; reversed {}\n",
                        mine.numbers[Account::advanced], mine.numbers[Account::recomputed],
                        mine.numbers[Account::turned]);
  for (const std::string& reason : mine.reasons) text += "  " + reason + "\n";
  return text;
}

std::string account_json(const std::string& name, int ranks, const Account& sums,
                         const Account& longest, const Account& mine) {
  Json json{{"checkpoints", name}, {"ranks", ranks}, {"ratio", ratio_of(sums)}};
  for (int i = 0; i < Account::number_count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (is_time(i))
      json[number_names[at]] = seconds(longest.numbers[at]);
    else
      json[number_names[at]] = i >= Account::advanced ? mine.numbers[at] : sums.numbers[at];
  }
  Json steps = Json::array();
  for (const Account::Read& read : mine.told)
    steps.push_back({{"step", read.id.step},
                     {"adjoint", read.id.kind == Kind::adjoint},
                     {"pushed", name_of(read.pushed)},
                     {"read", name_of(read.read)},
                     {"bytes", read.bytes},
                     {"raw_bytes", read.raw_bytes}});
  json["read_steps"] = std::move(steps);
  json["reasons"] = mine.reasons;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void print_account(const Comm& comm, const std::string& name, const Method& method,
                   const Account& mine) {
  if (method.report.empty()) return;
  Account sums = mine, longest = mine, told = mine;
  told.reasons.insert(told.reasons.end(), method.notes.begin(), method.notes.end());
  comm.all_reduce(sums.numbers, Reduce::sum);
  comm.all_reduce(longest.numbers, Reduce::max);
  if (!comm.is_root()) return;
  attempt_to([&] {
    if (method.wants_json_report())
      append_report(method.report.substr(json_prefix.size()),
                    account_json(name, comm.size(), sums, longest, told));
    else
      fmt::print(stderr, "{}", account_text(name, comm.size(), sums, longest, told));
  });
}

}  // namespace forebay::checkpoint
