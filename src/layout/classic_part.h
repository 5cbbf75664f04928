// A layout that keeps variables of a classic file in a way of its own, and what a layout says of
// itself. What it adds to a file belongs to it alone: the container (container/classic) asks, and
// never looks.
//
// A file may have several, each variable kept by one at most. There are three kinds. One keeps a
// variable's elements within the space that the classic format gives them, but in a way of its own
// (ClassicPart). Another (ApartPart) keeps its values apart from those of classic variables: the
// header tells of them by anchors, and what makes them visible is published by itself. They may lie
// in files beside this one, or (HeapPart) behind all the rest of this one, where records would
// stand: the end of a file belongs to one heap at most.
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
#include "layout/layout.h"
#include "method/method.h"
#include "method/part.h"
#include "plan/begins.h"
#include "storage/file.h"

namespace forebay {

/// What a layout shares with the container that it lies in; all of it outlives the layout.
struct ClassicSite {
  const Comm& comm;
  const std::string& path;
  const Method& method;
  Schema& schema;
  File& file;
  ExtentIo& io;
  Report& report;
  /// Collective over `ranks`, which belong to a layout: what carries extents to and from another
  /// file of theirs. They close it.
  using MakeIo = std::unique_ptr<ExtentIo> (*)(const Comm& ranks, std::shared_ptr<File> file,
                                               const Method& method, Report& report);
  MakeIo make_io = nullptr;
  /// Local. Reads extents of a file, bridging holes.
  void (*read)(ByteFile& file, ExtentStream& extents, Count hole_threshold,
               Report& report) = nullptr;
  /// For the files that values are written to; null: none. While it is open nothing is published:
  /// publish() is called, once what was written is in the files.
  WriteQueue* later = nullptr;
  /// The file is that of the definitions of a directory, where layouts may have files of their own.
  bool in_directory = false;
};

class ApartPart;
class HeapPart;

class ClassicPart : public Layout {
 public:
  virtual bool keeps(const Variable& var) const = 0;
  /// This, if it is one.
  virtual ApartPart* apart() { return nullptr; }
  virtual HeapPart* heap() { return nullptr; }
  /// Heaps do, and what may be one.
  virtual bool chooses_last() const { return false; }

  // -- definitions. `old`: what the file has, null for a new one.

  /// Local. Decides which variables that are not in `old` it keeps, of those that no other part
  /// does. Errc::einval where the program asked for what cannot be.
  using KeptElsewhere = std::function<bool(const Variable&)>;
  virtual void choose(const Schema* old, const KeptElsewhere& elsewhere) = 0;
  /// Local. The header's schema of a schema that users see: what tells that a variable is its is
  /// added. And back; it keeps the variables that are found so from here on.
  virtual Schema stored(const Schema& schema) const = 0;
  virtual Schema take_over(Schema stored) = 0;
  /// Local. Puts right in what stored() made, of the same definitions, what is known since: false
  /// where that has to be made anew.
  virtual bool renew(Schema& /*stored*/) const { return false; }

  /// Local. As Container::has_last_work, of flush() and publish_last().
  virtual std::optional<bool> has_last_work() const { return std::nullopt; }
};

class ApartPart : public ClassicPart {
 public:
  ApartPart* apart() override { return this; }

  /// Local. What choose() and place() found that the header does not tell: for ranks that take it
  /// over, behind take_over() and with the schema that came of it.
  virtual std::vector<std::byte> placed() const { return {}; }
  virtual void take_over_placed(std::span<const std::byte> /*placed*/) {}
  /// Collective, when all is placed, and ahead of anything that is moved or written: makes files
  /// beside this one, where it has none yet. Errc::eexist for what is in their way.
  virtual void make_files() {}
  /// Collective, behind it. `relocate` moves bytes of the file, collectively.
  virtual void start(const Schema* old, const std::function<void(const Move&)>& relocate) = 0;
  /// Local, on rank 0, behind it and ahead of the header, unless start() has written them: what
  /// stands in the file for the variables that it keeps.
  virtual void put_anchors(const Schema* /*old*/) {}
  /// Local. As Container::stored_decomposition.
  virtual std::shared_ptr<const Decomposition> stored_decomposition(int) { return nullptr; }
  /// Collective, when the file was opened and the header read. Returns whether what was loaded is
  /// the newest state, and nothing damaged may have been a newer one. Else it is about to become
  /// that when the file is writable, and records that only the header tells of are given up.
  virtual bool load(Count in_header) = 0;
  /// Local, the same on all ranks. The header tells less than is known by now.
  virtual bool header_is_old() const = 0;
  virtual void header_written() = 0;

  // -- what makes it visible. Collective; errors are thrown on all ranks.

