#include "layout/chunked/files_beside.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include "base/attempt.h"
#include "base/stale_files.h"
#include "comm/agree.h"
#include "format/chunk_schema.h"
#include "layout/chunked/chunk_policy.h"
#include "layout/compact_file.h"
#include "storage/directory.h"

namespace forebay::chunked {
namespace {

using data_files::Front, data_files::data_path, data_files::folder_of;

/// The number in the front of the index file.
constexpr std::uint32_t index_number = std::numeric_limits<std::uint32_t>::max();

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// Makes an empty file that begins with `front`. Errc::eexist if it exists.
void make_empty(File& file, const Front& front) {
  file.create(true);
  file.write_at(0, std::span<const std::byte>(data_files::print_front(front)));
}

/// The beginning of a file that no header is known to refer to.
struct Found {
  Beginning beginning;
  std::optional<Front> front;    ///< if it is whole
  std::vector<std::byte> slots;  ///< of an index: the bytes in place of its roots
};

Found look_at(const std::string& path) {
  Report unseen;
  constexpr auto front_bytes = static_cast<std::size_t>(slot_bytes);
  constexpr auto with_slots = front_bytes + static_cast<std::size_t>(slots * slot_bytes);
  std::vector<std::byte> bytes(std::max(with_slots, enough_of_beginning));
  bytes.resize(File(path, false, 0, unseen).read_at(0, bytes));
  Found found{beginning_of(bytes), {}, {}};
  bytes.resize(std::min(bytes.size(), with_slots));
  const auto front = std::span<const std::byte>(bytes).first(std::min(bytes.size(), front_bytes));
  found.slots.assign(bytes.begin() + std::ssize(front), bytes.end());
  found.slots.resize(with_slots - front_bytes);
  attempt_to([&] { found.front = data_files::parse_front(front); });
  return found;
}

/// Returns whether an index may refer to chunks. Its first publication contains definitions alone.
bool may_have_values(const Found& index) {
  if (!index.front) return index.beginning != Beginning::torn;
  bool may = false;
  const auto failed = attempt_to([&] {
    const auto roots = store::read_slots<Root>(index.slots, parse_root);
    may = roots.last() > 1 || roots.damaged >= 0;
  });
  return may || failed;
}

/// Returns whether a folder holds nothing but data files and an index, judged by their names.
bool has_chunks_alone(const std::string& folder) {
  bool alone = true;
  return each_in_folder(folder,
                        [&](int, const char* name, bool is_regular) {
                          alone &= is_regular && (is_number(name) || std::string(name) == "index");
                        }) &&
         alone;
}

/// Makes room for new files. Making a data file finds out whether an old one is in the way.
void make_room(const std::string& path) {
  const std::string folder = folder_of(path);
  const bool is_folder = is_there(folder);
  if (is_folder &&
      !(directory::is_header(path) ? directory::is_ours(folder) : has_chunks_alone(folder)))
    throw Error(Errc::eexist,
                folder + ", where chunks would lie, is a folder with other things in it",
                "give the file another name");
  if (is_there(index_path(path))) {
    if (may_have_values(look_at(index_path(path))))
      throw Error(Errc::eexist, folder + " holds the chunks of another file",
                  "move them to where their file is, or remove them if that is gone");
    remove_files_beside(path, nullptr);
  }
  directory::make_beside(folder, path);
}

void check_index(File& file, std::uint64_t id) {
  if (!is_there(file.path()))
    throw Error(Errc::enotnc, file.path() + ", which tells where chunks are, is not there",
                data_files::folder_advice);
  file.ensure_open();
  naming(file.path(), [&] { data_files::check_front(file, {id, index_number}); });
}

}  // namespace

std::string index_path(const std::string& path) { return folder_of(path) + "/index"; }

std::shared_ptr<File> open_index(const std::string& path, std::uint64_t id, Rank rank,
                                 Report& report, ClientCaches caches) {
  auto file = std::make_shared<File>(index_path(path), false, rank, report);
  file->share(caches);
  check_index(*file, id);
  return file;
}

void check_place(const VariableCoding& coding, const std::string& name, Count id,
                 const Entry& entry, const FileBoxes& boxes, Offset end, data_files::Opened* files,
                 LookedAt& last) {
  if (files == nullptr && entry.file != 0)
    throw damaged_chunk(
        name, coding.stored_grid(), id,
        "its table names data file " + std::to_string(entry.file - 1) + ", and the file has none");
  if (files == nullptr) return check_entry(coding, name, id, entry, end);
  if (entry.file == 0)
    throw damaged_chunk(name, coding.stored_grid(), id, "its table names no data file");
  if (!may_lie(entry, true, 0))
    throw damaged_chunk(name, coding.stored_grid(), id,
                        "its bytes lie within the front of a data file");
  check_entry(coding, name, id, entry, std::numeric_limits<Offset>::max());
  if (!boxes.contains(coding.entry(id, 0), entry.file))
    throw damaged_chunk(name, coding.stored_grid(), id,
                        "its table names data file " + std::to_string(entry.file - 1) +
                            ", whose box does not contain it");
  try {
    if (last.number != entry.file) {
      last = {};
      last.file = files->file(entry.file - 1);
      last.size = last.file->size();
      last.number = entry.file;
    }
    if (!lies_within(entry.offset, entry.bytes, last.size))
      throw Error(Errc::enotnc, last.file->path() + " ends before its bytes do",
                  "forebay check FILE lists all damaged chunks");
  } catch (const Error& error) {
    throw Error(error.code(),
                damaged_chunk(name, coding.stored_grid(), id, error.message()).message(),
                error.advice());
  }
}

FilesBeside::FilesBeside(const ClassicSite& site, std::uint64_t id)
    : site_(site),
      id_(id),
      index_(make_file(index_path(site.path))),
      to_read_(site.path, id, site.comm.rank(), site.report, site.file.caches(), &site.file) {
  expect(*index_, index_number);
}

// Other files of the same name may have appeared, or this node may see another one.
void FilesBeside::expect(File& file, std::uint32_t number) const {
  data_files::expect_beside(file, site_.file, [front = Front{id_, number}](File& its) {
    data_files::check_front(its, front);
  });
}

FilesBeside::~FilesBeside() {
  index_->leave();
  if (writes()) group_->file->leave();
  for (auto& [number, file] : others_) file->leave();
  if (site_.file.writable()) to_read_.leave();
}

std::shared_ptr<File> FilesBeside::make_file(const std::string& path) const {
  auto file = std::make_shared<File>(path, site_.file.writable(), site_.comm.rank(), site_.report);
  file->share(site_.file.caches());
  return file;
}

void FilesBeside::make_index_io() {
  index_io_ = site_.make_io(site_.comm, index_, site_.method, site_.report);
}

// This completes or changes nothing. meet() and release() run even after a failure.
void FilesBeside::make_group() {
  const bool balances = data_files::asks_for_several(site_.method) && has_parts(site_.schema) &&
                        policy_of_parts()->balances_files(site_.method);
  Group group = balances ? balanced_group()
                         : Group{data_files::group_of(site_.comm, site_.method), nullptr, nullptr};
  const bool writes = !balances || group.numbers[0] == site_.comm.rank();
  if (writes) {
    group.file = make_file(data_path(site_.path, group.number));
    expect(*group.file, group.number);
    group.file->use_queue(site_.later);
  }
  group_.emplace(std::move(group));
}

// Each rank is a group of its own. Ranks that write no file have no valid number.
FilesBeside::Group FilesBeside::balanced_group() {
  writers_ = data_files::writers_of(site_.comm, site_.method);
  const auto mine = std::find(writers_.begin(), writers_.end(), site_.comm.rank());
  Group group;
  group.numbers = {mine == writers_.end() ? -1 : site_.comm.rank()};
  group.number = static_cast<std::uint32_t>(mine - writers_.begin());
  group.groups = static_cast<std::uint32_t>(writers_.size());
  return group;
}

void FilesBeside::make_group_io() {
  if (!writes()) return;
  group_->io = site_.make_io(group_->ranks, group_->file, site_.method, site_.report);
}

// The index comes first, because it identifies the folder. After the last reduction the files are
// there, and other ranks of the group may open them.
void FilesBeside::create() {
  by_root(site_.comm, [&] {
    make_room(site_.path);
    make_empty(*index_, {id_, index_number});
  });
  make_index_io();
  make_group();
  agree_on_error(site_.comm, attempt_to([&] {
                   if (!makes_its_file()) return;
                   site_.file.ensure_there();  // the folder lies beside the present file
                   make_empty(*group_->file, {id_, group_->number});
                 }));
  make_group_io();
}

Offset FilesBeside::open_index() {
  Offset size = 0;
  by_root(site_.comm, [&] {
    check_index(*index_, id_);
    size = index_->size();
  });
  make_index_io();
  return size;
}

// A data file without chunks may not exist yet, or a killed job may have left it.
void FilesBeside::open_to_write(std::span<const std::uint32_t> in_use) {
  make_group();
  agree_on_error(site_.comm, attempt_to([&] {
                   if (!makes_its_file()) return;
                   site_.file.ensure_there();
                   File& file = *group_->file;
                   const Front front{id_, group_->number};
                   if (std::find(in_use.begin(), in_use.end(), front.number) == in_use.end()) {
                     const bool torn =
                         is_there(file.path()) && look_at(file.path()).beginning == Beginning::torn;
                     if (torn) ::unlink(file.path().c_str());
                     if (!is_there(file.path())) return make_empty(file, front);
                   }
                   file.ensure_open();
                   naming(file.path(), [&] { data_files::check_front(file, front); });
                 }));
  make_group_io();
}

void FilesBeside::sync(std::span<const std::uint32_t> in_use) {
  if (writes()) group_->file->sync();
  if (site_.comm.is_root()) index_->sync();
  if (names_synced_) return;
  if (makes_its_file()) {
    const std::string folder = data_files::folder_now(*group_->file) + "/";
    for (const std::uint32_t n : in_use) {
      const std::string path = folder + std::to_string(n);
      if (n % group_->groups == group_->number && is_there(path)) path_sync_.file(path);
    }
  }
  if (site_.comm.is_root()) {
    path_sync_.folder_of(index_->place_now());
    path_sync_.folder_of(data_files::folder_now(*index_));
  }
  names_synced_ = true;
}

int FilesBeside::ranks_that_move(std::uint32_t number) const {
  if (balanced()) return 1;
  if (group_->topology == nullptr) return group_->ranks.size();
  const auto group = static_cast<int>(number % group_->groups);
  return static_cast<int>(std::ssize(group_->topology->ranks_of(group)));
}

bool FilesBeside::moves(std::uint32_t number, int turn) const {
  return is_of_group(number) && turn % group_->ranks.size() == group_->ranks.rank();
}

ByteFile& FilesBeside::to_move(std::uint32_t number) {
  if (number == group_->number) return *group_->file;
  if (other_ != number) moved();
  auto& file = others_[number];
  if (!file) {
    file = make_file(data_path(site_.path, number));
    expect(*file, number);
  }
  other_ = number;
  return *file;
}

void FilesBeside::moved() {
  const auto last = others_.find(other_);
  if (last == others_.end()) return;
  last->second->meet();
  last->second->close();
}

void FilesBeside::cut(std::span<const std::uint32_t> in_use, Offset end_of_index,
                      const std::function<Offset(std::uint32_t number)>& end_of) noexcept {
  if (makes_its_file()) {
    cut_behind(*group_->file, end_of(group_->number));
    for (const std::uint32_t number : in_use)
      if (number != group_->number && is_of_group(number)) cut_other(number, end_of(number));
  }
  if (!site_.comm.is_root()) return;
  cut_behind(*index_, end_of_index);
  // A killed job with more groups may have left files that nothing refers to.
  attempt_to([&] {
    std::map<std::uint32_t, Count> known;
    for (std::uint32_t number = 0; number < group_->groups; ++number) known.emplace(number, 0);
    for (const std::uint32_t number : in_use) known.emplace(number, 0);
    for (const std::uint32_t number : to_read_.others(known)) cut_other(number, first_in_data_file);
  });
}

// Most of these files need not be opened.
void FilesBeside::cut_other(std::uint32_t number, Offset end) noexcept {
  attempt_to([&] {
    struct stat found {};
    if (::stat(data_path(site_.path, number).c_str(), &found) != 0 || found.st_size <= end) return;
    cut_behind(to_move(number), end);
    moved();
  });
}

void FilesBeside::meet() {
  auto failed = attempt_to([&] { index_->meet(); });
  if (writes()) attempt_into(failed, [&] { group_->file->meet(); });
  to_read_.look_again();
  if (failed) throw *failed;
}

void FilesBeside::release() {
  std::optional<Error> failed;
  if (index_io_) attempt_into(failed, [&] { index_io_->close(); });
  if (group_ && group_->io) attempt_into(failed, [&] { group_->io->close(); });
  if (failed) throw *failed;
}

void FilesBeside::close() {
  auto failed = attempt_to([&] {
    if (site_.comm.is_root() && site_.file.writable())
      data_files::follow_rename(site_.file, *index_);
  });
  attempt_into(failed, [&] { index_->close(); });
  if (writes()) attempt_into(failed, [&] { group_->file->close(); });
  if (failed) throw *failed;
}

bool has_files_beside(const std::string& path) noexcept {
  bool has = false;
  attempt_to([&] { has = is_there(index_path(path)); });
  return has;
}

// Stale files of a failed enddef, and data files whose index is lost, are removed too. Nothing is
// removed if neither header nor index identifies the owner of the files.
void remove_files_beside(const std::string& path, const Schema* header) noexcept {
  attempt_to([&] {
    auto id = header ? files_of(*header) : std::nullopt;
    if (!has_files_beside(path)) {
      if (id) data_files::remove_left_by(folder_of(path), id);
      return;
    }
    const Found index = look_at(index_path(path));
    if (header && !id && may_have_values(index)) return;
    if (index.front && id && index.front->id != *id) return;
    if (!id && index.front) id = index.front->id;
    if (!id && index.beginning != Beginning::torn) return;
    const std::string folder = folder_of(path);
    if (!data_files::remove_left_by(folder, id)) return;
    // The index goes last, because it identifies the folder.
    remove_stale_files(folder, [](std::string_view name) { return name == "index"; });
  });
}

}  // namespace forebay::chunked
