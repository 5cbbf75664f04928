// Who is heard where the program, its MPI_Info and the environment differ, and what becomes of
// settings that netCDF files cannot honour. The order of alignments is PnetCDF's own.
#include <pnetcdf.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "support/harness.h"
#include "support/info.h"
#include "support/wings.h"

using namespace forebay_test;

namespace {

/// An environment variable of all ranks, for as long as this lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    if (const char* before = std::getenv(name)) before_ = before, was_set_ = true;
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() { was_set_ ? ::setenv(name_, before_.c_str(), 1) : ::unsetenv(name_); }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool was_set_ = false;
};

std::string in_force(int ncid, const char* key) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_OK(ncmpi_inq_file_info(ncid, &info));
  if (info == MPI_INFO_NULL) return "no info";
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int known = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &known);
  MPI_Info_free(&info);
  return known ? value : "not there";
}

/// What is in rank 0's report of what `program` does with files that are new to it.
std::string report_of(const std::function<void()>& program) {
  const std::string path = world.path("report.json");
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) std::remove(path.c_str());
  MPI_Barrier(MPI_COMM_WORLD);
  {
    const Environment report("FOREBAY_REPORT", "json:" + path);
    program();
  }
  MPI_Barrier(MPI_COMM_WORLD);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  MPI_Barrier(MPI_COMM_WORLD);
  if (world.rank == 0) std::remove(path.c_str());
  return text.str();
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << part << " is not in " << text;
}
void expect_not_in(const std::string& text, const std::string& part) {
  EXPECT_EQ(text.find(part), std::string::npos) << part << " is in " << text;
}

struct File {
  int id = -1, x = -1, records = -1, fixed = -1, record = -1;
};

File define(MPI_Info info) {
  File file;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &file.id));
  EXPECT_OK(ncmpi_def_dim(file.id, "x", 100, &file.x));
  EXPECT_OK(ncmpi_def_dim(file.id, "t", NC_UNLIMITED, &file.records));
  const int dims[] = {file.records, file.x};
  EXPECT_OK(ncmpi_def_var(file.id, "fixed", NC_INT, 1, &file.x, &file.fixed));
  EXPECT_OK(ncmpi_def_var(file.id, "record", NC_INT, 2, dims, &file.record));
  return file;
}

MPI_Offset extent(int ncid) {
  MPI_Offset bytes = -1;
  EXPECT_OK(ncmpi_inq_header_extent(ncid, &bytes));
  return bytes;
}
MPI_Offset offset(int ncid, int var) {
  MPI_Offset bytes = -1;
  EXPECT_OK(ncmpi_inq_varoffset(ncid, var, &bytes));
  return bytes;
}

std::vector<int> values(int seed) {
  std::vector<int> all(100);
  for (int i = 0; i < 100; ++i) all[static_cast<size_t>(i)] = seed + i;
  return all;
}

void write_all(const File& file) {
  const MPI_Offset start[] = {0, 0}, count[] = {1, 100};
  EXPECT_OK(ncmpi_put_var_int_all(file.id, file.fixed, values(7).data()));
  EXPECT_OK(ncmpi_put_vara_int_all(file.id, file.record, start, count, values(700).data()));
}

void expect_all(const File& file) {
  const MPI_Offset start[] = {0, 0}, count[] = {1, 100};
  std::vector<int> all(100);
  EXPECT_OK(ncmpi_get_var_int_all(file.id, file.fixed, all.data()));
  EXPECT_EQ(all, values(7));
  EXPECT_OK(ncmpi_get_vara_int_all(file.id, file.record, start, count, all.data()));
  EXPECT_EQ(all, values(700));
}

}  // namespace

