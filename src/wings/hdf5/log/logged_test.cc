// Compares the log layout with an array in memory: random writes, cuts and reads, with flushes and
// reopening.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <random>

#include "base/attempt.h"
#include "base/error.h"
#include "base/memory_file_testing.h"
#include "hdf5/log/index_writer.h"
#include "hdf5/log/log_reader.h"
#include "hdf5/log/log_writer.h"

namespace forebay::logged {
namespace logged_test {

class AppendingSpace : public BlockSpace {
 public:
  explicit AppendingSpace(MemoryDisk& disk) : disk_(disk) {}
  Offset allot(Use, Count bytes) override {
    const Offset place = std::ssize(disk_.bytes) + 100;
    disk_.bytes.resize(static_cast<std::size_t>(place + bytes));
    return place;
  }

 private:
  MemoryDisk& disk_;
};

/// An array that is cut and grows. Elements that were deleted or never written are -1.
struct Model {
  std::vector<Count> extents;
  std::map<std::vector<Count>, std::int32_t> values;

  std::int32_t at(const std::vector<Count>& index) const {
    const auto found = values.find(index);
    return found == values.end() ? -1 : found->second;
  }
  void cut() {
    std::erase_if(values, [&](const auto& item) {
      for (std::size_t d = 0; d < extents.size(); ++d)
        if (item.first[d] >= extents[d]) return true;
      return false;
    });
  }
};

class LoggedFileTest {
 public:
  explicit LoggedFileTest(std::uint64_t seed, Count buffer_limit = 1 << 20)
      : rng_(seed), buffer_limit_(buffer_limit) {
    open();
    for (int i = 0; i < 3; ++i) {
      Model model;
      for (int d = 0; d <= i; ++d) model.extents.push_back(1 + draw(12));
      models_.push_back(model);
    }
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE("step " + std::to_string(step));
      switch (draw(10)) {
        case 0:
          change_extents(draw(3));
          break;
        case 1:
          flush();
          break;
        case 2:
          reopen(draw(2) == 0);
          break;
        case 3:
        case 4:
        case 5:
          read(draw(3));
          break;
        default:
          write(draw(3));
          break;
      }
    }
    reopen(true);
    for (int i = 0; i < 3; ++i) read(i);
  }

  MemoryDisk& disk() { return *disk_; }
  LogReader& reader() { return *reader_; }

  void write(Count which) {
    Model& model = models_[static_cast<std::size_t>(which)];
    const auto [placed, indices] = selection(model.extents);
    std::vector<std::int32_t> values;
    for (const auto& index : indices) {
      values.push_back(next_++);
      model.values[index] = values.back();
    }
    writer_->write(id(which), placed, std::as_bytes(std::span(values)), false);
    writer_->make_room();
  }

  void read(Count which) {
    const Model& model = models_[static_cast<std::size_t>(which)];
    const auto [placed, indices] = selection(model.extents);
    std::vector<std::int32_t> values(indices.size(), -1), expected;
    for (const auto& index : indices) expected.push_back(model.at(index));
    reader_->read(shape(which), placed, std::as_writable_bytes(std::span(values)), &*writer_);
    ASSERT_EQ(values, expected);
  }

  void flush() {
    if (const auto block = writer_->flush()) {
      reader_->add_block(*block);
      blocks_.push_back(*block);
    }
  }

  void reopen(bool with_index) {
    flush();
    if (with_index && reader_->directory().blocks < blocks_.size())
      index_ = write_index(comm_, *file_, space_, *reader_, report_).place;
    open();
  }

  /// Gives the index the version of those without pages.
  void make_index_old() {
    disk_->bytes[static_cast<std::size_t>(index_->place) + 5] = std::byte{1};
    open();
  }

 private:
  Count draw(Count n) { return static_cast<Count>(rng_() % static_cast<std::uint64_t>(n)); }
  static std::uint64_t id(Count which) { return 7000 + 3 * static_cast<std::uint64_t>(which); }
  DatasetShape shape(Count which) {
    return {id(which), static_cast<std::uint32_t>(which + 1), 4,
            std::as_bytes(std::span(&fill_, 1)), nullptr};
  }

  void change_extents(Count which) {
    Model& model = models_[static_cast<std::size_t>(which)];
    bool shrinks = false;
    for (Count& extent : model.extents) {
      const Count next = 1 + draw(12);
      shrinks |= next < extent;
      extent = next;
    }
    if (shrinks) writer_->cut(id(which), model.extents);
    model.cut();
  }

