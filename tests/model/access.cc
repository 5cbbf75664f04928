#include "model/access.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>
#include <type_traits>

#include "support/typed_api.h"

namespace forebay_test {
namespace {

// Calls f with a value of the C type of a memory type.
template <typename F>
auto with_type(Memory m, F f) {
  switch (m) {
    case Memory::text:
      return f(char{});
    case Memory::schar:
      return f(static_cast<signed char>(0));
    case Memory::uchar:
      return f(static_cast<unsigned char>(0));
    case Memory::int16:
      return f(static_cast<short>(0));
    case Memory::uint16:
      return f(static_cast<unsigned short>(0));
    case Memory::int32:
      return f(0);
    case Memory::uint32:
      return f(0U);
    case Memory::clong:
      return f(0L);
    case Memory::float32:
      return f(0.0F);
    case Memory::float64:
      return f(0.0);
    case Memory::int64:
      return f(0LL);
    default:
      return f(0ULL);
  }
}

Kind kind_of(Form form) {
  switch (form) {
    case Form::var:
      return Kind::var;
    case Form::var1:
      return Kind::var1;
    case Form::vars:
      return Kind::vars;
    case Form::varm:
      return Kind::varm;
    default:
      return Kind::vara;
  }
}

const char* form_name(Form form) {
  static const char* const names[] = {"var", "var1", "vara", "vars", "varm", "varn", "vard"};
  return names[static_cast<int>(form)];
}

const char* layout_name(Layout layout) {
  static const char* const names[] = {"typed",    "contiguous", "derived", "gaps",
                                      "subarray", "resized",    "reversed"};
  return names[static_cast<int>(layout)];
}

const char* memory_name(Memory m) {
  static const char* const names[] = {"text", "schar", "uchar", "short",  "ushort",   "int",
                                      "uint", "long",  "float", "double", "longlong", "ulonglong"};
  return names[static_cast<int>(m)];
}

// Number of rows of the two-dimensional array that holds n elements: its largest divisor up to
// the square root.
int64_t rows_of(int64_t n) {
  int64_t rows = 1;
  for (int64_t r = 1; r * r <= n; ++r) {
    if (n % r == 0) rows = r;
  }
  return rows;
}

// An MPI datatype, the count to pass with it, and where it puts each element.
struct Shape {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Offset count = 0;
  bool owned = false;
  std::vector<int64_t> positions;
  int64_t extent = 0;  // bytes the buffer needs
};

Shape make_shape(Layout layout, Memory memory, int64_t n) {
  Shape s;
  const int64_t width = memory_size(memory);
  const MPI_Datatype basic = memory_datatype(memory);
  s.positions.resize(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) s.positions[static_cast<size_t>(k)] = k * width;
  s.extent = n * width;
  s.type = basic;
  s.count = n;
  if (n == 0 || layout == Layout::typed || layout == Layout::contiguous) return s;
  const int count = static_cast<int>(n);
  s.owned = true;
  s.count = 1;
  const auto place = [&](auto position) {
    for (int64_t k = 0; k < n; ++k) {
      s.positions[static_cast<size_t>(k)] = position(k);
      s.extent = std::max(s.extent, position(k) + width);
    }
  };
  if (layout == Layout::derived) {
    MPI_Type_contiguous(count, basic, &s.type);
  } else if (layout == Layout::gaps) {
    MPI_Type_vector(count, 1, 2, basic, &s.type);
    place([&](int64_t k) { return 2 * k * width; });
  } else if (layout == Layout::resized) {
    MPI_Type_create_resized(basic, 0, 3 * width, &s.type);
    s.count = n;
    place([&](int64_t k) { return 3 * k * width; });
  } else if (layout == Layout::subarray) {
    const int rows = static_cast<int>(rows_of(n));
    const int columns = count / rows;
    const int sizes[2] = {rows + 1, columns + 2};
    const int inner[2] = {rows, columns};
    const int starts[2] = {1, 1};
    MPI_Type_create_subarray(2, sizes, inner, starts, MPI_ORDER_C, basic, &s.type);
    place([&](int64_t k) { return ((k / columns + 1) * (columns + 2) + k % columns + 1) * width; });
    s.extent = static_cast<int64_t>(sizes[0]) * sizes[1] * width;
  } else {
    std::vector<MPI_Aint> displacements(static_cast<size_t>(n));
    for (int64_t k = 0; k < n; ++k) displacements[static_cast<size_t>(k)] = (n - 1 - k) * width;
    const std::vector<int> ones(static_cast<size_t>(n), 1);
    MPI_Type_create_hindexed(count, ones.data(), displacements.data(), basic, &s.type);
    place([&](int64_t k) { return (n - 1 - k) * width; });
  }
  MPI_Type_commit(&s.type);
  return s;
}

// Where varm puts the k-th element of its box, in elements.
std::vector<int64_t> mapped(const Access& access) {
  const Box& box = access.boxes[0];
  const size_t ndims = box.count.size();
  std::vector<int64_t> out;
  std::vector<int64_t> at(ndims, 0);
  const int64_t n = static_cast<int64_t>(access.elements.size());
  for (int64_t k = 0; k < n; ++k) {
    int64_t position = 0;
    for (size_t d = 0; d < ndims; ++d) position += at[d] * access.imap[d];
    out.push_back(position);
    for (size_t d = ndims; d-- > 0;) {
      if (++at[d] < box.count[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

// Rows of pointers, as varn takes them.
struct Pointers {
  explicit Pointers(const Access& access) {
    for (const auto& box : access.boxes) {
      starts.push_back(const_cast<MPI_Offset*>(box.start.data()));
      counts.push_back(const_cast<MPI_Offset*>(box.count.data()));
    }
  }
  std::vector<MPI_Offset*> starts, counts;
};

int perform_varn(int ncid, const Access& a, AccessBuffer& buffer, Mode mode, int* request) {
  const Pointers p(a);
  const int n = static_cast<int>(a.boxes.size());
  const int id = a.varid;
  if (a.layout == Layout::typed) {
    return with_type(a.memory, [&](auto tag) {
      using T = decltype(tag);
      auto* data = static_cast<T*>(buffer.data());
      switch (mode) {
        case Mode::iput:
          return Api<T>::iput_varn(ncid, id, n, p.starts.data(), p.counts.data(), data, request);
        case Mode::bput:
          return Api<T>::bput_varn(ncid, id, n, p.starts.data(), p.counts.data(), data, request);
        case Mode::iget:
          return Api<T>::iget_varn(ncid, id, n, p.starts.data(), p.counts.data(), data, request);
        default:
          return a.write ? Api<T>::put_varn(mode == Mode::collective, ncid, id, n, p.starts.data(),
                                            p.counts.data(), data)
                         : Api<T>::get_varn(mode == Mode::collective, ncid, id, n, p.starts.data(),
                                            p.counts.data(), data);
      }
    });
  }
  void* data = buffer.data();
  const MPI_Offset count = buffer.count();
  const MPI_Datatype type = buffer.type();
  switch (mode) {
    case Mode::iput:
      return ncmpi_iput_varn(ncid, id, n, p.starts.data(), p.counts.data(), data, count, type,
                             request);
    case Mode::bput:
      return ncmpi_bput_varn(ncid, id, n, p.starts.data(), p.counts.data(), data, count, type,
                             request);
    case Mode::iget:
      return ncmpi_iget_varn(ncid, id, n, p.starts.data(), p.counts.data(), data, count, type,
                             request);
    case Mode::collective:
      return a.write ? ncmpi_put_varn_all(ncid, id, n, p.starts.data(), p.counts.data(), data,
                                          count, type)
                     : ncmpi_get_varn_all(ncid, id, n, p.starts.data(), p.counts.data(), data,
                                          count, type);
    default:
      return a.write
                 ? ncmpi_put_varn(ncid, id, n, p.starts.data(), p.counts.data(), data, count, type)
                 : ncmpi_get_varn(ncid, id, n, p.starts.data(), p.counts.data(), data, count, type);
  }
}

// The file type of vard: one block for each element, relative to the variable's begin.
MPI_Datatype file_type(int ncid, const Model& model, const Access& a) {
  if (a.elements.empty()) return MPI_DATATYPE_NULL;
  const ModelVar& v = model.vars[static_cast<size_t>(a.varid)];
  MPI_Offset record_size = 0;
  ncmpi_inq_recsize(ncid, &record_size);
  const int64_t slot = model.slot(v);
  const int64_t width = type_size(v.type);
  std::vector<MPI_Aint> displacements;
  for (const int64_t e : a.elements) {
    displacements.push_back(model.is_record(v) ? e / slot * record_size + e % slot * width
                                               : e * width);
  }
  const std::vector<int> ones(displacements.size(), 1);
  MPI_Datatype type;
  MPI_Type_create_hindexed(static_cast<int>(displacements.size()), ones.data(),
                           displacements.data(), memory_datatype(natural_memory(v.type)), &type);
  MPI_Type_commit(&type);
  return type;
}

int perform_vard(int ncid, const Model& model, const Access& a, AccessBuffer& buffer, Mode mode) {
  MPI_Datatype type = file_type(ncid, model, a);
  const bool all = mode == Mode::collective;
  const int id = a.varid;
  void* data = buffer.data();
  int error = NC_NOERR;
  if (a.write) {
    error = all ? ncmpi_put_vard_all(ncid, id, type, data, buffer.count(), buffer.type())
                : ncmpi_put_vard(ncid, id, type, data, buffer.count(), buffer.type());
  } else {
    error = all ? ncmpi_get_vard_all(ncid, id, type, data, buffer.count(), buffer.type())
                : ncmpi_get_vard(ncid, id, type, data, buffer.count(), buffer.type());
  }
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  return error;
}

int64_t small_value(nc_type type, const uint8_t* value) {
  switch (type) {
    case NC_FLOAT: {
      float x;
      std::memcpy(&x, value, sizeof x);
      return static_cast<int64_t>(x);
    }
    case NC_DOUBLE: {
      double x;
      std::memcpy(&x, value, sizeof x);
      return static_cast<int64_t>(x);
    }
    default: {
      // Small values are not negative, and the host is little-endian or the width is that of T.
      int64_t x = 0;
      std::memcpy(&x, value, static_cast<size_t>(type_size(type)));
      return x;
    }
  }
}

}  // namespace

int64_t memory_size(Memory m) {
  return with_type(m, [](auto tag) { return static_cast<int64_t>(sizeof tag); });
}

MPI_Datatype memory_datatype(Memory m) {
  return with_type(m, [](auto tag) { return Api<decltype(tag)>::datatype(); });
}

Memory natural_memory(nc_type type) {
  switch (type) {
    case NC_BYTE:
      return Memory::schar;
    case NC_CHAR:
      return Memory::text;
    case NC_SHORT:
      return Memory::int16;
    case NC_INT:
      return Memory::int32;
    case NC_FLOAT:
      return Memory::float32;
    case NC_DOUBLE:
      return Memory::float64;
    case NC_UBYTE:
      return Memory::uchar;
    case NC_USHORT:
      return Memory::uint16;
    case NC_UINT:
      return Memory::uint32;
    case NC_INT64:
      return Memory::int64;
    default:
      return Memory::uint64;
  }
}

void to_memory(nc_type type, const uint8_t* value, Memory memory, uint8_t* out) {
  if (memory == natural_memory(type)) {
    std::memcpy(out, value, static_cast<size_t>(type_size(type)));
    return;
  }
  const int64_t x = small_value(type, value);
  with_type(memory, [&](auto tag) {
    tag = static_cast<decltype(tag)>(x);
    std::memcpy(out, &tag, sizeof tag);
  });
}

std::string Access::describe(const Model& model) const {
  std::ostringstream out;
  const auto list = [&](const char* name, const std::vector<MPI_Offset>& values) {
    out << ' ' << name << '=';
    for (size_t i = 0; i < values.size(); ++i) out << (i == 0 ? "" : ",") << values[i];
  };
  out << (write ? "put_" : "get_") << form_name(form) << ' '
      << model.vars[static_cast<size_t>(varid)].name << " as " << memory_name(memory) << ' '
      << layout_name(layout);
  for (const auto& box : boxes) {
    out << " [";
    list("start", box.start);
    list("count", box.count);
    if (!box.stride.empty()) list("stride", box.stride);
    out << " ]";
  }
  if (!imap.empty()) list("imap", imap);
  return out.str();
}

AccessBuffer::AccessBuffer(const Model& model, const Access& access) : write_(access.write) {
  const auto n = static_cast<int64_t>(access.elements.size());
  width_ = memory_size(access.memory);
  Shape shape = make_shape(access.layout, access.memory, n);
  count_ = shape.count;
  type_ = shape.type;
  owned_ = shape.owned;
  positions_ = shape.positions;
  int64_t extent = shape.extent;
  if (!access.imap.empty()) {
    // The map applies to the packed elements, whose places the datatype gives.
    const auto places = mapped(access);
    for (size_t k = 0; k < positions_.size(); ++k) {
      const int64_t place = places[k];
      positions_[k] = access.layout == Layout::typed ? place * width_
                                                     : shape.positions[static_cast<size_t>(place)];
      extent = std::max(extent, positions_[k] + width_);
    }
  }
  bytes_.assign(2 * guard + static_cast<size_t>(extent), 0xA5);
  if (write_) {
    const ModelVar& v = model.vars[static_cast<size_t>(access.varid)];
    const int64_t from = type_size(v.type);
    for (int64_t k = 0; k < n; ++k) {
      to_memory(v.type, access.values.data() + k * from, access.memory,
                bytes_.data() + guard + positions_[static_cast<size_t>(k)]);
    }
  }
  original_ = bytes_;
}

AccessBuffer::AccessBuffer(AccessBuffer&& other) noexcept
    : write_(other.write_),
      owned_(other.owned_),
      count_(other.count_),
      type_(other.type_),
      positions_(std::move(other.positions_)),
      width_(other.width_),
      bytes_(std::move(other.bytes_)),
      original_(std::move(other.original_)) {
  other.owned_ = false;
}

AccessBuffer::~AccessBuffer() {
  if (owned_) MPI_Type_free(&type_);
}

std::string AccessBuffer::damage() const {
  if (write_) {
    if (bytes_ == original_) return "";
    const auto at = std::mismatch(bytes_.begin(), bytes_.end(), original_.begin()).first;
    return "the user's buffer of a write changed at byte " +
           std::to_string(at - bytes_.begin() - static_cast<int64_t>(guard));
  }
  std::vector<bool> element(bytes_.size(), false);
  for (const int64_t p : positions_) {
    for (int64_t i = 0; i < width_; ++i) element[guard + static_cast<size_t>(p + i)] = true;
  }
  for (size_t i = 0; i < bytes_.size(); ++i) {
    if (!element[i] && bytes_[i] != original_[i]) {
      return "byte " + std::to_string(static_cast<int64_t>(i) - static_cast<int64_t>(guard)) +
             " of the buffer, where no element lies, was written";
    }
  }
  return "";
}

void AccessBuffer::scribble() {
  for (const int64_t p : positions_) {
    std::memset(bytes_.data() + guard + p, 0x5A, static_cast<size_t>(width_));
  }
  original_ = bytes_;
}

int perform(int ncid, const Model& model, const Access& a, AccessBuffer& buffer, Mode mode,
            int* request) {
  if (a.form == Form::varn) return perform_varn(ncid, a, buffer, mode, request);
  if (a.form == Form::vard) return perform_vard(ncid, model, a, buffer, mode);
  const Box& box = a.boxes[0];
  const Where where{box.start.data(), box.count.data(),
                    box.stride.empty() ? nullptr : box.stride.data(),
                    a.imap.empty() ? nullptr : a.imap.data()};
  const Kind kind = kind_of(a.form);
  const bool all = mode == Mode::collective;
  if (a.layout == Layout::typed) {
    return with_type(a.memory, [&](auto tag) {
      using T = decltype(tag);
      auto* data = static_cast<T*>(buffer.data());
      switch (mode) {
        case Mode::iput:
          return Api<T>::iput(kind, ncid, a.varid, where, data, request);
        case Mode::bput:
          return Api<T>::bput(kind, ncid, a.varid, where, data, request);
        case Mode::iget:
          return Api<T>::iget(kind, ncid, a.varid, where, data, request);
        default:
          return a.write ? Api<T>::put(kind, all, ncid, a.varid, where, data)
                         : Api<T>::get(kind, all, ncid, a.varid, where, data);
      }
    });
  }
  void* data = buffer.data();
  const MPI_Offset n = buffer.count();
  const MPI_Datatype type = buffer.type();
  switch (mode) {
    case Mode::iput:
      return Flexible::iput(kind, ncid, a.varid, where, data, n, type, request);
    case Mode::bput:
      return Flexible::bput(kind, ncid, a.varid, where, data, n, type, request);
    case Mode::iget:
      return Flexible::iget(kind, ncid, a.varid, where, data, n, type, request);
    default:
      return a.write ? Flexible::put(kind, all, ncid, a.varid, where, data, n, type)
                     : Flexible::get(kind, all, ncid, a.varid, where, data, n, type);
  }
}

namespace {

bool is_near(Memory memory, const uint8_t* expected, const uint8_t* got, double bound) {
  bool near = false;
  with_type(memory, [&](auto tag) {
    auto other = tag;
    std::memcpy(&tag, expected, sizeof tag);
    std::memcpy(&other, got, sizeof other);
    // What floats lose of doubles comes on top.
    const double most = std::is_floating_point_v<decltype(tag)> ? bound * 1.0001 : 1;
    near = std::abs(static_cast<double>(tag) - static_cast<double>(other)) <= most;
  });
  return near;
}

}  // namespace

std::string compare(const Model& model, const Access& a, const AccessBuffer& buffer, double bound) {
  const ModelVar& v = model.vars[static_cast<size_t>(a.varid)];
  const int64_t width = type_size(v.type);
  Bytes expected(static_cast<size_t>(memory_size(a.memory)));
  int64_t wrong = 0;
  std::string first;
  for (size_t k = 0; k < a.elements.size(); ++k) {
    const int64_t e = a.elements[k];
    if (v.known[static_cast<size_t>(e)] == Known::no) continue;
    const uint8_t* value = v.values.data() + e * width;
    to_memory(v.type, value, a.memory, expected.data());
    if (std::memcmp(expected.data(), buffer.element(k), expected.size()) == 0) continue;
    if (bound > 0 && (v.type == NC_FLOAT || v.type == NC_DOUBLE) &&
        is_near(a.memory, expected.data(), buffer.element(k), bound))
      continue;
    if (wrong++ == 0) {
      const nc_type shown = a.memory == natural_memory(v.type) ? v.type : NC_NAT;
      std::string got;
      if (shown != NC_NAT) {
        got = value_text(shown, buffer.element(k));
      } else {
        with_type(a.memory, [&](auto tag) {
          std::memcpy(&tag, buffer.element(k), sizeof tag);
          std::ostringstream text;
          text << +tag;
          got = text.str();
        });
      }
      first = "variable " + v.name + " index " + model.index(v, e) + ": expected " +
              value_text(v.type, value) + ", got " + got;
    }
  }
  if (wrong > 1) first += " (and " + std::to_string(wrong - 1) + " more)";
  return first;
}

}  // namespace forebay_test