TEST(Settings, environment_beats_info_and_info_beats_arguments_of_enddef) {
  const Info info({{"nc_header_align_size", "2048"}, {"nc_record_align_size", "2048"}});
  const auto places = [](MPI_Info hints) {
    const File file = define(hints);
    EXPECT_OK(ncmpi__enddef(file.id, 0, 1024, 0, 1024));
    const std::vector<MPI_Offset> found = {extent(file.id), offset(file.id, file.record)};
    EXPECT_EQ(in_force(file.id, "nc_header_align_size"), std::to_string(found[0]));
    EXPECT_EQ(in_force(file.id, "nc_record_align_size"), std::to_string(found[1] - found[0]));
    EXPECT_OK(ncmpi_close(file.id));
    return found;
  };
  const Environment none("PNETCDF_HINTS", "");
  EXPECT_EQ(places(MPI_INFO_NULL), (std::vector<MPI_Offset>{1024, 2048}));
  EXPECT_EQ(places(info), (std::vector<MPI_Offset>{2048, 4096}));
  const Environment hints("PNETCDF_HINTS", "nc_header_align_size=4096;nc_record_align_size=4096");
  EXPECT_EQ(places(info), (std::vector<MPI_Offset>{4096, 8192}));
  if (!is_forebay()) return;
  const Environment ours("FOREBAY_HINTS", "nc_header_align_size=8k;nc_record_align_size=8k");
  EXPECT_EQ(places(info), (std::vector<MPI_Offset>{8192, 16384}));
}

TEST(Settings, a_later_enddef_aligns_anew_where_it_is_told_to) {
  if (!is_forebay()) GTEST_SKIP() << "PnetCDF 1.12.3 keeps the first alignment, 1.15 does not";
  const File file = define(MPI_INFO_NULL);
  EXPECT_OK(ncmpi__enddef(file.id, 0, 1024, 0, 4));
  EXPECT_EQ(extent(file.id), 1024);
  write_all(file);
  EXPECT_OK(ncmpi_redef(file.id));
  EXPECT_OK(ncmpi__enddef(file.id, 0, 1028, 0, 4));
  EXPECT_EQ(extent(file.id), 1028);
  expect_all(file);
  EXPECT_OK(ncmpi_redef(file.id));
  EXPECT_OK(ncmpi__enddef(file.id, 0, 0, 0, 2000));
  EXPECT_EQ(extent(file.id), 1028);
  EXPECT_EQ(offset(file.id, file.record), 2000);
  expect_all(file);
  EXPECT_OK(ncmpi_redef(file.id));
  EXPECT_OK(ncmpi_enddef(file.id));
  EXPECT_EQ(extent(file.id), 1028);
  EXPECT_OK(ncmpi_close(file.id));
}

TEST(Settings, overruled_arguments_of_enddef_are_in_the_report) {
  if (!is_forebay()) GTEST_SKIP();
  const std::string report = report_of([] {
    const Environment hints("PNETCDF_HINTS", "nc_header_align_size=4096");
    const Info info(Hints{{"nc_record_align_size", "512"}});
    const File file = define(info);
    EXPECT_OK(ncmpi__enddef(file.id, 0, 1024, 0, 64));
    EXPECT_OK(ncmpi_close(file.id));
  });
  if (world.rank != 0) return;
  expect_in(
      report,
      "v_align=1024 of ncmpi__enddef is overruled by nc_header_align_size=4096 (PNETCDF_HINTS)");
  expect_in(report,
            "r_align=64 of ncmpi__enddef is overruled by nc_record_align_size=512 (MPI_Info)");
}

TEST(Settings, the_report_says_what_moved_and_what_would_have_saved_it) {
  if (!is_forebay()) GTEST_SKIP();
  const auto grow = [](MPI_Offset h_minfree) {
    const File file = define(MPI_INFO_NULL);
    EXPECT_OK(ncmpi__enddef(file.id, h_minfree, 4, 0, 4));
    write_all(file);
    EXPECT_OK(ncmpi_redef(file.id));
    const std::string text(1000, 'a');
    EXPECT_OK(ncmpi_put_att_text(file.id, NC_GLOBAL, "text", 1000, text.c_str()));
    EXPECT_OK(ncmpi_enddef(file.id));
    expect_all(file);
    EXPECT_OK(ncmpi_close(file.id));
  };
  const std::string report = report_of([&] { grow(0); });
  std::string needed;
  if (world.rank == 0) {
    const std::string before =
        "800 B of data were moved, as the header outgrew its room: h_minfree=";
    const auto at = report.find(before);
    EXPECT_NE(at, std::string::npos) << report;
    if (at != std::string::npos) needed = report.substr(at + before.size(), 4);
  }
  MPI_Offset bytes = needed.empty() ? 0 : std::stoll(needed);
  MPI_Bcast(&bytes, 1, MPI_OFFSET, 0, MPI_COMM_WORLD);
  EXPECT_GT(bytes, 1000);
  const std::string saved = report_of([&] { grow(bytes); });
  expect_not_in(saved, "were moved");
  if (world.rank == 0) expect_in(saved, "\"reasons\"");
}

