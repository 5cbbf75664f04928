// A container defines what a file is. It owns all that is stored beside the values: the
// definitions, the places of definitions and values, and the number of records. It also knows what
// makes writes visible, what reaches the device, and what a file needs before it is closed. A
// layout decides where the elements of a variable lie in it.
//
// Dataset calls it. Each collective function says so. If it fails on one rank, it throws on all
// ranks, unless it is called within `together` (comm/agree.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "array/schema.h"
#include "base/error.h"
#include "base/report.h"
#include "base/types.h"
#include "comm/comm.h"
#include "layout/layout.h"
#include "method/method.h"
#include "method/part.h"

namespace forebay {

class File;
class JointContainer;
class WriteQueue;

/// The four arguments of _enddef, in bytes. 0 takes the value of the hint, or the default.
struct EnddefArguments {
  Count h_minfree = 0, v_align = 0, v_minfree = 0, r_align = 0;
};

/// What a container shares with its dataset. All of it outlives the container.
struct ContainerSite {
  const Comm& comm;
  const std::string& path;
  Method& method;  ///< place() sets the alignments that are in force
  Schema& schema;
  Report& report;
  bool writable;
  bool batches;                 ///< as in StageEntry
  WriteQueue* later = nullptr;  ///< queue for the files of values; null: none
};

class Container {
 public:
  virtual ~Container() = default;

  // -- opening

  /// Collective. Makes the file. `exclusive`: Errc::eexist if there is one. `made`: this rank has
  /// made it. `may_be_later`: if the method wants it, a thread makes the file in the background, if
  /// this is a JointContainer. Returns whether its last step was a reduction after which nothing
  /// fails; the same on all ranks. If so, that reduction has also replaced the values of `tells`
  /// (if it is set) by their maxima.
  using Tells = std::function<std::span<std::int64_t>()>;
  virtual bool create(bool exclusive, bool may_be_later, bool& made, const Tells& tells) = 0;
  /// Collective. Reads the definitions into the schema, and all else that data access needs.
  virtual void open() = 0;
  /// Returns whether release() has something to free on this rank.
  virtual bool has_engine() const = 0;

  // -- definitions. `old`: the definitions that the file has; null for a new file.

  /// Local. Returns the definitions as bytes to compare: equal bytes for equal definitions.
  virtual std::vector<std::byte> print() const = 0;
  /// Returns the bytes of the definitions as they are stored.
  virtual Offset definitions_bytes() const = 0;
  /// Local. Throws Errc::ebadname for an attribute that the container itself uses.
  virtual void check_attribute(const std::string& name) const = 0;
  /// Local, in define mode. These set how a variable is divided into chunks and encoded, for
  /// ncmpi_var_set_chunk and ncmpi_var_set_filter. Errc::einval for what is impossible.
  virtual void set_chunk(Variable& var, std::span<const Count> shape) const = 0;
  virtual void set_filter(Variable& var, const std::string& pipeline) const = 0;

  /// Local. Decides how new variables are stored.
  virtual void choose(const Schema* old) = 0;
  /// Local. Decides where everything lies.
  virtual void place(const Schema* old, const EnddefArguments& arguments) = 0;
  /// Local. These print what place() decided, and take it over from another rank.
  virtual std::vector<std::byte> print_placed() const = 0;
  virtual void take_over(std::span<const std::byte> placed) = 0;
  /// Collective. Changes the file as place() decided. From here on it has the new definitions.
  /// Returns whether its last step was a reduction after which nothing fails.
  virtual bool redefine(const Schema* old) = 0;
  /// Local, after choose(). Returns whether place() and redefine() are local and fill_new() has
  /// nothing to do. Then rank 0 writes the new definitions now or later, and nothing else is
  /// needed.
  virtual bool is_defined_by_root(const Schema* old) const = 0;
  /// Local, after redefine(); the same on all ranks. Returns whether fill_new() has work to do.
  virtual bool fills_new(const Schema* old) const = 0;
  /// Collective, after redefine(). Writes fill values, and zeros where nothing was written.
  virtual void fill_new(const Schema* old) = 0;
  /// Local. Returns a decomposition map that an earlier session defined, with this rank's pieces.
  /// Null: the file does not store the pieces.
  virtual std::shared_ptr<const Decomposition> stored_decomposition(int id) = 0;
  /// Collective. Writes the definitions in data mode. They fit in their old place.
  virtual void write_definitions() = 0;

  // -- data

  /// The layout of all variables. It stays the same object until the container is destroyed.
  virtual Layout& layout() = 0;
  /// Returns whether the number of records is published together with the data, not after them.
  virtual bool publishes_records() const = 0;
  /// Returns whether a byte offset of the file identifies an element (file types of vard).
  virtual bool has_fixed_places() const = 0;
  /// Local, before a file is closed. Returns whether this rank has work for Layout::flush(),
  /// refresh_definitions() or publish_last(). Returns nothing, on all ranks alike, if it cannot
  /// say.
  virtual std::optional<bool> has_last_work() const { return std::nullopt; }
  /// Collective. Makes the data and the schema's number of records visible. The ranks agree on it.
  virtual void publish() = 0;
  /// Collective. Whoever opens the file from here on sees the definitions and what was published,
  /// since logs of it are about to be dropped, or refer to the definitions.
  virtual void show() {}
  /// Collective. Writes fill values over one record.
  virtual void fill_record(VarId var, Count record) = 0;
  virtual bool is_regular() = 0;  ///< local: neither a pipe nor a device
  /// Local. Opens the file once more, for a thread. The container outlives the result.
  virtual std::shared_ptr<File> beside(Report& report) = 0;
  /// Returns this container as one whose files may be written together with others, or null.
  virtual JointContainer* joint() { return nullptr; }

  // -- the end

  /// Collective. Brings data and definitions to the device.
  virtual void sync() = 0;
  /// Local. The next reads see what others have written by now.
  virtual void look_again() = 0;
  /// Collective. These are steps of closing a file that was open for writing, if the container
  /// publishes records.
  virtual void refresh_definitions() = 0;
  virtual void publish_last() = 0;
  /// Local. `changed`: some rank has changed the file.
  virtual void fill_up(bool changed) = 0;
  /// Collective, without a reduction. Frees what only all ranks together can free.
  virtual void release() = 0;
  /// Local. One collective step follows, and then the container is destroyed.
  virtual void close() = 0;
  /// Local. Returns the present path of the file if this rank has it open, else the last known
  /// path.
  virtual std::string place_now() = 0;
  /// Local, on one rank. Removes what create() made, when nobody uses it any more. `place`: the
  /// last result of place_now().
  virtual void remove(const std::string& place) = 0;
  /// Returns sentences for the report.
  virtual std::vector<std::string> reasons() const = 0;
};

/// How a container registers itself. The definition stands at the beginning of a line: `extern
/// const ContainerEntry name_container{`.
struct ContainerEntry : Part {
  static constexpr PartKind kind = PartKind::container;
  std::unique_ptr<Container> (*make)(const ContainerSite& site);  ///< local
  /// Local. Returns whether the file at a path is of this container (container/recognise.h). It
  /// reads the file only if several containers could match. Opening reads it anyway and reports
  /// errors.
  bool (*recognises)(const std::string& path, bool is_directory);
  /// Its definitions are a classic header, so that variables have the layouts of classic files.
  bool has_classic_header = false;
};

}  // namespace forebay
