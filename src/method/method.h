// The method of a file: layout × codec × stage × transport and their knobs, and where each choice
// came from.
//
// Sources, weakest first (DESIGN §2): built-in default, the XML file named by FOREBAY_CONFIG, the
// environment (PNETCDF_HINTS, then FOREBAY_HINTS), the hints of the API (MPI_Info), later API
// calls. All speak the same keys; one table (method_keys()) lists key, accepted values, default and
// help, and docs/methods.md is generated from it. The table comes from the parts (method/part.h).
//
// Two tempers: what is written for Forebay (XML, FOREBAY_HINTS) must make sense, or opening a file
// fails with a message that says what would be accepted. What is written for PnetCDF or MPI-IO
// (PNETCDF_HINTS, MPI_Info) is read as they read it: keys that nobody knows are passed on, numbers
// are leading decimal digits, values of no use are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "comm/comm.h"

namespace forebay {

using HintMap = std::map<std::string, std::string>;

/// One knob, as shown to people.
struct MethodKey {
  const char* name;      ///< as written in hints and XML attributes
  const char* accepted;  ///< "auto|posix|independent|collective|aggregated", "bytes ≥ 4096", …
  const char* standard;  ///< default value
  const char* help;      ///< one sentence
  const char* group;     ///< "method", "engine", "pnetcdf", "mpi-io"
};

/// Every key that a hint or an XML attribute may have, in the order in which people read about
/// them. Static.
std::span<const MethodKey> method_keys();

/// A codec that pipelines may name, as shown to people.
struct CodecKey {
  const char* name;
  const char* parameters;
  const char* help;
  bool lossy;
};
std::vector<CodecKey> codec_keys();

/// What the XML file says of the variables whose names match `pattern`. Later rules win over
/// earlier ones.
struct VariableRule {
  std::string pattern;
  HintMap keys;        ///< layout, codec; validated
  std::string origin;  ///< "file:line"
};

struct Method {
  std::string container = "classic";
  std::string layout = "canonical";
  std::string codec = "none";
  std::string stage = "auto";
  std::string transport = "auto";
  std::string exchange = "auto";       ///< within a node: auto | shared (memory) | message
  Count window_size = 0;               ///< bytes of a window at most; 0: chosen by the transport
  Count buffer_limit = 64 << 20;       ///< bytes a rank may hold for staging and aggregation
  Count chunk_bytes = 1 << 20;         ///< of chunks whose shape is chosen, at least
  Count chunk_cache = 16 << 20;        ///< bytes of decoded chunks that a rank keeps
  int codec_threads = 0;               ///< threads a rank that encode and decode; 0: chosen
  std::string chunk_read = "auto";     ///< auto | owners | everyone: who decodes what others read
  std::string chunk_state = "newest";  ///< newest | synced: which state of chunks to open
  std::string client_caches = "auto";  ///< auto | coherent | weak: of the file system
  Count hole_threshold = 64 << 10;     ///< reads bridge, writes sieve holes up to this many bytes

  int aggregators = 0;          ///< processes that write for others at a time, at most; 0: all
  int aggregators_of_node = 0;  ///< of each node; 0: as many as it has
  int ranks_per_node = 0;       ///< testing: pretend that nodes have this many ranks; 0: ask MPI
  /// The same for those who share memory: alone, where all is to go by messages.
  int ranks_to_share_memory() const { return exchange == "message" ? 1 : ranks_per_node; }

  Count header_align = 0, var_align = 0, record_align = 0;  ///< nc_*_align_size; 0: not given
  Count striping_unit = 0, striping_factor = 0;             ///< 0: not given
  Count header_read_chunk = 256 << 10;  ///< 0 (PnetCDF keeps it): use the default
  Count ibuf_size = 16 << 20;           ///< nc_ibuf_size, kept for inquiry
  std::string in_place_swap = "auto";   ///< auto | enable | disable

  std::string subfiling = "none";   ///< none | node | ranks
  std::string split = "none";       ///< none | step: a group's files
  int subfile_ranks = 1;            ///< of one subfile, with `ranks`
  std::string log_copy = "enable";  ///< enable | disable
  Count log_memory = 64 << 20;      ///< bytes a rank holds of a log's index
  std::string compact = "never";    ///< never | close

  std::string burst_directory = "./";  ///< of the staging logs
  std::string burst_overwrite = "enable", burst_delete = "enable", burst_shared = "disable";
  Count burst_buffer = 0;      ///< bytes for flushing; 0: buffer_limit
  Count burst_flush_size = 0;  ///< staged bytes that are flushed meanwhile; 0: never
  int burst_flush_time = 0;    ///< seconds after which they are; 0: never
  std::string burst_order = "two-level";
  Count async_memory = 128 << 20;        ///< bytes a rank that wait for the thread of stage async
  Count checkpoint_memory = 256 << 20;   ///< bytes a rank of states in memory; 0: none
  std::string checkpoint_fast = "none";  ///< directory that is quicker than the checkpoints' own
  Count checkpoint_fast_bytes = 0;       ///< bytes a rank there; 0: as many as there is room for
  Count checkpoint_dir_bytes = 0;        ///< bytes a rank there; 0: the same
  std::string checkpoint_dir = "none";   ///< of the checkpoints; none: where their name says
  std::string recover = "refuse";        ///< refuse | auto | ignore: logs that a dead job left

