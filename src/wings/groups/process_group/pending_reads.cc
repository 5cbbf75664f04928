#include "groups/process_group/pending_reads.h"

#include <algorithm>
#include <array>
#include <bit>
#include <iterator>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "base/attempt.h"
#include "base/small_list.h"
#include "base/splitmix64.h"
#include "comm/agree.h"
#include "groups/format/bp_read.h"
#include "groups/process_group/visible.h"
#include "layout/ordered_stream.h"

namespace forebay::process_group {

namespace {

// Data files below this number are in a list on all ranks. Others are read by each rank alone.
constexpr std::uint32_t most_joined = 1 << 20;
// The largest hole that a rank reads as well if it reads alone.
constexpr Count hole = 64 << 10;

// Adds a loop. If it continues the loop outside it without a gap, both become one.
void add_loop(BlockRows& rows, BlockRows::Loop loop) {
  if (!rows.loops.empty()) {
    const BlockRows::Loop& outer = rows.loops.back();
    if (outer.file_step == loop.count * loop.file_step &&
        outer.memory_step == loop.count * loop.memory_step) {
      loop.count *= outer.count;
      rows.loops.pop_back();
    }
  }
  rows.loops.push_back(loop);
}

BlockRows rows_of(const bp::Block& block, const Overlap& part, const std::vector<Count>& box,
                  Count size, std::byte* out) {
  const std::vector<Count> in_block = Rows::steps_of(block.at.count), in_box = Rows::steps_of(box);
  const Rows shape(block.at.count, box, part.count);
  BlockRows rows;
  rows.file = block.file;
  rows.at = block.payload + linear(part.in_block, in_block) * size;
  rows.memory = out + linear(part.in_box, in_box) * size;
  rows.row = shape.length() * size;
  for (std::size_t d = 0; d < shape.outer(); ++d)
    if (part.count[d] > 1) add_loop(rows, {part.count[d], in_block[d] * size, in_box[d] * size});
  return rows;
}

class RowsCursor {
 public:
  RowsCursor(const BlockRows& rows, Offset begin)
      : rows_(&rows), begin_(begin), offset_(begin + rows.at), memory_(rows.memory) {
    for (std::size_t l = 0; l < rows.loops.size(); ++l) done_.push_back(0);
  }
  StreamSummary summary() const {
    const Count rows = rows_->rows();
    return {begin_ + rows_->at, begin_ + rows_->end(), rows * rows_->row, rows};
  }
  std::size_t next(std::span<Extent> out) {
    std::size_t n = 0;
    while (n < out.size() && !at_end_) {
      out[n++] = {offset_, rows_->row, memory_, 0, 1};
      advance(1);
    }
    return n;
  }
  std::size_t next_rows(std::span<ExtentRow> out) {
    std::size_t n = 0;
    while (n < out.size() && !at_end_) {
      ExtentRow row{{offset_, rows_->row, memory_, 0, 1}};
      if (!rows_->loops.empty()) {
        const BlockRows::Loop& loop = rows_->loops.back();
        row.count = loop.count - done_[rows_->loops.size() - 1];
        row.stride = loop.file_step;
        row.apart = loop.memory_step - rows_->row;
      }
      out[n++] = row;
      advance(row.count);
    }
    return n;
  }

 private:
  // Advances by `rounds` rounds of the innermost loop, which has as many left.
  void advance(Count rounds) {
    for (std::size_t l = rows_->loops.size(); l-- > 0; rounds = 1) {
      const BlockRows::Loop& loop = rows_->loops[l];
      offset_ += rounds * loop.file_step;
      memory_ += rounds * loop.memory_step;
      if ((done_[l] += rounds) < loop.count) return;
      offset_ -= loop.count * loop.file_step;
      memory_ -= loop.count * loop.memory_step;
      done_[l] = 0;
    }
    at_end_ = true;
  }

  const BlockRows* rows_;
  Offset begin_, offset_;
  std::byte* memory_;
  SmallList<Count, 4> done_;
  bool at_end_ = false;
};

class RowsStream final : public OrderedStream<RowsCursor> {
 public:
  RowsStream(const std::vector<BlockRows>& rows, const JoinedFile& joined)
      : OrderedStream(false), rows_(rows), joined_(joined) {
    order(rows.size());
  }
  std::unique_ptr<ExtentStream> clone() const override {
    return std::make_unique<RowsStream>(rows_, joined_);
  }