  virtual void publish() = 0;
  /// For the last time: who opens the file next need not go through what only writers keep.
  virtual void publish_last() = 0;
  /// What was published is on the device on all ranks.
  virtual void synced() = 0;
  /// Writes fill values over a record of a variable that it keeps, past what is staged.
  virtual void fill_record(VarId var, Count record) = 0;

  /// Local. As File::meet() of files beside this one, whose caches are weak where this one's are.
  virtual void meet() {}
  /// Collective. Frees what needs all ranks for it.
  virtual void release() {}
  /// Local, behind release(). Closes files beside this one: errors that the system kept until then
  /// are thrown. The destructor leaves them (File::leave), behind the last meeting.
  virtual void close() {}
};

class HeapPart : public ApartPart {
 public:
  HeapPart* heap() override { return this; }
  bool chooses_last() const override { return true; }

  /// Local. Where header, variables and its own things lie: in the schema, whose header is
  /// `stored`. Returns the alignment in force.
  virtual Alignment place(Schema stored, const Schema* old, const Alignment& wanted) = 0;
};

/// A layout as a part of classic files. All local.
struct ClassicPartEntry {
  std::unique_ptr<ClassicPart> (*make)(const ClassicSite& site) = nullptr;
  /// Whether a header that was read tells of variables that it keeps.
  bool (*is_in)(const Schema& stored) = nullptr;
  /// Whether an attribute is its own: programs may not use the name, but do what `instead` says.
  bool (*owns)(std::string_view attribute) = nullptr;
  const char* instead = nullptr;
  /// Whether definitions ask for it, ahead of choose(). Null: they cannot.
  bool (*is_asked_for)(const Schema& schema) = nullptr;
  /// Whether anything lies beside a file of that path; null: nothing does. Removes it, the file
  /// being gone or about to be another, but for what is another file's by its `header` (null where
  /// that could not be read).
  bool (*has_beside)(const std::string& path) noexcept = nullptr;
  void (*remove_beside)(const std::string& path, const Schema* header) noexcept = nullptr;
  /// How a variable is cut and encoded, where it does that; else null. Errc::einval for what cannot
  /// be. False: the codec of such a variable is another layout's matter; those behind are asked
  /// first.
  void (*set_shape)(const Schema& schema, const Method& method, Variable& var,
                    std::span<const Count> shape) = nullptr;
  bool (*set_codec)(const Schema& schema, const Method& method, Variable& var,
                    const std::string& pipeline) = nullptr;
};

/// What a layout says of itself, at the beginning of a line: `extern const LayoutEntry
/// name_layout{`.
struct LayoutEntry : Part {
  static constexpr PartKind kind = PartKind::layout;
  ClassicPartEntry in_classic = {};  ///< nothing for what is no part of classic files
  /// "HDF5", say, where it is not for netCDF files at all, and what people should read then.
  const char* only_for = nullptr;
  const char* to_read = nullptr;
};

/// Local, when the newest state of what parts keep has told `schema.numrecs`, of a file of so many
/// bytes whose header says `in_header`. No kill leaves a header ahead of that state: another
/// program has added records to the classic variables, which count, as far as they begin within the
/// file. (A power failure may have left the header of a state that it lost, which looks no
/// different.)
void keep_added_records(Schema& schema, Count in_header, Offset file_size);

/// Collective, when a state that is not the newest has told `schema.numrecs`, ahead of anything
/// that makes it that: the records of later ones are given up in the header first, on the device,
/// or who is killed would leave them as added ones.
void give_up_records(const ClassicSite& site, Count in_header);

/// Local. Whether layouts keep anything beside a file of that path.
bool has_beside(const std::string& path) noexcept;
/// Local, on one rank. What the header of that file says; nothing if nothing lies beside it, or the
/// header cannot be read.
std::optional<Schema> header_for_beside(const std::string& path) noexcept;
/// Local, on one rank. Removes what layouts keep beside a file of that path, which is gone, and had
/// that header.
void remove_beside(const std::string& path, const std::optional<Schema>& header) noexcept;
/// Local, on one rank. Removes a file, or a directory that is taken as one, with what layouts keep
/// beside it; also an empty folder, which a kill leaves where a directory was made. Errc::eaccess
/// for another folder, Errc::ecantremove where the directory holds other things, of which nothing
/// goes then; else as the system's.
void remove_whole(const std::string& path);
/// Local, on one rank. `to` becomes what `from` is, with what lies beside it; what `to` was goes.
/// In one step where both are single files; else `to` is whole or not there. Errors as the
/// system's.
void rename_whole(const std::string& from, const std::string& to);

}  // namespace forebay
