#include "groups/process_group/bp_reader.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>
#include <optional>
#include <thread>

#include "base/attempt.h"
#include "base/error.h"
#include "base/joined_file.h"
#include "comm/agree.h"
#include "groups/format/bp_cursor.h"
#include "groups/format/bp_read.h"
#include "groups/operators/operators.h"
#include "groups/process_group/bp_scan.h"
#include "groups/process_group/index_recovery.h"
#include "storage/client_caches.h"

namespace forebay::process_group {

namespace {

// Rows that are at most `bridged` bytes apart are read together with the bytes between them, at
// most `most_gathered` bytes at a time. These are still in a core's own cache when they are copied.
constexpr Count bridged = 32 << 10, most_gathered = 512 << 10;
constexpr Count most_at_once = 4 << 20;
// Bytes of a box. A selection with strides is read box by box.
constexpr Count box_bytes = 8 << 20;
// Bytes of an index entry that are parsed at a time; the head and the first block fit.
constexpr Count entry_window = 1 << 20;
static_assert(entry_window >= bp::longest_first_block);
// Bytes of memory for a block of few dimensions, or for its overlap with a box.
constexpr Count block_memory = 512;
// Seconds between two looks for a further step.
constexpr double shortest_pause = 0.001, longest_pause = 0.2;

bool is_file(const std::string& path) {
  std::error_code none;
  return std::filesystem::is_regular_file(path, none);
}

using bp::may_be_global;

}  // namespace

std::string plain_path(const std::string& path) {
  std::string plain = strip_prefix(path);
  while (plain.size() > 1 && plain.back() == '/') plain.pop_back();
  return plain;
}

bool is_bp(const std::string& path) {
  const std::string plain = plain_path(path);
  return (is_file(plain + "/md.idx") && is_file(plain + "/md.0")) || has_bp_files(plain);
}

namespace {

void refuse_lost_index(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    throw Error(Errc::enoent, path + " is not there", "check the path");
  for (const char* name : {"md.idx", "md.0"})
    if (!is_file(path + "/" + name) && has_bp_files(path))
      throw Error(Errc::ebad_file, path + ": its " + name + " is not there",
                  "`forebay recover` makes it again from what is left");
}

}  // namespace

// The memory is shared by an array, the parts of a box, and single blocks
// (groups/records/stored_process_groups).
BpReader::BpReader(const Comm& comm, const std::string& path, Report& report, Count index_memory)
    : path_(plain_path(path)),
      place_(absolute_path(path_)),
      rank_(comm.rank()),
      report_(report),
      most_blocks_(static_cast<std::size_t>(std::max<Count>(index_memory / 3 / block_memory, 1))) {
  std::vector<std::byte> told;
  by_root(comm, [&] {
    if (is_file(path_ + "/mmd.0"))
      throw Error(Errc::enotsupport, path_ + " is a BP5 file, which is not read",
                  "write it with adios2's engine BP4, or with groups of this library");
    if (is_file(path_)) {
      told = scan_file(path_, rank_, report);
    } else {
      refuse_lost_index(path_);
      scan_ = std::make_unique<DirectoryScan>(path_, rank_, report);
      told = scan_->run();
    }
    std::array<std::int64_t, FileIdentity::count> numbers{};
    File(path_ + (is_file(path_) ? "" : "/md.0"), false, rank_, report).identity().put(numbers);
    const auto bytes = std::as_bytes(std::span(numbers));
    told.insert(told.end(), bytes.begin(), bytes.end());
  });
  comm.broadcast(told);
  agree_on_error(comm, attempt_to([&] {
                   std::array<std::int64_t, FileIdentity::count> numbers;
                   const auto rest = told.size() - sizeof numbers;
                   std::memcpy(numbers.data(), told.data() + rest, sizeof numbers);
                   index_ = receive_index(std::span<const std::byte>(told).first(rest));
                   const char* const index = is_directory() ? "/md.0" : "";
                   metadata_ = std::make_unique<File>(path_ + index, false, rank_, report);
                   metadata_->expect(FileIdentity::from(numbers));
                   metadata_->ensure_open();
                 }));
}

BpReader::~BpReader() = default;

void BpReader::throw_written_anew() const {
  throw Error(Errc::efile, path_ + " was written anew, or its index was, since it was opened",
              "open it again");
}

StepStatus BpReader::find_steps(const Comm& comm, double seconds) {
  if (!is_directory()) return StepStatus::end;
  if (broken_) throw *broken_;
  std::vector<std::byte> told;
  const auto status = static_cast<StepStatus>(told_by_root(comm, [&] {
    if (!(seconds >= 0))
      throw Error(Errc::einval, "steps are waited for " + std::to_string(seconds) + " seconds",
                  "give a number that is not negative");
    const auto begin = std::chrono::steady_clock::now();
    std::chrono::duration<double> pause(shortest_pause);
    const std::string index = metadata_->place_now(), folder = index.substr(0, index.rfind('/'));
    for (;;) {
      // Who has closed the file has written all of it. So what is there is looked for once more.
      const bool goes_on = scan_->is_being_written(folder);
      auto found = scan_->more(folder);
      // A writer that begins anew, or `forebay recover`, leaves the old files without a name.
      if (!metadata_->is_linked() || !scan_->is_current()) throw_written_anew();
      if (found) {
        told = std::move(*found);
        return static_cast<std::int64_t>(StepStatus::ok);
      }
      if (!goes_on) return static_cast<std::int64_t>(StepStatus::end);
      const auto waited = std::chrono::steady_clock::now() - begin;
      const std::chrono::duration<double> left = std::chrono::duration<double>(seconds) - waited;
      if (left.count() <= 0) return static_cast<std::int64_t>(StepStatus::not_ready);
      std::this_thread::sleep_for(std::min(pause, left));
      pause = std::min(2 * pause, std::chrono::duration<double>(longest_pause));
    }
  }));
  if (status != StepStatus::ok) return status;
  comm.broadcast(told);
  // If one rank fails, the ranks' indexes differ from then on.
  broken_ = attempt_to([&] {
    agree_on_error(comm, attempt_to([&] {
                     receive_more(index_, told);
                     if (client_caches_of(data_path(0), false) == ClientCaches::coherent) return;
                     // Others have written to what is open.
                     metadata_->share(ClientCaches::weak);
                     open_.clear();
                   }));
  });
  if (broken_) throw *broken_;
  return status;
}

void BpReader::fail(Errc code, const std::string& about, const std::string& why,
                    const std::string& advice) const {
  throw Error(code, path_ + ": variable " + about + ": " + why, advice);
}

std::size_t BpReader::find(std::string_view name) const {
  return place_of(index_.places, name, path_);
}

EntryPlace BpReader::entry_of(const StoredVariable& variable, std::size_t step) const {
  if (const auto found = variable.steps.find(step)) return *found;
  if (step >= steps())
    throw Error(
        Errc::einvalcoords,
        path_ + ": there is no step " + std::to_string(step) + " among " + std::to_string(steps()),
        "steps count from 0");
  fail(Errc::einvalcoords, variable.variable.name,
       "step " + std::to_string(step) + " does not have it", "it was not written then");
}

std::uint64_t BpReader::unread_steps() const {
  if (!is_directory()) return 0;
  return steps_without_index(path_, steps(), rank_, report_);
}

std::vector<bp::Block> BpReader::blocks(std::size_t v, std::size_t step) const {
  std::vector<bp::Block> all;
  each_block(v, step, [&](bp::Block& block) { all.push_back(std::move(block)); });
  return all;
}

void BpReader::each_block(std::size_t v, std::size_t step, const OnBlock& f) const {
  each_of(v, step, nullptr, f, [](const EntryPlace&) {});
}

void BpReader::each_of(std::size_t v, std::size_t step, const EntryPlace* part, const OnBlock& f,
                       const OnWindow& behind) const {
  const StoredVariable& variable = index_.variables.at(v);
  if (!variable.fault.empty())
    fail(Errc::ebad_file, variable.variable.name, variable.fault,
         "read it with the program that wrote it");
  const EntryPlace whole = entry_of(variable, step);
  const auto take = [&](bp::Block& block) {
    if (!is_directory() && block.step != time(step)) return;
    // The file number is arbitrary: ADIOS 1's method MPI writes the largest one.
    if (index_.container == Container::one_file) block.file = 0;
    if (variable.kind == Kind::global && may_be_global(block.at))
      block.at.shape = block.at.start = block.at.count;
    if (kind_of(block.at) != variable.kind || dimensions_of(block.at) != variable.dimensions)
      throw Error(Errc::ebad_file, "its blocks are of several kinds", "");
    f(block);
  };
  naming(metadata_->path() + ", step " + std::to_string(step) + ", " + variable.variable.name, [&] {
    walk(part ? *part : whole, !part && is_directory(), variable.variable,
         {swapped(), column_major(step), index_.origin.form}, take, behind);
  });
}

// An entry may have 4 GiB. It is parsed window by window, each with as many whole blocks as fit.
void BpReader::walk(const EntryPlace& at, bool has_head, const bp::Variable& variable,
                    bp::Origin origin, const OnBlock& f, const OnWindow& behind) const {
  RawBytes window(static_cast<std::size_t>(std::min(at.bytes, entry_window)));
  bp::Variable told = variable;
  for (Count from = 0; from < at.bytes;) {
    const Count left = at.bytes - from;
    const auto bytes = static_cast<std::size_t>(std::min(std::ssize(window), left));
    const auto here = std::span(window).first(bytes);
    if (metadata_->read_at(at.offset + from, here) < bytes)
      throw Error(Errc::ebad_file, "it has become shorter since it was opened", "");
    std::size_t begin = 0;
    if (from == 0 && has_head) {
      const bp::VariableEntry head(here, origin);
      begin = head.at();
      if (head.variable() != told)
        throw Error(Errc::ebad_file, "it is not what it was when the file was opened",
                    "open it again");
    }
    // The last window has the whole rest, even if that is not whole blocks.
    std::size_t end = bytes;
    if (static_cast<Count>(bytes) < left) {
      Count needed = bp::block_head_bytes;
      for (end = begin; static_cast<Count>(bytes - end) >= bp::block_head_bytes;
           end += static_cast<std::size_t>(needed)) {
        needed = bp::parse_block_bytes(here.subspan(end), origin.swapped);
        if (needed > static_cast<Count>(bytes - end)) break;
      }
      if (end == begin) {
        window.resize(static_cast<std::size_t>(std::min(static_cast<Count>(begin) + needed, left)));
        continue;
      }
    }
    bp::VariableEntry part(std::move(told), here.subspan(begin, end - begin), origin);
    for (bp::Block block; part.next(block);) f(block);
    behind({at.offset + from + static_cast<Offset>(begin), static_cast<Count>(end - begin)});
    told = part.variable();
    from += static_cast<Count>(end);
  }
}

namespace {

void widen(bp::Shape& within, const bp::Shape& by) {
  if (!has_elements(by)) return;
  if (within.count.empty()) within.start = by.start, within.count = by.count;
  for (std::size_t d = 0; d < by.count.size(); ++d) {
    const Count end = std::max(within.start[d] + within.count[d], by.start[d] + by.count[d]);
    within.start[d] = std::min(within.start[d], by.start[d]);
    within.count[d] = end - within.start[d];
  }
}

}  // namespace

const StoredArray& BpReader::array(std::size_t v, std::size_t step) const {
  if (array_of_ == std::pair(v, step)) return array_;
  array_of_ = {-1, -1};
  array_ = {};
  stretches_ = {};
  const StoredVariable& variable = index_.variables.at(v);
  places_in_ = BlockPlaces(variable.kind);
  Stretch stretch;
  const char* fault = nullptr;  // the first one
  const auto take = [&](bp::Block& block) {
    if (fault == nullptr) fault = places_in_.learn(block.at);
    if (fault != nullptr) return;
    bp::Shape at = block.at;
    places_in_.place(at);
    widen(stretch.within, at);
    if (array_.blocks.size() == most_blocks_) {
      array_.has_all = false;
      array_.blocks.resize(1);
      array_.blocks.shrink_to_fit();
    }
    if (array_.has_all) array_.blocks.push_back(std::move(block));
  };
  each_of(v, step, nullptr, take, [&](const EntryPlace& place) {
    stretch.place = place;
    stretches_.push_back(std::exchange(stretch, {}));
    stretch.placed = places_in_.placed();
  });
  if (fault != nullptr)
    fail(variable.kind == Kind::local ? Errc::enotsupport : Errc::ebad_file, variable.variable.name,
         fault, "read it block by block");
  if (array_.blocks.empty())
    fail(Errc::ebad_file, variable.variable.name, "the index has no blocks of it",
         "`forebay recover` makes it again from what is left");
  if (array_.has_all) stretches_ = {};
  array_.shape = places_in_.end();
  places_in_.go_on_at(0);
  for (bp::Block& block : array_.blocks) places_in_.place(block.at);
  array_of_ = {v, step};
  return array_;
}

void BpReader::check_numbers(const StoredVariable& variable) const {
  if (variable.variable.type == bp::Type::string)
    fail(Errc::echar, variable.variable.name, "it is a string", "read it as text");
}

void BpReader::check_readable(const StoredVariable& variable, const bp::Block& block) const {
  if (const std::string why = operators::why_unreadable(block); !why.empty())
    fail(Errc::enotsupport, variable.variable.name, why,
         "write it without an operator, or read it with adios2");
  if ((variable.kind == Kind::scalar || variable.kind == Kind::local_value) && !block.has_value)
    fail(Errc::ebad_file, variable.variable.name, "the index does not have its value", "");
}

// Uses the current path, as the directory may have been renamed.
std::string BpReader::data_path(std::uint32_t file) const {
  const std::string number = std::to_string(file);
  switch (index_.container) {
    case Container::directory: {
      const std::string index = metadata_->place_now();
      return index.substr(0, index.rfind('/')) + "/data." + number;
    }
    case Container::subfiles:
      return place_ + ".dir/" + path_.substr(path_.rfind('/') + 1) + "." + number;
    default:
      return place_;
  }
}

File& BpReader::data(std::uint32_t number) const {
  if (index_.container == Container::one_file) return *metadata_;
  return *open_.get(number, [&] {
    auto file = std::make_unique<File>(data_path(number), false, rank_, report_);
    file->ensure_open();
    // Whoever writes the directory anew removes the old index before it makes data files.
    if (is_directory() && !metadata_->is_linked()) throw_written_anew();
    return file;
  });
}

namespace {

void read_whole(File& file, Offset at, std::span<std::byte> into) {
  if (file.read_at(at, into) < into.size())
    throw_short(file, at + static_cast<Offset>(into.size()));
}

}  // namespace

void BpReader::check_end(std::uint32_t number, Offset end) const {
  File& file = data(number);
  if (file.size() < end) throw_short(file, end);
}

std::span<const std::byte> BpReader::decoded(const StoredVariable& variable,
                                             const bp::Block& block) const {
  const bp::Type type = variable.variable.type;
  return decoded_.get(DecodedBlocks::key_of(type, block), block.bytes, [&] {
    return naming(path_ + ": variable " + variable.variable.name, [&] {
      // Hostile sizes take no memory.
      if (block.bytes / operators::most_ratio(block) > block.stored)
        bp::damaged("a block of too many values");
      check_end(block.file, block.payload + block.stored);
      RawBytes payload(static_cast<std::size_t>(block.stored));
      read_whole(data(block.file), block.payload, payload);
      RawBytes values(static_cast<std::size_t>(block.bytes));
      operators::decode(type, block, payload, values, workspace_);
      if (block.bytes > most_decoded) workspace_ = {};
      return values;
    });
  });
}

// Gathers runs that lie close to each other, and reads them at once.
void BpReader::copy_from(const StoredVariable& variable, const bp::Block& block,
                         const std::vector<Count>& start, const std::vector<Count>& count,
                         std::byte* out, Marks* read) const {
  const Overlap both = overlap_of(block.at, start, count);
  const bp::Type type = variable.variable.type;
  const Count size = bp::size_of(type);
  const bool is_coded = !block.operation.empty();
  const std::span<const std::byte> values =
      is_coded ? decoded(variable, block) : std::span<const std::byte>();
  struct Run {
    Offset from, at;  // in bytes: place in the block, place in `out`
    Count bytes;
    Offset end() const { return from + bytes; }
  };
  std::vector<Run> near;
  RawBytes& buffer = gathered_;
  const auto flush = [&] {
    if (near.empty()) return;
    const Offset first = near.front().from;
    const auto to = [&](const Run& run) {
      return std::span(out + run.at, static_cast<std::size_t>(run.bytes));
    };
    if (near.size() == 1) {
      read_whole(data(block.file), block.payload + first, to(near[0]));
    } else {
      if (buffer.empty()) buffer.resize(static_cast<std::size_t>(most_gathered));
      read_whole(data(block.file), block.payload + first,
                 std::span(buffer).first(static_cast<std::size_t>(near.back().end() - first)));
      for (const Run& run : near)
        std::memcpy(out + run.at, buffer.data() + (run.from - first),
                    static_cast<std::size_t>(run.bytes));
    }
    if (swapped())
      for (const Run& run : near) bp::swap_values(type, to(run));
    near.clear();
  };
  const auto add = [&](Offset from, Offset at, Count elements) {
    const Run run{from * size, at * size, elements * size};
    if (is_coded) {
      std::memcpy(out + run.at, values.data() + run.from, static_cast<std::size_t>(run.bytes));
      return;
    }
    if (!near.empty() &&
        (run.from - near.back().end() > bridged || run.end() - near.front().from > most_gathered))
      flush();
    near.push_back(run);
  };
  Rows rows(block.at.count, count, both.count);
  rows.each(linear(both.in_block, Rows::steps_of(block.at.count)),
            linear(both.in_box, Rows::steps_of(count)), [&](Offset from, Offset at) {
              if (!read) return add(from, at, rows.length());
              read->take(at, rows.length(), [&](Offset first, Count elements) {
                add(from + (first - at), first, elements);
              });
            });
  flush();
}

BpReader::BoxParts BpReader::parts_of(const StoredArray& array, const std::vector<Count>& start,
                                      const std::vector<Count>& count) const {
  BoxParts parts;
  const auto add = [&](const bp::Block& block, auto&& kept) {
    if (parts.too_many || !meets(block.at, start, count)) return;
    Overlap both = overlap_of(block.at, start, count);
    // This block hides all before it. A box of one element has one valid block, however often it
    // was written.
    if (both.count == count) parts = {};
    if (__builtin_add_overflow(parts.sum, product(both.count), &parts.sum))
      parts.sum = std::numeric_limits<Count>::max();
    if (!array.has_all && parts.blocks.size() == most_blocks_) {
      parts = {{}, {}, {}, 0, true};
      return;
    }
    parts.overlaps.push_back(std::move(both));
    parts.blocks.push_back(kept());
  };
  if (array.has_all) {
    for (const bp::Block& block : array.blocks) add(block, [&] { return &block; });
    return parts;
  }
  BlockPlaces places = places_in_;
  const auto take = [&](bp::Block& block) {
    places.place(block.at);
    add(block, [&] { return &parts.own.emplace_back(std::move(block)); });
  };
  for (const Stretch& stretch : stretches_) {
    if (parts.too_many) break;
    if (stretch.within.count.empty() || !meets(stretch.within, start, count)) continue;
    places.go_on_at(stretch.placed);
    each_of(array_of_.first, array_of_.second, &stretch.place, take, [](const EntryPlace&) {});
  }
  return parts;
}

void BpReader::nobody_wrote(const StoredVariable& variable) const {
  fail(Errc::enodata, variable.variable.name, "some of these elements were written by no rank",
       "forebay_inq_block tells where there are values");
}

// The last of overlapping blocks is valid. So blocks are read from the last to the first, and each
// fills the elements that no later one has. No byte is read twice.
void BpReader::read_box(const StoredVariable& variable, const StoredArray& array,
                        const std::vector<Count>& start, const std::vector<Count>& count,
                        std::byte* out, std::span<const std::byte> fill) const {
  const bp::Type type = variable.variable.type;
  const auto size = static_cast<std::size_t>(bp::size_of(type));
  const Count elements = product(count);
  if (elements == 0) return;
  BoxParts its = parts_of(array, start, count);
  if (its.too_many) {
    its = {};
    const auto [first, second] = halves_of(Subarray{start, count, {}});
    read_box(variable, array, first.start, first.count, out, fill);
    return read_box(variable, array, second.start, second.count,
                    out + static_cast<std::size_t>(first.elements()) * size, fill);
  }
  const auto& parts = its.overlaps;
  const auto& from = its.blocks;
  const auto put_fill = [&](Offset first, Count many) {
    if (fill.empty()) nobody_wrote(variable);
    for (Count n = first; n < first + many; ++n)
      std::copy(fill.begin(), fill.end(), out + n * static_cast<Count>(size));
  };
  constexpr std::size_t few = 64;
  const bool apart =
      variable.kind == Kind::local_value || (parts.size() <= few && all_apart(parts));
  std::optional<Marks> read;
  if (its.sum < elements && (apart || fill.empty())) put_fill(0, elements);
  if (!apart) read.emplace(elements);
  for (std::size_t n = from.size(); n-- > 0;) {
    check_readable(variable, *from[n]);
    if (variable.kind == Kind::local_value)
      std::memcpy(out + static_cast<std::size_t>(parts[n].in_box[0]) * size, from[n]->min.data(),
                  size);
    else
      copy_from(variable, *from[n], start, count, out, read ? &*read : nullptr);
  }
  if (read) read->take(0, elements, put_fill);
}

const StoredArray& BpReader::checked(std::size_t v, std::size_t step,
                                     const Subarray& selection) const {
  const StoredVariable& variable = index_.variables.at(v);
  check_numbers(variable);
  const StoredArray& all = array(v, step);
  if (all.shape.empty()) return all;
  const std::size_t n = all.shape.size();
  if (selection.start.size() != n || selection.count.size() != n ||
      (!selection.stride.empty() && selection.stride.size() != n))
    fail(Errc::einval, variable.variable.name, "it has " + std::to_string(n) + " dimensions",
         "give as many numbers");
  if (const auto fault = fault_of(selection, all.shape))
    fail(fault->code, variable.variable.name, fault->what,
         "forebay_inq_shape tells how many there are");
  Count wanted = bp::size_of(variable.variable.type);
  if (!bp::multiply_all(selection.count, wanted))
    fail(Errc::eintoverflow, variable.variable.name, "the selection has more than 2^63 bytes",
         "read it in parts");
  return all;
}

void BpReader::read(std::size_t v, std::size_t step, const Subarray& selection, std::byte* out,
                    std::span<const std::byte> fill) const {
  const StoredVariable& variable = index_.variables.at(v);
  const StoredArray& all = checked(v, step, selection);
  const auto size = static_cast<std::size_t>(bp::size_of(variable.variable.type));
  if (all.shape.empty()) {
    check_readable(variable, all.blocks.at(0));
    std::memcpy(out, all.blocks[0].min.data(), size);
    return;
  }
  const std::size_t n = all.shape.size();
  bool strided = false;
  std::vector<Count> extent(n);  // includes elements that strides skip
  for (std::size_t d = 0; d < n; ++d) {
    const Count stride = selection.stride.empty() ? 1 : selection.stride[d];
    extent[d] = selection.count[d] == 0 ? 0 : (selection.count[d] - 1) * stride + 1;
    strided |= stride > 1 && selection.count[d] > 1;
  }
  if (!strided) return read_box(variable, all, selection.start, selection.count, out, fill);
  Count bytes = static_cast<Count>(size);
  if (!bp::multiply_all(extent, bytes)) bytes = box_bytes + 1;
  if (bytes > box_bytes && selection.elements() > 1) {
    const auto [first, second] = halves_of(selection);
    read(v, step, first, out, fill);
    return read(v, step, second, out + static_cast<std::size_t>(first.elements()) * size, fill);
  }
  RawBytes box(static_cast<std::size_t>(bytes));
  read_box(variable, all, selection.start, extent, box.data(), fill);
  std::vector<Count> steps = Rows::steps_of(extent);
  for (std::size_t d = 0; d < n; ++d) steps[d] *= selection.stride[d];
  std::vector<Count> at(n, 0);
  for (Count i = 0, last = selection.elements(); i < last; ++i) {
    std::memcpy(out + static_cast<std::size_t>(i) * size,
                box.data() + static_cast<std::size_t>(linear(at, steps)) * size, size);
    for (std::size_t d = n; d-- > 0 && ++at[d] == selection.count[d];) at[d] = 0;
  }
}

void BpReader::read_block(std::size_t v, const bp::Block& block, std::byte* out) const {
  if (block.bytes > 0)
    read_part(v, block, 0, std::span(out, static_cast<std::size_t>(block.bytes)));
}

void BpReader::each_part(std::size_t v, const bp::Block& block,
                         const std::function<void(std::span<const std::byte> part)>& f) const {
  RawBytes buffer(static_cast<std::size_t>(std::min(block.bytes, most_at_once)));
  for (Offset at = 0; at < block.bytes; at += most_at_once) {
    const auto part =
        std::span(buffer).first(static_cast<std::size_t>(std::min(block.bytes - at, most_at_once)));
    read_part(v, block, at, part);
    f(part);
  }
}

void BpReader::read_part(std::size_t v, const bp::Block& block, Offset from,
                         std::span<std::byte> out) const {
  const StoredVariable& variable = index_.variables.at(v);
  check_numbers(variable);
  check_readable(variable, block);
  if (block.has_value) {
    std::memcpy(out.data(), block.min.data(), out.size());
    return;
  }
  if (!block.operation.empty()) {
    const auto values = decoded(variable, block);
    std::copy_n(values.begin() + from, out.size(), out.begin());
    return;
  }
  read_whole(data(block.file), block.payload + from, out);
  if (swapped()) bp::swap_values(variable.variable.type, out);
}

std::string BpReader::text(std::size_t v, std::size_t step) const {
  const StoredVariable& variable = index_.variables.at(v);
  if (variable.variable.type != bp::Type::string)
    fail(Errc::echar, variable.variable.name, "it is no string", "read it as numbers");
  if (variable.kind != Kind::scalar)
    fail(Errc::enotsupport, variable.variable.name, "each rank has a string of its own",
         "read it with adios2");
  const bp::Block& block = array(v, step).blocks.at(0);
  check_readable(variable, block);
  return block.text;
}

}  // namespace forebay::process_group
