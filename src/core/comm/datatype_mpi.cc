#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <string>

#include "base/error.h"
#include "comm/datatype.h"
#include "comm/mpi.h"

namespace forebay {

namespace {

struct Named {
  MPI_Datatype type;
  Element element;
};

/// Returns the element type of a predefined datatype, or none. The C types come first because they
/// are looked up most.
Element element_of(MPI_Datatype type) {
  const Named known[] = {
      {MPI_FLOAT, Element::floating},
      {MPI_DOUBLE, Element::floating},
      {MPI_INT, Element::signed_integer},
      {MPI_LONG_LONG_INT, Element::signed_integer},
      {MPI_LONG, Element::signed_integer},
      {MPI_SHORT, Element::signed_integer},
      {MPI_SIGNED_CHAR, Element::signed_integer},
      {MPI_UNSIGNED_CHAR, Element::unsigned_integer},
      {MPI_UNSIGNED_SHORT, Element::unsigned_integer},
      {MPI_UNSIGNED, Element::unsigned_integer},
      {MPI_UNSIGNED_LONG, Element::unsigned_integer},
      {MPI_UNSIGNED_LONG_LONG, Element::unsigned_integer},
      {MPI_CHAR, Element::text},
      {MPI_BYTE, Element::raw},
      {MPI_INT8_T, Element::signed_integer},
      {MPI_INT16_T, Element::signed_integer},
      {MPI_INT32_T, Element::signed_integer},
      {MPI_INT64_T, Element::signed_integer},
      {MPI_UINT8_T, Element::unsigned_integer},
      {MPI_UINT16_T, Element::unsigned_integer},
      {MPI_UINT32_T, Element::unsigned_integer},
      {MPI_UINT64_T, Element::unsigned_integer},
      {MPI_OFFSET, Element::signed_integer},
      {MPI_COUNT, Element::signed_integer},
      {MPI_AINT, Element::signed_integer},
      // A build of MPI without Fortran defines these as MPI_DATATYPE_NULL.
      {MPI_CHARACTER, Element::text},
      {MPI_INTEGER, Element::signed_integer},
      {MPI_REAL, Element::floating},
      {MPI_DOUBLE_PRECISION, Element::floating},
      {MPI_INTEGER1, Element::signed_integer},
      {MPI_INTEGER2, Element::signed_integer},
      {MPI_INTEGER4, Element::signed_integer},
      {MPI_INTEGER8, Element::signed_integer},
      {MPI_REAL4, Element::floating},
      {MPI_REAL8, Element::floating},
  };
  for (const Named& n : known) {
    if (n.type == type) return n.element;
  }
  return Element::none;
}

/// A datatype handle from MPI_Type_get_contents. It must be freed unless it is predefined.
class Handle {
 public:
  explicit Handle(MPI_Datatype type) : type_(type) {}
  Handle(Handle&& other) noexcept : type_(other.type_) { other.type_ = MPI_DATATYPE_NULL; }
  Handle(const Handle&) = delete;
  ~Handle() {
    if (type_ != MPI_DATATYPE_NULL && !is_predefined(type_)) MPI_Type_free(&type_);
  }
  MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
};

/// The arguments of the call that made a datatype.
struct Contents {
  int combiner = MPI_COMBINER_NAMED;
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<Handle> types;
};

Contents contents_of(MPI_Datatype type) {
  Contents c;
  int integers = 0, addresses = 0, types = 0;
  check_mpi(MPI_Type_get_envelope(type, &integers, &addresses, &types, &c.combiner),
            "MPI_Type_get_envelope");
  if (c.combiner == MPI_COMBINER_NAMED) return c;
  c.integers.resize(static_cast<std::size_t>(integers));
  c.addresses.resize(static_cast<std::size_t>(addresses));
  std::vector<MPI_Datatype> handles(static_cast<std::size_t>(types));
  check_mpi(MPI_Type_get_contents(type, integers, addresses, types, c.integers.data(),
                                  c.addresses.data(), handles.data()),
            "MPI_Type_get_contents");
  c.types.reserve(handles.size());
  for (MPI_Datatype handle : handles) c.types.emplace_back(handle);
  return c;
}

void append(DatatypeMap& map, Offset offset, Count length) {
  if (length == 0) return;
  map.size += length;
  if (!map.runs.empty() && map.runs.back().offset + map.runs.back().length == offset) {
    map.runs.back().length += length;
  } else {
    map.runs.push_back({offset, length});
  }
}

void adopt_element(DatatypeMap& map, const DatatypeMap& part) {
  if (part.element == Element::none) return;
  if (map.element == Element::none) {
    map.element = part.element;
    map.element_size = part.element_size;
  } else if (map.element != part.element || map.element_size != part.element_size) {
    throw Error(Errc::emultitypes, "the elements of an MPI datatype have several types");
  }
}

/// Appends `count` instances of `part`, one after another, from `offset` on.
void append_block(DatatypeMap& map, const DatatypeMap& part, Offset offset, Count count) {
  if (part.contiguous()) {
    append(map, offset, part.size * count);
    return;
  }
  for (Count i = 0; i < count; ++i) {
    for (const DatatypeRun& r : part.runs)
      append(map, offset + i * part.extent + r.offset, r.length);
  }
}

/// Returns the indices of one dimension that a process holds in MPI_Type_create_darray.
std::vector<Count> darray_indices(int size, int distribution, int argument, int processes,
                                  int coordinate) {
  std::vector<Count> indices;
  if (distribution == MPI_DISTRIBUTE_NONE) {
    indices.resize(static_cast<std::size_t>(size));
    std::iota(indices.begin(), indices.end(), 0);
    return indices;
  }
  Count block = argument;
  if (argument == MPI_DISTRIBUTE_DFLT_DARG) {
    block = distribution == MPI_DISTRIBUTE_BLOCK ? (Count{size} + processes - 1) / processes : 1;
  }
  for (Count first = coordinate * block; first < size; first += block * processes) {
    for (Count i = first; i < std::min<Count>(first + block, size); ++i) indices.push_back(i);
  }
  return indices;
}

/// Appends all combinations of one index per dimension, in the order of the array in memory.
void append_grid(DatatypeMap& map, const DatatypeMap& part, std::span<const int> sizes,
                 std::vector<std::vector<Count>> indices, bool c_order) {
  // Make the last dimension the fastest.
  std::vector<Count> lengths(sizes.begin(), sizes.end());
  if (!c_order) {
    std::reverse(lengths.begin(), lengths.end());
    std::reverse(indices.begin(), indices.end());
  }
  const std::size_t n = lengths.size();
  std::vector<Count> step(n);
  Count s = part.extent;
  for (std::size_t d = n; d-- > 0;) {
    step[d] = s;
    s *= lengths[d];
    if (indices[d].empty()) return;
  }
  std::vector<std::size_t> at(n, 0);
  for (;;) {
    Offset offset = 0;
    for (std::size_t d = 0; d < n; ++d) offset += indices[d][at[d]] * step[d];
    append_block(map, part, offset, 1);
    std::size_t d = n;
    for (;;) {
      if (d-- == 0) return;
      if (++at[d] < indices[d].size()) break;
      at[d] = 0;
    }
  }
}

void append_subarray(DatatypeMap& map, const DatatypeMap& part, const std::vector<int>& integers) {
  const auto n = static_cast<std::size_t>(integers[0]);
  const std::span<const int> all(integers);
  const auto sizes = all.subspan(1, n), counts = all.subspan(1 + n, n),
             starts = all.subspan(1 + 2 * n, n);
  std::vector<std::vector<Count>> indices(n);
  for (std::size_t d = 0; d < n; ++d) {
    indices[d].resize(static_cast<std::size_t>(counts[d]));
    std::iota(indices[d].begin(), indices[d].end(), starts[d]);
  }
  append_grid(map, part, sizes, std::move(indices), integers[1 + 3 * n] == MPI_ORDER_C);
}

void append_darray(DatatypeMap& map, const DatatypeMap& part, const std::vector<int>& integers) {
  int rank = integers[1];
  const auto n = static_cast<std::size_t>(integers[2]);
  const std::span<const int> all(integers);
  const auto sizes = all.subspan(3, n), distributions = all.subspan(3 + n, n),
             arguments = all.subspan(3 + 2 * n, n), processes = all.subspan(3 + 3 * n, n);
  std::vector<std::vector<Count>> indices(n);
  for (std::size_t d = n; d-- > 0;) {  // ranks are numbered with the last dimension fastest
    indices[d] =
        darray_indices(sizes[d], distributions[d], arguments[d], processes[d], rank % processes[d]);
    rank /= processes[d];
  }
  append_grid(map, part, sizes, std::move(indices), integers[3 + 4 * n] == MPI_ORDER_C);
}

/// Appends the blocks of a combiner that lists lengths and displacements.
void append_blocks(DatatypeMap& map, const DatatypeMap& part, const Contents& c) {
  const std::vector<int>& i = c.integers;
  const auto count = static_cast<std::size_t>(i[0]);
  for (std::size_t b = 0; b < count; ++b) {
    switch (c.combiner) {
      case MPI_COMBINER_VECTOR:
        append_block(map, part, static_cast<Offset>(b) * i[2] * part.extent, i[1]);
        break;
      case MPI_COMBINER_HVECTOR:
        append_block(map, part, static_cast<Offset>(b) * c.addresses[0], i[1]);
        break;
      case MPI_COMBINER_INDEXED:
        append_block(map, part, i[1 + count + b] * part.extent, i[1 + b]);
        break;
      case MPI_COMBINER_HINDEXED:
        append_block(map, part, c.addresses[b], i[1 + b]);
        break;
      case MPI_COMBINER_INDEXED_BLOCK:
        append_block(map, part, i[2 + b] * part.extent, i[1]);
        break;
      default:  // MPI_COMBINER_HINDEXED_BLOCK
        append_block(map, part, c.addresses[b], i[1]);
    }
  }
}

DatatypeMap describe_named(MPI_Datatype type, int combiner) {
  DatatypeMap map;
  map.element = element_of(type);
  // MPI_Type_create_f90_real and _integer give predefined types of their own.
  if (combiner == MPI_COMBINER_F90_REAL) map.element = Element::floating;
  if (combiner == MPI_COMBINER_F90_INTEGER) map.element = Element::signed_integer;
  if (map.element == Element::none) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length = 0;
    MPI_Type_get_name(type, name, &length);
    throw Error(Errc::eunsptetype, std::string("MPI datatype ") + name + " has no counterpart");
  }
  check_mpi(MPI_Type_size(type, &map.element_size), "MPI_Type_size");
  append(map, 0, map.element_size);
  map.extent = map.element_size;
  return map;
}

}  // namespace