#ifdef FOREBAY_HAS_CHUNKS
namespace {

struct Stored {
  bool has_chunks = false;
  std::string codec;
};

/// A variable that the program wants in chunks of 10 x 10, by deflate.
Stored stored_by(MPI_Info info) {
  int id = -1, dims[2], var = -1;
  EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &id));
  EXPECT_OK(ncmpi_def_dim(id, "y", 100, &dims[0]));
  EXPECT_OK(ncmpi_def_dim(id, "x", 100, &dims[1]));
  EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 2, dims, &var));
  const MPI_Offset shape[] = {10, 10};
  EXPECT_OK(ncmpi_var_set_chunk(id, var, shape));
  EXPECT_OK(ncmpi_var_set_filter(id, var, "deflate:1"));
  EXPECT_OK(ncmpi_enddef(id));
  Stored stored;
  MPI_Offset found[2] = {0, 0}, length = 0;
  stored.has_chunks = ncmpi_var_get_chunk(id, var, found) == NC_NOERR && found[0] == 10;
  char text[200] = "";
  if (ncmpi_var_get_filter(id, var, &length, text) == NC_NOERR) stored.codec = text;
  std::vector<int> all(10000);
  for (int i = 0; i < 10000; ++i) all[static_cast<size_t>(i)] = i;
  EXPECT_OK(ncmpi_put_var_int_all(id, var, all.data()));
  EXPECT_OK(ncmpi_close(id));
  EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), NC_NOWRITE, MPI_INFO_NULL, &id));
  std::vector<int> again(10000);
  EXPECT_OK(ncmpi_get_var_int_all(id, var, again.data()));
  EXPECT_EQ(again, all);
  EXPECT_OK(ncmpi_close(id));
  return stored;
}

}  // namespace

TEST(Settings, calls_on_variables_hold_against_info_and_give_way_to_the_environment) {
  Stored stored;
  const auto in = [&](const std::string& hints, MPI_Info info) {
    const Environment ours("FOREBAY_HINTS", hints);
    return report_of([&] { stored = stored_by(info); });
  };
  const Info info({{"codec", "zstd:1"}, {"layout", "canonical"}});
  in("", info);
  EXPECT_TRUE(stored.has_chunks);
  EXPECT_EQ(stored.codec, "deflate:1");

  std::string report = in("codec=zstd:2", info);
  EXPECT_TRUE(stored.has_chunks);
  EXPECT_EQ(stored.codec, "zstd:2");
  if (world.rank == 0) {
    expect_in(
        report,
        "the program's codec deflate:1 of variable v is overruled by codec=zstd:2 (FOREBAY_HINTS)");
    expect_in(report, "codec=zstd:1 (MPI_Info) is overruled by codec=zstd:2 (FOREBAY_HINTS)");
  }

  report = in("layout=canonical", MPI_INFO_NULL);
  EXPECT_FALSE(stored.has_chunks);
  if (world.rank == 0)
    expect_in(
        report,
        "the program's chunk shape of variable v is overruled by layout=canonical (FOREBAY_HINTS)");
  if (has_wing("decomposed")) {
    report = in("layout=decomposed", MPI_INFO_NULL);
    EXPECT_FALSE(stored.has_chunks);
    if (world.rank == 0) expect_in(report, "is overruled by layout=decomposed (FOREBAY_HINTS)");
  }
  report = in("layout=chunked", info);
  EXPECT_TRUE(stored.has_chunks);
  EXPECT_EQ(stored.codec, "deflate:1");
}

