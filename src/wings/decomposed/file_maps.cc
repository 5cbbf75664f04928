#include "decomposed/file_maps.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "array/convert.h"
#include "base/attempt.h"
#include "base/report.h"
#include "base/shortage.h"
#include "decomposed/decomposed_reader.h"
#include "decomposed/format/decomposed_schema.h"
#include "decomposed/replay.h"
#include "decomposed/state_file.h"
#include "storage/file.h"
#include "transport/direct_io.h"

namespace forebay::decomposed {
namespace {

constexpr Count most_bytes = 8 << 20;  // of a part that is converted

std::uint64_t take_over_anchors(Schema& schema) {
  std::uint64_t id = 0;
  schema = from_stored(schema, id);
  return id;
}

StateFile state_of(const std::string& path, std::uint64_t id, Report& report, OpenState which) {
  StateFile file(std::make_shared<File>(state_path(path), false, 0, report), id);
  file.load(which);
  return file;
}

class FileMaps final : public SlabReader {
 public:
  explicit FileMaps(const ReaderSite& site);

  bool keeps(const Variable& var) const override { return is_decomposed(var); }
  bool read(VarId var, const Subarray& selection, Type type, void* out, int threads,
            int level) const override;
  bool is_newest() const override { return is_newest_; }
  bool changed() const override;
  std::unique_ptr<SlabReplay> replay(Count most) const override;
  const std::optional<Error>& damage() const override { return damage_; }
  MapFacts facts() const override;
  std::vector<SlabFacts> slab_facts() const override;
  MapsCheck check(bool decode, const std::function<void(Count)>& progress) const override;
  bool has_damaged_slot() const override { return damaged_slot_; }

 private:
  class Slabs;
  bool read_part(const Variable& var, VarId id, const Subarray& selection, Type type,
                 std::byte* out) const;
  template <typename F>
  auto as_of_newest(F&& f) const {
    const std::lock_guard<std::mutex> lock(reading_);
    decltype(f()) result{};
    reader_.as_of_newest(which_, [&] { result = f(); });
    return result;
  }

  const Schema& schema_;
  const std::string& path_;
  OpenState which_;
  std::uint64_t id_;
  std::optional<Error> damage_;
  State newest_;  // at the time of opening
  bool damaged_slot_ = false, is_newest_ = false;
  mutable std::mutex reading_;
  mutable Report report_;
  mutable Selector selector_;
  mutable Reader reader_;
};

/// Replay, in turn with other reads of the file, and as of its newest commit.
class FileMaps::Slabs final : public SlabReplay {
 public:
  Slabs(const FileMaps& maps, Count most)
      : maps_(maps), replay_(maps.reader_, maps.schema_, most) {}

  std::optional<std::vector<SlabPart>> parts_of(VarId var) override {
    if (maps_.damage_) throw *maps_.damage_;
    return maps_.as_of_newest([&] { return replay_.parts_of(var); });
  }
  Count elements_of(const SlabPart& part) override {
    const std::lock_guard<std::mutex> lock(maps_.reading_);
    return replay_.elements_of(part);
  }
  std::vector<Count> places_of(const SlabPart& part) override {
    const std::lock_guard<std::mutex> lock(maps_.reading_);
    return replay_.places_of(part);
  }
  std::optional<Offset> plain_place(const SlabPart& part) override {
    return maps_.as_of_newest([&] { return replay_.plain_place(part); });
  }
  std::vector<std::byte> slab_bytes(const SlabPart& part) override {
    return maps_.as_of_newest([&] { return replay_.slab_bytes(part); });
  }
  Runs read(const SlabPart& part, std::byte* out) override {
    return maps_.as_of_newest([&] { return replay_.read(part, out); });
  }

