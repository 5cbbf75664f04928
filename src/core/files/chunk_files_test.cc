// Reads chunks in data files (layout/chunked/files_beside.h), undamaged and damaged, without MPI.
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "base/byteorder.h"
#include "base/hash.h"
#include "base/host_name.h"
#include "dataset/dataset.h"
#include "files/classic_file.h"
#include "files/file_check.h"
#include "files/references.h"
#include "format/chunk_schema.h"
#include "format/classic_header.h"
#include "format/data_file_front.h"
#include "method/parts_testing.h"
#include "storage/file.h"

namespace forebay {
namespace chunk_files_test {

namespace fs = std::filesystem;

constexpr Count records = 3, nx = 2000;

// The library checks only once whether system calls may fail (storage/fault.h).
const int may_fail = ::setenv("FOREBAY_FAULT", "none", 1);
void fail(const char* plan) { ::setenv("FOREBAY_FAULT", plan, 1); }

/// Counts how often files of a folder are opened.
class Opens {
 public:
  explicit Opens(const std::string& folder) : fd_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
    watches_ = ::inotify_add_watch(fd_, folder.c_str(), IN_OPEN) >= 0;
  }
  ~Opens() { ::close(fd_); }
  bool watches() const { return watches_; }
  std::map<std::string, int> so_far() {
    alignas(inotify_event) std::array<char, 4096> bytes{};
    for (ssize_t n = 0; (n = ::read(fd_, bytes.data(), bytes.size())) > 0;) {
      for (const char* at = bytes.data(); at < bytes.data() + n;) {
        const auto* event = reinterpret_cast<const inotify_event*>(at);
        if (event->len > 0) ++opens_[event->name];
        at += sizeof *event + event->len;
      }
    }
    return opens_;
  }

