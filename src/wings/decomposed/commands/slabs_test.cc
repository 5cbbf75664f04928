// Conversion of files with decomposed variables by their slabs. On any number of ranks, in rounds,
// it must give the same values as reading by boxes.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "array/convert.h"
#include "base/error.h"
#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "files/classic_file.h"
#include "files/open_source.h"
#include "files/references.h"
#include "tools/convert/convert_file.h"
#include "tools/convert/jobs.h"

namespace forebay::tools {
namespace slabs_test {

namespace fs = std::filesystem;

constexpr Count rows = 30, columns = 20, levels = 3, records = 6;
constexpr Count cells = rows * columns;
constexpr int writers = 4;

/// Returns which rank writes a cell by the first map: 0 … 3, or -1 if only the second map or no map
/// has it.
int owner(Count cell) {
  const auto n = static_cast<std::uint32_t>(cell) * 2654435761U >> 9;
  return n % 7 == 0 ? -1 : static_cast<int>(n % writers);
}

float value(VarId var, Count record, Count place) {
  return static_cast<float>(1000 * (10 * var + record) + place);
}

class SlabsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "forebay_slabs_" + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  enum Var : VarId { series, deep, fixed, filled, twice, never, plain };

  /// Writes the cells of a request, repeated on each of `layers` levels.
  static void put(Dataset& ds, VarId var, Count record, const std::vector<Count>& cells_of_rank,
                  Count layers = 1, float more = 0) {
    std::vector<float> values;
    auto list = std::make_shared<RunList>();
    const Count width = size_of(ds.variable(var).type);
    for (Count layer = 0; layer < layers; ++layer) {
      for (const Count cell : cells_of_rank) {
        const Count place = layer * cells + cell;
        values.push_back(value(var, record, place) + more);
        auto& runs = list->runs;
        if (!runs.empty() && runs.back().offset + runs.back().length == width * place)
          runs.back().length += width;
        else
          runs.push_back({width * place, width});
        list->bytes += width;
      }
    }
    std::vector<Request> requests;
    if (!values.empty()) {
      Request& r = requests.emplace_back();
      r.var = var;
      r.write = true;
      r.elements = std::ssize(values);
      if (ds.variable(var).is_record) r.last_record = record + 1;
      r.memory.data = reinterpret_cast<std::byte*>(values.data());
      r.memory.type = Type::float32;
      r.selection = Runs{list, record * layers * cells * width};
    }
    ds.execute(requests, true);
  }

  static std::vector<Count> cells_of(int rank, bool second = false) {
    std::vector<Count> mine;
    for (Count cell = 0; cell < cells; ++cell)
      if (second ? owner(cell) < 0 && cell % writers == rank : owner(cell) == rank)
        mine.push_back(cell);
    return mine;
  }

  /// Writes a file with groups of `group` ranks.
  void write(const std::string& path, int group, const char* codec = "none",
             const char* chunk_bytes = "2k") const {
    run_as_threads(writers, [&](const Comm& comm) {
      const HintMap hints{{"layout", "decomposed"},
                          {"codec", codec},
                          {"chunk_bytes", chunk_bytes},
                          {"subfiling", "ranks"},
                          {"subfile_ranks", std::to_string(group)}};
      auto ds = Dataset::create(comm, path, 5, false, hints);
      const DimId t = ds->def_dim("t", 0), z = ds->def_dim("z", levels), y = ds->def_dim("y", rows),
                  x = ds->def_dim("x", columns);
      ds->def_var("series", Type::float32, std::array{t, y, x});
      ds->def_var("deep", Type::float64, std::array{t, z, y, x});
      ds->def_var("fixed", Type::int16, std::array{y, x});
      ds->def_var("filled", Type::float32, std::array{t, y, x});
      ds->def_var("twice", Type::float32, std::array{t, y, x});
      ds->def_var("never", Type::int32, std::array{t, y, x});
      ds->def_var("plain", Type::int32, std::array{t});
      ds->enddef();
      const auto mine = cells_of(comm.rank()), rest = cells_of(comm.rank(), true);
      auto shifted = mine;
      for (Count& cell : shifted) cell = (cell + 1) % cells;
      std::sort(shifted.begin(), shifted.end());
      put(*ds, fixed, 0, mine);
      for (Count record = 0; record < records; ++record) {
        // In each record one rank has nothing. One record is written by no rank.
        const bool absent = record == 2 || comm.rank() == record % (writers + 1);
        put(*ds, series, record, absent ? std::vector<Count>{} : mine);
        put(*ds, deep, record, mine, levels);
        put(*ds, filled, record, mine);
        put(*ds, filled, record, rest);  // what no rank wrote before
        put(*ds, twice, record, mine);
        if (record == 4) put(*ds, twice, record, shifted, 1, 0.5F);
        put(*ds, plain, record, {});
      }
      ds->sync();
      ds->close();
    });
  }

