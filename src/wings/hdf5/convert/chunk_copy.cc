#include "hdf5/convert/chunk_copy.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include "array/blocks.h"
#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "base/fill_elements.h"
#include "base/hash.h"
#include "base/text_table.h"
#include "comm/agree.h"
#include "comm/exchange.h"
#include "comm/message_bytes.h"
#include "hdf5/convert/direct_copy.h"
#include "hdf5/convert/storage.h"
#include "hdf5/shared/driver_table.h"
#include "hdf5/shared/filters.h"
#include "layout/chunked/filter_ids.h"

namespace forebay::tools {
namespace {

constexpr std::size_t datasets_at_once = 256;  // rank 0 has them open
constexpr Count most_chunks_of_block = 1024, most_shared_chunk = 64 << 20;
constexpr Count most_chunks_of_round = 1 << 18;  // of all ranks, which rank 0 holds 40 bytes for
constexpr Count least_cache = 64 << 20, most_cache = 1 << 30;  // for chunks of the input

/// Whether a file's parameters of a filter are those that a program gives.
bool takes_its_own_parameters(H5Z_filter_t filter) {
  return filter < H5Z_FILTER_RESERVED || filter == H5Z_filter_t{chunked::zstd_filter};
}

struct ChunkTarget {
  std::string path;
  Hdf5Id type;
  std::vector<Count> extents, chunk, grid;
  Count width = 1, chunk_bytes = 1;
  Count of_block = 1, blocks = 1;  ///< chunks of a block, one after another
  std::vector<std::byte> fill;     ///< one element; empty for zeros
  std::optional<FilterPipeline> filters;

  static Count volume(const std::vector<Count>& lengths) {
    Count n = 1;
    for (const Count length : lengths) n *= length;
    return n;
  }
  std::vector<Count> first_of(Count id) const {
    std::vector<Count> first(grid.size());
    for (std::size_t d = grid.size(); d-- > 0; id /= grid[d]) first[d] = id % grid[d] * chunk[d];
    return first;
  }
};

/// A chunk for the file.
struct Ready {
  Count dataset, id, bytes;
  std::uint32_t mask;
};

class ChunkCopy {
 public:
  ChunkCopy(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
            const Hdf5CopyOptions& options)
      : comm_(comm), in_(in), view_(view), path_(out), options_(options) {}

  Count run(std::span<const std::string> paths) {
    while (!paths.empty()) {
      const auto some = paths.first(std::min(paths.size(), datasets_at_once));
      copy(some);
      paths = paths.subspan(some.size());
    }
    return all_bytes_;
  }

 private:
  void copy(std::span<const std::string> paths) {
    targets_.clear();
    hashes_.clear();
    done_ = 0;
    agree_on_error(comm_, attempt_to([&] { find(paths); }));
    write();
    if (options_.verify) agree_on_error(comm_, attempt_to([&] { verify(); }));
  }

  void find(std::span<const std::string> paths) {
    const Hdf5Id file = open_hdf5_file(path_);
    for (const std::string& path : paths) try {
        ChunkTarget target;
        target.path = path;
        const Hdf5Id dataset = owned(H5Dopen2(file, path.c_str(), H5P_DEFAULT), "in the output");
        const Hdf5Id in = owned(H5Dopen2(in_, path.c_str(), H5P_DEFAULT), "cannot be opened");
        target.type = owned(H5Tcopy(view_.type(in)), "its type");
        const Hdf5Id creation = owned(H5Dget_create_plist(dataset), "its properties");
        target.extents = extents_of(owned(H5Dget_space(dataset), "its dataspace")).now;
        target.chunk = chunk_shape_of(creation, target.extents.size());
        target.width = target.chunk_bytes = static_cast<Count>(H5Tget_size(target.type));
        for (std::size_t d = 0; d < target.chunk.size(); ++d) {
          target.grid.push_back((target.extents[d] + target.chunk[d] - 1) / target.chunk[d]);
          target.chunk_bytes *= target.chunk[d];
        }
        target.of_block = std::clamp<Count>(
            options_.block_bytes / target.chunk_bytes, 1,
            std::clamp<Count>(most_chunks_of_round / comm_.size(), 1, most_chunks_of_block));
        const Count chunks = ChunkTarget::volume(target.grid);
        target.blocks = (chunks + target.of_block - 1) / target.of_block;
        if (fill_rule_of(creation).value == H5D_FILL_VALUE_USER_DEFINED) {
          target.fill.resize(static_cast<std::size_t>(target.width));
          checked(H5Pget_fill_value(creation, target.type, target.fill.data()), "its fill value");
        }
        if (FilterPipeline::any(creation)) target.filters.emplace(creation, target.type);
        all_bytes_ += ChunkTarget::volume(target.extents) * target.width;
        targets_.push_back(std::move(target));
      } catch (const Error& error) {
        throw error.at(printable(path));
      }
  }

