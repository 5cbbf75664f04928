// Fixtures for tests of recovery: a dataset, a control file and logs, as a job leaves them when it
// ends.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "burst/fingerprint.h"
#include "burst/log/staging_writer.h"
#include "dataset/dataset.h"
#include "files/classic_file.h"
#include "stage/recovery.h"
#include "storage/file.h"
#include "store/journal_files.h"
#include "store/staging_control.h"

namespace forebay {

// T(t, x) float, x = 8, one record of 0 to 7; P(x) int, all -1.
class RecoveryTest : public ::testing::Test {
 protected:
  static constexpr Count nx = 8;
  static constexpr std::uint64_t id = 0xfeedfacecafebeef;
  enum Variables { T, P };

  void SetUp() override {
    directory_ = std::filesystem::canonical(::testing::TempDir()).string() + "/forebay_recovery_" +
                 std::to_string(::getpid());
    std::filesystem::remove_all(directory_);
    logs_ = directory_ + "/logs";
    std::filesystem::create_directories(logs_);
    file_ = directory_ + "/a.nc";
    make({});
    before_ = load(file_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void make(const HintMap& hints) {
    auto ds = Dataset::create(Comm(), file_, 5, false, hints);
    const DimId t = ds->def_dim("t", 0), x = ds->def_dim("x", nx);
    ds->def_var("T", Type::float32, std::array{t, x});
    ds->def_var("P", Type::int32, std::array{x});
    ds->enddef();
    fingerprint_ = schema_fingerprint(ds->schema());
    std::vector<float> record(nx);
    for (std::size_t i = 0; i < record.size(); ++i) record[i] = static_cast<float>(i);
    put(*ds, T, {{0, 0}, {1, nx}, {}}, Type::float32, record.data());
    std::vector<std::int32_t> minus(nx, -1);
    put(*ds, P, {{0}, {nx}, {}}, Type::int32, minus.data());
    ds->close();
  }

  static void put(Dataset& ds, VarId var, Subarray part, Type type, void* values) {
    std::vector<Request> accesses(1);
    Request& access = accesses[0];
    access.var = var;
    access.write = true;
    access.elements = part.elements();
    if (ds.variable(var).is_record) access.last_record = part.start[0] + part.count[0];
    access.selection = std::move(part);
    access.memory.data = static_cast<std::byte*>(values);
    access.memory.type = type;
    ds.execute(accesses, true);
  }

  staging::Header header(Rank rank, int ranks) const {
    staging::Header header;
    header.session = id;
    header.rank = rank;
    header.ranks = ranks;
    header.path = file_;
    return header;
  }
  staging::State state(std::uint64_t epoch = 0) const {
    staging::State state;
    state.epoch = epoch;
    state.schema = fingerprint_;
    return state;
  }
  std::unique_ptr<staging::Writer> writer(const staging::Header& header,
                                          const staging::State& state) {
    const bool node = header.share.parts > 1;
    const std::string stem =
        log_stem(logs_, header.path, header.session, node, node ? 0 : header.rank);
    const auto open = [&](const std::string& path) {
      auto file = std::make_unique<File>(path, true, 0, report_);
      std::filesystem::exists(path) ? file->ensure_open() : file->create(false);
      return file;
    };
    return std::make_unique<staging::Writer>(open(records_path(stem)), open(data_path(stem)),
                                             header, state);
  }
  template <typename V>
  static void stage(staging::Writer& log, VarId var, Type type, Subarray part,
                    std::vector<V> values, bool continues = false) {
    staging::Write write;
    write.var = var;
    write.type = type;
    write.continues = continues;
    if (var == T && !part.start.empty()) write.last_record = part.start[0] + part.count[0];
    write.selection = std::move(part);
    const iovec piece{values.data(), values.size() * sizeof(V)};
    log.add(write, {&piece, 1});
    log.commit();
  }
  // Sets record `record` of T to 100 × rank + 0, 1, …, and element `rank` of P to the rank.
  static void stage_usual(staging::Writer& log, Rank rank, Count record) {
    std::vector<float> values(nx);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(100 * rank + static_cast<int>(i));
    stage(log, T, Type::float32, {{record, 0}, {1, nx}, {}}, values);
    stage(log, P, Type::int32, {{rank}, {1}, {}}, std::vector<std::int32_t>{rank});
  }
  void leave_control(int ranks, std::uint64_t flushed = 0) {
    StagingInfo info;
    info.session = id;
    info.ranks = ranks;
    info.directory = logs_;
    info.file = file_;
    StagingControl::create(info)->set_flushed(flushed);
  }
  // Leaves the logs of two ranks with two writes each: records 1 and 2 of T and elements 0 and 1 of
  // P.
  void leave_two_ranks() {
    for (Rank r = 0; r < 2; ++r) stage_usual(*writer(header(r, 2), state()), r, 1 + r);
    leave_control(2);
  }
  void expect_two_ranks() {
    EXPECT_EQ(records(), 3);
    EXPECT_EQ(values(T, {{1, 0}, {2, 2}, {}}), (std::vector<double>{0, 1, 100, 101}));
    EXPECT_EQ(values(P, {{0}, {3}, {}}), (std::vector<double>{0, 1, -1}));
  }

  Count records() const { return ClassicFile(file_).schema().numrecs; }
  std::vector<double> values(VarId var, const Subarray& part) const {
    return ClassicFile(file_).read_doubles(var, part);
  }
  // Returns the only session of a recovery.
  RecoveredSession recover_one(const std::string& path, const RecoveryOptions& options = {}) {
    const RecoveryResult result = recover(Comm(), path, options);
    if (result.sessions.size() != 1) {
      ADD_FAILURE() << result.sessions.size() << " sessions";
      return {};
    }
    return result.sessions[0];
  }
  bool nothing_is_left() const {
    return std::filesystem::is_empty(logs_) &&
           !std::filesystem::exists(StagingControl::path_of(file_));
  }
  std::string stem(Rank rank) const { return log_stem(logs_, file_, id, false, rank); }

  static std::string load(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void save(const std::string& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string directory_, logs_, file_, before_;
  std::uint64_t fingerprint_ = 0;
  Report report_;
};

}  // namespace forebay
