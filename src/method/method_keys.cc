#include "method/method_keys.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "codec/pipeline.h"

namespace forebay {
namespace {

using Words = std::span<const std::string_view>;

constexpr std::array<std::string_view, 5> transports = {"auto", "posix", "independent",
                                                        "collective", "aggregated"};
constexpr std::array<std::string_view, 4> layouts = {"auto", "canonical", "chunked", "log"};
constexpr std::array<std::string_view, 3> later_layouts = {"decomposed", "patches",
                                                           "process-group"};
constexpr std::array<std::string_view, 3> subfilings = {"none", "node", "ranks"};
constexpr std::array<std::string_view, 2> compactings = {"never", "close"};
constexpr std::array<std::string_view, 2> chunk_states = {"newest", "synced"};
constexpr std::array<std::string_view, 3> chunk_reads = {"auto", "owners", "everyone"};
constexpr std::array<std::string_view, 2> stages = {"direct", "burst"};
constexpr std::array<std::string_view, 2> later_stages = {"memory", "async"};
constexpr std::array<std::string_view, 3> burst_orders = {"two-level", "replay", "flatten"};
constexpr std::array<std::string_view, 3> recoveries = {"refuse", "auto", "ignore"};
constexpr std::array<std::string_view, 3> exchanges = {"auto", "shared", "message"};
constexpr std::array<std::string_view, 3> swaps = {"auto", "enable", "disable"};
constexpr std::array<std::string_view, 2> switches = {"enable", "disable"};

constexpr Count kib = 1024, mib = 1024 * kib, gib = 1024 * mib;

KeySpec word_key(MethodKey shown, KeyFamily family, std::string Method::*member, Words words,
                 Words later = {}) {
  return {.shown = shown,
          .kind = KeyKind::word,
          .family = family,
          .word = member,
          .words = words,
          .later = later};
}

KeySpec size_key(MethodKey shown, KeyFamily family, Count Method::*member, Count least,
                 Count most = std::numeric_limits<Count>::max()) {
  return {.shown = shown,
          .kind = KeyKind::size,
          .family = family,
          .size = member,
          .least = least,
          .most = most};
}

KeySpec plain_key(MethodKey shown, KeyKind kind, KeyFamily family) {
  return {.shown = shown, .kind = kind, .family = family};
}

KeySpec burst_switch_key(const char* name, const char* standard, const char* help,
                         std::string Method::*member) {
  return word_key({name, "enable|disable", standard, help, "pnetcdf"}, KeyFamily::pnetcdf, member,
                  switches);
}

/// "none, or stages of shuffle|…", with those that this build may lack.
const char* codec_words() {
  static const std::string words = [] {
    std::string text = "none, or stages of ";
    bool first = true;
    for (const CodecDescription& codec : codec_descriptions()) {
      text += std::string(first ? "" : "|") + codec.name;
      first = false;
    }
    return text;
  }();
  return words.c_str();
}

void add_method_keys(std::vector<KeySpec>& keys) {
  const auto own = KeyFamily::own;
  keys.push_back(word_key(
      {"transport", "auto|posix|independent|collective|aggregated", "auto",
       "Which rank makes which system call: each its own (posix), MPI-IO without or with "
       "collective "
       "buffering (independent, collective), or Forebay's own two-phase exchange (aggregated).",
       "method"},
      own, &Method::transport, transports));
  keys.push_back(
      word_key({"layout", "auto|canonical|chunked|log", "canonical",
                "Where the elements of a variable lie: canonical is the classic netCDF "
                "order that every reader knows; chunked cuts variables into chunks that "
                "a codec makes smaller; log appends what each rank writes, for HDF5 "
                "programs through the connector (docs/hdf5.md); auto is canonical for netCDF, and "
                "for HDF5, where it is the default, log for all files that a log can serve.",
                "method"},
               own, &Method::layout, layouts, later_layouts));
  keys.push_back(
      word_key({"stage", "direct|burst", "direct",
                "Where requests wait before they are laid out: direct hands them over at "
                "once; burst keeps writes in a log on fast storage (nc_burst_buf_dirname) and "
                "hands over large batches later.",
                "method"},
               own, &Method::stage, stages, later_stages));
  keys.push_back(plain_key({"codec", codec_words(), "none",
                            "What bytes stand for a chunk of a chunked variable: a pipeline of "
                            "stages, separated by commas, each with parameters after a colon "
                            "(shuffle,zstd:3). Lossy stages need an error bound and apply to "
                            "floating-point variables; given for a whole file they leave "
                            "coordinate variables exact.",
                            "method"},
                           KeyKind::codec, own));
}

void add_engine_keys(std::vector<KeySpec>& keys) {
  const auto own = KeyFamily::own;
  keys.push_back(plain_key(
      {"aggregators", "auto|N|N/node", "auto",
       "At most how many nodes take windows for the others under transport "
       "aggregated (N), or every node (N/node: within a node all ranks share the work, whatever N "
       "is); auto: every node.",
       "engine"},
      KeyKind::aggregators, own));
  keys.push_back(word_key({"exchange", "auto|shared|message", "auto",
                           "How pieces reach an aggregator: through memory that the ranks of a "
                           "node share, or as messages.",
                           "engine"},
                          own, &Method::exchange, exchanges));
  keys.push_back(size_key({"window_size", "bytes, 4KiB to 1GiB", "0",
                           "Bytes of one aggregation window at most; file domains are cut at "
                           "multiples of it. Unless given: 512 KiB on one node, 4 MiB between "
                           "nodes, never less than a stripe.",
                           "engine"},
                          own, &Method::window_size, 4 * kib, gib));
  keys.push_back(size_key({"buffer_limit", "bytes, at least 4KiB", "64MiB",
                           "Bytes that a rank may hold for staging and aggregation; more goes in "
                           "rounds.",
                           "engine"},
                          own, &Method::buffer_limit, 4 * kib));
  keys.push_back(size_key({"chunk_bytes", "bytes, 16 to 256MiB", "1MiB",
                           "Where no chunk shape is given, chunks of at least so many bytes, and "
                           "at most four times that, are chosen from the first flush's pattern.",
                           "engine"},
                          own, &Method::chunk_bytes, 16, 256 * mib));
  keys.push_back(size_key({"chunk_cache", "bytes, at least 0", "16MiB",
                           "Bytes of decoded chunks that a rank keeps for later reads and for "
                           "chunks that are written in part.",
                           "engine"},
                          own, &Method::chunk_cache, 0));
  keys.push_back({.shown = {"codec_threads", "a number, at least 0", "0",
                            "Threads of a rank that encode and decode chunks; 0: the node's "
                            "processors, shared by its ranks.",
                            "engine"},
                  .kind = KeyKind::count,
                  .family = own,
                  .count = &Method::codec_threads,
                  .most = 256});
  keys.push_back(
      word_key({"chunk_read", "auto|owners|everyone", "auto",
                "Collective reads of chunks: owners decode each chunk once and share it, "
                "or everyone decodes what it reads; auto: what takes less time.",
                "engine"},
               own, &Method::chunk_read, chunk_reads));
  keys.push_back(word_key({"chunk_state", "newest|synced", "newest",
                           "Which state of a file with chunks to open: the newest, or the last one "
                           "that a sync completed, for files that a power failure damaged.",
                           "engine"},
                          own, &Method::chunk_state, chunk_states));
  keys.push_back(size_key({"hole_threshold", "bytes, at least 0", "64KiB",
                           "Reads bridge holes of up to this many bytes with one system call; "
                           "windows with smaller holes are read, changed and written back whole.",
                           "engine"},
                          own, &Method::hole_threshold, 0));
  keys.push_back(word_key({"subfiling", "none|node|ranks", "none",
                           "Layout log: data goes into one subfile for each node, or for each "
                           "subfile_ranks ranks, in the folder FILE.subfiles.",
                           "engine"},
                          own, &Method::subfiling, subfilings));
  keys.push_back(
      {.shown = {"subfile_ranks", "a number, at least 1", "1",
                 "Layout log: how many ranks share a subfile with subfiling=ranks.", "engine"},
       .kind = KeyKind::count,
       .family = own,
       .count = &Method::subfile_ranks,
       .least = 1,
       .most = std::numeric_limits<int>::max()});
  keys.push_back(word_key({"log_copy", "enable|disable", "enable",
                           "Layout log: copy what is written; disable is for programs that leave "
                           "their buffers as they are until the next flush.",
                           "engine"},
                          own, &Method::log_copy, switches));
  keys.push_back(size_key({"log_memory", "bytes, at least 1MiB", "64MiB",
                           "Layout log: bytes that a rank may hold of the index of a file that it "
                           "reads.",
                           "engine"},
                          own, &Method::log_memory, mib));
  keys.push_back(
      word_key({"compact", "never|close", "never",
                "Layout log: turn the file into an ordinary one when it is closed.", "engine"},
               own, &Method::compact, compactings));
  keys.push_back(
      size_key({"burst_flush_size", "bytes, at least 0", "0",
                "Stage burst: flush in the background when a rank has staged so many "
                "bytes, so that close is short; 0: when they lie in pieces of 512 KiB and "
                "more, which gain nothing by waiting.",
                "engine"},
               own, &Method::burst_flush_size, 0));
  keys.push_back({.shown = {"burst_flush_time", "seconds, at least 0", "0",
                            "Stage burst: flush in the background what has been staged for so many "
                            "seconds; 0: never.",
                            "engine"},
                  .kind = KeyKind::count,
                  .family = own,
                  .count = &Method::burst_flush_time,
                  .most = 1000000});
  keys.push_back(word_key({"burst_order", "two-level|replay|flatten", "two-level",
                           "Stage burst: how writes are ordered when they are flushed. The others "
                           "are for comparisons: replay writes them one by one, flatten sorts "
                           "all their pieces.",
                           "engine"},
                          own, &Method::burst_order, burst_orders));
  keys.push_back(word_key({"recover", "refuse|auto|ignore", "refuse",
                           "What opening a file does when a job that ended has left writes of it "
                           "in staging logs: fail and say so, replay them, or open the file as it "
                           "is.",
                           "engine"},
                          own, &Method::recover, recoveries));
  keys.push_back(
      {.shown = {"ranks_per_node", "a number, at least 0", "0",
                 "For tests: pretend that every node has this many ranks; 0 asks MPI.", "engine"},
       .kind = KeyKind::count,
       .family = own,
       .count = &Method::ranks_per_node,
       .most = std::numeric_limits<int>::max()});
}

void add_pnetcdf_keys(std::vector<KeySpec>& keys) {
  const auto theirs = KeyFamily::pnetcdf;
  keys.push_back(size_key({"nc_header_align_size", "bytes", "0",
                           "The first variable begins at a multiple of this; 0 leaves it to the "
                           "library.",
                           "pnetcdf"},
                          theirs, &Method::header_align, 0));
  keys.push_back(size_key({"nc_var_align_size", "bytes", "0",
                           "Every variable of fixed size begins at a multiple of this.", "pnetcdf"},
                          theirs, &Method::var_align, 0));
  keys.push_back(
      size_key({"nc_record_align_size", "bytes", "0",
                "The section of record variables begins at a multiple of this.", "pnetcdf"},
               theirs, &Method::record_align, 0));
  keys.push_back(
      size_key({"nc_header_read_chunk_size", "bytes, up to 1GiB", "256KiB",
                "The header is read in pieces of this size when a file is opened.", "pnetcdf"},
               theirs, &Method::header_read_chunk, 0, gib));
  keys.push_back(word_key({"nc_in_place_swap", "auto|enable|disable", "auto",
                           "Whether the byte order may be changed in the caller's own write "
                           "buffer. Accepted for compatibility: Forebay never writes to it.",
                           "pnetcdf"},
                          theirs, &Method::in_place_swap, swaps));
  keys.push_back(size_key({"nc_ibuf_size", "bytes, at least 0", "16MiB",
                           "PnetCDF's limit of temporary memory for non-contiguous requests. "
                           "Accepted for compatibility; see buffer_limit.",
                           "pnetcdf"},
                          theirs, &Method::ibuf_size, 0));
  keys.push_back(plain_key({"pnetcdf_subfiling", "disable", "disable",
                            "Several files in place of one; this build writes one.", "pnetcdf"},
                           KeyKind::off_switch, theirs));
  keys.push_back(
      plain_key({"nc_num_subfiles", "a number", "0",
                 "How many subfiles; without effect while subfiling is disabled.", "pnetcdf"},
                KeyKind::kept, theirs));
  keys.push_back(plain_key({"nc_burst_buf", "enable|disable", "disable",
                            "PnetCDF's name for stage burst: enable is stage=burst.", "pnetcdf"},
                           KeyKind::burst_switch, theirs));
  KeySpec directory = plain_key({"nc_burst_buf_dirname", "a directory", "./",
                                 "Stage burst: where its logs go. Of use on storage that is "
                                 "faster than the file's.",
                                 "pnetcdf"},
                                KeyKind::text, theirs);
  directory.word = &Method::burst_directory;
  keys.push_back(directory);
  keys.push_back(burst_switch_key("nc_burst_buf_overwrite", "enable",
                                  "Stage burst: when a file is created anew, remove logs that a "
                                  "job that ended has left of it; disable fails instead.",
                                  &Method::burst_overwrite));
  keys.push_back(burst_switch_key("nc_burst_buf_del_on_close", "enable",
                                  "Stage burst: remove the logs when the file is closed; disable "
                                  "keeps them, to look at with forebay log.",
                                  &Method::burst_delete));
  keys.push_back(size_key({"nc_burst_buf_flush_buffer_size", "bytes, at least 0", "0",
                           "Stage burst: memory of a rank for flushing; 0: as much as "
                           "buffer_limit says, and never less than 4 KiB.",
                           "pnetcdf"},
                          theirs, &Method::burst_buffer, 0));
  keys.push_back(burst_switch_key("nc_burst_buf_shared_logs", "disable",
                                  "Stage burst: one pair of log files a node, in blocks dealt to "
                                  "its ranks, in place of one pair a rank.",
                                  &Method::burst_shared));
}

void add_mpi_io_keys(std::vector<KeySpec>& keys) {
  const auto theirs = KeyFamily::mpi_io;
  keys.push_back(plain_key({"cb_nodes", "a number, at least 1", "not given",
                            "MPI-IO's number of aggregators; stands for aggregators where that is "
                            "not given. Passed on.",
                            "mpi-io"},
                           KeyKind::kept, theirs));
  keys.push_back(plain_key({"cb_buffer_size", "bytes, at least 1", "not given",
                            "MPI-IO's collective buffer; stands for window_size where that is not "
                            "given. Passed on.",
                            "mpi-io"},
                           KeyKind::kept, theirs));
  keys.push_back(size_key({"striping_unit", "bytes", "0",
                           "Bytes of one stripe of the file system: file domains are cut at its "
                           "multiples. Passed on.",
                           "mpi-io"},
                          theirs, &Method::striping_unit, 0));
  keys.push_back(size_key({"striping_factor", "a number", "0",
                           "Over how many devices the file is striped. Passed on.", "mpi-io"},
                          theirs, &Method::striping_factor, 0));
}

std::vector<KeySpec> make_specs() {
  std::vector<KeySpec> keys;
  add_method_keys(keys);
  add_engine_keys(keys);
  add_pnetcdf_keys(keys);
  add_mpi_io_keys(keys);
  for (KeySpec& key : keys) {
    if (key.kind == KeyKind::off_switch || key.kind == KeyKind::burst_switch) key.words = switches;
  }
  return keys;
}

}  // namespace

std::span<const KeySpec> key_specs() {
  static const std::vector<KeySpec> specs = make_specs();
  return specs;
}

const KeySpec* find_key_spec(std::string_view key) {
  const auto specs = key_specs();
  const auto found = std::find_if(specs.begin(), specs.end(),
                                  [&](const KeySpec& spec) { return spec.shown.name == key; });
  return found == specs.end() ? nullptr : &*found;
}

std::vector<CodecKey> codec_keys() {
  std::vector<CodecKey> keys;
  for (const CodecDescription& c : codec_descriptions())
    keys.push_back({c.name, c.parameters, c.help, c.lossy});
  return keys;
}

bool is_mpi_io_key(std::string_view key) {
  constexpr std::array<std::string_view, 10> known = {
      "access_style", "cb_block_size",      "cb_config_list",     "collective_buffering",
      "file_perm",    "ind_rd_buffer_size", "ind_wr_buffer_size", "io_node_list",
      "nb_proc",      "num_io_nodes"};
  return key.starts_with("romio_") || key.starts_with("direct_") ||
         std::find(known.begin(), known.end(), key) != known.end();
}

std::span<const MethodKey> method_keys() {
  static const std::vector<MethodKey> keys = [] {
    std::vector<MethodKey> shown;
    for (const KeySpec& spec : key_specs()) shown.push_back(spec.shown);
    return shown;
  }();
  return keys;
}

}  // namespace forebay
