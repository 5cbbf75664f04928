// Layout patches through the engine: ranks as threads, read on other numbers of ranks, at every
// level.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "array/chunk_grid.h"
#include "codec/pipeline.h"
#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "files/classic_file.h"
#include "layout/classic_part.h"
#include "method/parts_testing.h"

namespace forebay {
namespace patches_ranks_test {

// rho(time, z, y, x) is float, and e(c, z, y) is double: each component has patches of its own.
constexpr std::array<Count, 3> cube{21, 45, 50};
constexpr Count records = 2, components = 3;

float rho(Count t, Count z, Count y, Count x) {
  return static_cast<float>(10 * static_cast<double>(t) + std::sin(0.1 * static_cast<double>(x)) +
                            std::cos(0.2 * static_cast<double>(y + z)));
}
double e(Count c, Count z, Count y) {
  if (c == 1 && z < 8 && y < 16) return std::numeric_limits<double>::quiet_NaN();
  return std::exp(-0.01 * static_cast<double>((z - 10) * (z - 10) + (y - 20) * (y - 20))) +
         static_cast<double>(c);
}

HintMap hints(const char* codec, const char* order) {
  return {{"layout", "patches"},   {"codec", codec},      {"patch_edge", "8"},
          {"buffer_limit", "64k"}, {"window_size", "4k"}, {"patch_order", order},
          {"ranks_per_node", "2"}, {"chunk_cache", "4k"}};
}

template <typename T>
Request request(VarId var, bool write, std::vector<T>& data, std::vector<Count> start,
                std::vector<Count> count, int level = 0) {
  Request r;
  r.var = var;
  r.write = write;
  r.selection = Subarray{std::move(start), std::move(count), {}};
  r.elements = std::get<Subarray>(r.selection).elements();
  data.resize(static_cast<std::size_t>(r.elements));
  r.memory.data = reinterpret_cast<std::byte*>(data.data());
  r.memory.type = sizeof(T) == 4 ? Type::float32 : Type::float64;
  r.level = level;
  return r;
}

std::string path_of(const std::string& name) {
  return ::testing::TempDir() + "/forebay_patches_" + name + ".nc";
}

void write(const std::string& path, int ranks, const HintMap& chosen) {
  run_as_threads(ranks, [&](const Comm& comm) {
    auto ds = Dataset::create(comm, path, 5, false, chosen);
    const DimId t = ds->def_dim("time", 0), c = ds->def_dim("c", components);
    const DimId z = ds->def_dim("z", cube[0]), y = ds->def_dim("y", cube[1]),
                x = ds->def_dim("x", cube[2]);
    const VarId rho_id = ds->def_var("rho", Type::float32, std::array{t, z, y, x});
    const VarId e_id = ds->def_var("e", Type::float64, std::array{c, z, y});
    ds->enddef();
    // Rows do not match patches; the last rank has none.
    const Count holders = std::max(1, comm.size() - 1);
    const Count first = comm.rank() < holders ? cube[1] * comm.rank() / holders : cube[1];
    const Count last = comm.rank() < holders ? cube[1] * (comm.rank() + 1) / holders : cube[1];
    for (Count n = 0; n < records; ++n) {
      std::vector<float> a;
      std::vector<double> b;
      std::vector<Request> both;
      both.push_back(
          request(rho_id, true, a, {n, 0, first, 0}, {1, cube[0], last - first, cube[2]}));
      both.back().last_record = n + 1;
      std::size_t i = 0;
      for (Count k = 0; k < cube[0]; ++k)
        for (Count j = first; j < last; ++j)
          for (Count l = 0; l < cube[2]; ++l) a[i++] = rho(n, k, j, l);
      if (n == 0) {
        both.push_back(request(e_id, true, b, {0, 0, first}, {components, cube[0], last - first}));
        i = 0;
        for (Count m = 0; m < components; ++m)
          for (Count k = 0; k < cube[0]; ++k)
            for (Count j = first; j < last; ++j) b[i++] = e(m, k, j);
      }
      ds->execute(both, true);
    }
    ds->close();
  });
}

/// Returns a level of a variable as one rank reads it.
template <typename T>
std::vector<T> level_of(Dataset& ds, VarId var, int level, bool collective) {
  const Variable& whole = ds.schema().vars[static_cast<std::size_t>(var)];
  std::vector<Count> count = level == 0 ? whole.shape : at_level(whole, level).shape;
  if (whole.is_record) count[0] = ds.schema().numrecs;
  std::vector<T> data;
  std::vector<Request> one;
  one.push_back(request(var, false, data, std::vector<Count>(count.size(), 0), count, level));
  ds.execute(one, collective);
  return data;
}

template <typename T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

TEST(Patches, are_the_same_at_every_level_whoever_writes_and_reads) {
  for (const char* codec : {"shuffle,zstd:1", "zfp:relative=1e-3"}) {
    const bool exact = codec[0] == 's';
    const std::string one = path_of("one");
    write(one, 1, hints(codec, "level"));
    for (const int writers : {3, 4, 7}) {
      const std::string path = path_of("many");
      write(path, writers, hints(codec, writers == 4 ? "patch" : "level"));
      for (const int readers : {1, 4}) {
        run_as_threads(readers, [&](const Comm& comm) {
          auto ds = Dataset::open(comm, path, false, hints(codec, "level"));
          auto alone = Dataset::open(Comm(), one, false, hints(codec, "level"));
          for (int level = 0; level <= 1; ++level) {
            const auto a = level_of<float>(*ds, 0, level, true);
            const auto b = level_of<double>(*ds, 1, level, true);
            EXPECT_TRUE(same_bits(a, level_of<float>(*alone, 0, level, true))) << level;
            EXPECT_TRUE(same_bits(b, level_of<double>(*alone, 1, level, true))) << level;
            if (level > 0) continue;
            double worst = 0;
            std::size_t i = 0;
            for (Count t = 0; t < records; ++t)
              for (Count k = 0; k < cube[0]; ++k)
                for (Count j = 0; j < cube[1]; ++j)
                  for (Count l = 0; l < cube[2]; ++l, ++i)
                    worst = std::max(worst, std::fabs(static_cast<double>(a[i] - rho(t, k, j, l))));
            // The values of a record, which are written together, have a range of about 4.
            EXPECT_LE(worst, exact ? 0 : 4.1e-3);
            if (!exact) EXPECT_GT(worst, 1e-5);
            i = 0;
            for (Count m = 0; m < components; ++m)
              for (Count k = 0; k < cube[0]; ++k)
                for (Count j = 0; j < cube[1]; ++j, ++i)
                  if (std::isnan(e(m, k, j)))
                    ASSERT_TRUE(std::isnan(b[i]));
                  else
                    ASSERT_NEAR(b[i], e(m, k, j), exact ? 0 : 3.1e-3);
          }
          ds->begin_independent();
          if (comm.rank() == comm.size() - 1)
            EXPECT_TRUE(
                same_bits(level_of<float>(*ds, 0, 1, false), level_of<float>(*alone, 0, 1, true)));
          ds->end_independent();
          alone->close();
          ds->close();
        });
      }
      std::filesystem::remove(path);
    }
    std::filesystem::remove(one);
  }
}

// Values written within a bound keep it when values of a larger range are written into the same
// chunk: the errors of the two encodings add up, no more.
TEST(Patches, old_values_of_a_chunk_keep_the_bound_that_they_were_written_with) {
  for (const char* layout : {"patches", "chunked"}) {
    for (const char* cache : {"0", "4M"}) {
      const std::string path = path_of("merged");
      auto chosen = hints("zfp:relative=1e-2", "level");
      chosen["layout"] = layout;
      chosen["patch_edge"] = "16";
      chosen["chunk_size"] = "16k";
      chosen["chunk_cache"] = cache;
      run_as_threads(3, [&](const Comm& comm) {
        auto ds = Dataset::create(comm, path, 5, false, chosen);
        const DimId z = ds->def_dim("z", 16), y = ds->def_dim("y", 16), x = ds->def_dim("x", 48);
        const VarId v = ds->def_var("v", Type::float32, std::array{z, y, x});
        ds->enddef();
        const auto value = [](Count k, Count j, Count l) {
          const double wave =
              std::sin(0.3 * static_cast<double>(l)) + std::cos(0.2 * static_cast<double>(j));
          return static_cast<float>(k < 8 ? wave : 1e6 * wave);
        };
        for (const Count first : {0, 8}) {
          std::vector<float> data;
          std::vector<Request> one;
          const Count count = comm.rank() == 1 ? 8 : 0;
          one.push_back(request(v, true, data, {first, 0, 0}, {count, 16, 48}));
          std::size_t i = 0;
          for (Count k = first; k < first + count; ++k)
            for (Count j = 0; j < 16; ++j)
              for (Count l = 0; l < 48; ++l) data[i++] = value(k, j, l);
          ds->execute(one, true);
        }
        const auto all = level_of<float>(*ds, v, 0, true);
        double worst = 0, later = 0;
        std::size_t i = 0;
        for (Count k = 0; k < 16; ++k)
          for (Count j = 0; j < 16; ++j)
            for (Count l = 0; l < 48; ++l, ++i) {
              const double error =
                  std::fabs(static_cast<double>(all[i]) - static_cast<double>(value(k, j, l)));
              (k < 8 ? worst : later) = std::max(k < 8 ? worst : later, error);
            }
        EXPECT_LE(worst, 2 * 4e-2) << layout;
        EXPECT_LE(later, 4e4) << layout;
        ds->close();
      });
    }
  }
}

// Puts of planes, each within the bound: the errors of many encodings of a patch do not add up. A
// flush of a log in several batches makes such puts.
TEST(Patches, keep_their_bound_however_often_parts_are_put) {
  constexpr Count edge = 16;
  const auto value = [](Count k, Count j, Count l) {
    return static_cast<float>(std::sin(0.3 * static_cast<double>(k)) * static_cast<double>(j) +
                              static_cast<double>((k * 7 + j * 13 + l * 29) % 11) * 0.03);
  };
  for (const char* stage : {"direct", "memory", "burst"}) {
    if (!is_built(std::string("stage=") + stage)) continue;
    const std::string path = path_of("planes");
    auto chosen = hints("zfp:accuracy=0.01", "level");
    chosen["patch_edge"] = "16";
    chosen["stage"] = stage;
    chosen["nc_burst_buf_flush_buffer_size"] = "8k";
    chosen["buffer_limit"] = "16k";
    run_as_threads(3, [&](const Comm& comm) {
      auto ds = Dataset::create(comm, path, 5, false, chosen);
      const DimId z = ds->def_dim("z", edge), y = ds->def_dim("y", edge), x = ds->def_dim("x", 48);
      const VarId v = ds->def_var("v", Type::float32, std::array{z, y, x});
      ds->enddef();
      // When all are there, half of them are put again: a cut part stays.
      for (Count put = 0; put < edge + edge / 2; ++put) {
        const Count k = put % edge;
        std::vector<float> data;
        std::vector<Request> one;
        const Count count = comm.rank() == k % 3 ? 1 : 0;
        one.push_back(request(v, true, data, {k, 0, 0}, {count, edge, 48}));
        for (std::size_t i = 0; i < data.size(); ++i)
          data[i] = value(k, static_cast<Count>(i) / 48, static_cast<Count>(i) % 48);
        ds->execute(one, true);
      }
      ds->close();
    });
    auto ds = Dataset::open(Comm(), path, false, {});
    const auto all = level_of<float>(*ds, 0, 0, true);
    ds->close();
    double worst = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto at = static_cast<Count>(i);
      const double wanted = value(at / (48 * edge), at / 48 % edge, at % 48);
      worst = std::max(worst, std::fabs(static_cast<double>(all[i]) - wanted));
    }
    EXPECT_LE(worst, 0.01) << stage;
    EXPECT_GT(worst, 1e-3) << stage << ": patches that are complete go through zfp";
    std::filesystem::remove(path);
  }
}

// Lossy codecs take elements in the machine's order. Here they come converted, in external form, in
// messages, independently, or as fill values among others. The stored bytes depend on the values
// alone.
TEST(Patches, lossy_ones_are_the_same_in_whatever_form_their_values_come) {
  constexpr std::array<Count, 3> shape{24, 16, 40};
  constexpr Count put = 13;  // planes: cuts patches in two
  const auto value = [](Count k, Count j, Count l) {
    return static_cast<float>(std::sin(0.3 * static_cast<double>(k)) * static_cast<double>(j) +
                              0.01 * static_cast<double>(l));
  };
  for (const char* layout : {"patches", "chunked"})
    for (const char* codec : {"zfp:accuracy=0.01", "zfp:relative=1e-3"}) {
      std::vector<std::vector<float>> found;
      for (const auto& [ranks, alone] : {std::pair{1, false}, {3, false}, {3, true}}) {
        const std::string path = path_of("forms");
        auto chosen = hints(codec, "level");
        chosen["layout"] = layout;
        run_as_threads(ranks, [&](const Comm& comm) {
          auto ds = Dataset::create(comm, path, 5, false, chosen);
          std::array<DimId, 3> dims{};
          for (std::size_t d = 0; d < 3; ++d)
            dims[d] = ds->def_dim(std::string(1, "zyx"[d]), shape[d]);
          const VarId v = ds->def_var("v", Type::float32, dims);
          const std::array<Count, 3> same_chunk{8, 8, 8};
          if (std::string(layout) == "chunked") ds->set_chunk(v, same_chunk);
          ds->enddef();
          const Count first = put * comm.rank() / ranks, last = put * (comm.rank() + 1) / ranks;
          std::vector<float> floats;
          std::vector<double> doubles;
          const auto fill = [&](auto& data) {
            std::vector<Request> one;
            one.push_back(
                request(v, true, data, {first, 0, 0}, {last - first, shape[1], shape[2]}));
            std::size_t i = 0;
            for (Count k = first; k < last; ++k)
              for (Count j = 0; j < shape[1]; ++j)
                for (Count l = 0; l < shape[2]; ++l) data[i++] = value(k, j, l);
            ds->execute(one, !alone);
          };
          if (alone) ds->begin_independent();
          comm.rank() == 1 ? fill(doubles) : fill(floats);
          if (alone) ds->end_independent();
          ds->close();
        });
        auto ds = Dataset::open(Comm(), path, false, {});
        found.push_back(level_of<float>(*ds, 0, 0, true));
        ds->close();
        std::filesystem::remove(path);
      }
      EXPECT_EQ(found[0], found[1]) << layout << " " << codec;
      EXPECT_EQ(found[0], found[2]) << layout << " " << codec;
      std::size_t i = 0;
      for (Count k = 0; k < shape[0]; ++k)
        for (Count j = 0; j < shape[1]; ++j)
          for (Count l = 0; l < shape[2]; ++l, ++i) {
            if (k < put)
              ASSERT_NEAR(found[0][i], value(k, j, l), 0.031) << layout << " " << codec << " " << i;
            else
              ASSERT_EQ(found[0][i], 9.9692099683868690e+36F) << layout << " " << codec << " " << i;
          }
    }
}

// Every rank but one owns equally many patches.
TEST(Patches, are_dealt_out_evenly) {
  const std::string path = path_of("even");
  Method method = choose_method(path, hints("shuffle,zstd:1", "level"));
  const std::string report = ::testing::TempDir() + "/forebay_patches.json";
  method.report = "json:" + report;
  run_as_threads(5, [&](const Comm& comm) {
    auto ds = Dataset::create_by(comm, path, 5, false, method);
    const DimId y = ds->def_dim("y", 80), x = ds->def_dim("x", 64);
    const VarId v = ds->def_var("v", Type::float32, std::array{y, x});
    ds->enddef();
    // Two ranks have all the data.
    std::vector<float> data;
    std::vector<Request> one;
    if (comm.rank() < 2) {
      one.push_back(request(v, true, data, {40 * comm.rank(), 0}, {40, 64}));
      for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 91);
    }
    ds->execute(one, true);
    ds->close();
  });
  const auto owners = nlohmann::json::parse(std::ifstream(report))["chunk_owners"]["v"];
  std::array<int, 5> of{};
  for (const int owner : owners) ++of.at(static_cast<std::size_t>(owner));
  for (const int n : of) EXPECT_EQ(n, 16);
  std::filesystem::remove(report);
  std::filesystem::remove(path);
}

