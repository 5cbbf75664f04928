#include "api/pnetcdf/access.h"

#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "array/chunk_grid.h"
#include "array/convert.h"
#include "comm/datatype.h"
#include "dataset/dataset.h"
#include "dataset/decompositions.h"
#include "dataset/records.h"

namespace forebay::pnetcdf {

namespace {

/// MPI_Offset and Count are both signed and of 64 bits, but may be different C types. The caller's
/// arrays were written by code compiled elsewhere, so reading them as Count is safe.
static_assert(sizeof(MPI_Offset) == sizeof(Count) && std::is_signed_v<MPI_Offset>);

const Count* counts_of(const MPI_Offset* p) { return reinterpret_cast<const Count*>(p); }

Counts copy_of(const MPI_Offset* p, int n) { return {p, p + n}; }

SelectionLimits limits_of(const Dataset& ds, const Variable& var, bool write) {
  const Schema& schema = ds.schema();
  const bool may_grow = write && var.is_record;
  return {may_grow ? most_records(ds, var) : schema.numrecs, ds.method().strict_start};
}

/// var: selects the whole variable.
void select_whole(const Dataset& ds, const Variable& var, Request& request) {
  Subarray all;
  all.start.assign(static_cast<std::size_t>(var.ndims()), 0);
  all.count = var.shape;
  if (var.is_record) {
    all.count[0] = ds.schema().numrecs;
    request.last_record = all.count[0];
  }
  request.elements = all.elements();
  request.selection = std::move(all);
}

/// var1, vara, vars, varm.
void select_subarray(const Dataset& ds, const Variable& var, const Selection& s, Request& request) {
  if (s.level.value_or(0) != 0) {
    const int levels = coarser_levels(var);
    if (*s.level < 0 || *s.level > levels)
      throw Error(
          Errc::einval, "variable " + var.name + " has no level " + std::to_string(*s.level),
          levels == 0 ? "only variables in patches have coarser levels (layout=patches)"
                      : "its levels are 0, which is all of it, to " + std::to_string(levels));
    Selection same = s;
    same.level.reset();
    request.level = *s.level;
    return select_subarray(ds, at_level(var, *s.level), same, request);
  }
  const int n = var.ndims();
  const bool one = s.kind == Kind::element;
  check_selection(var, limits_of(ds, var, request.write), counts_of(s.start), counts_of(s.count),
                  counts_of(s.stride), !one);
  Subarray sub;
  if (n > 0) {
    sub.start = copy_of(s.start, n);
    sub.count = one ? Counts(static_cast<std::size_t>(n), 1) : copy_of(s.count, n);
    if (s.stride != nullptr) sub.stride = copy_of(s.stride, n);
    if (s.imap != nullptr) request.with_extras().imap = copy_of(s.imap, n);
  }
  request.elements = sub.elements();
  if (var.is_record) {
    // Even an empty request creates the records that lie before its end.
    const Count step = sub.stride.empty() ? 1 : sub.stride[0];
    request.last_record =
        sub.count[0] == 0 ? sub.start[0] : sub.start[0] + (sub.count[0] - 1) * step + 1;
  }
  request.selection = std::move(sub);
}

/// varn.
void select_pieces(Dataset& ds, const Variable& var, const Selection& s, Request& request) {
  if (s.num == 0 || (s.num < 0 && var.ndims() > 0)) return;
  if (var.ndims() == 0) {
    if (s.num != 1) {
      throw Error(Errc::einval, "a scalar variable, " + var.name + ", has one piece only");
    }
    request.elements = 1;
    return;
  }
  if (s.starts == nullptr) throw Error(Errc::enullstart, "starts is a null pointer");
  const VarnPieces pieces{s.num, reinterpret_cast<const Count* const*>(s.starts),
                          reinterpret_cast<const Count* const*>(s.counts)};
  FlattenedVarn found;
  request.selection =
      ds.run_lists().flatten(var, pieces, limits_of(ds, var, request.write), request.write, found);
  request.elements = found.elements;
  request.last_record = found.last_record;
}

/// decom, decom_part: start and count belong to the dimensions before the map's.
void select_decomposed(Dataset& ds, const Variable& var, const Selection& s, Request& request) {
  const Decomposition& map = decomposition_of(ds, request.var);
  const auto leading = static_cast<std::size_t>(var.ndims()) - map.dims().size();
  Variable front;
  front.name = var.name;
  front.is_record = var.is_record;
  front.dimids.assign(var.dimids.begin(), var.dimids.begin() + static_cast<int>(leading));
  front.shape.assign(var.shape.begin(), var.shape.begin() + static_cast<int>(leading));
  check_selection(front, limits_of(ds, var, request.write), counts_of(s.start), counts_of(s.count),
                  nullptr, true);
  const bool all = s.num == -1;
  const int n = all ? map.pieces() : s.num;
  if (s.first < 0 || n < 0 || n > map.pieces() - s.first)
    throw Error(Errc::einval, "variable " + var.name + ": pieces outside of the " +
                                  std::to_string(map.pieces()) + " that this rank has");
  const std::span<const Count> start(counts_of(s.start), leading),
      count(counts_of(s.count), leading);
  request.elements = map.elements(s.first, n);
  for (const Count c : count)
    if (!multiply_fits(request.elements, c, request.elements))
      throw Error(Errc::eintoverflow, "variable " + var.name + ": too many elements");
  // Even an empty request creates the records that lie before its end.
  if (var.is_record) request.last_record = start[0] + count[0];
  if (request.elements > 0) {
    request.selection = map.select(var, start, count, s.first, n, request.write);
    return;
  }
  Subarray nothing{{start.begin(), start.end()}, {count.begin(), count.end()}, {}};
  nothing.start.resize(var.dimids.size(), 0);
  nothing.count.resize(var.dimids.size(), 0);
  request.selection = std::move(nothing);
}

Type type_of_element(const DatatypeMap& map) {
  const int size = map.element_size;
  switch (map.element) {
    case Element::text:
      return Type::chr;
    case Element::signed_integer:
      return size == 1   ? Type::byte
             : size == 2 ? Type::int16
             : size == 4 ? Type::int32
                         : Type::int64;
    case Element::unsigned_integer:
      return size == 1   ? Type::uint8
             : size == 2 ? Type::uint16
             : size == 4 ? Type::uint32
                         : Type::uint64;
    case Element::floating:
      return size == 4 ? Type::float32 : Type::float64;
    default:
      return Type::none;
  }
}

/// A stretch of a file type: bytes of one variable that follow one another in memory.
struct Stretch {
  VarId var = 0;
  std::vector<Run> runs = {};  ///< relative to the variable's begin
  Count bytes = 0;
  Count last_record = 0;
};

/// Splits a file type by the variables to which its bytes belong.
class FileTypeStretches {
 public:
  FileTypeStretches(const Dataset& ds, VarId first, bool write)
      : ds_(ds), first_(ds.variable(first)), write_(write) {
    stretches_.push_back({.var = first});
  }

