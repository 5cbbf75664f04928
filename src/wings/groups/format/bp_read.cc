#include "groups/format/bp_read.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string_view>
#include <utility>

#include "base/byteorder.h"
#include "base/error.h"
#include "groups/format/bp_cursor.h"

namespace forebay::bp {

namespace {

Type checked_type(std::uint8_t number) {
  const auto type = static_cast<Type>(number);
  const bool is_text = type == Type::string || type == Type::string_array;
  if (!is_text && size_of(type) == 0) damaged("there is no type " + std::to_string(number));
  return type;
}

// ADIOS 1 makes "/grid/T" of "/grid" and "T", and accepts "grid/T" too, which is the name here. A
// path may be "/", and a name may contain a path. adios2 writes no paths.
std::string whole_name(const std::string& path, const std::string& name, Form form) {
  std::string whole = path.empty() ? name : path + "/" + name;
  if (form == Form::adios1) whole.erase(0, whole.find_first_not_of('/'));
  return whole;
}

void skip(Cursor& from, Type type, std::size_t values) {
  from.take(values * static_cast<std::size_t>(size_of(type)));
}

// In ADIOS 1 a block has a time dimension with one element. The global shape does not have it, and
// ends with a 0 instead. It is dropped, since a step is one element of time.
void drop_time(Shape& extents, bool column_major) {
  auto& [shape, start, count] = extents;
  if (all_zero(shape) || shape.back() != 0) return;
  if ((column_major ? count.back() : count.front()) != 1) return;
  count.erase(column_major ? count.end() - 1 : count.begin());
  shape.pop_back();
  start.pop_back();
}

// Interprets the three lists of a block as adios2 does.
Shape shape_of(Shape&& from) {
  Shape at;
  if (from.shape == std::vector<Count>{local_value}) {
    at.shape = from.shape;
    return at;
  }
  const auto joints = std::ranges::count(from.shape, joined);
  at.count = std::move(from.count);
  if (!all_zero(from.shape) || !all_zero(from.start)) {
    at.shape = std::move(from.shape);
    if (joints == 0) at.start = std::move(from.start);
  }
  if (joints > 1) damaged("an array that is joined along two dimensions");
  for (std::size_t d = 0; d < at.count.size(); ++d) {
    const Count count = at.count[d], whole = at.shape.empty() ? count : at.shape[d];
    const Count start = at.start.empty() ? 0 : at.start[d];
    if (count < 0 || (whole < 0 && whole != joined) || start < 0 ||
        (!at.start.empty() && (start > whole || count > whole - start)))
      damaged("a block that reaches out of its array");
  }
  return at;
}

Count bytes_of(Type type, const Shape& at) {
  Count bytes = size_of(type);
  if (!multiply_all(at.count, bytes)) damaged("a block of more than 2^63 bytes");
  return bytes;
}

void skip_histogram(Cursor& from) {
  const std::size_t breaks = from.number<std::uint32_t>();
  from.take(8 + 8 + 4 * (breaks + 1) + 8 * breaks);  // least, greatest, frequencies, breaks
}

double sum_of(Cursor& from, std::size_t bytes) {
  if (bytes == sizeof(double)) return std::bit_cast<double>(from.number<std::uint64_t>());
  from.take(bytes);
  return 0;
}

// Parses statistics in BP3's form: those whose bits are set, in this order. Complex numbers have
// three sets, of their absolute values and both parts, as floats of 8 bytes.
void parse_statistics(Cursor& from, std::uint32_t bits, Type type, Block& block) {
  const Type bound = is_complex(type) ? Type::float64 : type;
  const std::size_t sums = type == Type::long_double ? 16 : 8;
  bool any = true;  // false: no value counts, and the bounds mean nothing
  for (int set = 0; set < (is_complex(type) ? 3 : 1); ++set)
    for (int bit = 0; bit < static_cast<int>(Statistic::all); ++bit) {
      if ((bits >> bit & 1) == 0) continue;
      switch (static_cast<Statistic>(bit)) {
        case Statistic::min:
          block.min = from.value(bound);
          break;
        case Statistic::max:
          block.max = from.value(bound);
          break;
        case Statistic::count:
          block.moments.count = from.number<std::uint32_t>();
          any = block.moments.count > 0;
          break;
        case Statistic::sum:
          block.moments.sum = sum_of(from, sums);
          break;
        case Statistic::squares:
          block.moments.squares = sum_of(from, sums);
          break;
        case Statistic::finite:
          from.take(1);
          break;
        case Statistic::histogram:
          skip_histogram(from);
          break;
        case Statistic::all:
          break;
      }
    }
  block.has_range = (bits & 3) == 3 && any && !is_complex(type);
  block.has_moments = (bits & bits_with_moments) == bits_with_moments && sums == sizeof(double) &&
                      !is_complex(type);
}

void parse_ranges(Cursor& from, Type type, std::size_t dimensions, Block& block) {
  const std::size_t parts = from.number<std::uint16_t>();
  block.min = from.value(type);
  block.max = from.value(type);
  block.has_range = true;
  if (parts <= 1) return;
  from.take(1 + 8 + 2 * dimensions);  // how the block is divided
  skip(from, type, 2 * parts);
}

template <typename T>
void swap_each(std::span<std::byte> values) {
  for (std::size_t at = 0; at + sizeof(T) <= values.size(); at += sizeof(T)) {
    T value;
    std::memcpy(&value, values.data() + at, sizeof value);
    value = byte_swapped(value);
    std::memcpy(values.data() + at, &value, sizeof value);
  }
}

}  // namespace

Operation parse_operation(Cursor& from) {
  Operation operation;
  const auto name = from.take(from.number<std::uint8_t>());
  operation.name.assign(reinterpret_cast<const char*>(name.data()), name.size());
  operation.type = from.number<std::uint8_t>();
  operation.extents = from.extents(false);
  constexpr std::size_t sizes = 16;
  const std::size_t bytes = from.number<std::uint16_t>();
  if (bytes == sizes) {
    // ADIOS 1 may have something else there, which is no reason to refuse the file.
    const auto values = from.number<std::uint64_t>(), stored = from.number<std::uint64_t>();
    if (std::in_range<Count>(values) && std::in_range<Count>(stored)) {
      operation.values = static_cast<Count>(values);
      operation.stored = static_cast<Count>(stored);
    }
  } else {
    from.take(bytes);
  }
  if (operation.name.empty()) damaged("an operator without a name");
  return operation;
}

Value Cursor::value(Type type) {
  Value value{};
  const auto bytes = take(static_cast<std::size_t>(size_of(type)));
  std::copy(bytes.begin(), bytes.end(), value.begin());
  if (swapped_) swap_values(type, std::span(value).first(bytes.size()));
  return value;
}

Shape Cursor::extents(bool in_group) {
  const std::size_t n = number<std::uint8_t>();
  number<std::uint16_t>();  // size of the lists
  Shape all;
  for (std::size_t d = 0; d < n; ++d)
    for (auto* list : {&all.count, &all.shape, &all.start}) {
      if (in_group) take(1);
      list->push_back(static_cast<Count>(number<std::uint64_t>()));
    }
  return all;
}

void swap_values(Type type, std::span<std::byte> values) {
  switch (size_of(type) / (is_complex(type) ? 2 : 1)) {
    case 2:
      return swap_each<std::uint16_t>(values);
    case 4:
      return swap_each<std::uint32_t>(values);
    case 8:
      return swap_each<std::uint64_t>(values);
    default:
      return;
  }
}

bool parse_head(std::span<const std::byte> head) {
  constexpr std::string_view tag = "ADIOS-BP";
  if (head.size() < static_cast<std::size_t>(head_bytes) ||
      std::memcmp(head.data(), tag.data(), tag.size()) != 0)
    throw Error(Errc::ebad_file, "it does not begin as files of BP directories do",
                "give the path of a BP4 directory; `forebay recover` makes a damaged index again");
  const auto version = std::to_integer<int>(head[head_bp_version_at]);
  if (version != bp_version)
    throw Error(Errc::enotsupport, "it is of BP version " + std::to_string(version),
                "BP4 is read: write with adios2's engine BP4");
  const auto order = std::to_integer<int>(head[head_endian_at]);
  if (order > 1) damaged("its byte order is neither");
  return (order == 1) != native_is_big_endian;
}

StepRecord parse_record(std::span<const std::byte, record_bytes> record, bool swapped) {
  Cursor from(record, swapped);
  const auto place = [&] { return from.count("a step's index lies nowhere"); };
  StepRecord step;
  step.step = from.number<std::uint64_t>();
  step.rank = from.number<std::uint64_t>();
  step.groups = place();
  step.variables = place();
  step.attributes = place();
  step.end = place();
  step.time = from.number<std::uint64_t>();
  if (step.groups > step.variables || step.variables > step.attributes ||
      step.attributes > step.end)
    damaged("the parts of a step's index lie in no order");
  return step;
}

Count parse_elements_head(std::span<const std::byte> elements, bool swapped) {
  Cursor from(elements, swapped);
  from.number<std::uint32_t>();
  return from.count("the index of a step is too long");
}

std::uint32_t parse_elements(std::span<const std::byte> head, bool swapped) {
  return Cursor(head, swapped).number<std::uint32_t>();
}

Count parse_entry_bytes(std::span<const std::byte> first, bool swapped) {
  return Count{4} + Cursor(first, swapped).number<std::uint32_t>();
}

Count parse_block_bytes(std::span<const std::byte> first, bool swapped) {
  Cursor from(first, swapped);
  from.number<std::uint8_t>();
  return block_head_bytes + from.number<std::uint32_t>();
}

Count parse_group_bytes(std::span<const std::byte> first, bool swapped) {
  return Count{2} + Cursor(first, swapped).number<std::uint16_t>();
}

Group parse_group(Cursor& from) {
  from.number<std::uint16_t>();  // bytes
  Group group;
  group.name = from.text();
  group.column_major = from.take(1)[0] == std::byte{'y'};
  group.rank = from.number<std::uint32_t>();
  from.text();  // name of the step
  group.step = from.number<std::uint32_t>();
  group.place = from.count("a process group lies nowhere");
  return group;
}

bool parse_column_major(std::span<const std::byte> groups, bool swapped) {
  Cursor from(groups, swapped);
  const auto number = from.number<std::uint64_t>();
  from.number<std::uint64_t>();
  if (number == 0) return false;
  from.number<std::uint16_t>();
  from.text();
  return from.take(1)[0] == std::byte{'y'};
}

VariableEntry::VariableEntry(std::span<const std::byte> entry, Origin origin)
    : entry_(entry), origin_(origin) {
  Cursor from(entry, origin.swapped);
  from.number<std::uint32_t>();  // bytes
  member_ = from.number<std::uint32_t>();
  group_ = from.text();
  const std::string name = from.text();
  const bool has_path = origin.form != Form::bp4;
  variable_.name = whole_name(has_path ? from.text() : "", name, origin.form);
  if (!has_path) from.take(2);
  variable_.type = checked_type(from.number<std::uint8_t>());
  from.number<std::uint64_t>();  // blocks
  at_ = from.at();
  if (name.empty() || variable_.name.empty()) damaged("a variable without a name");
  if (variable_.type == Type::string_array) damaged(variable_.name + " is a list of strings");
}

VariableEntry::VariableEntry(Variable variable, std::span<const std::byte> blocks, Origin origin)
    : entry_(blocks), origin_(origin), variable_(std::move(variable)) {}

bool VariableEntry::next(Block& block) {
  if (at_ == entry_.size()) return false;
  Cursor from(entry_.subspan(at_), origin_.swapped);
  from.number<std::uint8_t>();
  const std::size_t bytes = from.number<std::uint32_t>();
  block = {};
  parse_characteristics(from.take(bytes), block);
  at_ += from.at();
  return true;
}

void VariableEntry::parse_characteristics(std::span<const std::byte> bytes, Block& block) {
  Cursor from(bytes, origin_.swapped);
  std::uint32_t bits = 0;
  Shape extents;
  Count values = 0;  // bytes before an operator
  Type& type = variable_.type;
  while (!from.at_end()) {
    const auto what = from.number<std::uint8_t>();
    switch (static_cast<Characteristic>(what)) {
      case Characteristic::time_index:
        block.step = from.number<std::uint32_t>();
        break;
      case Characteristic::file_index:
        block.file = from.number<std::uint32_t>();
        break;
      case Characteristic::value:
        block.has_value = true;
        if (type == Type::string)
          block.text = from.text();
        else
          block.min = block.max = from.value(type);
        break;
      case Characteristic::min:
        block.min = from.value(type);
        break;
      case Characteristic::max:
        block.max = from.value(type);
        block.has_range = true;
        break;
      case Characteristic::minmax:
        parse_ranges(from, type, extents.count.size(), block);
        break;
      case Characteristic::bitmap:
        bits = from.number<std::uint32_t>();
        break;
      case Characteristic::stat:
        parse_statistics(from, bits, type, block);
        break;
      case Characteristic::offset:
        block.place = static_cast<Offset>(from.number<std::uint64_t>());
        break;
      case Characteristic::payload_offset:
        block.payload = static_cast<Offset>(from.number<std::uint64_t>());
        break;
      case Characteristic::dimensions:
        extents = from.extents(false);
        break;
      case Characteristic::transform_type: {
        Operation operation = parse_operation(from);
        block.operation = std::move(operation.name);
        if (origin_.form != Form::adios1) {
          block.stored = operation.stored;
          values = operation.values;
          break;
        }
        // In ADIOS 1 the variable itself has the type of bytes.
        type = checked_type(operation.type);
        if (size_of(type) == 0) damaged(variable_.name + " has text behind an operator");
        extents = std::move(operation.extents);
        break;
      }
      default:
        damaged("variable " + variable_.name + " has a characteristic " + std::to_string(what));
    }
  }
  if (origin_.form == Form::adios1) drop_time(extents, origin_.column_major);
  block.at = shape_of(std::move(extents));
  if (origin_.column_major)
    for (auto* list : {&block.at.shape, &block.at.start, &block.at.count})
      std::ranges::reverse(*list);
  check(block);
  // Operators print numbers of their own in the byte order of their machine.
  if (values != block.bytes || origin_.swapped) block.stored = 0;
}

void VariableEntry::check(Block& block) const {
  const Type type = variable_.type;
  const Offset first = origin_.form == Form::bp4 ? head_bytes : 1;
  block.bytes =
      type == Type::string ? static_cast<Count>(block.text.size()) : bytes_of(type, block.at);
  if (type == Type::string && !block.at.count.empty())
    damaged(variable_.name + " is an array of strings");
  if (block.has_value && !block.at.count.empty())
    damaged(variable_.name + " is an array and a single value");
  const Count bytes = block.stored > 0 ? block.stored : block.bytes;
  if (!block.has_value && block.bytes > 0 &&
      (block.payload < first || bytes > std::numeric_limits<Offset>::max() - block.payload))
    damaged("a block of " + variable_.name + " lies nowhere");
}

AttributeEntry parse_attribute(std::span<const std::byte> entry, Origin origin) {
  const bool swapped = origin.swapped;
  Cursor from(entry, swapped);
  from.number<std::uint32_t>();  // bytes
  from.number<std::uint32_t>();  // member
  AttributeEntry parsed;
  parsed.group = from.text();
  Attribute& attribute = parsed.attribute;
  attribute.name = from.text();
  attribute.name = whole_name(from.text(), attribute.name, origin.form);
  attribute.type = static_cast<Type>(from.number<std::uint8_t>());
  const bool refers = attribute.type == Type::reference;
  if (!refers) attribute.type = checked_type(static_cast<std::uint8_t>(attribute.type));
  from.number<std::uint64_t>();
  from.number<std::uint8_t>();
  Cursor what(from.take(from.number<std::uint32_t>()), swapped);
  std::size_t elements = 1;
  bool has_value = false;
  while (!what.at_end()) {
    const auto id = what.number<std::uint8_t>();
    switch (static_cast<Characteristic>(id)) {
      case Characteristic::time_index:
      case Characteristic::file_index:
        what.take(4);
        break;
      case Characteristic::offset:
      case Characteristic::payload_offset:
        what.take(8);
        break;
      case Characteristic::dimensions: {
        const Shape extents = what.extents(false);
        if (extents.count.size() > 1 || (extents.count.size() == 1 && extents.count[0] < 0))
          damaged("attribute " + attribute.name + " is no list");
        if (!extents.count.empty()) elements = static_cast<std::size_t>(extents.count[0]);
        break;
      }
      case Characteristic::var_id:
        parsed.variable = what.number<std::uint32_t>();
        break;
      case Characteristic::value:
        if (refers) damaged("attribute " + attribute.name + " has a value of no type");
        has_value = true;
        if (const auto size = static_cast<std::size_t>(size_of(attribute.type)); size > 0) {
          if (elements > entry.size() / size) damaged("attribute " + attribute.name);
          const auto bytes = what.take(elements * size);
          attribute.values.assign(bytes.begin(), bytes.end());
          if (swapped) swap_values(attribute.type, attribute.values);
        } else {
          if (elements > entry.size() / 2) damaged("attribute " + attribute.name);
          for (std::size_t n = 0; n < elements; ++n) attribute.texts.push_back(what.text());
        }
        break;
      default:
        damaged("attribute " + attribute.name + " has a characteristic " + std::to_string(id));
    }
  }
  if (attribute.name.empty() || !(refers ? parsed.variable.has_value() : has_value))
    damaged("an attribute without a name or a value");
  if (!refers) parsed.variable.reset();
  if (attribute.type == Type::string && attribute.texts.size() != 1)
    damaged("attribute " + attribute.name + " is no single string");
  return parsed;
}

}  // namespace forebay::bp
