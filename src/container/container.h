// A container is what a file is: it owns what is stored beside the values. Definitions, where they
// and the values lie, the number of records, what makes writes visible, what reaches the device,
// and what a file needs before it is closed. Where elements of a variable lie in it is a layout's.
//
// Dataset calls it; what is collective says so, and throws on all ranks if it fails on one, or is
// called within `together` (comm/agree.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
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

class ByteFile;
class File;
class WriteQueue;

/// _enddef's four arguments, in bytes; 0 takes the hint's or the default value.
struct EnddefArguments {
  Count h_minfree = 0, v_align = 0, v_minfree = 0, r_align = 0;
};

/// What a container shares with the dataset that it belongs to; all of it outlives the container.
struct ContainerSite {
  const Comm& comm;
  const std::string& path;
  Method& method;  ///< alignments become what is in force
  Schema& schema;
  Report& report;
  bool writable;
  bool batches;                 ///< as StageEntry has it
  WriteQueue* later = nullptr;  ///< for the files that values are written to; null: none
};

/// Device and inode: which file it is, whatever its name. Zeros: none.
using FileNumber = std::pair<std::uint64_t, std::uint64_t>;

class Container {
 public:
  virtual ~Container() = default;

  // -- opening

  /// Collective. Makes the file, `exclusive`: Errc::eexist where there is one. `made`: this rank
  /// did. `may_be_later`: where the method wants it a thread makes the file, meanwhile.
  /// Returns, the same on all ranks, whether its last step was a meeting, behind which nothing
  /// fails: then maxima of what `tells`, if it is there, has given each rank came of that, too.
  using Tells = std::function<std::span<std::int64_t>()>;
  virtual bool create(bool exclusive, bool may_be_later, bool& made, const Tells& tells) = 0;
  /// Local; the same on all ranks. A thread makes it still: no rank but the one with the thread may
  /// open it.
  virtual bool is_being_made() const { return false; }
  /// Local. Waits for that, where this rank has the thread, and throws as creating would have.
  /// What rank 0's file is.
  virtual FileNumber wait_until_made() { return {}; }
  virtual void made() {}  ///< local, on all ranks, behind it
  /// Collective. Reads definitions into the schema, and what else is needed before data.
  virtual void open() = 0;
  /// Whether release() has something to free on this rank.
  virtual bool has_engine() const = 0;

  // -- definitions. `old`: those that the file has, null for a new one.

  /// Local. What the definitions are, in bytes to compare: equal for equal definitions.
  virtual std::vector<std::byte> print() const = 0;
  /// Bytes of the definitions as they are stored.
  virtual Offset definitions_bytes() const = 0;
  /// Local. Refuses an attribute that the container itself uses: Errc::ebadname.
  virtual void check_attribute(const std::string& name) const = 0;
  /// Local, define mode. How a variable is cut and encoded: what ncmpi_var_set_chunk and
  /// ncmpi_var_set_filter say. Errc::einval for what cannot be.
  virtual void set_chunk(Variable& var, std::span<const Count> shape) const = 0;
  virtual void set_filter(Variable& var, const std::string& pipeline) const = 0;

  /// Local. Decides how variables that are new are stored.
  virtual void choose(const Schema* old) = 0;
  /// Local. Decides where everything lies.
  virtual void place(const Schema* old, const EnddefArguments& arguments) = 0;
  /// Local. What place() decided, and the same taken over from another rank.
  virtual std::vector<std::byte> print_placed() const = 0;
  virtual void take_over(std::span<const std::byte> placed) = 0;
  /// Collective. Makes the file what was placed: from here on it has the new definitions. Returns
  /// whether its last step, behind which nothing fails, was a meeting.
  virtual bool redefine(const Schema* old) = 0;
  /// Local, behind choose(). Whether place() and redefine() are local and fill_new() has nothing to
  /// do: rank 0 writes new definitions, or they wait, and that is all.
  virtual bool is_defined_by_root(const Schema* old) const = 0;
  /// Local, behind redefine(), the same on all ranks: whether fill_new() has anything to do.
  virtual bool fills_new(const Schema* old) const = 0;
  /// Collective, after redefine(). Fill values, and zeros where nothing was written.
  virtual void fill_new(const Schema* old) = 0;
  /// Local. A decomposition map that an earlier session defined, with this rank's pieces. Null:
  /// the file does not tell them.
  virtual std::shared_ptr<const Decomposition> stored_decomposition(int id) = 0;
  /// Collective. Writes the definitions, in data mode: they fit where they were.
  virtual void write_definitions() = 0;