// A chunk has three parts: only the last part of the last chunk is on the second page of the index.
TEST(Patches, a_page_whose_entries_have_all_gone_is_none) {
  const std::string path = path_of("page");
  HintMap chosen = hints("shuffle,zstd:1", "level");
  chosen["patch_edge"] = "16";
  constexpr Count chunks = 171, edge = 16;
  run_as_threads(2, [&](const Comm& comm) {
    const auto put = [&](Dataset& ds, Count first, Count count, bool constant) {
      std::vector<float> data;
      std::vector<Request> one;
      if (comm.is_root())
        one.push_back(request(0, true, data, {first * edge, 0}, {count * edge, edge}));
      for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = constant ? 7.0F : static_cast<float>(i * i % 1009);
      ds.execute(one, true);
    };
    auto ds = Dataset::create(comm, path, 5, false, chosen);
    ds->def_var("v", Type::float32,
                std::array{ds->def_dim("y", chunks * edge), ds->def_dim("x", edge)});
    ds->enddef();
    put(*ds, 0, chunks, false);
    ds->close();
    ds = Dataset::open(comm, path, true, chosen);
    put(*ds, chunks - 1, 1, true);
    ds->close();
    ds = Dataset::open(comm, path, true, chosen);
    const auto all = level_of<float>(*ds, 0, 0, true);
    EXPECT_EQ(all.back(), 7.0F);
    EXPECT_EQ(all[30], static_cast<float>(900));
    put(*ds, chunks - 1, 1, false);
    ds->close();
    ds = Dataset::open(comm, path, false, chosen);
    EXPECT_EQ(level_of<float>(*ds, 0, 0, true).back(), static_cast<float>(255 * 255 % 1009));
    ds->close();
  });
  std::filesystem::remove(path);
}