  std::vector<Stretch> of(const DatatypeMap& map) {
    for (const DatatypeRun& r : map.runs) {
      if (r.offset < 0) throw_outside();
      // A run may cross the end of a record or variable if no gap follows.
      for (Offset at = first_.begin + r.offset, left = r.length; left > 0;) {
        const Count length = add(at, left);
        at += length;
        left -= length;
      }
    }
    return std::move(stretches_);
  }

 private:
  /// Adds the bytes from `at` on that belong to one record of one variable. Returns their number.
  Count add(Offset at, Count left) {
    if (!room(ds_.variable(stretches_.back().var), at)) stretches_.push_back({.var = find(at)});
    Stretch& stretch = stretches_.back();
    const Variable& var = ds_.variable(stretch.var);
    // Only whole elements count. Records may have weaker alignment, and byte steps may be no
    // multiple of an element, as in PnetCDF; in other layouts such bytes are no elements.
    const Count bytes = room(var, at), beyond = bytes % size_of(var.type), to_end = bytes - beyond;
    if (to_end == 0 || (beyond != 0 && !ds_.has_fixed_places())) throw_outside();
    const Count length = std::min(left, to_end);
    if (var.type != first_.type) {
      throw Error(Errc::etype_mismatch,
                  "the file type's elements are not of the type of " + var.name);
    }
    stretch.runs.push_back({at - var.begin, length});
    stretch.bytes += length;
    if (var.is_record) {
      stretch.last_record = std::max(stretch.last_record, (at - var.begin) / stride(var) + 1);
    }
    return length;
  }

  Count stride(const Variable& var) const { return file_type_stride(ds_, var); }

