#include "model/array_model.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

namespace forebay_test {
namespace {

template <typename T>
Bytes bytes_of(T value) {
  Bytes out(sizeof value);
  std::memcpy(out.data(), &value, sizeof value);
  return out;
}

template <typename T>
std::string number_text(const uint8_t* value) {
  T x;
  std::memcpy(&x, value, sizeof x);
  std::ostringstream out;
  out.precision(17);
  if constexpr (sizeof(T) == 1) {
    out << static_cast<int>(x);
  } else {
    out << x;
  }
  return out.str();
}

}  // namespace

int64_t type_size(nc_type type) {
  switch (type) {
    case NC_BYTE:
    case NC_CHAR:
    case NC_UBYTE:
      return 1;
    case NC_SHORT:
    case NC_USHORT:
      return 2;
    case NC_INT:
    case NC_UINT:
    case NC_FLOAT:
      return 4;
    default:
      return 8;
  }
}

const char* type_name(nc_type type) {
  static const char* const names[] = {"nat",    "byte",  "char",   "short", "int",   "float",
                                      "double", "ubyte", "ushort", "uint",  "int64", "uint64"};
  return type >= 0 && type <= NC_UINT64 ? names[type] : "?";
}

Bytes default_fill(nc_type type) {
  switch (type) {
    case NC_BYTE:
      return bytes_of(static_cast<int8_t>(NC_FILL_BYTE));
    case NC_CHAR:
      return bytes_of(static_cast<char>(NC_FILL_CHAR));
    case NC_SHORT:
      return bytes_of(static_cast<int16_t>(NC_FILL_SHORT));
    case NC_INT:
      return bytes_of(static_cast<int32_t>(NC_FILL_INT));
    case NC_FLOAT:
      return bytes_of(static_cast<float>(NC_FILL_FLOAT));
    case NC_DOUBLE:
      return bytes_of(static_cast<double>(NC_FILL_DOUBLE));
    case NC_UBYTE:
      return bytes_of(static_cast<uint8_t>(NC_FILL_UBYTE));
    case NC_USHORT:
      return bytes_of(static_cast<uint16_t>(NC_FILL_USHORT));
    case NC_UINT:
      return bytes_of(static_cast<uint32_t>(NC_FILL_UINT));
    case NC_INT64:
      return bytes_of(static_cast<int64_t>(NC_FILL_INT64));
    default:
      return bytes_of(static_cast<uint64_t>(NC_FILL_UINT64));
  }
}

std::string value_text(nc_type type, const uint8_t* value) {
  switch (type) {
    case NC_BYTE:
      return number_text<int8_t>(value);
    case NC_CHAR:
    case NC_UBYTE:
      return number_text<uint8_t>(value);
    case NC_SHORT:
      return number_text<int16_t>(value);
    case NC_USHORT:
      return number_text<uint16_t>(value);
    case NC_INT:
      return number_text<int32_t>(value);
    case NC_UINT:
      return number_text<uint32_t>(value);
    case NC_FLOAT:
      return number_text<float>(value);
    case NC_DOUBLE:
      return number_text<double>(value);
    case NC_INT64:
      return number_text<int64_t>(value);
    default:
      return number_text<uint64_t>(value);
  }
}

int64_t Box::elements() const {
  int64_t n = 1;
  for (const auto c : count) n *= c;
  return n;
}

int Model::unlimited() const {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].unlimited) return static_cast<int>(i);
  }
  return -1;
}

bool Model::is_record(const ModelVar& v) const {
  return !v.dims.empty() && dims[static_cast<size_t>(v.dims[0])].unlimited;
}

std::vector<int64_t> Model::shape(const ModelVar& v) const {
  std::vector<int64_t> out;
  for (const int d : v.dims) {
    const auto& dim = dims[static_cast<size_t>(d)];
    out.push_back(dim.unlimited ? numrecs : dim.length);
  }
  return out;
}

int64_t Model::slot(const ModelVar& v) const {
  int64_t n = 1;
  for (const int d : v.dims) {
    const auto& dim = dims[static_cast<size_t>(d)];
    if (!dim.unlimited) n *= dim.length;
  }
  return n;
}

int64_t Model::size(const ModelVar& v) const { return slot(v) * (is_record(v) ? numrecs : 1); }

