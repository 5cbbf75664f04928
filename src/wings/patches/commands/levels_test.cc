// Commands on the levels of variables in patches: convert to one level, by any number of ranks, and
// to a Zarr store with all levels; info.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "comm/thread_ranks.h"
#include "files/open_source.h"
#include "method/parts_testing.h"
#include "patches/files/level_source.h"
#include "patches/files/patches_testing.h"
#include "tools/application.h"
#include "tools/convert/convert_file.h"

namespace forebay::tools {
namespace levels_test {

namespace fs = std::filesystem;
using namespace patches_testing;

class LevelsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "forebay_levels_" + std::to_string(::getpid());
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    write(at("in.nc"));
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  static std::vector<std::byte> all(const Source& source, VarId var) {
    const Subarray box = whole(source.shape(var));
    const Type type = source.schema().vars[static_cast<std::size_t>(var)].type;
    std::vector<std::byte> data(static_cast<std::size_t>(box.elements() * size_of(type)));
    source.read(var, box, data.data());
    return data;
  }

  static void expect_equal(const Source& a, const Source& b) {
    ASSERT_EQ(a.schema().vars.size(), b.schema().vars.size());
    for (std::size_t v = 0; v < a.schema().vars.size(); ++v) {
      const auto var = static_cast<VarId>(v);
      EXPECT_EQ(a.schema().vars[v].name, b.schema().vars[v].name);
      ASSERT_EQ(a.shape(var), b.shape(var)) << v;
      EXPECT_TRUE(all(a, var) == all(b, var)) << a.schema().vars[v].name;
    }
  }

  nlohmann::json run_json(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStdout();
    EXPECT_EQ(run_application(std::move(arguments)), 0);
    std::fflush(stdout);
    return nlohmann::json::parse(::testing::internal::GetCapturedStdout());
  }

  static nlohmann::json load(const std::string& path) {
    std::ifstream file(path);
    return nlohmann::json::parse(file);
  }