// Staged writes select elements of the variable, not of a coarser level.
TEST(Patches, levels_are_those_of_the_file_while_writes_are_staged) {
  if (!is_built("stage=burst")) GTEST_SKIP() << "it is of a wing";
  const std::string path = path_of("staged");
  HintMap chosen = hints("shuffle,zstd:1", "level");
  chosen.insert({{"stage", "burst"}, {"nc_burst_buf_dirname", ::testing::TempDir()}});
  write(path, 2, chosen);
  run_as_threads(2, [&](const Comm& comm) {
    auto ds = Dataset::open(comm, path, true, chosen);
    const auto before = level_of<float>(*ds, 0, 1, true);
    ds->begin_independent();
    std::vector<float> data;
    std::vector<Request> one;
    one.push_back(request(0, true, data, {0, 0, 0, 0}, {1, 4, 40, 40}));
    std::fill(data.begin(), data.end(), 1000.0F);
    if (comm.is_root()) ds->execute(one, false);
    EXPECT_TRUE(same_bits(level_of<float>(*ds, 0, 1, false), before));
    ds->end_independent();
    ds->flush();
    EXPECT_FALSE(same_bits(level_of<float>(*ds, 0, 1, true), before));
    ds->close();
  });
  std::filesystem::remove(path);
}

