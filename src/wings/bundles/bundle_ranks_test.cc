// Bundles over ranks that are threads. Under every scheme the files are, byte for byte, those
// written one after another, and errors are those of each file.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/attempt.h"
#include "bundles/bundle.h"
#include "bundles/bundle_program_testing.h"
#include "comm/backend.h"
#include "comm/thread_ranks.h"
#include "comm/topology.h"
#include "method/parts_testing.h"

namespace forebay {
namespace bundle_ranks_test {

using namespace bundle_testing;

std::string folder() {
  const std::string path = ::testing::TempDir() + "/forebay_bundles_" + std::to_string(::getpid());
  std::filesystem::create_directories(path);
  return path;
}

std::string path_of(const std::string& kind, int file) {
  return folder() + "/" + kind + std::to_string(file) + ".nc";
}

void write_apart(const Program& program, int ranks) {
  run_as_threads(ranks, [&](const Comm& comm) { program.write_apart(comm, folder() + "/apart"); });
}

/// Returns the plan of rank 0's bundle.
std::string write_bundle(const Program& program, int ranks, const HintMap& hints) {
  std::string plan;
  run_as_threads(ranks, [&](const Comm& comm) {
    const std::string told = program.write_bundle(comm, folder() + "/bundle", hints);
    if (comm.is_root()) plan = told;
  });
  return plan;
}

class BundleSchemes : public ::testing::TestWithParam<int> {};

TEST_P(BundleSchemes, each_writes_what_files_one_after_another_are) {
  const int ranks = GetParam();
  std::map<std::string, int> jointly;
  for (unsigned seed = 0; seed < 4; ++seed) {
    const Program program(seed, ranks, 6);
    write_apart(program, ranks);
    for (const char* scheme : {"auto", "off", "joint", "bps", "lps", "ips", "balanced"}) {
      for (const char* node : {"0", "1", "2"}) {
        const std::string plan = write_bundle(program, ranks,
                                              {{"bundle_scheme", scheme},
                                               {"ranks_per_node", node},
                                               {"window_size", "4k"},
                                               {"transport", seed % 2 ? "aggregated" : "auto"}});
        jointly[scheme] += plan.find("\"files\":[{") != std::string::npos;
        for (int f = 0; f < program.files; ++f)
          ASSERT_EQ(content(path_of("bundle", f)) == content(path_of("apart", f)), true)
              << scheme << ", " << ranks << " ranks, " << node << " a node, seed " << seed
              << ", file " << f << plan;
      }
    }
  }
  // Overlaps are written file by file; not every program has them.
  for (const char* scheme : {"auto", "joint", "bps", "lps", "ips", "balanced"})
    EXPECT_GT(jointly[scheme], 0) << scheme;
  EXPECT_EQ(jointly["off"], 0);
}

// Covers several operations of a file, overlapping ones too, empty ranks, variables without chunks,
// chosen shapes, records, and rounds, because memory is small.
TEST_P(BundleSchemes, chunks_of_all_members_are_one_operation) {
  const int ranks = GetParam();
  int jointly = 0;
  for (unsigned seed = 10; seed < 18; ++seed) {
    Program program(seed, ranks, 6);
    program.chunked = true;
    write_apart(program, ranks);
    for (const char* node : {"0", "1", "2"}) {
      const std::string plan = write_bundle(program, ranks,
                                            {{"ranks_per_node", node},
                                             {"buffer_limit", seed % 2 ? "64m" : "8k"},
                                             {"bundle_memory", "1m"},
                                             {"chunk_bytes", "2k"}});
      jointly += plan.find("\"encoded_together\":[\"") != std::string::npos;
      for (int f = 0; f < program.files; ++f)
        ASSERT_EQ(values_of(path_of("bundle", f)), values_of(path_of("apart", f)))
            << ranks << " ranks, " << node << " a node, seed " << seed << ", file " << f << plan;
    }
  }
  EXPECT_GT(jointly, 0);
}

INSTANTIATE_TEST_SUITE_P(, BundleSchemes, ::testing::Values(1, 2, 3, 4, 7));

// With one rank per node each window gets one message from each rank that does not own it. The plan
// decides how many windows a rank owns, and so how many messages it receives.
TEST(Bundles, messages_are_those_of_the_plan) {
  constexpr int ranks = 4;
  constexpr Count window = 4096;
  const std::vector<std::int64_t> windows{12, 3};  // 3 ranks and 1
  const std::vector<std::int64_t> bytes{windows[0] * window, windows[1] * window};
  const BundlePlan plan = plan_bundle(bytes, ranks, 1, BundleScheme::bps);
  std::vector<std::int64_t> owned(ranks);
  for (std::size_t f = 0; f < windows.size(); ++f)
    for (std::int64_t w = 0; w < windows[f]; ++w)
      ++owned[static_cast<std::size_t>(plan.owner(f, w, windows[f]))];
  EXPECT_EQ(owned, (std::vector<std::int64_t>{4, 4, 4, 3}));
  BundleRates rates;
  rates.unit_bytes = window;
  const BundlePrediction predicted = predict(plan, rates);
  EXPECT_EQ(predicted.files[0].messages, owned[0] * (ranks - 1));
  EXPECT_EQ(predicted.files[1].messages, owned[3] * (ranks - 1));
  const std::int64_t all = windows[0] + windows[1];

  const std::string report = folder() + "/report.json";
  std::filesystem::remove(report);
  const HintMap hints{{"bundle_scheme", "bps"},
                      {"ranks_per_node", "1"},
                      {"exchange", "message"},
                      {"nc_header_align_size", "4096"},
                      {"window_size", "4096"}};
  ::setenv("FOREBAY_REPORT", ("json:" + report).c_str(), 1);
  std::string told;
  run_as_threads(ranks, [&](const Comm& comm) {
    std::vector<std::unique_ptr<Dataset>> files;
    std::unique_ptr<Bundle> bundle;
    for (std::size_t f = 0; f < windows.size(); ++f) {
      auto ds = Dataset::create(comm, path_of("messages", static_cast<int>(f)), 5, false, hints);
      if (!bundle) bundle = std::make_unique<Bundle>(comm, "b", 1, bundle_options(ds->method()));
      ASSERT_TRUE(bundle->add(*ds));
      put_rows(*ds, bytes[f] / (64 * ranks));
      files.push_back(std::move(ds));
    }
    bundle->complete();
    if (comm.is_root()) told = bundle->plan_json();
    for (auto& file : files) bundle->close(std::move(file));
    bundle->complete();
    bundle->tell();
  });
  ::unsetenv("FOREBAY_REPORT");
  // A rank sends one message for each window that it does not own.
  const auto most = all - *std::min_element(owned.begin(), owned.end());
  const std::string expected = "\"messages\":{\"max\":" + std::to_string(most) +
                               ",\"sum\":" + std::to_string((ranks - 1) * all) + "}";
  EXPECT_NE(told.find(expected), std::string::npos) << expected << " is not in " << told;
  // It receives one from each other rank for each window that it owns: the plan's largest
  // in-degree.
  const auto most_in = std::max(predicted.files[0].messages, predicted.files[1].messages);
  const std::string in = "\"most_messages_in\":" + std::to_string(most_in) + ",";
  EXPECT_NE(told.find(in), std::string::npos) << in << " is not in " << told;
  // The record also says when each file was written.
  EXPECT_NE(told.find("\"visible\":"), std::string::npos) << told;
  // A file's report says where its writes went, and has no empty reason.
  std::ifstream in_file(report);
  const std::string text{std::istreambuf_iterator<char>(in_file), {}};
  EXPECT_NE(
      text.find("\"bundle: 1 collective writes waited, carried out together with other files' 1 "
                "times, and with each other alone 0 times\""),
      std::string::npos)
      << text;
  EXPECT_EQ(text.find("\"\","), std::string::npos) << text;
}

// Each rank has an equal part of each window, as the prediction assumes. So messages and bytes are
// those of the plan, whatever nodes there are. Memory is for a few windows at a time, or for all.
TEST(Bundles, an_isolated_shuffle_has_the_messages_and_bytes_of_the_plan) {
  constexpr Count window = 12288;
  const std::vector<std::int64_t> bytes{13 * window, 5 * window, 2 * window};
  for (const int ranks : {2, 3, 4, 6, 8}) {
    for (const char* limit : {"200k", "64m"}) {
      const BundlePlan plan = plan_bundle(bytes, ranks, 2, BundleScheme::ips);
      BundleRates rates;
      rates.unit_bytes = window;
      const BundlePrediction predicted = predict(plan, rates);
      const HintMap hints{{"bundle_scheme", "ips"},
                          {"ranks_per_node", "2"},
                          {"buffer_limit", limit},
                          {"bundle_memory", "64m"},
                          {"window_size", "12288"}};
      ::setenv("FOREBAY_REPORT", ("json:" + folder() + "/report.json").c_str(), 1);
      std::string told;
      run_as_threads(ranks, [&](const Comm& comm) {
        const std::string text = write_rows(comm, folder() + "/rows", bytes, hints);
        if (comm.is_root()) told = text;
      });
      ::unsetenv("FOREBAY_REPORT");
      const auto json = nlohmann::json::parse(told);
      std::int64_t all = 0;
      for (std::size_t f = 0; f < bytes.size(); ++f) {
        const BundleCost& cost = predicted.files[f];
        const auto& file = json["files"][f];
        // With fewer ranks than files a member of two files' groups counts for each.
        EXPECT_EQ(file["messages_in"], cost.messages) << ranks << ' ' << told;
        EXPECT_EQ(file["bytes_in"], cost.bytes_in) << ranks << ' ' << told;
        EXPECT_EQ(file["aggregation_messages_in"], cost.aggregation_messages) << ranks;
        EXPECT_EQ(file["aggregation_bytes_in"], cost.aggregation_bytes) << ranks;
        all += bytes[f] / window * (ranks - 1);  // each window: n − A, then A − 1
        EXPECT_TRUE(rows_are_whole(folder() + "/rows", static_cast<int>(f), bytes[f], ranks));
      }
      EXPECT_EQ(json["counters"]["messages"]["sum"], all) << ranks << ' ' << told;
    }
  }
}

// If opening may take long, one rank of a node opens a file and writes all its data: rank 0, which
// made it.
TEST(Bundles, one_rank_of_a_node_opens_members_where_calls_are_slow) {
  constexpr int ranks = 4, files = 3;
  for (const int nodes : {1, 2}) {
    std::atomic<std::int64_t> descriptors = 0;
    run_as_threads(ranks, [&](const Comm& comm) {
      const HintMap hints{{"ranks_per_node", std::to_string(ranks / nodes)},
                          {"window_size", "4096"}};
      std::vector<std::unique_ptr<Dataset>> all;
      std::unique_ptr<Bundle> bundle;  // does not know the store yet
      for (int f = 0; f < files; ++f) {
        all.push_back(Dataset::create(comm, path_of("opened", f), 5, false, hints));
        if (!bundle)
          bundle = std::make_unique<Bundle>(comm, "b", 1, bundle_options(all[0]->method()));
        ASSERT_TRUE(bundle->add(*all.back()));
        put_rows(*all.back(), 512);
      }
      bundle->complete();
      comm.barrier();
      if (comm.is_root())
        for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
          std::error_code none;
          const auto target = std::filesystem::read_symlink(each, none).string();
          descriptors += target.find("/opened") != std::string::npos;
        }
      comm.barrier();
      for (auto& file : all) bundle->close(std::move(file));
      bundle->complete();
      bundle->tell();
    });
    EXPECT_GE(descriptors, files);
    EXPECT_LE(descriptors, files * nodes);
  }
}

TEST(Bundles, more_files_than_ranks_and_memory_for_less_than_all) {
  const Program program(77, 2, 1000);
  write_apart(program, 2);
  for (const char* memory : {"1000", "20k", "1m"}) {
    write_bundle(
        program, 2,
        {{"bundle_scheme", "balanced"}, {"ranks_per_node", "1"}, {"bundle_memory", memory}});
    for (int f = 0; f < program.files; ++f)
      ASSERT_EQ(content(path_of("bundle", f)) == content(path_of("apart", f)), true) << f;
  }
}

// Its pages exist already: copies of a step need no new ones.
TEST(Bundles, what_waited_leaves_its_memory_to_what_waits_next) {
  constexpr Count rows = 32 << 10;  // of 64 bytes
  run_as_threads(2, [&](const Comm& comm) {
    auto ds = Dataset::create(comm, path_of("warm", 0), 5, false, {});
    Bundle bundle(comm, "b", 1, bundle_options(ds->method()));
    ASSERT_TRUE(bundle.add(*ds));
    const Count room = bundle.room();
    put_rows(*ds, rows);
    EXPECT_LT(bundle.room(), room);
    bundle.complete();
    EXPECT_EQ(bundle.room(), room);  // kept memory does not count
    // Memory that was returned to the system meanwhile belongs to others now.
    std::vector<std::unique_ptr<std::byte[]>> others;
    for (int i = 0; i < 8; ++i) others.push_back(std::make_unique<std::byte[]>(rows * 64));
    const auto block = bundle.take_memory(rows * 64);
    std::array<unsigned char, 64> last{};
    std::memcpy(last.data(), block.get() + (rows - 1) * 64, last.size());
    // New pages are zeros, and so are rank 0's values.
    if (comm.rank() > 0) EXPECT_NE(last, (std::array<unsigned char, 64>{}));
    bundle.close(std::move(ds));
    bundle.complete();
    bundle.tell();
  });
}

/// A file with one variable, of so many elements on each rank.
struct Simple {
  std::unique_ptr<Dataset> ds;
  VarId var = 0;
  Count each = 10;
  Count beyond = 0;  // elements that nobody writes
  bool alone = false;

