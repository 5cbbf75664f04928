#include "workloads/array.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <numeric>

namespace forebay::bench {
namespace {

MPI_Offset product(std::span<const MPI_Offset> lengths) {
  return std::accumulate(lengths.begin(), lengths.end(), MPI_Offset{1}, std::multiplies<>());
}

}  // namespace

std::size_t size_of(Element type) { return type == Element::Double ? 8 : 4; }

MPI_Offset Box::elements() const { return product(count); }

MPI_Offset ArrayVariable::elements() const { return product(shape); }

std::vector<Box> ArrayVariable::chunks() const {
  Box grid{std::vector<MPI_Offset>(shape.size(), 0), {}};
  for (std::size_t d = 0; d < shape.size(); ++d) {
    grid.count.push_back((shape[d] + chunk[d] - 1) / chunk[d]);
  }
  std::vector<Box> out;
  const auto add = [&](const std::vector<MPI_Offset>& index) {
    Box box;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      box.start.push_back(index[d] * chunk[d]);
      box.count.push_back(std::min(chunk[d], shape[d] - box.start[d]));
    }
    out.push_back(std::move(box));
  };
  std::vector<std::byte> unused(static_cast<std::size_t>(grid.elements()));
  visit_rows(grid, unused.data(), [&](std::vector<MPI_Offset> index, std::byte*, MPI_Offset n) {
    for (MPI_Offset k = 0; k < n; ++k, ++index.back()) add(index);
  });
  return out;
}

std::int64_t count_beyond(std::span<const std::byte> a, std::span<const std::byte> b, Element type,
                          double bound) {
  if (std::equal(a.begin(), a.end(), b.begin(), b.end())) return 0;
  std::int64_t beyond = 0;
  const auto count = [&]<typename T>(T) {
    for (std::size_t at = 0; at < a.size(); at += sizeof(T)) {
      const auto its = a.subspan(at, sizeof(T)), other = b.subspan(at, sizeof(T));
      T x{}, y{};
      std::memcpy(&x, its.data(), sizeof x);
      std::memcpy(&y, other.data(), sizeof y);
      const bool same = std::ranges::equal(its, other);
      const double apart = std::abs(static_cast<double>(x) - static_cast<double>(y));
      beyond += !same && !(bound > 0 && apart <= bound);
    }
  };
  switch (type) {
    case Element::Int:
      count(std::int32_t{});
      break;
    case Element::Float:
      count(float{});
      break;
    case Element::Double:
      count(double{});
      break;
  }
  return beyond;
}

MPI_Offset pieces_of(const Box& box, std::span<const MPI_Offset> shape) {
  const MPI_Offset elements = box.elements();
  if (elements == 0) return 0;
  // A piece goes on over a dimension as long as all faster ones are covered whole.
  MPI_Offset piece = 1;
  for (std::size_t d = shape.size(); d-- > 0;) {
    piece *= box.count[d];
    if (box.count[d] != shape[d]) break;
  }
  return elements / piece;
}

}  // namespace forebay::bench