  // Calls f for this rank's blocks of chunks, each in a round of all ranks. Without a block it is
  // called with none.
  template <typename F>
  void each_block(F&& f) {
    Count all = 0;
    for (const ChunkTarget& target : targets_) all += target.blocks;
    std::size_t dataset = 0;
    Count before = 0;  // blocks of the datasets before
    for (Count round = 0; round * comm_.size() < all; ++round) {
      const Count block = round * comm_.size() + comm_.rank();
      while (dataset < targets_.size() && block >= before + targets_[dataset].blocks)
        before += targets_[dataset++].blocks;
      if (dataset == targets_.size()) {
        f(nullptr, 0, 0);
      } else {
        ChunkTarget& target = targets_[dataset];
        const Count first = (block - before) * target.of_block;
        f(&target, first, std::min(target.of_block, ChunkTarget::volume(target.grid) - first));
      }
    }
  }

  // Returns the part of a dataset that a chunk has.
  static Subarray part_of(const ChunkTarget& target, Count id) {
    Subarray part;
    part.start = target.first_of(id);
    for (std::size_t d = 0; d < target.chunk.size(); ++d)
      part.count.push_back(std::min(target.chunk[d], target.extents[d] - part.start[d]));
    return part;
  }

  // Reads a chunk's values. Elements beyond the dataset have the fill value, as HDF5 expects them.
  void read(const ChunkTarget& target, Count id, std::span<std::byte> chunk) {
    const Subarray part = part_of(target, id);
    const bool whole = part.count == target.chunk;
    if (!whole) part_.resize(static_cast<std::size_t>(part.elements() * target.width));
    const std::span<std::byte> values = whole ? chunk : std::span(part_);
    view_.read(from_, target.type, part, values.data());
    if (options_.verify) hashes_.push_back(hash_of(values));
    if (!whole) {
      fill_elements(chunk, target.fill);
      const auto row = static_cast<std::size_t>(part.count.back() * target.width);
      std::vector<Count> rows(part.count.begin(), part.count.end() - 1);
      const std::byte* from = part_.data();
      each_index(rows, [&](const std::vector<Count>& index) {
        const Count at = flat_index(target.chunk, index) * target.chunk.back() * target.width;
        std::copy_n(from, row, chunk.data() + at);
        from += row;
      });
    }
  }

  // -- writing ------------------------------------------------------------------------------------