  explicit Simple(std::unique_ptr<Dataset> made) : ds(std::move(made)) {}
  Simple(const Comm& comm, const std::string& path, const HintMap& hints = {})
      : ds(Dataset::create(comm, path, 5, false, hints)) {}
  void define(bool chunked = false) {
    var = ds->def_var("v", Type::int32,
                      std::array{ds->def_dim("x", each * ds->comm().size() + beyond)});
    if (chunked) ds->set_chunk(var, std::array<Count, 1>{7});
    ds->enddef();
  }
  void put(int value) { move(value, true); }
  int get() { return move(0, false); }

 private:
  int move(int value, bool write) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(each), value);
    std::vector<Request> list(1);
    list[0].var = var;
    list[0].write = write;
    list[0].selection = Subarray{{each * ds->comm().rank()}, {each}, {}};
    list[0].elements = each;
    list[0].memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
    ds->execute(list, !alone);
    return values[9];
  }
};

Bundle bundle_of(const Comm& comm, int files = 0, Count memory = 1 << 20) {
  BundleOptions options;
  options.files = files;
  options.memory = memory;
  return Bundle(comm, "b", 1, options);
}

Count size_of_file(const std::string& path) {
  return static_cast<Count>(std::filesystem::file_size(path));
}

TEST(Bundles, members_wait_until_as_many_are_closed) {
  run_as_threads(3, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm, 2);
    for (int round = 0; round < 2; ++round) {
      Simple a(comm, path_of("a", round)), b(comm, path_of("b", round));
      for (Simple* one : {&a, &b}) {
        EXPECT_TRUE(bundle.add(*one->ds));
        one->define();
        one->put(7);
      }
      bundle.close(std::move(a.ds));
      EXPECT_EQ(bundle.waits(path_of("a", round)), Bundle::Waits::yes);
      EXPECT_EQ(size_of_file(path_of("a", round)), 0);
      comm.barrier();
      bundle.close(std::move(b.ds));
      EXPECT_EQ(bundle.waits(path_of("a", round)), Bundle::Waits::no);
      EXPECT_GT(size_of_file(path_of("a", round)), 120);
      EXPECT_EQ(content(path_of("a", round)), content(path_of("b", round)));
    }
  });
}

