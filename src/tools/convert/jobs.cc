#include "tools/convert/jobs.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"

namespace forebay::tools {

void Rounds::begin_round() {
  ++round_;
  in_round_ = 0;
  std::fill(load_.begin(), load_.end(), 0);
}

void Rounds::keep_together(Count bytes) {
  const Count room = round_bytes_ * std::ssize(load_);
  if (in_round_ > 0 && in_round_ + bytes > room) begin_round();
}

void Rounds::add(Job job) {
  auto least = std::min_element(load_.begin(), load_.end());
  if (*least > 0 && *least + job.bytes > round_bytes_) {
    begin_round();
    least = load_.begin();
  }
  const Count counted = std::max<Count>(job.bytes, 1);
  *least += counted;
  in_round_ += counted;
  job.rank = static_cast<Rank>(least - load_.begin());
  job.round = round_;
  jobs_.push_back(std::move(job));
}

void add_boxes(Rounds& rounds, VarId id, const Variable& stored, const std::vector<Count>& shape,
               Count most_bytes) {
  const Blocks blocks(stored, shape, most_bytes);
  for (Count b = 0; b < blocks.size(); ++b) {
    Job job;
    job.var = id;
    job.part = blocks[b];
    job.bytes = job.part.elements() * size_of(stored.type);
    rounds.add(std::move(job));
  }
}

void add_boxes_of_record(Rounds& rounds, VarId id, const Variable& stored,
                         const std::vector<Count>& shape, Count record, Count most_bytes) {
  if (!stored.is_record) return add_boxes(rounds, id, stored, shape, most_bytes);
  Variable rest;
  rest.type = stored.type;
  if (stored.chunking && stored.chunking->shape.size() == shape.size())
    rest.chunking =
        Chunking{{stored.chunking->shape.begin() + 1, stored.chunking->shape.end()}, "none", {}};
  const Blocks blocks(rest, {shape.begin() + 1, shape.end()}, most_bytes);
  for (Count b = 0; b < blocks.size(); ++b) {
    Job job;
    job.var = id;
    job.part = blocks[b];
    job.part.start.insert(job.part.start.begin(), record);
    job.part.count.insert(job.part.count.begin(), 1);
    job.bytes = job.part.elements() * size_of(stored.type);
    rounds.add(std::move(job));
  }
}

void add_slabs(Rounds& rounds, const Variable& stored, const std::vector<SlabPart>& parts) {
  const Count width = size_of(stored.type);
  const Count records = stored.chunking && stored.is_record ? stored.chunking->shape[0] : 1;
  const auto row = [&](const SlabPart& part) { return part.record / records; };
  for (std::size_t i = 0, end = 0; i < parts.size(); i = end) {
    Count bytes = 0;
    for (; end < parts.size() && row(parts[end]) == row(parts[i]); ++end)
      bytes += parts[end].elements * width;
    rounds.keep_together(bytes);
    for (std::size_t j = i; j < end; ++j) {
      Job job;
      job.var = parts[j].var;
      job.slab = parts[j];
      job.bytes = parts[j].elements * width;
      rounds.add(std::move(job));
    }
  }
}

std::vector<Count> totals_after_rounds(const std::vector<Job>& jobs) {
  std::vector<Count> totals(jobs.empty() ? 0 : static_cast<std::size_t>(jobs.back().round) + 1, 0);
  Count sum = 0;
  for (const Job& job : jobs) totals[static_cast<std::size_t>(job.round)] = sum += job.bytes;
  return totals;
}

std::uint64_t hash_of_jobs(const std::vector<Job>& jobs) {
  std::uint64_t hash = jobs.size();
  std::vector<Count> numbers;
  for (const Job& job : jobs) {
    numbers = {static_cast<Count>(hash), job.var, job.bytes, job.rank, job.round};
    numbers.insert(numbers.end(), job.part.start.begin(), job.part.start.end());
    numbers.insert(numbers.end(), job.part.count.begin(), job.part.count.end());
    if (job.slab) {
      const SlabPart& p = *job.slab;
      numbers.insert(numbers.end(), {p.record, p.stretch, p.file, p.offset,
                                     static_cast<Count>(p.epoch), p.elements});
    }
    hash = hash_of(std::as_bytes(std::span(numbers)));
  }
  return hash;
}

}  // namespace forebay::tools