  /// Draws random elements of an array. Returns also their indices, in order.
  std::pair<Placed, std::vector<std::vector<Count>>> selection(const std::vector<Count>& extents) {
    std::vector<std::vector<Count>> indices;
    Placed placed;
    if (draw(2) == 0) {
      std::vector<Steps> steps;
      for (const Count extent : extents) {
        Steps s{draw(extent), 1, 1 + draw(2)};
        s.count = 1 + draw((extent - 1 - s.start) / s.stride + 1);
        steps.push_back(s);
      }
      placed = box_pattern(extents, steps);
    } else {
      Count total = 1;
      for (const Count extent : extents) total *= extent;
      std::vector<Run> runs;
      for (Offset at = draw(total); at < total; at += 1 + draw(5)) {
        const Count length = 1 + draw(std::min<Count>(3, total - at));
        runs.push_back({at, length});
        at += length;
      }
      placed = runs_pattern(extents, runs);
    }
    std::vector<Steps> all;
    for (const Count extent : extents) all.push_back({0, extent, 1});
    // Finds their places, in the order in which the whole array has them.
    const Placed whole = box_pattern(extents, all);
    std::map<Count, std::vector<Count>> sorted;
    intersect(placed.pattern, placed.base, whole.pattern, whole.base, [&](const SharedList& list) {
      for (const Shared& s : list.pieces)
        for (Count i = 0; i < s.count; ++i) {
          std::vector<Count> index(extents.size());
          Count flat = s.b + list.b + i;
          for (std::size_t d = extents.size(); d-- > 0; flat /= extents[d])
            index[d] = flat % extents[d];
          sorted[s.a + list.a + i] = index;
        }
    });
    for (auto& [n, index] : sorted) indices.push_back(index);
    return {placed, indices};
  }

  void open() {
    file_ = std::make_unique<MemoryFile>("log", disk_);
    reader_ = std::make_unique<LogReader>(*file_, nullptr, 1 << 20, report_);
    if (index_) reader_->set_index(index_->place, index_->bytes);
    for (const auto& block : blocks_) reader_->add_block(block);
    WriterOptions options;
    options.buffer_limit = buffer_limit_;
    options.first_epoch = reader_->last_epoch() + 1;
    writer_.emplace(
        comm_, *file_, space_, std::nullopt, options,
        [] { return std::make_unique<MemoryFile>("pending", std::make_shared<MemoryDisk>()); },
        nullptr, report_);
  }

  std::mt19937_64 rng_;
  Count buffer_limit_;
  Comm comm_;
  Report report_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  AppendingSpace space_{*disk_};
  std::unique_ptr<MemoryFile> file_;
  std::unique_ptr<LogReader> reader_;
  std::optional<LogWriter> writer_;
  std::vector<MetadataBlock> blocks_;
  std::optional<MetadataBlock> index_;
  std::vector<Model> models_;
  std::int32_t fill_ = -1, next_ = 0;
};

class CountingFile : public MemoryFile {
 public:
  using MemoryFile::MemoryFile;
  std::size_t read_at(Offset offset, std::span<std::byte> into) override {
    ++reads;
    return MemoryFile::read_at(offset, into);
  }
  std::int64_t least_latency(bool) const override { return latency; }
  int reads = 0;
  std::int64_t latency = 1000;
};

/// One array of `elements` integers, written in small pieces, and flushed.
class SmallPieces {
 public:
  explicit SmallPieces(Count elements, std::uint64_t first_epoch = 1) : extents_{elements} {
    WriterOptions options;
    options.first_epoch = first_epoch;
    writer_.emplace(comm_, file_, space_, std::nullopt, options, nullptr, nullptr, report_);
  }
  void write(Offset first, Count count, std::int32_t value) {
    const std::vector<std::int32_t> values(static_cast<std::size_t>(count), value);
    const Steps steps{first, count, 1};
    writer_->write(7, box_pattern(extents_, std::span(&steps, 1)), std::as_bytes(std::span(values)),
                   false);
  }
  void write(std::span<const Run> runs, Count count, std::int32_t value) {
    const std::vector<std::int32_t> values(static_cast<std::size_t>(count), value);
    writer_->write(7, runs_pattern(extents_, runs), std::as_bytes(std::span(values)), false);
  }
  void flush() { reader_.add_block(*writer_->flush()); }
  std::vector<std::int32_t> read(Offset first, Count count) {
    std::vector<std::int32_t> values(static_cast<std::size_t>(count), -1);
    const Steps steps{first, count, 1};
    reader_.read({7, 1, 4, {}, nullptr}, box_pattern(extents_, std::span(&steps, 1)),
                 std::as_writable_bytes(std::span(values)), nullptr);
    return values;
  }
  MemoryDisk& disk() { return *disk_; }
  int reads() const { return file_.reads; }
  void set_latency(std::int64_t ns) { file_.latency = ns; }

