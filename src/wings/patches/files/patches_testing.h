// The file with which tests of reading at levels begin.
#pragma once

#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "comm/thread_ranks.h"
#include "dataset/dataset.h"

namespace forebay::patches_testing {

constexpr Count patch_records = 2;
constexpr std::array<Count, 3> cube{21, 45, 70};  // z, y, x

enum Var : VarId { rho, flat, z, y, x, times, mask, number };

inline void put(Dataset& ds, VarId var, const std::vector<double>& values) {
  Request r;
  r.var = var;
  r.write = true;
  const Variable& variable = ds.variable(var);
  r.elements = std::ssize(values);
  std::vector<Count> count = variable.shape;
  if (variable.is_record) count[0] = r.last_record = patch_records;
  r.selection = Subarray{std::vector<Count>(count.size(), 0), count, {}};
  r.memory.data = reinterpret_cast<std::byte*>(const_cast<double*>(values.data()));
  r.memory.type = Type::float64;
  std::vector<Request> one;
  one.push_back(std::move(r));
  ds.execute(one, true);
}

/// Writes in one process. rho(time, z, y, x), float, is in patches of 16³ with two coarser levels;
/// flat(y, x), double, in patches of 16², likewise. z, y, x and time are coordinates; mask(y, x) is
/// int; n is a scalar.
inline void write(const std::string& path, const char* codec = "shuffle,zstd:1") {
  auto ds = Dataset::create(
      Comm(), path, 5, false,
      {{"layout", "patches"}, {"codec", codec}, {"patch_edge", "16"}, {"buffer_limit", "256k"}});
  const DimId t = ds->def_dim("time", 0), dz = ds->def_dim("z", cube[0]),
              dy = ds->def_dim("y", cube[1]), dx = ds->def_dim("x", cube[2]);
  ds->def_var("rho", Type::float32, std::array{t, dz, dy, dx});
  ds->def_var("flat", Type::float64, std::array{dy, dx});
  ds->def_var("z", Type::float64, std::array{dz});
  ds->def_var("y", Type::float64, std::array{dy});
  ds->def_var("x", Type::float32, std::array{dx});
  ds->def_var("time", Type::float64, std::array{t});
  ds->def_var("mask", Type::int32, std::array{dy, dx});
  ds->def_var("n", Type::int32, {});
  ds->put_attribute(global_id, text_attribute("title", "levels"));
  ds->put_attribute(rho, text_attribute("units", "kg m-3"));
  ds->enddef();
  const auto values = [](Count n, auto&& f) {
    std::vector<double> all(static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = f(static_cast<double>(i));
    return all;
  };
  put(*ds, rho, values(patch_records * cube[0] * cube[1] * cube[2], [](double i) {
    return std::sin(i / 50) + i / 1e5;
  }));
  put(*ds, flat, values(cube[1] * cube[2], [](double i) { return std::cos(i / 30); }));
  for (int d = 0; d < 3; ++d)
    put(*ds, z + d, values(cube[static_cast<std::size_t>(d)], [](double i) { return 10 * i; }));
  put(*ds, times, values(patch_records, [](double i) { return i; }));
  put(*ds, mask, values(cube[1] * cube[2], [](double i) { return i; }));
  put(*ds, number, {7});
  ds->close();
}

/// ⌈n / 2^level⌉
inline Count halved(Count n, int level) { return ((n - 1) >> level) + 1; }

}  // namespace forebay::patches_testing
