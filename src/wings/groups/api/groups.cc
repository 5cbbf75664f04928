// Definitions by name, open files by number, and one guard around each function.
#include <forebay_groups.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/attempt.h"
#include "base/hash.h"
#include "base/last_message.h"
#include "base/path.h"
#include "base/words.h"
#include "comm/agree.h"
#include "comm/mpi.h"
#include "groups/records/group_file.h"
#include "groups/records/group_reader.h"
#include "groups/records/group_targets.h"
#include "method/adios_methods.h"
#include "method/config.h"
#include "method/group_methods.h"

namespace forebay::groups {
namespace {

constexpr const char* giver_of_hints = "forebay_define_method";

/// What forebay_init() read, and what calls have defined.
struct Definitions {
  bool begun = false;
  MethodSources sources;
  std::map<std::string, GroupDefinition> groups;
  std::map<std::string, HintMap> hints;  // by group

  /// Returns the files that a group is written to, or read from the first of; the group need not be
  /// defined. Without a group that is the file itself.
  std::vector<GroupTarget> targets_of(const std::string& path, const std::string& group) const {
    const auto known = hints.find(group);
    const OwnHints own{known == hints.end() ? HintMap() : known->second, giver_of_hints};
    const auto choose = [&](const std::string& of, std::size_t which) {
      return choose_group_method(of, sources, group, which, own);
    };
    if (group.empty()) return {{path, choose(path, 0)}};
    return group_targets(path, methods_of_group(sources, group), choose);
  }
  GroupDefinition& group(const char* name) {
    if (!begun) throw Error(Errc::einval, "forebay_init was not called", "call it first");
    const auto found = groups.find(text_of(name));
    if (found != groups.end()) return found->second;
    std::vector<std::string_view> names;
    for (const auto& [known, group] : groups) names.push_back(known);
    throw Error(Errc::einval, "there is no group \"" + text_of(name) + "\"",
                did_you_mean(text_of(name), names,
                             "declare it in the file of FOREBAY_CONFIG, or by "
                             "forebay_define_group"));
  }
};

/// Holds a writer or a reader, or neither while the file is being opened.
struct OpenFile {
  std::unique_ptr<GroupFile> writer;
  std::unique_ptr<GroupReader> reader;
};

/// The state is never destroyed: at exit MPI has ended, and files left open must not call it.
struct State {
  std::mutex mutex;
  Definitions definitions;
  std::map<int, OpenFile> files;
  int last = 0;
};
State& state() {
  static auto* all = new State;
  return *all;
}

bool has_begun() {
  const std::lock_guard lock(state().mutex);
  return state().definitions.begun;
}

OpenFile& open_file(int file) {
  const std::lock_guard lock(state().mutex);
  const auto found = state().files.find(file);
  if (found == state().files.end() || (!found->second.writer && !found->second.reader))
    throw Error(Errc::ebadid, std::to_string(file) + " is no open group file");
  return found->second;
}

GroupFile& file_of(int file) {
  const OpenFile& open = open_file(file);
  int finalised = 0;
  MPI_Finalized(&finalised);
  if (open.writer && finalised)
    throw Error(Errc::ebadid, "the file was closed as MPI_Finalize was called");
  if (open.writer) return *open.writer;
  throw Error(Errc::eperm, "the file is open for reading", "open it with mode w or a");
}

GroupReader& reader_of(int file) {
  if (const auto& open = open_file(file); open.reader) return *open.reader;
  throw Error(Errc::eperm, "the file is open for writing", "open it with mode r");
}

struct Known {
  GroupType type = GroupType::int32;
  int dimensions = 0;
};

// From the file, or from the group's declaration if the file is being written.
Known known_of(int file, const std::string& name) {
  const OpenFile& open = open_file(file);
  if (open.reader) return {open.reader->type(name), open.reader->dimensions(name)};
  const GroupVariable& declared = open.writer->variable(name);
  return {declared.type, static_cast<int>(declared.dimensions.size())};
}

const char* name_argument(const char* name) {
  if (!name || !*name) throw Error(Errc::ebadname, "no name of a variable");
  return name;
}

// Splits "key=value;key=value"; the caller checks the keys.
HintMap pairs_of(const std::string& text) {
  HintMap pairs;
  for (const std::string_view one : items_of(text, ';')) {
    if (one.empty()) continue;
    const auto pair = key_and_value(one);
    if (!pair)
      throw Error(Errc::einval, "\"" + std::string(one) + "\" is no KEY=VALUE",
                  "accepted: KEY=VALUE;KEY=VALUE");
    pairs[std::string(pair->first)] = pair->second;
  }
  return pairs;
}

void set_options(GroupVariableText& variable, const std::string& options) {
  for (const auto& [key, value] : pairs_of(options)) {
    if (key == "joined")
      variable.joined = value;
    else if (key == "steps")
      variable.steps = value;
    else if (key == "characteristics")
      variable.characteristics = value;
    else
      throw Error(Errc::einval, "variable " + variable.name + " has no option " + key,
                  "accepted: joined, steps, characteristics");
  }
}

}  // namespace
}  // namespace forebay::groups

