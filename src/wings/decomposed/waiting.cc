#include "decomposed/waiting.h"

#include "base/byteorder.h"
#include "base/reserve_one_more.h"

namespace forebay::decomposed {
namespace {

Count bytes_of_write(const Request& write) { return write.elements * write.element_size; }

}  // namespace

// A box that exceeds a round is split into several writes.
void WaitingWrites::add(const Request& write) {
  const auto* box = std::get_if<Subarray>(&write.selection);
  if (box && bytes_of_write(write) > limit_ && write.elements > 1) {
    auto [first, rest] = halves_of(*box);
    Request half;
    half.var = write.var;
    half.element_size = write.element_size;
    half.swap = write.swap;
    half.packed = write.packed;
    half.elements = first.elements();
    half.selection = std::move(first);
    add(half);
    half.packed += bytes_of_write(half);
    half.elements = rest.elements();
    half.selection = std::move(rest);
    return add(half);
  }
  Request copy;
  copy.var = write.var;
  copy.write = true;
  copy.selection = write.selection;
  copy.elements = write.elements;
  copy.element_size = write.element_size;
  const Count bytes = bytes_of_write(write);
  reserve_one_more(writes_);
  reserve_one_more(positions_);
  data_.make_room(bytes);
  Offset position = 0;
  std::byte* const to = data_.reserve(bytes, position).data();
  copy_swapped(to, write.packed, static_cast<std::size_t>(bytes), write.swap);
  writes_.push_back(std::move(copy));
  positions_.push_back(position);
  if (rounds_ == 0 || round_bytes_ + bytes > limit_) {
    ++rounds_;
    round_bytes_ = 0;
  }
  round_bytes_ += bytes;
}

std::span<Request> WaitingWrites::next_round() {
  const std::size_t first = handed_;
  Count bytes = 0;
  for (; handed_ < writes_.size(); ++handed_) {
    if (handed_ > first && bytes + bytes_of_write(writes_[handed_]) > limit_) break;
    bytes += bytes_of_write(writes_[handed_]);
  }
  loaded_.resize(static_cast<std::size_t>(bytes));
  if (bytes > 0) data_.read(positions_[first], loaded_);  // they are contiguous
  std::byte* at = loaded_.data();
  for (std::size_t i = first; i < handed_; ++i) {
    writes_[i].packed = at;
    at += bytes_of_write(writes_[i]);
  }
  return std::span(writes_).subspan(first, handed_ - first);
}

void WaitingWrites::begin_again() {
  handed_ = 0;
  loaded_ = {};
}

void WaitingWrites::clear() {
  begin_again();
  writes_.clear();
  positions_.clear();
  rounds_ = 0;
  round_bytes_ = 0;
  data_.clear();
}

void WaitingWrites::apply(const Request& read, const Part& part, const Variable& var,
                          Selector& selector) const {
  const auto width = static_cast<Count>(read.element_size);
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < writes_.size(); ++i) {
    if (writes_[i].var != read.var) continue;
    for (const Part& written : selector.parts_of(writes_[i], var)) {
      if (written.record != part.record) continue;
      intersect(written.what->pattern, 0, part.what->pattern, 0, [&](const SharedList& list) {
        for (const Shared& s : list.pieces) {
          Count to = list.b + s.b;
          each_in_memory(*written.what, list.a + s.a, s.count, [&](Count from, Count count) {
            bytes.resize(static_cast<std::size_t>(count * width));
            data_.read(positions_[i] + (written.memory + from) * width, bytes);
            const std::byte* at = bytes.data();
            each_in_memory(*part.what, to, count, [&](Count memory, Count n) {
              copy_swapped(read.packed + (part.memory + memory) * width, at,
                           static_cast<std::size_t>(n * width), read.swap);
              at += n * width;
            });
            to += count;
          });
        }
      });
    }
  }
}

}  // namespace forebay::decomposed
