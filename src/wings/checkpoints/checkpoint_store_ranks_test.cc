#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "checkpoints/checkpoint_store.h"
#include "comm/thread_ranks.h"

namespace forebay::checkpoint {
namespace store_ranks_test {

namespace fs = std::filesystem;

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "forebay_stores_XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

Method without_memory() {
  Method method;
  method.checkpoint_memory = 0;
  return method;
}

TEST(CheckpointStores, those_states_are_found_again_that_all_ranks_have) {
  const Folder folder;
  const std::string name = (folder.path / "run").string();
  run_as_threads(3, [&](const Comm& comm) {
    double value = 0;
    Store store(comm, name, without_memory());
    store.add_variable("value", Type::float64, {}, {}, &value);
    for (Count step = 0; step < 4 + comm.rank(); ++step) {
      value = static_cast<double>(10 * step + comm.rank());
      store.push({Kind::state, step});
    }
    if (comm.rank() == 1) store.drop({Kind::state, 2});
  });  // killed
  run_as_threads(3, [&](const Comm& comm) {
    double value = 0;
    Store store(comm, name, without_memory());
    store.add_variable("value", Type::float64, {}, {}, &value);
    for (const Count step : {3, 1, 0}) {
      EXPECT_EQ(store.pop(), step);
      EXPECT_EQ(value, static_cast<double>(10 * step + comm.rank()));
    }
    EXPECT_TRUE(store.list().empty());
    store.close(false);
  });
  EXPECT_TRUE(fs::is_empty(folder.path));
}

TEST(CheckpointStores, threads_beside_the_program_move_and_decode_what_it_uses) {
  const Folder folder;
  fs::create_directory(folder.path / "fast");
  Method method;
  method.checkpoint_memory = 20'000;
  method.checkpoint_fast = (folder.path / "fast").string();
  method.checkpoint_fast_bytes = 20'000;
  method.codec = "shuffle,zstd:1";
  run_as_threads(3, [&](const Comm& comm) {
    std::vector<std::int32_t> values(2000);
    Store store(comm, (folder.path / "run").string(), method);
    store.add_variable("values", Type::int32, {2000}, {}, values.data());
    const auto set = [&](Count step) {
      for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = static_cast<std::int32_t>((i * 2654435761U + step * 40503U) % 60'000);
    };
    const auto expect_step = [&](Count step) {
      const auto got = values;
      set(step);
      EXPECT_EQ(got, values) << step;
    };
    for (int round = 0; round < 3; ++round) {
      for (Count step = 0; step < 15; ++step) {
        set(step);
        store.push({Kind::state, step});
        if (step % 5 == 4) {
          store.expect({step - 3, step - 1});
          store.peek({Kind::state, step - 3});
          expect_step(step - 3);
          store.peek({Kind::state, step - 1});
          expect_step(step - 1);
        }
      }
      EXPECT_EQ(store.free_bytes().size(), 3U);
      for (Count step = 15; step-- > 0;) {
        EXPECT_EQ(store.pop(), step);
        expect_step(step);
      }
    }
    store.close(false);
  });
}

TEST(CheckpointStores, a_rank_that_cannot_open_or_close_tells_all) {
  const Folder folder;
  const std::string name = (folder.path / "run").string();
  FileTier(name + ".1", 1, 5, FileTier::no_limit).begin();
  run_as_threads(
      3, [&](const Comm& comm) { EXPECT_THROW(Store(comm, name, without_memory()), Error); });
  fs::remove(name + ".1.journal");
  run_as_threads(3, [&](const Comm& comm) {
    Store store(comm, name, without_memory());
    if (comm.rank() == 2) store.begin_write({Kind::state, 1});
    EXPECT_THROW(store.close(true), Error);
  });
}

TEST(CheckpointStores, states_stay_while_the_files_of_a_rank_are_elsewhere) {
  const Folder folder;
  const std::string name = (folder.path / "run").string();
  const auto open = [&](std::size_t states) {
    run_as_threads(3, [&](const Comm& comm) {
      const Store store(comm, name, without_memory());
      EXPECT_EQ(store.list().size(), states);
    });
  };
  run_as_threads(3, [&](const Comm& comm) {
    double value = 0;
    Store store(comm, name, without_memory());
    store.add_variable("value", Type::float64, {}, {}, &value);
    for (Count step = 0; step < 4; ++step) store.push({Kind::state, step});
    store.close(true);
  });
  fs::create_directory(folder.path / "elsewhere");
  const auto move = [&](const fs::path& from, const fs::path& to) {
    for (const char* file : {"run.1.data", "run.1.journal"}) fs::rename(from / file, to / file);
  };
  move(folder.path, folder.path / "elsewhere");
  for (int time = 0; time < 2; ++time)
    run_as_threads(3, [&](const Comm& comm) {
      try {
        const Store store(comm, name, without_memory());
        ADD_FAILURE() << "opened without the files of rank 1";
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), Errc::einval);
        EXPECT_NE(std::string(e.what()).find("rank 1 "), std::string::npos) << e.what();
      }
    });
  move(folder.path / "elsewhere", folder.path);
  open(4);
}

}  // namespace store_ranks_test
}  // namespace forebay::checkpoint
