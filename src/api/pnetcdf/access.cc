#include "api/pnetcdf/access.h"

#include <string>

#include "comm/datatype.h"
#include "data/convert.h"

namespace forebay::pnetcdf {

namespace {

/// MPI_Offset and Count are both signed and of 64 bits, but may be different types of C. The
/// caller's arrays were written by code compiled elsewhere, so that reading them as Count is safe.
static_assert(sizeof(MPI_Offset) == sizeof(Count) && std::is_signed_v<MPI_Offset>);

const Count* counts_of(const MPI_Offset* p) { return reinterpret_cast<const Count*>(p); }

std::vector<Count> copy_of(const MPI_Offset* p, int n) { return {p, p + n}; }

Count record_limit(const Dataset& ds, const Variable& var, bool write) {
  const Schema& schema = ds.schema();
  return write ? max_records(schema.version, ds.record_stride(var)) : schema.numrecs;
}

/// var: everything there is.
void select_whole(const Dataset& ds, const Variable& var, Access& access) {
  Subarray all;
  all.start.assign(static_cast<std::size_t>(var.ndims()), 0);
  all.count = var.shape;
  if (var.is_record) {
    all.count[0] = ds.schema().numrecs;
    access.last_record = all.count[0];
  }
  access.elements = all.elements();
  access.selection = std::move(all);
}

/// var1, vara, vars, varm.
void select_subarray(const Dataset& ds, const Variable& var, const Selection& s, Access& access) {
  const int n = var.ndims();
  const bool one = s.kind == Kind::element;
  check_selection(var, record_limit(ds, var, access.write), counts_of(s.start), counts_of(s.count),
                  counts_of(s.stride), !one);
  Subarray sub;
  if (n > 0) {
    sub.start = copy_of(s.start, n);
    sub.count = one ? std::vector<Count>(static_cast<std::size_t>(n), 1) : copy_of(s.count, n);
    if (s.stride != nullptr) sub.stride = copy_of(s.stride, n);
    if (s.imap != nullptr) access.memory.imap = copy_of(s.imap, n);
  }
  access.elements = sub.elements();
  if (var.is_record) {
    // Even an empty request makes the records that lie before its end.
    const Count step = sub.stride.empty() ? 1 : sub.stride[0];
    access.last_record =
        sub.count[0] == 0 ? sub.start[0] : sub.start[0] + (sub.count[0] - 1) * step + 1;
  }
  access.selection = std::move(sub);
}

/// varn.
void select_pieces(Dataset& ds, const Variable& var, const Selection& s, Access& access) {
  if (s.num <= 0) return;
  if (var.ndims() == 0) {
    if (s.num != 1) {
      throw Error(Errc::einval, "a scalar variable, " + var.name + ", has one piece only");
    }
    access.elements = 1;
    return;
  }
  if (s.starts == nullptr) throw Error(Errc::enullstart, "starts is a null pointer");
  const VarnPieces pieces{s.num, reinterpret_cast<const Count* const*>(s.starts),
                          reinterpret_cast<const Count* const*>(s.counts)};
  RunListPool& pool = ds.run_lists();
  access.bytes_per_record = ds.record_stride(var);
  const FlattenedVarn found =
      flatten_varn(var, pieces, access.bytes_per_record, record_limit(ds, var, access.write),
                   access.write, pool.scratch());
  access.elements = found.elements;
  access.last_record = found.last_record;
  access.selection = pool.share(pool.scratch());
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

/// vard: the bytes of the variable that a file type selects, counted from the variable's begin.
void select_by_type(Dataset& ds, const Variable& var, const Selection& s, Access& access) {
  if (s.file_type == MPI_DATATYPE_NULL) return;
  const DatatypeMap map = describe(s.file_type);
  if (type_of_element(map) != var.type) {
    throw Error(Errc::etype_mismatch,
                "the file type's elements are not of the type of " + var.name);
  }
  const Count inner = var.inner_elements * size_of(var.type);
  const Count stride = ds.file_type_stride(var);
  const Count limit = var.is_record ? record_limit(ds, var, access.write) : 1;
  std::vector<Run> runs;
  for (const DatatypeRun& r : map.runs) {
    // A run may pass over the end of a record where records follow each other without a gap.
    for (Offset at = r.offset, left = r.length; left > 0;) {
      const Count record = var.is_record && at >= 0 ? at / stride : 0;
      const Offset within = at - record * stride;
      const Count length = std::min(left, inner - within);
      if (at < 0 || length <= 0 || record >= limit) {
        throw Error(Errc::etypesize, "the file type reaches beyond variable " + var.name);
      }
      runs.push_back({at, length});
      access.last_record = std::max(access.last_record, record + 1);
      at += length;
      left -= length;
    }
  }
  if (!var.is_record) access.last_record = 0;
  access.bytes_per_record = stride;
  access.elements = map.elements();
  access.selection = ds.run_lists().share(sorted_run_list(std::move(runs), {}, access.write));
}

/// Amounts in memory and request must be the same.
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

/// An imap over elements that have been packed must stay among them.
void check_packed_imap(const Subarray& sub, const std::vector<Count>& imap, Count elements) {
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

/// Memory with gaps goes through a buffer without: filled now for a write, emptied when a read is
/// done.
void use_packed_memory(DatatypeMap&& map, Count instances, void* data, Access& access) {
  if (!access.memory.imap.empty()) {
    check_packed_imap(std::get<Subarray>(access.selection), access.memory.imap, access.elements);
  }
  auto bytes =
      std::make_shared<std::vector<std::byte>>(static_cast<std::size_t>(map.size * instances));
  auto* user = static_cast<std::byte*>(data);
  if (access.write || !access.memory.imap.empty()) pack(map, instances, user, bytes->data());
  access.memory.data = bytes->data();
  access.on_done = [bytes, user, instances, write = access.write,
                    type = std::make_shared<const DatatypeMap>(std::move(map))](bool delivered) {
    if (delivered && !write) unpack(*type, instances, bytes->data(), user);
  };
}

/// The flexible interface: `count` instances of an MPI datatype.
void use_flexible_memory(const Variable& var, const Selection& s, const Buffer& b, Access& access) {
  access.memory.data = static_cast<std::byte*>(b.data);
  if (b.type == MPI_DATATYPE_NULL) {  // memory has the variable's own type, as much as is selected
    access.memory.type = var.type;
    return;
  }
  const bool count_ignored = b.count == -1 && s.kind != Kind::file_type;
  if (count_ignored && !is_predefined(b.type)) {
    throw Error(Errc::ebadtype, "a count of -1 goes with predefined MPI datatypes only");
  }
  DatatypeMap map = describe(b.type);
  Count in_memory = 0;
  if (!multiply_fits(b.count, map.elements(), in_memory)) in_memory = -1;
  if (!count_ignored) check_amount(var, in_memory, access.elements);
  if (access.elements == 0) return;
  access.memory.type = type_of_element(map);
  if (access.memory.type == Type::none) {
    throw Error(Errc::ebadtype, "MPI_BYTE has no type to convert from or to");
  }
  check_char(var, access.memory.type);
  if (!map.contiguous()) use_packed_memory(std::move(map), b.count, b.data, access);
}

}  // namespace

void check_mode(const Dataset& ds, Direction direction, Coordination coordination) {
  if (direction == put && !ds.writable()) {
    throw Error(Errc::eperm, ds.path() + " was opened for reading only");
  }
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

Access make_access(Dataset& ds, int varid, Direction direction, const Selection& selection,
                   const Buffer& buffer, bool queued) {
  const Variable& var = check_variable(ds, varid, buffer.native);
  Access access;
  access.var = varid;
  access.write = direction == put;
  switch (selection.kind) {
    case Kind::whole:
      select_whole(ds, var, access);
      break;
    case Kind::pieces:
      select_pieces(ds, var, selection, access);
      break;
    case Kind::file_type:
      select_by_type(ds, var, selection, access);
      break;
    default:
      select_subarray(ds, var, selection, access);
  }
  const bool nothing = buffer.native == Type::none && buffer.type != MPI_DATATYPE_NULL &&
                       buffer.count == 0 && (queued || selection.kind == Kind::file_type);
  if (nothing || (selection.kind == Kind::file_type && selection.file_type == MPI_DATATYPE_NULL) ||
      (selection.kind == Kind::pieces && selection.num <= 0)) {
    access.elements = 0;
    access.last_record = 0;
    access.memory.type = var.type;
    return access;
  }
  if (buffer.native != Type::none) {
    access.memory.data = static_cast<std::byte*>(buffer.data);
    access.memory.type = buffer.native;
  } else {
    access.memory.type = var.type;
    use_flexible_memory(var, selection, buffer, access);
  }
  if (access.elements > 0 && access.memory.data == nullptr) {
    throw Error(Errc::einval, "the buffer is a null pointer");
  }
  return access;
}

}  // namespace forebay::pnetcdf