TEST(Settings, what_netcdf_files_cannot_honour_is_refused_or_reported) {
  const auto created = [](const Hints& hints) {
    int id = -1;
    const Info info(hints);
    const int code = ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &id);
    if (code == NC_NOERR) {
      EXPECT_OK(ncmpi_close(id));
    }
    return code;
  };
  const Environment none("FOREBAY_HINTS", "");
  for (const Hints& hints : std::vector<Hints>{{{"layout", "log"}},
                                               {{"layout", "process-group"}},
                                               {{"compact", "close"}},
                                               {{"checkpoint_memory", "1MiB"}},
                                               {{"split", "step"}},
                                               {{"bp_version", "3"}},
                                               {{"transport", "null"}}}) {
    // Keys of wings that are left out are told of in the report, as a program's hints may be for
    // other libraries; values are refused.
    const int absent = hints[0].first == "layout" ? NC_ENOTBUILT : NC_NOERR;
    EXPECT_ERR(are_built(hints) ? NC_ENOTSUPPORT : absent, created(hints)) << hints[0].first;
  }
  if (!has_wing("hdf5")) return;
  const std::string report = report_of([&] {
    const Environment all("FOREBAY_HINTS",
                          "layout=log;compact=close;checkpoint_memory=1MiB;transport=null");
    EXPECT_OK(created({}));
  });
  if (world.rank != 0) return;
  for (const char* setting :
       {"layout=log", "compact=close", "checkpoint_memory=1048576", "transport=null"})
    expect_in(report, std::string("FOREBAY_HINTS did not reach this file: netCDF files have no ") +
                          setting);
}

TEST(Settings, settings_of_an_exchange_that_did_not_take_place_are_in_the_report) {
  const auto write = [](const Hints& hints, bool finely) {
    return report_of([&] {
      const Info info(hints);
      int id = -1, dims[2], var = -1;
      constexpr int rows = 512;
      EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &id));
      EXPECT_OK(ncmpi_def_dim(id, "row", rows, &dims[0]));
      EXPECT_OK(ncmpi_def_dim(id, "rank", world.size, &dims[1]));
      EXPECT_OK(ncmpi_def_var(id, "v", NC_INT, 2, dims, &var));
      EXPECT_OK(ncmpi_enddef(id));
      const std::vector<int> values(rows, world.rank);
      const MPI_Offset start[] = {0, world.rank}, count[] = {rows, 1};
      if (finely) {
        EXPECT_OK(ncmpi_put_vara_int_all(id, var, start, count, values.data()));
      }
      EXPECT_OK(ncmpi_close(id));
    });
  };
  const std::vector<std::string> keys = {"aggregators=1", "window_size=65536", "cb_nodes=1",
                                         "cb_buffer_size=65536"};
  const auto hints = [&](const char* transport) {
    Hints all{{"transport", transport}};
    for (const std::string& key : keys)
      all.emplace_back(key.substr(0, key.find('=')), key.substr(key.find('=') + 1));
    return all;
  };
  const Environment none("FOREBAY_HINTS", "");
  const std::string posix = write(hints("posix"), true), idle = write(hints("aggregated"), false),
                    windows = write(hints("aggregated"), true);
  if (world.rank != 0) return;
  for (const std::string& key : keys) {
    const std::string line = key + " (MPI_Info) has no effect on this file: it takes ";
    expect_in(posix, line);
    expect_in(idle, line);
    expect_not_in(windows, line);
  }
}

TEST(Settings, settings_of_bundles_are_in_the_report_of_a_file_that_is_in_none) {
  if (!has_wing("bundles")) return;
  const auto write = [](const Hints& hints) {
    return report_of([&] {
      const Info info(hints);
      int id = -1;
      EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER, info, &id));
      EXPECT_OK(ncmpi_enddef(id));
      EXPECT_OK(ncmpi_close(id));
    });
  };
  const Environment none("FOREBAY_HINTS", "");
  Hints hints{{"bundle_scheme", "bps"}, {"bundle_files", "1"}};
  const std::string alone = write(hints);
  hints.emplace_back("bundle", "both");
  const std::string member = write(hints);
  if (world.rank != 0) return;
  for (const char* key : {"bundle_scheme=bps", "bundle_files=1"}) {
    const std::string line = std::string(key) + " (MPI_Info) has no effect on this file: it takes ";
    expect_in(alone, line);
    expect_not_in(member, line);
  }
}

