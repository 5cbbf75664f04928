#include "workloads/cdl.h"

namespace forebay::bench::cdl {

int size_of(Type type) {
  switch (type) {
    case Type::Byte:
    case Type::Char:
    case Type::UByte:
      return 1;
    case Type::Short:
    case Type::UShort:
      return 2;
    case Type::Int:
    case Type::UInt:
    case Type::Float:
      return 4;
    case Type::Double:
    case Type::Int64:
    case Type::UInt64:
      return 8;
  }
  return 0;
}

int Header::find_dim(std::string_view dim_name) const {
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i].name == dim_name) return static_cast<int>(i);
  }
  return -1;
}

bool Header::is_record(const Variable& var) const {
  return !var.dims.empty() && dims[static_cast<std::size_t>(var.dims.front())].unlimited;
}

}  // namespace forebay::bench::cdl