using namespace forebay;          // NOLINT(google-build-using-namespace)
using namespace forebay::groups;  // NOLINT(google-build-using-namespace)

int forebay_init(const char* xml, MPI_Comm comm) {
  return guard([&] {
    const Comm ranks = make_comm(comm);
    Definitions made;
    // Rank 0 reads, so that all ranks have the same.
    together(ranks, [&] {
      made.begun = true;
      made.sources = share_method_sources(ranks, nullptr, text_of(xml));
      if (!made.sources.config_error.empty())
        throw Error(Errc::einval,
                    "cannot read " + made.sources.config_name + ": " + made.sources.config_error,
                    "give the path of a readable XML file");
      if (!made.sources.config_name.empty()) {
        const Config config = parse_config(made.sources.config_text, made.sources.config_name);
        for (const GroupDefinition& group : config.groups) made.groups[group.name] = group;
      }
    });
    const std::lock_guard lock(state().mutex);
    state().definitions = std::move(made);
  });
}

int forebay_finalize() {
  return guard([] {
    const std::lock_guard lock(state().mutex);
    state().definitions = {};
  });
}

int forebay_define_group(const char* group, const char* language) {
  return guard([&] {
    GroupDefinition made = define_group(text_of(group), text_of(language));
    const std::lock_guard lock(state().mutex);
    Definitions& all = state().definitions;
    if (!all.begun) throw Error(Errc::einval, "forebay_init was not called", "call it first");
    if (all.groups.contains(made.name))
      throw Error(Errc::einval, "a second group " + made.name, "give it another name");
    all.groups[made.name] = std::move(made);
  });
}

int forebay_define_var(const char* group, const char* name, const char* type,
                       const char* dimensions, const char* global, const char* offsets,
                       const char* options) {
  return guard([&] {
    GroupVariableText variable;
    variable.name = text_of(name);
    variable.type = text_of(type);
    variable.dimensions = text_of(dimensions);
    variable.global = text_of(global);
    variable.offsets = text_of(offsets);
    set_options(variable, text_of(options));
    const std::lock_guard lock(state().mutex);
    define_variable(state().definitions.group(group), variable);
  });
}

int forebay_define_attribute(const char* group, const char* name, const char* value,
                             const char* type) {
  return guard([&] {
    const std::lock_guard lock(state().mutex);
    define_attribute(state().definitions.group(group), text_of(name), text_of(value),
                     text_of(type));
  });
}

int forebay_define_method(const char* group, const char* hints) {
  return guard([&] {
    const HintMap pairs = pairs_of(text_of(hints));
    Method scratch;  // checks keys now instead of when a file is opened
    HintMap keys;
    if (const auto named = pairs.find("method"); named != pairs.end())
      for (const auto& [key, value] : keys_of_adios_method(named->second, giver_of_hints))
        keys[key] = value;
    for (const auto& [key, value] : pairs)
      if (key != "method") keys[key] = value;
    for (const auto& [key, value] : keys)
      set_method_key(scratch, key, value, giver_of_hints, giver_of_hints);
    const std::lock_guard lock(state().mutex);
    const GroupDefinition& known = state().definitions.group(group);
    for (const auto& [key, value] : keys) state().definitions.hints[known.name][key] = value;
  });
}