 private:
  int fd_;
  bool watches_ = false;
  std::map<std::string, int> opens_;
};

/// The parts of an index that a test may change.
struct IndexParts {
  chunked::Root& root;
  chunked::Directory& directory;
  std::byte* entries;  ///< of the first page
};

/// Returns the bytes of a file with an index, whose newest state was changed by f(IndexParts), with
/// right checksums. The first root slot is at `first_slot`.
template <typename F>
std::string edited(std::string bytes, Offset first_slot, F&& f) {
  const auto at = [&](Offset offset) { return reinterpret_cast<std::byte*>(&bytes[0]) + offset; };
  chunked::Root root;
  Offset slot = 0;
  for (int s = 0; s < chunked::slots; ++s) {
    const Offset place = first_slot + s * chunked::slot_bytes;
    const auto one =
        chunked::parse_root({at(place), static_cast<std::size_t>(chunked::slot_bytes)});
    if (!one || one->generation < root.generation) continue;
    root = *one;
    slot = place;
  }
  const std::span<std::byte> printed(at(root.directory.offset),
                                     static_cast<std::size_t>(root.directory.bytes));
  auto directory = chunked::parse_directory(printed, INT64_MAX);
  auto& page = directory.items.at(0).pages.at(0);
  std::byte* const entries = at(page.offset);
  f(IndexParts{root, directory, entries});
  page.hash = hash_of({entries, static_cast<std::size_t>(page.bytes)});
  const auto again = chunked::print_directory(directory);
  root.directory.hash = hash_of(again);
  if (again.size() == printed.size()) {
    std::copy(again.begin(), again.end(), printed.begin());
  } else {
    root.directory.offset = std::ssize(bytes);
    root.directory.bytes = std::ssize(again);
    bytes.append(reinterpret_cast<const char*>(again.data()), again.size());
  }
  const auto slot_again = chunked::print_root(root);
  std::copy(slot_again.begin(), slot_again.end(), at(slot));
  return bytes;
}

/// Sets fields of a stored entry.
void set_place(std::byte* entry, Offset offset, Count bytes) {
  store_be(entry, offset);
  store_be(entry + 8, bytes);
}
void set_file(std::byte* entry, std::uint32_t word) {
  store_be(entry + chunked::entry_bytes - 4, word);
}

// T(t, x) float in chunks of one record, zstd; c(t, x) double, classic.
class ChunkFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = ::testing::TempDir() + "forebay_chunk_files_" + std::to_string(::getpid());
    make(path_, {{"container", "directory"}});
  }
  void TearDown() override {
    fail("none");
    fs::remove_all(path_);
  }

  static void make(const std::string& path, const HintMap& hints) {
    auto ds = Dataset::create(Comm(), path, 5, false, hints);
    const DimId t = ds->def_dim("t", 0), x = ds->def_dim("x", nx);
    const VarId chunked = ds->def_var("T", Type::float32, std::array{t, x});
    const VarId classic = ds->def_var("c", Type::float64, std::array{t, x});
    ds->set_chunk(chunked, std::array<Count, 2>{1, nx});
    ds->set_filter(chunked, "shuffle,zstd:3");
    ds->enddef();
    for (const VarId var : {chunked, classic}) put(*ds, var);
    ds->sync();
    ds->close();
  }

  static double value_of(VarId var, std::size_t element) {
    return static_cast<double>(element) + 1000 * var;
  }

  static std::vector<double> values_of(VarId var) {
    std::vector<double> values(records * nx);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(var, i);
    return values;
  }
  static void access(Dataset& ds, VarId var, bool write, std::vector<double>& values) {
    Request access;
    access.var = var;
    access.write = write;
    access.elements = records * nx;
    access.last_record = records;
    access.selection = Subarray{{0, 0}, {records, nx}, {}};
    access.memory.data = reinterpret_cast<std::byte*>(values.data());
    access.memory.type = Type::float64;
    std::vector<Request> accesses;
    accesses.push_back(std::move(access));
    ds.execute(accesses, true);
  }
  static void put(Dataset& ds, VarId var) {
    auto values = values_of(var);
    access(ds, var, true, values);
  }
  static std::vector<double> get(Dataset& ds, VarId var) {
    std::vector<double> values(records * nx);
    access(ds, var, false, values);
    return values;
  }

  void expect_values(VarId var) const {
    const auto found = ClassicFile(path_).read_doubles(var, {{0, 0}, {records, nx}, {}});
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], value_of(var, i)) << i;
  }

  /// Expects that reading T fails with words about file and variable, that reading c works, and
  /// that check reports the fault.
  void expect_told(const std::string& about) const {
    std::string message;
    try {
      ClassicFile(path_).read_doubles(0, {{0, 0}, {records, nx}, {}});
    } catch (const Error& error) {
      message = error.message();
    }
    EXPECT_NE(message.find(about), std::string::npos) << message;
    EXPECT_NE(message.find("variable T"), std::string::npos) << message;
    expect_values(1);
    const FileCheck check = check_file(path_, {});
    EXPECT_EQ(check.status, CheckStatus::damaged);
    EXPECT_TRUE(std::any_of(check.damages.begin(), check.damages.end(), [&](const Damage& damage) {
      return damage.problem.find(about) != std::string::npos;
    })) << about;
  }

  std::string bytes_of(const std::string& name) const {
    std::ifstream file(path_ + "/" + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void save(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ + "/" + name, std::ios::binary | std::ios::trunc) << bytes;
  }

  /// Changes the index entry of the first chunk.
  template <typename F>
  void edit_index(F&& f) const {
    save("index", edited(bytes_of("index"), chunked::root_beside, f));
  }
  /// The box of the file contains all chunks.
  void name_file(std::uint32_t word) const {
    edit_index([&](const IndexParts& parts) {
      set_file(parts.entries, word);
      auto& boxes = parts.directory.items.at(0).boxes;
      const chunked::ChunkBox all = boxes.begin()->second;
      if (word > 0) boxes.emplace(word, all);
    });
  }

  /// Reads like a program that writes, or could write.
  static void expect_session(const std::string& path, VarId var) {
    auto ds = Dataset::open(Comm(), path, false, {});
    EXPECT_EQ(get(*ds, var), values_of(var));
    ds->close();
  }

  std::string path_;
};