  static ConvertResult convert_on(int ranks, const ConvertOptions& options) {
    ConvertResult result;
    run_as_threads(ranks, [&](const Comm& comm) {
      const ConvertResult its = convert(comm, options);
      if (comm.is_root()) result = its;
    });
    return result;
  }

  static void expect_equal(const std::string& a, const std::string& b) {
    const auto one = open_source(a), other = open_source(b);
    ASSERT_EQ(one->schema().numrecs, other->schema().numrecs);
    for (std::size_t v = 0; v < one->schema().vars.size(); ++v) {
      const auto var = static_cast<VarId>(v);
      const auto all = whole(one->shape(var));
      std::vector<std::byte> from(
          static_cast<std::size_t>(all.elements() * size_of(one->schema().vars[v].type)));
      auto to = from;
      one->read(var, all, from.data());
      other->read(var, all, to.data());
      EXPECT_EQ(from, to) << b << ": " << one->schema().vars[v].name;
    }
  }

  std::string folder_;
};

TEST_F(SlabsTest, values_are_those_that_boxes_give) {
  for (const int group : {1, 2, 4}) {
    const std::string in = at("in" + std::to_string(group) + ".nc");
    write(in, group, group == 2 ? "shuffle,zstd:1" : "none");
    for (const int ranks : {1, 2, 3, 4, -2}) {
      for (const char* layout : {"canonical", "chunked"}) {
        SCOPED_TRACE(std::to_string(group) + " ranks a group, " + std::to_string(ranks) +
                     " ranks, " + layout);
        ConvertOptions options;
        options.in = in;
        options.out = at("out.nc");
        options.keys = {{"layout", layout}, {"chunk_bytes", "2000"}, {"buffer_limit", "16k"}};
        options.force = options.verify = options.quiet = true;
        if (ranks > 0) options.round_bytes = 12000;  // else slabs are not cut
        const ConvertResult result = convert_on(std::abs(ranks), options);
        EXPECT_EQ(result.verified, 7);
        EXPECT_EQ(result.by_slabs, 5);  // all but twice and plain
        EXPECT_EQ(result.rounds >= 5, ranks > 0);
        expect_equal(in, options.out);
      }
    }
  }
}

TEST_F(SlabsTest, what_was_never_written_has_the_fill_value) {
  write(at("in.nc"), 2);
  ConvertOptions options;
  options.in = at("in.nc");
  options.out = at("out.nc");
  options.quiet = true;
  options.round_bytes = 12000;
  options.keys = {{"layout", "canonical"}};
  convert_on(2, options);
  const auto out = open_source(options.out);
  std::vector<float> got(static_cast<std::size_t>(records * cells));
  out->read(series, whole(out->shape(series)), got.data());
  const float fill = 9.9692099683868690e+36F;
  for (Count record = 0; record < records; ++record) {
    for (Count cell = 0; cell < cells; ++cell) {
      const int rank = owner(cell);
      const bool written = rank >= 0 && record != 2 && rank != record % (writers + 1);
      ASSERT_EQ(got[static_cast<std::size_t>(record * cells + cell)],
                written ? value(series, record, cell) : fill)
          << record << ' ' << cell;
    }
  }
  std::vector<std::int32_t> none(static_cast<std::size_t>(records * cells));
  out->read(never, whole(out->shape(never)), none.data());
  EXPECT_EQ(std::count(none.begin(), none.end(), -2147483647), std::ssize(none));
}

// If slabs overlap, the later write stays, in whatever order slabs come.
TEST_F(SlabsTest, of_writes_that_overlap_the_later_one_stays) {
  write(at("in.nc"), 1);
  ConvertOptions options;
  options.in = at("in.nc");
  options.out = at("out.nc");
  options.quiet = true;
  options.keys = {{"layout", "canonical"}};
  convert_on(3, options);
  const auto out = open_source(options.out);
  std::vector<float> got(static_cast<std::size_t>(cells));
  out->read(twice, {{4, 0, 0}, {1, rows, columns}, {}}, got.data());
  for (Count cell = 0; cell < cells; ++cell) {
    const int before = owner((cell + cells - 1) % cells);
    if (before < 0) continue;
    EXPECT_EQ(got[static_cast<std::size_t>(cell)], value(twice, 4, cell) + 0.5F);
  }
}

TEST_F(SlabsTest, data_files_are_no_output) {
  write(at("in.nc"), 2);
  ConvertOptions options;
  options.in = at("in.nc");
  options.out = at("out.nc");
  options.keys = {{"layout", "decomposed"}};
  options.quiet = options.force = true;
  convert_on(1, options);
  for (const char* container : {"classic", "directory"}) {
    options.out = at("out.nc.subfiles");
    options.keys = {{"layout", "decomposed"}, {"container", container}};
    const auto refused = attempt_to([&] { convert_on(1, options); });
    ASSERT_TRUE(refused);
    EXPECT_NE(refused->message().find("out.nc.subfiles is a directory"), std::string::npos)
        << refused->message();
    expect_equal(options.in, at("out.nc"));
  }
}

// Data files go with the output, and replace those that were there.
TEST_F(SlabsTest, outputs_may_be_decomposed) {
  write(at("in.nc"), 2);
  ConvertOptions options;
  options.in = at("in.nc");
  options.out = at("out.nc");
  options.quiet = options.force = true;
  options.round_bytes = 12000;
  for (const char* layout : {"decomposed", "decomposed", "canonical"}) {
    options.keys = {{"layout", layout}, {"subfiling", "ranks"}};
    convert_on(3, options);
    expect_equal(options.in, options.out);
    EXPECT_EQ(fs::exists(options.out + ".subfiles"), options.keys["layout"] == "decomposed");
  }
  for (const auto& left : fs::directory_iterator(folder_))
    EXPECT_FALSE(left.path().filename().string().starts_with(".forebay")) << left.path();
}

TEST_F(SlabsTest, a_damaged_data_file_is_told_on_all_ranks_and_leaves_no_output) {
  write(at("in.nc"), 1);
  const std::string data = at("in.nc.subfiles/2");
  fs::resize_file(data, fs::file_size(data) / 2);
  ConvertOptions options;
  options.in = at("in.nc");
  options.out = at("out.nc");
  options.quiet = true;
  options.keys = {{"layout", "canonical"}};
  run_as_threads(3, [&](const Comm& comm) {
    try {
      convert(comm, options);
      ADD_FAILURE() << "converted";
    } catch (const Error& error) {
      if (comm.is_root()) {
        EXPECT_NE(error.message().find("subfiles/2"), std::string::npos) << error.message();
      }
    }
  });
  EXPECT_FALSE(fs::exists(options.out));
  for (const auto& left : fs::directory_iterator(folder_))
    EXPECT_FALSE(left.path().filename().string().starts_with(".forebay")) << left.path();
}

// No other program could decode their parts.
TEST_F(SlabsTest, slabs_that_are_encoded_are_not_referred_to) {
  write(at("in.nc"), 2, "deflate:1");
  ReferenceOptions options;
  options.skip = true;
  const References made = make_references(ClassicFile(at("in.nc")), options);
  EXPECT_EQ(made.left_out.size(), 6U);
  for (const std::string& why : made.left_out)
    EXPECT_NE(why.find("its slabs are encoded"), std::string::npos) << why;
}

std::vector<std::byte> from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::byte> bytes;
  unsigned value = 0, bits = 0;
  for (const char c : text) {
    const auto digit = digits.find(c);
    if (digit == std::string::npos) break;
    value = value << 6 | static_cast<unsigned>(digit);
    if ((bits += 6) < 8) continue;
    bytes.push_back(static_cast<std::byte>(value >> (bits -= 8)));
  }
  return bytes;
}

