// For tests: a program of ranks that writes a group with every feature of groups.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "comm/comm.h"
#include "groups/records/group_file.h"
#include "method/groups.h"
#include "method/method.h"

namespace forebay::group_program {

inline Method method_of(const std::string& hints) {
  Method method;
  apply_hints(method, hints, "the test");
  return method;
}

// Returns a group with a bit of everything.
inline GroupDefinition everything(bool fortran) {
  GroupDefinition group = define_group("all", fortran ? "Fortran" : "C");
  const auto var = [&](const GroupVariableText& text) { define_variable(group, text); };
  var({.name = "n", .type = "int64"});
  var({.name = "time", .type = "double"});
  var({.name = "title", .type = "string"});
  var({.name = "made/by", .type = "string", .steps = "once"});
  var({.name = "box", .type = "double", .dimensions = "1,1", .global = "1,1", .offsets = "0,0"});
  var({.name = "mesh/grid",
       .type = "float",
       .dimensions = "1",
       .global = "1",
       .offsets = "0",
       .steps = "once"});
  var({.name = "late", .type = "double", .dimensions = "1", .global = "1", .offsets = "0"});
  var({.name = "z", .type = "double complex", .dimensions = "1", .global = "1", .offsets = "0"});
  var({.name = "joined", .type = "float", .dimensions = "1,1", .joined = fortran ? "1" : "0"});
  var({.name = "wide", .type = "uint16", .dimensions = "1,1", .joined = fortran ? "0" : "1"});
  var({.name = "own", .type = "short", .dimensions = "1"});
  var({.name = "letters", .type = "char", .dimensions = "1", .global = "1", .offsets = "0"});
  var({.name = "c", .type = "complex"});
  define_attribute(group, "box/units", "K", "");
  define_attribute(group, "mesh/grid/scale", "1, 2.5", "double");
  define_attribute(group, "by", "ranks", "");
  return group;
}

inline constexpr int steps = 6;
inline constexpr Count rows = 4, columns = 7;  // of a rank's part of box

inline double box_value(int step, Count row, Count column) {
  return 10000 * step + 100 * static_cast<double>(row) + static_cast<double>(column);
}
// Rank 1 of several has nothing. A step may lack `late`, and elements of `box`.
inline bool is_empty(const Comm& comm) { return comm.size() > 1 && comm.rank() == 1; }
inline bool has_late(int step) { return step == 2 || step == 4; }
inline bool has_hole(int step) { return step == 3; }

inline std::vector<std::int64_t> ordered(std::vector<std::int64_t> list, bool fortran) {
  if (fortran) std::reverse(list.begin(), list.end());
  return list;
}

inline void write_step(const Comm& comm, GroupFile& file, int step, bool fortran) {
  const Count size = comm.size(), rank = comm.rank();
  const std::int64_t n = 10 * step + rank;
  file.write("n", &n, false);
  const double time = 0.5 * step;
  if (rank == size - 1) file.write("time", &time, false);
  const std::string title = "step " + std::to_string(step);
  file.write("title", title.c_str(), step % 2 == 0);
  file.write("made/by", "a test", false);
  const float unit[2] = {static_cast<float>(step), -1};
  file.write("c", unit, false);
  std::vector<std::vector<double>> kept;  // lent values
  if (!is_empty(comm)) {
    // Two boxes, one of them lent.
    const auto shape = ordered({size * rows, columns}, fortran);
    for (int half = 0; half < 2; ++half) {
      const Count first = half == 0 ? 0 : 3, many = half == 0 ? 3 : columns - 3;
      if (half == 1 && has_hole(step)) continue;
      std::vector<double> block;
      for (Count r = 0; r < rows; ++r)
        for (Count c = 0; c < many; ++c)
          block.push_back(box_value(step, rank * rows + r, first + c));
      const auto start = ordered({rank * rows, first}, fortran);
      const auto count = ordered({rows, many}, fortran);
      kept.push_back(block);
      file.write_box("box", {shape.data(), start.data(), count.data()}, kept.back().data(),
                     half == 0);
    }
    const std::int64_t all = size * 3, at = rank * 3, three = 3;
    const float grid[3] = {static_cast<float>(at), static_cast<float>(at + 1), -1};
    file.write_box("mesh/grid", {&all, &at, &three}, grid, false);
    std::vector<double> complex;
    for (int i = 0; i < 3; ++i) complex.insert(complex.end(), {time + double(at + i), -time});
    file.write_box("z", {&all, &at, &three}, complex.data(), false);
    if (has_late(step)) {
      const double late[3] = {time, time, time + double(at)};
      file.write_box("late", {&all, &at, &three}, late, false);
    }
    // rank + 1 rows, in one block and another of one row
    for (const Count many : {rank, Count{1}}) {
      std::vector<float> part;
      for (Count i = 0; i < 2 * many; ++i)
        part.push_back(static_cast<float>(1000 * rank + 10 * many + step));
      const auto count = ordered({many, 2}, fortran);
      file.write_box("joined", {nullptr, nullptr, count.data()}, part.data(), false);
    }
    const std::vector<std::uint16_t> tall(static_cast<std::size_t>(2 * (rank + 1)),
                                          static_cast<std::uint16_t>(10 * rank + step));
    const auto wide = ordered({2, rank + 1}, fortran);
    file.write_box("wide", {nullptr, nullptr, wide.data()}, tall.data(), false);
    const char letters[3] = {'a', static_cast<char>('a' + rank), static_cast<char>('a' + step)};
    file.write_box("letters", {&all, &at, &three}, letters, false);
    const std::vector<std::int16_t> own(2, static_cast<std::int16_t>(100 * rank + step));
    const std::int64_t two = 2;
    file.write_box("own", {nullptr, nullptr, &two}, own.data(), false);
  }
  file.end_step();
}

}  // namespace forebay::group_program
