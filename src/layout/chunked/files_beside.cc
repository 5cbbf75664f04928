#include "layout/chunked/files_beside.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>

#include "base/attempt.h"
#include "base/leavings.h"
#include "comm/agree.h"
#include "format/chunk_schema.h"

namespace forebay::chunked {
namespace {

using data_files::Front, data_files::data_path, data_files::folder_of;

/// What stands for a number in the front of the index.
constexpr std::uint32_t index_number = std::numeric_limits<std::uint32_t>::max();

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

/// An empty file that begins so.
void make_empty(File& file, const Front& front) {
  file.create(false);
  file.write_at(0, std::span<const std::byte>(decomposed::print_front(front)));
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

std::shared_ptr<File> check_place(const VariableCoding& coding, const std::string& name, Count id,
                                  const Entry& entry, Offset end, data_files::Opened* files) {
  if (files == nullptr && entry.file != 0)
    throw damaged_chunk(
        name, coding.grid, id,
        "its table names data file " + std::to_string(entry.file - 1) + ", and the file has none");
  if (files != nullptr && entry.file == 0)
    throw damaged_chunk(name, coding.grid, id, "its table names no data file");
  if (files == nullptr) {
    check_entry(coding, name, id, entry, end);
    return nullptr;
  }
  check_entry(coding, name, id, entry, std::numeric_limits<Offset>::max());
  try {
    auto file = files->file(entry.file - 1);
    if (!lies_within(entry.offset, entry.bytes, file->size()))
      throw Error(Errc::enotnc, file->path() + " ends before its bytes do",
                  "forebay check FILE lists all damaged chunks");
    return file;
  } catch (const Error& error) {
    throw Error(error.code(), damaged_chunk(name, coding.grid, id, error.message()).message(),
                error.advice());
  }
}

FilesBeside::FilesBeside(const ClassicSite& site, std::uint64_t id)
    : site_(site),
      id_(id),
      index_(make_file(index_path(site.path))),
      index_io_(site.make_io(site.comm, index_, site.method, site.report)),
      to_read_(site.path, id, site.comm.rank(), site.report, site.file.caches()) {}

std::shared_ptr<File> FilesBeside::make_file(const std::string& path) const {
  auto file = std::make_shared<File>(path, site_.file.writable(), site_.comm.rank(), site_.report);
  file->share(site_.file.caches());
  return file;
}

void FilesBeside::make_group() {
  Group group{data_files::group_of(site_.comm, site_.method), nullptr, nullptr};
  group.file = make_file(data_path(site_.path, group.number));
  group.file->use_queue(site_.later);
  group.io = site_.make_io(group.ranks, group.file, site_.method, site_.report);
  group_ = std::move(group);
}

// Behind the meeting the files are there: their group's other ranks may open them.
void FilesBeside::create() {
  make_group();
  agree_on_error(site_.comm, attempt_to([&] {
                   if (site_.comm.is_root()) make_empty(*index_, {id_, index_number});
                   if (group_->ranks.is_root()) make_empty(*group_->file, {id_, group_->number});
                 }));
}

Offset FilesBeside::open_index() {
  check_index(*index_, id_);
  return index_->size();
}

// One that no chunk lies in may be what a job left that was killed, or not be there yet.
void FilesBeside::open_to_write(std::span<const std::uint32_t> in_use) {
  make_group();
  agree_on_error(
      site_.comm, attempt_to([&] {
        if (!group_->ranks.is_root()) return;
        File& file = *group_->file;
        const Front front{id_, group_->number};
        const bool used = std::find(in_use.begin(), in_use.end(), front.number) != in_use.end();
        if (!used && !is_there(file.path())) return make_empty(file, front);
        file.ensure_open();
        const auto wrong =
            attempt_to([&] { naming(file.path(), [&] { data_files::check_front(file, front); }); });
        if (wrong && used) throw *wrong;
        if (wrong) {
          file.close();
          make_empty(file, front);
        }
      }));
}

void FilesBeside::sync(std::span<const std::uint32_t> in_use) {
  group_->file->sync();
  if (site_.comm.is_root()) index_->sync();
  if (names_synced_) return;
  if (group_->ranks.is_root()) {
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
  if (group_) attempt_into(failed, [&] { group_->file->meet(); });
  to_read_.look_again();
  if (failed) throw *failed;
}

void FilesBeside::release() {
  index_io_->close();
  if (group_) group_->io->close();
}

bool has_files_beside(const std::string& path) noexcept {
  bool has = false;
  attempt_to([&] {
    has = !folder_of(path).ends_with(".subfiles") &&
          (is_there(index_path(path)) || is_there(data_path(path, 0)));
  });
  return has;
}

// Where neither header nor index can be read, nothing says that these files are ours.
void remove_files_beside(const std::string& path, const Schema* header) noexcept {
  attempt_to([&] {
    if (!has_files_beside(path)) return;
    const auto id = header ? files_of(*header) : std::nullopt;
    if (header && !id) return;
    std::optional<Front> front;
    attempt_to([&] {
      Report unseen;
      File index(index_path(path), false, 0, unseen);
      std::vector<std::byte> bytes(static_cast<std::size_t>(decomposed::slot_bytes));
      if (index.read_at(0, bytes) == bytes.size()) front = decomposed::parse_front(bytes);
    });
    if (!front && !id) return;
    if (front && id && front->id != *id) return;
    remove_leavings(folder_of(path), is_number);
    // The index last, by which the folder is known.
    remove_leavings(folder_of(path), [](std::string_view name) { return name == "index"; });
  });
}

}  // namespace forebay::chunked