TEST(Bundles, whatever_needs_one_file_writes_all_of_them) {
  constexpr std::size_t independent = 3;
  const std::vector<std::function<void(Simple&)>> needs = {
      [](Simple& one) { EXPECT_EQ(one.get(), 7); },
      [](Simple& one) { one.ds->sync(); },
      [](Simple& one) { one.ds->flush(); },
      [](Simple& one) { one.ds->begin_independent(), one.ds->end_independent(); },
      [](Simple& one) { one.ds->redef(), one.ds->enddef(); },
  };
  const auto is_file = [](const char* name) {
    return content(path_of(name, 9)).substr(0, 3) == "CDF";
  };
  const auto all_need = [&](std::size_t need, bool chunked, bool written) {
    const auto way = std::to_string(need) + (chunked ? ", chunked" : "");
    run_as_threads(2, [&](const Comm& comm) {
      const HintMap hints{{"layout", chunked ? "chunked" : "canonical"}};
      Bundle bundle = bundle_of(comm);
      Simple a(comm, path_of("a", 9), hints), b(comm, path_of("b", 9), hints),
          c(comm, path_of("c", 9), hints);
      for (Simple* one : {&a, &b, &c}) {
        EXPECT_TRUE(bundle.add(*one->ds));
        one->define(chunked);
        if (written) one->put(7);
      }
      bundle.close(std::move(a.ds));
      comm.barrier();
      for (const char* name : {"a", "b", "c"}) EXPECT_FALSE(is_file(name)) << way;
      if (!chunked) EXPECT_EQ(size_of_file(path_of("a", 9)), 0);
      comm.barrier();
      needs[need](b);
      for (const char* name : {"a", "b", "c"}) EXPECT_TRUE(is_file(name)) << way;
      EXPECT_GT(size_of_file(path_of("a", 9)), 120) << way;
      if (written || !chunked) EXPECT_EQ(c.get(), written ? 7 : 0) << way;
      bundle.remove(*b.ds);
      b.ds->close();
      bundle.close(std::move(c.ds));
      bundle.complete();
      bundle.tell();
      for (const char* name : {"a", "b", "c"}) {
        Simple again(Dataset::open(comm, path_of(name, 9), false, {}));
        if (written) EXPECT_EQ(again.get(), 7) << name << " " << way;
        again.ds->close();
      }
    });
  };
  for (std::size_t need = 0; need < needs.size(); ++need) {
    for (const bool chunked : {false, true}) {
      all_need(need, chunked, true);
      // Independent mode needs no file that has chunks only, and no values.
      if (need > 0 && !(chunked && need == independent)) all_need(need, chunked, false);
    }
  }
}

TEST(Bundles, one_full_disk_of_several_is_that_files_error) {
  run_as_threads(3, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm, 3);
    Simple a(comm, path_of("a", 1)), full(comm, "/dev/full"), b(comm, path_of("b", 1));
    for (Simple* one : {&a, &full, &b}) {
      EXPECT_TRUE(bundle.add(*one->ds));
      one->define();
      one->put(3);
    }
    bundle.close(std::move(a.ds));
    bundle.close(std::move(full.ds));
    std::string told;
    Errc code = Errc::ok;
    try {
      bundle.close(std::move(b.ds));
    } catch (const Error& error) {
      told = error.message();
      code = error.code();
    }
    EXPECT_EQ(code, Errc::eno_space);
    EXPECT_NE(told.find("/dev/full"), std::string::npos) << told;
    const auto outcomes = bundle.take_outcomes();
    ASSERT_EQ(outcomes.size(), 3u);
    EXPECT_EQ(outcomes[0].second, 0);
    EXPECT_EQ(outcomes[1].second, to_int(Errc::eno_space));
    EXPECT_EQ(outcomes[2].second, 0);
    EXPECT_NO_THROW(bundle.tell());
    for (const char* name : {"a", "b"}) {
      auto again = Dataset::open(comm, path_of(name, 1), false, {});
      EXPECT_EQ(again->schema().vars.size(), 1u);
      again->close();
    }
  });
}

/// Returns a member that a thread makes, as front ends request it.
Simple made_later(const Comm& comm, const std::string& path) {
  const HintMap hints{{"bundle_create", "later"}};
  return Simple(Dataset::create(comm, path, 5, false, hints, true));
}

std::string new_path(const std::string& name) {
  std::filesystem::create_directories(folder() + "/made");
  return folder() + "/made/" + name + ".nc";
}

/// Makes a folder whose layout of files is known from the start.
void begin_folder(const Comm& comm) {
  if (comm.is_root()) std::filesystem::remove_all(folder() + "/made");
  comm.barrier();
  Simple first(comm, new_path("first"));
  first.ds->close();
}

TEST(BundleCreate, later_members_are_made_by_threads_and_are_the_same) {
  run_as_threads(3, [&](const Comm& comm) {
    begin_folder(comm);
    Bundle bundle = bundle_of(comm, 40);
    std::vector<Simple> files;
    for (int f = 0; f < 40; ++f) {
      files.push_back(made_later(comm, new_path(std::to_string(f))));
      // More than a few are made at the same time.
      EXPECT_EQ(comm.all_reduce(files.back().ds->as_member()->file().is_being_made(), Reduce::min),
                comm.all_reduce(files.back().ds->as_member()->file().is_being_made(), Reduce::max));
      if (f == 0) EXPECT_TRUE(files.back().ds->as_member()->file().is_being_made());
      EXPECT_TRUE(bundle.add(*files.back().ds));
    }
    for (Simple& file : files) file.define(), file.put(7), bundle.close(std::move(file.ds));
    EXPECT_NO_THROW(bundle.tell());
    Simple apart(comm, new_path("apart"));
    apart.define();
    apart.put(7);
    apart.ds->close();
    for (const char* name : {"0", "17", "39"})
      EXPECT_EQ(content(new_path(name)), content(new_path("apart"))) << name;
  });
}

TEST(BundleCreate, a_file_that_is_only_opened_does_not_tell_how_a_folders_new_files_are_cut) {
  const std::string only_opened = folder() + "/only_opened";
  run_as_threads(2, [&](const Comm& comm) {
    begin_folder(comm);
    if (comm.is_root()) {
      std::filesystem::remove_all(only_opened);
      std::filesystem::create_directories(only_opened);
      std::filesystem::rename(new_path("first"), only_opened + "/old.nc");
    }
    comm.barrier();
    const auto old = Dataset::open(comm, only_opened + "/old.nc", true, {});
    Simple made = made_later(comm, only_opened + "/new.nc");
    EXPECT_FALSE(made.ds->as_member()->file().is_being_made());
    made.ds->close();
    Simple next = made_later(comm, only_opened + "/next.nc");
    EXPECT_TRUE(next.ds->as_member()->file().is_being_made());
    next.ds->as_member()->file().finish_making();
    next.ds->close();
    old->close();
  });
}

TEST(BundleCreate, what_fails_later_is_told_by_the_close_that_completes_the_bundle) {
  for (const bool closed : {true, false}) {
    run_as_threads(3, [&](const Comm& comm) {
      begin_folder(comm);
      if (comm.is_root()) std::filesystem::remove_all(folder() + "/made");
      comm.barrier();
      Bundle bundle = bundle_of(comm, closed ? 2 : 1);
      Simple lost = made_later(comm, folder() + "/made/lost.nc");
      EXPECT_TRUE(lost.ds->as_member()->file().is_being_made());
      Simple good(comm, path_of("good", 0));
      EXPECT_TRUE(bundle.add(*lost.ds));
      EXPECT_TRUE(bundle.add(*good.ds));
      for (Simple* one : {&lost, &good}) one->define(), one->put(3);
      if (closed) bundle.close(std::move(lost.ds));
      const auto told = attempt_to([&] { bundle.close(std::move(good.ds)); });
      ASSERT_TRUE(told);
      EXPECT_NE(told->message().find("lost.nc"), std::string::npos) << told->message();
      if (!comm.is_root()) {
        EXPECT_NE(told->message().find("rank 0 on "), std::string::npos) << told->message();
      }
      EXPECT_EQ(comm.all_reduce(to_int(told->code()), Reduce::max), to_int(told->code()));
      if (!closed) EXPECT_TRUE(attempt_to([&] { bundle.close(std::move(lost.ds)); }));
      auto outcomes = bundle.take_outcomes();
      ASSERT_EQ(outcomes.size(), 2U);
      std::sort(outcomes.begin(), outcomes.end(),
                [](const auto& x, const auto& y) { return x.second < y.second; });
      EXPECT_LT(outcomes[0].second, 0);
      EXPECT_EQ(outcomes[1].second, 0);
      EXPECT_GT(size_of_file(path_of("good", 0)), 120);
    });
  }
}