 private:
  std::vector<Count> extents_;
  Comm comm_;
  Report report_;
  std::shared_ptr<MemoryDisk> disk_ = std::make_shared<MemoryDisk>();
  AppendingSpace space_{*disk_};
  CountingFile file_{"log", disk_};
  LogReader reader_{file_, nullptr, 1 << 20, report_};
  std::optional<LogWriter> writer_;
};

// The index has an epoch in 32 bits. A higher one would be taken for an early one.
TEST(LoggedLayout, after_the_highest_epoch_nothing_is_written) {
  EXPECT_EQ(epoch_after(largest_epoch - 1), largest_epoch);
  EXPECT_THROW(epoch_after(largest_epoch), Error);
  EXPECT_THROW(epoch_after(UINT64_MAX), Error);
  SmallPieces last(10, largest_epoch);
  last.write(0, 10, 1);
  const auto before = last.disk().bytes;
  EXPECT_THROW(last.flush(), Error);
  EXPECT_EQ(last.disk().bytes, before);
}

TEST(LoggedLayout, small_pieces_that_lie_together_are_read_at_once) {
  constexpr Count pieces = 400, elements = 50;
  SmallPieces log(pieces * elements);
  // Written in another order than in the array; then some pieces are partly overwritten.
  for (Count i = 0; i < pieces; ++i) {
    const Count piece = i * 7 % pieces;
    log.write(piece * elements, elements, static_cast<std::int32_t>(piece));
  }
  for (Count piece = 0; piece < pieces; piece += 3) log.write(piece * elements + 20, 10, -2);
  log.flush();
  log.read(0, 1);  // loads the metadata
  const int before = log.reads();
  const auto all = log.read(0, pieces * elements);
  EXPECT_LE(log.reads() - before, 2);
  for (Count at = 0; at < pieces * elements; ++at) {
    const Count piece = at / elements, in_piece = at % elements;
    const bool anew = piece % 3 == 0 && in_piece >= 20 && in_piece < 30;
    ASSERT_EQ(all[static_cast<std::size_t>(at)], anew ? -2 : piece) << at;
  }
  // The first and last pieces are read in part.
  const auto some = log.read(elements + 45, 3 * elements);
  EXPECT_EQ(some.front(), 1);
  EXPECT_EQ(some[5], 2);
  EXPECT_EQ(some[5 + elements + 20], -2);
  EXPECT_EQ(some.back(), 4);
}

/// Writes pieces of 24,000 bytes, 2.9 MB in all, in another order than in the array. Returns the
/// calls that read the whole.
int calls_for_larger_pieces(std::int64_t latency) {
  constexpr Count pieces = 120, elements = 6000;
  SmallPieces log(pieces * elements);
  log.set_latency(latency);
  for (Count i = 0; i < pieces; ++i)
    log.write(i * 11 % pieces * elements, elements, static_cast<std::int32_t>(i * 11 % pieces));
  log.flush();
  log.read(0, 1);
  const int before = log.reads();
  const auto all = log.read(0, pieces * elements);
  for (Count at = 0; at < pieces * elements; ++at)
    EXPECT_EQ(all[static_cast<std::size_t>(at)], at / elements) << at;
  return log.reads() - before;
}

TEST(LoggedLayout, more_small_pieces_than_are_read_at_once) {
  const int calls = calls_for_larger_pieces(1'000'000);
  EXPECT_GE(calls, 5);
  EXPECT_LE(calls, 12);
}

TEST(LoggedLayout, where_calls_are_quick_larger_pieces_are_read_to_their_places) {
  EXPECT_EQ(calls_for_larger_pieces(1000), 120);
}

TEST(LoggedLayout, damage_among_pieces_that_are_read_at_once_is_an_error) {
  for (const bool cut : {false, true}) {
    SmallPieces log(1000);
    for (Count i = 0; i < 20; ++i) log.write(i * 50, 50, 0x01020304);
    log.flush();
    log.read(0, 1);
    auto& bytes = log.disk().bytes;
    const std::byte last[] = {std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}};
    const auto value = std::find_end(bytes.begin(), bytes.end(), std::begin(last), std::end(last));
    if (cut) {
      bytes.erase(value, bytes.end());
    } else {
      *value ^= std::byte{1};
    }
    try {
      log.read(0, 1000);
      ADD_FAILURE() << "read what is damaged";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), cut ? Errc::etrunc : Errc::ebadlog) << error.what();
    }
  }
}

