#include "groups/format/bp_group.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <limits>
#include <string_view>

#include "groups/format/bp_cursor.h"

namespace forebay::bp {

namespace {

void expect(Cursor& from, std::string_view tag) {
  const auto bytes = from.take(tag.size());
  if (!std::ranges::equal(bytes, std::as_bytes(std::span(tag))))
    damaged("there is no " + std::string(tag));
}

Count length_of(std::uint64_t bytes) {
  constexpr std::uint64_t most = std::numeric_limits<Count>::max() / 2;
  if (bytes > most) damaged("a length of " + std::to_string(bytes));
  return static_cast<Count>(bytes);
}

template <typename T>
bool parse_hexadecimal(std::string_view text, T& number) {
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number, 16);
  return error == std::errc() && at == end;
}

// Parses "STEP/OPENING/GROUPS". Fillers and other programs have something else there.
std::optional<GroupMark> parse_mark(std::string_view text, std::uint32_t step) {
  GroupMark mark;
  const std::string begin = std::to_string(step) + '/';
  if (!text.starts_with(begin)) return std::nullopt;
  text.remove_prefix(begin.size());
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos || !parse_hexadecimal(text.substr(0, slash), mark.opening) ||
      !parse_hexadecimal(text.substr(slash + 1), mark.groups))
    return std::nullopt;
  return mark;
}

Type variable_type(std::uint8_t number) {
  const auto type = static_cast<Type>(number);
  if (type != Type::string && (size_of(type) == 0 || type == Type::long_double))
    damaged("there is no type " + std::to_string(number));
  return type;
}

void parse_characteristics(Cursor from, Type type, Block& block) {
  while (!from.at_end()) {
    const auto what = static_cast<Characteristic>(from.number<std::uint8_t>());
    if (what == Characteristic::value) {
      block.has_value = true;
      if (type == Type::string)
        block.text = from.text();
      else
        block.min = block.max = from.value(type);
    } else if (what == Characteristic::minmax) {
      if (from.number<std::uint16_t>() != 1) damaged("a block with bounds of its parts");
      block.min = from.value(type);
      block.max = from.value(type);
      block.has_range = true;
    } else if (what == Characteristic::bitmap) {
      if (from.number<std::uint32_t>() != bits_with_moments) damaged("a block with statistics");
    } else if (what == Characteristic::stat) {
      block.min = from.value(type);
      block.max = from.value(type);
      block.moments.count = from.number<std::uint32_t>();
      block.moments.sum = std::bit_cast<double>(from.number<std::uint64_t>());
      block.moments.squares = std::bit_cast<double>(from.number<std::uint64_t>());
      block.has_range = block.has_moments = true;
    } else if (what == Characteristic::transform_type) {
      Operation operation = parse_operation(from);
      block.operation = std::move(operation.name);
      block.bytes = operation.values;
      block.stored = operation.stored;
    } else {
      damaged("a block with a characteristic " + std::to_string(static_cast<int>(what)));
    }
  }
}

Count payload_bytes(Type type, const Shape& at) {
  if (is_local_value(at)) return 0;
  Count bytes = size_of(type);
  for (const Count n : at.count)
    if (n < 0 || __builtin_mul_overflow(bytes, n, &bytes)) damaged("a block of no size");
  return bytes;
}

// The index is printed from what the block says, so its operator must have both sizes.
Count stored_payload(const GroupBlock& parsed) {
  const Block& block = parsed.block;
  const Count values = payload_bytes(parsed.variable.type, block.at);
  if (block.operation.empty()) return values;
  if (block.bytes != values || block.stored == 0) damaged("a block behind an operator of no size");
  return block.stored;
}

// A local value must have its value, and an array of numbers its range. Others have neither.
void check_told(const GroupBlock& parsed) {
  const Block& block = parsed.block;
  const bool scalar = block.at.count.empty(), local = is_local_value(block.at);
  const bool ordered = to_engine(parsed.variable.type) != forebay::Type::none;
  if (block.has_value != local || block.has_range != (ordered && !local && !scalar))
    damaged("a block of " + parsed.variable.name + " without its value or bounds");
  if (parsed.variable.type == Type::string && !local && !scalar)
    damaged(parsed.variable.name + " is an array of strings");
}

}  // namespace

