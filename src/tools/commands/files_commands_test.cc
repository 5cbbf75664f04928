// ls, dump, diff, convert and refs on files of all layouts, in this process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "dataset/dataset.h"
#include "files/references.h"
#include "files/source.h"
#include "tools/application.h"
#include "tools/commands.h"
#include "tools/progress.h"

namespace forebay::tools {
namespace files_commands_test {

namespace fs = std::filesystem;

class FilesCommandsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = ::testing::TempDir() + "forebay_files_" + std::to_string(::getpid());
    fs::create_directory(folder_);
    write(at("a.nc"), 0, "canonical");
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string at(const std::string& name) const { return folder_ + "/" + name; }

  // Writes T(t, y, x) float, 3 records, one NaN; P(y, x) double with _FillValue; n scalar.
  static void write(const std::string& path, double change, const std::string& layout,
                    const HintMap& more = {}) {
    HintMap hints{{"layout", layout}};
    hints.insert(more.begin(), more.end());
    if (layout == "chunked") hints["codec"] = "shuffle,zstd:3";
    auto ds = Dataset::create(Comm(), path, 5, false, hints);
    const DimId t = ds->def_dim("t", 0), y = ds->def_dim("y", 30), x = ds->def_dim("x", 50);
    const VarId T = ds->def_var("T", Type::float32, std::array{t, y, x});
    const VarId P = ds->def_var("P", Type::float64, std::array{y, x});
    const VarId n = ds->def_var("n", Type::int32, {});
    const double fill = -1;
    ds->def_var_fill(P, false, &fill);
    if (layout == "chunked") {
      ds->set_chunk(T, std::array<Count, 3>{2, 16, 50});
      ds->set_chunk(P, std::array<Count, 2>{16, 32});
    }
    ds->enddef();
    std::vector<double> values(3 * 30 * 50);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::round(static_cast<double>(i) / 7);
    put(*ds, P, {{0, 0}, {30, 50}, {}}, values);
    values[1507] += change;
    values[4] = std::nan("");
    put(*ds, T, {{0, 0, 0}, {3, 30, 50}, {}}, values);
    put(*ds, n, {}, values);
    ds->close();
  }

