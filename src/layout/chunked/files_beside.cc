#include "layout/chunked/files_beside.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>

#include "base/attempt.h"
#include "base/leavings.h"
#include "comm/agree.h"
#include "format/chunk_schema.h"
#include "layout/chunked/patches.h"
#include "storage/directory.h"

namespace forebay::chunked {
namespace {

using data_files::Front, data_files::data_path, data_files::folder_of;

/// What stands for a number in the front of the index.
constexpr std::uint32_t index_number = std::numeric_limits<std::uint32_t>::max();

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// An empty file that begins so. Errc::eexist where there is one.
void make_empty(File& file, const Front& front) {
  file.create(true);
  file.write_at(0, std::span<const std::byte>(decomposed::print_front(front)));
}

/// What a file begins with that no header is known to tell of.
struct Found {
  Beginning beginning;
  std::optional<Front> front;    ///< a whole one
  std::vector<std::byte> slots;  ///< of an index: what stands where its roots should
};

Found look_at(const std::string& path) {
  Report unseen;
  constexpr auto front_bytes = static_cast<std::size_t>(decomposed::slot_bytes);
  constexpr auto with_slots = front_bytes + static_cast<std::size_t>(slots * slot_stride);
  std::vector<std::byte> bytes(std::max(with_slots, enough_of_beginning));
  bytes.resize(File(path, false, 0, unseen).read_at(0, bytes));
  Found found{beginning_of(bytes), {}, {}};
  bytes.resize(std::min(bytes.size(), with_slots));
  const auto front = std::span<const std::byte>(bytes).first(std::min(bytes.size(), front_bytes));
  found.slots.assign(bytes.begin() + std::ssize(front), bytes.end());
  attempt_to([&] { found.front = decomposed::parse_front(front); });
  return found;
}

/// Whether an index may tell of chunks: of definitions alone its first publication does.
bool may_have_values(const Found& index) {
  if (!index.front) return index.beginning != Beginning::torn;
  bool may = false;
  const auto failed = attempt_to([&] {
    for (std::span<const std::byte> left(index.slots); std::ssize(left) >= slot_bytes;
         left = left.subspan(std::min(left.size(), static_cast<std::size_t>(slot_stride)))) {
      const auto slot = left.first(static_cast<std::size_t>(slot_bytes));
      const auto root = parse_root(slot);
      may |= root ? root->generation > 1 : beginning_of(slot) != Beginning::torn;
    }
  });
  return may || failed;
}

/// Whether nothing but data files and an index is in a folder, as far as their names tell.
bool has_chunks_alone(const std::string& folder) {
  bool alone = true;
  return each_in_folder(folder,
                        [&](int, const char* name, bool is_regular) {
                          alone &= is_regular && (is_number(name) || std::string(name) == "index");
                        }) &&
         alone;
}

/// Makes room for new files. A data file that is in the way is found when it is to be made.
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
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
    throw system_error(errno, Errc::efile, "making the folder", folder);
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
                 const Entry& entry, Offset end, data_files::Opened* files, LookedAt& last) {
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
      to_read_(site.path, id, site.comm.rank(), site.report, site.file.caches()) {}

FilesBeside::~FilesBeside() {
  index_->leave();
  if (writes()) group_->file->leave();
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

// Whole or not at all: what fails here is met and released later.
void FilesBeside::make_group() {
  const bool balances = balances_files(site_.method, site_.schema);
  Group group = balances ? balanced_group()
                         : Group{data_files::group_of(site_.comm, site_.method), nullptr, nullptr};
  const bool writes = !balances || group.numbers[0] == site_.comm.rank();
  if (writes) {
    group.file = make_file(data_path(site_.path, group.number));
    group.file->use_queue(site_.later);
  }
  group_.emplace(std::move(group));
}

// Each rank is a group of its own; those that write none of the files have nobody's number.
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

// The index first, by which the folder is known. Behind the last meeting the files are there: their
// group's other ranks may open them.
void FilesBeside::create() {
  by_root(site_.comm, [&] {
    make_room(site_.path);
    make_empty(*index_, {id_, index_number});
  });
  make_index_io();
  make_group();
  agree_on_error(site_.comm, attempt_to([&] {
                   if (makes_its_file()) make_empty(*group_->file, {id_, group_->number});
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

// One that no chunk lies in may not be there yet, or be what a job left that was killed.
void FilesBeside::open_to_write(std::span<const std::uint32_t> in_use) {
  make_group();
  agree_on_error(site_.comm, attempt_to([&] {
                   if (!makes_its_file()) return;
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
    for (const std::uint32_t n : in_use) {
      const std::string path = data_path(site_.path, n);
      if (n % group_->groups == group_->number && is_there(path)) sync_path(path);
    }
  }
  if (site_.comm.is_root()) {
    const std::string folder = folder_of(site_.path);
    sync_path(folder);
    const auto parent = std::filesystem::path(folder).parent_path();
    sync_path(parent.empty() ? "." : parent.string());
  }
  names_synced_ = true;
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
  auto failed = attempt_to([&] { index_->close(); });
  if (writes()) attempt_into(failed, [&] { group_->file->close(); });
  if (failed) throw *failed;
}

bool has_files_beside(const std::string& path) noexcept {
  bool has = false;
  attempt_to([&] { has = is_there(index_path(path)); });
  return has;
}

// What an enddef left that failed goes, too, and data files whose index is lost. Nothing where
// neither header nor index tells whose the files are.
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
    // The index last, by which the folder is known.
    remove_leavings(folder, [](std::string_view name) { return name == "index"; });
  });
}

}  // namespace forebay::chunked
