#include "method/method_keys.h"

#include <algorithm>
#include <array>
#include <deque>
#include <string>
#include <vector>

#include "base/words.h"
#include "codec/pipeline.h"
#include "method/part.h"

namespace forebay {
namespace {

constexpr std::array<std::string_view, 3> exchanges = {"auto", "shared", "message"};
constexpr std::array<std::string_view, 3> client_caches = {"auto", "coherent", "weak"};
constexpr std::array<std::string_view, 3> subfilings = {"none", "node", "ranks"};
constexpr std::array<std::string_view, 2> splits = {"none", "step"};
constexpr std::array<std::string_view, 16> redundancies = {
    "none",  "xor:2",  "xor:3",  "xor:4",  "xor:5",  "xor:6",  "xor:7",  "xor:8",
    "xor:9", "xor:10", "xor:11", "xor:12", "xor:13", "xor:14", "xor:15", "xor:16"};
constexpr std::array<std::string_view, 3> swaps = {"auto", "enable", "disable"};

constexpr std::array<std::string_view, 2> bundle_create_words = {"at_once", "later"};
constexpr std::array<std::string_view, 7> bundle_scheme_words = {"auto", "off", "joint",   "bps",
                                                                 "lps",  "ips", "balanced"};

constexpr Count kib = 1024;
constexpr Count no_limit = std::numeric_limits<Count>::max();
constexpr int most_ranks = std::numeric_limits<int>::max();

/// Texts for keys, made from the parts' texts; they are never moved or destroyed.
const char* kept(std::string text) {
  static auto& texts = *new std::deque<std::string>;
  return texts.emplace_back(std::move(text)).c_str();
}

/// The key that chooses among the parts of a kind. `other` is a word that is not a part, with its
/// help.
KeySpec part_key(PartKind kind, const char* name, const char* standard, std::string Method::*member,
                 const char* question, const char* other = nullptr,
                 const char* help_of_other = nullptr) {
  static auto& kept_words = *new std::deque<std::vector<std::string_view>>;
  auto& words = kept_words.emplace_back();
  std::string accepted, help;
  if (other) words.emplace_back(other), accepted = std::string(other) + "|";
  for (const Part* part : parts(kind)) {
    words.emplace_back(part->name);
    help += std::string(help.empty() ? "" : "; ") + part->name + ": " + part->help;
  }
  if (other) help += std::string("; ") + other + ": " + help_of_other;
  accepted += part_names(kind, "|");
  return word_key(
      {name, kept(accepted), standard, kept(std::string(question) + " " + help + "."), "method"},
      member, words);
}

/// "none, or stages of shuffle|…", including codecs that this build may lack.
const char* codec_words() {
  return kept("none, or stages of " +
              joined(codec_descriptions(), "|", [](const auto& codec) { return codec.name; }));
}

void add_method_keys(std::vector<KeySpec>& keys) {
  keys.push_back(part_key(PartKind::container, "container", "classic", &Method::container,
                          "What a new file is to a stranger; one that exists tells by itself."));
  keys.push_back(part_key(PartKind::transport, "transport", "auto", &Method::transport,
                          "Which rank makes which system call."));
  keys.push_back(
      part_key(PartKind::layout, "layout", "canonical", &Method::layout,
               "Where the elements of a variable lie.", "auto",
               "canonical for netCDF, and for HDF5, where it is the default, log for all files "
               "that a log can serve; for groups, where it is the default, too, process-group, or "
               "where the path ends in .nc canonical, with a codec chunked; the first step's sizes "
               "tell how many data files there are, and whether chunks are worth it "
               "(docs/groups.md)"));
  keys.push_back(part_key(PartKind::stage, "stage", "auto", &Method::stage,
                          "Where requests wait before they are laid out."));
  keys.push_back(plain_key({"codec", codec_words(), "none",
                            "What bytes stand for a chunk of a chunked variable, a part of a "
                            "decomposed one's slabs, or a block of a BP file: a pipeline of "
                            "stages, separated by commas, "
                            "each with parameters after a colon "
                            "(shuffle,zstd:3). Lossy stages need an error bound and apply to "
                            "floating-point variables; given for a whole file they leave "
                            "coordinate variables exact.",
                            "method"},
                           KeyKind::codec, KeyFamily::own)
                     .honoured_by(netcdf_files | FrontEnd::hdf5 | FrontEnd::checkpoints |
                                  FrontEnd::groups | FrontEnd::convert_hdf5 |
                                  FrontEnd::convert_zarr)
                     .with(encoded_layouts));
}

// Keys that several parts or no part uses.
constexpr KeySpec common_keys[] = {
    word_key({"exchange", "auto|shared|message", "auto",
              "How pieces reach an aggregator: through memory that the ranks of a node share, or "
              "as messages.",
              "engine"},
             place_in<&Method::exchange>, exchanges)
        .honoured_by(netcdf_files | bp_files | FrontEnd::bundles),
    word_key({"split", "none|step", "none",
              "Whether each step of a group that is written as netCDF is a file of its own "
              "(NAME.000000.nc, …), where extents may differ, or a record (docs/groups.md).",
              "engine"},
             place_in<&Method::split>, splits)
        .honoured_by(FrontEnd::group_records),
    word_key(
        {"subfiling", "none|node|ranks", "none",
         "Layout log: data goes into one subfile for each node, or for each subfile_ranks "
         "ranks, in the folder FILE.subfiles. Layout patches: into as many files, about equally "
         "large (patch_files). Layout decomposed, and layout chunked with "
         "container=directory, always have such files: one for each node, unless this says "
         "otherwise; none: one for all.",
         "engine"},
        place_in<&Method::subfiling>, subfilings)
        .honoured_by(netcdf_files | FrontEnd::hdf5 | bp_files)
        .with(files_of_data),
    count_key({"subfile_ranks", "a number, at least 1", "1",
               "How many ranks share a subfile with subfiling=ranks.", "engine"},
              &Method::subfile_ranks, 1, most_ranks)
        .honoured_by(netcdf_files | FrontEnd::hdf5 | bp_files)
        .with("subfiling=ranks"),
    size_key(
        {"log_memory", "bytes, at least 1MiB", "64MiB",
         "Layouts log and decomposed, and BP files of groups: bytes that a rank may hold of the "
         "index of a file that it reads.",
         "engine"},
        &Method::log_memory, 1 << 20)
        .honoured_by(netcdf_files | FrontEnd::hdf5 | bp_files)
        .with("layout=decomposed"),
    word_key({"client_caches", "auto|coherent|weak", "auto",
              "Whether nodes see each other's writes at once (coherent), or have to go to the "
              "server for them where ranks meet (weak: NFS, GlusterFS). auto: by the kind of file "
              "system (docs/filesystems.md).",
              "engine"},
             place_in<&Method::client_caches>, client_caches),
    size_key(
        {"buffer_limit", "bytes, at least 4KiB", "64MiB",
         "Bytes that a rank may hold for staging and aggregation; more goes in rounds.", "engine"},
        &Method::buffer_limit, 4 * kib)
        .honoured_by(netcdf_files | FrontEnd::hdf5 | bp_files | FrontEnd::bundles | conversions),
    size_key({"hole_threshold", "bytes, at least 0", "64KiB",
              "Reads bridge holes of up to this many bytes with one system call; windows with "
              "smaller holes are read, changed and written back whole. 0 where several groups of "
              "ranks write one file side by side, each through an opening of its own.",
              "engine"},
             &Method::hole_threshold, 0)
        .honoured_by(netcdf_files | bp_files),
    plain_key(
        {"bundle", "a name", "not given",
         "Files of this name are written together, the ranks divided among them: their writes "
         "and closes wait until the bundle is written (docs/bundles.md).",
         "engine"},
        KeyKind::kept, KeyFamily::own)
        .honoured_by(FrontEnd::netcdf),
    count_key({"bundle_files", "a number, at least 0", "0",
               "A bundle is written once so many of its files are closed. 0: when one of them is "
               "synchronised or opened again, memory is full, or the program ends.",
               "engine"},
              nullptr, 0, most_ranks)
        .honoured_by(FrontEnd::netcdf | FrontEnd::bundles)
        .with(bundled_files),
    word_key(
        {"bundle_scheme", "auto|off|joint|bps|lps|ips|balanced", "auto",
         "How ranks are divided among the files of a bundle; joint: all for all, off: one file "
         "after the other.",
         "engine"},
        nullptr, bundle_scheme_words)
        .honoured_by(FrontEnd::netcdf | FrontEnd::bundles)
        .with(bundled_files),
    size_key({"bundle_memory", "bytes, at least 0", "0",
              "Bytes of a bundle's writes that a rank keeps until they are written. 0: "
              "buffer_limit.",
              "engine"},
             nullptr, 0)
        .honoured_by(FrontEnd::netcdf | FrontEnd::bundles)
        .with(bundled_files),
    word_key({"bundle_async", "enable|disable", "disable",
              "A bundle that has as many files closed as bundle_files says is written by a thread, "
              "while the program goes on.",
              "engine"},
             nullptr, switches)
        .honoured_by(FrontEnd::netcdf | FrontEnd::bundles)
        .with(bundled_files),
    word_key(
        {"bundle_create", "at_once|later", "at_once",
         "later: new files of a bundle are made by threads while the program goes on, and what "
         "fails is told when the bundle is written.",
         "engine"},
        nullptr, bundle_create_words)
        .honoured_by(FrontEnd::netcdf)
        .with(bundled_files),
    size_key({"checkpoint_memory", "bytes, at least 0", "256MiB",
              "Bytes of checkpoints of an adjoint computation that a rank keeps in memory "
              "(docs/checkpoints.md). 0: each is in a file when it was pushed.",
              "engine"},
             &Method::checkpoint_memory, 0)
        .honoured_by(FrontEnd::checkpoints),
    {.shown = {"checkpoint_fast", "none, or a directory", "none",
               "Where checkpoints go that have no room in memory, as a node's own disk.", "engine"},
     .kind = KeyKind::text,
     .family = KeyFamily::own,
     .word = &Method::checkpoint_fast,
     .front_ends = FrontEnd::checkpoints},
    size_key({"checkpoint_fast_bytes", "bytes, at least 0", "0",
              "Bytes that a rank's checkpoints take there at most; 0: as many as there is room "
              "for.",
              "engine"},
             &Method::checkpoint_fast_bytes, 0)
        .honoured_by(FrontEnd::checkpoints),
    {.shown = {"checkpoint_dir", "none, or a directory", "none",
               "Where checkpoints go that have room nowhere else; none: where their name says.",
               "engine"},
     .kind = KeyKind::text,
     .family = KeyFamily::own,
     .word = &Method::checkpoint_dir,
     .front_ends = FrontEnd::checkpoints},
    size_key({"checkpoint_dir_bytes", "bytes, at least 0", "0",
              "Bytes that a rank's checkpoints take there at most; 0: as many as there is room "
              "for.",
              "engine"},
             &Method::checkpoint_dir_bytes, 0)
        .honoured_by(FrontEnd::checkpoints),
    count_key({"checkpoint_keeping", "a number, at least 0", "0",
               "How many steps of the model take as long as a state is encoded and written: where "
               "that is much, forebay_schedule_next keeps fewer states, and computes more of "
               "them again. The same on all ranks.",
               "engine"},
              nullptr, 0, most_ranks)
        .honoured_by(FrontEnd::checkpoints),
    word_key({"redundancy", "none, or xor:2 to xor:16", "none",
              "Whether checkpoints in files survive the loss of a node with its own disk: xor:N "
              "keeps parity in sets of N ranks on different nodes, after each "
              "forebay_checkpoint_sync, which is collective then (docs/checkpoints.md).",
              "engine"},
             nullptr, redundancies)
        .honoured_by(FrontEnd::checkpoints),
    count_key({"ranks_per_node", "a number, at least 0", "0",
               "For tests: pretend that every node has this many ranks; 0 asks MPI.", "engine"},
              &Method::ranks_per_node, 0, most_ranks)
        .honoured_by(netcdf_files | FrontEnd::hdf5 | bp_files | FrontEnd::bundles |
                     FrontEnd::checkpoints),
    word_key({"nc_in_place_swap", "auto|enable|disable", "auto",
              "Whether the byte order may be changed in the caller's own write buffer. Accepted "
              "for compatibility: Forebay never writes to it.",
              "pnetcdf"},
             nullptr, swaps, KeyFamily::pnetcdf),
    size_key({"nc_ibuf_size", "bytes, at least 0", "16MiB",
              "PnetCDF's limit of temporary memory for non-contiguous requests. Accepted for "
              "compatibility; see buffer_limit.",
              "pnetcdf"},
             &Method::ibuf_size, 0, no_limit, KeyFamily::pnetcdf),
    word_key(
        {"pnetcdf_subfiling", "enable|disable", "disable",
         "PnetCDF's word for several files in place of one: enable is layout=decomposed, where "
         "no layout is named (docs/decomposed.md).",
         "pnetcdf"},
        nullptr, switches, KeyFamily::pnetcdf)
        .with("layout=decomposed"),
    count_key({"nc_num_subfiles", "a number, at least 0", "0",
               "With pnetcdf_subfiling=enable, how many data files, at most: neighbouring ranks "
               "share one. 0: as subfiling says, which goes before it where both are given.",
               "pnetcdf"},
              nullptr, 0, most_ranks, KeyFamily::pnetcdf)
        .with("pnetcdf_subfiling=enable and layout=decomposed"),
    size_key({"striping_unit", "bytes", "0",
              "Bytes of one stripe of the file system: file domains are cut at its multiples. 0: "
              "as the file system says (docs/filesystems.md). Passed on.",
              "mpi-io"},
             &Method::striping_unit, 0, no_limit, KeyFamily::mpi_io)
        .honoured_by(netcdf_files | bp_files),
    size_key({"striping_factor", "a number", "0",
              "Over how many devices the file is striped. Passed on.", "mpi-io"},
             &Method::striping_factor, 0, no_limit, KeyFamily::mpi_io),
};

/// The condition that a variable has a layout that `takes` the key: first those with chunks.
template <typename F>
std::string any_layout(F&& takes) {
  std::string condition;
  for (const Encoded encoded : {Encoded::chunks, Encoded::slabs, Encoded::nothing})
    for (const Part* part : parts(PartKind::layout))
      if (part->encoded == encoded && takes(*part))
        condition += (condition.empty() ? "layout=" : "|") + std::string(part->name);
  return condition;
}

std::string any_data_files() {
  const auto always = [](const Part& part) { return part.data_files && *part.data_files == 0; };
  std::string condition = any_layout(always);
  for (const Part* part : parts(PartKind::layout))
    if (part->data_files && !always(*part))
      condition += (condition.empty() ? "layout=" : " or layout=") + std::string(part->name) +
                   " and " + part->data_files;
  return condition;
}

const char* without_braces(std::string needs) {
  const std::pair<std::string_view, std::string> words[] = {
      {"{chunks}", any_layout([](const Part& p) { return p.encoded == Encoded::chunks; })},
      {"{encoded}", any_layout([](const Part& p) { return p.encoded != Encoded::nothing; })},
      {"{data files}", any_data_files()}};
  for (const auto& [word, condition] : words)
    if (const auto at = needs.find(word); at != std::string::npos)
      needs.replace(at, word.size(), condition);
  return kept(std::move(needs));
}

std::vector<KeySpec> make_specs() {
  std::vector<KeySpec> keys;
  add_method_keys(keys);
  for (const auto kind :
       {PartKind::transport, PartKind::container, PartKind::layout, PartKind::stage}) {
    for (const Part* part : parts(kind))
      keys.insert(keys.end(), part->keys.begin(), part->keys.end());
  }
  keys.insert(keys.end(), std::begin(common_keys), std::end(common_keys));
  for (KeySpec& key : keys) {
    if (key.kind == KeyKind::choice) key.words = switches;
    if (key.needs) key.needs = without_braces(key.needs);
  }
  return keys;
}

}  // namespace

std::span<const KeySpec> key_specs() {
  static const auto& specs = *new std::vector<KeySpec>(make_specs());
  return specs;
}

const KeySpec* find_key_spec(std::string_view key) {
  const auto specs = key_specs();
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const KeySpec& spec) { return spec.shown.name == key; });
  return found == specs.end() ? nullptr : &*found;
}