 private:
  RowsCursor cursor(std::uint32_t number) const override {
    const BlockRows& one = rows_[number];
    return {one, joined_.begin_of(one.file)};
  }

  const std::vector<BlockRows>& rows_;
  const JoinedFile& joined_;
};

// Sampled pages of the file, by which ranks find out how much they read in common: at most as many
// as there are marks. They are chosen at random, so that no regular distance of blocks misses them.
class Points {
 public:
  static constexpr Count page = 4096, wanted = 1 << 12;

  /// Returns the number of pages that begin in a range. mark() samples them.
  static std::int64_t in(Offset begin, Offset end) { return first(end) - first(begin); }

  /// `pages`: the number of pages that all ranks will mark, with repetitions.
  explicit Points(std::int64_t pages) {
    while (static_cast<std::uint64_t>(pages) / share_ > wanted) share_ *= 2;
  }
  void mark(Offset begin, Offset end) {
    for (Offset at = first(begin), last = first(end); at < last; ++at) {
      const std::uint64_t hash = splitmix64(static_cast<std::uint64_t>(at));
      if (hash % share_ != 0) continue;
      const std::uint64_t bit = hash / share_ % (marks_.size() * 64);
      marks_[bit / 64] |= static_cast<std::int64_t>(std::uint64_t{1} << bit % 64);
      ++hits_;
    }
  }
  /// Collective. Returns whether hits are more than 1.5 times the distinct pages, or whether there
  /// are none, which shows nothing.
  bool are_shared(const Comm& comm) {
    const std::int64_t hits = comm.all_reduce(hits_, Reduce::sum);
    comm.all_reduce(marks_, Reduce::bit_or);
    std::int64_t different = 0;
    for (const std::int64_t word : marks_)
      different += std::popcount(static_cast<std::uint64_t>(word));
    return hits == 0 || 2 * hits > 3 * different;
  }

 private:
  static Offset first(Offset begin) { return begin / page + (begin % page != 0); }

