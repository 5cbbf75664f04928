#include "files/file_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/attempt.h"
#include "base/shortage.h"
#include "base/text_table.h"
#include "base/timeline.h"
#include "layout/chunked/loaded_index.h"
#include "layout/classic_part.h"

namespace forebay {
namespace {

/// The index of one state, as far as it is undamaged.
struct Survey {
  chunked::Root root;
  bool directory = false;  ///< it could be read
  bool whole = false;      ///< and all pages could be read too
  std::vector<chunked::ChunkTable> tables;
  std::map<VarId, std::vector<std::pair<Count, Count>>> lost;  ///< [first, last) of bad pages'
                                                               ///< chunks
};

class FileChecker {
 public:
  FileChecker(const ClassicFile& file, const CheckOptions& options, FileCheck& result)
      : file_(file), schema_(file.schema()), options_(options), result_(result) {}

  void run() {
    result_.version = schema_.version;
    result_.file_size = file_.file_size();
    result_.expected_size = expected_size(schema_);
    for (std::size_t v = 0; v < schema_.vars.size(); ++v) {
      const Variable& var = schema_.vars[v];
      result_.names.push_back(var.name);
      VariableCheck check;
      check.var = static_cast<VarId>(v);
      check.chunked = var.chunking.has_value();
      if (const Error* refused = file_.refused(check.var)) {
        check.readable = false;
        check.problem = refused->message();
        result_.notes.push_back(refused->message());
      }
      result_.vars.push_back(std::move(check));
    }
    if (file_.chunks() != nullptr) check_chunks();
    if (file_.maps() != nullptr) check_maps();
    check_length();
    if (const Count added = file_.added_records(); added > 0)
      result_.notes.push_back("the header alone tells of the last " + counted(added, "record") +
                              ": added by another program, or left by a power failure that took "
                              "what a job wrote with it");
    if (!result_.damages.empty()) result_.status = CheckStatus::damaged;
  }

 private:
  void check_length();
  void check_chunks();
  void check_maps();
  void check_roots();
  Survey survey(const RootSlot& slot);
  void check_variable(VarId id, const Survey& state);
  void check_chunk(VarId id, Count chunk, const chunked::ChunkTable& table,
                   chunked::TaskSlot& slot);
  void add(Damage::Place place, std::optional<VarId> var, std::string problem) {
    Damage damage;
    damage.place = place;
    damage.var = var;
    damage.problem = std::move(problem);
    result_.damages.push_back(std::move(damage));
  }
  VariableCheck& of(VarId id) { return result_.vars[static_cast<std::size_t>(id)]; }
  const Variable& variable(VarId id) const { return schema_.vars[static_cast<std::size_t>(id)]; }