  /// Returns the bytes of the variable's record (or of the variable) from `at` on; 0 if `at` lies
  /// outside.
  Count room(const Variable& var, Offset at) const {
    const Offset from_begin = at - var.begin;
    if (from_begin < 0) return 0;
    const Count record = var.is_record ? from_begin / stride(var) : 0;
    if (var.is_record && record >= limits_of(ds_, var, write_).records) return 0;
    return std::max<Count>(0, var.inner_bytes() - (from_begin - record * stride(var)));
  }

  /// Returns the variable that is nearest before `at`: in its own section of the file, in record 0.
  VarId find(Offset at) {
    const Schema& schema = ds_.schema();
    if (!ds_.has_fixed_places()) throw_outside();  // places in the file mean nothing
    if (by_begin_.empty()) {
      for (const Variable& var : schema.vars) {
        by_begin_.emplace(var.begin, static_cast<VarId>(by_begin_.size()));
      }
    }
    if (schema.recsize > 0 && at >= schema.begin_rec) {
      at = schema.begin_rec + (at - schema.begin_rec) % schema.recsize;
    }
    const auto after = by_begin_.upper_bound(at);
    if (after == by_begin_.begin()) throw_outside();
    return std::prev(after)->second;
  }

  [[noreturn]] void throw_outside() const {
    throw Error(Errc::etypesize, "the file type at variable " + first_.name +
                                     " selects bytes that are no elements of a variable");
  }

  const Dataset& ds_;
  const Variable& first_;
  bool write_;
  std::vector<Stretch> stretches_;
  std::multimap<Offset, VarId> by_begin_;
};

/// The amounts in memory and in the request must be equal.
void check_amount(const Variable& var, Count in_memory, Count selected) {
  if (in_memory == selected) return;
  throw Error(Errc::eiomismatch, "variable " + var.name + ": " + std::to_string(in_memory) +
                                     " elements in memory, " + std::to_string(selected) +
                                     " in the request");
}

void check_char(const Variable& var, Type native) {
  if (convertible(var.type, native)) return;
  throw Error(Errc::echar, "variable " + var.name + " has type " + name_of(var.type) +
                               ", the memory has " + name_of(native));
}

/// An imap over packed elements must stay among them.
void check_packed_imap(const Subarray& sub, const Counts& imap, Count elements) {
  Count low = 0, high = 0;
  for (std::size_t d = 0; d < imap.size(); ++d) {
    Count span = 0;
    if (!multiply_fits(imap[d], sub.count[d] - 1, span)) span = imap[d] < 0 ? -elements : elements;
    if (!add_fits(span < 0 ? low : high, span, span < 0 ? low : high)) high = elements;
  }
  if (low < 0 || high >= elements) {
    throw Error(Errc::eiomismatch, "imap leaves the elements of the MPI datatype");
  }
}

/// Memory with gaps is copied through a packed buffer: it is filled now for a write, and emptied
/// when a read is done.
void use_packed_memory(DatatypeMap&& map, Count instances, void* data, Request& request) {
  if (request.is_mapped()) {
    check_packed_imap(std::get<Subarray>(request.selection), request.extras->imap,
                      request.elements);
  }
  auto bytes =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(map.size * instances));
  auto* user = static_cast<std::byte*>(data);
  if (request.write || request.is_mapped()) pack(map, instances, user, bytes->data());
  request.memory.data = bytes->data();
  request.with_extras().on_done =
      [bytes, user, instances, write = request.write,
       type = std::make_shared<const DatatypeMap>(std::move(map))](bool delivered) {
        if (delivered && !write) unpack(*type, instances, bytes->data(), user);
      };
}

/// Flexible interface: uses `count` instances of an MPI datatype, or as many as are selected.
void use_flexible_memory(const Variable& var, const Buffer& b, bool count_ignored,
                         Request& request) {
  request.memory.data = static_cast<std::byte*>(b.data);
  if (b.type == MPI_DATATYPE_NULL) {  // memory has the variable's type and the selected size
    request.memory.type = var.type;
    return;
  }
  if (count_ignored && !is_predefined(b.type)) {
    throw Error(Errc::ebadtype, "a count of -1 goes with predefined MPI datatypes only");
  }
  DatatypeMap map = describe(b.type);
  Count in_memory = 0;
  if (!multiply_fits(b.count, map.elements(), in_memory)) in_memory = -1;
  if (!count_ignored) check_amount(var, in_memory, request.elements);
  if (request.elements == 0) return;
  request.memory.type = type_of_element(map);
  if (request.memory.type == Type::none) {
    throw Error(Errc::ebadtype, "MPI_BYTE has no type to convert from or to");
  }
  check_char(var, request.memory.type);
  if (!map.contiguous()) use_packed_memory(std::move(map), b.count, b.data, request);
}

void check_buffer(const Request& request) {
  if (request.elements > 0 && request.memory.data == nullptr) {
    throw Error(Errc::einval, "the buffer is a null pointer");
  }
}

}  // namespace