  static void put(Dataset& ds, VarId var, Subarray part, std::vector<double>& values) {
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

  // Returns what the command prints to both streams, or the text of the Error that it throws.
  std::string run(std::vector<std::string> arguments) {
    ::testing::internal::CaptureStdout();
    ::testing::internal::CaptureStderr();
    std::string text;
    try {
      status_ = run_application(std::move(arguments));
    } catch (const Error& error) {
      text = error.what();
      status_ = exit_failed;
    }
    std::fflush(stdout);
    return ::testing::internal::GetCapturedStdout() + ::testing::internal::GetCapturedStderr() +
           text;
  }

  void damage_chunks(const std::string& path) const {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    const ClassicFile reader(path);
    const VarId var = *reader.schema().find_var("T");
    const auto& entry = reader.chunks()->table(var).get(1);
    file.seekp(entry.offset + reader.chunks()->shift() + 5);
    file.put('\x55').put('\x55').put('\x55');
  }

  std::string folder_;
  int status_ = exit_usage;
};

TEST_F(FilesCommandsTest, info_names_a_directory_as_it_was_given) {
  auto ds = Dataset::create(Comm(), at("whole"), 5, false,
                            {{"layout", "chunked"}, {"container", "directory"}});
  ds->enddef();
  ds->close();
  EXPECT_EQ(run({"info", at("whole")}).rfind(at("whole") + "\n", 0), 0U);
  EXPECT_EQ(nlohmann::json::parse(run({"info", "--json", at("whole")}))["path"], at("whole"));
}

TEST_F(FilesCommandsTest, info_lists_the_files_that_a_region_needs) {
  write(at("d"), 0, "chunked", {{"container", "directory"}});
  const std::string all = at("d/header.nc") + "\n" + at("d/index") + "\n" + at("d/0") + "\n";
  EXPECT_EQ(run({"info", at("d"), "--region", "T[0:3, 0:30, 7]"}), all);
  EXPECT_EQ(run({"info", at("d"), "--region", "n[0]"}).find(at("d/0")), std::string::npos);
  const auto json = nlohmann::json::parse(run({"info", "--json", at("d"), "--region", "T[2,3,4]"}));
  EXPECT_EQ(json[2]["path"], at("d/0"));
  EXPECT_EQ(json[2]["box"]["start"], (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(json[2]["box"]["count"], (std::vector<int>{4, 30, 50})) << "whole chunks";
  for (const char* text : {"T", "T[", "[0,0,0]", "T[a,0,0]", "T[0,5:3,0]", "T[-1,0,0]"}) {
    EXPECT_NE(run({"info", at("d"), "--region", text}).find("names no region"), std::string::npos)
        << text;
    EXPECT_NE(status_, exit_done);
  }
  run({"info", at("d"), "--region", "T[3,0,0]"});
  EXPECT_NE(status_, exit_done) << "there are three records";
}

TEST_F(FilesCommandsTest, ls_shows_one_line_a_variable) {
  const std::string text = run({"ls", at("a.nc")});
  EXPECT_NE(text.find("\nT     float   t=3*, y=30, x=50  -       17.6 KiB       -\n"),
            std::string::npos)
      << text;
  const auto json = nlohmann::json::parse(run({"ls", "--json", at("a.nc")}));
  EXPECT_EQ(json["variables"][0]["shape"], (std::vector<int>{3, 30, 50}));
}

TEST_F(FilesCommandsTest, converting_to_chunks_and_back_keeps_all) {
  run({"convert", at("a.nc"), at("c.nc"), "-m", "codec=shuffle,zstd:3", "--verify"});
  EXPECT_EQ(status_, exit_done);
  EXPECT_NE(run({"ls", at("c.nc")}).find("shuffle,zstd:3"), std::string::npos);
  EXPECT_EQ(run({"diff", at("a.nc"), at("c.nc")}), "same: 3 variables, 6,001 values\n");
  run({"convert", at("c.nc"), at("b.nc"), "--to", "netcdf"});
  EXPECT_EQ(ClassicFile(at("b.nc")).chunks(), nullptr);
  EXPECT_EQ(run({"diff", at("a.nc"), at("b.nc")}), "same: 3 variables, 6,001 values\n");
  EXPECT_EQ(run({"diff", "--nan-differs", "-q", at("a.nc"), at("b.nc")}), "");
  EXPECT_EQ(status_, exit_different);
}

TEST_F(FilesCommandsTest, a_copy_keeps_chunk_shapes_and_codecs) {
  write(at("c.nc"), 0, "chunked");
  run({"convert", at("c.nc"), at("d.nc")});
  const ClassicFile copy(at("d.nc"));
  EXPECT_EQ(copy.schema().vars[0].chunking->shape, (std::vector<Count>{2, 16, 50}));
  EXPECT_EQ(copy.schema().vars[1].chunking->codec, "shuffle,zstd:3");
}

TEST_F(FilesCommandsTest, convert_leaves_nothing_behind_when_it_fails) {
  write(at("c.nc"), 0, "chunked");
  damage_chunks(at("c.nc"));
  const std::string text = run({"convert", at("c.nc"), at("d.nc")});
  EXPECT_EQ(status_, exit_failed);
  EXPECT_NE(text.find("T[0:2, 16:30, 0:50]"), std::string::npos) << text;
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 2u);
  EXPECT_NE(run({"dump", at("c.nc")}).find("T[0:2, 16:30, 0:50]"), std::string::npos);
}

TEST_F(FilesCommandsTest, convert_replaces_only_when_told) {
  write(at("b.nc"), 5, "canonical");
  EXPECT_NE(run({"convert", at("a.nc"), at("b.nc")}).find("--force replaces it"),
            std::string::npos);
  EXPECT_EQ(status_, exit_failed);
  run({"convert", at("a.nc"), at("b.nc"), "--force"});
  EXPECT_EQ(run({"diff", at("a.nc"), at("b.nc")}), "same: 3 variables, 6,001 values\n");
  EXPECT_NE(run({"convert", at("a.nc"), at("a.nc"), "-f"}).find("is the input itself"),
            std::string::npos);
}

// Run scripts replace outputs by links to a disk with more space.
TEST_F(FilesCommandsTest, outputs_are_written_through_links) {
  for (const std::string to : {"netcdf", "zarr"}) {
    fs::create_directory(at("disk"));
    fs::create_symlink("disk/" + to, at("link"));
    run({"convert", at("a.nc"), at("link"), "--to", to});  // the link's target does not exist yet
    EXPECT_EQ(status_, exit_done);
    EXPECT_TRUE(fs::is_symlink(at("link")) && fs::exists(at("disk/" + to)));
    if (to == "netcdf") fs::permissions(at("disk/netcdf"), fs::perms::owner_read);
    run({"convert", at("a.nc"), at("link"), "--to", to, "-f"});
    EXPECT_EQ(status_, exit_done);
    EXPECT_TRUE(fs::is_symlink(at("link")));
    if (to == "netcdf") {
      EXPECT_EQ(run({"diff", at("a.nc"), at("disk/netcdf")}), "same: 3 variables, 6,001 values\n");
      EXPECT_EQ(fs::status(at("disk/netcdf")).permissions(), fs::perms::owner_read);
    }
    EXPECT_EQ(std::distance(fs::directory_iterator(at("disk")), fs::directory_iterator()), 1);
    fs::remove(at("link"));
    fs::remove_all(at("disk"));
  }
  fs::create_symlink("refs.json", at("link"));
  run({"refs", at("a.nc"), "-o", at("link")});
  EXPECT_TRUE(fs::is_symlink(at("link")) && fs::is_regular_file(at("refs.json")));
}

TEST_F(FilesCommandsTest, diff_names_what_differs) {
  write(at("c.nc"), 0.5, "chunked");
  const std::string text = run({"diff", at("a.nc"), at("c.nc")});
  EXPECT_EQ(status_, exit_different);
  EXPECT_NE(text.find("T: 1 of 4,500 values differ, by 0.5 at most"), std::string::npos) << text;
  EXPECT_NE(text.find("  T[1, 0, 7]  215  215.5\n"), std::string::npos) << text;
  run({"diff", "--atol", "0.5", at("a.nc"), at("c.nc")});
  EXPECT_EQ(status_, exit_done);
  run({"diff", "--rtol", "0.001", at("a.nc"), at("c.nc")});
  EXPECT_EQ(status_, exit_different);
  run({"diff", "-v", "P", at("a.nc"), at("c.nc")});
  EXPECT_EQ(status_, exit_done);
  run({"diff", "--header", at("a.nc"), at("c.nc")});
  EXPECT_EQ(status_, exit_done);
  EXPECT_NE(run({"diff", "-v", "Q", at("a.nc"), at("c.nc")}).find("no variable \"Q\""),
            std::string::npos);
}

TEST_F(FilesCommandsTest, diff_compares_what_both_have) {
  const auto write_records = [&](const std::string& path, Count records, float last) {
    auto ds = Dataset::create(Comm(), path, 5, false, {});
    const DimId t = ds->def_dim("t", 0), x = ds->def_dim("x", 4);
    const VarId v = ds->def_var("v", Type::float64, std::array{t, x});
    ds->enddef();
    std::vector<double> values(static_cast<std::size_t>(records) * 4, 1.5);
    values[4] = last;
    put(*ds, v, {{0, 0}, {records, 4}, {}}, values);
    ds->close();
  };
  write_records(at("short.nc"), 2, 7);
  write_records(at("long.nc"), 3, 7);
  std::string text = run({"diff", "--data", at("short.nc"), at("long.nc")});
  EXPECT_EQ(status_, exit_different);
  EXPECT_NE(text.find("v: shape (2, 4) in A, (3, 4) in B; in the common part (2, 4) all 8 values"),
            std::string::npos)
      << text;
  write_records(at("long.nc"), 3, 8);
  text = run({"diff", "--data", at("short.nc"), at("long.nc")});
  EXPECT_NE(text.find("1 of 8 values differ, by 1 at most"), std::string::npos) << text;
  EXPECT_NE(text.find("v[1, 0]  7  8"), std::string::npos) << text;
}

TEST_F(FilesCommandsTest, diff_reads_variables_that_were_never_written) {
  const auto write = [&](const std::string& path, double value) {
    auto ds = Dataset::create(Comm(), path, 5, false, {});
    const DimId x = ds->def_dim("x", 1000);
    const VarId v = ds->def_var("v", Type::float64, std::array{x});
    ds->enddef();
    std::vector<double> values(1, value);
    put(*ds, v, {{0}, {1}, {}}, values);
    ds->close();
  };
  write(at("short.nc"), 0);
  write(at("long.nc"), 0);
  // Like a file of PnetCDF that has only a header, and no values.
  fs::resize_file(at("short.nc"), 300);
  std::string text = run({"diff", at("short.nc"), at("long.nc")});
  EXPECT_EQ(status_, exit_done);
  EXPECT_TRUE(text.starts_with("same: 1 variables, 1,000 values\n")) << text;
  EXPECT_NE(text.find("short.nc ends 8,212 bytes before its variables do"), std::string::npos)
      << text;
  write(at("long.nc"), 2.5);
  text = run({"diff", "-q", at("long.nc"), at("short.nc")});
  EXPECT_EQ(status_, exit_different);
  EXPECT_EQ(text, "");
}

TEST_F(FilesCommandsTest, a_zarr_store_is_replaced_in_one_step) {
  run({"convert", at("a.nc"), at("a.zarr"), "--to", "zarr"});
  ASSERT_EQ(status_, exit_done);
  EXPECT_NE(run({"convert", at("a.nc"), at("a.zarr"), "--to", "zarr"}).find("--force"),
            std::string::npos);
  std::atomic<bool> stop = false;
  std::atomic<int> looks = 0, missing = 0;
  std::thread reader([&] {
    for (; !stop; ++looks) missing += ::access(at("a.zarr").c_str(), R_OK) != 0;
  });
  for (int i = 0; i < 20; ++i) {
    run({"convert", at("a.nc"), at("a.zarr"), "--to", "zarr", "--force"});
    EXPECT_EQ(status_, exit_done);
  }
  stop = true;
  reader.join();
  EXPECT_GT(looks, 100);
  EXPECT_EQ(missing, 0);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_)) ++files;
  EXPECT_EQ(files, 2u);
}

TEST_F(FilesCommandsTest, dump_refuses_a_file_that_is_cut_short) {
  fs::resize_file(at("a.nc"), fs::file_size(at("a.nc")) - 1000);
  EXPECT_NE(run({"dump", at("a.nc"), "T"}).find(at("a.nc")), std::string::npos);
  EXPECT_EQ(status_, exit_failed);
}

TEST_F(FilesCommandsTest, references_point_at_records) {
  const ClassicFile file(at("a.nc"));
  const auto json = nlohmann::json::parse(make_references(file, {"u", 0, false}).json);
  const Variable& T = file.schema().vars[0];
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["refs"]["T/2.0.0"],
            nlohmann::json::array({"u", T.begin + 2 * file.schema().recsize, 6000}));
  const auto array = nlohmann::json::parse(json["refs"]["P/.zarray"].get<std::string>());
  EXPECT_EQ(array["dtype"], ">f8");
  EXPECT_EQ(array["fill_value"], -1);
  EXPECT_EQ(array["chunks"], (std::vector<int>{30, 50}));
}

