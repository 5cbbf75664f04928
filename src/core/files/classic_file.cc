#include "files/classic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <string_view>
#include <utility>

#include "array/convert.h"
#include "base/attempt.h"
#include "base/error.h"
#include "base/processors.h"
#include "base/words.h"
#include "format/anchor.h"
#include "format/chunk_schema.h"
#include "format/classic_header.h"
#include "layout/canonical/canonical.h"
#include "layout/chunked/files_beside.h"
#include "layout/chunked/region_files.h"
#include "layout/classic_part.h"
#include "method/method.h"
#include "storage/directory.h"
#include "transport/direct_io.h"

namespace forebay {
namespace {

constexpr Count thread_bytes = 4 << 20;  // fewer are not worth a thread
constexpr Count hole_threshold = 4096;   // elements that are closer are read together

// Cuts a read into pieces that threads take in turn, so that a thread with a busy processor delays
// nobody. Pieces end at boundaries of large pages of the destination. So each page is first touched
// by one thread, and the system clears it for that thread. Copies to aligned addresses are also
// faster, and large arrays are not aligned by themselves.
class Pieces {
 public:
  Pieces(const void* memory, Count elements, Type external, Type type)
      : each_(piece_bytes / std::max(size_of(type), size_of(external))), elements_(elements) {
    const auto past = static_cast<Count>(reinterpret_cast<std::uintptr_t>(memory) % piece_bytes);
    lead_ = (piece_bytes - past) % piece_bytes / size_of(type) % each_;
  }
  std::size_t size() const {
    const Count behind = std::max<Count>(0, elements_ - lead_);
    return static_cast<std::size_t>((lead_ > 0 ? 1 : 0) + (behind + each_ - 1) / each_);
  }
  /// Returns the first element of piece i; for size(), one past the last element.
  Count edge(std::size_t i) const {
    if (i == 0) return 0;
    const Count whole = static_cast<Count>(i) - (lead_ > 0 ? 1 : 0);
    return std::min(elements_, lead_ + whole * each_);
  }

