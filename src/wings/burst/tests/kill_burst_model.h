// What the kill tests of stage `burst` write: a sequence of steps that follows from a seed.
//
// Elements have owners, and only an owner's own requests write them, in order: owner r < size is
// rank r, owner `size` is the variable `common`, which ranks write in turn, with a flush by all
// ranks in between. A value tells the request and the element that it is of, so that whoever looks
// at a file knows of each request whether it is there, and sees mixtures.
#pragma once

#include <pnetcdf.h>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "support/rng.h"

namespace kill_burst {

struct VariableInfo {
  const char* name;
  nc_type type;
  MPI_Offset rows;  // 0: records
  MPI_Offset columns;
};
constexpr int variables = 5;
constexpr int common = 4;
constexpr MPI_Offset most_records = 30;
constexpr std::array<VariableInfo, variables> infos = {{{"grid", NC_INT, 40, 4096},
                                                        {"small", NC_DOUBLE, 4, 500},
                                                        {"series", NC_INT, 0, 2000},
                                                        {"trace", NC_INT, 0, 70},
                                                        {"common", NC_INT, 6, 1000}}};

// A strided box of rows and columns.
struct Piece {
  std::array<MPI_Offset, 2> start, count, stride;
  MPI_Offset elements() const { return count[0] * count[1]; }
};

// Pieces do not overlap; more than one: a varn call.
struct Request {
  int var = 0;
  int number = 0;  // of its owner, from 1
  std::vector<Piece> pieces;

  MPI_Offset elements() const;
  MPI_Offset last_record() const;  // one past the highest; 0: fixed variable
};

enum class Kind { put, strided, several, alone, varn, grow, common, sync, flush, redefine, reopen };

// What all ranks do together.
struct Step {
  Kind kind;
  int writer;  // of `common`, modulo the number of ranks
};
Step step_at(std::uint64_t seed, int step);

// The requests of one owner, step by step.
class Sequence {
 public:
  Sequence(std::uint64_t seed, int owner, int size) : seed_(seed), owner_(owner), size_(size) {}
  // Of the next step; none where the owner writes nothing.
  std::vector<Request> next();
  int step() const { return step_; }  // the next one

 private:
  Request request(int var);
  Piece box(forebay_test::Rng& random, int var, bool strided) const;
  Request scattered(forebay_test::Rng& random);

  std::uint64_t seed_;
  int owner_, size_;
  int step_ = 0, number_ = 0;
};

constexpr int most_requests = 4095;  // of an owner, for value_of
// Never 0, never a fill value; fits a double.
int value_of(int cycle, int owner, int number, int var, MPI_Offset row, MPI_Offset column);
int number_of(int value);
std::string words_for(int value);

// Calls f(row, column) for the elements of a request, in the order of its values.
template <typename F>
void for_each_element(const Request& request, F&& f) {
  for (const Piece& p : request.pieces) {
    for (MPI_Offset r = 0; r < p.count[0]; ++r) {
      for (MPI_Offset c = 0; c < p.count[1]; ++c)
        f(p.start[0] + r * p.stride[0], p.start[1] + c * p.stride[1]);
    }
  }
}

}  // namespace kill_burst
