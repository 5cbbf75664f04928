#include "groups/process_group/block_shape.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace forebay::process_group {

namespace {

[[noreturn]] void refuse(Errc code, const bp::Variable& variable, const std::string& why,
                         const char* advice) {
  throw Error(code, variable.name + ": " + why, advice);
}

Kind shape_kind(const bp::Variable& variable, const bp::Shape& at) {
  const std::size_t n = at.count.size();
  if (at.shape.empty() && at.start.empty()) return n == 0 ? Kind::scalar : Kind::local;
  if (at.shape == std::vector<Count>{bp::local_value} && at.start.empty() && n == 0)
    return Kind::local_value;
  if (at.shape.size() == n && at.start.empty() && std::ranges::count(at.shape, bp::joined) == 1)
    return Kind::joined;
  if (at.shape.size() == n && at.start.size() == n && std::ranges::count(at.shape, bp::joined) == 0)
    return Kind::global;
  refuse(Errc::einval, variable, "its shape, start and count do not go together",
         "give all three, with as many numbers each; a local array has a count alone, a joined one "
         "a shape with one joined extent, and a count");
}

void check_extents(const bp::Variable& variable, const bp::Shape& at, Kind kind) {
  for (std::size_t d = 0; d < at.count.size(); ++d) {
    const auto dimension = [&] { return "dimension " + std::to_string(d); };
    const Count count = at.count[d];
    const Count start = kind == Kind::global ? at.start[d] : 0;
    if (count < 0 || start < 0)
      refuse(Errc::enegativecnt, variable, dimension() + " is negative", "count from 0");
    if (kind != Kind::global && kind != Kind::joined) continue;
    const Count extent = at.shape[d];
    if (extent == bp::joined) continue;
    if (extent < 0)
      refuse(Errc::enegativecnt, variable, dimension() + " is negative", "count from 0");
    if (kind == Kind::joined && count != extent) {
      refuse(Errc::eedge, variable,
             dimension() + " of a block has " + std::to_string(count) + " of " +
                 std::to_string(extent),
             "blocks of a joined array span all other dimensions");
    }
    if (count > extent || start > extent - count) {
      refuse(Errc::eedge, variable,
             dimension() + ": " + std::to_string(start) + " and " + std::to_string(count) +
                 " on reach beyond " + std::to_string(extent),
             "let start and count lie within the shape");
    }
  }
}

}  // namespace

Kind kind_of(const bp::Variable& variable, const bp::Shape& at, Count bytes) {
  const Kind kind = shape_kind(variable, at);
  check_extents(variable, at, kind);
  if (variable.type == bp::Type::string) {
    if (kind == Kind::scalar || kind == Kind::local_value) return kind;
    refuse(Errc::einval, variable, "an array of strings", "write an array of bytes");
  }
  Count wanted = bp::size_of(variable.type);
  // A block with one empty dimension has no elements, however large the others are.
  const bool empty = bp::any_zero(at.count);
  if (!empty && !bp::multiply_all(at.count, wanted))
    refuse(Errc::eintoverflow, variable, "it has more than 2^63 bytes", "write smaller blocks");
  if (empty) wanted = 0;
  if (bytes != wanted) {
    refuse(Errc::edimsize, variable,
           "a block of " + std::to_string(wanted) + " bytes came with " + std::to_string(bytes),
           "give the elements that start and count tell of");
  }
  return kind;
}

bool leaves_a_trace(Kind kind, const bp::Shape& at) {
  if (kind == Kind::local) return !bp::any_zero(at.count);
  if (kind == Kind::global) return !bp::all_zero(at.shape);
  return true;
}

}  // namespace forebay::process_group
