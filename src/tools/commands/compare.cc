#include "tools/commands/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/byteorder.h"
#include "base/error.h"
#include "base/text_table.h"
#include "tools/commands/cdl.h"

namespace forebay::tools {
namespace {

constexpr Count block_bytes = 8 << 20;

// -- header ---------------------------------------------------------------------------------------

std::string dimension_text(const Source& source, int dim) {
  return source.unlimited(dim) ? fmt::format("unlimited, {} long", source.length(dim))
                               : std::to_string(source.length(dim));
}

void compare_dimensions(const Source& in_a, const Source& in_b, std::vector<std::string>& found) {
  const Schema &a = in_a.schema(), &b = in_b.schema();
  for (const Dimension& dim : a.dims) {
    const auto other = b.find_dim(dim.name);
    if (!other) {
      found.push_back(fmt::format("dimension {} is in A only", printable(dim.name)));
      continue;
    }
    const std::string x = dimension_text(in_a, *a.find_dim(dim.name));
    const std::string y = dimension_text(in_b, *other);
    if (x != y)
      found.push_back(fmt::format("dimension {}: {} in A, {} in B", printable(dim.name), x, y));
  }
  for (const Dimension& dim : b.dims) {
    if (!a.find_dim(dim.name))
      found.push_back(fmt::format("dimension {} is in B only", printable(dim.name)));
  }
}

bool alike(const Attribute& a, const Attribute& b) {
  return a.type == b.type && a.value == b.value;
}

void compare_attributes(const std::string& owner, const AttributeList& a, const AttributeList& b,
                        std::vector<std::string>& found) {
  const auto name = [&](const Attribute& attribute) {
    return printable(owner.empty() ? "global attribute " + attribute.name
                                   : "attribute " + owner + ":" + attribute.name);
  };
  const auto value = [](const Attribute& attribute) {
    return printable(cdl_attribute(attribute), 60);
  };
  for (const Attribute& attribute : a) {
    const auto other = b.find(attribute.name);
    if (!other) {
      found.push_back(name(attribute) + " is in A only");
    } else if (!alike(attribute, b[*other])) {
      found.push_back(
          fmt::format("{}: {} in A, {} in B", name(attribute), value(attribute), value(b[*other])));
    }
  }
  for (const Attribute& attribute : b) {
    if (!a.find(attribute.name)) found.push_back(name(attribute) + " is in B only");
  }
}

// Only compares whether both files have the item, since the classic model cannot express its
// content.
void compare_left_out(const Source& a, const Source& b, std::vector<std::string>& found) {
  const auto only_in = [&](const Source& one, const Source& other, const char* name) {
    for (const LeftOut& item : one.left_out()) {
      const bool both = std::any_of(other.left_out().begin(), other.left_out().end(),
                                    [&](auto& o) { return o.name == item.name; });
      if (!both && !other.schema().find_var(item.name))
        found.push_back(
            fmt::format("{} ({}) is in {} only", printable(item.name), item.what, name));
    }
  };
  only_in(a, b, "A");
  only_in(b, a, "B");
}

void compare_groups(const Source& a, const Source& b, std::vector<std::string>& found) {
  const auto find = [](const Source& source, const std::string& path) -> const SourceGroup* {
    for (const SourceGroup& group : source.groups())
      if (group.path == path) return &group;
    return nullptr;
  };
  for (const SourceGroup& group : a.groups()) {
    if (const SourceGroup* other = find(b, group.path)) {
      compare_attributes(group.path, group.attributes, other->attributes, found);
    } else {
      found.push_back(fmt::format("group {} is in A only", printable(group.path)));
    }
  }
  for (const SourceGroup& group : b.groups())
    if (find(a, group.path) == nullptr)
      found.push_back(fmt::format("group {} is in B only", printable(group.path)));
}

std::string declaration(const Schema& schema, const Variable& var) {
  return fmt::format("{} ({})", name_of(var.type), dimension_names(schema, var));
}

// -- values ---------------------------------------------------------------------------------------

// Exact for every element type, 64-bit integers included.
long double number(Type type, const std::byte* at) {
  if (type == Type::chr) return std::to_integer<unsigned char>(*at);
  long double value = 0;
  with_number(
      type, [&](auto zero) { value = static_cast<long double>(load_native<decltype(zero)>(at)); });
  return value;
}

class ValueComparison {
 public:
  ValueComparison(const CompareOptions& options, Type a, Type b, VariableDifference& result)
      : options_(options), a_(a), b_(b), result_(result) {}

