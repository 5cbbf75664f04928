// What a file of the kill tests holds after each version.
//
// The n-th operation on the file, and so all of its contents after it, follow from n alone: who
// checks a file needs nothing but the number to know every value, whatever number of ranks wrote
// it.
#pragma once

#include <pnetcdf.h>

#include <array>
#include <string>
#include <vector>

namespace kill_test {

constexpr int variables = 4;
constexpr MPI_Offset rows = 24;
constexpr MPI_Offset most_records = 40;

struct VariableInfo {
  const char* name;
  nc_type type;
  MPI_Offset columns;
  bool is_record;
};
constexpr std::array<VariableInfo, variables> infos = {{{"grid", NC_INT, 6000, false},
                                                        {"small", NC_DOUBLE, 130, false},
                                                        {"series", NC_INT, 3000, true},
                                                        {"trace", NC_INT, 70, true}}};

// Rows [row, row_end) and columns [column, column_end) of a variable, overwritten or appended.
struct Box {
  int var;
  MPI_Offset row, row_end, column, column_end;
};

// One collective call: a single box goes through a blocking put, several through wait_all.
struct Operation {
  std::vector<Box> boxes;
  bool sync_after = false;
};

int value_of(int version, int var, MPI_Offset row, MPI_Offset column);

class State {
 public:
  // Version 0: everything written once, three records.
  State();
  int version() const { return version_; }
  MPI_Offset records() const { return records_; }
  // What comes next.
  Operation next() const;
  // Carries that out.
  void advance();
  // The values of a variable, rows of columns.
  const std::vector<int>& values(int var) const { return values_[static_cast<size_t>(var)]; }

 private:
  void put(const Box& box);

  int version_ = 0;
  MPI_Offset records_ = 3;
  std::array<std::vector<int>, variables> values_;
};

// The operation that writes version 0.
Operation first_operation();

}  // namespace kill_test