TEST_F(ChunkFilesTest, chunks_are_read_from_data_files_and_referred_to_there) {
  expect_values(0);
  expect_values(1);
  EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good);
  const auto refs = nlohmann::json::parse(make_references(ClassicFile(path_), {}).json)["refs"];
  const auto& place = refs["T/1.0"];
  EXPECT_EQ(place[0], path_ + "/0");
  EXPECT_EQ(refs["c/1.0"][0], path_ + "/header.nc");
  const std::string stored =
      bytes_of("0").substr(place[1].get<std::size_t>(), place[2].get<std::size_t>());
  const ClassicFile file(path_);
  const chunked::Entry& entry = file.chunks()->table(0).get(1);
  EXPECT_EQ(hash_of(std::as_bytes(std::span(stored))), entry.hash);
}

TEST_F(ChunkFilesTest, damaged_data_files_are_named_with_the_variable) {
  const std::string whole = bytes_of("0");
  save("0", whole.substr(0, 4100));
  expect_told("/0 ends before its bytes do");
  save("0", whole.substr(0, 100));
  expect_told("/0: it ends within its front");
  std::string other = whole;
  other[12] ^= 1;
  save("0", other);
  expect_told("/0: ");
  save("0", bytes_of("index"));
  expect_told("/0: it is data file");
  fs::remove(path_ + "/0");
  expect_told("/0 on " + host_name() + ": No such file");
  save("0", whole);
  expect_values(0);
}

TEST_F(ChunkFilesTest, an_index_that_is_missing_or_another_files_is_named) {
  const std::string index = bytes_of("index");
  fs::remove(path_ + "/index");
  expect_told("/index, which tells where chunks are, is not there");
  std::string other = index;
  other[12] ^= 1;
  save("index", other);
  expect_told("/index: ");
  save("index", bytes_of("0"));
  expect_told("/index: it is data file 0");
  save("index", index);
  expect_values(0);
}

TEST_F(ChunkFilesTest, entries_that_name_files_that_there_are_not_are_refused) {
  name_file(1);
  expect_values(0);
  name_file(0);
  expect_told("its table names no data file");
  for (const std::uint32_t word : {2u, 0x7fffffffu, 0xffffffffu}) {
    name_file(word);
    expect_told("/" + std::to_string(word - 1));
  }
}

// A box that is too small gives an error, and never fill values or others' values.
TEST_F(ChunkFilesTest, boxes_that_lie_are_told) {
  const std::string before = bytes_of("index");
  const auto with_box = [&](const chunked::ChunkBox& box) {
    save("index", before);
    edit_index([&](const IndexParts& parts) {
      auto& boxes = parts.directory.items.at(0).boxes;
      ASSERT_EQ(boxes.size(), 1U);
      EXPECT_EQ(boxes.at(1), (chunked::ChunkBox{{0, 0}, {records - 1, 0}}));
      boxes.at(1) = box;
    });
  };
  with_box({{0, 0}, {records, 0}});  // larger than need be
  expect_values(0);
  with_box({{1, 0}, {records - 1, 0}});
  expect_told("data file 0, whose box does not contain it");
  EXPECT_EQ(ClassicFile(path_).read_doubles(0, {{1, 0}, {1, nx}, {}})[7],
            value_of(0, static_cast<std::size_t>(nx) + 7));
  for (const chunked::ChunkBox& box :
       {chunked::ChunkBox{{0, 1}, {records - 1, 1}}, {{2, 0}, {1, 0}}, {{-1, 0}, {1, 0}}}) {
    with_box(box);
    expect_told("the box of data file 0 is impossible");
  }
  save("index", before);
  edit_index([&](const IndexParts& parts) { parts.directory.items.at(0).boxes.clear(); });
  expect_told("data file 0, whose box does not contain it");
}

