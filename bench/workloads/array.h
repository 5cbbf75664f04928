#pragma once

// Workloads of dense arrays: variables of known shape, cut into blocks by ranks and into chunks by
// the file, with values that follow from the indices of an element. A pattern knows neither MPI nor
// the library that stores it, so that one description serves every backend, and one process can
// make the data of all ranks.

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

namespace forebay::bench {

enum class Element { Int, Float, Double };
std::size_t size_of(Element type);

/// Indices [start, start + count) in each dimension, slowest first.
struct Box {
  std::vector<MPI_Offset> start, count;

  MPI_Offset elements() const;  ///< zero if any count is
};

struct ArrayVariable {
  std::string name;
  Element type = Element::Float;
  std::vector<MPI_Offset> shape;
  std::vector<MPI_Offset> chunk;  ///< no longer than the shape in any dimension

  MPI_Offset elements() const;
  /// The chunks, in row-major order of the chunk grid, cut off at the ends of the variable.
  std::vector<Box> chunks() const;
};

/// Contiguous pieces of a row-major variable of `shape` that `box` consists of.
MPI_Offset pieces_of(const Box& box, std::span<const MPI_Offset> shape);

/// A description for a given number of ranks, immutable once made.
class ArrayPattern {
 public:
  virtual ~ArrayPattern() = default;

  virtual std::string name() const = 0;
  /// Options in force, for the report.
  virtual nlohmann::json parameters() const = 0;
  virtual std::span<const ArrayVariable> variables() const = 0;
  /// What `rank` writes and reads of a variable; the blocks of all ranks cover it once.
  virtual Box block(std::size_t variable, int rank) const = 0;
  /// Writes the values of `box`, row-major, in the memory form of the variable's type, to `out`.
  /// A value depends on the indices of its element and on nothing else.
  virtual void fill(std::size_t variable, const Box& box, std::byte* out) const = 0;
  /// How far values that are read back may be from these.
  virtual double bound() const { return 0; }
};

/// How many of two arrays' elements are farther apart; with bound 0 those of other bits.
std::int64_t count_beyond(std::span<const std::byte> a, std::span<const std::byte> b, Element type,
                          double bound);

/// Calls visit(indices of the first element, row of T at `out`, length) for each row of `box`, that
/// is for each run of it along the fastest dimension.
template <typename T, typename Visit>
void visit_rows(const Box& box, T* out, Visit visit) {
  if (box.elements() == 0) return;
  const std::size_t fastest = box.start.size() - 1;
  std::vector<MPI_Offset> at = box.start;
  for (;;) {
    visit(at, out, box.count[fastest]);
    out += box.count[fastest];
    std::size_t d = fastest;
    while (d > 0 && ++at[d - 1] == box.start[d - 1] + box.count[d - 1]) {
      at[d - 1] = box.start[d - 1];
      --d;
    }
    if (d == 0) return;
  }
}

}  // namespace forebay::bench