 private:
  static constexpr Count piece_bytes = 2 << 20;
  Count each_, elements_, lead_ = 0;
};

}  // namespace

Offset end_of(const Schema& schema, const Variable& var) {
  if (is_apart(var)) return var.begin + size_of(var.type);
  if (!var.is_record) return var.begin + var.inner_bytes();
  if (schema.numrecs == 0) return var.begin;
  return var.begin + (schema.numrecs - 1) * schema.recsize + var.inner_bytes();
}

// Only the last record can be incomplete, since a new record is always the last one. Files with
// chunks or maps are written by Forebay, and have their full size.
bool ends_within_values(const Schema& schema, Offset size) {
  const bool is_ours = std::any_of(schema.vars.begin(), schema.vars.end(), is_apart);
  for (const Variable& var : schema.vars) {
    if (is_apart(var) || (var.is_record && schema.numrecs == 0)) continue;
    const Offset end = end_of(schema, var);
    const bool all_but_last =
        !var.is_record || size >= schema.begin_rec + (schema.numrecs - 1) * schema.recsize;
    if (end > size && (is_ours || size > end - var.inner_bytes() || !all_but_last)) return true;
  }
  return false;
}

namespace {

/// Opens a regular file for reading. `status` receives what the system knows of it.
Descriptor open_regular(const std::string& path, struct stat& status) {
  // O_NONBLOCK: a pipe without a writer must not block. It is refused below.
  Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) throw system_error(errno, Errc::efile, "open", path);
  if (::fstat(file.get(), &status) != 0) throw system_error(errno, Errc::efile, "inspect", path);
  if (!S_ISREG(status.st_mode))
    throw Error(Errc::enotnc, path + ": no regular file", "give the path of a netCDF file");
  return file;
}

void read_all(const Descriptor& file, const std::string& path, Offset offset,
              std::span<std::byte> out) {
  if (read_at(file.get(), offset, out, path) != out.size())
    throw Error(Errc::etrunc, path + ": the file became shorter while it was read");
}

/// Reads the header as it is stored. Errors begin with the path.
Schema read_stored(const Descriptor& file, const std::string& path, Offset file_size) {
  const classic::ReadUpTo read = [&](std::vector<std::byte>& bytes, Offset wanted) {
    const std::size_t have = bytes.size();
    bytes.resize(static_cast<std::size_t>(std::min(wanted, file_size)));
    read_all(file, path, static_cast<Offset>(have), std::span(bytes).subspan(have));
    const auto kind = classic::detect(bytes);
    if (kind == 3) {
      throw Error(Errc::enotnc3, path + ": this is an HDF5 file, as netCDF-4 writes them",
                  "convert it with: nccopy -k cdf5 IN OUT");
    }
    if (!kind) {
      throw Error(Errc::enotnc, path + ": this is no netCDF file",
                  file_size == 0 ? "it is empty" : "it does not begin with CDF");
    }
    return file_size;
  };
  return classic::read_header(path, read);
}

/// Returns the items for `key` in "key=value;key=value".
std::string said_of(std::string_view key, std::string_view hints) {
  std::string said;
  for (const std::string_view item : items_of(hints, ';'))
    if (const auto hint = key_and_value(item); hint && hint->first == key)
      said.append(item).append(";");
  return said;
}

// Reads only this key, by which users choose the synced state. Other keys may be meant for
// programs, or make no sense, and must not make the file unreadable.
store::OpenState wanted_state(const std::string& path) {
  MethodSources sources = read_method_sources();
  sources.report.clear();
  for (std::string* hints : {&sources.forebay_hints, &sources.pnetcdf_hints})
    *hints = said_of("chunk_state", *hints);
  auto state = store::OpenState::newest;
  const auto look = [&] {
    if (choose_method(path, {}, sources).chunk_state == ChunkState::synced)
      state = store::OpenState::synced;
  };
  if (attempt_to(look)) {
    sources.config_name.clear();
    attempt_to(look);
  }
  return state;
}

/// Calls f(layout) for each layout with variables in a header. `stored` may change meanwhile.
template <typename F>
void each_layout_in(const Schema& stored, F&& f) {
  // The layout that keeps its index in the file itself is early in the order, and has the last word
  // on the number of records.
  const auto& all = parts(PartKind::layout);
  for (auto part = all.rbegin(); part != all.rend(); ++part) {
    const auto& layout = static_cast<const LayoutEntry&>(**part);
    if (layout.in_classic.is_in != nullptr && layout.in_classic.is_in(stored)) f(layout);
  }
}

}  // namespace

bool shows_anchors(const std::string& path) {
  bool shows = false;
  const auto unreadable = attempt_to([&] {
    struct stat status {};
    const Descriptor file = open_regular(directory::to_open(path), status);
    const Schema stored = read_stored(file, path, status.st_size);
    each_layout_in(stored, [&](const LayoutEntry&) { shows = true; });
    const anchors::UnknownAnchors unknown(stored);
    for (const Variable& var : stored.vars) shows = shows || unknown.mark_of(var) != nullptr;
  });
  return shows && !unreadable;
}

std::vector<NeededFile> files_of_region(const std::string& path, const std::string& variable,
                                        const Subarray& region, Report& report) {
  const std::string file = directory::to_open(path);
  struct stat status {};
  const Descriptor opened = open_regular(file, status);
  const Schema stored = read_stored(opened, file, status.st_size);
  const auto var = stored.find_var(variable);
  if (!var) throw Error(Errc::enotvar, file + " has no variable " + variable);
  std::vector<NeededFile> files{{file, std::nullopt}};
  Offset root = 0;
  const bool has_chunks =
      chunked::has_anchors(stored) &&
      chunked::from_stored(stored, root).vars[static_cast<std::size_t>(*var)].chunking.has_value();
  if (!has_chunks) {
    Schema one = stored;
    one.vars.assign(1, stored.vars[static_cast<std::size_t>(*var)]);
    each_layout_in(stored, [&](const LayoutEntry& layout) {
      if (std::string_view(layout.name) != "chunked" && layout.in_classic.is_in(one))
        throw Error(Errc::enotsupport, file + ": " + variable + " has the layout " + layout.name +
                                           ", which keeps no boxes of data files");
    });
  }
  if (!has_chunks || !chunked::files_of(stored)) return files;
  files.push_back({chunked::index_path(file), std::nullopt});
  naming(file, [&] {
    for (auto& its : chunked::region_files(file, stored, *var, region, wanted_state(path), report))
      files.push_back({data_files::data_path(file, its.number), std::move(its.box)});
  });
  return files;
}