TEST(Settings, a_layout_named_for_a_file_that_is_there_is_in_the_report) {
  const File file = define(MPI_INFO_NULL);
  EXPECT_OK(ncmpi_enddef(file.id));
  EXPECT_OK(ncmpi_close(file.id));
  const auto open = [&](int mode, bool defines) {
    return report_of([&] {
      const Info info(Hints{{"layout", "chunked"}});
      int id = -1, dim = -1, var = -1;
      EXPECT_OK(ncmpi_open(MPI_COMM_WORLD, world.path().c_str(), mode, info, &id));
      if (defines) {
        EXPECT_OK(ncmpi_redef(id));
        EXPECT_OK(ncmpi_inq_dimid(id, "x", &dim));
        EXPECT_OK(ncmpi_def_var(id, "later", NC_INT, 1, &dim, &var));
        EXPECT_OK(ncmpi_enddef(id));
      }
      EXPECT_OK(ncmpi_close(id));
    });
  };
  const std::string read = open(NC_NOWRITE, false), written = open(NC_WRITE, false),
                    extended = open(NC_WRITE, true);
  if (world.rank != 0) return;
  const std::string line =
      "layout=chunked (MPI_Info) has no effect on variables that were in the file before: "
      "fixed, record\"";
  expect_not_in(read, "has no effect");
  expect_in(written, line);
  expect_in(extended, line);
}

TEST(Settings, the_report_tells_of_bounds_that_are_too_large_and_of_what_is_kept_apart) {
  const auto text_of = [](const Hints& hints, float mark, bool told) {
    return report_of([&] {
      const Info info(hints);
      int id = -1, var = -1;
      int dims[2];
      EXPECT_OK(ncmpi_create(MPI_COMM_WORLD, world.path().c_str(), NC_CLOBBER | NC_64BIT_DATA, info,
                             &id));
      EXPECT_OK(ncmpi_def_dim(id, "y", 64 * world.size, &dims[0]));
      EXPECT_OK(ncmpi_def_dim(id, "x", 128, &dims[1]));
      EXPECT_OK(ncmpi_def_var(id, "T", NC_FLOAT, 2, dims, &var));
      if (told) {
        EXPECT_OK(ncmpi_put_att_float(id, var, "missing_value", NC_FLOAT, 1, &mark));
      }
      EXPECT_OK(ncmpi_enddef(id));
      std::vector<float> values(64 * 128);
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = i % 128 < 60 ? mark : static_cast<float>(i) / 300;
      const MPI_Offset start[] = {64 * world.rank, 0}, count[] = {64, 128};
      EXPECT_OK(ncmpi_put_vara_float_all(id, var, start, count, values.data()));
      EXPECT_OK(ncmpi_close(id));
    });
  };
  const Environment none("FOREBAY_HINTS", "");
  for (const Hints& where :
       std::vector<Hints>{{{"layout", "chunked"}},
                          {{"layout", "patches"}},
                          {{"layout", "decomposed"}},
                          {{"layout", "decomposed"}, {"subfiling", "ranks"}}}) {
    if (!are_built(where)) continue;
    Hints hints = where;
    hints.emplace_back("codec", "zfp:relative=1e-3");
    // Smaller than what is taken for a mark: it counts in the range.
    const std::string large = text_of(hints, -60000, false);
    const std::string apart = text_of(hints, -60000, true);
    if (world.rank != 0) continue;
    expect_in(large, "T: warning: its bound is larger than what most values are apart");
    expect_not_in(apart, "warning: its bound");
    if (where[0].second != "patches") expect_in(apart, "T: missing values are kept apart in ");
  }
}
#endif