TEST(Patches, a_report_tells_that_a_file_was_read_at_a_level) {
  const std::string path = path_of("told"), report = ::testing::TempDir() + "/forebay_level.json";
  write(path, 1, hints("shuffle,zstd:1", "level"));
  Method method = choose_method(path, {{"read_level", "1"}});
  method.report = "json:" + report;
  run_as_threads(2,
                 [&](const Comm& comm) { Dataset::open_by(comm, path, false, method)->close(); });
  const auto reasons = nlohmann::json::parse(std::ifstream(report))["reasons"];
  EXPECT_EQ(reasons.back(),
            "read at level 1: 2 variables in patches, of the others every 2nd element");
  std::filesystem::remove(report);
  std::filesystem::remove(path);
}

/// Returns the bytes of each data file after its head, by its number.
std::map<int, std::int64_t> data_bytes(const std::string& folder) {
  std::map<int, std::int64_t> bytes;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string name = file.path().filename().string();
    if (name.find_first_not_of("0123456789") == std::string::npos)
      bytes[std::stoi(name)] = static_cast<std::int64_t>(file.file_size()) - 4096;
  }
  return bytes;
}

HintMap hints_of_files(const char* codec, const char* order, int subfile_ranks) {
  HintMap chosen = hints(codec, order);
  chosen.insert({{"subfiling", "ranks"}, {"subfile_ranks", std::to_string(subfile_ranks)}});
  return chosen;
}

void expect_equal_files(const std::string& path, const std::string& other, int readers) {
  run_as_threads(readers, [&](const Comm& comm) {
    auto ds = Dataset::open(comm, path, false, {});
    auto alone = Dataset::open(Comm(), other, false, {});
    for (int level = 0; level <= 1; ++level) {
      EXPECT_TRUE(
          same_bits(level_of<float>(*ds, 0, level, true), level_of<float>(*alone, 0, level, true)))
          << level;
      EXPECT_TRUE(same_bits(level_of<double>(*ds, 1, level, true),
                            level_of<double>(*alone, 1, level, true)))
          << level;
    }
    alone->close();
    ds->close();
  });
}

// buffer_limit is so small that there are many rounds, and that a round takes several windows per
// file.
TEST(Patches, are_the_same_in_several_files) {
  const std::string one = path_of("one");
  write(one, 1, hints("shuffle,zstd:1", "level"));
  struct Case {
    int ranks, subfile_ranks, files;
    const char* order;
    bool in_directory;
    const char* buffer_limit;
  };
  for (const Case& c : {Case{1, 1, 1, "level", false, "64k"}, Case{3, 1, 3, "level", false, "8k"},
                        Case{4, 3, 2, "patch", false, "64k"}, Case{4, 2, 2, "level", true, "4M"},
                        Case{7, 2, 4, "level", false, "4M"}, Case{7, 9, 1, "level", true, "16k"}}) {
    const std::string path = path_of("files" + std::to_string(c.ranks));
    HintMap chosen = hints_of_files("shuffle,zstd:1", c.order, c.subfile_ranks);
    if (c.in_directory) chosen["container"] = "directory";
    chosen["buffer_limit"] = c.buffer_limit;
    write(path, c.ranks, chosen);
    const std::string folder = c.in_directory ? path : path + ".subfiles";
    const auto bytes = data_bytes(folder);
    EXPECT_EQ(std::ssize(bytes), c.files) << c.ranks;
    for (const auto& [number, its] : bytes) {
      EXPECT_LT(number, c.files);
      EXPECT_GT(its, 0) << number;
    }
    for (const int readers : {1, 3}) expect_equal_files(path, one, readers);
    remove_whole(path);
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_FALSE(std::filesystem::exists(folder));
  }
  std::filesystem::remove(one);
}