ClassicFile::ClassicFile(const std::string& path) : ClassicFile(path, wanted_state(path)) {}

ClassicFile::ClassicFile(const std::string& path, store::OpenState state)
    : path_(directory::to_open(path)) {
  struct stat status {};
  file_ = open_regular(path_, status);
  stamp_ = FileStamp::of(status);
  file_size_ = status.st_size;
  schema_ = read_stored(file_, path_, file_size_);
  const Count in_header = schema_.numrecs;
  naming(path_, [&] { open_readers(state); });
  added_records_ = -schema_.numrecs;
  if (std::all_of(readers_.begin(), readers_.end(), [](auto& r) { return r->is_newest(); }))
    keep_added_records(schema_, in_header, file_size_);
  added_records_ += schema_.numrecs;
  zero_beyond_end_ = !ends_within_values(schema_, file_size_);
}

void ClassicFile::open_readers(store::OpenState state) {
  each_layout_in(schema_, [&](const LayoutEntry& layout) {
    if (layout.in_classic.open_reader == nullptr) {
      // Its own are those that would be in a header with this variable alone.
      Schema one = schema_;
      for (std::size_t v = 0; v < schema_.vars.size(); ++v) {
        one.vars.assign(1, schema_.vars[v]);
        if (!layout.in_classic.is_in(one)) continue;
        Error why(Errc::enotbuilt,
                  "variable " + one.vars[0].name + " has the layout " + layout.name +
                      ", which only programs read",
                  "copy it with a program to a file with another layout");
        refused_.emplace(static_cast<VarId>(v), std::move(why));
      }
      return;
    }
    const ReadInto read = [this](Offset at, std::span<std::byte> out) { read_raw(at, out); };
    const VariableReader& reader = *readers_.emplace_back(
        layout.in_classic.open_reader({path_, file_size_, read, schema_, state}));
    if (reader.chunks() != nullptr) chunks_ = reader.chunks();
    if (reader.slabs() != nullptr) maps_ = reader.slabs();
  });
  const anchors::UnknownAnchors unknown(schema_);
  for (std::size_t v = 0; v < schema_.vars.size(); ++v)
    if (auto why = unknown.refusal(schema_.vars[v]))
      refused_.emplace(static_cast<VarId>(v), std::move(*why));
}

const Error* ClassicFile::refused(VarId var) const {
  const auto found = refused_.find(var);
  return found == refused_.end() ? nullptr : &found->second;
}

bool ClassicFile::changed() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) == 0 && FileStamp::of(status) != stamp_) return true;
  for (const auto& reader : readers_)
    if (reader->changed()) return true;
  return ::stat(path_.c_str(), &status) == 0 && FileStamp::of(status) != stamp_;
}

void ClassicFile::read_raw(Offset offset, std::span<std::byte> out) const {
  read_all(file_, path_, offset, out);
}

Count ClassicFile::zero_beyond_end() {
  zero_beyond_end_ = true;
  Offset end = file_size_;
  for (const Variable& var : schema_.vars) end = std::max(end, end_of(schema_, var));
  return end - file_size_;
}

std::vector<Count> ClassicFile::shape(VarId var, int level) const {
  const Variable& variable = schema_.vars[static_cast<std::size_t>(var)];
  std::vector<Count> lengths = level == 0 ? variable.shape : at_level(variable, level).shape;
  if (variable.is_record) lengths[0] = schema_.numrecs;
  return lengths;
}

void ClassicFile::check(VarId id, const Subarray& selection, Type type, int level) const {
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
  if (level < 0 || level > levels(id)) {
    const std::string last = std::to_string(levels(id));
    throw Error(Errc::einval,
                path_ + ": variable " + var.name + " has no level " + std::to_string(level),
                levels(id) == 0 ? "only variables in patches have coarser levels (layout=patches)"
                                : "its levels are 0, which is all of it, to " + last);
  }
  naming(path_, [&] {
    check_selection(level == 0 ? var : at_level(var, level), schema_.numrecs,
                    selection.start.data(), selection.count.data(),
                    selection.stride.empty() ? nullptr : selection.stride.data(), true);
  });
  if (!convertible(var.type, type)) {
    throw Error(Errc::echar, path_ + ": variable " + var.name + " is of type " + name_of(var.type) +
                                 ", which does not convert to " + name_of(type));
  }
}