// Slabs with checksums only are stored unchanged. If their pieces are not contiguous, as with odd
// numbers of short elements, they are put into the references.
TEST_F(SlabsTest, references_name_slabs_with_checksums_too) {
  write(at("in.nc"), 2, "checksum", "200");
  const ClassicFile file(at("in.nc"));
  ReferenceOptions options;
  options.skip = true;
  const References made = make_references(file, options);
  ASSERT_EQ(made.left_out.size(), 1U);
  EXPECT_TRUE(made.left_out[0].starts_with("twice: its slabs overlap")) << made.left_out[0];
  const auto refs = nlohmann::json::parse(made.json)["refs"];
  int named = 0, put_in = 0;
  const auto check = [&]<typename T>(VarId var, const std::string& name, Type type, Count layers,
                                     const std::string& key, T) {
    for (const int group : {0, 1}) {
      std::vector<Count> wanted;
      for (const int rank : {2 * group, 2 * group + 1})
        for (Count layer = 0; layer < layers; ++layer)
          for (const Count cell : cells_of(rank)) wanted.push_back(layer * cells + cell);
      const auto& place = refs.at(name + "." + std::to_string(group) + key);
      std::vector<std::byte> bytes(wanted.size() * sizeof(T));
      if (place.is_array()) {
        ++named;
        ASSERT_EQ(place[2], std::ssize(bytes));
        std::ifstream data(place[0].get<std::string>(), std::ios::binary);
        data.seekg(place[1].get<std::streamoff>());
        data.read(reinterpret_cast<char*>(bytes.data()), std::ssize(bytes));
      } else {
        ++put_in;
        bytes = from_base64(place.get<std::string>().substr(7));
        ASSERT_EQ(bytes.size(), wanted.size() * sizeof(T));
      }
      std::vector<T> got(wanted.size());
      from_external(type, bytes.data(), type, got.data(), std::ssize(got), nullptr);
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], static_cast<T>(value(var, 0, wanted[i]))) << name;
    }
  };
  check(deep, "deep", Type::float64, levels, "/0.0", double{});
  check(fixed, "fixed", Type::int16, 1, "/0", std::int16_t{});
  EXPECT_GE(named, 2);
  EXPECT_GE(put_in, 1);
  // The limit for data in references holds.
  options.inline_limit = 0;
  EXPECT_GE(make_references(file, options).left_out.size(), 1U);
}