TEST(BundleCreate, whatever_needs_a_file_waits_until_it_is_made) {
  const std::vector<std::function<void(Simple&)>> needs = {
      [](Simple& one) { EXPECT_EQ(one.get(), 7); },
      [](Simple& one) { one.ds->sync(); },
      [](Simple& one) { one.ds->begin_independent(), one.ds->end_independent(); },
      [](Simple& one) { one.ds->redef(), one.ds->enddef(); },
  };
  for (std::size_t need = 0; need < needs.size(); ++need) {
    run_as_threads(2, [&](const Comm& comm) {
      begin_folder(comm);
      Bundle bundle = bundle_of(comm);
      Simple a = made_later(comm, new_path("a")), chunked = made_later(comm, new_path("chunked"));
      Simple open = made_later(comm, new_path("open"));  // still in define mode
      for (Simple* one : {&a, &chunked, &open}) EXPECT_TRUE(bundle.add(*one->ds));
      a.define();
      a.put(7);
      chunked.define(true);  // its definitions do not wait
      EXPECT_FALSE(chunked.ds->as_member()->file().is_being_made());
      needs[need](a);
      for (Simple* one : {&a, &open}) EXPECT_FALSE(one->ds->as_member()->file().is_being_made());
      open.define();
      open.put(8);
      for (Simple* one : {&a, &chunked, &open}) bundle.close(std::move(one->ds));
      bundle.complete();
      EXPECT_NO_THROW(bundle.tell());
      EXPECT_GT(size_of_file(new_path("open")), 80);
    });
  }
}

TEST(BundleCreate, aborted_members_are_gone) {
  run_as_threads(2, [&](const Comm& comm) {
    begin_folder(comm);
    Bundle bundle = bundle_of(comm);
    for (const bool defined : {true, false}) {
      Simple a = made_later(comm, new_path("a"));
      EXPECT_TRUE(a.ds->as_member()->file().is_being_made());
      EXPECT_TRUE(bundle.add(*a.ds));
      if (defined) a.define();
      bundle.remove(*a.ds);
      a.ds->as_member()->discard(true);
      EXPECT_NO_THROW(a.ds->abort());
      comm.barrier();
      EXPECT_FALSE(std::filesystem::exists(new_path("a")));
      comm.barrier();
    }
  });
}

TEST(BundleCreate, a_file_that_is_there_already_is_made_at_once) {
  run_as_threads(2, [&](const Comm& comm) {
    begin_folder(comm);
    Simple there(comm, new_path("a"));
    there.ds->close();
    Simple again = made_later(comm, new_path("a"));
    EXPECT_FALSE(again.ds->as_member()->file().is_being_made());
    again.ds->close();
    const HintMap hints{{"bundle_create", "later"}};
    const auto at_once = Dataset::create(comm, new_path("b"), 5, false, hints);
    EXPECT_FALSE(at_once->as_member()->file().is_being_made());
    at_once->close();
  });
}

/// Writes steps of three files each, and closes each file in the bundle.
void write_steps(const Comm& comm, Bundle& bundle, int begin, int end) {
  for (int step = begin; step < end; ++step) {
    for (const char* name : {"x", "y", "z"}) {
      Simple one(comm, path_of(name, step));
      EXPECT_TRUE(bundle.add(*one.ds));
      one.define();
      one.put(step);
      bundle.close(std::move(one.ds));
    }
  }
}

void expect_steps(const Comm& comm, int begin, int end, int moved = 0) {
  for (int step = begin; step < end; ++step) {
    for (const char* name : {"x", "y", "z"}) {
      Simple one(comm, path_of("unused", 5));
      one.ds->close();
      one.ds = Dataset::open(comm, path_of(name, step), false, {});
      ASSERT_EQ(one.ds->schema().vars.size(), 1u);
      EXPECT_EQ(one.get(), moved > 0 ? moved : step) << name;
      one.ds->close();
    }
  }
}

BundleOptions async_options(int ranks_per_node, Count memory = 1 << 20) {
  BundleOptions options;
  options.async = true;
  options.files = 3;
  options.memory = memory;
  options.ranks_per_node = ranks_per_node;
  if (ranks_per_node > 0) options.scheme = BundleScheme::balanced;
  return options;
}

TEST(AsyncBundles, a_thread_writes_and_the_next_close_or_whoever_asks_makes_it_visible) {
  for (const int node : {0, 1}) {
    for (const Count memory : {Count{1} << 20, Count{3000}}) {
      run_as_threads(3, [&](const Comm& comm) {
        Bundle bundle(comm, "b", 1, async_options(node, memory));
        write_steps(comm, bundle, 20, 21);
        comm.barrier();
        EXPECT_TRUE(bundle.is_under_way());
        // Without its header it does not look like a file.
        const std::string first = content(path_of("z", 20)).substr(0, 3);
        EXPECT_NE(first, "CDF");
        EXPECT_EQ(bundle.waits(path_of("x", 20)), Bundle::Waits::yes);
        if (comm.rank() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(30));
        write_steps(comm, bundle, 21, 22);
        EXPECT_TRUE(bundle.is_under_way());
        write_steps(comm, bundle, 22, 23);
        EXPECT_EQ(bundle.waits(path_of("x", 20)), Bundle::Waits::no);
        EXPECT_EQ(bundle.waits(path_of("y", 22)), Bundle::Waits::yes);
        expect_steps(comm, 20, 22);
        bundle.complete();
        EXPECT_FALSE(bundle.is_under_way());
        bundle.tell();
        expect_steps(comm, 22, 23);
        EXPECT_TRUE(bundle.is_empty());
      });
    }
  }
}

TEST(AsyncBundles, chunks_are_written_by_the_close_which_the_report_says) {
  run_as_threads(2, [&](const Comm& comm) {
    Bundle bundle(comm, "b", 1, async_options(0));
    for (int f = 0; f < 3; ++f) {
      Simple one(comm, path_of("late", f));
      EXPECT_TRUE(bundle.add(*one.ds));
      one.define(f < 2);
      one.put(7);
      bundle.close(std::move(one.ds));
    }
    comm.barrier();
    for (int f = 0; f < 3; ++f)
      EXPECT_EQ(content(path_of("late", f)).substr(0, 3) == "CDF", f < 2) << f;
    if (comm.is_root())
      EXPECT_NE(bundle.plan_json().find("the close itself writes chunks"), std::string::npos);
    comm.barrier();
    bundle.complete();
    bundle.tell();
  });
}

// Reads, syncs and inquiries of the number of records wait for the thread.
TEST(AsyncBundles, an_open_member_waits_for_the_thread) {
  const std::vector<std::function<void(Simple&)>> needs = {
      [](Simple& one) { EXPECT_EQ(one.get(), 7); },
      [](Simple& one) { one.ds->sync(); },
      [](Simple& one) { one.ds->flush(); },
      [](Simple& one) { one.ds->sync_numrecs(); },
      [](Simple& one) { one.ds->begin_independent(), one.ds->end_independent(); },
      [](Simple& one) { one.ds->redef(), one.ds->enddef(); },
  };
  for (const auto& need : needs) {
    run_as_threads(2, [&](const Comm& comm) {
      Bundle bundle(comm, "b", 1, async_options(1));
      Simple open(comm, path_of("open", 1));
      EXPECT_TRUE(bundle.add(*open.ds));
      open.define();
      open.put(7);
      write_steps(comm, bundle, 24, 25);
      EXPECT_TRUE(bundle.is_under_way());
      EXPECT_TRUE(open.ds->as_member()->waiting().any);
      need(open);
      EXPECT_FALSE(bundle.is_under_way());
      expect_steps(comm, 24, 25);
      EXPECT_EQ(open.get(), 7);
      bundle.close(std::move(open.ds));
      bundle.complete();
      bundle.tell();
    });
  }
}

