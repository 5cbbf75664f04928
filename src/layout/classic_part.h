// A layout that keeps variables of a classic file in a way of its own: its values lie where it
// likes, the header tells of them by anchors, and what makes them visible is published by itself.
// What it adds to a file belongs to it alone: the container (container/classic) asks, and never
// looks.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "array/schema.h"
#include "base/extent.h"
#include "base/report.h"
#include "comm/comm.h"
#include "layout/layout.h"
#include "method/method.h"
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
};

class ClassicPart : public Layout {
 public:
  virtual bool keeps(const Variable& var) const = 0;

  // -- definitions. `old`: what the file has, null for a new one.

  /// Local. Decides which variables that are not in `old` it keeps. Errc::einval where the program
  /// asked for what cannot be.
  virtual void choose(const Schema* old) = 0;
  /// Local. The schema that the header tells, anchors in it.
  virtual Schema stored() const = 0;
  /// Local. Where header, variables and its own things lie. Returns the alignment in force.
  virtual Alignment place(const Schema* old, const Alignment& wanted) = 0;
  /// Local. What place() found that stored() does not tell: for ranks that take it over, with the
  /// schema of rank 0's header.
  virtual Count placed() const = 0;
  virtual void take_over(const Schema& stored, Count placed) = 0;
  /// Collective, after place() on all ranks. `relocate` moves bytes of the file, collectively.
  virtual void start(const Schema* old, const std::function<void(const Move&)>& relocate) = 0;
  /// Collective, when the file was opened and the header read.
  virtual void load() = 0;
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
};

/// The one part that there is: layout chunked. It keeps variables that have a `chunking`.
std::unique_ptr<ClassicPart> make_chunked_part(const ClassicSite& site);
/// Whether a header that was read has variables of a part, and whether an attribute belongs to one.
bool has_part(const Schema& stored);
bool belongs_to_part(std::string_view attribute);
/// How a variable is cut and encoded. Errc::einval for what cannot be.
void set_chunk_shape(const Schema& schema, const Method& method, Variable& var,
                     std::span<const Count> shape);
void set_codec(const Schema& schema, const Method& method, Variable& var,
               const std::string& pipeline);

}  // namespace forebay