  const ClassicFile& file_;
  const Schema& schema_;
  const CheckOptions& options_;
  FileCheck& result_;
  Count all_bytes_ = 0;
};

void FileChecker::check_length() {
  const Offset size = file_.file_size();
  const bool cut = ends_within_values(schema_, size);
  for (std::size_t v = 0; v < schema_.vars.size(); ++v) {
    const Variable& var = schema_.vars[v];
    if (is_apart(var) || (var.is_record && schema_.numrecs == 0)) continue;
    const Offset end = end_of(schema_, var);
    if (end <= size) continue;
    if (!cut) {
      result_.notes.push_back((var.is_record ? "the last record of variable " : "variable ") +
                              var.name + " was never written, and reads as zeros");
      continue;
    }
    VariableCheck& check = result_.vars[v];
    check.problem = "the file ends " + counted(end - size, "byte") + " before it does";
    check.readable = var.begin < size;
    add(Damage::Place::length, static_cast<VarId>(v), check.problem);
  }
  if (!result_.chunked && size > round_up(result_.expected_size, 4)) {
    result_.notes.push_back(counted(size - result_.expected_size, "byte") +
                            " follow the last variable");
  }
}

void FileChecker::check_chunks() {
  result_.chunked = true;
  result_.index = file_.chunks()->index();
  if (!result_.index.apart)
    result_.expected_size = std::max(result_.expected_size, result_.index.end);
  for (const std::string& problem : file_.chunks()->problems_of_files())
    add(Damage::Place::directory, std::nullopt, problem);
  const std::vector<RootSlot>& slots = result_.index.slots;
  // Programs read the newest state, or the newest synced one with chunk_state=synced or as a
  // fallback.
  const RootSlot *const newest = newest_of(slots), *const synced = newest_of(slots, true);
  const RootSlot* read = newest;
  // The index's file may be missing, or belong to another file.
  if (result_.index.apart && newest == nullptr && result_.index.damage)
    add(Damage::Place::directory, std::nullopt, result_.index.damage->message());
  else
    check_roots();
  for (const RootSlot& s : slots)
    if (s.state == RootSlot::State::valid && !result_.index.damage &&
        s.root.generation == result_.index.generation)
      read = &s;
  Survey state;
  if (read != nullptr) state = survey(*read);
  if (read != newest) {
    result_.notes.push_back(fmt::format(
        "chunk_state=synced: checked is generation {}, the last that was synced, and not {}, the "
        "newest",
        read->root.generation, newest->root.generation));
  }
  if (synced != nullptr && synced != read && read == newest) {
    const Survey old = survey(*synced);
    if (result_.index.damage && old.whole) {
      result_.notes.push_back("with the hint chunk_state=synced, programs read generation " +
                              std::to_string(old.root.generation) + ", whose index is whole");
    }
  }
  if (result_.index.damage && result_.damages.empty())
    add(Damage::Place::directory, std::nullopt, result_.index.damage->message());
  for (const chunked::ChunkTable& table : state.tables) {
    table.for_each([&](Count, const chunked::Entry& e) { all_bytes_ += e.bytes; });
  }
  for (std::size_t v = 0; v < schema_.vars.size(); ++v) {
    if (schema_.vars[v].chunking) check_variable(static_cast<VarId>(v), state);
  }
  if (!result_.index.damage && !result_.index.synced) {
    result_.notes.push_back("generation " + std::to_string(result_.index.generation) +
                            " was never synced: after a power failure an older state may be left");
  }
}

// It is unknown which variables a damaged data file concerns: it counts for all. Damaged parts of
// slabs are known.
void FileChecker::check_maps() {
  attempt_to([&] {
    for (const SlabFacts& facts : file_.maps()->slab_facts())
      if (facts.parts > 0) all_bytes_ += facts.stored_bytes;
  });
  const auto found = file_.maps()->check(options_.decode, [&](Count done) {
    if (options_.progress) options_.progress(done, all_bytes_);
  });
  result_.data_files = found.files;
  result_.maps = found.maps;
  result_.patterns = found.patterns;
  result_.slabs = found.slabs;
  result_.slab_bytes = found.bytes;
  const auto& problems = found.problems;
  if (file_.maps()->has_damaged_slot())
    add(Damage::Place::root, std::nullopt,
        "a slot of the state beside the file is damaged; if it named the newest commit, an older "
        "one is shown");
  else if (!file_.maps()->damage() && !file_.maps()->is_newest())
    attempt_to([&] {
      result_.notes.push_back(
          fmt::format("chunk_state=synced: checked is commit {}, the last that was synced, and not "
                      "the newest",
                      file_.maps()->facts().epoch));
    });
  for (const std::string& problem : problems) add(Damage::Place::directory, std::nullopt, problem);
  for (std::size_t v = 0; v < schema_.vars.size(); ++v) {
    const auto& parts = found.parts[v];
    VariableCheck& check = result_.vars[v];
    check.present = parts.verified;
    check.damaged = parts.damaged;
    check.stored_bytes = parts.bytes;
    result_.parts += parts.verified;
    result_.bytes += parts.bytes;
    if (parts.damaged > 0) {
      check.problem =
          grouped(parts.damaged) + " of " + counted(parts.verified, "part") + " damaged";
      add(Damage::Place::variable, static_cast<VarId>(v),
          parts.problem +
              (parts.damaged > 1 ? ", and " + counted(parts.damaged - 1, "other part") : ""));
    }
    if (!file_.maps()->keeps(schema_.vars[v]) || problems.empty()) continue;
    check.readable = false;
    check.problem = problems.front();
  }
}

void FileChecker::check_roots() {
  for (std::size_t s = 0; s < result_.index.slots.size(); ++s) {
    const RootSlot& slot = result_.index.slots[s];
    if (slot.problem.empty()) continue;
    std::string problem = "root slot " + std::to_string(s) + ": " + slot.problem;
    if (slot.state == RootSlot::State::damaged)
      problem += "; if it named the newest state, an older one is shown";
    add(Damage::Place::root, std::nullopt, std::move(problem));
  }
}

Survey FileChecker::survey(const RootSlot& slot) {
  Survey found;
  found.root = slot.root;
  found.whole = true;
  const std::string state = " of generation " + std::to_string(slot.root.generation) +
                            (slot.root.synced ? " (synced)" : "");
  const auto tell = [&](const chunked::IndexFault& fault) {
    if (fault.item == nullptr)
      return add(Damage::Place::directory, std::nullopt, "the directory" + state + fault.problem);
    const Count first = static_cast<Count>(fault.page) * chunked::chunks_per_page;
    Damage damage;
    damage.place = Damage::Place::page;
    damage.var = fault.item->var;
    damage.chunk = first;
    damage.chunks = chunked::chunks_per_page;
    damage.problem = "the page" + state + fault.problem;
    result_.damages.push_back(std::move(damage));
    ++result_.pages;
    found.whole = false;
    found.lost[fault.item->var].push_back({first, first + chunked::chunks_per_page});
  };
  auto tables = file_.chunks()->tables_below(slot.root, tell);
  found.directory = tables.has_value();
  found.whole &= found.directory;
  if (tables) found.tables = std::move(*tables);
  for (const chunked::ChunkTable& table : found.tables)
    result_.pages +=
        std::count_if(table.pages().begin(), table.pages().end(),
                      [](const auto& page) { return page && page->place.offset != -1; });
  return found;
}

void FileChecker::check_variable(VarId id, const Survey& state) {
  VariableCheck& check = of(id);
  const FileChunks& chunks = *file_.chunks();
  if (chunks.index().damage) {
    check.readable = false;
    check.problem = chunks.index().damage->message();
  }
  if (const auto& refused = chunks.refused(id)) {
    check.readable = false;
    check.problem = refused->message();
    // If this build lacks a codec, the file is not damaged.
    if (refused->code() == Errc::enotsupport) {
      result_.notes.push_back(refused->message());
    } else {
      add(Damage::Place::variable, id, refused->message());
    }
    return;
  }
  if (!state.directory) return;
  const auto& table = state.tables[static_cast<std::size_t>(id)];
  const chunked::VariableCoding& coding = chunks.coding(id);
  // If the index as a whole is refused, the reader does not have the shape.
  if (!table.shape.empty() && table.shape != variable(id).chunking->shape) {
    check.problem = "its chunk shape is known to the damaged index only";
    return;
  }
  chunked::TaskSlot slot;
  const Count in_grid = coding.grid.chunks(schema_.numrecs);
  Count beyond = 0;
  std::vector<std::pair<Count, std::uint32_t>> all;  // sorted by their data files
  table.for_each([&](Count entry, const chunked::Entry& e) {
    const Count chunk = entry / coding.parts();
    if (all.empty() || all.back().first != chunk) all.emplace_back(chunk, e.file);
  });
  std::stable_sort(all.begin(), all.end(),
                   [](const auto& a, const auto& b) { return a.second < b.second; });
  for (const auto& [chunk, file] : all) {
    if (chunk >= in_grid) {
      ++beyond;
      if (!variable(id).is_record) continue;
    }
    check_chunk(id, chunk, table, slot);
  }
  if (beyond > 0 && variable(id).is_record) {
    result_.notes.push_back(counted(beyond, "chunk") + " of variable " + variable(id).name +
                            " belong to records that the header does not count");
  } else if (beyond > 0) {
    add(Damage::Place::variable, id,
        "the index tells of " + counted(beyond, "chunk") + " that the variable cannot have");
  }
  if (const auto lost = state.lost.find(id); lost != state.lost.end()) {
    for (const auto& [first, last] : lost->second)
      check.damaged += std::max<Count>(0, std::min(last, in_grid) - first);
  }
  if (check.readable && check.damaged > 0)
    check.problem = grouped(check.damaged) + " of " + counted(in_grid, "chunk") + " damaged";
}

void FileChecker::check_chunk(VarId id, Count chunk, const chunked::ChunkTable& table,
                              chunked::TaskSlot& slot) {
  VariableCheck& check = of(id);
  ++check.present;
  ++result_.chunks;
  const auto error = attempt_to([&] {
    if (!table.get(file_.chunks()->coding(id).entry(chunk, 0)).present())
      throw Error(Errc::enotnc, "the index has finer levels of it, but not the coarsest one");
    file_.chunks()->load(id, chunk, table, options_.decode, slot);
  });
  if (error && is_shortage(*error)) throw *error;
  if (error) {
    ++check.damaged;
    Damage damage;
    damage.var = id;
    damage.chunk = chunk;
    damage.box = file_.chunks()->coding(id).grid.box(chunk);
    damage.problem = error->message();
    // The chunk's name is removed from the message: the printed line begins with it.
    if (const auto at = damage.problem.find(" is damaged: "); at != std::string::npos)
      damage.problem.erase(0, at + std::string_view(" is damaged: ").size());
    result_.damages.push_back(std::move(damage));
  }
  Count bytes = 0;
  const chunked::VariableCoding& coding = file_.chunks()->coding(id);
  for (int part = 0; part < coding.parts(); ++part)
    bytes += table.get(coding.entry(chunk, part)).bytes;
  check.stored_bytes += bytes;
  result_.bytes += bytes;
  if (options_.progress) options_.progress(result_.bytes, all_bytes_);
}

}  // namespace

const char* name_of(Damage::Place place) {
  switch (place) {
    case Damage::Place::length:
      return "length";
    case Damage::Place::root:
      return "root";
    case Damage::Place::directory:
      return "directory";
    case Damage::Place::page:
      return "page";
    case Damage::Place::chunk:
      return "chunk";
    default:
      return "variable";
  }
}

Offset expected_size(const Schema& schema) {
  Offset size = schema.header_size;
  for (const Variable& var : schema.vars) {
    if (is_apart(var) || !var.is_record || schema.numrecs > 0)
      size = std::max(size, end_of(schema, var));
  }
  return size;
}

FileCheck check_file(const std::string& path, const CheckOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  FileCheck result;
  result.path = path;
  const auto error = attempt_to([&] {
    const ClassicFile file(path);
    FileChecker(file, options, result).run();
  });
  if (error) {
    result.status = CheckStatus::unreadable;
    result.error = error->message();
    result.advice = error->advice();
  }
  result.seconds = seconds_since(begin);
  return result;
}

}  // namespace forebay
