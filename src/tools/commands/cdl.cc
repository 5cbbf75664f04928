#include "tools/commands/cdl.h"

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "array/convert.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/text_table.h"
#include "base/words.h"

namespace forebay::tools {
namespace {

constexpr Count cdl_block_bytes = 4 << 20;
constexpr std::size_t line_length = 78;

std::string real(double value, int digits, const char* suffix) {
  if (std::isnan(value)) return std::string("NaN") + suffix;
  if (std::isinf(value)) return std::string(value < 0 ? "-Infinity" : "Infinity") + suffix;
  return fmt::format("{:.{}g}", value, digits);
}

// A point marks attributes that are not integers: "1.", "1.e+30".
std::string with_point(std::string text) {
  if (text.find_first_of(".Nn") != std::string::npos) return text;
  const std::size_t exponent = text.find('e');
  return text.insert(exponent == std::string::npos ? text.size() : exponent, ".");
}

const char* suffix_of(Type type) {
  switch (type) {
    case Type::byte:
      return "b";
    case Type::int16:
      return "s";
    case Type::uint8:
      return "UB";
    case Type::uint16:
      return "US";
    case Type::uint32:
      return "U";
    case Type::int64:
      return "LL";
    case Type::uint64:
      return "ULL";
    default:
      return "";
  }
}

std::string escaped(unsigned char c) {
  switch (c) {
    case '\b':
      return "\\b";
    case '\f':
      return "\\f";
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    case '\v':
      return "\\v";
    case '\\':
    case '"':
    case '\'':
      return std::string("\\") + static_cast<char>(c);
    default:
      break;
  }
  if (c < 0x20 || c == 0x7f) return fmt::format("\\{:03o}", c);
  return std::string(1, static_cast<char>(c));
}

// Prints pieces of text. Breaks the line before a piece that does not fit.
class Lines {
 public:
  explicit Lines(std::FILE* out) : out_(out) {}
  ~Lines() { flush(); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  void put(const std::string& piece) {
    if (column_ + piece.size() > line_length && piece.size() > 2) raw("\n    ");
    raw(piece);
  }
  // Prints text unchanged, newlines included.
  void raw(const std::string& text) {
    const std::size_t newline = text.rfind('\n');
    column_ = newline == std::string::npos ? column_ + text.size() : text.size() - newline - 1;
    text_ += text;
    if (text_.size() > 1 << 16) flush();
  }

 private:
  void flush() {
    std::fwrite(text_.data(), 1, text_.size(), out_);
    text_.clear();
  }
  std::FILE* out_;
  std::string text_;
  std::size_t column_ = 0;
};

// Prints elements in rows along the last dimension, as they are read. Braces surround the elements
// of an unlimited dimension that is not the first.
class Rows {
 public:
  Rows(const Source& source, VarId id, const std::vector<Count>& shape, Lines& lines)
      : length_(shape.empty() ? 1 : shape.back()),
        all_(whole(shape).elements()),
        flat_(shape.size() < 2),
        lines_(lines) {
    const auto& dims = source.schema().vars[static_cast<std::size_t>(id)].dimids;
    Count inner = 1;
    for (std::size_t d = shape.size(); d-- > 1;) {
      inner *= shape[d];
      if (source.unlimited(dims[d])) braced_.push_back(inner);
    }
  }
  void value(std::string text) {
    const bool begin = next_ % length_ == 0, end = (next_ + 1) % length_ == 0;
    if (!flat_ && begin) lines_.raw("\n  ");
    for (const Count inner : braced_) {
      if (next_ % inner == 0) text.insert(0, "{");
      if ((next_ + 1) % inner == 0) text += "}";
    }
    if (++next_ == all_) {
      lines_.put(text);
    } else if (end && !flat_) {
      lines_.put(text);
      lines_.put(",");
    } else {
      lines_.put(text + ", ");
    }
  }