// Pieces are read directly by single calls, or together.
TEST(LoggedLayout, damage_among_pieces_of_one_write_is_an_error) {
  for (const std::int64_t latency : {1000, 1'000'000})
    for (const bool damaged : {false, true}) {
      constexpr Count elements = 5000, all = 6 * elements;
      SmallPieces log(all);
      log.set_latency(latency);
      const std::array<forebay::Run, 3> runs{
          {{0, elements}, {2 * elements, elements}, {4 * elements, 10}}};
      log.write(runs, 2 * elements + 10, 0x01020304);
      log.flush();
      log.read(elements, 1);
      auto& bytes = log.disk().bytes;
      const std::byte value[] = {std::byte{4}, std::byte{3}, std::byte{2}, std::byte{1}};
      const auto at = std::search(bytes.begin(), bytes.end(), std::begin(value), std::end(value));
      if (damaged) at[4 * elements + 8] ^= std::byte{1};
      const auto failed = attempt_to([&] { log.read(0, all); });
      EXPECT_EQ(failed.has_value(), damaged) << latency;
      if (failed) EXPECT_EQ(failed->code(), Errc::ebadlog) << failed->what();
    }
}

TEST(LoggedLayout, reads_what_was_written_last) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LoggedFileTest(seed).run(150);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(LoggedLayout, what_exceeds_the_buffer_waits_in_a_temporary_file) {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    LoggedFileTest(seed, 200).run(150);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(LoggedLayout, an_index_without_pages_is_passed_over) {
  LoggedFileTest test(11);
  for (int i = 0; i < 60; ++i) test.write(i % 3);
  test.reopen(true);
  EXPECT_EQ(test.reader().directory().blocks, 1U);
  test.make_index_old();
  EXPECT_EQ(test.reader().directory().blocks, 0U);
  for (int i = 0; i < 30; ++i) test.read(i % 3);
  test.reopen(true);
  EXPECT_EQ(test.reader().directory().blocks, 1U);
  for (int i = 0; i < 30; ++i) test.read(i % 3);
}

TEST(PendingData, what_was_lent_can_be_kept) {
  PendingData data(100, nullptr);
  std::vector<std::byte> own(10, std::byte{1}), lent(20, std::byte{2}), read(40);
  data.add(own);
  EXPECT_EQ(data.lend(lent), 10);
  data.add(own);
  EXPECT_EQ(data.address_of(15), lent.data() + 5);
  data.keep_lent();
  lent.assign(20, std::byte{3});
  data.read(0, read);
  std::vector<std::byte> right(40, std::byte{1});
  std::fill_n(right.begin() + 10, 20, std::byte{2});
  EXPECT_EQ(read, right);
  EXPECT_NE(data.address_of(15), lent.data() + 5);
}

TEST(PendingData, what_is_lost_is_not_read) {
  PendingData data(100, nullptr);
  std::vector<std::byte> lent(10, std::byte{1}), read(5);
  data.lend(lent);
  data.lose();
  for (const auto& use : std::vector<std::function<void()>>{
           [&] { data.read(0, read); }, [&] { data.address_of(0); }, [&] { data.save(); }}) {
    try {
      use();
      ADD_FAILURE() << "used what may have changed";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::enomem);
    }
  }
}

TEST(PendingData, what_is_moved_to_the_file_is_found_there) {
  const auto disk = std::make_shared<MemoryDisk>();
  PendingData data(100, [&] { return std::make_unique<MemoryFile>("pending", disk); });
  std::vector<std::byte> own(10, std::byte{1}), lent(20, std::byte{2}), read(30);
  data.add(own);
  data.lend(lent);
  data.move_to_file();
  lent.assign(20, std::byte{3});
  EXPECT_EQ(data.address_of(15), nullptr);
  data.read(0, read);
  std::vector<std::byte> right(30, std::byte{2});
  std::fill_n(right.begin(), 10, std::byte{1});
  EXPECT_EQ(read, right);
}

TEST(LoggedLayout, damage_is_an_error_or_leaves_the_values_of_others_right) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    LoggedFileTest test(5);
    for (int i = 0; i < 20; ++i) test.write(2);
    test.reopen(seed % 2 == 0);
    std::mt19937_64 rng(seed);
    auto& bytes = test.disk().bytes;
    bytes[rng() % bytes.size()] ^= static_cast<std::byte>(1 << (rng() % 8));
    try {
      test.reader().find(7006, 3, {{0, 0, 0}, {12, 12, 12}, 0, 1728, {12, 12}});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), Errc::ebadlog) << error.what();
    }
  }
}

}  // namespace logged_test
}  // namespace forebay::logged
