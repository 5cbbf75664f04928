// The method of a file: layout × codec × stage × transport and their parameters, and the origin of
// each choice.
//
// Sources outside the program take precedence over the program, and the environment over the
// configuration file: built-in default < the program (arguments, MPI_Info, calls) < the XML file
// named by FOREBAY_CONFIG < PNETCDF_HINTS < FOREBAY_HINTS. Within a source, a rule for a variable
// takes precedence over one for the file. All sources use the same keys. One table (method_keys())
// lists key, accepted values, default and help; docs/methods.md is generated from it. The parts
// provide the table (method/part.h). method/front_end.h says which keys a front end honours.
//
// Sources are read in two ways. Settings for Forebay (XML, FOREBAY_HINTS) must be valid, or opening
// a file fails with a message that says what would be accepted. Settings for PnetCDF or MPI-IO
// (PNETCDF_HINTS, MPI_Info) are read as these libraries read them: unknown keys are passed on,
// numbers are leading decimal digits, unusable values are ignored.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/types.h"
#include "comm/comm.h"

namespace forebay {

using HintMap = std::map<std::string, std::string>;

/// A parameter, as users see it.
struct MethodKey {
  const char* name;      ///< as written in hints and XML attributes
  const char* accepted;  ///< "auto|posix|independent|collective|aggregated", "bytes ≥ 4096", …
  const char* standard;  ///< default value
  const char* help;      ///< one sentence
  const char* group;     ///< "method", "engine", "pnetcdf", "mpi-io"
};

/// All keys of hints and XML attributes, in the order for users. Static.
std::span<const MethodKey> method_keys();

/// A codec for pipelines, as users see it.
struct CodecKey {
  const char* name;
  const char* parameters;
  const char* help;
  bool lossy;
};
std::vector<CodecKey> codec_keys();

/// The source of a setting; a later one takes precedence.
enum class SaidBy { program, config, pnetcdf_hints, forebay_hints };

/// The origin of a key's value.
struct Origin {
  std::string text;  ///< for users: "MPI_Info", "run.xml:3", "FOREBAY_HINTS", "the file"
  SaidBy by = SaidBy::program;
  /// It was set for this very file: a front end that cannot honour it refuses it. Otherwise it is a
  /// general rule, and the report says that it did not apply to this file.
  bool names_file = true;
  bool is_alias = false;  ///< set by another key, which has its own origin

  Origin() = default;
  // Implicit: an origin with only a name is the program's, or the library's own choice.
  Origin(std::string name) : text(std::move(name)) {}  // NOLINT(google-explicit-constructor)
  Origin(const char* name) : text(name) {}             // NOLINT(google-explicit-constructor)
  Origin(std::string name, SaidBy who, bool names, bool alias = false)
      : text(std::move(name)), by(who), names_file(names), is_alias(alias) {}
  bool is_outside() const { return by != SaidBy::program; }
  friend bool operator==(const Origin& origin, std::string_view name) {
    return origin.text == name;
  }
};

/// A rule of the XML file for the variables whose names match `pattern`. Later rules take
/// precedence.
struct VariableRule {
  std::string pattern;
  HintMap keys;             ///< layout, codec; validated
  std::string origin;       ///< "file:line"
  bool names_file = false;  ///< neither its pattern nor the file's has a wildcard
};

// What keys choose from that have the same words in every build. The names of parts stay text, as a
// new part is a file of its own. The words stand with each key, in the same order.
enum class Switch { enable, disable };
enum class Exchange { automatic, shared, message };
enum class ChunkRead { automatic, owners, everyone };
enum class ChunkState { newest, synced };
enum class CachesGiven { automatic, coherent, weak };
enum class Subfiling { none, node, ranks };
enum class Split { none, step };
enum class Compact { never, close };
enum class FlushOrder { two_level, replay, flatten };
enum class Recover { refuse, automatic, ignore, overlay, overlay_partial };

struct Method {
  std::string container = "classic";
  std::string layout = "canonical";
  std::string codec = "none";
  std::string stage = "auto";
  std::string transport = "auto";
  Exchange exchange = Exchange::automatic;  ///< within a node
  Count window_size = 0;          ///< bytes of a window at most; 0: chosen by the transport
  Count buffer_limit = 64 << 20;  ///< bytes a rank may hold for staging and aggregation
  Count chunk_bytes = 1 << 20;    ///< least size of chunks with a chosen shape
  Count chunk_cache = 16 << 20;   ///< bytes of decoded chunks that a rank keeps
  int codec_threads = 0;          ///< threads of a rank that encode and decode; 0: chosen
  ChunkRead chunk_read = ChunkRead::automatic;         ///< who decodes what others read
  ChunkState chunk_state = ChunkState::newest;         ///< which state of chunks to open
  CachesGiven client_caches = CachesGiven::automatic;  ///< of the file system
  Count hole_threshold = 64 << 10;  ///< reads and writes sieve holes up to so many bytes