GroupHead parse_group_head(std::span<const std::byte> bytes) {
  Cursor from(bytes, false);
  expect(from, "[PGI");
  GroupHead head;
  head.bytes = 4 + length_of(from.number<std::uint64_t>());
  head.column_major = from.take(1)[0] == std::byte{'y'};
  head.name = from.text();
  const auto rank = from.number<std::uint32_t>();
  const std::string step_name = from.text();
  head.step = from.number<std::uint32_t>();
  head.mark = parse_mark(step_name, head.step);
  if (head.mark && rank > static_cast<std::uint32_t>(std::numeric_limits<Rank>::max()))
    head.mark.reset();
  if (head.mark) head.mark->rank = static_cast<Rank>(rank);
  from.number<std::uint8_t>();              // methods
  from.take(from.number<std::uint16_t>());  // size of the methods
  head.blocks = from.number<std::uint32_t>();
  const Count of_blocks = length_of(from.number<std::uint64_t>());
  head.first_block = static_cast<Offset>(from.at());
  head.attributes = head.first_block + of_blocks;
  if (head.attributes > head.bytes - attributes_head_bytes - group_end_bytes)
    damaged("a group that ends within its blocks");
  return head;
}

GroupBlock parse_group_block(std::span<const std::byte> bytes) {
  Cursor from(bytes, false);
  expect(from, "[VMD");
  GroupBlock parsed;
  parsed.bytes = 4 + length_of(from.number<std::uint64_t>());
  parsed.member = from.number<std::uint32_t>();
  parsed.variable.name = from.text();
  if (parsed.variable.name.empty()) damaged("a variable without a name");
  from.take(2);
  const Type type = parsed.variable.type = variable_type(from.number<std::uint8_t>());
  from.take(1);
  parsed.block.at = from.extents(true);
  from.number<std::uint8_t>();
  parse_characteristics(Cursor(from.take(from.number<std::uint32_t>()), false), type, parsed.block);
  check_told(parsed);
  const std::size_t tag = from.number<std::uint8_t>();
  if (tag < 4) damaged("a block without an end");
  from.take(tag - 4);
  expect(from, "VMD]");
  parsed.payload = static_cast<Offset>(from.at());
  const Count payload = parsed.bytes - parsed.payload;
  const bool fits = type == Type::string && !parsed.block.has_value
                        ? payload >= 2
                        : payload == stored_payload(parsed);
  if (!fits) damaged("a block of " + parsed.variable.name + " is not as long as its values");
  return parsed;
}

bool ends_group(std::span<const std::byte> last) {
  constexpr std::string_view tag = "PGI]";
  return std::ranges::equal(last, std::as_bytes(std::span(tag)));
}

Count parse_group_attribute_bytes(std::span<const std::byte> first) {
  Cursor from(first, false);
  expect(from, "[AMD");
  return Count{4} + from.number<std::uint32_t>();
}

GroupAttribute parse_group_attribute(std::span<const std::byte> bytes) {
  Cursor from(bytes, false);
  expect(from, "[AMD");
  from.number<std::uint32_t>();
  GroupAttribute parsed;
  Attribute& attribute = parsed.attribute;
  parsed.member = from.number<std::uint32_t>();
  attribute.name = from.text();
  from.text();   // path
  from.take(1);  // 'n': it has a value of its own
  attribute.type = static_cast<Type>(from.number<std::uint8_t>());
  const std::size_t count = from.number<std::uint32_t>();
  const auto text = [&](std::size_t n) {
    const auto characters = from.take(n);
    attribute.texts.emplace_back(reinterpret_cast<const char*>(characters.data()), n);
  };
  if (attribute.type == Type::string) {
    text(count);
  } else if (attribute.type == Type::string_array) {
    if (count > bytes.size() / 5) damaged("attribute " + attribute.name);
    for (std::size_t n = 0; n < count; ++n) {
      const std::size_t with_zero = from.number<std::uint32_t>();
      if (with_zero == 0) damaged("attribute " + attribute.name);
      text(with_zero - 1);
      from.take(1);
    }
  } else {
    const auto values = from.take(count);
    attribute.values.assign(values.begin(), values.end());
  }
  expect(from, "AMD]");
  if (!from.at_end()) damaged("attribute " + attribute.name + " is not as long as its values");
  return parsed;
}

}  // namespace forebay::bp
