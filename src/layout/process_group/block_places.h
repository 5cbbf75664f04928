// Where the blocks of one variable and step lie in the array that they make together. Nobody has to
// hold them for it: they are told in order, and may be told again from any of them on.
#pragma once

#include <algorithm>
#include <vector>

#include "format/bp.h"
#include "layout/process_group/catalogue.h"

namespace forebay::process_group {

inline bool has_elements(const bp::Shape& at) {
  return std::find(at.count.begin(), at.count.end(), 0) == at.count.end();
}

class BlockPlaces {
 public:
  explicit BlockPlaces(Kind kind = Kind::scalar) : kind_(kind) {}

  /// Each block, in order. What keeps them from being one array; null: nothing.
  const char* learn(const bp::Shape& at) {
    if (blocks_++ == 0) first_ = at;
    if (kind_ == Kind::global) {
      if (blocks_ > 1 && shape_ != at.shape) return "its blocks say different shapes";
      shape_ = at.shape;
    }
    if (!is_row()) return nullptr;
    if (blocks_ == 1 && kind_ == Kind::joined)
      along_ = static_cast<std::size_t>(std::find(at.shape.begin(), at.shape.end(), bp::joined) -
                                        at.shape.begin());
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
  /// Behind the last one: the extents of the array.
  const std::vector<Count>& end() {
    if (kind_ == Kind::local_value) shape_ = {blocks_};
    if (is_row() && shape_.empty()) shape_ = first_.count;
    return shape_;
  }
  /// Gives each block its place, in order; its `shape` once all have been learned.
  void place(bp::Shape& at) {
    if (kind_ == Kind::local_value) at = {shape_, {placed_++}, {1}};
    if (!is_row()) return;
    at.shape = shape_;
    at.start.assign(shape_.size(), 0);
    if (along_ < at.start.size()) at.start[along_] = placed_;
    if (has_elements(at)) placed_ += at.count[along_];
  }
  /// How far those that have their place reach, and to go on from there.
  Count placed() const { return placed_; }
  void go_on_at(Count placed) { placed_ = placed; }

 private:
  bool is_row() const { return kind_ == Kind::joined || kind_ == Kind::local; }

  Kind kind_;
  bp::Shape first_;
  std::vector<Count> shape_;
  std::size_t along_ = 0;  // the dimension that blocks follow one another in
  Count blocks_ = 0, placed_ = 0;
};

}  // namespace forebay::process_group