  bool safe_mode = false;  ///< PNETCDF_SAFE_MODE: check that arguments agree over ranks
  /// PNETCDF_RELAX_COORD_BOUND=0: a start at the end of a dimension is wrong, even with count 0.
  bool strict_start = false;
  std::string report;  ///< FOREBAY_REPORT: empty (off), "1" (to stderr) or "json:PATH"
  bool wants_json_report() const { return report.starts_with("json:"); }

  /// Per-variable rules of all matching XML file elements, in the order in which they apply.
  std::vector<VariableRule> variables;
  /// Where each key's value came from, for reports: "default", "run.xml:3", "FOREBAY_HINTS",
  /// "MPI_Info". Keys that are not listed have their default.
  std::map<std::string, std::string> origin;
  std::string origin_of(const std::string& key) const {
    const auto found = origin.find(key);
    return found == origin.end() ? "default" : found->second;
  }
  /// Hints that are not ours or not ours alone (cb_nodes, romio_*): kept for MPI-IO and for
  /// inquiry.
  HintMap passed_on;
  /// Values of keys of parts that have no member here; method_value() gives them, or the default.
  HintMap of_parts;
};

/// Everything outside the program that a method depends on, read once so that all ranks decide on
/// the same text.
struct MethodSources {
  std::string config_name;    ///< value of FOREBAY_CONFIG; empty: none
  std::string config_text;    ///< its contents
  std::string config_error;   ///< the system's words, if it could not be read
  std::string pnetcdf_hints;  ///< value of PNETCDF_HINTS
  std::string forebay_hints;  ///< value of FOREBAY_HINTS
  std::string report;         ///< value of FOREBAY_REPORT
  bool safe_mode = false;     ///< PNETCDF_SAFE_MODE is set, and not to something that begins with 0
  bool strict_start = false;  ///< PNETCDF_RELAX_COORD_BOUND begins with 0
};

/// Reads the environment and the configuration file, which is `otherwise` where the environment
/// names none. Local; never throws (choose_method reports what went wrong).
MethodSources read_method_sources(const std::string& otherwise = {});

/// Collective: rank 0 reads, all ranks get the same, by one small broadcast where that is little.
/// `beside`: another text of rank 0's that goes the same way.
MethodSources share_method_sources(const Comm& comm, std::string* beside = nullptr,
                                   const std::string& otherwise = {});

/// All of it as one text, equal for equal ones.
std::string text_of(const MethodSources& sources);

/// Chooses the method for the file `path`. Local and deterministic: equal arguments give equal
/// results and equal errors. A key or value that makes no sense in FOREBAY_HINTS or the XML file
/// throws Errc::einval with file, line, and what would be accepted; what the design knows but this
/// build cannot do throws Errc::enotsupport. In MPI_Info (`api_hints`) and PNETCDF_HINTS unknown
/// keys are other libraries' and are passed on, as MPI prescribes; unusable values of known PnetCDF
/// hints are ignored as PnetCDF does.
/// `group`: whose file it is, if it is a group's (groups.h).
Method choose_method(const std::string& path, const HintMap& api_hints,
                     const MethodSources& sources, const std::string& group = {});

/// The same with the sources of this process: for serial use.
Method choose_method(const std::string& path, const HintMap& api_hints);

/// Sets one key from a source written for Forebay. Throws Errc::einval or Errc::enotsupport with a
/// message that begins with `where` and says what would be accepted; `method` is unchanged then.
/// `origin` is noted for reports.
void set_method_key(Method& method, const std::string& key, const std::string& value,
                    const std::string& where, const std::string& origin);

/// What PnetCDF's and MPI-IO's own keys say in other words: it holds where Forebay's key was not
/// given by anybody. choose_method() does this behind all sources.
void apply_aliases(Method& method);

/// Sets the keys of "key=value;key=value", with the errors of set_method_key. `where` is also noted
/// as their origin.
void apply_hints(Method& method, std::string_view text, const std::string& where);

/// The value in force of one key, as a user would write it; "auto" or "0" where nothing was chosen.
std::string method_value(const Method& method, std::string_view key);

/// The same for people: sizes as "4MiB".
std::string shown_method_value(const Method& method, std::string_view key);

/// The rules for a variable of that name, in the order in which they apply.
std::vector<VariableRule> matching_rules(const Method& method, std::string_view variable);

/// The layout and codec for a variable: the file's, changed by the rules whose pattern matches.
/// Keys: layout, codec.
HintMap variable_method(const Method& method, std::string_view variable);

/// All keys with the values in force, under the names by which users set them, plus passed-on
/// hints.
HintMap to_hints(const Method& method);

}  // namespace forebay
