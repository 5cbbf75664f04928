#include "checkpoints/checkpoint_store.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "base/attempt.h"
#include "base/error.h"
#include "checkpoints/checkpoint_store_testing.h"
#include "support/cases.h"

namespace {

/// Names of files that were synced to the device.
std::mutex synced_mutex;
std::set<std::string> synced;
/// Called first by the next sync of the slow directory's data file; returns an errno, or 0.
std::function<int()> at_sync;
std::function<void(const std::filesystem::path&)> before_sync;  ///< before_each_sync()

}  // namespace

// Replaces the C library's function.
extern "C" int fsync(int fd) {
  char name[4096] = {};
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  if (readlink(link.c_str(), name, sizeof name - 1) > 0) {
    const std::filesystem::path path = name;
    std::function<int()> act;
    {
      const std::lock_guard lock(synced_mutex);
      synced.insert(path.filename());
      if (before_sync) before_sync(path);
      if (path.extension() == ".data" && path.parent_path().filename() == "slow")
        act = std::exchange(at_sync, nullptr);
    }
    if (act && (errno = act()) != 0) return -1;
  }
  return static_cast<int>(syscall(SYS_fsync, fd));
}

namespace forebay::checkpoint {

void before_each_sync(std::function<void(const std::filesystem::path&)> act) {
  const std::lock_guard lock(synced_mutex);
  before_sync = std::move(act);
}

namespace {

namespace fs = std::filesystem;

Errc code_of(const std::function<void()>& act, const std::string& words = {}) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    return error.code();
  }
  return Errc::ok;
}

/// A model with one field, whose values show the step.
struct Model {
  std::vector<double> field;
  explicit Model(std::size_t n = 1000) : field(n) {}
  void set(Count step) {
    for (std::size_t i = 0; i < field.size(); ++i)
      field[i] = static_cast<double>(step) + 0.5 * std::sin(static_cast<double>(i) / 40);
  }
  bool is(Count step, double bound = 0) const {
    Model wanted(field.size());
    wanted.set(step);
    for (std::size_t i = 0; i < field.size(); ++i)
      if (!(std::fabs(field[i] - wanted.field[i]) <= bound)) return false;
    return true;
  }
  void declare(Store& store, std::optional<std::string> codec = {}) {
    store.add_variable("theta", Type::float64, {std::ssize(field)}, std::move(codec), field.data());
  }
};