  void write() {
    Descriptor out;
    by_root(comm_, [&] { open_output(); });
    auto failed = attempt_to([&] {
      out = Descriptor(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
      if (out.get() < 0) throw system_error(errno, Errc::ecantwrite, "write", path_);
    });
    each_block([&](ChunkTarget* target, Count first, Count chunks) {
      if (!failed) failed = attempt_to([&] { encode(target, first, chunks); });
      agree_on_error(comm_, failed);  // of the round before, too
      std::vector<Offset> places;
      failed = ask_for_places(places);
      if (failed || target == nullptr) return;
      failed = attempt_to([&] {
        for (std::size_t i = 0; i < encoded_.size(); ++i)
          write_at(out.get(), places[i], encoded_[i].bytes, path_);
        tell("convert", chunks * target->chunk_bytes);
      });
    });
    if (!failed && ::fsync(out.get()) != 0)
      failed = system_error(errno, Errc::ewrite, "write", path_);
    agree_on_error(comm_, failed);
    by_root(comm_, [&] { close_output(); });
  }

  void encode(ChunkTarget* target, Count first, Count chunks) {
    ready_.clear();
    encoded_.clear();
    if (target == nullptr) return;
    try {
      const auto bytes = static_cast<std::size_t>(target->chunk_bytes);
      if (from_path_ != target->path) {
        from_ = open_with_cache(in_, target->path, least_cache);
        const Hdf5Id creation = owned(H5Dget_create_plist(from_), "its properties");
        Count of_chunk = target->width;  // a chunk of the input may have many of the output
        for (const Count length : chunk_shape_of(creation, target->extents.size()))
          of_chunk = multiply_fits(of_chunk, length, of_chunk) ? of_chunk : 0;
        if (of_chunk > least_cache && of_chunk <= most_cache)
          from_ = open_with_cache(in_, target->path, static_cast<std::size_t>(of_chunk));
        from_path_ = target->path;
      }
      block_.resize(static_cast<std::size_t>(chunks) * bytes);
      for (Count c = 0; c < chunks; ++c)
        read(*target, first + c,
             std::span(block_).subspan(static_cast<std::size_t>(c) * bytes, bytes));
      if (target->filters) {
        encoded_ = target->filters->apply(block_, target->chunk);
      } else {
        for (std::size_t at = 0; at < block_.size(); at += bytes)
          encoded_.push_back({{block_.data() + at, block_.data() + at + bytes}, 0});
      }
      for (Count c = 0; c < chunks; ++c) {
        const auto& one = encoded_[static_cast<std::size_t>(c)];
        ready_.push_back({target - targets_.data(), first + c, std::ssize(one.bytes), one.mask});
      }
    } catch (const Error& error) {
      throw error.at(printable(target->path));
    }
  }

  // Gets the places of ready_. An error of rank 0 is thrown on all ranks; one that this rank alone
  // has is returned.
  std::optional<Error> ask_for_places(std::vector<Offset>& places) {
    std::vector<Message> messages;
    std::vector<std::pair<Rank, std::vector<Ready>>> asked;
    auto failed = attempt_to([&] {
      if (ready_.empty()) return;
      Message& question = messages.emplace_back(Message{0, {}});
      for (const Ready& one : ready_) put(question.bytes, one);
    });
    if (failed) messages.clear();
    auto exchanged = attempt_to([&] {
      sparse_exchange(comm_, messages, [&](Rank from, std::span<const std::byte> bytes) {
        asked.emplace_back(from, all_of<Ready>(bytes));
      });
    });
    if (!failed) failed = std::move(exchanged);
    messages.clear();
    if (!failed)
      failed = attempt_to([&] {
        std::sort(asked.begin(), asked.end(),
                  [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [rank, ready] : asked) {
          Message& answer = messages.emplace_back(Message{rank, {}});
          for (const Ready& one : ready) put(answer.bytes, place_of(one));
        }
      });
    agree_on_error(comm_, failed);
    return attempt_to([&] {
      sparse_exchange(comm_, messages, [&](Rank, std::span<const std::byte> bytes) {
        places = all_of<Offset>(bytes);
      });
      // Rank 0 may have lacked memory to answer, and tells so in the next round.
      if (places.size() != ready_.size())
        throw Error(Errc::enomem, "rank 0 could not tell where chunks go");
    });
  }

  // -- rank 0's HDF5 ------------------------------------------------------------------------------

  void open_output() {
    const Hdf5Id access = new_file_access();
    checked(H5Pset_fapl_sec2(access), "a file driver");
    file_ = owned(H5Fopen(path_.c_str(), H5F_ACC_RDWR, access), printable(path_));
    dummy_.resize(1 << 20);
    held_back_.emplace(driver_table(access), dummy_.data());
    opened_.clear();
    opened_.resize(targets_.size());
  }

  Offset place_of(const Ready& one) {
    const ChunkTarget& target = targets_[static_cast<std::size_t>(one.dataset)];
    Hdf5Id& dataset = opened_[static_cast<std::size_t>(one.dataset)];
    if (!dataset.valid())
      dataset = owned(H5Dopen2(file_, target.path.c_str(), H5P_DEFAULT), printable(target.path));
    if (std::ssize(dummy_) < one.bytes) {
      dummy_.resize(static_cast<std::size_t>(one.bytes));
      held_back_->hold(dummy_.data());
    }
    const std::vector<Count> first = target.first_of(one.id);
    const std::vector<hsize_t> offset(first.begin(), first.end());
    checked(H5Dwrite_chunk(dataset, H5P_DEFAULT, one.mask, offset.data(),
                           static_cast<std::size_t>(one.bytes), dummy_.data()),
            "placing a chunk of " + printable(target.path));
    const Offset place = held_back_->take_place();
    if (place < 0) throw Error(Errc::einternal, "HDF5 wrote a chunk past its driver");
    return place;
  }

  void close_output() {
    opened_.clear();
    held_back_.reset();
    checked(H5Fflush(file_, H5F_SCOPE_LOCAL), printable(path_));
    if (H5Fclose(file_.release()) < 0) throw_hdf5(printable(path_));
  }

  // -- verification -------------------------------------------------------------------------------

  void verify() {
    const Hdf5Id file = open_hdf5_file(path_);
    const Hdf5View plain;
    auto hash = hashes_.begin();
    done_ = 0;
    std::vector<std::byte> chunk;
    each_block([&](ChunkTarget* target, Count first, Count chunks) {
      if (target == nullptr) return;
      const Hdf5Id dataset =
          owned(H5Dopen2(file, target->path.c_str(), H5P_DEFAULT), printable(target->path));
      for (Count c = 0; c < chunks; ++c) {
        const Subarray part = part_of(*target, first + c);
        chunk.resize(static_cast<std::size_t>(part.elements() * target->width));
        plain.read(dataset, target->type, part, chunk.data());
        if (hash_of(chunk) != *hash++)
          throw Error(
              Errc::eio,
              "verification: " + printable(target->path) + " has other values in the output",
              "the output was removed; try another disk");
      }
      tell("verify", chunks * target->chunk_bytes);
    });
  }

  void tell(const char* step, Count bytes) {
    done_ += bytes;
    if (options_.progress)
      options_.progress(step, std::min(done_ * comm_.size(), all_bytes_), all_bytes_);
  }

  const Comm& comm_;
  hid_t in_;
  const Hdf5View& view_;
  const std::string& path_;
  const Hdf5CopyOptions& options_;
  std::vector<ChunkTarget> targets_;
  Count all_bytes_ = 0, done_ = 0;
  std::vector<std::uint64_t> hashes_;  // of this rank's chunks, in order
  Hdf5Id from_;                        // the dataset that this rank copies, at from_path_
  std::string from_path_;
  std::vector<std::byte> block_, part_;
  // Of this rank's block: what it asks rank 0, and the chunks.
  std::vector<Ready> ready_;
  std::vector<FilterPipeline::Filtered> encoded_;
  // Of rank 0.
  Hdf5Id file_;
  std::vector<Hdf5Id> opened_;
  std::vector<std::byte> dummy_;  // what HDF5 "writes"
  std::optional<HeldBackWrite> held_back_;
};

}  // namespace

bool fits_chunk_copy(hid_t creation, const Extents& extents, Count width) {
  if (!is_worth_sharing(extents, width) || H5Pget_layout(creation) != H5D_CHUNKED) return false;
  unsigned options = 0;
  checked(H5Pget_chunk_opts(creation, &options), "its chunks");
  if (options != 0) return false;  // chunks at the edges without filters
  Count bytes = width;
  for (const Count length : chunk_shape_of(creation, extents.now.size()))
    if (!multiply_fits(bytes, length, bytes) || bytes > most_shared_chunk) return false;
  const int filters = H5Pget_nfilters(creation);
  for (unsigned i = 0; i < static_cast<unsigned>(std::max(filters, 0)); ++i) {
    unsigned flags = 0, info = 0;
    std::size_t values = 0;
    const H5Z_filter_t filter =
        H5Pget_filter2(creation, i, &flags, &values, nullptr, 0, nullptr, &info);
    if (!takes_its_own_parameters(filter)) return false;
  }
  return true;
}

Count copy_chunks(const Comm& comm, hid_t in, const Hdf5View& view, const std::string& out,
                  const std::vector<std::string>& paths, const Hdf5CopyOptions& options) {
  return ChunkCopy(comm, in, view, out, options).run(paths);
}

}  // namespace forebay::tools
