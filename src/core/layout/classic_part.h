// Layouts that store variables of a classic file in their own way, and the registration of a
// layout. Only the layout knows what it adds to a file; the container (container/classic) asks it,
// and never looks itself.
//
// A file may have several such layouts, but each variable belongs to at most one of them. There are
// three kinds. A ClassicPart stores a variable's elements within the space that the classic format
// gives them, but in its own way. Each record stays in its place, for the container fills, moves
// and counts records by their places. An ApartPart stores its values apart from those of classic
// variables: the header has anchors for them, and their publication is separate. They may be in
// files beside this one. Or (HeapPart) they are at the end of this file, after everything else,
// where records would be: a file has at most one heap.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "array/schema.h"
#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "layout/file_view.h"
#include "layout/layout.h"
#include "layout/variable_reader.h"
#include "method/method.h"
#include "method/part.h"
#include "plan/classic_placement.h"
#include "storage/file.h"

namespace forebay {

/// What a layout shares with its container; all of it outlives the layout.
struct ClassicSite {
  const Comm& comm;
  const std::string& path;
  const Method& method;
  Schema& schema;
  File& file;
  ExtentIo& io;
  Report& report;
  /// Collective over `ranks`. Makes the I/O for another file of the layout that these ranks share.
  /// The ranks close the file.
  using MakeIo = std::unique_ptr<ExtentIo> (*)(const Comm& ranks, std::shared_ptr<File> file,
                                               const Method& method, Report& report);
  MakeIo make_io = nullptr;
  /// Local. Reads extents of a file, with data sieving.
  void (*read)(ByteFile& file, ExtentStream& extents, Count hole_threshold,
               Report& report) = nullptr;
  /// The queue for files that values are written to; null: none. While it is open, writes are not
  /// published. publish() is called once all queued data is in the files.
  WriteQueue* later = nullptr;
  /// The file holds the definitions of a directory, where layouts may have their own files.
  bool in_directory = false;
};

class ApartPart;
class HeapPart;

class ClassicPart : public Layout {
 public:
  virtual bool keeps(const Variable& var) const = 0;
  /// Returns this if it is an ApartPart (a HeapPart).
  virtual ApartPart* apart() { return nullptr; }
  virtual HeapPart* heap() { return nullptr; }
  /// Whether it chooses its variables after the other parts: heaps do, and layouts that may be one.
  virtual bool chooses_last() const { return false; }

  // -- Definitions. `old` is the schema of the file, null for a new one.

  /// Local. Decides which variables that are not in `old` it stores, except those of other parts.
  /// Errc::einval if the program asked for something impossible.
  using KeptElsewhere = std::function<bool(const Variable&)>;
  virtual void choose(const Schema* old, const KeptElsewhere& elsewhere) = 0;
  /// Local. stored() returns the header's schema for a schema that users see: it marks the layout's
  /// variables. take_over() is the reverse; the layout then stores the variables that are marked.
  virtual Schema stored(const Schema& schema) const = 0;
  virtual Schema take_over(Schema stored) = 0;
  /// Local. Updates the result of stored() for the same definitions. Returns false if stored() must
  /// be called again.
  virtual bool renew(Schema& /*stored*/) const { return false; }

  /// Local. As Container::has_last_work, for flush() and publish_last().
  virtual std::optional<bool> has_last_work() const { return std::nullopt; }
};

class ApartPart : public ClassicPart {
 public:
  ApartPart* apart() override { return this; }

