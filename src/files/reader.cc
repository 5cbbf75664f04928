#include "files/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <limits>

#include "array/convert.h"
#include "base/attempt.h"
#include "base/descriptor.h"
#include "base/error.h"
#include "format/chunk_schema.h"
#include "format/classic.h"

namespace forebay {
// How a selection lies in the file: `outer` dimensions to step through, and rows of `row_count`
// elements that are `row_step` bytes apart.
struct SerialReader::Walk {
  std::vector<Count> step;     // bytes from one selected index to the next, per dimension
  Offset first = 0, last = 0;  // first byte selected, one past the last; last is huge on overflow
  int outer = 0;
  Count row_count = 1;
  Offset row_step = 0;
  Type external = Type::none, type = Type::none;  // in the file and in memory

  bool contiguous() const { return row_step == size_of(external); }
};

namespace {

constexpr Count buffer_bytes = 4 << 20;
constexpr Count sieve_bytes = 4096;  // elements nearer than this to each other are read together
constexpr Count direct_bytes = 256 << 10;  // still in a core's cache when its bytes are swapped
constexpr Count thread_bytes = 4 << 20;    // less than this is not worth a thread

// What threads take by turns of a read, so that one that has to share its processor holds up
// nobody. The edges are those of large pages of the memory that is filled: each is touched first by
// one thread, which the system gives it cleared; and the system copies faster to aligned addresses,
// which those of large arrays are not by themselves.
class Pieces {
 public:
  Pieces(const void* memory, Count elements, Count width)
      : each_(piece_bytes / width), elements_(elements) {
    const auto past = static_cast<Count>(reinterpret_cast<std::uintptr_t>(memory) % piece_bytes);
    lead_ = (piece_bytes - past) % piece_bytes / width;
  }
  std::size_t size() const {
    const Count behind = std::max<Count>(0, elements_ - lead_);
    return static_cast<std::size_t>((lead_ > 0 ? 1 : 0) + (behind + each_ - 1) / each_);
  }
  /// The first element of piece i; of size(): one past the last element.
  Count edge(std::size_t i) const {
    if (i == 0) return 0;
    const Count whole = static_cast<Count>(i) - (lead_ > 0 ? 1 : 0);
    return std::min(elements_, lead_ + whole * each_);
  }