int forebay_open(int* file, const char* group, const char* path, const char* mode, MPI_Comm comm) {
  return guard([&] {
    const Comm ranks = make_comm(comm);
    GroupDefinition definition;
    std::vector<GroupTarget> targets;
    OpenFile made;
    bool append = false, reads = false;
    int number = 0;
    const auto begin = [&] {
      if (!file || !path || !*path)
        throw Error(Errc::einval, "no path, or nowhere to put a number");
      const std::string how = text_of(mode);
      if (how != "w" && how != "a" && how != "r")
        throw Error(Errc::einval, "mode \"" + how + "\"", "accepted: w, a, r");
      append = how == "a";
      reads = how == "r";
      const bool begun = has_begun();
      const std::string asked = how + (begun ? "b" : "") + '\0' + path + '\0' + text_of(group);
      const auto hash = static_cast<std::int64_t>(hash_of(std::as_bytes(std::span(asked))) >> 2);
      const std::string folder = current_folder();
      const auto at = static_cast<std::int64_t>(hash_of(std::as_bytes(std::span(folder))) >> 2);
      std::array<std::int64_t, 4> both{hash, -hash, at, -at};
      ranks.all_reduce(both, Reduce::min);
      if (both[0] != -both[1])
        throw Error(Errc::emultidefine_fnc_args, "ranks open different files, groups or modes",
                    "give forebay_open equal arguments on all ranks");
      std::string of_root = folder;
      if (both[2] != -both[3]) ranks.broadcast(of_root);
      Definitions none;
      if (reads && !begun) none.sources = share_method_sources(ranks);
      const std::lock_guard lock(state().mutex);
      Definitions& all = state().definitions;
      if (reads) {
        targets = (begun ? all : none).targets_of(path, text_of(group));
      } else {
        definition = all.group(group);
        targets = all.targets_of(path, definition.name);
      }
      for (auto& [name, method] : targets) {
        name = absolute_path(name, of_root);
        method.burst_directory = absolute_path(method.burst_directory, of_root);
      }
      number = state().last + 1;
      state().files[number];  // after the file's creation nothing may fail
      state().last = number;
    };
    const auto failed = attempt_to([&] {
      together(ranks, begin);
      if (reads)
        together(ranks, [&] {
          const auto& [name, method] = targets.front();
          made.reader = std::make_unique<GroupReader>(ranks, name, method);
        });
      else
        made.writer = GroupFile::create(ranks, std::move(targets), definition, append);
    });
    const std::lock_guard lock(state().mutex);
    if (failed) {
      state().files.erase(number);
      throw *failed;
    }
    state().files[number] = std::move(made);
    *file = number;
  });
}

int forebay_group_size(int file, int64_t bytes) {
  return guard([&] { file_of(file).expect_size(bytes); });
}

int forebay_write(int file, const char* name, const void* data) {
  return guard([&] { file_of(file).write(name_argument(name), data, false); });
}

int forebay_write_later(int file, const char* name, const void* data) {
  return guard([&] { file_of(file).write(name_argument(name), data, true); });
}

int forebay_write_box(int file, const char* name, const int64_t* shape, const int64_t* start,
                      const int64_t* count, const void* data) {
  return guard([&] {
    file_of(file).write_box(name_argument(name), {shape, start, count}, data, false);
  });
}

int forebay_end_step(int file) {
  return guard([&] { file_of(file).end_step(); });
}

int forebay_sync(int file) {
  return guard([&] { file_of(file).sync(); });
}

int forebay_close(int file) {
  return guard([&] {
    open_file(file);
    OpenFile last;
    {
      const std::lock_guard lock(state().mutex);
      last = std::move(state().files[file]);
      state().files.erase(file);
    }
    last.writer ? last.writer->close() : last.reader->close();
  });
}

int forebay_begin_step(int file, double timeout, int64_t* step, int* status) {
  return guard([&] {
    using process_group::StepStatus;
    std::int64_t next = 0;
    const StepStatus found = reader_of(file).begin_step(timeout, next);
    if (step && found == StepStatus::ok) *step = next;
    if (status)
      *status = found == StepStatus::ok          ? FOREBAY_STEP_OK
                : found == StepStatus::not_ready ? FOREBAY_STEP_NOT_READY
                                                 : FOREBAY_STEP_END;
  });
}