 private:
  const FileMaps& maps_;
  Replay replay_;
};

FileMaps::FileMaps(const ReaderSite& site)
    : schema_(site.schema),
      path_(site.path),
      which_(site.state),
      id_(take_over_anchors(site.schema)),
      selector_(most_bytes),
      reader_(schema_, path_, read_directly, {.caches = data_files::caches_to_read(path_)}, 0,
              report_) {
  damage_ = attempt_to([&] {
    require_data_files(path_);
    const StateFile file = state_of(path_, id_, report_, which_);
    newest_ = file.state();
    damaged_slot_ = file.has_damaged_slot();
    is_newest_ = newest_.epoch == file.newest_epoch() && !damaged_slot_;
    check_records(newest_, schema_);
    site.schema.numrecs = newest_.records;
    reader_.use(newest_, damaged_slot_ && which_ == OpenState::newest);
  });
  if (damage_ && is_shortage(*damage_)) throw *damage_;
}

std::unique_ptr<SlabReplay> FileMaps::replay(Count most) const {
  return std::make_unique<Slabs>(*this, most);
}

// A selection that needs conversion is halved until its parts are small.
bool FileMaps::read_part(const Variable& var, VarId id, const Subarray& selection, Type type,
                         std::byte* out) const {
  const Type external = external_for(var.type, type, schema_.version);
  const Count width = size_of(external), elements = selection.elements();
  const bool plain = is_plain_copy(external, type);
  if (!plain && elements * width > most_bytes) {
    const auto [first, rest] = halves_of(selection);
    const bool a = read_part(var, id, first, type, out);
    const bool b = read_part(var, id, rest, type, out + first.elements() * size_of(type));
    return a || b;
  }
  std::vector<std::byte> stored(static_cast<std::size_t>(plain ? 0 : elements * width));
  Request r;
  r.var = id;
  r.selection = selection;
  r.elements = elements;
  r.packed = plain ? out : stored.data();
  r.element_size = static_cast<int>(width);
  r.swap = plain ? static_cast<int>(width) : 1;
  selector_.begin_operation();
  std::vector<Wanted> wanted;
  for (Part& part : selector_.parts_of(r, var)) wanted.push_back({&r, std::move(part)});
  reader_.as_of_newest(which_, [&] { reader_.read(wanted); });
  return !plain && from_external(external, stored.data(), type, out, elements, nullptr);
}

bool FileMaps::read(VarId id, const Subarray& selection, Type type, void* out, int threads,
                    int /*level*/) const {
  const Variable& var = schema_.vars[static_cast<std::size_t>(id)];
  if (damage_) throw damage_->at("variable " + var.name);
  const std::lock_guard<std::mutex> lock(reading_);
  reader_.use_threads(threads);
  return read_part(var, id, selection, type, static_cast<std::byte*>(out));
}

MapFacts FileMaps::facts() const {
  if (damage_) throw *damage_;
  const std::lock_guard<std::mutex> lock(reading_);
  MapFacts facts;
  facts.files = newest_.files;
  facts.epoch = newest_.epoch;
  facts.synced = newest_.synced;
  for (std::uint32_t file = 0; file < newest_.files; ++file) {
    const FileIndex& index = reader_.index(file);
    facts.maps += index.maps();
    facts.patterns += index.patterns();
    facts.metadata_bytes += reader_.metadata_bytes(file);
    index.for_each_slab([&](const Entry& e) {
      facts.slabs += e.has_values();
      facts.slab_bytes += e.bytes;
      facts.stored_bytes += e.stored_bytes();
    });
  }
  return facts;
}

std::vector<SlabFacts> FileMaps::slab_facts() const {
  if (damage_) throw *damage_;
  const std::lock_guard<std::mutex> lock(reading_);
  std::vector<SlabFacts> all(schema_.vars.size());
  for (std::uint32_t file = 0; file < newest_.files; ++file)
    reader_.index(file).for_each_slab([&](const Entry& e) {
      if (static_cast<std::size_t>(e.var) >= all.size() || !e.has_values()) return;
      SlabFacts& facts = all[static_cast<std::size_t>(e.var)];
      ++facts.slabs;
      facts.parts += std::ssize(e.parts);
      facts.bytes += e.bytes;
      facts.stored_bytes += e.stored_bytes();
      const Count width = size_of(schema_.vars[static_cast<std::size_t>(e.var)].type);
      facts.raw_parts += std::count_if(e.parts.begin(), e.parts.end(), [&](const auto& part) {
        return part.bytes == part.elements * width;
      });
    });
  return all;
}

MapsCheck FileMaps::check(bool decode, const std::function<void(Count)>& progress) const {
  MapsCheck check;
  check.parts.resize(schema_.vars.size());
  if (damage_) {
    check.problems.push_back(damage_->message());
    return check;
  }
  const std::lock_guard<std::mutex> lock(reading_);
  Count done = 0;
  const auto look = [&](auto&& f) {
    const auto failed = attempt_to(f);
    if (failed && is_shortage(*failed)) throw *failed;
    if (failed) check.problems.push_back(failed->message());
  };
  const auto tell = [&](const Entry& slab, const StoredPart& part,
                        const std::optional<Error>& failed) {
    if (failed && is_shortage(*failed)) throw *failed;
    if (progress) progress(done += part.bytes);
    if (static_cast<std::size_t>(slab.var) >= check.parts.size()) return;
    auto& of = check.parts[static_cast<std::size_t>(slab.var)];
    ++of.verified;
    of.bytes += part.bytes;
    if (!failed) return;
    if (of.damaged == 0) of.problem = failed->message();
    ++of.damaged;
  };
  const auto failed = attempt_to([&] {
    reader_.as_of_newest(which_, [&] {
      check = {};
      check.parts.resize(schema_.vars.size());
      done = 0;
      // A damaged state may name any number of files. Only existing ones are read.
      const std::uint32_t files = reader_.state().files;
      const auto there = data_files_of(path_, files);
      if (there.size() < files) {
        std::uint32_t missing = 0;
        while (missing < there.size() && there[missing] == missing) ++missing;
        look([&] { reader_.index(missing); });
        if (files - there.size() > 1)
          check.problems.push_back(folder_of(path_) + ": " +
                                   std::to_string(files - there.size() - 1) +
                                   " more data files are not there");
      }
      for (const std::uint32_t file : there)
        look([&] {
          for (std::uint32_t n = 0; n < reader_.index(file).patterns(); ++n)
            reader_.pattern(file, n);
          for (std::uint32_t n = 0; n < reader_.index(file).maps(); ++n)
            reader_.check_inverse(file, n);
          reader_.check_parts(file, decode, tell);
          const FileIndex& index = reader_.index(file);
          ++check.files;
          check.maps += index.maps();
          check.patterns += index.patterns();
          index.for_each_slab([&](const Entry& e) {
            check.slabs += e.has_values();
            check.bytes += e.bytes;
          });
        });
      look([&] { reader_.check_roots(); });
    });
  });
  if (failed && is_shortage(*failed)) throw *failed;
  if (failed) check.problems.push_back(failed->message());
  return check;
}

bool FileMaps::changed() const {
  if (damage_) return false;
  const std::lock_guard<std::mutex> lock(reading_);
  State now;
  const auto failed = attempt_to([&] { now = state_of(path_, id_, report_, which_).state(); });
  return failed || now.epoch != newest_.epoch;
}

}  // namespace

std::unique_ptr<VariableReader> open_maps(const ReaderSite& site) {
  return std::make_unique<FileMaps>(site);
}

}  // namespace forebay::decomposed