 private:
  static constexpr Count piece_bytes = 2 << 20;
  Count each_, elements_, lead_ = 0;
};

// first and last byte of the selection; false if a byte position leaves 63 bits.
bool find_bounds(const std::vector<Count>& unit, const Subarray& selection, Offset& first,
                 Offset& last) {
  for (std::size_t d = 0; d < unit.size(); ++d) {
    const Count stride = selection.stride.empty() ? 1 : selection.stride[d];
    const Count final_index = selection.start[d] + (selection.count[d] - 1) * stride;
    Offset low = 0, high = 0;
    if (!multiply_fits(selection.start[d], unit[d], low) || !add_fits(first, low, first) ||
        !multiply_fits(final_index, unit[d], high) || !add_fits(last, high, last)) {
      return false;
    }
  }
  return true;
}

}  // namespace

SerialReader::Walk SerialReader::plan_walk(const Variable& var, Count recsize,
                                           const Subarray& selection) {
  const Count width = size_of(var.type);
  const auto n = static_cast<std::size_t>(var.ndims());
  Walk walk{std::vector<Count>(n), var.begin, var.begin + width, var.ndims(), 1, width};
  Count inner = width;
  for (std::size_t d = n; d-- > 0;) {
    walk.step[d] = d == 0 && var.is_record ? recsize : inner;
    inner *= std::max<Count>(var.shape[d], 1);
  }
  if (!find_bounds(walk.step, selection, walk.first, walk.last)) {
    walk.last = std::numeric_limits<Offset>::max();
    return walk;
  }
  for (std::size_t d = 0; d < n; ++d) {
    if (!selection.stride.empty() && selection.count[d] > 1) walk.step[d] *= selection.stride[d];
  }
  const auto last = [&] { return static_cast<std::size_t>(walk.outer - 1); };
  while (walk.outer > 0 && walk.step[last()] == walk.row_count * width) {
    walk.row_count *= selection.count[last()];
    --walk.outer;
  }
  if (walk.row_count == 1 && walk.outer > 0) {
    walk.row_count = selection.count[last()];
    walk.row_step = walk.step[last()];
    --walk.outer;
  }
  return walk;
}

Count data_bytes(const Variable& var) { return var.inner_elements * size_of(var.type); }

Offset end_of(const Schema& schema, const Variable& var) {
  if (var.chunking) return var.begin + size_of(var.type);
  if (!var.is_record) return var.begin + data_bytes(var);
  if (schema.numrecs == 0) return var.begin;
  return var.begin + (schema.numrecs - 1) * schema.recsize + data_bytes(var);
}

namespace {

/// A descriptor of a regular file that is open for reading, and what the system says of it.
int open_regular(const std::string& path, struct stat& status) {
  // A pipe without a writer must not hold us up: it is refused below.
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw system_error(errno, Errc::efile, "open", path);
  try {
    if (::fstat(fd, &status) != 0) throw system_error(errno, Errc::efile, "inspect", path);
    if (!S_ISREG(status.st_mode)) {
      throw Error(Errc::enotnc, path + ": no regular file", "give the path of a netCDF file");
    }
  } catch (...) {
    ::close(fd);
    throw;
  }
  return fd;
}

void read_all(int fd, const std::string& path, Offset offset, std::span<std::byte> out) {
  if (read_at(fd, offset, out, path) != out.size())
    throw Error(Errc::etrunc, path + ": the file became shorter while it was read");
}

/// The header as it is stored; errors begin with the path.
Schema read_stored(int fd, const std::string& path, Offset file_size) {
  std::vector<std::byte> bytes;
  for (Offset wanted = std::min(classic::first_read_bytes, file_size);;
       wanted = std::min(2 * wanted, file_size)) {
    const std::size_t have = bytes.size();
    bytes.resize(static_cast<std::size_t>(wanted));
    read_all(fd, path, static_cast<Offset>(have), std::span(bytes).subspan(have));
    const auto kind = classic::detect(bytes);
    if (kind == 3) {
      throw Error(Errc::enotnc3, path + ": this is an HDF5 file, as netCDF-4 writes them",
                  "convert it with: nccopy -k cdf5 IN OUT");
    }
    if (!kind) {
      throw Error(Errc::enotnc, path + ": this is no netCDF file",
                  file_size == 0 ? "it is empty" : "it does not begin with CDF");
    }
    try {
      if (auto schema = classic::parse(bytes, file_size)) return std::move(*schema);
    } catch (const Error& error) {
      throw Error(error.code(), path + ": " + error.message(), error.advice());
    }
    if (wanted == file_size) throw Error(Errc::enotnc, path + ": the file ends in its header");
  }
}

}  // namespace

bool has_chunked_variables(const std::string& path) {
  int fd = -1;
  bool chunked = false;
  const auto unreadable = attempt_to([&] {
    struct stat status {};
    fd = open_regular(path, status);
    std::byte magic[4];
    if (status.st_size < 4) return;
    read_all(fd, path, 0, magic);
    const auto version = static_cast<int>(magic[3]);
    if (std::memcmp(magic, "CDF", 3) != 0 || (version != 1 && version != 2 && version != 5)) return;
    chunked = chunked::has_anchors(read_stored(fd, path, status.st_size));
  });
  if (fd >= 0) ::close(fd);
  return chunked && !unreadable;
}

SerialReader::Stamp SerialReader::stamp_of(const struct stat& status) {
  return {static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(status.st_ino),
          status.st_size, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
}

SerialReader::SerialReader(const std::string& path, chunked::OpenState state) : path_(path) {
  struct stat status {};
  fd_ = open_regular(path, status);
  stamp_ = stamp_of(status);
  file_size_ = status.st_size;
  try {
    read_header(state);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

SerialReader::~SerialReader() { ::close(fd_); }

bool SerialReader::changed() const {
  struct stat status {};
  if (::fstat(fd_, &status) == 0 && stamp_of(status) != stamp_) return true;
  return ::stat(path_.c_str(), &status) == 0 && stamp_of(status) != stamp_;
}

void SerialReader::read_header(chunked::OpenState state) {
  schema_ = read_stored(fd_, path_, file_size_);
  if (!chunked::has_anchors(schema_)) return;
  try {
    Offset root = 0;
    schema_ = chunked::from_stored(schema_, root);
    read_chunk_index(root, state);
  } catch (const Error& error) {
    throw Error(error.code(), path_ + ": " + error.message(), error.advice());
  }
}

void SerialReader::read_chunk_index(Offset root, chunked::OpenState state) {
  const ReadInto read = [this](Offset offset, std::span<std::byte> out) {
    read_bytes(offset, out);
  };
  auto index = load_chunk_index(read, root, file_size_, schema_, state);
  chunks_ = std::make_unique<ChunkReader>(schema_, std::move(index), file_size_, read);
}

void SerialReader::read_bytes(Offset offset, std::span<std::byte> out) const {
  read_all(fd_, path_, offset, out);
}

Count SerialReader::zero_beyond_end() {
  zero_beyond_end_ = true;
  Offset end = file_size_;
  for (const Variable& var : schema_.vars) end = std::max(end, end_of(schema_, var));
  return end - file_size_;
}

void SerialReader::read_data(Offset offset, std::span<std::byte> out) const {
  const Count there = std::clamp<Count>(file_size_ - offset, 0, std::ssize(out));
  read_bytes(offset, out.first(static_cast<std::size_t>(there)));
  std::fill(out.begin() + there, out.end(), std::byte{0});
}

std::vector<Count> SerialReader::shape(VarId var) const {
  const Variable& variable = schema_.vars[static_cast<std::size_t>(var)];
  std::vector<Count> lengths = variable.shape;
  if (variable.is_record) lengths[0] = schema_.numrecs;
  return lengths;
}

void SerialReader::check(VarId id, const Subarray& selection, Type type) const {
  if (id < 0 || static_cast<std::size_t>(id) >= schema_.vars.size()) {
    throw Error(Errc::enotvar, path_ + ": there is no variable " + std::to_string(id));
  }
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  const std::size_t n = var.dimids.size();
  if (selection.start.size() != n || selection.count.size() != n ||
      (!selection.stride.empty() && selection.stride.size() != n)) {
    throw Error(Errc::einval,
                path_ + ": variable " + var.name + " has " + std::to_string(n) + " dimensions",
                "give start and count for each");
  }
  try {
    check_selection(var, schema_.numrecs, selection.start.data(), selection.count.data(),
                    selection.stride.empty() ? nullptr : selection.stride.data(), true);
  } catch (const Error& error) {
    throw Error(error.code(), path_ + ": " + error.message(), error.advice());
  }
  if (!convertible(var.type, type)) {
    throw Error(Errc::echar, path_ + ": variable " + var.name + " is of type " + name_of(var.type) +
                                 ", which does not convert to " + name_of(type));
  }
}

bool SerialReader::read(VarId id, const Subarray& selection, Type type, void* out,
                        int threads) const {
  check(id, selection, type);
  const auto& count = selection.count;
  if (std::find(count.begin(), count.end(), 0) != count.end()) return false;
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  if (!var.chunking) return read_plain(var, selection, type, out, threads);
  try {
    return chunks_->read(id, selection, type, out, threads);
  } catch (const Error& error) {
    throw Error(error.code(), path_ + ": " + error.message(), error.advice());
  }
}

bool SerialReader::read_plain(const Variable& var, const Subarray& selection, Type type, void* out,
                              int threads) const {
  Walk walk = plan_walk(var, schema_.recsize, selection);
  if (walk.last > file_size_ && !zero_beyond_end_) {
    throw Error(Errc::etrunc,
                path_ + ": the file ends at byte " + std::to_string(file_size_) +
                    ", before the end of what is asked of variable " + var.name,
                "it was cut short, or this part was never written");
  }
  walk.external = external_for(var.type, type, schema_.version);
  walk.type = type;
  const Count elements = selection.elements();
  const Pieces pieces(out, elements, size_of(type));
  const Count most = std::min<Count>(threads, elements * size_of(type) / thread_bytes);
  chunked::TaskTeam team(static_cast<int>(std::clamp<Count>(most, 1, 1024)));
  if (pieces.size() == 1) {
    chunked::TaskSlot slot;
    return read_piece(walk, selection, 0, elements, slot, static_cast<std::byte*>(out));
  }
  std::atomic<bool> out_of_range = false;
  team.run(pieces.size(), [&](std::size_t i, chunked::TaskSlot& slot) {
    const Count from = pieces.edge(i), to = pieces.edge(i + 1);
    auto* const target = static_cast<std::byte*>(out) + from * size_of(type);
    if (read_piece(walk, selection, from, to - from, slot, target)) out_of_range = true;
  });
  return out_of_range;
}

// Elements `first` and the `count` - 1 that follow it in row-major order.
bool SerialReader::read_piece(const Walk& walk, const Subarray& selection, Count first, Count count,
                              chunked::TaskSlot& slot, std::byte* out) const {
  Count skip = first % walk.row_count;
  first /= walk.row_count;
  std::vector<Count> index(static_cast<std::size_t>(walk.outer), 0);
  Offset row = walk.first;
  for (std::size_t d = index.size(); d-- > 0; first /= selection.count[d]) {
    index[d] = first % selection.count[d];
    row += index[d] * walk.step[d];
  }
  bool out_of_range = false;
  while (count > 0) {
    const Count now = std::min(count, walk.row_count - skip);
    out_of_range |= read_row(walk, row + skip * walk.row_step, now, slot, out);
    out += now * size_of(walk.type);
    count -= now;
    skip = 0;
    for (std::size_t d = index.size(); d-- > 0;) {
      row += walk.step[d];
      if (++index[d] < selection.count[d]) break;
      row -= walk.step[d] * selection.count[d];
      index[d] = 0;
    }
  }
  return out_of_range;
}

// `count` elements of a row; the first one is at `row`.
bool SerialReader::read_row(const Walk& walk, Offset row, Count count, chunked::TaskSlot& slot,
                            std::byte* out) const {
  const Count width = size_of(walk.external), native = size_of(walk.type);
  const bool apart = !walk.contiguous();
  const bool direct = !apart && is_plain_copy(walk.external, walk.type);
  const Count bytes = direct ? direct_bytes : buffer_bytes;
  const Count limit = walk.row_step <= sieve_bytes ? std::max<Count>(1, bytes / walk.row_step) : 1;
  bool out_of_range = false;
  for (Count done = 0; done < count;) {
    const Count now = std::min(limit, count - done);
    std::byte* from = out + done * native;
    if (direct) {
      read_data(row + done * width, {from, static_cast<std::size_t>(now * width)});
    } else {
      const auto buffer = slot.chunk((now - 1) * walk.row_step + width);
      read_data(row + done * walk.row_step,
                buffer.first(static_cast<std::size_t>((now - 1) * walk.row_step + width)));
      from = buffer.data();
    }
    for (Count i = 1; apart && i < now; ++i) {
      std::memmove(from + i * width, from + i * walk.row_step, static_cast<std::size_t>(width));
    }
    out_of_range |=
        from_external(walk.external, from, walk.type, out + done * native, now, nullptr);
    done += now;
  }
  return out_of_range;
}

std::vector<double> SerialReader::read_doubles(VarId var, const Subarray& selection) const {
  std::vector<double> values(static_cast<std::size_t>(selection.elements()));
  read(var, selection, Type::float64, values.data());
  return values;
}

}  // namespace forebay