TEST(AsyncBundles, a_full_disk_is_told_by_the_close_that_finds_it) {
  run_as_threads(3, [&](const Comm& comm) {
    Bundle bundle(comm, "b", 1, async_options(0));
    Simple a(comm, path_of("a", 13)), full(comm, "/dev/full"), b(comm, path_of("b", 13));
    for (Simple* one : {&a, &full, &b}) {
      EXPECT_TRUE(bundle.add(*one->ds));
      one->define();
      one->put(3);
    }
    for (Simple* one : {&a, &full, &b}) EXPECT_NO_THROW(bundle.close(std::move(one->ds)));
    Errc code = Errc::ok;
    std::string told;
    try {
      write_steps(comm, bundle, 26, 27);
    } catch (const Error& error) {
      code = error.code();
      told = error.message();
    }
    EXPECT_EQ(code, Errc::eno_space);
    EXPECT_NE(told.find("/dev/full"), std::string::npos) << told;
    EXPECT_EQ(content(path_of("a", 13)), content(path_of("b", 13)));
    EXPECT_GT(size_of_file(path_of("a", 13)), 120);
    bundle.complete();
    EXPECT_NO_THROW(bundle.tell());
    expect_steps(comm, 26, 27);
    EXPECT_EQ(bundle.take_outcomes().size(), 6u);
  });
}

/// A file with a variable of records, each of ten elements per rank.
struct Records {
  std::unique_ptr<Dataset> ds;
  VarId var = 0;

  Records(const Comm& comm, const std::string& path)
      : ds(Dataset::create(comm, path, 5, false, {})) {}
  void define() {
    const Count all = Count{10} * ds->comm().size();
    const DimId time = ds->def_dim("time", 0), x = ds->def_dim("x", all);
    var = ds->def_var("v", Type::int32, std::array{time, x});
    ds->def_var_fill(var, false, nullptr);
    ds->enddef();
  }
  void put(Count record, int value) { move(record, value, true); }
  int get(Count record) { return move(record, 0, false); }

 private:
  int move(Count record, int value, bool write) {
    std::vector<std::int32_t> values(10, value);
    std::vector<Request> list(1);
    list[0].var = var;
    list[0].write = write;
    list[0].selection = Subarray{{record, Count{10} * ds->comm().rank()}, {1, 10}, {}};
    list[0].last_record = write ? record + 1 : 0;
    list[0].elements = 10;
    list[0].memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
    ds->execute(list, true);
    return values[9];
  }
};

// The thread's operation has fewer records than exist by the time it becomes visible.
TEST(AsyncBundles, records_that_an_open_member_gets_meanwhile_count) {
  for (const int ranks : {1, 2}) {
    for (const bool joint : {true, false}) {
      run_as_threads(ranks, [&](const Comm& comm) {
        Bundle bundle(comm, "b", 1, async_options(1));
        Records open(comm, path_of("open", 2));
        EXPECT_TRUE(bundle.add(*open.ds));
        open.define();
        open.put(0, 7);
        write_steps(comm, bundle, 30, 31);
        EXPECT_TRUE(open.ds->as_member()->is_handed_over());
        open.put(1, 8);
        if (joint) {
          bundle.close(std::move(open.ds));
          bundle.complete();
        } else {
          const auto wait = attempt_to([&] { open.ds->as_member()->write_alone(); });
          bundle.complete();
          open.ds->sync_numrecs();
          bundle.close(std::move(open.ds));
          bundle.complete();
        }
        bundle.tell();
        open.ds = Dataset::open(comm, path_of("open", 2), false, {});
        EXPECT_EQ(open.ds->schema().numrecs, 2) << ranks << joint;
        EXPECT_EQ(open.get(0), 7);
        EXPECT_EQ(open.get(1), 8);
        open.ds->close();
      });
    }
  }
}

TEST(AsyncBundles, a_record_is_filled_behind_what_a_thread_writes) {
  run_as_threads(2, [&](const Comm& comm) {
    Bundle bundle(comm, "b", 1, async_options(1));
    Records open(comm, path_of("open", 3));
    EXPECT_TRUE(bundle.add(*open.ds));
    open.define();
    open.put(0, 7);
    write_steps(comm, bundle, 31, 32);
    EXPECT_TRUE(open.ds->as_member()->is_handed_over());
    open.ds->fill_record(open.var, 0);
    EXPECT_FALSE(open.ds->as_member()->is_handed_over());
    EXPECT_EQ(open.get(0), -2147483647);
    bundle.close(std::move(open.ds));
    bundle.complete();
    bundle.tell();
  });
}

// The rank that makes the file visible has not opened it yet, and need not.
TEST(AsyncBundles, nothing_is_told_of_a_member_that_is_deleted_while_a_thread_writes) {
  run_as_threads(3, [&](const Comm& comm) {
    Bundle bundle(comm, "b", 1, async_options(0));
    write_steps(comm, bundle, 32, 33);
    EXPECT_TRUE(bundle.is_under_way());
    comm.barrier();
    if (comm.is_root()) {
      for (const char* name : {"x", "y", "z"}) {
        bundle.drop(bundle.known_as(path_of(name, 32)).waiting);
        std::filesystem::remove(path_of(name, 32));
      }
    }
    comm.barrier();
    bundle.complete();
    EXPECT_NO_THROW(bundle.tell());
    for (const auto& [path, code] : bundle.take_outcomes()) EXPECT_EQ(code, 0) << path;
    for (const char* name : {"x", "y", "z"})
      EXPECT_FALSE(std::filesystem::exists(path_of(name, 32)));
  });
}

// The thread may have to open the file after the rename.
TEST(AsyncBundles, a_member_that_is_renamed_while_a_thread_writes_is_written_where_it_is) {
  for (int round = 0; round < 20; ++round) {
    run_as_threads(3, [&](const Comm& comm) {
      Bundle bundle(comm, "b", 1, async_options(1));
      write_steps(comm, bundle, 33, 34);
      if (comm.is_root())
        for (const char* name : {"x", "y", "z"})
          std::filesystem::rename(path_of(name, 33), path_of(name, 34));
      comm.barrier();
      bundle.complete();
      bundle.tell();
      expect_steps(comm, 34, 35, 33);
    });
  }
}

// The rest of the queue is not written: files are then written one after the other.
TEST(AsyncBundles, a_file_that_is_gone_before_all_of_it_is_in_the_queue) {
  run_as_threads(3, [&](const Comm& comm) {
    BundleOptions options = async_options(1, 230'000);
    options.scheme = BundleScheme::bps;
    Bundle bundle(comm, "b", 1, options);
    Simple x(comm, path_of("x", 40)), big(comm, path_of("y", 40)), z(comm, path_of("z", 40));
    big.each = 50'000;
    for (Simple* one : {&x, &big, &z}) {
      EXPECT_TRUE(bundle.add(*one->ds));
      one->define();
      one->put(4);
    }
    bundle.close(std::move(x.ds));
    bundle.close(std::move(big.ds));
    comm.barrier();
    if (comm.is_root()) std::filesystem::remove(path_of("y", 40));
    comm.barrier();
    attempt_to([&] { bundle.close(std::move(z.ds)); });
    bundle.complete();
    attempt_to([&] { bundle.tell(); });
    EXPECT_EQ(content(path_of("x", 40)), content(path_of("z", 40)));
    EXPECT_GT(size_of_file(path_of("x", 40)), 120);
  });
}

TEST(AsyncBundles, what_is_under_way_when_a_bundle_goes_is_dropped) {
  run_as_threads(2, [&](const Comm& comm) {
    Bundle bundle(comm, "b", 1, async_options(0));
    write_steps(comm, bundle, 28, 29);
    EXPECT_TRUE(bundle.is_under_way());
  });
}

TEST(Bundles, a_file_is_a_member_once) {
  run_as_threads(2, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm), other = bundle_of(comm);
    Simple a(comm, path_of("a", 2));
    EXPECT_TRUE(bundle.add(*a.ds));
    EXPECT_THROW(bundle.add(*a.ds), Error);
    EXPECT_THROW(other.add(*a.ds), Error);
    a.define();
    bundle.close(std::move(a.ds));
    bundle.complete();
    EXPECT_TRUE(bundle.is_empty());
  });
}

TEST(Bundles, a_file_whose_writes_a_stage_keeps_is_left_out) {
  run_as_threads(2, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm);
    for (const std::string stage : {"burst", "async"}) {
      if (!is_built("stage=" + stage)) continue;
      Simple a(comm, path_of("a", 3), {{"stage", stage}, {"nc_burst_buf_dirname", folder()}});
      EXPECT_FALSE(bundle.add(*a.ds)) << stage;
      a.define();
      a.put(5);
      EXPECT_EQ(a.get(), 5);
      a.ds->close();
    }
  });
}

