#include "patches/plan/morton.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace forebay {
namespace {

int bits_of(Count length) {
  return length > 1 ? std::bit_width(static_cast<std::uint64_t>(length - 1)) : 0;
}

}  // namespace

MortonOrder::MortonOrder(std::span<const Count> shape) : dims_(shape.size()) {
  if (dims_ > most_dims)
    throw Error(Errc::einval, fmt::format("a grid of {} dimensions", dims_),
                fmt::format("at most {} can be put in Morton order", most_dims));
  std::copy(shape.begin(), shape.end(), shape_.begin());
  for (const Count length : shape) {
    if (length < 0 || !multiply_fits(cells_, length, cells_))
      throw Error(Errc::einval, "a grid of impossible size", "cut it into fewer parts");
  }
  for (int bit = 62; bit >= 0; --bit) {
    for (std::size_t d = 0; d < dims_; ++d)
      if (bit < bits_of(shape[d]))
        halvings_.push_back({static_cast<std::uint8_t>(d), static_cast<std::uint8_t>(bit)});
  }
}

Count MortonOrder::number_of(std::span<const Count> at) const {
  Lengths box = shape_;
  Count number = 0, cells = cells_;
  for (const Halving& h : halvings_) {
    const Count half = Count{1} << h.bit;
    Count& length = box[h.dim];
    const Count lower = std::min(length, half);
    const Count cells_below = cells / length * lower;
    if ((at[h.dim] & half) != 0) {
      number += cells_below;
      cells -= cells_below;
      length -= half;
    } else {
      cells = cells_below;
      length = lower;
    }
  }
  return number;
}

void MortonOrder::position_of(Count number, std::span<Count> at) const {
  Lengths box = shape_;
  Count cells = cells_;
  std::fill(at.begin(), at.end(), 0);
  for (const Halving& h : halvings_) {
    const Count half = Count{1} << h.bit;
    Count& length = box[h.dim];
    const Count lower = std::min(length, half);
    const Count cells_below = cells / length * lower;
    if (number >= cells_below) {
      at[h.dim] += half;
      number -= cells_below;
      cells -= cells_below;
      length -= half;
    } else {
      cells = cells_below;
      length = lower;
    }
  }
}

}  // namespace forebay
