// Places of the blocks of one variable and step in the array that they form. The blocks need not be
// held in memory: they are passed in order, and may be passed again from any of them on.
#pragma once

#include <algorithm>
#include <vector>

#include "groups/format/bp.h"
#include "groups/process_group/name_catalogue.h"

namespace forebay::process_group {

inline bool has_elements(const bp::Shape& at) { return !bp::any_zero(at.count); }

class BlockPlaces {
 public:
  explicit BlockPlaces(Kind kind = Kind::scalar) : kind_(kind) {}

  /// Takes each block, in order. Returns why they are not one array; null if they are.
  const char* learn(const bp::Shape& at) {
    if (blocks_++ == 0) first_ = at;
    if (kind_ == Kind::global) {
      if (blocks_ > 1 && shape_ != at.shape) return "its blocks say different shapes";
      shape_ = at.shape;
    }
    if (!is_row()) return nullptr;
    if (blocks_ == 1 && kind_ == Kind::joined)
      along_ = static_cast<std::size_t>(std::ranges::find(at.shape, bp::joined) - at.shape.begin());
    if (!has_elements(at)) return nullptr;
    if (shape_.empty()) {
      shape_ = at.count;
      shape_[along_] = 0;
    }
    bool fits = !__builtin_add_overflow(shape_[along_], at.count[along_], &shape_[along_]);
    for (std::size_t d = 0; d < shape_.size(); ++d)
      fits = fits && (d == along_ || at.count[d] == shape_[d]);
    return fits ? nullptr : "its blocks do not follow one another along one dimension";
  }
  /// Returns the extents of the array, after the last block.
  const std::vector<Count>& end() {
    if (kind_ == Kind::local_value) shape_ = {blocks_};
    if (is_row() && shape_.empty()) shape_ = first_.count;
    return shape_;
  }
  /// Sets `start` of each block, in order, and its `shape`. All blocks must have been learned.
  void place(bp::Shape& at) {
    if (kind_ == Kind::local_value) at = {shape_, {placed_++}, {1}};
    if (!is_row()) return;
    at.shape = shape_;
    at.start.assign(shape_.size(), 0);
    if (along_ < at.start.size()) at.start[along_] = placed_;
    if (has_elements(at)) placed_ += at.count[along_];
  }
  /// The extent of the placed blocks, and a way to continue from there.
  Count placed() const { return placed_; }
  void go_on_at(Count placed) { placed_ = placed; }

 private:
  bool is_row() const { return kind_ == Kind::joined || kind_ == Kind::local; }

  Kind kind_;
  bp::Shape first_;
  std::vector<Count> shape_;
  std::size_t along_ = 0;  // dimension along which blocks follow one another
  Count blocks_ = 0, placed_ = 0;
};

}  // namespace forebay::process_group