// The header, the roots and the directory are all that is read.
TEST_F(ChunkFilesTest, the_files_of_a_region_are_known_without_pages) {
  Report report;
  const auto paths = [&](const std::string& var, const Subarray& region) {
    std::vector<std::string> found;
    for (const NeededFile& file : files_of_region(path_, var, region, report))
      found.push_back(fs::path(file.path).filename());
    return found;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(paths("T", {{1, 5}, {1, 3}, {}}), (Names{"header.nc", "index", "0"}));
  Opens opens(path_);
  if (opens.watches()) {
    paths("T", {{1, 5}, {1, 3}, {}});
    EXPECT_FALSE(opens.so_far().contains("0"));
  }
  EXPECT_EQ(paths("T", {{1, 5}, {0, 3}, {}}), (Names{"header.nc", "index"}));
  EXPECT_EQ(paths("c", {{1, 5}, {1, 3}, {}}), (Names{"header.nc"}));
  const auto code_of = [&](const std::string& var, const Subarray& region) {
    const auto failed = attempt_to([&] { paths(var, region); });
    return failed ? failed->code() : Errc::ok;
  };
  EXPECT_EQ(code_of("none", {{0, 0}, {1, 1}, {}}), Errc::enotvar);
  EXPECT_EQ(code_of("T", {{0}, {1}, {}}), Errc::einval);
  EXPECT_EQ(code_of("T", {{records + 1, 0}, {1, 1}, {}}), Errc::einvalcoords);
  EXPECT_EQ(code_of("T", {{0, 1}, {records, nx}, {}}), Errc::eedge);
}

TEST_F(ChunkFilesTest, entries_within_a_front_are_refused) {
  for (const Offset offset : {0, 512, 4088}) {
    edit_index([&](const IndexParts& parts) { set_place(parts.entries, offset, 64); });
    expect_told("its bytes lie within the front");
  }
}

// A writer that replaces a chunk frees its old place, unless the place is impossible.
TEST_F(ChunkFilesTest, fronts_and_roots_are_never_given_away) {
  for (const std::uint32_t word : {1u, 0u}) {
    for (const Offset offset : {0, 512}) {
      edit_index([&](const IndexParts& parts) {
        set_place(parts.entries, offset, 4096 - offset);
        set_file(parts.entries, word);
      });
      auto ds = Dataset::open(Comm(), path_, true, {});
      for (int round = 0; round < 6; ++round) {
        put(*ds, 0);
        ds->sync();
      }
      ds->close();
      EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good) << word << " at " << offset;
      expect_values(0);
      expect_session(path_, 0);
    }
  }
}

// In an index that was moved, places of its own blocks count from the shift. Places of chunks count
// from the beginning of their files.
TEST_F(ChunkFilesTest, a_shift_is_of_the_index_alone) {
  constexpr Offset shift = 1024;
  edit_index([&](const IndexParts& parts) {
    parts.root.shift = shift;
    parts.root.directory.offset -= shift;
    parts.directory.end -= shift;
    for (auto& page : parts.directory.items.at(0).pages) page.offset -= shift;
  });
  for (int round = 0; round < 6; ++round) {
    expect_values(0);
    expect_session(path_, 0);
    EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good);
    auto ds = Dataset::open(Comm(), path_, true, {});
    put(*ds, 0);
    if (round % 2 == 0) ds->sync();
    ds->close();
  }
}

TEST_F(ChunkFilesTest, entries_of_a_plain_file_name_no_data_file) {
  const std::string path = path_ + ".plain";
  make(path, {{"layout", "chunked"}});
  std::ifstream in(path, std::ios::binary);
  const std::string before{std::istreambuf_iterator<char>(in), {}};
  Report report;
  File file(path, false, 0, report);
  const auto stored = classic::read_header(path, [&](std::vector<std::byte>& bytes, Offset wanted) {
    return classic::read_beginning(file, bytes, wanted);
  });
  const Offset root = chunked::root_of(stored).value();
  for (const std::uint32_t word : {1u, 0xffffffffu}) {
    std::ofstream(path, std::ios::binary)
        << edited(before, root, [&](const IndexParts& parts) { set_file(parts.entries, word); });
    for (const bool in_session : {false, true}) {
      std::string message;
      try {
        in_session ? expect_session(path, 0)
                   : void(ClassicFile(path).read_doubles(0, {{0, 0}, {records, nx}, {}}));
      } catch (const Error& error) {
        message = error.message();
      }
      EXPECT_NE(message.find("variable T"), std::string::npos) << message;
      EXPECT_NE(message.find("its table names data file"), std::string::npos) << message;
    }
    auto ds = Dataset::open(Comm(), path, true, {});
    for (int round = 0; round < 6; ++round) {
      put(*ds, 0);
      ds->sync();
    }
    ds->close();
    expect_session(path, 0);
    EXPECT_EQ(check_file(path, {}).status, CheckStatus::good);
  }
  fs::remove(path);
}