// Half of the field is constant, and one rank has most of the bytes.
TEST(Patches, go_to_files_by_their_sizes) {
  const std::string path = path_of("balance");
  HintMap chosen = hints_of_files("zfp:accuracy=1e-3", "level", 1);
  chosen["buffer_limit"] = "64M";
  constexpr int ranks = 4;
  constexpr Count edge = 64, patch_bytes = 8 * 8 * 8 * sizeof(float);
  for (const char* files : {"balanced", "groups"}) {
    chosen["patch_files"] = files;
    run_as_threads(ranks, [&](const Comm& comm) {
      auto ds = Dataset::create(comm, path, 5, false, chosen);
      const DimId z = ds->def_dim("z", edge), y = ds->def_dim("y", edge),
                  x = ds->def_dim("x", edge);
      const VarId v = ds->def_var("v", Type::float32, std::array{z, y, x});
      ds->enddef();
      std::vector<float> data;
      std::vector<Request> one;
      const Count share = edge / ranks;
      one.push_back(request(v, true, data, {share * comm.rank(), 0, 0}, {share, edge, edge}));
      for (std::size_t i = 0; i < data.size(); ++i)
        data[i] = comm.rank() != 1 ? 1.0F : static_cast<float>(i * 7919 % 10007);
      ds->execute(one, true);
      ds->close();
    });
    const auto bytes = data_bytes(path + ".subfiles");
    ASSERT_EQ(std::ssize(bytes), ranks);
    std::int64_t total = 0, most = 0;
    for (const auto& [number, its] : bytes) {
      total += its;
      most = std::max(most, its);
    }
    if (files[0] == 'b')
      EXPECT_LE(most, total / ranks + patch_bytes + 512 * 8) << "padding of parts counts";
    else
      EXPECT_GT(most, total / ranks + 4 * patch_bytes);
  }
  remove_whole(path);
}

/// The numbers of the data files that a region of a variable needs.
std::set<std::uint32_t> files_for(const std::string& path, const std::string& var,
                                  const Subarray& region) {
  Report report;
  std::set<std::uint32_t> numbers;
  for (const NeededFile& file : files_of_region(path, var, region, report))
    if (file.box)
      numbers.insert(
          static_cast<std::uint32_t>(std::stoul(std::filesystem::path(file.path).filename())));
  EXPECT_GT(report[Counter::bytes_read], 0);
  EXPECT_LT(report[Counter::bytes_read],
            static_cast<std::int64_t>(std::filesystem::file_size(path + ".subfiles/index")) / 2)
      << "pages of the index are read";
  return numbers;
}

/// Each chunk's file must be among those that its region needs. Returns how many files are named
/// for a chunk, on the average.
double files_of_chunks(const std::string& path) {
  const ClassicFile file(path);
  Count named = 0, chunks = 0;
  for (const VarId var : {0, 1}) {
    const Variable& its = file.schema().vars[static_cast<std::size_t>(var)];
    const auto shape = file.shape(var);
    file.chunks()->each_stored(var, [&](const ChunkPlace& chunk) {
      Subarray region;
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const Count edge = its.chunking->shape[d], first = chunk.at[d] * edge;
        region.start.push_back(first);
        region.count.push_back(std::min(edge, shape[d] - first));
      }
      const auto numbers = files_for(path, its.name, region);
      EXPECT_TRUE(numbers.contains(chunk.file.value()));
      named += std::ssize(numbers);
      ++chunks;
    });
  }
  return static_cast<double>(named) / static_cast<double>(chunks);
}

TEST(Patches, a_region_needs_the_files_alone_whose_boxes_meet_it) {
  const std::string path = path_of("region");
  HintMap chosen = hints_of_files("shuffle,zstd:1", "level", 1);
  chosen["buffer_limit"] = "4M";
  write(path, 7, chosen);
  EXPECT_EQ(std::ssize(data_bytes(path + ".subfiles")), 7);
  EXPECT_LT(files_of_chunks(path), 4);
  const Subarray corner{{0, 0, 0, 0}, {2, 7, 5, 20}, {}};
  const auto needed = files_for(path, "rho", corner);
  EXPECT_GE(needed.size(), 1U);
  EXPECT_LT(needed.size(), 7U);
  const std::string away = path + ".away";
  std::filesystem::create_directory(away);
  for (const auto& [number, bytes] : data_bytes(path + ".subfiles")) {
    const auto name = "/" + std::to_string(number);
    if (!needed.contains(static_cast<std::uint32_t>(number)))
      std::filesystem::rename(path + ".subfiles" + name, away + name);
  }
  for (const int readers : {1, 3}) {
    run_as_threads(readers, [&](const Comm& comm) {
      auto ds = Dataset::open(comm, path, false, {});
      std::vector<float> data;
      std::vector<Request> one;
      one.push_back(request(0, false, data, corner.start, corner.count));
      ds->execute(one, true);
      std::size_t i = 0;
      for (Count t = 0; t < 2; ++t)
        for (Count z = 0; z < 7; ++z)
          for (Count y = 0; y < 5; ++y)
            for (Count x = 0; x < 20; ++x) EXPECT_EQ(data[i++], rho(t, z, y, x));
      EXPECT_THROW(level_of<float>(*ds, 0, 0, true), Error) << "all of it needs all files";
      ds->close();
    });
  }
  for (const auto& [number, bytes] : data_bytes(away)) {
    const auto name = "/" + std::to_string(number);
    std::filesystem::rename(away + name, path + ".subfiles" + name);
  }
  // Other ranks write on: boxes become wider, and as narrow as can be when the next program opens
  // the file to write.
  for (const int ranks : {3, 2}) {
    run_as_threads(ranks, [&](const Comm& comm) {
      auto ds = Dataset::open(comm, path, true, {{"buffer_limit", "16k"}});
      std::vector<float> data;
      std::vector<Request> one;
      const Count first = comm.is_root() ? 0 : cube[0];
      one.push_back(request(0, true, data, {1, first, 8, 8}, {1, cube[0] - first, 24, 24}));
      ds->execute(one, true);
      ds->close();
    });
    files_of_chunks(path);
  }
  std::filesystem::remove_all(away);
  remove_whole(path);
}