bool is_predefined(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) return false;
  int integers = 0, addresses = 0, types = 0, combiner = 0;
  check_mpi(MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner),
            "MPI_Type_get_envelope");
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
         combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_COMPLEX;
}

DatatypeMap describe(MPI_Datatype type) {
  if (type == MPI_DATATYPE_NULL) throw Error(Errc::etype_mismatch, "MPI_DATATYPE_NULL");
  if (is_predefined(type)) {
    int integers = 0, addresses = 0, types = 0, combiner = 0;
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    return describe_named(type, combiner);
  }

  const Contents c = contents_of(type);
  DatatypeMap map;
  if (c.combiner == MPI_COMBINER_STRUCT) {
    for (std::size_t b = 0; b < c.types.size(); ++b) {
      const DatatypeMap part = describe(c.types[b].get());
      adopt_element(map, part);
      append_block(map, part, c.addresses[b], c.integers[1 + b]);
    }
  } else {
    const DatatypeMap part = describe(c.types.at(0).get());
    adopt_element(map, part);
    switch (c.combiner) {
      case MPI_COMBINER_DUP:
      case MPI_COMBINER_RESIZED:
        append_block(map, part, 0, 1);
        break;
      case MPI_COMBINER_CONTIGUOUS:
        append_block(map, part, 0, c.integers[0]);
        break;
      case MPI_COMBINER_SUBARRAY:
        append_subarray(map, part, c.integers);
        break;
      case MPI_COMBINER_DARRAY:
        append_darray(map, part, c.integers);
        break;
      case MPI_COMBINER_VECTOR:
      case MPI_COMBINER_HVECTOR:
      case MPI_COMBINER_INDEXED:
      case MPI_COMBINER_HINDEXED:
      case MPI_COMBINER_INDEXED_BLOCK:
      case MPI_COMBINER_HINDEXED_BLOCK:
        append_blocks(map, part, c);
        break;
      default:
        throw Error(Errc::eunsptetype, "MPI datatype of an unknown construction");
    }
  }
  MPI_Count lower = 0, extent = 0;
  check_mpi(MPI_Type_get_extent_x(type, &lower, &extent), "MPI_Type_get_extent_x");
  map.extent = extent;
  return map;
}

namespace {

/// Calls copy(offset, packed, length) for each run of the instances, with its offset in memory and
/// among the packed bytes.
template <typename Copy>
void for_each_run(const DatatypeMap& type, Count instances, Copy&& copy) {
  Count packed = 0;
  const auto one = [&](Count offset, Count length) {
    copy(offset, packed, static_cast<std::size_t>(length));
    packed += length;
  };
  if (type.contiguous()) {
    if (instances * type.size > 0) one(0, instances * type.size);
    return;
  }
  for (Count i = 0; i < instances; ++i)
    for (const DatatypeRun& r : type.runs) one(i * type.extent + r.offset, r.length);
}

}  // namespace

void pack(const DatatypeMap& type, Count instances, const std::byte* from, std::byte* to) {
  for_each_run(type, instances, [&](Count offset, Count packed, std::size_t length) {
    std::memcpy(to + packed, from + offset, length);
  });
}

void unpack(const DatatypeMap& type, Count instances, const std::byte* from, std::byte* to) {
  for_each_run(type, instances, [&](Count offset, Count packed, std::size_t length) {
    std::memcpy(to + offset, from + packed, length);
  });
}

}  // namespace forebay