TEST_F(FilesCommandsTest, references_hold_chunks_that_are_cut_off) {
  write(at("c.nc"), 0, "chunked");
  const ClassicFile file(at("c.nc"));
  const auto refs =
      nlohmann::json::parse(make_references(file, {"u", 1 << 20, false}).json)["refs"];
  EXPECT_TRUE(refs["T/0.0.0"].is_array());
  EXPECT_EQ(refs["T/0.1.0"].get<std::string>().substr(0, 7), "base64:");
  EXPECT_THROW(make_references(file, {"u", 100, false}), Error);
  const References some = make_references(file, {"u", 100, true});
  EXPECT_EQ(some.left_out.size(), 2u);
  EXPECT_EQ(some.inlined_bytes, 0);
}

TEST_F(FilesCommandsTest, references_refuse_a_file_that_is_cut_short) {
  fs::resize_file(at("a.nc"), fs::file_size(at("a.nc")) - 1000);
  EXPECT_NE(run({"refs", at("a.nc")}).find("T: the file ends before its values do"),
            std::string::npos);
}

TEST(Blocks, cover_every_element_once_in_order) {
  Variable var;
  var.type = Type::float64;
  var.chunking = Chunking{{2, 3, 4}, "none", {}};
  const std::vector<Count> shape = {5, 7, 9};
  for (const Count bytes : {8, 100, 400, 3000, 1 << 20}) {
    for (const bool in_order : {false, true}) {
      const Blocks blocks(var, shape, bytes, in_order);
      std::vector<int> seen(5 * 7 * 9, 0);
      Count next = 0;
      for (Count b = 0; b < blocks.size(); ++b) {
        const Subarray part = blocks[b];
        const Count first = (part.start[0] * 7 + part.start[1]) * 9 + part.start[2];
        if (in_order) EXPECT_EQ(first, next) << bytes;
        next = first + part.elements();
        for (Count i = 0; i < part.count[0]; ++i)
          for (Count j = 0; j < part.count[1]; ++j)
            for (Count k = 0; k < part.count[2]; ++k)
              ++seen[static_cast<std::size_t>(first + (i * 7 + j) * 9 + k)];
      }
      EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << bytes << in_order;
    }
  }
}

TEST(Progress, tells_rate_and_remaining_time) {
  EXPECT_EQ(Progress::text("copy", 1 << 20, 4 << 20, 2),
            "copy: 25 %, 1 MiB of 4 MiB, 512 KiB/s, 6 s left");
  EXPECT_EQ(Progress::text("copy", 4 << 20, 4 << 20, 2), "copy: 100 %, 4 MiB of 4 MiB, 2 MiB/s");
}

}  // namespace files_commands_test
}  // namespace forebay::tools