// Covers other numbers of ranks and files, parts of patches, later variables, and at last a file
// without data files.
TEST(Patches, in_files_are_written_again_by_other_ranks) {
  const std::string path = path_of("again"), plain = path_of("plain");
  const auto change = [](const std::string& file, int ranks, const HintMap& chosen, Count first) {
    run_as_threads(ranks, [&](const Comm& comm) {
      auto ds = Dataset::open(comm, file, true, chosen);
      ds->redef();
      const DimId y = ds->schema().find_dim("y").value(), x = ds->schema().find_dim("x").value();
      const VarId late =
          ds->def_var("late" + std::to_string(first), Type::float32, std::array{y, x});
      ds->enddef();
      std::vector<float> a, b;
      std::vector<Request> both;
      // Rows 3 to 20, on two ranks if there are so many.
      const bool alone = comm.size() == 1;
      const Count mine = alone ? 18 : comm.rank() < 2 ? 9 : 0;
      const Count row = 3 + 9 * std::min(comm.rank(), 1);
      both.push_back(request(0, true, a, {1, first, row, 3}, {1, 5, mine, 40}));
      for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 40 + 100);
      if (comm.is_root()) both.push_back(request(late, true, b, {0, 0}, {cube[1], cube[2]}));
      for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i);
      ds->execute(both, true);
      ds->close();
    });
  };
  write(path, 4, hints_of_files("shuffle,zstd:1", "level", 2));
  write(plain, 1, hints("shuffle,zstd:1", "level"));
  change(plain, 1, hints("shuffle,zstd:1", "level"), 2);
  change(path, 7, hints_of_files("shuffle,zstd:1", "patch", 2), 2);
  EXPECT_EQ(std::ssize(data_bytes(path + ".subfiles")), 4);
  expect_equal_files(path, plain, 2);
  change(plain, 2, hints("shuffle,zstd:1", "level"), 11);
  change(path, 3, {{"ranks_per_node", "2"}}, 11);
  expect_equal_files(path, plain, 3);
  write(path, 3, hints("shuffle,zstd:1", "level"));
  EXPECT_FALSE(std::filesystem::exists(path + ".subfiles"));
  std::filesystem::remove(path);
  std::filesystem::remove(plain);
}

// FOREBAY_FAULT is read only once, so it must be set at the start (storage/fault.h).
const int may_fail = ::setenv("FOREBAY_FAULT", "none", 1);
void fail(const std::string& plan) { ::setenv("FOREBAY_FAULT", plan.c_str(), 1); }

constexpr Count side = 48;
float versioned(int version, std::size_t i) {
  return static_cast<float>((i * 7919 + i * i % 101) % (version == 0 ? 10007 : 499));
}

/// Writes a version; returns the error code of each rank.
std::vector<Errc> put_version(const std::string& path, const HintMap& chosen, int version) {
  std::vector<Errc> codes(3, Errc::ok);
  run_as_threads(3, [&](const Comm& comm) {
    auto ds = version == 0 ? Dataset::create(comm, path, 5, false, chosen)
                           : Dataset::open(comm, path, true, chosen);
    if (version == 0) {
      ds->def_var("v", Type::float32, std::array{ds->def_dim("y", side), ds->def_dim("x", side)});
      ds->enddef();
    }
    std::vector<float> data;
    std::vector<Request> one;
    const Count rows = side / comm.size(), first = rows * comm.rank();
    one.push_back(request(0, true, data, {first, 0}, {rows, side}));
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = versioned(version, static_cast<std::size_t>(first * side) + i);
    const auto told = [&](auto&& f) {
      try {
        f();
      } catch (const Error& error) {
        Errc& code = codes[static_cast<std::size_t>(comm.rank())];
        if (code == Errc::ok) code = error.code();
      }
    };
    told([&] { ds->execute(one, true); });
    told([&] { ds->close(); });
  });
  fail("none");
  return codes;
}

/// Returns the version of a file, 0 or 1; -1: neither, or a mixture.
int version_of(const std::string& path) {
  auto ds = Dataset::open(Comm(), path, false, {});
  const auto found = level_of<float>(*ds, 0, 0, true);
  ds->close();
  for (const int version : {0, 1}) {
    bool is = true;
    for (std::size_t i = 0; i < found.size(); ++i) is &= found[i] == versioned(version, i);
    if (is) return version;
  }
  return -1;
}