  int aggregators = 0;          ///< processes that write for others at a time, at most; 0: all
  int aggregators_of_node = 0;  ///< of each node; 0: all of its ranks
  int ranks_per_node = 0;       ///< testing: pretend that nodes have this many ranks; 0: ask MPI
  /// The same for shared memory: 1 if all data goes by messages.
  int ranks_to_share_memory() const { return exchange == Exchange::message ? 1 : ranks_per_node; }

  Count header_align = 0, var_align = 0, record_align = 0;  ///< nc_*_align_size; 0: not given
  Count striping_unit = 0, striping_factor = 0;             ///< 0: not given
  Count header_read_chunk = 256 << 10;  ///< 0 (PnetCDF keeps it): use the default
  Count ibuf_size = 16 << 20;           ///< nc_ibuf_size, kept for inquiry

  Subfiling subfiling = Subfiling::none;
  Split split = Split::none;  ///< of a group's files
  int subfile_ranks = 1;      ///< of one subfile, with `ranks`
  Switch log_copy = Switch::enable;
  Count log_memory = 64 << 20;  ///< bytes a rank holds of a log's index
  Compact compact = Compact::never;

  std::string burst_directory = "./";  ///< of the staging logs
  Switch burst_overwrite = Switch::enable, burst_delete = Switch::enable,
         burst_shared = Switch::disable;
  Count burst_buffer = 0;      ///< bytes for flushing; 0: buffer_limit
  Count burst_flush_size = 0;  ///< staged bytes that start a flush; 0: never
  int burst_flush_time = 0;    ///< seconds that start a flush; 0: never
  FlushOrder burst_order = FlushOrder::two_level;
  Count async_memory = 128 << 20;        ///< bytes a rank may queue in stage async
  Count checkpoint_memory = 256 << 20;   ///< bytes of a rank for states in memory; 0: none
  std::string checkpoint_fast = "none";  ///< a directory faster than the checkpoints' own
  Count checkpoint_fast_bytes = 0;       ///< bytes of a rank there; 0: all free space
  Count checkpoint_dir_bytes = 0;        ///< bytes of a rank there; 0: all free space
  std::string checkpoint_dir = "none";   ///< directory of the checkpoints; none: as their name says
  Recover recover = Recover::refuse;     ///< logs that a killed job left

  bool safe_mode = false;  ///< PNETCDF_SAFE_MODE: check that arguments agree over ranks
  /// PNETCDF_RELAX_COORD_BOUND=0: a start at the end of a dimension is an error, even with count 0.
  bool strict_start = false;
  std::string report;  ///< FOREBAY_REPORT: empty (off), "1" (to stderr) or "json:PATH"
  bool wants_json_report() const { return report.starts_with("json:"); }

