// Programs that write several files, for tests of bundles.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "bundles/bundle.h"

namespace forebay {
namespace bundle_testing {

/// Says which elements of a one-dimensional variable a rank writes in an operation, and the values.
struct Piece {
  int file, var;
  Count record;
  std::vector<Count> begins;  // of each rank, and the end; all values are shifted by the first
  std::int32_t value;
};

// The overlapping window contents are not used, because the files are written again in turn. But
// they are a race.
#ifdef __SANITIZE_THREAD__
constexpr bool overlaps = false;
#else
constexpr bool overlaps = true;
#endif

/// A program that writes several files; it is the same for all ways to write them.
struct Program {
  static constexpr Count elements = 3000;
  int files = 1;
  std::vector<int> vars;  // of each file; odd ones have records
  std::vector<Piece> pieces;
  bool chunked = false;  // except the third variable of each file

  Program(unsigned seed, int ranks, int most_files) {
    std::mt19937 random(seed);
    files = 1 + static_cast<int>(random() % static_cast<unsigned>(most_files));
    for (int f = 0; f < files; ++f) vars.push_back(static_cast<int>(random() % 4));
    for (int f = 0; f < files; ++f) {
      if (vars[static_cast<std::size_t>(f)] == 0) continue;
      const bool often = random() % 3 == 0;
      for (unsigned n = random() % (often ? 9 : 2) + 1; n > 0; --n) {
        Piece piece{
            f,
            static_cast<int>(random() % static_cast<unsigned>(vars[static_cast<std::size_t>(f)])),
            0,
            {},
            static_cast<std::int32_t>(random())};
        if (piece.var % 2 == 1) piece.record = random() % 4;
        const Count most = random() % 5 == 0 ? 30 : elements;
        piece.begins.push_back(random() % (elements - most + 1));
        const Count end = piece.begins[0] + most;
        for (int r = 0; r < ranks; ++r) {
          const Count left = end - piece.begins.back();
          // Some ranks have nothing.
          const Count length = random() % 4 == 0 ? 0 : random() % (2 * left / ranks + 2);
          piece.begins.push_back(piece.begins.back() + std::min(length, left));
        }
        const bool again = std::any_of(pieces.begin(), pieces.end(), [&](const Piece& p) {
          return p.file == piece.file && p.var == piece.var && p.record == piece.record;
        });
        if (overlaps || !again) pieces.push_back(piece);
      }
    }
  }

  void define(Dataset& ds, int file) const {
    const DimId time = ds.def_dim("time", 0), x = ds.def_dim("x", elements);
    for (int v = 0; v < vars[static_cast<std::size_t>(file)]; ++v) {
      const std::string name = "v" + std::to_string(v);
      const VarId id = v % 2 == 1 ? ds.def_var(name, Type::int32, std::array{time, x})
                                  : ds.def_var(name, Type::int32, std::array{x});
      if (!chunked || v == 2) continue;
      ds.set_filter(id, "zstd");
      if (file % 2 == 1) continue;  // the writes decide its shape
      v % 2 == 1 ? ds.set_chunk(id, std::array<Count, 2>{1, 700})
                 : ds.set_chunk(id, std::array<Count, 1>{500});
    }
    ds.enddef();
  }

  static void write(Dataset& ds, const Piece& piece, int rank, int ranks) {
    // Ranks change places from one operation to the next, so that operations overlap.
    const auto r = static_cast<std::size_t>((rank + piece.value % ranks + ranks) % ranks);
    const Count start = piece.begins[r], count = piece.begins[r + 1] - start;
    std::vector<std::int32_t> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = piece.value + static_cast<std::int32_t>(i);
    Request request;
    request.var = piece.var;
    request.write = true;
    const bool record = piece.var % 2 == 1;
    request.selection =
        record ? Subarray{{piece.record, start}, {1, count}, {}} : Subarray{{start}, {count}, {}};
    request.last_record = record && count > 0 ? piece.record + 1 : 0;
    request.elements = count;
    request.memory.data = reinterpret_cast<std::byte*>(values.data());
    request.memory.type = Type::int32;
    std::vector<Request> list;
    if (count > 0) list.push_back(std::move(request));
    ds.execute(list, true);
    std::fill(values.begin(), values.end(), -1);
  }

  static std::string path_of(const std::string& prefix, int file) {
    return prefix + std::to_string(file) + ".nc";
  }

  /// Collective. Writes each file by itself.
  void write_apart(const Comm& comm, const std::string& prefix) const {
    for (int f = 0; f < files; ++f) {
      const HintMap hints{{"stage", "direct"}, {"chunk_bytes", "2k"}};
      auto ds = Dataset::create(comm, path_of(prefix, f), 5, false, hints);
      define(*ds, f);
      for (const Piece& piece : pieces)
        if (piece.file == f) write(*ds, piece, comm.rank(), comm.size());
      ds->close();
    }
  }

