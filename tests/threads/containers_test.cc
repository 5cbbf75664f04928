// Which container a file that exists is of: the classic one, the directory, or nobody's.
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "dataset/dataset.h"
#include "folder.h"
#include "method/parts_testing.h"

namespace forebay {

namespace {

namespace fs = std::filesystem;

Errc code_of_open(const std::string& path, bool writable, const HintMap& hints) {
  std::array<Errc, 3> codes{};
  run_as_threads(3, [&](const Comm& comm) {
    const auto failed = attempt_to([&] { Dataset::open(comm, path, writable, hints)->close(); });
    codes[static_cast<std::size_t>(comm.rank())] = failed ? failed->code() : Errc::ok;
  });
  EXPECT_TRUE(codes[0] == codes[1] && codes[0] == codes[2]) << path;
  return codes[0];
}

TEST(Containers, what_none_recognises_is_refused_by_the_classic_one) {
  const Folder folder;
  const auto file = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(folder.file(name), std::ios::binary) << bytes;
    return folder.file(name);
  };
  const std::string user_block = std::string(512, ' ') + "\x89HDF\r\n\x1a\n";
  for (const HintMap& hints : {HintMap{}, HintMap{{"container", "directory"}}}) {
    for (const bool writable : {false, true}) {
      const auto code = [&](const std::string& path) {
        return code_of_open(path, writable, hints);
      };
      EXPECT_EQ(code(folder.file("missing")), Errc::enoent);
      EXPECT_EQ(code(file("empty", "")), Errc::enotnc);
      EXPECT_EQ(code(file("text", "a text")), Errc::enotnc);
      EXPECT_EQ(code(file("short", "CDF")), Errc::enotnc);
      EXPECT_EQ(code(file("cut", "CDF\x05")), Errc::enotnc);
      EXPECT_EQ(code(file("other", "CDF\x03 and more")), Errc::enotnc);
      const bool netcdf4 = is_built("container=netcdf4");
      EXPECT_EQ(code(file("hdf5", "\x89HDF\r\n\x1a\n and more")),
                netcdf4 ? Errc::ehdferr : Errc::enotbuilt);
      EXPECT_EQ(code(file("hdf5_behind", user_block)), netcdf4 ? Errc::ehdferr : Errc::enotnc);
      EXPECT_EQ(code(folder.string()), Errc::efile);
    }
  }
}

/// A file of a variable with an element for each rank.
void create_small(const Comm& comm, const std::string& path, const HintMap& hints) {
  auto ds = Dataset::create(comm, path, 5, true, hints);
  ds->def_var("x", Type::int32, std::array{ds->def_dim("n", comm.size())});
  ds->enddef();
  ds->close();
}

/// Each rank writes its element, and reads all.
void write_and_read_small(const Comm& comm, Dataset& ds, std::int32_t value) {
  std::int32_t mine = value + comm.rank();
  std::vector<std::int32_t> found(static_cast<std::size_t>(comm.size())), expected;
  for (Rank r = 0; r < comm.size(); ++r) expected.push_back(value + r);
  const auto access = [&](bool write, std::int32_t* memory, Count first, Count n) {
    std::vector<Request> requests(1);
    Request& r = requests[0];
    r.write = write;
    r.elements = n;
    r.selection = Subarray{{first}, {n}, {}};
    r.memory = {reinterpret_cast<std::byte*>(memory), Type::int32};
    ds.execute(requests, true);
  };
  access(true, &mine, comm.rank(), 1);
  access(false, found.data(), 0, comm.size());
  EXPECT_EQ(found, expected) << "rank " << comm.rank();
}

TEST(Containers, are_recognised_alike_by_all_ranks_whatever_hints_say) {
  constexpr int ranks = 4;
  const Folder folder;
  for (const std::string container : {"directory", "classic"}) {
    const std::string path = folder.file(container + ".nc");
    const std::string other = container == "directory" ? "classic" : "directory";
    run_as_threads(ranks, [&](const Comm& comm) {
      create_small(comm, path, {{"container", container}});
    });
    EXPECT_EQ(fs::is_directory(path), container == "directory");
    // Hints of the rank that looks, and of the others.
    const std::array<std::array<std::string, 2>, 5> cases = {
        {{"", ""}, {"", other}, {other, container}, {container, other}, {other, other}}};
    std::int32_t value = 0;
    for (const auto& [first, others] : cases) {
      value += 10;
      run_as_threads(ranks, [&, of_first = first, of_others = others](const Comm& comm) {
        const std::string& said = comm.is_root() ? of_first : of_others;
        const HintMap hints = said.empty() ? HintMap{} : HintMap{{"container", said}};
        auto ds = Dataset::open(comm, path, true, hints);
        EXPECT_EQ(to_hints(ds->method()).at("container"), container) << "rank " << comm.rank();
        write_and_read_small(comm, *ds, value);
        ds->close();
      });
    }
  }
}

TEST(Containers, what_the_rank_that_looks_finds_wrong_is_told_to_all) {
  const Folder folder;
  const std::string path = folder.file("damaged.nc");
  fs::create_directories(path);
  EXPECT_EQ(code_of_open(path, false, {}), Errc::efile);  // a folder of nobody's
  fs::create_directories(path + "/header.nc");
  EXPECT_EQ(code_of_open(path, false, {}), Errc::efile);  // and so is this
  fs::remove(path + "/header.nc");
  std::ofstream(path + "/header.nc") << "CDF";
  EXPECT_EQ(code_of_open(path, false, {}), Errc::enotnc);
}

TEST(Containers, what_one_made_goes_when_it_is_given_up) {
  const Folder folder;
  for (const std::string container : {"directory", "classic"}) {
    const std::string path = folder.file(container + ".nc");
    run_as_threads(2, [&](const Comm& comm) {
      auto ds = Dataset::create(comm, path, 5, false, {{"container", container}});
      EXPECT_TRUE(fs::exists(path));
      comm.barrier();
      ds->abort();
    });
    EXPECT_FALSE(fs::exists(path));
  }
}

}  // namespace
}  // namespace forebay