  /// The rules for variables of all matching XML elements, in the order in which they apply.
  std::vector<VariableRule> variables;
  /// The origin of each key's value. Keys without an entry have their default.
  std::map<std::string, Origin> origin;
  /// The origin for reports, or "default".
  std::string origin_of(const std::string& key) const {
    const auto found = origin.find(key);
    return found == origin.end() ? "default" : found->second.text;
  }
  bool is_said_outside(const std::string& key) const {
    const auto found = origin.find(key);
    return found != origin.end() && found->second.is_outside();
  }
  /// Returns whether `key` is set, and by a source that takes precedence over that of `other`.
  bool is_said_above(const std::string& key, const std::string& other) const {
    const auto found = origin.find(key), above = origin.find(other);
    return found != origin.end() && (above == origin.end() || found->second.by > above->second.by);
  }
  /// The values of weaker sources for each key, the weakest first. They apply if the front end
  /// cannot honour a stronger one (front_end.h).
  struct Said {
    std::string value;
    Origin origin;
  };
  std::map<std::string, std::vector<Said>> weaker;
  /// Lines of the report: overruled settings of the program, and general rules that did not apply.
  std::vector<std::string> notes;
  /// Hints of other libraries (cb_nodes, romio_*), kept for MPI-IO and for inquiry.
  HintMap passed_on;
  /// Values of part keys without a member here; method_value() returns them, or the default.
  HintMap of_parts;
};

/// All inputs of a method from outside the program, read once so that all ranks use the same text.
struct MethodSources {
  std::string config_name;    ///< value of FOREBAY_CONFIG; empty: none
  std::string config_text;    ///< its contents
  std::string config_error;   ///< the system's error message, if it could not be read
  std::string pnetcdf_hints;  ///< value of PNETCDF_HINTS
  std::string forebay_hints;  ///< value of FOREBAY_HINTS
  std::string report;         ///< value of FOREBAY_REPORT
  bool safe_mode = false;     ///< PNETCDF_SAFE_MODE is set to a value that does not begin with 0
  bool strict_start = false;  ///< PNETCDF_RELAX_COORD_BOUND begins with 0
};

/// Reads the environment and the configuration file; `otherwise` is used if the environment names
/// none. Local; never throws (choose_method reports errors).
MethodSources read_method_sources(const std::string& otherwise = {});

/// Collective: rank 0 reads, and all ranks get the same, in a single broadcast if it is small.
/// `beside` is another text of rank 0 that is broadcast with it.
MethodSources share_method_sources(const Comm& comm, std::string* beside = nullptr,
                                   const std::string& otherwise = {});

/// The sources as one text; equal sources give equal texts.
std::string text_of(const MethodSources& sources);

/// Chooses the method for the file `path`. Local and deterministic: equal arguments give equal
/// results and equal errors. An invalid key or value in FOREBAY_HINTS or the XML file throws
/// Errc::einval with file, line, and what would be accepted. A method that Forebay defines but this
/// build lacks throws Errc::enotsupport. Unknown keys in MPI_Info (`api_hints`) and PNETCDF_HINTS
/// belong to other libraries and are passed on, as MPI requires; unusable values of PnetCDF hints
/// are ignored, as in PnetCDF. The entry hints_giver of `api_hints` names their source if that is
/// not an MPI_Info. `group` is the group whose file it is, if any (groups.h). `own` are the
/// program's settings for Forebay, which take precedence over its MPI_Info.
inline constexpr const char* hints_giver = "";
struct OwnHints {
  HintMap keys;
  std::string giver;  ///< for users: "the connector's string"
};
Method choose_method(const std::string& path, const HintMap& api_hints,
                     const MethodSources& sources, const std::string& group = {},
                     const OwnHints& own = {});

/// The same with the sources of this process; for serial use.
Method choose_method(const std::string& path, const HintMap& api_hints);

/// Sets one key from a source for Forebay. Throws Errc::einval or Errc::enotsupport with a message
/// that begins with `where` and says what would be accepted; `method` is then unchanged. `origin`
/// is kept for reports.
void set_method_key(Method& method, const std::string& key, const std::string& value,
                    const std::string& where, const Origin& origin);

/// Applies the keys of PnetCDF and MPI-IO that mean the same as a key of Forebay, unless an equal
/// or stronger source set Forebay's key. choose_method() calls this after reading all sources.
void apply_aliases(Method& method);

/// The pairs of "key=value;key=value"; Errc::einval if it has another form.
HintMap parse_hints(std::string_view text, const std::string& where);

/// Sets these keys; errors as for set_method_key, with the origin.
void apply_hints(Method& method, std::string_view text, const Origin& origin);

/// The value of a key in force, as a user would write it; "auto" or "0" if nothing was chosen.
std::string method_value(const Method& method, std::string_view key);

/// The same for users to read: sizes as "4MiB".
std::string shown_method_value(const Method& method, std::string_view key);

/// The rules for a variable, in the order in which they apply.
std::vector<VariableRule> matching_rules(const Method& method, std::string_view variable);

/// The layout and codec of a variable: the file's, changed by the matching rules, except if the
/// environment sets them for the file. Keys: layout, codec.
HintMap variable_method(const Method& method, std::string_view variable);
/// One of these two.
const std::string& variable_value(const Method& method, std::string_view variable,
                                  const std::string& key);

/// Returns whether a rule determines `key` for that variable.
bool has_rule(const Method& method, std::string_view variable, const std::string& key);

/// Who sets `key` for that variable outside the program; nothing if nobody does. The program's own
/// setting then does not apply, and the caller notes that.
std::optional<std::string> said_outside(const Method& method, std::string_view variable,
                                        const std::string& key);

/// Notes once that the program's setting `what` is overruled.
void note_overruled(Method& method, const std::string& what, const std::string& by);

/// All keys with the values in force, under the names by which users set them, and passed-on hints.
HintMap to_hints(const Method& method);

}  // namespace forebay