 private:
  Count length_, all_, next_ = 0;
  bool flat_;
  std::vector<Count> braced_;  // elements in each pair of braces
  Lines& lines_;
};

// Prints a row of characters without its trailing NULs.
void put_text(Lines& lines, std::string row) {
  row.erase(row.find_last_not_of('\0') + 1);
  std::string text = "\"";
  for (std::size_t i = 0; i < row.size(); ++i) {
    const auto c = static_cast<unsigned char>(row[i]);
    text += escaped(c);
    if (c == '\n' && i + 1 < row.size()) text += "\",\n    \"";
  }
  lines.raw(text + "\"");
}

// Returns the value that is shown as "_". Bytes have none unless a fill value is given, since all
// their values are in use.
std::vector<std::byte> shown_fill(const Variable& var) {
  const auto width = static_cast<std::size_t>(size_of(var.type));
  if (own_fill_value(var, var.type) == nullptr && width == 1) return {};
  const std::vector<std::byte> external = external_fill(var);
  std::vector<std::byte> native(width);
  from_external(var.type, external.data(), var.type, native.data(), 1, nullptr);
  return native;
}

bool is_fill(const Variable& var, const std::vector<std::byte>& fill, const std::byte* value) {
  if (fill.empty()) return false;
  if (std::memcmp(fill.data(), value, fill.size()) == 0) return true;
  if (var.type == Type::float32)
    return std::isnan(load_native<float>(fill.data())) && std::isnan(load_native<float>(value));
  if (var.type == Type::float64)
    return std::isnan(load_native<double>(fill.data())) && std::isnan(load_native<double>(value));
  return false;
}

void print_numbers(const Source& source, VarId id, Lines& lines) {
  const Variable& var = source.schema().vars[static_cast<std::size_t>(id)];
  const std::vector<Count> shape = source.shape(id);
  const Blocks blocks(var, shape, cdl_block_bytes, true);
  const auto width = static_cast<std::size_t>(size_of(var.type));
  const std::vector<std::byte> fill = shown_fill(var);
  Rows rows(source, id, shape, lines);
  std::vector<std::byte> values;
  for (Count b = 0; b < blocks.size(); ++b) {
    const Subarray part = blocks[b];
    values.resize(static_cast<std::size_t>(part.elements()) * width);
    source.read(id, part, values.data());
    for (std::size_t at = 0; at < values.size(); at += width) {
      const std::byte* value = values.data() + at;
      rows.value(is_fill(var, fill, value) ? "_" : cdl_value(var.type, value));
    }
  }
}

void print_characters(const Source& source, VarId id, Lines& lines) {
  const Variable& var = source.schema().vars[static_cast<std::size_t>(id)];
  const std::vector<Count> shape = source.shape(id);
  const Count length = shape.empty() ? 1 : shape.back();
  const Blocks blocks(var, shape, cdl_block_bytes, true);
  Count left = whole(shape).elements();
  std::string values, row;
  for (Count b = 0; b < blocks.size(); ++b) {
    const Subarray part = blocks[b];
    values.resize(static_cast<std::size_t>(part.elements()));
    source.read(id, part, values.data());
    for (std::size_t at = 0; at < values.size();) {
      const std::size_t take =
          std::min(values.size() - at, static_cast<std::size_t>(length) - row.size());
      row.append(values, at, take);
      at += take;
      if (static_cast<Count>(row.size()) < length) continue;
      if (shape.size() > 1) lines.raw("\n  ");
      put_text(lines, row);
      left -= length;
      if (left > 0) lines.raw(",");
      row.clear();
    }
  }
}

void add_attributes(std::string& text, const std::string& indent, const std::string& owner,
                    const AttributeList& list, bool lines) {
  for (const Attribute& attribute : list) {
    text += fmt::format("{}\t\t{}:{} = {} ;\n", indent, owner, cdl_name(attribute.name),
                        cdl_attribute(attribute, lines));
  }
}

const AttributeList& attributes_of_group(const Source& source, const std::string& group) {
  for (const SourceGroup& known : source.groups())
    if (known.path == group) return known.attributes;
  return source.schema().attributes;
}

void add_dimensions(std::string& text, const Source& source, const std::string& group,
                    const std::string& indent) {
  bool any = false;
  const Schema& schema = source.schema();
  for (std::size_t d = 0; d < schema.dims.size(); ++d) {
    const std::string& name = schema.dims[d].name;
    if (cdl_group_of(name) != group) continue;
    if (!any) text += indent + "dimensions:\n";
    any = true;
    const auto id = static_cast<DimId>(d);
    text += indent + "\t" + cdl_name(cdl_name_in_group(name)) + " = ";
    text += source.unlimited(id) ? fmt::format("UNLIMITED ; // ({} currently)\n", source.length(id))
                                 : fmt::format("{} ;\n", source.length(id));
  }
}

void add_variables(std::string& text, const Source& source, const std::string& group,
                   const std::string& indent) {
  bool any = false;
  const Schema& schema = source.schema();
  for (const Variable& var : schema.vars) {
    if (cdl_group_of(var.name) != group) continue;
    if (!any) text += indent + "variables:\n";
    any = true;
    const std::string name = cdl_name(cdl_name_in_group(var.name));
    text += fmt::format("{}\t{} {}", indent, name_of(var.type), name);
    for (std::size_t d = 0; d < var.dimids.size(); ++d) {
      const std::string& dim = schema.dims[static_cast<std::size_t>(var.dimids[d])].name;
      text += (d == 0 ? "(" : ", ") + cdl_name(cdl_name_in_group(dim));
    }
    text += var.dimids.empty() ? " ;\n" : ") ;\n";
    add_attributes(text, indent, name, var.attributes, !source.is_hdf5());
  }
}

}  // namespace

std::string cdl_name(const std::string& name) {
  static constexpr std::string_view special = " !\"#$%&'()*,:;<=>?[\\]^`{|}~";
  std::string text;
  if (!name.empty() && name[0] >= '0' && name[0] <= '9') text += '\\';
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    if (u < 0x20 || u == 0x7f) {
      text += fmt::format("\\%{:02x}", u);
      continue;
    }
    if (special.find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

std::string cdl_text(std::string_view text, const std::string& indent) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += escaped(static_cast<unsigned char>(c));
    if (c == '\n' && !indent.empty()) quoted += "\",\n" + indent + "\"";
  }
  return quoted + "\"";
}

std::string dimension_names(const Schema& schema, const Variable& var) {
  return joined(var.dimids, ", ", [&](DimId dim) {
    return printable(schema.dims[static_cast<std::size_t>(dim)].name);
  });
}

std::string cdl_value(Type type, const std::byte* value) {
  if (type == Type::float32) return real(load_native<float>(value), 7, "f");
  if (type == Type::float64) return real(load_native<double>(value), 15, "");
  std::string text;
  if (!with_number(type,
                   [&](auto zero) { text = std::to_string(load_native<decltype(zero)>(value)); }))
    text = cdl_text(std::string(1, static_cast<char>(value[0])));
  return text;
}

std::string cdl_attribute(const Attribute& attribute, bool lines) {
  if (attribute.type == Type::chr) return cdl_text(text_of(attribute), lines ? "\t\t\t" : "");
  const auto width = static_cast<std::size_t>(size_of(attribute.type));
  std::vector<std::byte> native(attribute.value.size());
  from_external(attribute.type, attribute.value.data(), attribute.type, native.data(),
                attribute.count, nullptr);
  std::string text;
  for (std::size_t at = 0; at + width <= native.size(); at += width) {
    std::string value = cdl_value(attribute.type, native.data() + at);
    if (is_floating(attribute.type)) {
      const bool single = attribute.type == Type::float32;
      const bool finite = value.find_first_of("NI") == std::string::npos;
      value = finite ? with_point(value) + (single ? "f" : "") : value;
    }
    text += (text.empty() ? "" : ", ") + value + suffix_of(attribute.type);
  }
  return text;
}

std::string cdl_file_name(const std::string& path) {
  std::string name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  if (dot != std::string::npos && dot > 0) name.resize(dot);
  return cdl_name(name);
}

std::string cdl_group_of(const std::string& name) {
  const std::size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash);
}

std::string cdl_name_in_group(const std::string& name) { return name.substr(name.rfind('/') + 1); }

std::string cdl_header(const Source& source, const std::string& group, const std::string& indent) {
  std::string text;
  add_dimensions(text, source, group, indent);
  add_variables(text, source, group, indent);
  const AttributeList& attributes = attributes_of_group(source, group);
  if (attributes.size() > 0) {
    text += "\n" + indent + (group.empty() ? "// global attributes:\n" : "// group attributes:\n");
    add_attributes(text, indent, "", attributes, !source.is_hdf5());
  }
  return text;
}

void print_cdl_data(const Source& source, VarId id, std::FILE* out, const std::string& indent) {
  const Variable& var = source.schema().vars[static_cast<std::size_t>(id)];
  if (whole(source.shape(id)).elements() == 0) return;
  Lines lines(out);
  lines.raw("\n");
  lines.raw(indent + " " + cdl_name(cdl_name_in_group(var.name)) +
            (var.ndims() > 1 ? " =" : " = "));
  if (var.type == Type::chr) {
    print_characters(source, id, lines);
  } else {
    print_numbers(source, id, lines);
  }
  lines.raw(" ;\n");
}

}  // namespace forebay::tools