  void block(const Subarray& part, const std::vector<Count>& shape, const std::byte* a,
             const std::byte* b) {
    const Count n = part.elements();
    result_.elements += n;
    const bool plain = a_ == b_ && !(options_.nan_differs && is_floating(a_));
    if (plain && std::memcmp(a, b, static_cast<std::size_t>(n * size_of(a_))) == 0) return;
    for (Count i = 0; i < n; ++i) {
      const std::byte *x = a + i * size_of(a_), *y = b + i * size_of(b_);
      if (plain && std::memcmp(x, y, static_cast<std::size_t>(size_of(a_))) == 0) continue;
      if (!same(number(a_, x), number(b_, y))) note(part, shape, i, x, y);
    }
  }

 private:
  bool same(long double x, long double y) {
    if (std::isnan(x) || std::isnan(y))
      return std::isnan(x) && std::isnan(y) && !options_.nan_differs;
    if (x == y) return true;
    if (std::isinf(x) || std::isinf(y)) return false;
    const long double apart = std::fabs(x - y);
    return apart <= options_.atol + options_.rtol * std::fabs(y);
  }

  void note(const Subarray& part, const std::vector<Count>& shape, Count i, const std::byte* x,
            const std::byte* y) {
    ++result_.differences;
    const long double p = number(a_, x), q = number(b_, y);
    const bool finite = std::isfinite(p) && std::isfinite(q);
    const double infinity = std::numeric_limits<double>::infinity();
    const double apart = finite ? static_cast<double>(std::fabs(p - q)) : infinity;
    const double relative =
        finite && q != 0 ? static_cast<double>(std::fabs(p - q) / std::fabs(q)) : infinity;
    result_.largest = std::max(result_.largest, apart);
    result_.largest_relative = std::max(result_.largest_relative, relative);
    std::vector<Count> index(shape.size());
    for (std::size_t d = shape.size(); d-- > 0;) {
      index[d] = part.start[d] + i % part.count[d];
      i /= part.count[d];
    }
    Count element = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) element = element * shape[d] + index[d];
    // Blocks of chunked variables do not come in row-major order.
    auto& first = result_.first;
    if (first.size() == options_.examples && (first.empty() || first.back().element < element))
      return;
    const auto at = std::upper_bound(first.begin(), first.end(), element,
                                     [](Count e, const Difference& d) { return e < d.element; });
    first.insert(at, {element, std::move(index), cdl_value(a_, x), cdl_value(b_, y)});
    if (first.size() > options_.examples) first.pop_back();
  }

  const CompareOptions& options_;
  Type a_, b_;
  VariableDifference& result_;
};

class Comparer {
 public:
  Comparer(const Source& a, const Source& b, const CompareOptions& options)
      : a_(a), b_(b), options_(options) {}

  Comparison run() {
    choose();
    const Schema &a = a_.schema(), &b = b_.schema();
    if (options_.header && options_.variables.empty()) {
      compare_dimensions(a_, b_, result_.header);
      compare_left_out(a_, b_, result_.header);
      compare_groups(a_, b_, result_.header);
      compare_attributes("", a.attributes, b.attributes, result_.header);
    }
    for (const auto& [x, y] : pairs_) {
      if (options_.header) compare_definitions(x, y);
    }
    if (options_.data) {
      for (const auto& [x, y] : pairs_)
        if (const auto shape = common(x, y))
          all_ += whole(*shape).elements() * size_of(var(a_, x).type);
      for (const auto& [x, y] : pairs_) compare_values(x, y);
    }
    return std::move(result_);
  }

 private:
  static const Variable& var(const Source& source, VarId id) {
    return source.schema().vars[static_cast<std::size_t>(id)];
  }