int forebay_inq_steps(int file, int64_t* steps) {
  return guard([&] { answer_at(steps) = reader_of(file).steps(); });
}

int forebay_inq_nvars(int file, int* nvars) {
  return guard([&] { answer_at(nvars) = reader_of(file).variables(); });
}

int forebay_inq_varname(int file, int number, const char** name) {
  return guard([&] { answer_at(name) = reader_of(file).name(number).c_str(); });
}

int forebay_inq_var(int file, const char* name, const char** type, int* ndims) {
  return guard([&] {
    const Known known = known_of(file, name_argument(name));
    if (type) *type = name_of(known.type);
    if (ndims) *ndims = known.dimensions;
  });
}

int forebay_expect(int file, const char* name, const char* type, int ndims) {
  return guard([&] {
    const std::string which = name_argument(name);
    const auto wanted = group_type(lower_case(text_of(type)));
    if (!wanted)
      throw Error(Errc::ebadtype, "there is no type \"" + text_of(type) + "\"",
                  std::string("accepted: ") + group_type_names());
    const Known known = known_of(file, which);
    if (known.type != *wanted)
      throw Error(Errc::ebadtype,
                  "variable " + which + " is " + name_of(known.type) + ", not " + name_of(*wanted),
                  "read it as what it is");
    if (known.dimensions != ndims)
      throw Error(Errc::ebaddim,
                  "variable " + which + " has " + std::to_string(known.dimensions) +
                      " dimensions, not " + std::to_string(ndims),
                  "read it as what it is");
  });
}

int forebay_inq_shape(int file, const char* name, int64_t step, int64_t* shape, int64_t* bytes) {
  return guard([&] {
    const GroupReader& from = reader_of(file);
    const std::string which = name_argument(name);
    const std::vector<std::int64_t> extents = from.shape(which, step);
    if (shape) std::copy(extents.begin(), extents.end(), shape);
    if (bytes) *bytes = from.bytes(which, step);
  });
}

int forebay_inq_blocks(int file, const char* name, int64_t step, int64_t* nblocks) {
  return guard([&] { answer_at(nblocks) = reader_of(file).blocks(name_argument(name), step); });
}

int forebay_inq_block(int file, const char* name, int64_t step, int64_t block, int64_t* start,
                      int64_t* count) {
  return guard([&] { reader_of(file).block(name_argument(name), step, block, start, count); });
}

int forebay_inq_statistics(int file, const char* name, int64_t step, int* any, double* least,
                           double* greatest) {
  return guard([&] {
    double low = 0, high = 0;
    answer_at(any) = reader_of(file).range(name_argument(name), step, low, high);
    if (least && *any == 1) *least = low;
    if (greatest && *any == 1) *greatest = high;
  });
}

int forebay_inq_moments(int file, const char* name, int64_t step, int64_t* count, double* mean,
                        double* deviation) {
  return guard([&] {
    double about = 0, spread = 0;
    answer_at(count) = reader_of(file).moments(name_argument(name), step, about, spread);
    if (mean && *count > 0) *mean = about;
    if (deviation && *count > 0) *deviation = spread;
  });
}

int forebay_find(int file, const char* condition, int64_t most, int64_t* steps, int64_t* blocks,
                 int64_t* found) {
  return guard([&] {
    if (!condition) throw Error(Errc::einval, "no condition", "give one such as \"T > 300\"");
    answer_at(found) = reader_of(file).find(condition, most, steps, blocks);
  });
}

int forebay_read(int file, const char* name, int64_t step, const int64_t* start,
                 const int64_t* count, void* data) {
  return guard([&] { reader_of(file).read(name_argument(name), step, start, count, data); });
}

int forebay_read_later(int file, const char* name, int64_t step, const int64_t* start,
                       const int64_t* count, void* data) {
  return guard([&] { reader_of(file).read_later(name_argument(name), step, start, count, data); });
}

int forebay_perform_reads(int file) {
  return guard([&] { reader_of(file).perform_reads(); });
}

int forebay_read_block(int file, const char* name, int64_t step, int64_t block, void* data) {
  return guard([&] { reader_of(file).read_block(name_argument(name), step, block, data); });
}