TEST(Bundles, members_of_all_layouts_are_completed) {
  run_as_threads(3, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm, 4);
    Simple a(comm, path_of("a", 4)), chunked(comm, path_of("k", 4)),
        posix(comm, path_of("p", 4), {{"transport", "posix"}}), b(comm, path_of("b", 4));
    for (Simple* one : {&a, &chunked, &posix, &b}) {
      EXPECT_TRUE(bundle.add(*one->ds));
      one->define(one == &chunked);
      one->put(5);
    }
    for (Simple* one : {&a, &chunked, &posix, &b}) bundle.close(std::move(one->ds));
    EXPECT_NE(bundle.plan_json().find("\"one_after_another\":[\"" + path_of("k", 4)),
              std::string::npos)
        << bundle.plan_json();
    EXPECT_EQ(content(path_of("a", 4)), content(path_of("b", 4)));
    EXPECT_EQ(content(path_of("a", 4)), content(path_of("p", 4)));
    for (const char* name : {"a", "k"}) {
      Simple one(comm, path_of("unused", 4));
      one.ds->close();
      one.ds = Dataset::open(comm, path_of(name, 4), false, {});
      EXPECT_EQ(one.get(), 5) << name;
      one.ds->close();
    }
  });
}

// The ranks' shared buffers were used before and hold old values. So few chunks need no journal; a
// bundle's chunks have none either, because they are published once, at the close.
TEST(Bundles, chunked_members_are_byte_for_byte_what_files_apart_are) {
  constexpr int files = 4;
  for (const char* per_node : {"0", "2"}) {
    run_as_threads(4, [&](const Comm& comm) {
      const HintMap hints{{"ranks_per_node", per_node}};
      for (const bool together : {false, true}) {
        Bundle bundle = bundle_of(comm, files);
        for (int f = 0; f < files; ++f) {
          Simple one(comm, path_of(together ? "together" : "alone", f), hints);
          if (together) EXPECT_TRUE(bundle.add(*one.ds));
          one.each = 10 + 5 * (files - f);
          one.beyond = 3 * f;
          one.define(true);
          one.put(5 + f);
          together ? bundle.close(std::move(one.ds)) : one.ds->close();
        }
      }
      comm.barrier();
      for (int f = 0; f < files; ++f)
        EXPECT_EQ(content(path_of("alone", f)), content(path_of("together", f))) << f;
      comm.barrier();
    });
  }
}

// The program's next file gets the communicator on which a member was made, and synchronises there,
// too.
TEST(Bundles, ranks_meet_in_memory_where_members_are_made) {
  run_as_threads(3, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm, 1);
    Simple one(comm, path_of("made", 0));
    EXPECT_EQ(comm.backend()->place, nullptr);
    EXPECT_TRUE(bundle.add(*one.ds));
    EXPECT_NE(comm.backend()->place, nullptr);
    one.define();
    bundle.close(std::move(one.ds));
  });
}

TEST(Bundles, schemes_that_may_be_as_quick_are_tried_once_and_then_times_tell) {
  run_as_threads(4, [&](const Comm& comm) {
    BundleOptions options;
    options.ranks_per_node = 1;
    Bundle bundle(comm, "b", 1, options);
    std::vector<std::string> plans;
    for (int step = 0; step < 6; ++step) {
      Simple a(comm, path_of("a", 8)), b(comm, path_of("b", 8));
      for (Simple* one : {&a, &b}) {
        EXPECT_TRUE(bundle.add(*one->ds));
        one->define();
        one->put(step);
        bundle.close(std::move(one->ds));
      }
      bundle.complete();
      plans.push_back(bundle.plan_json());
    }
    EXPECT_NE(plans[0].find("least predicted"), std::string::npos) << plans[0];
    EXPECT_NE(plans[2].find("tried once"), std::string::npos) << plans[2];
    EXPECT_NE(plans[5].find("least measured"), std::string::npos) << plans[5];
    bundle.tell();
  });
}

TEST(Bundles, a_dropped_member_is_not_written) {
  for (const bool chunked : {false, true})
    run_as_threads(2, [&](const Comm& comm) {
      const HintMap hints{{"layout", chunked ? "chunked" : "canonical"}};
      Bundle bundle = bundle_of(comm);
      Simple a(comm, path_of("a", 5), hints), b(comm, path_of("b", 5), hints),
          c(comm, path_of("c", 5), hints);
      for (Simple* one : {&a, &b, &c}) {
        EXPECT_TRUE(bundle.add(*one->ds));
        one->define(chunked);
        one->put(5);
      }
      bundle.close(std::move(a.ds));
      bundle.close(std::move(b.ds));
      comm.barrier();
      if (comm.rank() == 1) bundle.drop(bundle.known_as(path_of("a", 5)).waiting);
      comm.barrier();
      std::filesystem::remove(path_of("a", 5));
      bundle.remove(*c.ds);
      c.ds->as_member()->discard(true);
      c.ds->abort();
      EXPECT_FALSE(std::filesystem::exists(path_of("c", 5)));
      bundle.complete();
      bundle.tell();
      EXPECT_FALSE(std::filesystem::exists(path_of("a", 5)));
      EXPECT_GT(size_of_file(path_of("b", 5)), 80);
    });
}

// Its old name may then belong to another file, which must stay untouched.
TEST(Bundles, a_file_that_is_renamed_is_written_where_it_is) {
  for (const bool replaced : {false, true}) {
    const std::string other = "another file of that name";
    run_as_threads(3, [&](const Comm& comm) {
      BundleOptions options;
      options.scheme = BundleScheme::balanced;
      Bundle bundle(comm, "b", 1, options);
      Simple a(comm, path_of("a", 10)), b(comm, path_of("b", 10));
      for (Simple* one : {&a, &b}) {
        EXPECT_TRUE(bundle.add(*one->ds, file_number(one->ds->path())));
        one->define();
        one->put(6);
      }
      bundle.close(std::move(a.ds));
      comm.barrier();
      if (comm.is_root()) {
        std::filesystem::rename(path_of("a", 10), path_of("moved", 10));
        std::filesystem::rename(path_of("b", 10), path_of("moved", 11));
        if (replaced) std::ofstream(path_of("a", 10)) << other;
      }
      comm.barrier();
      EXPECT_EQ(bundle.waits(path_of("moved", 10)), Bundle::Waits::yes);
      bundle.complete();
      bundle.tell();
      b.put(6);
      bundle.close(std::move(b.ds));
      bundle.complete();
      bundle.tell();
      comm.barrier();
      EXPECT_EQ(content(path_of("moved", 10)), content(path_of("moved", 11)));
      EXPECT_GT(size_of_file(path_of("moved", 10)), 120);
      EXPECT_EQ(std::filesystem::exists(path_of("a", 10)), replaced);
    });
    if (replaced) {
      EXPECT_EQ(content(path_of("a", 10)), other);
    }
  }
}

TEST(Bundles, another_file_of_a_members_name_is_not_written_to) {
  const std::string other(500, 'x');
  run_as_threads(3, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm);
    Simple a(comm, path_of("a", 12));
    EXPECT_TRUE(bundle.add(*a.ds, file_number(a.ds->path())));
    a.define();
    a.put(6);
    comm.barrier();
    if (comm.is_root()) {
      std::filesystem::remove(path_of("a", 12));
      std::ofstream(path_of("a", 12)) << other;
    }
    comm.barrier();
    bundle.close(std::move(a.ds));
    attempt_to([&] { bundle.complete(); });
    attempt_to([&] { bundle.tell(); });  // an error, if a rank had to open it
  });
  EXPECT_EQ(content(path_of("a", 12)), other);
}

