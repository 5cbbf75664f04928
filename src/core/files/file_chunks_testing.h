// The file with which tests of reading chunks without MPI begin.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/hash.h"
#include "dataset/dataset.h"
#include "files/classic_file.h"
#include "layout/chunked/file_chunks.h"

namespace forebay {

constexpr Count ny = 30, nx = 50, records = 5;

// T(t, y, x) is float, in chunks of 2 × 15 × 50, zstd. P(y, x) is double, in chunks of 16 × 16,
// deflate, with _FillValue; only its rows 0 to 15 are written. m(y, x) is short, not chunked. N(y,
// x) is double, chunked, incompressible.
class ChunkedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "forebay_file_chunks_" + std::to_string(::getpid()) + ".nc";
    write();
    bytes_ = load();
  }
  void TearDown() override { std::remove(path_.c_str()); }

  static double value_of(VarId var, Count element) {
    if (var == 3) return std::ldexp(static_cast<double>(element * 2654435761 % 1000003), -3);
    return std::round(1000 * std::sin(static_cast<double>(element) / 300)) + 10 * var;
  }

  void write() {
    auto ds = Dataset::create(Comm(), path_, 5, false, {});
    const DimId t = ds->def_dim("t", 0), y = ds->def_dim("y", ny), x = ds->def_dim("x", nx);
    const VarId temperature = ds->def_var("T", Type::float32, std::array{t, y, x});
    const VarId pressure = ds->def_var("P", Type::float64, std::array{y, x});
    const VarId mask = ds->def_var("m", Type::int16, std::array{y, x});
    const VarId noise = ds->def_var("N", Type::float64, std::array{y, x});
    const double fill = -1;
    ds->def_var_fill(pressure, false, &fill);
    ds->set_chunk(temperature, std::array<Count, 3>{2, 15, 50});
    ds->set_filter(temperature, "shuffle,zstd:3");
    ds->set_chunk(pressure, std::array<Count, 2>{16, 16});
    ds->set_filter(pressure, "deflate:6");
    ds->set_filter(noise, "zstd:1");
    ds->enddef();
    put(*ds, temperature, {{0, 0, 0}, {records, ny, nx}, {}});
    put(*ds, pressure, {{0, 0}, {16, nx}, {}});
    put(*ds, mask, {{0, 0}, {ny, nx}, {}});
    put(*ds, noise, {{0, 0}, {ny, nx}, {}});
    ds->sync();
    ds->close();
  }

  static void put(Dataset& ds, VarId var, Subarray part) {
    std::vector<double> values(static_cast<std::size_t>(part.elements()));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = value_of(var, static_cast<Count>(i));
    Request access;
    access.var = var;
    access.write = true;
    access.elements = part.elements();
    if (ds.variable(var).is_record) access.last_record = part.start[0] + part.count[0];
    access.selection = std::move(part);
    access.memory.data = reinterpret_cast<std::byte*>(values.data());
    access.memory.type = Type::float64;
    std::vector<Request> accesses;
    accesses.push_back(std::move(access));
    ds.execute(accesses, true);
  }

  std::string load() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void save(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  static std::vector<Count> lengths(VarId var) {
    return var == 0 ? std::vector<Count>{records, ny, nx} : std::vector<Count>{ny, nx};
  }
  static double expected(VarId var, const std::vector<Count>& index) {
    Count element = 0;
    const auto all = lengths(var);
    for (std::size_t d = 0; d < all.size(); ++d) element = element * all[d] + index[d];
    if (var == 1 && index[0] >= 16) return -1;
    return value_of(var, element);
  }

  // All values of a selection must be the written ones.
  static ::testing::AssertionResult agrees(const ClassicFile& file, VarId var,
                                           const Subarray& part) {
    const auto values = file.read_doubles(var, part);
    for (std::size_t i = 0; i < values.size(); ++i) {
      std::vector<Count> index(part.start.size());
      auto rest = static_cast<Count>(i);
      for (std::size_t d = index.size(); d-- > 0;) {
        index[d] =
            part.start[d] + rest % part.count[d] * (part.stride.empty() ? 1 : part.stride[d]);
        rest /= part.count[d];
      }
      if (values[i] != expected(var, index)) {
        return ::testing::AssertionFailure() << "variable " << var << ", element " << i << " is "
                                             << values[i] << ", not " << expected(var, index);
      }
    }
    return ::testing::AssertionSuccess();
  }
  static Subarray whole(VarId var) {
    return {std::vector<Count>(lengths(var).size(), 0), lengths(var), {}};
  }

  Errc fault(const std::function<void()>& action) {
    message_.clear();
    try {
      action();
    } catch (const Error& error) {
      message_ = error.what();
      return error.code();
    }
    return Errc::ok;
  }

  // Changes words of the header and of the newest directory, and corrects their checksums.
  void rename_everywhere(const std::string& from, const std::string& to) {
    const IndexFacts index = ClassicFile(path_).chunks()->index();
    for (auto at = bytes_.find(from); at != std::string::npos; at = bytes_.find(from, at))
      bytes_.replace(at, from.size(), to);
    for (std::size_t s = 0; s < index.slots.size(); ++s) {
      chunked::Root root = index.slots[s].root;
      if (index.slots[s].state != RootSlot::State::valid) continue;
      const auto* begin = reinterpret_cast<const std::byte*>(bytes_.data()) + root.directory.offset;
      root.directory.hash = hash_of({begin, static_cast<std::size_t>(root.directory.bytes)});
      const auto slot = chunked::print_root(root);
      bytes_.replace(
          static_cast<std::size_t>(index.root + static_cast<Offset>(s) * chunked::slot_bytes),
          slot.size(), reinterpret_cast<const char*>(slot.data()), slot.size());
    }
    save(bytes_);
  }

  // Returns the byte of the file where a chunk begins.
  std::size_t place_of(VarId var, Count chunk) const {
    const ClassicFile file(path_);
    return static_cast<std::size_t>(file.chunks()->table(var).get(chunk).offset);
  }

  std::string path_, message_, bytes_;
};

}  // namespace forebay