  /// Local. Results of choose() and place() that the header does not contain, for ranks that
  /// receive them. These call take_over_placed() after take_over(), with the resulting schema.
  virtual std::vector<std::byte> placed() const { return {}; }
  virtual void take_over_placed(std::span<const std::byte> /*placed*/) {}
  /// Collective; called when all is placed, before anything is moved or written. Creates files
  /// beside this one, if there are none yet. Errc::eexist if other files are in the way.
  virtual void make_files() {}
  /// Collective, after make_files(). `relocate` moves bytes of the file, collectively.
  virtual void start(const Schema* old, const std::function<void(const Move&)>& relocate) = 0;
  /// Local, on rank 0, after start() and before the header is written. Writes the anchors of its
  /// variables, unless start() did.
  virtual void put_anchors(const Schema* /*old*/) {}
  /// Local. As Container::stored_decomposition.
  virtual std::shared_ptr<const Decomposition> stored_decomposition(int) { return nullptr; }
  /// Collective; called when the file was opened and the header was read. Returns whether the
  /// loaded state is the newest one, and no damaged state may be newer. Otherwise, if the file is
  /// writable, it is about to become the newest, and records that only the header has are given up.
  virtual bool load(Count in_header) = 0;
  /// Local, equal on all ranks. Returns whether the header lacks something that is known now.
  virtual bool header_is_old() const = 0;
  virtual void header_written() = 0;

  // -- Publication. Collective; errors are thrown on all ranks.

  virtual void publish() = 0;
  /// The last publication: later readers then need not process data that only writers keep.
  virtual void publish_last() = 0;
  /// Called when the published data is on the device on all ranks.
  virtual void synced() = 0;
  /// Writes fill values to a record of one of its variables, bypassing staged data.
  virtual void fill_record(VarId var, Count record) = 0;

  /// Local. As File::meet() for files beside this one, whose caches are weak if this one's are.
  virtual void meet() {}
  /// Collective. Frees resources whose release is collective.
  virtual void release() {}
  /// Local, after release(). Closes files beside this one; throws errors that the system reports
  /// only then. Without it, the destructor leaves the files (File::leave), after the last
  /// collective step.
  virtual void close() {}
};

class HeapPart : public ApartPart {
 public:
  HeapPart* heap() override { return this; }
  bool chooses_last() const override { return true; }

