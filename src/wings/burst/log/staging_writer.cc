#include "burst/log/staging_writer.h"

namespace forebay::staging {

void Writer::add(Write& write, std::span<const iovec> pieces) {
  write.continued = continues_;
  journal::Writer::add(pieces, [&](const Data& data, auto&&... entry) {
    static_cast<Data&>(write) = data;
    print_entry(write, entry...);
  });
  continues_ = write.continues;
}

std::uint64_t Writer::add_pieces(const Runs& runs) {
  const Key key{runs.list.get(), runs.base};
  if (const auto known = known_.find(key); known != known_.end()) return known->second.sequence;
  Pieces pieces{runs.list->runs, runs.list->bytes};
  for (Run& run : pieces.runs) run.offset += runs.base;
  const std::uint64_t sequence = journal::Writer::add(
      {}, [&](const Data&, auto&&... entry) { print_entry(pieces, entry...); });
  known_[key] = {runs.list, sequence};
  uncommitted_.push_back(key);
  return sequence;
}

void Writer::commit() {
  try {
    journal::Writer::commit();
  } catch (...) {
    forget_request();
    throw;
  }
  uncommitted_.clear();
}

void Writer::forget() {
  if (has_added()) forget_request();
  journal::Writer::forget();
}

/// A request does not continue after a part of it was forgotten. Its writes will not count.
void Writer::forget_request() {
  for (const Key& key : uncommitted_) known_.erase(key);
  uncommitted_.clear();
  continues_ = false;
}

Mark Writer::mark() {
  const Mark end = journal::Writer::mark();
  known_.clear();
  return end;
}

void Writer::drop(const Mark& mark, const State& state, bool keep) {
  journal::Writer::drop(mark, state, keep);
  std::erase_if(known_, [&](const auto& known) { return known.second.sequence < mark.sequence; });
}

}  // namespace forebay::staging