bool ClassicFile::read(VarId id, const Subarray& selection, Type type, void* out, int threads,
                       int level) const {
  check(id, selection, type, level);
  const auto& count = selection.count;
  if (std::find(count.begin(), count.end(), 0) != count.end()) return false;
  if (const Error* why = refused(id)) throw why->at(path_);
  const VariableReader* const reader = reader_of(schema_.vars[static_cast<std::size_t>(id)]);
  if (reader == nullptr) return read_plain(id, selection, type, out, threads);
  return naming(path_, [&] { return reader->read(id, selection, type, out, threads, level); });
}

const VariableReader* ClassicFile::reader_of(const Variable& var) const {
  for (const auto& reader : readers_)
    if (reader->keeps(var)) return reader.get();
  return nullptr;
}

bool ClassicFile::is_plain(VarId id) const {
  return reader_of(schema_.vars[static_cast<std::size_t>(id)]) == nullptr;
}

int ClassicFile::levels(VarId id) const {
  const VariableReader* const reader = reader_of(schema_.vars[static_cast<std::size_t>(id)]);
  return reader == nullptr ? 0 : reader->levels(id);
}

std::vector<LevelErrors> ClassicFile::level_errors(VarId id) const {
  if (levels(id) == 0) return std::vector<LevelErrors>(1);
  return naming(path_, [&] { return chunks_->level_errors(id); });
}

bool ClassicFile::read_plain(VarId id, const Subarray& selection, Type type, void* out,
                             int threads) const {
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  const Type external = external_for(var.type, type, schema_.version);
  RequestCursor all(selection, var, schema_.recsize);
  if (all.summary().last > file_size_ && !zero_beyond_end_) {
    throw Error(Errc::etrunc,
                path_ + ": the file ends at byte " + std::to_string(file_size_) +
                    ", before the end of what is asked of variable " + var.name,
                "it was cut short, or this part was never written");
  }
  const ReadInto read = [this](Offset offset, std::span<std::byte> into) {
    const Count there = std::clamp<Count>(file_size_ - offset, 0, std::ssize(into));
    read_raw(offset, into.first(static_cast<std::size_t>(there)));
    std::fill(into.begin() + there, into.end(), std::byte{0});
  };
  const Count width = size_of(external), elements = selection.elements();
  const Pieces pieces(out, elements, external, type);
  std::atomic<bool> out_of_range = false;
  const auto read_piece = [&](RequestCursor& part, std::size_t i, chunked::TaskSlot& slot) {
    const Count from = pieces.edge(i), count = pieces.edge(i + 1) - from;
    std::byte* const to = static_cast<std::byte*>(out) + from * size_of(type);
    const bool converts = !is_plain_copy(external, type);
    std::byte* const stored = converts ? slot.chunk(count * width).data() : to;
    part.restrict_to(from * width, count * width, stored, converts ? 1 : static_cast<int>(width));
    read_rows(
        read, part.summary(), [&] { return part.next_row(); }, hole_threshold);
    if (converts && from_external(external, stored, type, to, count, nullptr)) out_of_range = true;
  };
  if (pieces.size() == 1) {
    chunked::TaskSlot slot;
    read_piece(all, 0, slot);
  } else {
    // Memory bandwidth limits copying. If others use the processors, a second thread would only be
    // one more to wait for.
    const Count most = std::min<Count>({threads, elements * size_of(type) / thread_bytes,
                                        1 + static_cast<Count>(idle_processors())});
    chunked::TaskTeam(static_cast<int>(std::clamp<Count>(most, 1, 1024)))
        .run(pieces.size(), [&](std::size_t i, chunked::TaskSlot& slot) {
          RequestCursor part = all;
          read_piece(part, i, slot);
        });
  }
  return out_of_range;
}

std::vector<double> ClassicFile::read_doubles(VarId var, const Subarray& selection) const {
  std::vector<double> values(static_cast<std::size_t>(selection.elements()));
  read(var, selection, Type::float64, values.data());
  return values;
}

}  // namespace forebay