  // Pairs variables of the same name. Each other variable is a difference of its own.
  void choose() {
    const Schema &a = a_.schema(), &b = b_.schema();
    std::vector<std::string> names = options_.variables;
    if (names.empty()) {
      for (const Variable& v : a.vars) names.push_back(v.name);
      for (const Variable& v : b.vars)
        if (!a.find_var(v.name)) names.push_back(v.name);
    }
    for (const std::string& name : names) {
      const auto x = a.find_var(name), y = b.find_var(name);
      if (!x && !y) find_variable(a, a_.path(), name);  // throws
      if (x && y) {
        pairs_.emplace_back(*x, *y);
      } else {
        only_.push_back(fmt::format("variable {} is in {} only", printable(name), x ? "A" : "B"));
      }
    }
    result_.header = only_;
  }

  void compare_definitions(VarId x, VarId y) {
    const Variable &a = var(a_, x), &b = var(b_, y);
    const std::string p = declaration(a_.schema(), a), q = declaration(b_.schema(), b);
    if (p != q)
      result_.header.push_back(
          fmt::format("variable {}: {} in A, {} in B", printable(a.name), p, q));
    compare_attributes(a.name, a.attributes, b.attributes, result_.header);
  }

  // Returns the shape that both files have of a variable; nothing if values cannot be compared.
  std::optional<std::vector<Count>> common(VarId x, VarId y) const {
    std::vector<Count> shape = a_.shape(x);
    const std::vector<Count> other = b_.shape(y);
    const bool text = var(a_, x).type == Type::chr;
    if (shape.size() != other.size() || text != (var(b_, y).type == Type::chr)) return std::nullopt;
    for (std::size_t d = 0; d < shape.size(); ++d) shape[d] = std::min(shape[d], other[d]);
    return shape;
  }

  void compare_values(VarId x, VarId y) {
    const Variable &a = var(a_, x), &b = var(b_, y);
    VariableDifference difference;
    difference.name = a.name;
    const auto both = common(x, y);
    if (!both) {
      difference.not_compared =
          a_.shape(x).size() == b_.shape(y).size()
              ? "text in one file, numbers in the other"
              : fmt::format("shape ({}) in A, ({}) in B", fmt::join(a_.shape(x), ", "),
                            fmt::join(b_.shape(y), ", "));
      result_.variables.push_back(std::move(difference));
      return;
    }
    const std::vector<Count>& shape = *both;
    if (a_.shape(x) != b_.shape(y)) {
      difference.shape_a = a_.shape(x);
      difference.shape_b = b_.shape(y);
      difference.common = shape;
    }
    const Variable& leader = a.chunking ? a : b;  // blocks follow its chunks
    const Blocks blocks(leader, shape, block_bytes);
    ValueComparison values(options_, a.type, b.type, difference);
    for (Count i = 0; i < blocks.size(); ++i) {
      const Subarray part = blocks[i];
      const auto n = static_cast<std::size_t>(part.elements());
      if (n == 0) continue;
      memory_a_.resize(n * static_cast<std::size_t>(size_of(a.type)));
      memory_b_.resize(n * static_cast<std::size_t>(size_of(b.type)));
      a_.read(x, part, memory_a_.data());
      b_.read(y, part, memory_b_.data());
      values.block(part, shape, memory_a_.data(), memory_b_.data());
      done_ += std::ssize(memory_a_);
      if (options_.progress) options_.progress(done_, all_);
    }
    ++result_.variables_compared;
    result_.elements_compared += difference.elements;
    if (difference.differences > 0 || !difference.shape_a.empty())
      result_.variables.push_back(std::move(difference));
  }

  const Source &a_, &b_;
  const CompareOptions& options_;
  Comparison result_;
  std::vector<std::pair<VarId, VarId>> pairs_;
  std::vector<std::string> only_;
  std::vector<std::byte> memory_a_, memory_b_;
  Count done_ = 0, all_ = 0;
};

}  // namespace

Comparison compare(const Source& a, const Source& b, const CompareOptions& options) {
  return Comparer(a, b, options).run();
}

}  // namespace forebay::tools
