#include "layout/classic_part.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <limits>

#include "base/attempt.h"
#include "codec/pipeline.h"
#include "comm/agree.h"
#include "format/classic_header.h"
#include "layout/chunked/chunk_policy.h"
#include "layout/codec_choice.h"
#include "storage/directory.h"

namespace forebay {
namespace {

template <typename F>
void each_with_beside(F&& f) {
  for (const Part* part : parts(PartKind::layout)) {
    const auto& in_classic = static_cast<const LayoutEntry*>(part)->in_classic;
    if (in_classic.has_beside != nullptr) f(in_classic);
  }
}

}  // namespace

void keep_added_records(Schema& schema, Count in_header, Offset file_size) {
  if (in_header <= schema.numrecs) return;
  Offset begin = std::numeric_limits<Offset>::max();
  for (const Variable& var : schema.vars) {
    Count bytes = 0;
    if (!var.is_record) continue;
    if (!is_apart(var)) begin = std::min(begin, var.begin);
    // Sizes that overflow were never written.
    if (!multiply_fits(in_header, var.inner_bytes(), bytes)) return;
  }
  if (begin >= file_size || schema.recsize == 0) return;
  const Count in_file = (file_size - begin - 1) / schema.recsize + 1;
  schema.numrecs = std::max(schema.numrecs, std::min(in_header, in_file));
}

void give_up_records(const ClassicSite& site, Count in_header) {
  if (!site.file.writable() || in_header <= site.schema.numrecs) return;
  by_root(site.comm, [&] {
    site.file.write_at(classic::numrecs_offset, classic::print_numrecs(site.schema));
    site.file.sync();
  });
}

const LayoutEntry& layout_of(const Variable& var) {
  if (var.layout != nullptr) return *var.layout;
  if (!var.chunking) return canonical_layout;
  const LayoutEntry* const of_parts =
      Pipeline::parts_of(var.chunking->codec) > 1 ? chunked::layout_of_parts() : nullptr;
  return of_parts != nullptr ? *of_parts : chunked_layout;
}

bool is_apart(const Variable& var) {
  return var.chunking || (var.layout != nullptr && var.layout->in_classic.apart);
}

std::unique_ptr<FileView> view_of(const Schema& file, const Method& method, bool writable) {
  for (const Part* part : parts(PartKind::layout)) {
    const auto view = static_cast<const LayoutEntry*>(part)->view;
    auto found = view != nullptr ? view(file, method, writable) : nullptr;
    if (found) return found;
  }
  return nullptr;
}

bool has_beside(const std::string& path) noexcept {
  bool any = false;
  attempt_to([&] {
    each_with_beside([&](const ClassicPartEntry& entry) { any |= entry.has_beside(path); });
  });
  return any;
}

std::optional<Schema> header_for_beside(const std::string& path) noexcept {
  std::optional<Schema> header;
  attempt_to([&] {
    // This also finds a folder whose index is lost: the header identifies the owner of the rest.
    std::error_code none;  // a name may be too long to have anything beside it
    if (!std::filesystem::exists(directory::folder_beside(path), none)) return;
    if (!std::filesystem::is_regular_file(path)) return;
    Report unseen;
    File file(path, false, 0, unseen);
    header = classic::read_header(path, [&](std::vector<std::byte>& bytes, Offset wanted) {
      return classic::read_beginning(file, bytes, wanted);
    });
  });
  return header;
}

void remove_beside(const std::string& path, const std::optional<Schema>& header) noexcept {
  each_with_beside([&](const ClassicPartEntry& entry) {
    entry.remove_beside(path, header ? &*header : nullptr);
  });
}

namespace {

// Removes the definitions last, since they identify the folder. After a kill they may be missing
// already.
void remove_directory(const std::string& path) {
  directory::remove_data(path);
  const std::string header = directory::header_of(path);
  if (::unlink(header.c_str()) != 0 && errno != ENOENT)
    throw system_error(errno, Errc::efile, "removing", header);
  if (::rmdir(path.c_str()) != 0 && errno != ENOENT)
    throw system_error(errno, Errc::ecantremove, "removing the folder", path);
}

}  // namespace

void remove_whole(const std::string& path) {
  // For a link to a directory, only the link is removed, as for a link to a file.
  const bool is_link = directory::is_link(path);
  if (!is_link && (directory::is_ours(path) || directory::is_unfinished(path)))
    return remove_directory(path);
  if (!is_link && directory::is_one(path))
    throw Error(Errc::ecantremove, path + " is a folder with other things in it",
                "remove what is not to stay by hand");
  const auto header = header_for_beside(path);
  if (::unlink(path.c_str()) != 0) {
    if (errno == EISDIR) throw Error(Errc::eaccess, path + " is a folder");
    throw system_error(errno, Errc::efile, "removing", path);
  }
  remove_beside(path, header);
}

namespace {

void rename(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0)
    throw system_error(errno, Errc::ecantcreate, "renaming to", to);
}

}  // namespace