  static std::string bytes_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  std::string folder_;
};

TEST_F(LevelsTest, one_level_becomes_a_file_of_any_layout_by_any_number_of_ranks) {
  const LevelSource coarse(open_classic(at("in.nc")), 1);
  const std::vector<HintMap> methods{{},
                                     {{"layout", "canonical"}},
                                     {{"layout", "chunked"}, {"codec", "shuffle,deflate:3"}},
                                     {{"layout", "patches"}, {"patch_edge", "16"}}};
  for (const HintMap& keys : methods) {
    for (const int ranks : {1, 3, 7}) {
      ConvertOptions options;
      options.in = at("in.nc");
      options.out = at("out.nc");
      options.keys = keys;
      options.level = 1;
      options.round_bytes = 4 << 10;  // several rounds
      options.verify = options.quiet = options.force = true;
      ConvertResult result;
      run_as_threads(ranks, [&](const Comm& comm) {
        const ConvertResult mine = convert(comm, options);
        if (comm.is_root()) result = mine;
      });
      EXPECT_GT(result.rounds, 1);
      EXPECT_EQ(result.verified, 8);
      const auto out = open_classic(at("out.nc"));
      EXPECT_EQ(out->classic_version(), 5);
      expect_equal(*out, coarse);
      const bool patches = keys.contains("layout") && keys.at("layout") == "patches";
      EXPECT_EQ(levels_of(*out)[rho], patches ? 1 : 0);
    }
  }
}

TEST_F(LevelsTest, a_lossy_level_is_stored_as_it_is_read) {
  write(at("lossy.nc"), "zfp:accuracy=1e-2");
  ConvertOptions options;
  options.in = at("lossy.nc");
  options.out = at("out.nc");
  options.level = 2;
  options.quiet = options.verify = true;
  EXPECT_TRUE(convert(Comm(), options).lossy.empty());
  expect_equal(*open_classic(at("out.nc")), LevelSource(open_classic(at("lossy.nc")), 2));
}

TEST_F(LevelsTest, a_level_becomes_a_store_or_a_netcdf_4_file) {
  const LevelSource coarse(open_classic(at("in.nc")), 2);
  for (const char* to : {"zarr", "hdf5", "bp"}) {
    if (to != std::string("zarr") && !has_format(to)) continue;
    if (to == std::string("hdf5") && !is_built("container=netcdf4")) continue;
    ConvertOptions options;
    options.in = at("in.nc");
    options.out = at(std::string("out.") + to);
    options.to = to;
    options.level = 2;
    if (to == std::string("hdf5")) options.keys["codec"] = "shuffle,deflate:4";
    options.quiet = options.verify = true;
    EXPECT_EQ(convert(Comm(), options).verified, 8) << to;
    if (to != std::string("zarr")) expect_equal(*open_source(options.out), coarse);
  }
  const auto array = load(at("out.zarr/rho/.zarray"));
  EXPECT_EQ(array["shape"], nlohmann::json(coarse.shape(rho)));
  EXPECT_FALSE(array.contains("dimension_separator"));
}

TEST_F(LevelsTest, a_store_of_all_levels_tells_ome_ngff_of_them) {
  ConvertOptions options;
  options.in = at("in.nc");
  options.out = at("out.zarr");
  options.to = "zarr";
  options.levels = options.quiet = options.verify = true;
  EXPECT_EQ(convert(Comm(), options).verified, 24);
  const auto attributes = load(at("out.zarr/.zattrs"));
  EXPECT_EQ(attributes["title"], "levels");
  const auto& images = attributes["multiscales"];
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0]["name"], "rho");
  EXPECT_EQ(images[0]["version"], "0.4");
  EXPECT_EQ(images[0]["axes"], nlohmann::json::parse(R"([
      {"name": "time", "type": "time"}, {"name": "z", "type": "space"},
      {"name": "y", "type": "space"}, {"name": "x", "type": "space"}])"));
  ASSERT_EQ(images[0]["datasets"].size(), 3u);
  EXPECT_EQ(images[0]["datasets"][2], nlohmann::json::parse(R"({"path": "2/rho",
      "coordinateTransformations": [{"type": "scale", "scale": [1.0, 4.0, 4.0, 4.0]},
          {"type": "translation", "translation": [0.0, 0.0, 0.0, 0.0]}]})"));
  EXPECT_EQ(images[1]["datasets"][1]["path"], "1/flat");
  const auto source = open_classic(at("in.nc"));
  for (int level = 0; level <= 2; ++level) {
    const std::string group = at("out.zarr/" + std::to_string(level));
    EXPECT_EQ(load(group + "/.zattrs")["title"], "levels");
    const auto array = load(group + "/rho/.zarray");
    EXPECT_EQ(array["shape"], nlohmann::json(source->classic()->shape(rho, level)));
    EXPECT_EQ(array["dimension_separator"], "/");
    EXPECT_EQ(load(group + "/rho/.zattrs")["_ARRAY_DIMENSIONS"],
              nlohmann::json({"time", "z", "y", "x"}));
    EXPECT_TRUE(fs::exists(group + "/rho/0/0/0/0"));
  }
  EXPECT_TRUE(load(at("out.zarr/.zmetadata"))["metadata"].contains("2/mask/.zarray"));
}

TEST_F(LevelsTest, a_store_is_the_same_whoever_writes_it) {
  const auto options_to = [&](const std::string& name) {
    ConvertOptions options;
    options.in = at("in.nc");
    options.out = at(name);
    options.to = "zarr";
    options.levels = options.quiet = options.verify = true;
    options.round_bytes = 2000;
    return options;
  };
  convert(Comm(), options_to("alone.zarr"));
  run_as_threads(3, [&](const Comm& comm) { convert(comm, options_to("together.zarr")); });
  std::size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(at("alone.zarr"))) {
    const fs::path other = at("together.zarr") / fs::relative(entry.path(), at("alone.zarr"));
    ASSERT_TRUE(fs::exists(other)) << other;
    if (!entry.is_regular_file()) continue;
    ++files;
    EXPECT_EQ(bytes_of(entry.path()), bytes_of(other)) << other;
  }
  EXPECT_GT(files, 30U);
  const auto all_below = [&](const std::string& name) {
    return std::distance(fs::recursive_directory_iterator(at(name)),
                         fs::recursive_directory_iterator());
  };
  EXPECT_EQ(all_below("alone.zarr"), all_below("together.zarr"));
}