  // -- data

  /// The layout of all variables: the same object until the container goes.
  virtual Layout& layout() = 0;
  /// The number of records is part of what makes data visible, rather than told afterwards.
  virtual bool publishes_records() const = 0;
  /// Whether a byte of the file tells which element it is (file types of vard).
  virtual bool has_fixed_places() const = 0;
  /// Local, before a file is closed. Whether this rank has anything for the layout to flush, or for
  /// refresh_definitions() and publish_last() to do. Nothing, on all ranks alike: it cannot tell.
  virtual std::optional<bool> has_last_work() const { return std::nullopt; }
  /// Collective. Makes data and the schema's number of records visible, on which all agree.
  virtual void publish() = 0;
  /// Collective. Fill values over one record.
  virtual void fill_record(VarId var, Count record) = 0;
  virtual bool is_regular() = 0;  ///< local: no pipe, no device
  /// Local. The file by a descriptor of its own, for a thread; the container outlives it.
  virtual std::shared_ptr<File> beside(Report& report) = 0;

  // -- files that are written together. Only of a container of which values_file() is something.

  /// Local. The one file that all values go to, each at a place that the layout knows
  /// (Layout::extents_of), by a transport that moves bytes of any file; else null, on all ranks.
  virtual ByteFile* values_file() { return nullptr; }
  /// Local. Of this node: ranks have to meet in this file, whatever others they are in.
  virtual bool has_weak_caches() const { return false; }
  /// Local; the same on all ranks. From here on the definitions of a new file are written only with
  /// what makes its values visible: until then it has no bytes.
  virtual void put_off_definitions(bool /*put_off*/) {}
  /// Local; the same on all ranks. They wait; publish() writes them.
  virtual bool definitions_wait() const { return false; }
  /// Local, on one rank: what publish() and fill_up() do. All ranks have agreed on the number of
  /// records.
  virtual void publish_alone() {}
  virtual void published() {}  ///< local, on all ranks, behind it
  /// Local. The path by which the file is found, if this rank has it open and it was renamed; else
  /// the one that it had.
  virtual std::string place_now() = 0;
  /// Local, the same on all ranks: it has been renamed to that.
  virtual void moved(const std::string& path) = 0;
  /// Local. From here on another file of its name is not written to. 0: is not known.
  virtual void expect(std::uint64_t inode) = 0;

  // -- the end

  /// Collective. Data and definitions reach the device.
  virtual void sync() = 0;
  /// Local. What is read next is what others have written by now.
  virtual void look_again() = 0;
  /// Collective steps of closing a file that was open for writing; the first two where the
  /// container publishes records.
  virtual void refresh_definitions() = 0;
  virtual void publish_last() = 0;
  /// Local. `changed` by any rank.
  virtual void fill_up(bool changed) = 0;
  /// Collective, but no meeting. Frees what needs all ranks for it.
  virtual void release() = 0;
  /// Local; behind it one meeting, then it goes.
  virtual void close() = 0;
  /// Local, on one rank. What create() made goes; nobody uses it any more.
  virtual void remove() = 0;
  /// Sentences for the report.
  virtual std::vector<std::string> reasons() const = 0;
};

/// What a container says of itself, at the beginning of a line: `extern const ContainerEntry
/// name_container{`.
struct ContainerEntry : Part {
  static constexpr PartKind kind = PartKind::container;
  std::unique_ptr<Container> (*make)(const ContainerSite& site);  ///< local
  /// Local. Whether what is at a path is one of these: container/recognise.h asks. Only what
  /// several would take has to be looked into: who opens a file reads it, and tells what is wrong
  /// with it.
  bool (*recognises)(const std::string& path, bool is_directory);
};

}  // namespace forebay