void put_word(Method& method, const KeySpec& key, std::string_view word) {
  if (key.place.set) {
    const auto place = std::find(key.words.begin(), key.words.end(), word) - key.words.begin();
    return key.place.set(method, static_cast<std::size_t>(place));
  }
  (key.word ? method.*key.word : method.of_parts[key.shown.name]) = word;
}

std::vector<CodecKey> codec_keys() {
  std::vector<CodecKey> keys;
  for (const CodecDescription& c : codec_descriptions())
    keys.push_back({c.name, c.parameters, c.help, c.lossy});
  return keys;
}

bool is_mpi_io_key(std::string_view key) {
  constexpr std::array<std::string_view, 9> known = {
      "access_style",       "cb_block_size",      "collective_buffering", "file_perm",
      "ind_rd_buffer_size", "ind_wr_buffer_size", "io_node_list",         "nb_proc",
      "num_io_nodes"};
  return key.starts_with("romio_") || key.starts_with("direct_") ||
         std::find(known.begin(), known.end(), key) != known.end();
}

std::span<const MethodKey> method_keys() {
  static const auto& keys = *[] {
    auto* shown = new std::vector<MethodKey>;
    for (const KeySpec& spec : key_specs()) shown->push_back(spec.shown);
    return shown;
  }();
  return keys;
}

}  // namespace forebay