// If one rank reads a damaged chunk, all fail, and no files are left.
TEST_F(LevelsTest, a_store_of_a_damaged_file_is_none_on_any_rank) {
  std::string bytes = bytes_of(at("in.nc"));
  ConvertOptions options;
  options.in = at("damaged.nc");
  options.out = at("out.zarr");
  options.to = "zarr";
  options.levels = options.quiet = true;
  const auto told = [&](const Comm& comm) -> std::string {
    try {
      convert(comm, options);
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  bool found = false;
  for (std::size_t i = bytes.size() / 4; !found && i < bytes.size(); i += 97) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 16);
    std::ofstream(at("damaged.nc"), std::ios::binary) << damaged;
    found = told(Comm()).find("is damaged") != std::string::npos;
    fs::remove_all(options.out);
  }
  ASSERT_TRUE(found);
  std::atomic<int> failed = 0;
  run_as_threads(3, [&](const Comm& comm) { failed += told(comm).empty() ? 0 : 1; });
  EXPECT_EQ(failed, 3);
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_EQ(entry.path().filename().string().find("out.zarr"), std::string::npos) << entry.path();
}

TEST_F(LevelsTest, what_does_not_go_together_is_refused) {
  ConvertOptions options;
  options.in = at("in.nc");
  options.out = at("plain.nc");
  options.keys = {{"layout", "canonical"}};
  options.quiet = true;
  convert(Comm(), options);
  options.in = at("plain.nc");
  options.out = at("out.zarr");
  options.to = "zarr";
  options.quiet = options.levels = true;
  EXPECT_THROW(convert(Comm(), options), Error);
  EXPECT_FALSE(fs::exists(options.out));
  testing::internal::CaptureStderr();
  EXPECT_NE(run_application({"convert", at("in.nc"), at("out.nc"), "--levels"}), 0);
  EXPECT_NE(run_application({"convert", at("in.nc"), at("out.zarr"), "--to", "zarr", "--levels",
                             "--resolution-level", "1"}),
            0);
  testing::internal::GetCapturedStderr();
}

TEST_F(LevelsTest, info_tells_bytes_and_errors_of_each) {
  const auto vars = run_json({"info", "--json", at("in.nc")})["variables"];
  const auto& levels = vars[rho]["levels"];
  ASSERT_EQ(levels.size(), 3u);
  EXPECT_FALSE(vars[mask].contains("levels"));
  const auto source = open_classic(at("in.nc"));
  const auto errors = source->classic()->level_errors(rho);
  double before = 0, resolution = 1e9;
  for (const auto& one : levels) {
    const int level = one["level"];
    EXPECT_EQ(one["shape"], nlohmann::json(source->classic()->shape(rho, level)));
    EXPECT_EQ(one["error"], errors[static_cast<std::size_t>(level)].error);
    EXPECT_EQ(one["resolution_error"], errors[static_cast<std::size_t>(level)].resolution);
    EXPECT_LE(one["resolution_error"].get<double>(), resolution);
    resolution = one["resolution_error"];
    EXPECT_EQ(one["read_bytes"].get<double>(), before + one["stored_bytes"].get<double>());
    before = one["read_bytes"];
    EXPECT_EQ(one["ratio"].get<double>(),
              4.0 * patch_records * static_cast<double>(cube[0] * cube[1] * cube[2]) / before);
  }
  EXPECT_EQ(levels[2]["error"], 0.0);
  EXPECT_EQ(before, vars[rho]["chunking"]["stored_bytes"].get<double>());
}

}  // namespace levels_test
}  // namespace forebay::tools