  /// Collective. Returns the bundle's plan.
  std::string write_bundle(const Comm& comm, const std::string& prefix,
                           const HintMap& hints) const {
    std::vector<std::unique_ptr<Dataset>> members;
    std::unique_ptr<Bundle> bundle;
    for (int f = 0; f < files; ++f) {
      auto ds = Dataset::create(comm, path_of(prefix, f), 5, false, hints);
      if (!bundle) bundle = std::make_unique<Bundle>(comm, "b", 1, bundle_options(ds->method()));
      if (!bundle->add(*ds)) throw Error(Errc::einval, ds->path() + " cannot wait");
      define(*ds, f);
      members.push_back(std::move(ds));
    }
    for (const Piece& piece : pieces)
      write(*members[static_cast<std::size_t>(piece.file)], piece, comm.rank(), comm.size());
    for (auto& member : members) bundle->close(std::move(member));
    bundle->complete();
    bundle->tell();
    return bundle->plan_json();
  }
};

inline std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Returns all values of a file, by variable, each followed by its chunk shape.
inline std::vector<std::vector<std::int32_t>> values_of(const std::string& path) {
  std::vector<std::vector<std::int32_t>> all;
  auto ds = Dataset::open(Comm(), path, false, {});
  const Schema& schema = ds->schema();
  for (std::size_t v = 0; v < schema.vars.size(); ++v) {
    const bool record = schema.vars[v].is_record;
    auto& values = all.emplace_back(
        static_cast<std::size_t>((record ? schema.numrecs : 1) * Program::elements));
    if (values.empty()) continue;
    std::vector<Request> list(1);
    list[0].var = static_cast<VarId>(v);
    list[0].selection = record ? Subarray{{0, 0}, {schema.numrecs, Program::elements}, {}}
                               : Subarray{{0}, {Program::elements}, {}};
    list[0].elements = std::ssize(values);
    list[0].memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
    ds->execute(list, true);
    if (const auto& chunking = schema.vars[v].chunking)
      all.emplace_back(chunking->shape.begin(), chunking->shape.end());
  }
  ds->close();
  return all;
}

/// Writes rows of which each rank has a part, so that all ranks have a piece of each window.
inline void put_rows(Dataset& ds, Count rows) {
  constexpr Count width = 16;
  const Comm& comm = ds.comm();
  const VarId var = ds.def_var(
      "v", Type::int32, std::array{ds.def_dim("y", rows), ds.def_dim("x", width * comm.size())});
  ds.enddef();
  std::vector<std::int32_t> values(static_cast<std::size_t>(rows * width), comm.rank());
  std::vector<Request> list(1);
  list[0].var = var;
  list[0].write = true;
  list[0].selection = Subarray{{0, width * comm.rank()}, {rows, width}, {}};
  list[0].elements = rows * width;
  list[0].memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
  ds.execute(list, true);
}

/// Collective. Writes a bundle of files of so many bytes by put_rows(). Their values begin at the
/// second window of 12 KiB. Returns the bundle's plan.
inline std::string write_rows(const Comm& comm, const std::string& prefix,
                              std::span<const std::int64_t> bytes, HintMap hints) {
  hints["nc_header_align_size"] = "12288";
  std::vector<std::unique_ptr<Dataset>> files;
  std::unique_ptr<Bundle> bundle;
  for (std::size_t f = 0; f < bytes.size(); ++f) {
    const std::string path = Program::path_of(prefix, static_cast<int>(f));
    auto ds = Dataset::create(comm, path, 5, false, hints);
    if (!bundle) bundle = std::make_unique<Bundle>(comm, "b", 1, bundle_options(ds->method()));
    if (!bundle->add(*ds)) throw Error(Errc::einval, path + " cannot wait");
    put_rows(*ds, bytes[f] / (64 * comm.size()));
    files.push_back(std::move(ds));
  }
  bundle->complete();
  std::string told = bundle->plan_json();
  for (auto& file : files) bundle->close(std::move(file));
  bundle->complete();
  bundle->tell();
  return told;
}

/// Local. Returns whether a file has what write_rows() wrote on so many ranks.
inline bool rows_are_whole(const std::string& prefix, int file, std::int64_t bytes, int ranks) {
  auto ds = Dataset::open(Comm(), Program::path_of(prefix, file), false, {});
  std::vector<std::int32_t> values(static_cast<std::size_t>(bytes / 4), -1);
  std::vector<Request> list(1);
  list[0].selection = Subarray{{0, 0}, {bytes / (64 * ranks), 16 * ranks}, {}};
  list[0].elements = std::ssize(values);
  list[0].memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
  ds->execute(list, true);
  ds->close();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != static_cast<int>(i / 16) % ranks) return false;
  return true;
}

}  // namespace bundle_testing
}  // namespace forebay