void Model::create(ModelVar& v) {
  const auto n = static_cast<size_t>(size(v));
  v.values.assign(n * static_cast<size_t>(type_size(v.type)), 0);
  v.known.assign(n, Known::no);
  if (!v.fill) return;
  if (!is_record(v)) {
    fill(v, 0);
  } else {
    for (int64_t r = 0; r < numrecs; ++r) fill(v, r);
  }
}

void Model::grow(int64_t records) {
  if (records <= numrecs) return;
  numrecs = records;
  for (auto& v : vars) {
    const auto n = static_cast<size_t>(size(v));
    v.values.resize(n * static_cast<size_t>(type_size(v.type)), 0);
    v.known.resize(n, Known::no);
  }
}

Bytes Model::fill_value(const ModelVar& v) const {
  for (const auto& a : v.atts) {
    if (a.name == "_FillValue") return a.values;
  }
  return default_fill(v.type);
}

void Model::fill(ModelVar& v, int64_t record) {
  const Bytes value = fill_value(v);
  const int64_t n = slot(v);
  for (int64_t e = record * n; e < (record + 1) * n; ++e) {
    std::copy(value.begin(), value.end(),
              v.values.begin() + e * static_cast<int64_t>(value.size()));
    v.known[static_cast<size_t>(e)] = Known::exactly;
  }
}

std::vector<int64_t> Model::elements(const ModelVar& v, const Box& box) const {
  const size_t ndims = v.dims.size();
  const auto lengths = shape(v);
  const int64_t total = box.elements();
  std::vector<int64_t> out;
  if (ndims == 0) {
    out.push_back(0);
    return out;
  }
  if (total <= 0) return out;
  out.reserve(static_cast<size_t>(total));
  std::vector<int64_t> at(ndims, 0);
  for (int64_t k = 0; k < total; ++k) {
    int64_t e = 0;
    for (size_t d = 0; d < ndims; ++d) {
      const int64_t stride = box.stride.empty() ? 1 : box.stride[d];
      e = e * (d == 0 ? 1 : lengths[d]) + box.start[d] + at[d] * stride;
    }
    out.push_back(e);
    for (size_t d = ndims; d-- > 0;) {
      if (++at[d] < box.count[d]) break;
      at[d] = 0;
    }
  }
  return out;
}

std::string Model::index(const ModelVar& v, int64_t element) const {
  const auto lengths = shape(v);
  std::string text;
  for (size_t d = lengths.size(); d-- > 0;) {
    const int64_t length = d == 0 ? element + 1 : lengths[d];
    text = std::to_string(element % length) + (text.empty() ? "" : ",") + text;
    element /= length;
  }
  return "(" + text + ")";
}

// Lines of words:
//   format F
//   dim NAME LENGTH unlimited|fixed
//   att VARIABLE|* NAME TYPE COUNT HEX          (native little-endian bytes; "-" when empty)
//   var NAME TYPE NDIMS DIMID...
//   data NAME HEX                               ("--" twice a byte where the value is unknown)
// Attributes of a variable follow its var line.
void Model::write_expectation(const std::string& path) const {
  std::ofstream out(path);
  const auto hex = [](const uint8_t* p, size_t n, std::string& to) {
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < n; ++i) {
      to += digits[p[i] >> 4];
      to += digits[p[i] & 15];
    }
  };
  const auto put_att = [&](const std::string& owner, const ModelAtt& a) {
    std::string text;
    hex(a.values.data(), a.values.size(), text);
    out << "att " << owner << ' ' << a.name << ' ' << type_name(a.type) << ' ' << a.count() << ' '
        << (text.empty() ? "-" : text) << '\n';
  };
  out << "format " << format << '\n';
  for (const auto& d : dims) {
    out << "dim " << d.name << ' ' << (d.unlimited ? numrecs : d.length) << ' '
        << (d.unlimited ? "unlimited" : "fixed") << '\n';
  }
  for (const auto& a : atts) put_att("*", a);
  for (const auto& v : vars) {
    out << "var " << v.name << ' ' << type_name(v.type) << ' ' << v.dims.size();
    for (const int d : v.dims) out << ' ' << d;
    out << '\n';
    for (const auto& a : v.atts) put_att(v.name, a);
    std::string text;
    const auto width = static_cast<size_t>(type_size(v.type));
    for (size_t e = 0; e < v.known.size(); ++e) {
      if (v.known[e] == Known::no) {
        text.append(2 * width, '-');
      } else {
        hex(v.values.data() + e * width, width, text);
      }
    }
    out << "data " << v.name << ' ' << (text.empty() ? "." : text) << '\n';
  }
}

}  // namespace forebay_test