void check_mode(const Dataset& ds, Direction direction, Coordination coordination) {
  if (direction == put) check_writable(ds);
  if (ds.in_define_mode()) throw Error(Errc::eindefine, ds.path() + " is in define mode");
  if (coordination == collective && ds.mode() == Mode::independent) {
    throw Error(Errc::eindep, ds.path() + " is in independent data mode");
  }
  if (coordination == independent && ds.mode() == Mode::collective) {
    throw Error(Errc::enotindep, ds.path() + " is in collective data mode",
                "call ncmpi_begin_indep_data first, or the function with _all");
  }
}

const Variable& check_variable(const Dataset& ds, int varid, Type native) {
  const Variable& var = variable_of(ds, varid);
  if (native != Type::none) check_char(var, native);
  return var;
}

Request make_request(Dataset& ds, int varid, Direction direction, const Selection& selection,
                     const Buffer& buffer, bool queued) {
  const Variable& var = check_variable(ds, varid, buffer.native);
  Request request;
  request.var = varid;
  request.write = direction == put;
  switch (selection.kind) {
    case Kind::whole:
      select_whole(ds, var, request);
      break;
    case Kind::pieces:
      select_pieces(ds, var, selection, request);
      break;
    case Kind::decomposed:
      select_decomposed(ds, var, selection, request);
      break;
    default:
      select_subarray(ds, var, selection, request);
  }
  const bool nothing = queued && buffer.native == Type::none && buffer.type != MPI_DATATYPE_NULL &&
                       buffer.count == 0;
  if (nothing || (selection.kind == Kind::pieces && selection.num <= 0)) {
    request.elements = 0;
    request.last_record = 0;
    request.memory.type = var.type;
    return request;
  }
  if (buffer.native != Type::none) {
    request.memory.data = static_cast<std::byte*>(buffer.data);
    request.memory.type = buffer.native;
  } else {
    request.memory.type = var.type;
    use_flexible_memory(var, buffer, buffer.count == -1, request);
  }
  check_buffer(request);
  return request;
}

std::vector<Request> make_typed_requests(Dataset& ds, int varid, Direction direction,
                                         MPI_Datatype file_type, const Buffer& buffer) {
  const Variable& var = check_variable(ds, varid, buffer.native);
  const bool nothing = buffer.type != MPI_DATATYPE_NULL && buffer.count == 0;
  if (nothing || file_type == MPI_DATATYPE_NULL) return {};
  const DatatypeMap map = describe(file_type);
  if (type_of_element(map) != var.type) {
    throw Error(Errc::etype_mismatch,
                "the file type's elements are not of the type of " + var.name);
  }
  Request whole;
  whole.write = direction == put;
  whole.elements = map.elements();
  std::vector<Stretch> stretches = FileTypeStretches(ds, varid, whole.write).of(map);
  use_flexible_memory(var, buffer, false, whole);
  check_buffer(whole);
  std::vector<Request> requests;
  for (Stretch& stretch : stretches) {
    Request a;
    a.var = stretch.var;
    a.write = whole.write;
    a.last_record = stretch.last_record;
    a.elements = stretch.bytes / size_of(var.type);
    const Variable& variable = ds.variable(stretch.var);
    RunList list = sorted_run_list(std::move(stretch.runs), {}, a.write);
    const Count in_file = file_type_stride(ds, variable), dense = variable.inner_bytes();
    if (variable.is_record && in_file != dense) list = *rebased(list, in_file, dense);
    a.selection = Runs{ds.run_lists().share(list)};
    a.memory.data = whole.memory.data;
    a.memory.type = whole.memory.type;
    whole.memory.data += a.elements * size_of(a.memory.type);
    requests.push_back(std::move(a));
  }
  // Requests finish in order, so the last one finds all of them delivered.
  requests.back().extras = std::move(whole.extras);
  return requests;
}

}  // namespace forebay::pnetcdf