TEST(CheckpointStore, what_is_pushed_last_is_popped_first_whatever_tiers_there_are) {
  for (const auto& [memory, fast] : std::vector<std::pair<Count, Count>>{
           {1 << 20, -1}, {0, -1}, {20'000, -1}, {20'000, 20'000}, {0, 20'000}, {9'000, 0}}) {
    for (const char* codec : {"none", "zstd:1", "float32", "zfp:accuracy=1e-3"}) {
      const Folder folder;
      Model model;
      Store store({}, "run", folder.method(memory, fast, codec));
      model.declare(store);
      for (Count step = 0; step < 12; ++step) {
        model.set(step);
        store.push({Kind::state, step});
      }
      EXPECT_EQ(store.list().size(), 12U);
      for (Count step = 12; step-- > 0;) {
        ASSERT_EQ(store.pop(), step);
        EXPECT_TRUE(model.is(step, 1e-3)) << step << ", " << codec;
      }
      EXPECT_EQ(code_of([&] { store.pop(); }), Errc::enodata);
      store.close(false);
      EXPECT_TRUE(fs::is_empty(folder.path / "slow"));
      EXPECT_TRUE(fs::is_empty(folder.path / "quick"));
    }
  }
}

TEST(CheckpointStore, what_is_wanted_last_moves_down) {
  const Folder folder;
  Model model;  // 8000 bytes per state: three, two, and the others
  Store store({}, "run", folder.method(25'000, 17'000));
  model.declare(store);
  for (Count step = 0; step < 9; ++step) store.push({Kind::state, step});
  const auto list = store.list();
  EXPECT_EQ(list.front().tier, Tier::directory);
  EXPECT_EQ(list.back().tier, Tier::memory);
  Count memory = 0, fast = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (i > 0) EXPECT_GE(list[i - 1].tier, list[i].tier) << i;
    (list[i].tier == Tier::memory ? memory : fast) += list[i].tier == Tier::directory ? 0 : 8000;
  }
  EXPECT_LE(memory, 25'000);
  EXPECT_LE(fast, 17'000);
}

TEST(CheckpointStore, of_a_state_that_is_in_two_tiers_the_later_one_holds) {
  for (const bool later_in_fast : {false, true}) {
    const Folder folder;
    for (const bool fast : {false, true}) {
      double value = fast == later_in_fast ? 2 : 1;
      FileTier tier((folder.path / (fast ? "quick" : "slow") / "run.0").string(), 0, 1,
                    FileTier::no_limit);
      tier.begin();
      Record record{{Kind::state, 6}, fast == later_in_fast ? 9U : 4U, 0, 8, {}};
      record.parts.push_back({"value", Type::float64, {}, "none", {}});
      Team team(1);
      encode(record.parts[0], {}, std::as_bytes(std::span(&value, 1)), team);
      const iovec piece{&value, sizeof value};
      EXPECT_TRUE(tier.reserve(record));
      tier.add(record, {&piece, 1}, team);
    }
    for (int opening = 0; opening < 2; ++opening) {
      double value = 0;
      Store store({}, "run", folder.method(0, 0));
      store.add_variable("value", Type::float64, {}, {}, &value);
      ASSERT_EQ(store.list().size(), 1U);
      store.peek({Kind::state, 6});
      EXPECT_EQ(value, 2);
    }
  }
}

TEST(CheckpointStore, an_account_tells_what_was_done) {
  const Folder folder;
  Method method = folder.method(3000, -1, "zfp:accuracy=1e-6");
  method.report = "json:" + folder.file("report.json");
  {
    Store store({}, "run", method);
    std::vector<double> x(300, 1.25);
    std::vector<std::int32_t> k(500, 7);
    store.add_variable("x", Type::float64, {300}, "none", x.data());
    store.add_variable("k", Type::int32, {500}, "zfp:accuracy=1", k.data());
    for (Count step = 0; step < 3; ++step) store.push({Kind::state, step});
    store.peek({Kind::state, 0});
    while (!store.list().empty()) store.pop();
    store.account().note_advance(0, 5);
    store.account().note_advance(2, 7);
    store.close(false);
  }
  std::ifstream file(folder.file("report.json"));
  const auto json = nlohmann::json::parse(file);
  EXPECT_EQ(json["pushes"], 3);
  EXPECT_EQ(json["reads"], 4);
  EXPECT_EQ(json["drops"], 3);
  EXPECT_EQ(json["raw_bytes"], 3 * 4400);
  EXPECT_EQ(json["stored_bytes"], 3 * 4400);
  EXPECT_EQ(json["in_dir"], 3);  // larger than the memory
  EXPECT_EQ(json["advanced"], 10);
  EXPECT_EQ(json["recomputed"], 3);
  ASSERT_EQ(json["read_steps"].size(), 4U);
  EXPECT_EQ(json["read_steps"][0]["step"], 0);
  EXPECT_EQ(json["read_steps"][1]["read"], "dir");
  ASSERT_EQ(json["reasons"].size(), 1U);
  EXPECT_EQ(json["reasons"][0], "variable k: codec none, not zfp:accuracy=1, for its type");
}

TEST(CheckpointStore, a_bound_may_change_between_states) {
  EXPECT_EQ(codec_within("none", 1e-3), "zfp:accuracy=0.001");
  EXPECT_EQ(codec_within("shuffle,zstd:3", 0.5), "zfp:accuracy=0.5,zstd:3");
  EXPECT_EQ(codec_within("sz3:abs=1,zstd:1", 2), "sz3:abs=2,zstd:1");
  EXPECT_EQ(codec_within("sz3:abs=1:mode=ratio,zstd:1", 2), "sz3:abs=2:mode=ratio,zstd:1");
  EXPECT_EQ(codec_within("bitround:bits=9,zstd:1", 2), "zfp:accuracy=2,zstd:1");
  EXPECT_EQ(codec_within("zfp:accuracy=1e-3", 0), "none");
  EXPECT_EQ(codec_within("float32", 0), "none");
  EXPECT_EQ(codec_within("shuffle,zstd:1", 0), "shuffle,zstd:1");
  const Folder folder;
  Store store({}, "run", folder.method(1 << 20));
  std::vector<double> x(4000), before;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(0.01 * static_cast<double>(i));
  before = x;
  std::vector<std::int32_t> k(500);
  const int variable = store.add_variable("x", Type::float64, {4000}, "deflate:1", x.data());
  const int integers = store.add_variable("k", Type::int32, {500}, {}, k.data());
  Count smallest = 1 << 20;
  for (const double bound : {0.0, 1e-6, 1e-2}) {
    store.set_bound(variable, bound);
    store.push({Kind::state, 1});
    EXPECT_LT(store.list()[0].bytes, smallest);
    smallest = store.list()[0].bytes;
    store.pop();
    double off = 0;
    for (std::size_t i = 0; i < x.size(); ++i) off = std::max(off, std::abs(x[i] - before[i]));
    EXPECT_LE(off, bound);
    EXPECT_EQ(off == 0, bound == 0);
    x = before;
  }
  // Each bound changes the declared codec, not the result of the bound before.
  const int other = store.add_variable("y", Type::float64, {4000}, "shuffle,zstd:1", nullptr);
  const auto codec_within_bound = [&](double bound) {
    store.set_bound(other, bound);
    store.begin_write({Kind::state, 2});
    store.put(other, x.data());
    store.end();
    store.begin_read({Kind::state, 2});
    const std::string codec = store.parts()[0].codec;
    store.end();
    return codec;
  };
  EXPECT_EQ(codec_within_bound(0.5), "zfp:accuracy=0.5,zstd:1");
  EXPECT_EQ(codec_within_bound(0), "shuffle,zstd:1");
  EXPECT_EQ(code_of([&] { store.set_bound(variable, -1); }), Errc::einval);
  EXPECT_EQ(code_of([&] { store.set_bound(variable, std::nan("")); }), Errc::einval);
  EXPECT_EQ(code_of([&] { store.set_bound(integers, 1); }), Errc::ebadtype);
  EXPECT_EQ(code_of([&] { store.set_bound(9, 1); }), Errc::enotvar);
}

TEST(CheckpointStore, states_that_are_expected_are_found_decoded) {
  const Folder folder;
  Model model;
  Store store({}, "run", folder.method(0, -1, "zfp:accuracy=1e-6"));
  model.declare(store);
  for (Count step = 0; step < 8; ++step) {
    model.set(step);
    store.push({Kind::state, step});
  }
  store.expect({3, 1, 7, 3});
  for (const Count step : {3, 1, 7, 3}) {
    for (int i = 0; i < 2000; ++i) usleep(5);  // the program computes
    store.peek({Kind::state, step});
    EXPECT_TRUE(model.is(step, 1e-6));
  }
  EXPECT_GE(store.decoded_ahead(), 3);
}

TEST(CheckpointStore, the_next_state_is_decoded_while_one_is_read) {
  const Folder folder;
  Model model;
  Store store({}, "run", folder.method(0, -1, "zfp:accuracy=1e-6"));
  model.declare(store);
  for (Count step = 0; step < 3; ++step) {
    model.set(step);
    store.push({Kind::state, step});
  }
  const auto compute = [] { std::this_thread::sleep_for(std::chrono::milliseconds(300)); };
  store.expect({2, 0});
  compute();
  store.begin_read({Kind::state, 2});
  store.get(0, model.field.data());
  compute();  // the program computes with the values that it has so far
  EXPECT_TRUE(model.is(2, 1e-6));
  store.get(0, model.field.data());  // once more
  EXPECT_TRUE(model.is(2, 1e-6));
  store.end();
  store.peek({Kind::state, 0});
  EXPECT_TRUE(model.is(0, 1e-6));
  EXPECT_EQ(store.decoded_ahead(), 2);
  EXPECT_EQ(store.waits(), 0);
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// The most bytes of memory that this process has had since reset().
class PeakMemory {
 public:
  PeakMemory() { reset(); }
  void reset() { std::ofstream("/proc/self/clear_refs") << 5; }
  static Count bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with("VmHWM:")) return std::stoll(line.substr(6)) << 10;
    return 0;
  }
};

TEST(CheckpointStore, holds_one_state_besides_its_memory) {
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);  // freed memory goes back to the system
  constexpr Count parts = 8, part_bytes = 4 << 20, all = parts * part_bytes;
  const Folder folder;
  std::vector<double> values(part_bytes / sizeof(double), 1.5);
  Store store({}, "run", folder.method(0, all + 1, "none"));
  for (Count p = 0; p < parts; ++p)
    store.add_variable("x" + std::to_string(p), Type::float64, {std::ssize(values)}, {}, nullptr);
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  const auto put_all = [&](Count step) {
    store.begin_write({Kind::state, step});
    for (int p = 0; p < parts; ++p) store.put(p, values.data());
    store.end();  // the thread frees space in the quick directory
  };
  PeakMemory peak;
  const Count before = PeakMemory::bytes();
  for (Count step = 0; step < 4; ++step) put_all(step);
  EXPECT_LT(PeakMemory::bytes() - before, all + all / 4) << "written";
  peak.reset();
  store.expect({3, 2, 1, 0});
  for (Count step = 4; step-- > 0;) {
    pause();
    store.begin_read({Kind::state, step});
    pause();  // the next one may be decoded as far as memory allows
    for (int p = 0; p < parts; ++p) store.get(p, values.data());
    store.end();
  }
  EXPECT_GE(store.decoded_ahead(), 2);
  EXPECT_LT(PeakMemory::bytes() - before, all + all / 4) << "read";
  // A push frees the values that were decoded ahead.
  store.expect({0, 1, 2, 3});
  pause();
  put_all(9);
  EXPECT_LT(PeakMemory::bytes() - before, all + all / 4) << "written after reading";
  store.close(false);
}
#endif

TEST(CheckpointStore, states_outlive_the_program_that_closes_or_syncs) {
  const Folder folder;
  Model model;
  for (const bool closes : {true, false}) {
    {
      Store store({}, "run", folder.method(1 << 20));
      model.declare(store, "zstd:3");
      for (Count step = 0; step < 5; ++step) {
        model.set(step);
        store.push({Kind::state, step});
      }
      store.drop({Kind::state, 2});
      model.set(77);
      store.push({Kind::adjoint, 4});
      closes ? store.close(true) : store.sync();
    }
    Store again({}, "run", folder.method(1 << 20));
    EXPECT_TRUE(again.damage().empty());
    model.declare(again);
    again.peek({Kind::adjoint, 4});
    EXPECT_TRUE(model.is(77));
    for (const Count step : {4, 3, 1, 0}) {
      EXPECT_EQ(again.pop(), step);
      EXPECT_TRUE(model.is(step));
    }
    again.close(false);
  }
}

TEST(CheckpointStore, a_state_that_was_not_ended_costs_no_other_one) {
  for (const bool writes : {true, false}) {
    const Folder folder;
    Model model;
    {
      Store store({}, "run", folder.method(1 << 20));
      model.declare(store);
      model.set(1);
      store.push({Kind::state, 1});
      writes ? store.begin_write({Kind::state, 2}) : store.begin_read({Kind::state, 1});
      EXPECT_EQ(code_of([&] { store.close(true); }), writes ? Errc::eperm : Errc::ok);
    }
    Store again({}, "run", folder.method(1 << 20));
    model.declare(again);
    ASSERT_EQ(again.list().size(), 1U);
    EXPECT_EQ(again.pop(), 1);
    EXPECT_TRUE(model.is(1));
  }
}

TEST(CheckpointStore, pieces_and_bytes_of_any_length_come_back) {
  const Folder folder;
  for (const Count memory : {Count{0}, Count{1} << 20}) {
    Store store({}, "run", folder.method(memory));
    const std::vector<float> rows{1, 2, 3, 4, 5, 6};
    const int v = store.add_variable("rows", Type::float32, {2, 3}, {}, nullptr);
    const int none = store.add_variable("none", Type::int32, {0}, {}, nullptr);
    store.begin_write({Kind::state, 9});
    store.put(v, rows.data());
    store.put(none, nullptr);
    {
      std::string tape = "what a tape has";
      store.put_bytes("tape", std::as_bytes(std::span(tape)));
      tape.assign(tape.size(), 'x');
    }
    store.put_bytes("empty", {});
    EXPECT_EQ(code_of([&] { store.begin_read({Kind::state, 9}); }), Errc::eperm);
    store.end();
    store.begin_read({Kind::state, 9});
    std::vector<float> got(6);
    store.get(v, got.data());
    EXPECT_EQ(got, rows);
    std::string text(static_cast<std::size_t>(store.bytes_of("tape")), ' ');
    store.get_bytes("tape", std::as_writable_bytes(std::span(text)));
    EXPECT_EQ(text, "what a tape has");
    EXPECT_EQ(store.bytes_of("empty"), 0);
    EXPECT_EQ(code_of([&] { store.bytes_of("other"); }, "other"), Errc::enotvar);
    store.end();
    store.begin_write({Kind::state, 10});
    store.put(v, rows.data());
    store.abandon();
    EXPECT_EQ(store.list().size(), 1U);
    store.close(false);
  }
}

TEST(CheckpointStore, values_of_many_pieces_and_types_come_back) {
  const Folder folder;
  std::vector<float> field(12 * 200 * 1000);  // three pieces
  for (std::size_t i = 0; i < field.size(); ++i)
    field[i] =
        std::sin(static_cast<float>(i % 1000) / 100 + static_cast<float>(i / 1000 % 200) / 30 +
                 static_cast<float>(i / 200'000) / 4);
  std::vector<std::int32_t> whole(5000, 7);
  const auto before = field;
  Method method = folder.method(0, -1, "zfp:relative=1e-4");
  method.codec_threads = 3;
  Store store({}, "run", method);
  store.add_variable("field", Type::float32, {12, 200, 1000}, {}, field.data());
  store.add_variable("whole", Type::int32, {5000}, {}, whole.data());
  store.push({Kind::state, 1});
  EXPECT_LT(store.list()[0].bytes, store.list()[0].raw_bytes / 2);
  std::fill(field.begin(), field.end(), 0.0F);
  std::fill(whole.begin(), whole.end(), 0);
  store.pop();
  for (std::size_t i = 0; i < field.size(); ++i) ASSERT_NEAR(field[i], before[i], 2e-4);
  EXPECT_EQ(whole, std::vector<std::int32_t>(5000, 7));
}

TEST(CheckpointStore, values_that_are_no_numbers_come_back) {
  const Folder folder;
  Model model(8000);
  for (const char* codec : {"none", "float32", "deflate:1", "zfp:accuracy=1e-3", "sz3:abs=1e-3"}) {
    Store store({}, "run", folder.method(0));
    const auto declare = [&] {
      store.add_variable("x", Type::float64, {20, 20, 20}, codec, model.field.data());
    };
    if (code_of(declare) != Errc::ok) continue;  // not in this build
    model.set(3);
    model.field[7] = std::nan("");
    model.field[4000] = -HUGE_VAL;
    const auto wanted = model.field;
    EXPECT_TRUE(store.account().reasons.empty());
    store.push({Kind::state, 3});
    const bool lossy = std::string(codec) != "none" && std::string(codec) != "deflate:1";
    EXPECT_EQ(store.account().reasons.size(), lossy ? 1 : 0) << codec;
    model.set(0);
    store.pop();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (!std::isfinite(wanted[i])) {
        ASSERT_EQ(std::isnan(wanted[i]), std::isnan(model.field[i])) << codec;
        ASSERT_TRUE(std::isnan(wanted[i]) || model.field[i] == wanted[i]) << codec;
      } else {
        ASSERT_NEAR(model.field[i], wanted[i], 1e-3) << codec;
      }
    }
    store.close(false);
  }
}

// A checkpoint has no declared value for missing elements.
TEST(CheckpointStore, land_is_kept_apart_and_costs_little) {
  const Folder folder;
  for (const char* codec : {"zfp:accuracy=1e-3", "zfp:relative=1e-4"})
    for (const double mark : {1e20, std::nan(""), 9.9692099683868690e+36}) {
      Store store({}, "run", folder.method(0));
      std::vector<double> field(128 * 512);
      store.add_variable("sst", Type::float64, {128, 512}, codec, field.data());
      for (std::size_t i = 0; i < field.size(); ++i)
        field[i] =
            i % 512 < 100 + i / 512 % 7 ? mark : 14 + 16 * std::sin(static_cast<double>(i) / 900);
      const auto wanted = field;
      store.push({Kind::state, 1});
      EXPECT_LT(store.account()[Account::stored_bytes] * 4, std::ssize(field) * 8)
          << codec << ", " << mark;
      ASSERT_EQ(store.account().reasons.size(), 1U);
      EXPECT_NE(store.account().reasons[0].find("kept apart"), std::string::npos);
      std::fill(field.begin(), field.end(), 0);
      store.pop();
      for (std::size_t i = 0; i < field.size(); ++i) {
        if (i % 512 < 100 + i / 512 % 7)
          ASSERT_EQ(std::memcmp(&field[i], &wanted[i], sizeof mark), 0) << codec << ", " << mark;
        else
          ASSERT_NEAR(field[i], wanted[i], 0.0033) << codec << ", " << mark;
      }
      store.close(false);
    }
}

TEST(CheckpointStore, what_is_wrong_is_named) {
  const Folder folder;
  Model model(10), other(11);
  {
    Store store({}, "run", folder.method(0));
    model.declare(store);
    EXPECT_EQ(code_of([&] { model.declare(store); }, "theta"), Errc::enameinuse);
    EXPECT_EQ(code_of([&] { store.add_variable("", Type::int32, {}, {}, nullptr); }),
              Errc::ebadname);
    EXPECT_EQ(code_of([&] { store.add_variable("x", Type::none, {}, {}, nullptr); }),
              Errc::ebadtype);
    EXPECT_EQ(code_of([&] { store.add_variable("x", Type::int32, {-1}, {}, nullptr); }),
              Errc::einval);
    EXPECT_EQ(code_of([&] {
                store.add_variable("x", Type::int32, {1L << 40, 1L << 40}, {}, nullptr);
              }),
              Errc::evarsize);
    EXPECT_EQ(code_of([&] { store.add_variable("x", Type::int32, {1}, "zstt", nullptr); }, "zstt"),
              Errc::einval);
    EXPECT_EQ(code_of([&] { store.peek({Kind::state, 3}); }, "state 3"), Errc::enodata);
    EXPECT_EQ(code_of([&] { store.drop({Kind::adjoint, 3}); }, "adjoint"), Errc::enodata);
    EXPECT_EQ(code_of([&] { store.push({Kind::state, -3}); }), Errc::einval);
    EXPECT_EQ(code_of([&] { store.end(); }), Errc::eperm);
    EXPECT_EQ(code_of([&] { store.get(0, model.field.data()); }), Errc::eperm);
    EXPECT_EQ(code_of([&] { store.put(4, model.field.data()); }), Errc::enotvar);
    store.push({Kind::state, 3});
    store.close(true);
  }
  Store store({}, "run", folder.method(0));
  other.declare(store);
  EXPECT_EQ(code_of([&] { store.pop(); }, "state 3 has theta as double(10)"), Errc::etype_mismatch);
  EXPECT_EQ(store.list().size(), 1U);
  EXPECT_EQ(code_of([&] { Store elsewhere({}, folder.file("no/where"), Method{}); }, "no/where"),
            Errc::enoent);
}

TEST(CheckpointStore, files_of_another_number_of_ranks_are_refused) {
  const Folder folder;
  FileTier(folder.file("run.0"), 0, 4, FileTier::no_limit).begin();
  EXPECT_EQ(code_of([&] { Store store({}, folder.file("run"), Method{}); }, "rank 0 of 4"),
            Errc::einval);
}

void flip(const fs::path& path, std::streamoff at) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(at);
  const int byte = file.get();
  file.seekp(at);
  file.put(static_cast<char>(byte ^ 4));
}

TEST(CheckpointStore, a_state_that_is_damaged_is_named_and_others_stay) {
  const Folder folder;
  Model model(100);
  {
    Store store({}, "run", folder.method(0));
    model.declare(store);
    for (Count step = 0; step < 3; ++step) {
      model.set(step);
      store.push({Kind::state, step});
    }
    store.close(true);
  }
  flip(folder.path / "slow/run.0.data", 850);
  {
    Store store({}, "run", folder.method(0));
    model.declare(store);
    EXPECT_EQ(code_of([&] { store.peek({Kind::state, 1}); }, "state 1, theta"), Errc::ebadlog);
    store.peek({Kind::state, 0});
    EXPECT_TRUE(model.is(0));
    store.peek({Kind::state, 2});
    EXPECT_TRUE(model.is(2));
    store.close(true);
  }
  const fs::path journal = folder.path / "slow/run.0.journal";
  flip(journal, header_bytes + 20);
  {
    const Store store({}, "run", folder.method(0));
    EXPECT_EQ(store.damage().size(), 1U);
    EXPECT_EQ(store.list().size(), 2U);
  }
  // The damaged last entry is not taken for one that a kill left incomplete.
  flip(journal, static_cast<std::streamoff>(fs::file_size(journal)) - 1);
  const Store store({}, "run", folder.method(0));
  EXPECT_EQ(store.damage().size(), 2U);
  EXPECT_EQ(store.list().size(), 1U);
}

TEST(CheckpointStore, values_as_they_are_are_verified_piece_by_piece) {
  const Folder folder;
  Model model((9 * raw_piece_bytes + 8000) / 8);
  for (const int threads : {1, 2, 3}) {
    Method method = folder.method(0);
    method.codec_threads = threads;
    Store store({}, "run", method);
    model.declare(store);
    model.set(5);
    store.push({Kind::state, 5});
    model.set(0);
    store.peek({Kind::state, 5});
    EXPECT_TRUE(model.is(5)) << threads;
    for (const Count at : {Count{0}, 3 * raw_piece_bytes, 9 * raw_piece_bytes + 7999}) {
      const fs::path data = folder.path / "slow/run.0.data";
      flip(data, at);
      EXPECT_EQ(code_of(
                    [&] {
                      store.peek({Kind::state, 5});
                    },
                    "state 5, theta"),
                Errc::ebadlog)
          << threads << ", " << at;
      flip(data, at);
    }
    store.peek({Kind::state, 5});
    store.close(false);
  }
}

/// Damages the last entry of the journal, which has `entry_bytes` bytes.
void damage_last_entry(const fs::path& journal, std::streamoff entry_bytes) {
  flip(journal, static_cast<std::streamoff>(fs::file_size(journal)) - entry_bytes + 9);
}

// The damaged entry may be the one that says that a state was dropped. The state's bytes are then
// another state's.
TEST(CheckpointStore, a_state_that_comes_back_by_damage_takes_no_space_from_later_ones) {
  const Folder folder;
  Model model(100);
  const fs::path journal = folder.path / "slow/run.0.journal";
  {
    Store store({}, "run", folder.method(0));
    model.declare(store);
    model.set(1);
    store.push({Kind::state, 1});
    store.drop({Kind::state, 1});
    damage_last_entry(journal, 24);
    model.set(2);
    store.push({Kind::state, 2});  // in the place of state 1
    store.close(true);
  }
  for (const bool again : {false, true}) {
    Store store({}, "run", folder.method(0));
    model.declare(store);
    EXPECT_EQ(store.damage().size(), 2U - again);  // the entry stays
    if (!again) {
      EXPECT_NE(store.damage()[1].find("another state in the place of state 1"), std::string::npos);
      ASSERT_EQ(store.list().size(), 1U);
      model.set(3);
      store.push({Kind::state, 3});
    }
    store.peek({Kind::state, 2});
    EXPECT_TRUE(model.is(2));
    store.peek({Kind::state, 3});
    EXPECT_TRUE(model.is(3));
    store.close(true);
  }
}

TEST(CheckpointStore, files_that_are_open_are_nobody_elses) {
  const Folder folder;
  Method same = folder.method(0, 1000);
  same.checkpoint_fast = same.checkpoint_dir + "/.";
  EXPECT_EQ(code_of([&] { Store store({}, "run", same); }, "is open already"), Errc::eperm);
  {
    Store store({}, "run", folder.method(0));
    EXPECT_EQ(code_of([&] { Store other({}, "run", folder.method(0)); }, "run.0.data is open"),
              Errc::eperm);
    Store other({}, "another", folder.method(0));
    // A forked child that continues to run.
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    store.close(true);
    EXPECT_EQ(code_of([&] { Store once({}, "run", folder.method(0)); }), Errc::ok);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    Store later({}, "run", folder.method(0));
  }
  Store later({}, "run", folder.method(0));
}

TEST(CheckpointStore, a_journal_that_no_memory_holds_is_named) {
  const Folder folder;
  FileTier(folder.file("run.0"), 0, 1, FileTier::no_limit).begin();
  std::error_code failed;
  fs::resize_file(folder.file("run.0.journal"), std::uintmax_t{1} << 42, failed);
  if (failed) GTEST_SKIP() << "no file may be so large here";
  EXPECT_EQ(code_of([&] { Store store({}, folder.file("run"), Method{}); }, "too many to read"),
            Errc::enomem);
}

TEST(CheckpointStore, a_journal_of_damaged_entries_is_read_once) {
  const Folder folder;
  FileTier(folder.file("run.0"), 0, 1, FileTier::no_limit).begin();
  // Each entry states that it reaches to the end.
  constexpr std::uint32_t size = 8 << 20;
  std::string bytes;
  for (std::uint32_t left = size; left > 0; left -= 32) {
    bytes += "FBCE";
    for (const int shift : {24, 16, 8, 0}) bytes += static_cast<char>(left >> shift & 255);
    bytes.resize(bytes.size() + 24);
  }
  std::ofstream(folder.file("run.0.journal"), std::ios::binary | std::ios::app) << bytes;
  const std::clock_t began = std::clock();
  const FileTier tier(folder.file("run.0"), 0, 1, FileTier::no_limit);
  EXPECT_LT(static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC, 10);
  EXPECT_EQ(tier.damage().size(), 1U);
}

// A synced state that moves to another tier is on the device there before it leaves the first tier.
TEST(CheckpointStore, what_is_on_the_device_stays_there_when_it_moves) {
  for (const bool syncs : {false, true}) {
    const Folder folder;
    Model model;  // 8000 bytes a state, and room for three
    Store store({}, "run", folder.method(0, 24'500));
    model.declare(store);
    for (Count step = 0; step < 2; ++step) store.push({Kind::state, step});
    if (syncs) store.sync();
    {
      const std::lock_guard lock(synced_mutex);
      synced.clear();
    }
    store.push({Kind::state, 2});
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (store.list()[0].tier != Tier::directory && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(store.list()[0].tier, Tier::directory);
    const std::lock_guard lock(synced_mutex);
    EXPECT_EQ(synced.contains("run.0.data"), syncs);
    EXPECT_EQ(synced.contains("run.0.journal"), syncs);
  }
}

TEST(CheckpointStore, a_journal_may_end_anywhere) {
  const Folder folder;
  Model model(10);
  {
    Store store({}, "run", folder.method(0));
    model.declare(store);
    for (Count step = 0; step < 4; ++step) {
      model.set(step);
      store.push({Kind::state, step});
    }
    store.close(true);
  }
  const fs::path journal = folder.path / "slow/run.0.journal";
  std::string bytes(fs::file_size(journal), ' ');
  std::ifstream(journal, std::ios::binary).read(bytes.data(), std::ssize(bytes));
  std::size_t last = 4;
  for (auto size = std::ssize(bytes); size >= header_bytes; --size) {
    std::ofstream(journal, std::ios::binary).write(bytes.data(), size);
    Store store({}, "run", folder.method(0));
    const std::size_t found = store.list().size();
    ASSERT_LE(found, last);
    ASSERT_GE(found + 1, last);
    last = found;
    EXPECT_TRUE(store.damage().empty());
  }
  EXPECT_EQ(last, 0U);
}

TEST(CheckpointStore, space_is_used_again_and_journals_stay_short) {
  const Folder folder;
  Model model;
  Store store({}, "run", folder.method(0));
  model.declare(store);
  for (int i = 0; i < 3000; ++i) {
    store.push({Kind::state, i});
    if (i >= 3) store.drop({Kind::state, i - 3});
  }
  EXPECT_LE(fs::file_size(folder.path / "slow/run.0.data"), 5U * 8000);
  EXPECT_LE(fs::file_size(folder.path / "slow/run.0.journal"), 130U << 10);
  store.close(true);
  EXPECT_EQ(Store({}, "run", folder.method(0)).list().size(), 3U);
}

/// Makes a random call, and the same on a map. Returns whether they agree.
void step_at_random(std::mt19937& random, Store& store, Model& model, std::map<Count, Count>& all,
                    Count& version) {
  const Count step = std::uniform_int_distribution<Count>(0, 20)(random);
  const StateId id{Kind::state, step};
  switch (std::uniform_int_distribution<int>(0, 5)(random)) {
    case 0:
    case 1:
      model.set(++version);
      store.push(id);
      all[step] = version;
      break;
    case 2:
      if (all.empty()) break;
      ASSERT_EQ(store.pop(), all.rbegin()->first);
      ASSERT_TRUE(model.is(all.rbegin()->second, 1e-4));
      all.erase(std::prev(all.end()));
      break;
    case 3:
      if (all.contains(step)) {
        store.peek(id);
        ASSERT_TRUE(model.is(all[step], 1e-4));
      } else {
        ASSERT_EQ(code_of([&] { store.peek(id); }), Errc::enodata);
      }
      break;
    case 4:
      if (all.erase(step) > 0) store.drop(id);
      break;
    default:
      if (random() % 4 == 0) store.sync();
      if (random() % 4 == 0) store.expect({step, step / 2});
  }
  std::vector<Count> steps;
  for (const auto& state : store.list()) steps.push_back(state.id.step);
  ASSERT_EQ(steps.size(), all.size());
}

TEST(CheckpointStore, a_store_is_what_a_map_is) {
  for (unsigned seed = 0; seed < 12; ++seed) {
    std::mt19937 random(seed);
    const Folder folder;
    const Count memory = std::vector<Count>{0, 3000, 20'000}[seed % 3];
    const Count fast = std::vector<Count>{-1, 4000, 20'000, 0}[seed % 4];
    const char* codec = std::vector<const char*>{"none", "zfp:accuracy=1e-4", "zstd:1"}[seed / 4];
    Model model(300);
    std::map<Count, Count> all;
    Count version = 0;
    for (int opening = 0; opening < 3; ++opening) {
      Store store({}, "run", folder.method(memory, fast, codec));
      model.declare(store);
      ASSERT_EQ(store.list().size(), all.size());
      for (int i = 0; i < 150; ++i) {
        step_at_random(random, store, model, all, version);
        if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", call " << i;
      }
      store.close(true);
    }
  }
}

TEST(CheckpointStore, a_push_that_has_returned_survives_a_kill) {
  const Folder folder;
  std::mt19937 random(5);
  for (int run = 0; run < 12; ++run) {
    int told[2];
    ASSERT_EQ(pipe(told), 0);
    const pid_t child = fork();
    if (child == 0) {  // pushes and pops for ever, and reports which steps are there
      Store store({}, "run", folder.method(0, run % 2 ? 30'000 : -1, "zstd:1"));
      Model model;
      model.declare(store);
      for (Count i = 0;; i = (i + 1) % 40) {
        // Two steps that are there whatever happens to the third.
        model.set(i);
        store.push({Kind::state, i});
        const auto step = static_cast<char>(i);
        if (write(told[1], &step, 1) != 1) _exit(1);
        if (i >= 3) store.drop({Kind::state, i - 3});
      }
    }
    close(told[1]);
    usleep(std::uniform_int_distribution<useconds_t>(2'000, 40'000)(random));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status));
    char step = 0, last = -1;
    while (read(told[0], &step, 1) == 1) last = step;
    close(told[0]);
    Store store({}, "run", folder.method(0, run % 2 ? 30'000 : -1));
    EXPECT_TRUE(store.damage().empty());
    Model model;
    model.declare(store);
    if (last < 0) continue;
    store.peek({Kind::state, last});
    EXPECT_TRUE(model.is(last));
    store.close(false);
  }
}

TEST(CheckpointStore, a_directory_that_is_full_is_told_by_that_push) {
  const Folder folder;
  Model model;
  Store store({}, "run", folder.method(0));
  model.declare(store);
  store.push({Kind::state, 1});
  rlimit before{}, small{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  small = {8200, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_NE(code_of([&] { store.push({Kind::state, 2}); }), Errc::ok);
  EXPECT_EQ(store.refused(), 2);
  EXPECT_EQ(store.free_bytes()[1], 0);
  store.begin_write({Kind::adjoint, 2});
  store.put(0, model.field.data());
  EXPECT_NE(code_of([&] { store.end(); }), Errc::ok);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(store.list().size(), 1U);
  store.end();  // again, with the values that were put
  EXPECT_EQ(store.list().size(), 2U);
  EXPECT_GT(store.free_bytes()[1], 1 << 30);
  model.set(2);
  store.push({Kind::state, 2});
  EXPECT_EQ(store.refused(), std::nullopt);
  EXPECT_EQ(store.pop(), 2);
  EXPECT_TRUE(model.is(2));
}

TEST(CheckpointStore, states_of_the_adjoint_have_room_beside_those_that_fill_it) {
  for (const Count memory : {0, 4000, 100'000}) {
    const Folder folder;
    Method method = folder.method(memory);
    method.checkpoint_fast = "none";
    method.checkpoint_dir_bytes = memory > 50'000 ? 1 : 60'000;
    Model model;
    Store store({}, "run", method);
    model.declare(store);
    std::vector<std::byte> adjoint(10'000);
    const auto keep = [&](Count step) {
      store.begin_write({Kind::adjoint, step});
      store.put_bytes("adjoint", adjoint);
      store.end();
    };
    const Count all = store.free_bytes().back() + store.free_bytes().front();
    keep(100);
    EXPECT_LE(store.free_bytes().back() + store.free_bytes().front(), all - 20'000);
    const auto has_room = [&](Count bytes) {
      const std::vector<Count> free = store.free_bytes();
      return std::any_of(free.begin(), free.end(), [&](Count room) { return room >= bytes; });
    };
    store.push({Kind::state, 0});
    const Count bytes = store.info({Kind::state, 0}).bytes;
    Count step = 1;
    for (; has_room(bytes); ++step) store.push({Kind::state, step});
    EXPECT_GT(step, 3);
    for (Count left = 99; left > 90; --left) {
      keep(left);
      store.drop({Kind::adjoint, left + 1});
      EXPECT_FALSE(has_room(bytes));
    }
  }
}

void keep_adjoint(Store& store, Count step) {
  const std::vector<std::byte> adjoint(9000);
  store.begin_write({Kind::adjoint, step});
  store.put_bytes("adjoint", adjoint);
  store.end();
}

/// Pushes states until one is refused.
Count states_with_room(Store& store) {
  Count states = 0;
  while (states < 9 && !attempt_to([&] { store.push({Kind::state, states}); })) ++states;
  EXPECT_LT(states, 9);
  return states;
}

TEST(CheckpointStore, states_of_the_model_leave_those_of_the_adjoint_their_room) {
  for (const Count fast : {-1, 17'000}) {
    const Folder folder;
    Method method = folder.method(0, fast);
    method.checkpoint_dir_bytes = 45'000;
    Model model;  // 8000 bytes a state
    Store store({}, "run", method);
    model.declare(store);
    keep_adjoint(store, 100);
    // Programs without a schedule get this number, whatever the thread has moved.
    EXPECT_EQ(states_with_room(store), fast < 0 ? 3 : 5);
    for (Count left = 99; left > 90; --left) {
      keep_adjoint(store, left);
      store.drop({Kind::adjoint, left + 1});
      EXPECT_EQ(code_of([&] { store.push({Kind::state, 50}); }), Errc::eno_space);
    }
    store.close(false);
  }
}

// Whatever the files have free, memory may be the only tier with space for the adjoint's next
// state.
TEST(CheckpointStore, states_of_the_model_leave_those_of_the_adjoint_their_room_in_memory) {
  struct Case {
    Count fast, directory, states;
  };
  for (const Case& c : {Case{-1, 1, 1}, Case{-1, 4000, 1}, Case{-1, 12'000, 2}, Case{-1, 20'000, 3},
                        Case{6000, 4000, 1}, Case{9000, 17'000, 4}}) {
    SCOPED_TRACE("limits " + std::to_string(c.fast) + ", " + std::to_string(c.directory));
    const Folder folder;
    Method method = folder.method(30'000, c.fast);
    method.checkpoint_dir_bytes = c.directory;
    Model model;  // 8000 bytes a state
    Store store({}, "run", method);
    model.declare(store);
    keep_adjoint(store, 100);
    EXPECT_EQ(states_with_room(store), c.states);
    for (Count left = 99; left > 90; --left) {
      ASSERT_EQ(code_of([&] { keep_adjoint(store, left); }), Errc::ok) << left;
      EXPECT_EQ(code_of([&] { store.push({Kind::state, 50}); }), Errc::eno_space);
      store.drop({Kind::adjoint, left + 1});
      EXPECT_EQ(code_of([&] { store.push({Kind::state, 50}); }), Errc::eno_space);
    }
    store.close(false);
  }
}

// The first state is zeros and compresses well. Its values, not its stored bytes, give the size of
// later ones.
TEST(CheckpointStore, states_of_the_adjoint_have_room_as_large_as_their_values) {
  for (const bool memory : {false, true}) {
    const Folder folder;
    Method method = folder.method(memory ? 40'000 : 0);
    method.checkpoint_dir_bytes = memory ? 1 : 40'000;
    Model model;  // 8000 bytes a state
    Store store({}, "run", method);
    model.declare(store);
    std::vector<std::uint8_t> adjoint(16'000);
    const auto keep = [&](Count step) {
      store.begin_write({Kind::adjoint, step});
      store.put("adjoint", Type::uint8, {std::ssize(adjoint)}, "zstd:1", adjoint.data());
      store.end();
    };
    keep(100);
    EXPECT_LT(store.info({Kind::adjoint, 100}).bytes, 1000);
    EXPECT_EQ(code_of([&] { store.push({Kind::state, 0}); }), Errc::ok);
    EXPECT_EQ(code_of([&] { store.push({Kind::state, 1}); }), Errc::eno_space);
    std::mt19937 random(1);
    for (std::uint8_t& value : adjoint) value = static_cast<std::uint8_t>(random());
    for (Count left = 99; left > 90; --left) {
      ASSERT_EQ(code_of([&] { keep(left); }), Errc::ok) << left;
      store.drop({Kind::adjoint, left + 1});
      EXPECT_EQ(code_of([&] { store.push({Kind::state, 1}); }), Errc::eno_space);
    }
    store.close(false);
  }
}

// Both have threads that share their work, and some of these start late.
TEST(CheckpointStore, a_sync_moves_states_while_others_are_decoded_ahead) {
  const Folder folder;
  Method method = folder.method(7 << 20);
  method.codec_threads = 8;
  Store store({}, "run", method);
  const std::vector<std::byte> tape(8 << 20, std::byte{7});  // in files at once
  store.begin_write({Kind::state, 9});
  store.put_bytes("tape", tape);
  store.end();
  Model model((2 << 20) / sizeof(double));
  model.declare(store);
  for (int round = 0; round < forebay_test::few_of(20); ++round) {
    for (Count step = 0; step < 3; ++step) {
      model.set(step);
      store.push({Kind::state, step});
    }
    store.expect({9});
    std::this_thread::sleep_for(std::chrono::microseconds(round % 8 * 100));
    store.sync();
    for (Count step = 0; step < 3; ++step) {
      ASSERT_EQ(store.info({Kind::state, step}).tier, Tier::directory);
      store.peek({Kind::state, step});
      ASSERT_TRUE(model.is(step));
      store.drop({Kind::state, step});
    }
  }
  store.close(false);
}

/// A state that moves from the quick directory to the slow one is in both for a while. `then` is
/// called during such a move.
class Moving {
 public:
  explicit Moving(std::function<int()> then) {
    const std::lock_guard lock(synced_mutex);
    at_sync = [this, act = std::move(then)] {
      begun_ = true;
      return act();
    };
  }
  ~Moving() {
    const std::lock_guard lock(synced_mutex);
    at_sync = nullptr;
  }
  Moving(const Moving&) = delete;
  Moving& operator=(const Moving&) = delete;
  bool has_begun() const {
    for (int i = 0; i < 5000 && !begun_; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return begun_;
  }

 private:
  std::atomic<bool> begun_ = false;
};
int takes_a_while() {
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  return 0;
}

TEST(CheckpointStore, a_push_waits_for_the_room_that_a_moving_state_leaves) {
  const Folder folder;
  Method method = folder.method(0, 17'000);
  method.checkpoint_dir_bytes = 10'000;
  Model model;  // 8000 bytes a state
  Store store({}, "run", method);
  model.declare(store);
  store.push({Kind::state, 0});
  store.sync();
  const Moving moving(takes_a_while);
  store.push({Kind::state, 1});
  ASSERT_TRUE(moving.has_begun());
  EXPECT_EQ(code_of([&] { store.push({Kind::state, 2}); }), Errc::ok);
  EXPECT_EQ(store.info({Kind::state, 2}).tier, Tier::fast);
  store.close(false);
}

TEST(CheckpointStore, a_sync_waits_for_the_room_that_a_moving_state_leaves) {
  const Folder folder;
  Method method = folder.method(10'000, 17'000);
  method.checkpoint_dir_bytes = 10'000;
  Model model;
  Store store({}, "run", method);
  model.declare(store);
  store.push({Kind::state, 5});
  store.sync();
  const Moving moving(takes_a_while);
  store.push({Kind::state, 6});  // moves to the quick directory, and 5 out of it
  ASSERT_TRUE(moving.has_begun());
  store.push({Kind::state, 1});
  EXPECT_EQ(code_of([&] { store.sync(); }), Errc::ok);
  EXPECT_EQ(store.info({Kind::state, 1}).tier, Tier::fast);
  EXPECT_EQ(store.info({Kind::state, 5}).tier, Tier::directory);
  store.close(false);
}

// The copy could neither be synced nor dropped. It is dropped before the next copy is made,
// otherwise that one would be dropped.
TEST(CheckpointStore, a_move_that_failed_is_tried_again) {
  const Folder folder;
  const Method method = folder.method(0, 17'000);
  Model model;
  {
    Store store({}, "run", method);
    model.declare(store);
    const auto push = [&](Count step) {
      model.set(step);
      store.push({Kind::state, step});
    };
    push(0);
    store.sync();
    {
      const Moving moving([] {
        ::setenv("FOREBAY_FAULT", "pwrite:rank=0:call=1:errno=EIO", 1);
        return EINTR;  // nothing is lost, so the next sync may succeed
      });
      push(1);
      ASSERT_TRUE(moving.has_begun());
      store.free_bytes();  // once nothing moves
      ::setenv("FOREBAY_FAULT", "none", 1);
    }
    EXPECT_EQ(store.info({Kind::state, 0}).tier, Tier::fast);
    EXPECT_THROW(push(2), Error);  // gets the thread's error
    push(2);
    const auto is_there = [&] { return store.info({Kind::state, 0}).tier == Tier::directory; };
    for (int i = 0; i < 5000 && !is_there(); ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(is_there());
    store.sync();
    push(3);
    store.close(true);
  }
  Store again({}, "run", method);
  model.declare(again);
  EXPECT_EQ(std::ssize(again.list()), 4);
  for (Count step = 3; step >= 0; --step) {
    ASSERT_EQ(again.pop(), step);
    EXPECT_TRUE(model.is(step)) << step;
  }
  again.close(false);
}

// The system tells of lost bytes once, so a later sync must not take them for stored.
TEST(CheckpointStore, after_a_loss_no_sync_succeeds_until_the_store_is_opened_anew) {
  const Folder folder;
  const Method method = folder.method(0, 17'000);
  Model model;
  {
    Store store({}, "run", method);
    model.declare(store);
    store.push({Kind::state, 0});
    store.sync();
    store.push({Kind::state, 1});
    {
      const Moving loses([] { return EIO; });
      EXPECT_EQ(code_of([&] { store.sync(); }), Errc::ewrite);
    }
    EXPECT_EQ(code_of([&] { store.sync(); }), Errc::ewrite);
    EXPECT_EQ(code_of([&] { store.close(true); }), Errc::ewrite);
  }
  Store again({}, "run", method);
  model.declare(again);
  EXPECT_EQ(std::ssize(again.list()), 2);
  EXPECT_EQ(code_of([&] { again.sync(); }), Errc::ok);
  again.close(false);
}

TEST(CheckpointStore, parts_are_found_in_any_order) {
  constexpr Count parts = 50;
  for (const Count memory : {0, 1 << 20}) {
    const Folder folder;
    Store store({}, "run", folder.method(memory));
    const auto bytes_of = [](Count i) {
      return std::vector<std::byte>(static_cast<std::size_t>(7 * i + 1), std::byte(i));
    };
    store.begin_write({Kind::state, 0});
    for (Count i = 0; i < parts; ++i) store.put_bytes("p" + std::to_string(i), bytes_of(i));
    EXPECT_EQ(code_of([&] { store.put_bytes("p7", {}); }), Errc::enameinuse);
    store.end();
    store.begin_read({Kind::state, 0});
    for (const Count apart : {Count{1}, parts - 1, Count{7}})
      for (Count i = 0, at = 0; i < parts; ++i, at = (at + apart) % parts) {
        std::vector<std::byte> found(bytes_of(at).size());
        store.get_bytes("p" + std::to_string(at), found);
        EXPECT_EQ(found, bytes_of(at)) << at;
      }
    EXPECT_EQ(code_of([&] { store.bytes_of("q"); }), Errc::enotvar);
    store.end();
    store.close(false);
  }
}

// A sync and the thread move states at the same time.
TEST(CheckpointStore, room_is_told_once_no_state_counts_twice) {
  constexpr Count large = 8 << 20, small = 1 << 20, directory = 64 << 20;
  const Folder folder;
  for (int round = 0; round < 20; ++round) {
    const auto keep = [](Store& store, Count step, Count size) {
      store.begin_write({Kind::state, step});
      store.put_bytes("bytes", std::vector<std::byte>(static_cast<std::size_t>(size)));
      store.end();
    };
    {
      Store before({}, "run", folder.method(0, 2 * large));
      keep(before, 0, large);
      before.close(true);
    }
    Method method = folder.method(small, large);
    method.checkpoint_dir_bytes = directory;
    Store store({}, "run", method);
    keep(store, 1, small);  // the thread moves the first one to free space
    store.sync();
    const std::vector<Count> free = store.free_bytes();
    Count in_files = 0;
    for (const StateInfo& state : store.list()) in_files += state.bytes;
    ASSERT_EQ(free[1] + free[2] + in_files, large + directory) << round;
    store.close(false);
  }
}

TEST(CheckpointStore, what_is_expected_while_a_state_is_written_is_decoded_later) {
  const Folder folder;
  Store store({}, "run", folder.method(20'000));
  const auto keep = [&](Count step, std::size_t size) {
    store.begin_write({Kind::state, step});
    store.put_bytes("bytes", std::vector<std::byte>(size));
    if (step == 2) {
      store.expect({0});
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    store.end();
  };
  keep(0, 8000);
  keep(1, 8000);
  keep(2, 16'000);
  EXPECT_EQ(store.account()[Account::in_memory], 3);  // others have moved for the last one
  store.peek({Kind::state, 0});
  EXPECT_EQ(store.decoded_ahead(), 0);
  store.close(false);
}

TEST(CheckpointStore, what_memory_has_no_room_for_goes_to_files_though_nothing_can_move_there) {
  const Folder folder;
  Method method = folder.method(10'000);
  method.checkpoint_fast = "none";
  method.checkpoint_dir_bytes = 3000;
  Store store({}, "run", method);
  const auto keep = [&](Count step, std::size_t size) {
    store.begin_write({Kind::state, step});
    store.put_bytes("bytes", std::vector<std::byte>(size));
    store.end();
  };
  keep(0, 5000);
  keep(1, 5000);
  keep(2, 2000);
  EXPECT_EQ(store.info({Kind::state, 2}).tier, Tier::directory);
  EXPECT_THROW(keep(3, 2000), Error);
}

}  // namespace
}  // namespace forebay::checkpoint