  std::uint64_t share_ = 1;
  std::int64_t hits_ = 0;
  std::array<std::int64_t, 1024> marks_{};
};

// Returns the rows of a block that a rank reads if it reads alone, with bridged holes.
BlockRows with_bridges(BlockRows rows) {
  for (; !rows.loops.empty(); rows.loops.pop_back()) {
    const BlockRows::Loop& inner = rows.loops.back();
    if (inner.file_step - rows.row > hole) break;
    rows.row += (inner.count - 1) * inner.file_step;
  }
  return rows;
}

// Calls f(begin, end) for each run that a rank would read at once if it reads alone. Holes between
// blocks are bridged, too.
template <typename F>
void each_run(const std::vector<BlockRows>& rows, const JoinedFile& joined, F&& f) {
  std::vector<BlockRows> runs;
  runs.reserve(rows.size());
  std::ranges::transform(rows, std::back_inserter(runs), with_bridges);
  RowsStream stream(runs, joined);
  Offset begin = 0, end = 0;
  for (Extent e{}; stream.next({&e, 1}) == 1; end = std::max(end, e.end())) {
    if (e.offset - end <= hole) continue;
    f(begin, end);
    begin = end = e.offset;
  }
  f(begin, end);
}

// Returns the end of the needed bytes of each file.
std::vector<std::int64_t> ends_of(const std::vector<BlockRows>& rows, std::int64_t files) {
  std::vector<std::int64_t> ends(static_cast<std::size_t>(files));
  for (const BlockRows& one : rows) ends[one.file] = std::max(ends[one.file], one.end());
  return ends;
}

// Returns the pages of this rank's reads, before the files of all ranks are joined.
std::int64_t pages_of(const std::vector<BlockRows>& rows, std::int64_t files) {
  JoinedFile own({}, {});
  own.set_sizes(ends_of(rows, files));
  std::int64_t pages = 0;
  each_run(rows, own, [&](Offset begin, Offset end) { pages += Points::in(begin, end); });
  return pages;
}

// Collective. Returns whether ranks would read the same bytes. `pages` are those of all ranks.
Sharing sharing_of(const Comm& comm, const std::vector<BlockRows>& rows, const JoinedFile& joined,
                   Count all_bytes, std::int64_t pages) {
  if (comm.size() == 1) return Sharing::unknown;
  if (all_bytes < 16 * Points::page) return Sharing::alike;  // too little to decide
  Points points(pages);
  each_run(rows, joined, [&](Offset begin, Offset end) { points.mark(begin, end); });
  return points.are_shared(comm) ? Sharing::alike : Sharing::apart;
}

}  // namespace

Count BlockRows::rows() const {
  return std::accumulate(loops.begin(), loops.end(), Count{1},
                         [](Count n, const Loop& loop) { return n * loop.count; });
}

Offset BlockRows::end() const {
  return std::accumulate(loops.begin(), loops.end(), at + row, [](Offset end, const Loop& loop) {
    return end + (loop.count - 1) * loop.file_step;
  });
}

PendingReads::PendingReads(const BpReader& file)
    : file_(file),
      joined_(std::make_shared<JoinedFile>(
          file.path() + "/data",
          [&file](std::uint32_t number) -> ByteFile& { return file.data(number); })) {}

void PendingReads::add(std::size_t v, std::size_t step, const Subarray& box, std::byte* out) {
  const StoredArray& array = file_.checked(v, step, box);
  const StoredVariable& variable = file_.variables()[v];
  // Values of these are in the index.
  if (array.shape.empty() || variable.kind == Kind::local_value)
    return file_.read(v, step, box, out);
  const Count elements = box.elements();
  if (elements == 0) return;
  const auto parts = file_.parts_of(array, box.start, box.count);
  if (parts.too_many) {
    alone_.push_back({v, step, box, out, {}});
    return;
  }
  if (parts.sum < elements) file_.nobody_wrote(variable);
  bool alone = false;
  for (const bp::Block* block : parts.blocks) {
    file_.check_readable(variable, *block);
    alone |= block->file >= most_joined || !block->operation.empty();
  }
  const Visible seen = visible_parts(parts.overlaps, box.count, parts.sum);
  if (seen.elements < elements) file_.nobody_wrote(variable);
  if (alone || seen.too_many) {
    const bp::Block& first = *parts.blocks.front();
    alone_.push_back({v, step, box, out, {first.file, first.payload}});
    return;
  }
  const Count size = bp::size_of(variable.variable.type);
  Noted noted{variable.variable.type, out, elements * size, {}};
  noted.rows.reserve(seen.parts.size());
  for (const VisiblePart& one : seen.parts)
    noted.rows.push_back(rows_of(*parts.blocks[one.of], one.part, box.count, size, out));
  noted_.push_back(std::move(noted));
}

// One rank for each data file checks that the file is as long as any rank needs.
void PendingReads::join(const Comm& comm, const std::vector<BlockRows>& rows, std::int64_t files) {
  std::vector<std::int64_t> ends = ends_of(rows, files);
  comm.all_reduce(ends, Reduce::max);
  agree_on_error(comm, attempt_to([&] {
                   for (std::int64_t n = comm.rank(); n < files; n += comm.size())
                     if (const Offset end = ends[static_cast<std::size_t>(n)]; end > 0)
                       file_.check_end(static_cast<std::uint32_t>(n), end);
                   joined_->set_sizes(ends);
                 }));
}

void PendingReads::perform(const Comm& comm, ExtentIo& io) {
  together(comm, [&] {
    std::vector<Noted> noted = std::exchange(noted_, {});
    std::vector<Alone> alone = std::exchange(alone_, {});
    // Boxes in one block follow one another, so that it is decoded once.
    std::ranges::stable_sort(
        alone, {}, [](const Alone& one) { return std::tuple(one.variable, one.step, one.first); });
    std::vector<BlockRows> rows;
    std::array<std::int64_t, 3> all{};
    auto& [files, bytes, pages] = all;
    for (Noted& one : noted) {
      std::move(one.rows.begin(), one.rows.end(), std::back_inserter(rows));
      bytes += one.bytes;
    }
    for (const BlockRows& one : rows) files = std::max<std::int64_t>(files, one.file + 1);
    if (comm.size() > 1) pages = pages_of(rows, files);
    comm.max_and_sum(all, 1);
    if (bytes > 0) {
      join(comm, rows, files);
      io.expect_sharing(sharing_of(comm, rows, *joined_, bytes, pages));
      RowsStream stream(rows, *joined_);
      io.read_all(stream);
    }
    if (file_.swapped())
      for (const Noted& one : noted)
        bp::swap_values(one.type, std::span(one.out, static_cast<std::size_t>(one.bytes)));
    for (const Alone& one : alone) file_.read(one.variable, one.step, one.box, one.out);
  });
}

}  // namespace forebay::process_group