// The old target is moved aside until the new one is in place. Links are moved and replaced as
// links: data beside the file that they refer to stays there.
void rename_whole(const std::string& from, const std::string& to) {
  namespace fs = std::filesystem;
  const bool has_folder = !directory::is_link(from) && has_beside(from), is_there = fs::exists(to);
  const bool replaces_link = directory::is_link(to);
  const bool was_directory = directory::is_one(to), is_directory = directory::is_one(from);
  const std::string folder =
      replaces_link ? to + std::string(directory::beside) : directory::folder_beside(to);
  if (has_folder && directory::is_header(to))
    throw Error(Errc::einval, to + " would have its data files in " + folder,
                "give the file another name, or convert to the folder by container=directory");
  if (has_folder && fs::exists(folder) && (replaces_link || !has_beside(to)))
    throw Error(Errc::eexist, folder + " is there, and is no folder of data files",
                "give the file another name");
  if (was_directory && !is_directory && !directory::is_ours(to) && !fs::is_symlink(to))
    throw Error(Errc::eexist, to + " is a folder with other things in it",
                "give the file another name");
  const auto before = replaces_link ? std::nullopt : header_for_beside(to);
  if (!has_folder && !was_directory && !is_directory) {
    rename(from, to);
    return remove_beside(to, before);
  }
  const std::string aside = from + "-old";
  if (is_there) rename(to, aside);
  const auto failed = attempt_to([&] {
    remove_beside(to, before);
    if (has_folder) rename(directory::folder_beside(from), folder);
    rename(from, to);
  });
  if (failed) {
    if (is_there) ::rename(aside.c_str(), to.c_str());
    throw *failed;
  }
  if (is_there) remove_whole(aside);
}

std::vector<const LayoutEntry*> part_layouts() {
  std::vector<const LayoutEntry*> layouts;
  for (const Part* part : parts(PartKind::layout)) {
    const auto* layout = static_cast<const LayoutEntry*>(part);
    if (layout->in_classic.make) layouts.push_back(layout);
  }
  return layouts;
}

void set_chunk_by_program(const Schema& schema, Method& method, Variable& var,
                          std::span<const Count> shape) {
  const auto set = [&](Variable& v) {
    for (const LayoutEntry* layout : part_layouts())
      if (layout->in_classic.set_shape)
        return layout->in_classic.set_shape(schema, method, v, shape);
  };
  const auto said = said_outside(method, var.name, "layout");
  if (!said || layout_for(method, var) == "chunked") return set(var);
  Variable unused = var;
  set(unused);
  note_overruled(method, "the program's chunk shape of variable " + var.name, *said);
}

void set_filter_by_program(const Schema& schema, Method& method, Variable& var,
                           const std::string& pipeline) {
  const auto set = [&](Variable& v, const std::string& codec) {
    const auto layouts = part_layouts();
    for (auto layout = layouts.rbegin(); layout != layouts.rend(); ++layout) {
      const auto set_codec = (*layout)->in_classic.set_codec;
      if (set_codec && set_codec(schema, method, v, codec)) return;
    }
  };
  const auto layout = said_outside(method, var.name, "layout");
  const auto codec = said_outside(method, var.name, "codec");
  const bool stays = layout && layout_for(method, var) == "canonical";
  if (!stays && !codec) return set(var, pipeline);
  Variable unused = var;
  set(unused, pipeline);
  if (!stays) set(var, codec_for(method, schema, var));
  note_overruled(method, "the program's codec " + pipeline + " of variable " + var.name,
                 stays ? *layout : *codec);
}

}  // namespace forebay