// They count for the balance of bytes, and the next writer would write into them.
TEST_F(ChunkFilesTest, data_files_without_chunks_count_and_are_checked) {
  const std::string file = bytes_of("0");
  const auto front_bytes = static_cast<std::size_t>(store::slot_bytes);
  auto front = data_files::parse_front(std::as_bytes(std::span(file).first(front_bytes)));
  const auto save_front = [&](const std::string& name) {
    const auto printed = data_files::print_front(front);
    save(name, {reinterpret_cast<const char*>(printed.data()), front_bytes});
  };
  const auto bytes_of_files = [&] { return ClassicFile(path_).chunks()->bytes_of_files(); };
  const auto of_one = bytes_of_files();
  ASSERT_EQ(of_one.size(), 1U);
  front.number = 1;
  save_front("1");
  save("2", "");  // as a killed job leaves it
  EXPECT_EQ(bytes_of_files(), (std::map<std::uint32_t, Count>{{0, of_one.at(0)}, {1, 0}}));
  EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good);
  front.number = 3;
  ++front.id;
  save_front("3");
  EXPECT_EQ(bytes_of_files().size(), 2U);
  const auto result = check_file(path_, {});
  EXPECT_EQ(result.status, CheckStatus::damaged);
  ASSERT_EQ(result.damages.size(), 1U);
  EXPECT_NE(result.damages[0].problem.find("/3"), std::string::npos) << result.damages[0].problem;
  EXPECT_NE(result.damages[0].problem.find("another file"), std::string::npos);
}

// There are more files than may be open, and chunks of all of them, in turn.
TEST_F(ChunkFilesTest, each_of_many_data_files_is_opened_once) {
  constexpr Count files = 70, many = 2 * files, width = 256;
  fs::remove_all(path_);
  auto ds = Dataset::create(Comm(), path_, 5, false, {{"container", "directory"}});
  const DimId y = ds->def_dim("y", many), x = ds->def_dim("x", width);
  const VarId var = ds->def_var("T", Type::float64, std::array{y, x});
  ds->set_chunk(var, std::array<Count, 2>{1, width});
  ds->enddef();
  std::vector<double> values(many * width);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = value_of(var, i);
  const auto access = [&](Dataset& in, bool write, std::vector<double>& here) {
    Request r;
    r.var = var;
    r.write = write;
    r.elements = many * width;
    r.selection = Subarray{{0, 0}, {many, width}, {}};
    r.memory.data = reinterpret_cast<std::byte*>(here.data());
    r.memory.type = Type::float64;
    std::vector<Request> accesses;
    accesses.push_back(std::move(r));
    in.execute(accesses, true);
  };
  access(*ds, true, values);
  ds->close();
  std::string file = bytes_of("0");
  const auto front_bytes = static_cast<std::size_t>(store::slot_bytes);
  auto front = data_files::parse_front(std::as_bytes(std::span(file).first(front_bytes)));
  for (front.number = 1; front.number < files; ++front.number) {
    const auto printed = data_files::print_front(front);
    file.replace(0, front_bytes, reinterpret_cast<const char*>(printed.data()), front_bytes);
    save(std::to_string(front.number), file);
  }
  edit_index([&](const IndexParts& parts) {
    auto& boxes = parts.directory.items.at(0).boxes;
    const chunked::ChunkBox all = boxes.at(1);
    for (Count i = 0; i < many; ++i) {
      const auto word = static_cast<std::uint32_t>(i % files + 1);
      set_file(parts.entries + i * chunked::entry_bytes, word);
      boxes.emplace(word, all);
    }
  });
  for (const bool in_session : {false, true}) {
    Opens opens(path_);
    if (!opens.watches()) GTEST_SKIP() << "nothing tells here what is opened";
    std::vector<double> found(values.size());
    if (in_session) {
      ds = Dataset::open(Comm(), path_, false, {});
      access(*ds, false, found);
      ds->close();
    } else {
      found = ClassicFile(path_).read_doubles(var, {{0, 0}, {many, width}, {}});
    }
    EXPECT_EQ(found, values);
    const auto opened = opens.so_far();
    for (Count n = 0; n < files; ++n) EXPECT_EQ(opened.at(std::to_string(n)), 1) << n;
  }
  EXPECT_EQ(check_file(path_, {}).status, CheckStatus::good);
}