// Each member has one chunk, encoded by one rank. If files are written one after another, only one
// rank works at a time.
TEST(Bundles, members_of_one_chunk_are_encoded_by_all_ranks) {
  constexpr int files = 4;
  const std::string report = folder() + "/encoded.json";
  ::setenv("FOREBAY_REPORT", ("json:" + report).c_str(), 1);
  run_as_threads(files, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm, files);
    for (int f = 0; f < files; ++f) {
      Simple one(comm, path_of("one", f), {{"layout", "chunked"}});
      EXPECT_TRUE(bundle.add(*one.ds));
      one.each = 500;
      one.define();
      one.put(f);
      bundle.close(std::move(one.ds));
    }
    if (!comm.is_root()) return;
    const std::string told = bundle.plan_json();
    EXPECT_NE(told.find("\"chunks_encoded\":{\"max\":1,\"sum\":4}"), std::string::npos) << told;
  });
  ::unsetenv("FOREBAY_REPORT");
}

// Ranks have different numbers of writes, rank 1 none. In the third file rank 0 looks at its
// values, and in the fifth nobody has room for them.
TEST(Bundles, what_ranks_write_independently_in_chunks_waits_as_well) {
  constexpr int files = 6, ranks = 3, looked_at = 2, without_room = 4;
  run_as_threads(ranks, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm, files, 14000);
    for (int f = 0; f < files; ++f) {
      Simple one(comm, path_of("alone", f), {{"layout", "chunked"}});
      EXPECT_TRUE(bundle.add(*one.ds));
      one.each = f == without_room ? 5000 : 400;
      one.define();
      one.ds->begin_independent();
      one.alone = true;
      if (comm.rank() != 1) one.put(-1);
      if (f == looked_at && comm.rank() == 0) EXPECT_EQ(one.get(), -1);
      if (comm.rank() != 1) one.put(f);
      if (f == looked_at && comm.rank() == 0) EXPECT_EQ(one.get(), f);
      if (f % 2 == 0) one.ds->end_independent();
      comm.barrier();
      // What rank 0 looked at, and what has no room, is written at the end of independent mode.
      const bool waits = f < looked_at || (f > looked_at && f < without_room);
      EXPECT_EQ(content(path_of("alone", f)).substr(0, 3) != "CDF", waits || f % 2 != 0) << f;
      comm.barrier();
      bundle.close(std::move(one.ds));
    }
    bundle.tell();
  });
  for (int f = 0; f < files; ++f) {
    auto ds = Dataset::open(Comm(), path_of("alone", f), false, {});
    const Count each = f == without_room ? 5000 : 400;
    std::vector<std::int32_t> values(static_cast<std::size_t>(each * ranks), -7);
    std::vector<Request> list(1);
    list[0].selection = Subarray{{0}, {each * ranks}, {}};
    list[0].elements = each * ranks;
    list[0].memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
    ds->execute(list, true);
    ds->close();
    constexpr std::int32_t never = -2147483647;
    EXPECT_EQ(values.front(), f);
    EXPECT_EQ(values[static_cast<std::size_t>(each + 3)], never);
    EXPECT_EQ(values.back(), f);
  }
}

TEST(Bundles, one_assignment_has_the_chunks_of_independent_writes) {
  constexpr int files = 5;
  const std::string report = folder() + "/assigned.json";
  std::string told;
  ::setenv("FOREBAY_REPORT", ("json:" + report).c_str(), 1);
  run_as_threads(files, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm, files);
    for (int f = 0; f < files; ++f) {
      Simple one(comm, path_of("assigned", f), {{"layout", "chunked"}});
      EXPECT_TRUE(bundle.add(*one.ds));
      one.each = 500;
      one.define();
      one.ds->begin_independent();
      one.alone = true;
      one.put(f);
      bundle.close(std::move(one.ds));
    }
    if (comm.is_root()) told = bundle.plan_json();
  });
  ::unsetenv("FOREBAY_REPORT");
  EXPECT_NE(told.find("\"chunks_encoded\":{\"max\":1,\"sum\":5}"), std::string::npos) << told;
}

/// Returns the numbers of records that a reader sees whenever ranks synchronise, while operations
/// of one record each are written to chunked members with `memory` bytes.
std::set<Count> records_seen(int files, Count memory) {
  constexpr int ranks = 2, records = 3;
  constexpr Count width = 40;
  std::set<Count> seen;
  const auto look = [&] {
    for (int f = 0; f < files; ++f) {
      auto ds = Dataset::open(Comm(), path_of("told", f), false, {});
      const Count told = ds->schema().numrecs;
      seen.insert(told);
      if (told == 0) continue;
      std::vector<std::int32_t> values(static_cast<std::size_t>(told * width));
      std::vector<Request> list(1);
      list[0].selection = Subarray{{0, 0}, {told, width}, {}};
      list[0].elements = told * width;
      list[0].memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
      ds->execute(list, true);
      for (Count i = 0; i < told * width; ++i)
        ASSERT_EQ(values[static_cast<std::size_t>(i)], f * records + i / width) << told;
    }
  };
  run_as_threads(ranks, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm, 0, memory);
    std::vector<std::unique_ptr<Dataset>> all;
    for (int f = 0; f < files; ++f) {
      auto ds = Dataset::create(comm, path_of("told", f), 5, false, {{"layout", "chunked"}});
      EXPECT_TRUE(bundle.add(*ds));
      const VarId v =
          ds->def_var("v", Type::int32, std::array{ds->def_dim("t", 0), ds->def_dim("x", width)});
      ds->set_chunk(v, std::array<Count, 2>{1, 10});
      ds->enddef();
      all.push_back(std::move(ds));
    }
    bundle.complete();  // so that readers find files
    if (comm.is_root()) comm.before_meetings(look);
    for (int f = 0; f < files; ++f) {
      for (int record = 0; record < records; ++record) {
        std::vector<std::int32_t> values(width / ranks, f * records + record);
        std::vector<Request> list(1);
        list[0].write = true;
        list[0].selection = Subarray{{record, width / ranks * comm.rank()}, {1, width / ranks}, {}};
        list[0].elements = width / ranks;
        list[0].last_record = record + 1;
        list[0].memory = {reinterpret_cast<std::byte*>(values.data()), Type::int32};
        all[static_cast<std::size_t>(f)]->execute(list, true);
      }
    }
    for (auto& ds : all) bundle.close_later(std::move(ds));
    bundle.complete();
    comm.before_meetings({});
    bundle.tell();
    if (comm.is_root() && files > 1 && memory > 5000)
      EXPECT_NE(bundle.plan_json().find("\"encoded_together\":[\""), std::string::npos);
  });
  return seen;
}

TEST(Bundles, a_record_in_chunks_is_told_of_once_it_is_written) {
  EXPECT_EQ(records_seen(2, 1 << 20), (std::set<Count>{0, 1, 2, 3}));
  // One file by itself, and operations that exceed the memory.
  EXPECT_EQ(records_seen(1, 1 << 20), (std::set<Count>{0, 1, 2, 3}));
  EXPECT_EQ(records_seen(1, 700), (std::set<Count>{0, 1, 2, 3}));
  EXPECT_EQ(records_seen(2, 1500), (std::set<Count>{0, 1, 2, 3}));
}

// Its own call fails, and nothing else does.
TEST(Bundles, a_rank_with_a_bad_argument_takes_part) {
  for (const char* layout : {"canonical", "chunked"}) {
    run_as_threads(3, [&](const Comm& comm) {
      Bundle bundle = bundle_of(comm, 2);
      for (int f = 0; f < 2; ++f) {
        Simple one(comm, path_of("bad", f), {{"layout", layout}});
        EXPECT_TRUE(bundle.add(*one.ds));
        one.define();
        one.put(3);
        const bool bad = comm.rank() == 1 && f == 0;
        const auto failed = attempt_to([&] {
          bad ? one.ds->execute({}, true, Error(Errc::einvalcoords, "too far")) : one.put(7);
        });
        EXPECT_EQ(failed.has_value(), bad);
        bundle.close(std::move(one.ds));
      }
      EXPECT_EQ(bundle.take_outcomes().size(), 2);
      for (int f = 0; f < 2; ++f) {
        Simple one(Dataset::open(comm, path_of("bad", f), false, {}));
        EXPECT_EQ(one.get(), comm.rank() == 1 && f == 0 ? 3 : 7) << layout;
        one.ds->close();
      }
    });
  }
}