// Each data file is an array of gathered elements, whose chunks are slabs.
TEST_F(SlabsTest, references_name_slabs_as_chunks) {
  write(at("in.nc"), 2);
  const ClassicFile file(at("in.nc"));
  ReferenceOptions options;
  EXPECT_THROW(make_references(file, options), Error);  // because of `twice`
  options.skip = true;
  const References made = make_references(file, options);
  ASSERT_EQ(made.left_out.size(), 1U);
  EXPECT_TRUE(made.left_out[0].starts_with("twice: its slabs overlap")) << made.left_out[0];
  const auto refs = nlohmann::json::parse(made.json)["refs"];
  for (const int group : {0, 1}) {
    const std::string name = "deep." + std::to_string(group);
    const auto array = nlohmann::json::parse(refs.at(name + "/.zarray").get<std::string>());
    const auto dims =
        nlohmann::json::parse(refs.at(name + "/.zattrs").get<std::string>())["_ARRAY_DIMENSIONS"];
    const std::string gathered = dims[1];
    const auto attributes =
        nlohmann::json::parse(refs.at(gathered + "/.zattrs").get<std::string>());
    EXPECT_EQ(attributes["compress"], "z y x");
    EXPECT_EQ(attributes["compressed_shape"], (std::vector<Count>{levels, rows, columns}));
    EXPECT_TRUE(refs.contains(gathered + "/0"));
    std::vector<Count> cells_of_group;
    for (const int rank : {2 * group, 2 * group + 1}) {
      for (Count level = 0; level < levels; ++level)
        for (const Count cell : cells_of(rank)) cells_of_group.push_back(level * cells + cell);
    }
    const Count elements = std::ssize(cells_of_group);
    EXPECT_EQ(array["shape"], (std::vector<Count>{records, elements}));
    EXPECT_EQ(array["chunks"], (std::vector<Count>{1, elements}));
    for (Count record = 0; record < records; ++record) {
      const auto place = refs.at(name + "/" + std::to_string(record) + ".0");
      EXPECT_EQ(place[0], at("in.nc") + ".subfiles/" + std::to_string(group));
      ASSERT_EQ(place[2], 8 * elements);
      std::ifstream data(place[0].get<std::string>(), std::ios::binary);
      data.seekg(place[1].get<std::streamoff>());
      std::vector<std::byte> bytes(static_cast<std::size_t>(8 * elements));
      data.read(reinterpret_cast<char*>(bytes.data()), 8 * elements);
      std::vector<double> got(static_cast<std::size_t>(elements));
      from_external(Type::float64, bytes.data(), Type::float64, got.data(), elements, nullptr);
      for (std::size_t i = 0; i < got.size(); ++i)
        ASSERT_EQ(got[i], static_cast<double>(value(deep, record, cells_of_group[i])));
    }
  }
  EXPECT_FALSE(refs.contains("series.0/2.0"));  // a record that no rank wrote
  EXPECT_TRUE(refs.contains("filled.0.0/0.0") || refs.contains("filled.0.1/0.0"));  // by two maps
}

TEST(Rounds, what_belongs_together_comes_in_one_round_where_there_is_room) {
  Rounds rounds(2, 100);
  const auto add = [&](Count bytes) {
    Job job;
    job.bytes = bytes;
    rounds.add(job);
  };
  add(60), add(60);
  rounds.keep_together(90);  // 80 would have fitted
  add(45), add(45);
  rounds.keep_together(1000);
  add(90), add(90), add(90);
  std::vector<int> numbers;
  std::vector<Rank> ranks;
  for (const Job& job : rounds.take()) numbers.push_back(job.round), ranks.push_back(job.rank);
  EXPECT_EQ(numbers, (std::vector<int>{0, 0, 1, 1, 2, 2, 3}));
  EXPECT_EQ(ranks, (std::vector<Rank>{0, 1, 0, 1, 0, 1, 0}));
}

}  // namespace slabs_test
}  // namespace forebay::tools