// If closing a file fails, its last write may be lost. With weak caches it is synced to the server
// before.
TEST_F(ChunkFilesTest, failures_of_closing_are_told_with_the_file) {
  const HintMap weak{{"client_caches", "weak"}};
  for (const auto& [plan, hints, words, name] :
       {std::tuple{"close:call=1", HintMap{}, "closing ", "/index"},
        {"close:call=2", HintMap{}, "closing ", "/0"},
        {"fsync:call=2", weak, "synchronising ", "/index"},  // after that of header.nc
        {"fsync:call=3", weak, "synchronising ", "/0"}}) {
    auto ds = Dataset::open(Comm(), path_, true, hints);
    put(*ds, 0);
    fail(plan);
    std::string message;
    try {
      ds->close();
    } catch (const Error& error) {
      message = error.message();
    }
    EXPECT_NE(message.find(words + path_ + name), std::string::npos) << message;
    fail("none");
    expect_values(0);
  }
}

TEST_F(ChunkFilesTest, failures_of_closing_files_of_decomposed_variables_are_told_too) {
  if (!is_built("layout=decomposed")) GTEST_SKIP() << "it is of a wing";
  fs::remove_all(path_);
  for (const auto& [plan, name] : {std::pair{"close:call=1", "/0"}, {"close:call=2", "/state"}}) {
    auto ds = Dataset::create(Comm(), path_, 5, false,
                              {{"container", "directory"}, {"layout", "decomposed"}});
    const DimId t = ds->def_dim("t", 0), x = ds->def_dim("x", nx);
    const VarId var = ds->def_var("T", Type::float64, std::array{t, x});
    ds->enddef();
    put(*ds, var);
    fail(plan);
    std::string message;
    try {
      ds->close();
    } catch (const Error& error) {
      message = error.message();
    }
    EXPECT_NE(message.find("closing " + path_ + name), std::string::npos) << message;
    fail("none");
    expect_session(path_, var);
  }
}

// Each call that opens a file fails once, also the one that truncates the header.
TEST_F(ChunkFilesTest, a_file_that_cannot_be_replaced_stays_whole) {
  int whole = 0;
  for (int call = 1; call <= 8; ++call) {
    fail(("open:call=" + std::to_string(call)).c_str());
    const auto failed = attempt_to([&] {
      Dataset::create(Comm(), path_, 5, false, {{"container", "directory"}})->abort();
    });
    fail("none");
    if (failed && fs::file_size(path_ + "/header.nc") > 0) {
      ++whole;
      expect_values(0);
      expect_session(path_, 0);
    } else {
      make(path_, {{"container", "directory"}});
    }
  }
  EXPECT_GE(whole, 3);  // data file, index and header
}

TEST_F(ChunkFilesTest, failures_of_reading_are_told_with_the_variable) {
  auto ds = Dataset::open(Comm(), path_, false, {});
  std::vector<double> found(records * nx);
  fail("pread:call=2");  // after the front of the data file
  std::string message;
  try {
    access(*ds, 0, false, found);
  } catch (const Error& error) {
    message = error.message();
  }
  EXPECT_NE(message.find("variable T"), std::string::npos) << message;
  EXPECT_NE(message.find(path_ + "/0"), std::string::npos) << message;
  fail("none");
  EXPECT_EQ(get(*ds, 0), values_of(0));
  ds->close();
}

TEST_F(ChunkFilesTest, what_was_written_since_is_noticed) {
  fs::rename(path_ + "/index", path_ + ".kept");
  const ClassicFile without(path_);
  EXPECT_FALSE(without.changed());
  fs::rename(path_ + ".kept", path_ + "/index");
  EXPECT_TRUE(without.changed());
  const ClassicFile file(path_);
  EXPECT_FALSE(file.changed());
  auto ds = Dataset::open(Comm(), path_, true, {});
  put(*ds, 0);
  ds->close();
  EXPECT_TRUE(file.changed());
}

}  // namespace chunk_files_test
}  // namespace forebay