// The same holds for a new member while it waits or is written, by itself or with the other.
TEST(Bundles, a_new_member_in_chunks_is_no_file_until_all_of_it_is_written) {
  for (const int files : {1, 2}) {
    run_as_threads(2, [&](const Comm& comm) {
      Bundle bundle = bundle_of(comm);
      std::vector<std::unique_ptr<Dataset>> all;
      const auto is_file = [&](int f) { return content(path_of("new", f)).substr(0, 3) == "CDF"; };
      for (int f = 0; f < files; ++f) {
        Simple one(comm, path_of("new", f), {{"layout", "chunked"}});
        EXPECT_TRUE(bundle.add(*one.ds));
        one.define(true);
        one.put(5), one.put(7);
        comm.barrier();
        EXPECT_FALSE(is_file(f));
        all.push_back(std::move(one.ds));
      }
      const auto look = [&] {
        for (int f = 0; f < files; ++f) {
          if (!is_file(f)) continue;
          Simple one(Dataset::open(Comm(), path_of("new", f), false, {}));
          EXPECT_EQ(one.get(), 7);
        }
      };
      if (comm.is_root()) comm.before_meetings(look);
      for (auto& ds : all) bundle.close_later(std::move(ds));
      bundle.complete();
      comm.before_meetings({});
      bundle.tell();
      for (int f = 0; f < files; ++f) EXPECT_TRUE(is_file(f));
    });
  }
}

/// Closes all files and lets the bundle write them.
void complete(Bundle& bundle, std::vector<std::unique_ptr<Dataset>>& all) {
  for (auto& ds : all) bundle.close_later(std::move(ds));
  bundle.complete();
  bundle.tell();
}

/// Checks that the f-th file has 500 values per rank, all f + 1.
void expect_values(const Comm& comm, const char* name, int files) {
  for (int f = 0; f < files; ++f) {
    Simple one(Dataset::open(comm, path_of(name, f), false, {}));
    one.each = 500;
    EXPECT_EQ(one.get(), f + 1);
    one.ds->close();
  }
}

// Nodes may mount a folder in different ways; all ranks take the same path nevertheless.
TEST(Bundles, caches_of_one_rank_may_be_weak) {
  constexpr int ranks = 3, files = 3;
  for (const char* layout : {"canonical", "chunked"}) {
    std::string told;
    run_as_threads(ranks, [&](const Comm& comm) {
      Bundle bundle = bundle_of(comm);
      std::vector<std::unique_ptr<Dataset>> all;
      for (int f = 0; f < files; ++f) {
        Method method;
        method.layout = layout;
        method.client_caches =
            f == 1 && comm.rank() == 2 ? CachesGiven::weak : CachesGiven::coherent;
        Simple one(Dataset::create_by(comm, path_of("mixed", f), 5, false, method));
        EXPECT_TRUE(bundle.add(*one.ds));
        one.each = 500;
        one.define();
        one.put(f + 1);
        all.push_back(std::move(one.ds));
      }
      complete(bundle, all);
      if (comm.is_root()) told = bundle.plan_json();
      comm.barrier();
      expect_values(comm, "mixed", files);
    });
    // Had ranks differed, each file would be written by itself. The other two are not.
    const auto in_quotes = [](int f) { return '"' + path_of("mixed", f) + '"'; };
    const auto has = [&](const std::string& text) { return told.find(text) != std::string::npos; };
    EXPECT_TRUE(has("\"one_after_another\":[" + in_quotes(1) + "]")) << told;
    const bool chunked = layout == std::string("chunked");
    EXPECT_TRUE(chunked ? has("\"encoded_together\":[" + in_quotes(0) + "," + in_quotes(2) + "]")
                        : has("\"path\":" + in_quotes(0)) && has("\"path\":" + in_quotes(2)))
        << told;
  }
}

TEST(Bundles, a_member_whose_caches_are_weak_is_written_by_itself) {
  constexpr int ranks = 2, files = 3;
  run_as_threads(ranks, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm);
    std::vector<std::unique_ptr<Dataset>> all;
    for (int f = 0; f < files; ++f) {
      Simple one(comm, path_of("mounted", f),
                 {{"layout", "chunked"}, {"client_caches", f == 1 ? "weak" : "coherent"}});
      EXPECT_TRUE(bundle.add(*one.ds));
      one.each = 500;
      one.define();
      one.put(f + 1);
      all.push_back(std::move(one.ds));
    }
    complete(bundle, all);
    if (comm.is_root()) {
      const std::string told = bundle.plan_json();
      EXPECT_NE(told.find("\"encoded_together\":[\"" + path_of("mounted", 0) + "\",\"" +
                          path_of("mounted", 2) + "\"]"),
                std::string::npos)
          << told;
      EXPECT_NE(told.find("caches of some node are weak"), std::string::npos) << told;
    }
    comm.barrier();
    expect_values(comm, "mounted", files);
  });
}

// If a rank cannot write to one of them, all are written by themselves, and only that one fails.
TEST(Bundles, a_member_in_chunks_that_fails_leaves_the_others_whole) {
  constexpr int ranks = 3, files = 4, bad = 1;
  run_as_threads(ranks, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm, files);
    std::string told;
    for (int f = 0; f < files; ++f) {
      const std::string path = path_of("faulty", f);
      Simple one(comm, path, {{"layout", "chunked"}, {"chunk_bytes", "256"}});
      EXPECT_TRUE(bundle.add(*one.ds, file_number(path)));
      one.each = 500;
      one.define();
      one.put(f + 1);
      // As if the path led to another file on the other ranks' nodes.
      if (f == bad) one.ds->as_member()->file().made({1, 1, 1, 1, 1});
      const auto failed = attempt_to([&] { bundle.close(std::move(one.ds)); });
      if (failed) told = failed->message();
    }
    EXPECT_NE(told.find(path_of("faulty", bad)), std::string::npos) << told;
    const auto outcomes = bundle.take_outcomes();
    ASSERT_EQ(std::ssize(outcomes), files);
    for (int f = 0; f < files; ++f)
      EXPECT_EQ(outcomes[static_cast<std::size_t>(f)].second != 0, f == bad) << f;
    for (int f = 0; f < files; ++f) {
      if (f == bad) continue;
      Simple one(Dataset::open(comm, path_of("faulty", f), false, {}));
      one.each = 500;
      EXPECT_EQ(one.get(), f + 1);
      one.ds->close();
    }
  });
}

TEST(Bundles, an_opened_file_is_its_old_self_until_then) {
  run_as_threads(2, [&](const Comm& comm) {
    Simple old(comm, path_of("a", 6));
    old.define();
    old.put(1);
    old.ds->close();
    const std::string before = content(path_of("a", 6));
    Bundle bundle = bundle_of(comm);
    comm.barrier();
    old.ds = Dataset::open(comm, path_of("a", 6), true, {});
    EXPECT_TRUE(bundle.add(*old.ds));
    old.put(2);
    bundle.close(std::move(old.ds));
    EXPECT_EQ(content(path_of("a", 6)), before);
    comm.barrier();
    bundle.complete();
    old.ds = Dataset::open(comm, path_of("a", 6), false, {});
    EXPECT_EQ(old.get(), 2);
    old.ds->close();
  });
}

TEST(Bundles, pending_requests_and_a_file_that_is_still_in_define_mode) {
  run_as_threads(2, [&](const Comm& comm) {
    Bundle bundle = bundle_of(comm);
    Simple a(comm, path_of("a", 7));
    EXPECT_TRUE(bundle.add(*a.ds));
    a.define();
    std::int32_t value = 1;
    Request request;
    request.write = true;
    request.selection = Subarray{{0}, {1}, {}};
    request.elements = 1;
    request.memory = {reinterpret_cast<std::byte*>(&value), Type::int32};
    a.ds->post(std::move(request));
    Errc code = Errc::ok;
    try {
      bundle.close(std::move(a.ds));
    } catch (const Error& error) {
      code = error.code();
    }
    EXPECT_EQ(code, Errc::epending);
    Simple b(comm, path_of("b", 7));
    EXPECT_TRUE(bundle.add(*b.ds));
    b.ds->def_dim("x", 3);
    bundle.close(std::move(b.ds));
    bundle.complete();
    bundle.tell();
    auto again = Dataset::open(comm, path_of("b", 7), false, {});
    EXPECT_EQ(again->schema().dims.size(), 1u);
    again->close();
  });
}

}  // namespace bundle_ranks_test
}  // namespace forebay