  /// Local. Places header, variables and its own data in the schema, whose header is `stored`.
  /// Returns the alignment in force.
  virtual Alignment place(Schema stored, const Schema* old, const Alignment& wanted) = 0;
  /// The end of its data in the file after the last publication; bytes beyond it are unused.
  /// Nothing if it is unknown.
  virtual std::optional<Offset> end() const = 0;
};

/// A layout as a part of classic files. All functions are local.
struct ClassicPartEntry {
  std::unique_ptr<ClassicPart> (*make)(const ClassicSite& site) = nullptr;
  bool apart = false;  ///< `make` makes an ApartPart
  // The next three are needed where `make` is not null.
  /// Returns whether a header has variables of this layout.
  bool (*is_in)(const Schema& stored) = nullptr;
  /// Returns whether it uses an attribute; programs may not use the name, and get the advice
  /// `instead`.
  bool (*owns)(std::string_view attribute) = nullptr;
  const char* instead = nullptr;
  /// Returns whether definitions ask for it, before choose(). Null: they cannot.
  bool (*is_asked_for)(const Schema& schema) = nullptr;
  /// has_beside returns whether it stores anything beside a file of that path; null: it never does.
  /// remove_beside removes that, when the file is removed or replaced. It keeps files that by
  /// `header` (null if unreadable) belong to another file.
  bool (*has_beside)(const std::string& path) noexcept = nullptr;
  void (*remove_beside)(const std::string& path, const Schema* header) noexcept = nullptr;
  /// Set how a variable is cut and encoded; null if the layout does neither. Errc::einval for
  /// impossible values. set_codec returns false if another layout sets the codec of the variable;
  /// layouts later in the order are asked first.
  void (*set_shape)(const Schema& schema, const Method& method, Variable& var,
                    std::span<const Count> shape) = nullptr;
  bool (*set_codec)(const Schema& schema, const Method& method, Variable& var,
                    const std::string& pipeline) = nullptr;
  /// Makes the reader of the file's variables of this layout, for a process without other ranks.
  /// The schema of the site, which has variables of this layout, becomes the one that users see.
  /// Null: only ranks read them, and tools and Python refuse them.
  std::unique_ptr<VariableReader> (*open_reader)(const ReaderSite& site) = nullptr;
};

namespace chunked {
class ChunkPolicy;
}

/// The registration of a layout. A line of its file begins `extern const LayoutEntry name_layout{`.
struct LayoutEntry : Part {
  static constexpr PartKind kind = PartKind::layout;
  /// Empty for layouts that keep nothing of their own in classic files: canonical; those that
  /// only cut chunks in a way of their own; those of HDF5 and BP files.
  ClassicPartEntry in_classic = {};
  /// How its chunks differ from those of `chunked` (layout/chunked/chunk_policy.h); null: it has no
  /// chunks, or they do not.
  const chunked::ChunkPolicy* chunks = nullptr;
  /// Local, equal on all ranks. Returns the view of a file that the method asks for; null if it
  /// asks for none, or if nothing in the file can be shown in it. `file` outlives the view. Null:
  /// the layout gives no views.
  std::unique_ptr<FileView> (*view)(const Schema& file, const Method& method,
                                    bool writable) = nullptr;
};

extern const LayoutEntry canonical_layout, chunked_layout;  // the core's own

/// Returns the layouts that have a part of classic files.
std::vector<const LayoutEntry*> part_layouts();

/// Local, in define mode. Set how the program wants a variable to be cut and encoded, unless the
/// method says otherwise from outside: then it gets a note. Errc::einval for impossible values,
/// even where they are overruled.
void set_chunk_by_program(const Schema& schema, Method& method, Variable& var,
                          std::span<const Count> shape);
void set_filter_by_program(const Schema& schema, Method& method, Variable& var,
                           const std::string& pipeline);

/// Returns the layout that keeps a variable of a classic file.
const LayoutEntry& layout_of(const Variable& var);
/// Returns whether a variable's values are kept by an ApartPart: what lies at its `begin` is an
/// anchor.
bool is_apart(const Variable& var);

/// Local. Calls LayoutEntry::view of all layouts. Returns the first view, if any.
std::unique_ptr<FileView> view_of(const Schema& file, const Method& method, bool writable);

/// Local; called when the newest state of all parts has set `schema.numrecs`. `in_header` is the
/// header's number of records. After a killed process the header never has more records than that
/// state. So if it has more, another program has added records to the classic variables. They count
/// if they begin within the file. (A power failure may leave the header of a lost state, which
/// looks the same.)
void keep_added_records(Schema& schema, Count in_header, Offset file_size);

/// Collective; called when a state that is not the newest has set `schema.numrecs`, before that
/// state becomes the newest. First removes the records of later states from the header, on the
/// device. Otherwise, after a kill, they would look like added records.
void give_up_records(const ClassicSite& site, Count in_header);

/// Local. Returns whether layouts store anything beside a file of that path.
bool has_beside(const std::string& path) noexcept;
/// Local, on one rank. The header of that file; nothing if no data lies beside it, or the header is
/// unreadable.
std::optional<Schema> header_for_beside(const std::string& path) noexcept;
/// Local, on one rank. Removes what layouts stored beside a removed file of that path, which had
/// that header.
void remove_beside(const std::string& path, const std::optional<Schema>& header) noexcept;
/// Local, on one rank. Removes a file, or a directory that serves as one, with what layouts store
/// beside it; also an empty folder, which may be left if a process is killed while it makes a
/// directory. Errc::eaccess for another folder. Errc::ecantremove if the directory holds other
/// things; nothing is then removed. Other errors are the system's.
void remove_whole(const std::string& path);
/// Local, on one rank. Renames `from` to `to`, with what lies beside it, and removes the old `to`.
/// It is one step if both are single files; otherwise `to` is either complete or missing at any
/// time. Errors are the system's.
void rename_whole(const std::string& from, const std::string& to);

}  // namespace forebay