// Each file is written by one rank, whose disk may be full: once, or from then on.
void expect_full_disks_are_told(const std::string& path, const HintMap& chosen, bool lasting) {
  int failures = 0;
  for (int rank = 0; rank < 3; ++rank) {
    for (int call = 1;; ++call) {
      ASSERT_LT(call, 200);
      put_version(path, chosen, 0);
      fail("pwrite:rank=" + std::to_string(rank) + ":call=" + std::to_string(call) +
           ":errno=ENOSPC" + (lasting ? ":from" : ""));
      const auto codes = put_version(path, chosen, 1);
      const bool failed = codes[0] != Errc::ok;
      for (const Errc code : codes) EXPECT_EQ(code, codes[0]) << rank << " " << call;
      if (failed) EXPECT_EQ(codes[0], Errc::eno_space);
      const int version = version_of(path);
      EXPECT_TRUE(version == 1 || (failed && version == 0)) << rank << " " << call;
      if (!failed) break;
      ++failures;
    }
  }
  EXPECT_GT(failures, 6);
  remove_whole(path);
}

TEST(Patches, a_writer_whose_disk_is_full_leaves_the_state_before) {
  HintMap chosen = hints_of_files("shuffle,zstd:1", "level", 1);
  chosen["buffer_limit"] = "16k";  // several rounds, and several windows in each
  expect_full_disks_are_told(path_of("full"), chosen, false);
}

// A write that fails once is repeated.
TEST(Patches, a_disk_that_stays_full_behind_the_program_is_told_by_its_close) {
  HintMap chosen = hints_of_files("shuffle,zstd:1", "level", 1);
  chosen["buffer_limit"] = "16k";
  chosen["stage"] = "async";
  expect_full_disks_are_told(path_of("full-async"), chosen, true);
}

TEST(Patches, lie_beside_the_file_that_a_link_leads_to) {
  namespace fs = std::filesystem;
  const std::string path = path_of("linked"), link = path_of("link");
  const HintMap chosen = hints_of_files("shuffle,zstd:1", "level", 1);
  fs::create_symlink(path, link);
  put_version(link, chosen, 0);
  EXPECT_EQ(version_of(path), 0);
  EXPECT_FALSE(fs::exists(link + ".subfiles"));
  put_version(path, chosen, 1);
  EXPECT_EQ(version_of(link), 1);
  put_version(link, hints("shuffle,zstd:1", "level"), 0);
  EXPECT_FALSE(fs::exists(path + ".subfiles"));
  EXPECT_EQ(version_of(path), 0);
  // A link is removed and replaced as a link: its target keeps its values.
  put_version(path, chosen, 0);
  const std::string other = path_of("other");
  put_version(other, chosen, 0);
  put_version(other, chosen, 1);
  rename_whole(other, link);
  EXPECT_FALSE(fs::is_symlink(link));
  EXPECT_EQ(version_of(link), 1);
  EXPECT_EQ(version_of(path), 0);
  remove_whole(link);
  fs::create_symlink(path, link);
  remove_whole(link);
  EXPECT_FALSE(fs::is_symlink(link));
  EXPECT_EQ(version_of(path), 0);
  remove_whole(path);
  EXPECT_FALSE(fs::exists(path + ".subfiles"));
}

TEST(Patches, are_written_anew_where_the_index_of_the_old_ones_is_lost) {
  namespace fs = std::filesystem;
  const std::string path = path_of("lost");
  const HintMap chosen = hints_of_files("shuffle,zstd:1", "level", 1);
  put_version(path, chosen, 0);
  fs::remove(path + ".subfiles/index");
  put_version(path, chosen, 0);
  EXPECT_EQ(version_of(path), 0);
  fs::remove(path + ".subfiles/index");
  put_version(path, hints("shuffle,zstd:1", "level"), 0);
  EXPECT_FALSE(fs::exists(path + ".subfiles"));
  // Files of another dataset must not be removed.
  put_version(path, chosen, 0);
  fs::remove(path + ".subfiles/index");
  const std::string other = path_of("other");
  put_version(other, chosen, 0);
  fs::copy_file(other + ".subfiles/0", path + ".subfiles/7");
  remove_whole(other);
  remove_whole(path);
  EXPECT_TRUE(fs::exists(path + ".subfiles/7"));
  EXPECT_FALSE(fs::exists(path + ".subfiles/0"));
  fs::remove_all(path + ".subfiles");
}

TEST(Patches, a_folder_with_other_things_in_it_is_left_alone) {
  const std::string path = path_of("foreign");
  std::filesystem::create_directory(path + ".subfiles");
  std::ofstream(path + ".subfiles/notes.txt") << "mine";
  run_as_threads(3, [&](const Comm& comm) {
    auto ds = Dataset::create(comm, path, 5, false, hints_of_files("zstd:1", "level", 1));
    ds->def_var("v", Type::float32, std::array{ds->def_dim("y", 64), ds->def_dim("x", 64)});
    try {
      ds->enddef();
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::eexist);
    }
    ds->abort();
  });
  EXPECT_TRUE(std::filesystem::exists(path + ".subfiles/notes.txt"));
  std::filesystem::remove_all(path + ".subfiles");
  std::filesystem::remove(path);
}

