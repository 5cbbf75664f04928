#include "plan/chunk_read.h"

#include <algorithm>

namespace forebay {
namespace {

constexpr double encode_rate = 75e6;  // bytes/s of deflate:6, the unit of decode_work
constexpr double fetch_rate = 2e9;    // bytes/s from the page cache or a parallel file system
constexpr double move_rate = 2e9;     // bytes/s for extracting, sending and placing the parts
constexpr double setup = 100e-6;      // planning the exchange, and the first messages

double decode_seconds(Count busiest, Count all, const ReadFacts& facts) {
  const int ranks = std::max(facts.ranks, 1);
  const int processors = facts.processors > 0 ? std::min(facts.processors, ranks) : ranks;
  const double bytes =
      std::max(static_cast<double>(busiest), static_cast<double>(all) / processors);
  return bytes * (facts.decode_work / encode_rate + 1 / fetch_rate);
}

}  // namespace

double read_seconds(ReadPlan plan, const ReadFacts& facts) {
  if (plan == ReadPlan::everyone)
    return decode_seconds(facts.busiest_rank_bytes, facts.repeated_bytes, facts);
  const double moving = static_cast<double>(facts.moved_bytes) / std::max(facts.ranks, 1);
  return decode_seconds(facts.busiest_owner_bytes, facts.distinct_bytes, facts) +
         moving / move_rate + setup;
}

ReadPlan choose_read_plan(const ReadFacts& facts) {
  const bool forward =
      read_seconds(ReadPlan::owners, facts) < read_seconds(ReadPlan::everyone, facts);
  return forward ? ReadPlan::owners : ReadPlan::everyone;
}

}  // namespace forebay