// Returns the error text of reading a box of rho at a level; empty: no error.
std::string told_of_box(Dataset& ds, const Subarray& box, int level) {
  std::vector<float> data;
  std::vector<Request> one;
  one.push_back(request(0, false, data, box.start, box.count, level));
  try {
    ds.execute(one, true);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

// One flipped bit loses one part of one patch: its level and finer ones, and the error names it.
// All other patches can be read, and so can coarser levels of this one.
TEST(Patches, a_flipped_bit_loses_a_level_of_one_patch) {
  const std::string path = path_of("flipped");
  write(path, 2, hints("shuffle,zstd:1", "level"));
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::array<int, 2> of_level{};
  for (std::size_t at = bytes.size() / 8; at < bytes.size() / 2; at += bytes.size() / 40 + 1) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    std::ofstream(path, std::ios::binary) << flipped;
    std::array<int, 2> lost{};
    run_as_threads(2, [&](const Comm& comm) {
      auto ds = Dataset::open(comm, path, false, {});
      const Variable coarse = at_level(ds->schema().vars[0], 1);
      for (Count t = 0; t < records; ++t)
        for (Count k = 0; k < cube[0]; k += 8)
          for (Count j = 0; j < cube[1]; j += 8)
            for (Count l = 0; l < cube[2]; l += 8) {
              const std::string fine = told_of_box(*ds, {{t, k, j, l}, {1, 1, 1, 1}, {}}, 0);
              const std::string rough =
                  told_of_box(*ds, {{t, k / 2, j / 2, l / 2}, {1, 1, 1, 1}, {}}, 1);
              ASSERT_LT(k / 2, coarse.shape[1]);
              if (!rough.empty()) EXPECT_NE(rough.find("level 1"), std::string::npos) << rough;
              if (!rough.empty()) EXPECT_FALSE(fine.empty());
              if (fine.empty()) continue;
              EXPECT_NE(fine.find("rho"), std::string::npos) << fine;
              EXPECT_NE(fine.find(rough.empty() ? "level 0" : "level 1"), std::string::npos)
                  << fine;
              if (comm.is_root()) ++lost[rough.empty() ? 0 : 1];
            }
      ds->close();
    });
    EXPECT_LE(lost[0] + lost[1], 1) << at;
    for (std::size_t level = 0; level < 2; ++level) of_level[level] += lost[level];
  }
  EXPECT_GT(of_level[0], 2);
  EXPECT_GT(of_level[1], 0);
  std::filesystem::remove(path);
}

// Covers axes of one to seven elements beside longer ones, more files than ranks, and ranks without
// data.
TEST(Patches, of_short_axes_come_back_from_more_files_than_ranks) {
  const std::string path = path_of("short");
  const std::vector<std::array<Count, 3>> shapes{{1, 7, 60},  {5, 3, 40}, {7, 7, 7}, {2, 33, 6},
                                                 {300, 1, 1}, {4, 6, 16}, {8, 9, 10}};
  const auto value = [](std::size_t v, std::size_t i) {
    return static_cast<float>(v) + static_cast<float>(i * 7919 % 10007) / 64;
  };
  for (const char* codec : {"shuffle,zstd:1", "zfp:accuracy=0.01"}) {
    HintMap chosen = hints(codec, "level");
    chosen.insert({{"pnetcdf_subfiling", "enable"}, {"nc_num_subfiles", "50"}});
    int patches = 0;
    run_as_threads(3, [&](const Comm& comm) {
      auto ds = Dataset::create(comm, path, 5, false, chosen);
      for (std::size_t v = 0; v < shapes.size(); ++v) {
        std::array<DimId, 3> dims{};
        for (std::size_t d = 0; d < 3; ++d)
          dims[d] = ds->def_dim(std::string(1, "zyx"[d]) + std::to_string(v), shapes[v][d]);
        ds->def_var("v" + std::to_string(v), Type::float32, dims);
      }
      ds->enddef();
      // Each variable belongs to one rank.
      std::vector<std::vector<float>> data(shapes.size());
      std::vector<Request> all;
      for (std::size_t v = 0; v < shapes.size(); ++v) {
        const bool mine = static_cast<int>(v % 3) == (comm.rank() + 1) % 3;
        const auto& n = shapes[v];
        all.push_back(request(static_cast<VarId>(v), true, data[v], {0, 0, 0},
                              {mine ? n[0] : 0, mine ? n[1] : 0, mine ? n[2] : 0}));
        for (std::size_t i = 0; i < data[v].size(); ++i) data[v][i] = value(v, i);
      }
      ds->execute(all, true);
      ds->close();
    });
    EXPECT_EQ(std::ssize(data_bytes(path + ".subfiles")), 3);
    run_as_threads(2, [&](const Comm& comm) {
      auto ds = Dataset::open(comm, path, false, {});
      for (std::size_t v = 0; v < shapes.size(); ++v) {
        const auto id = static_cast<VarId>(v);
        const auto got = level_of<float>(*ds, id, 0, true);
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_NEAR(got[i], value(v, i), codec[0] == 's' ? 0 : 0.0101) << v << " " << i;
        const auto& chunking = ds->schema().vars[v].chunking;
        const int levels = chunking ? Pipeline::parts_of(chunking->codec) - 1 : 0;
        if (comm.is_root()) patches += levels > 0 ? 1 : 0;
        for (int k = 1; k <= levels; ++k) {
          Count n = 1;
          for (const Count length : shapes[v]) n *= ((length - 1) >> k) + 1;
          EXPECT_EQ(std::ssize(level_of<float>(*ds, id, k, true)), n) << v << " " << k;
        }
      }
      ds->close();
    });
    EXPECT_EQ(patches, 6);
  }
  remove_whole(path);
}

TEST(Patches, levels_that_are_not_there_are_told_on_all_ranks) {
  const std::string path = path_of("damaged");
  write(path, 2, hints("shuffle,zstd:1", "level"));
  run_as_threads(3, [&](const Comm& comm) {
    auto ds = Dataset::open(comm, path, false, hints("none", "level"));
    std::vector<float> data;
    std::vector<Request> one;
    if (comm.rank() == 1) one.push_back(request(0, false, data, {0, 0, 0, 0}, {1, 1, 1, 1}, 9));
    try {
      ds->execute(one, true);
      ADD_FAILURE();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::einval);
    }
    ds->close();
  });
  std::filesystem::remove(path);
}

}  // namespace patches_ranks_test
}  // namespace forebay
