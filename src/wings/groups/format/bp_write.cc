#include "groups/format/bp_write.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "base/attempt.h"
#include "base/error.h"

namespace forebay::bp {

namespace {

constexpr std::string_view tag = "ADIOS-BP v2.9.0 ";
constexpr std::string_view version_digits = "290";

template <typename T>
void put(Bytes& out, T value) {
  static_assert(std::is_trivially_copyable_v<T>);
  const std::size_t at = out.size();
  out.resize(at + sizeof value);
  std::memcpy(out.data() + at, &value, sizeof value);
}

template <typename T>
void put_at(Bytes& out, std::size_t at, T value) {
  std::memcpy(out.data() + at, &value, sizeof value);
}

void put_bytes(Bytes& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_raw(Bytes& out, std::string_view text) { put_bytes(out, std::as_bytes(std::span(text))); }

void put_text(Bytes& out, std::string_view text) {
  put(out, static_cast<std::uint16_t>(text.size()));
  put_raw(out, text);
}

constexpr std::size_t longest_text = std::numeric_limits<std::uint16_t>::max();
// A group's entry in md.0 has a length of 16 bits: the name, 21 other bytes, and the step's name.
constexpr std::size_t longest_group_name = longest_text - 64;
constexpr std::size_t most_dimensions = std::numeric_limits<std::uint8_t>::max();

void check_name(std::string_view name, const char* of) {
  if (name.empty()) throw Error(Errc::ebadname, std::string(of) + " has no name", "give it one");
  if (name.size() > longest_text) {
    throw Error(Errc::emaxname,
                "the name of " + std::string(of) + " has " + std::to_string(name.size()) +
                    " bytes, BP files have room for 65535: " + std::string(name.substr(0, 60)) +
                    "…",
                "choose a shorter name");
  }
}

std::uint32_t checked_length(Count bytes, std::string_view name) {
  if (bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw Error(Errc::evarsize,
                "the entry of " + std::string(name) + " takes " + std::to_string(bytes) +
                    " bytes, BP files have room for 4 GiB",
                "write larger and fewer blocks a step");
  }
  return static_cast<std::uint32_t>(bytes);
}

std::size_t dimensions_of(const Shape& at) { return std::max(at.count.size(), at.shape.size()); }

std::uint64_t extent(const std::vector<Count>& of, std::size_t dimension) {
  return dimension < of.size() ? static_cast<std::uint64_t>(of[dimension]) : 0;
}

// In groups a byte before each number says whether it is a variable's number.
void put_dimensions(Bytes& out, const Shape& at, bool in_group) {
  const std::size_t n = dimensions_of(at);
  put(out, static_cast<std::uint8_t>(n));
  put(out, static_cast<std::uint16_t>(n * (in_group ? 27 : 24)));
  for (std::size_t d = 0; d < n; ++d) {
    for (const std::uint64_t number :
         {extent(at.count, d), extent(at.shape, d), extent(at.start, d)}) {
      if (in_group) put(out, 'n');
      put(out, number);
    }
  }
}

void put_value(Bytes& out, Type type, const Value& value) {
  put_bytes(out, std::span(value).first(static_cast<std::size_t>(size_of(type))));
}

constexpr std::size_t mark_groups_digits = 8;

std::string hexadecimal(std::uint64_t number, std::size_t digits) {
  std::string text(digits, '0');
  for (; digits > 0; number >>= 4) text[--digits] = "0123456789abcdef"[number & 15];
  return text;
}

bool tells_range(const Variable& variable, const Block& block) {
  return !block.has_value && to_engine(variable.type) != forebay::Type::none;
}

/// Prints a list of characteristics: u8 their number, u32 their size, then the list.
class Characteristics {
 public:
  explicit Characteristics(Bytes& out) : out_(out), at_(out.size()) { out.resize(at_ + 5); }
  /// Begins the next one. What it has is printed to the bytes that this returns.
  Bytes& begin(Characteristic id) {
    put(out_, static_cast<std::uint8_t>(id));
    ++number_;
    return out_;
  }
  template <typename T>
  void add(Characteristic id, T value) {
    put(begin(id), value);
  }
  void end(std::string_view name) {
    put_at(out_, at_, number_);
    put_at(out_, at_ + 1, checked_length(static_cast<Count>(out_.size() - at_ - 5), name));
  }

 private:
  Bytes& out_;
  std::size_t at_;
  std::uint8_t number_ = 0;
};

/// Adds the value of a scalar or a local value.
void add_value(Characteristics& list, Type type, const Block& block) {
  Bytes& out = list.begin(Characteristic::value);
  type == Type::string ? put_text(out, block.text) : put_value(out, type, block.min);
}

void add_range(Characteristics& list, Type type, const Block& block, Form form) {
  const bool moments =
      block.has_moments && std::in_range<std::uint32_t>(block.moments.count);  // BP3 holds 32 bits
  const bool as_stat = moments || form == Form::bp3;  // ADIOS 1 reads only this form
  if (as_stat) list.add(Characteristic::bitmap, moments ? bits_with_moments : bits_of_range);
  Bytes& out = list.begin(as_stat ? Characteristic::stat : Characteristic::minmax);
  if (!as_stat) put(out, std::uint16_t{1});
  put_value(out, type, block.min);
  put_value(out, type, block.max);
  if (!moments) return;
  put(out, static_cast<std::uint32_t>(block.moments.count));
  put(out, block.moments.sum);
  put(out, block.moments.squares);
}

/// Adds the operator that made the payload.
void add_operation(Characteristics& list, Type type, const Block& block) {
  if (block.operation.empty()) return;
  constexpr std::uint16_t bytes_of_sizes = 16;
  Bytes& out = list.begin(Characteristic::transform_type);
  put(out, static_cast<std::uint8_t>(block.operation.size()));
  put_raw(out, block.operation);
  put(out, static_cast<std::uint8_t>(type));
  put_dimensions(out, block.at, false);
  put(out, bytes_of_sizes);
  put(out, static_cast<std::uint64_t>(block.bytes));
  put(out, static_cast<std::uint64_t>(block.stored));
}

Count elements_of(const Attribute& attribute) {
  const Count size = size_of(attribute.type);
  return size == 0 ? static_cast<Count>(attribute.texts.size())
                   : static_cast<Count>(attribute.values.size()) / size;
}

std::span<const std::byte> zeros(Count most) {
  static constexpr std::array<std::byte, 64 << 10> all{};
  return std::span(all).first(
      static_cast<std::size_t>(std::min<Count>(most, static_cast<Count>(all.size()))));
}

/// Prints an empty group's front with one attribute, up to its `pad` bytes. Then comes filler_end.
void put_filler_front(Bytes& out, Count pad, std::uint32_t step) {
  put_raw(out, "[PGI");
  put(out, static_cast<std::uint64_t>(pad + least_filler - 4));
  put(out, 'n');
  put_text(out, "");
  put(out, std::uint32_t{0});
  put_text(out, "");
  put(out, step);
  put(out, std::uint8_t{0});
  put(out, std::uint16_t{0});
  put(out, std::uint32_t{0});
  put(out, std::uint64_t{0});
  put(out, std::uint32_t{1});
  put(out, static_cast<std::uint64_t>(pad + 8 + 26));
  put_raw(out, "[AMD");
  put(out, static_cast<std::uint32_t>(pad + 22));
  put(out, std::uint32_t{0});
  put_text(out, "");
  put_text(out, "");
  put(out, 'n');
  put(out, static_cast<std::uint8_t>(Type::string));
  put(out, static_cast<std::uint32_t>(pad));
}
constexpr std::string_view filler_end = "AMD]PGI]";

}  // namespace

std::array<std::byte, head_bytes> print_head(std::string_view kind) {
  std::array<std::byte, head_bytes> head{};
  const std::string text = std::string(tag) + std::string(kind);
  std::memcpy(head.data(), text.data(), std::min(text.size(), head_tag_bytes));
  std::memcpy(head.data() + head_version_at, version_digits.data(), version_digits.size());
  head[head_endian_at] = std::byte{std::endian::native == std::endian::big};
  head[head_bp_version_at] = std::byte{bp_version};
  return head;  // Not marked active: a reader that follows a killed program would wait for ever.
}

std::array<std::byte, record_bytes> print_record(const StepRecord& r) {
  const std::array<std::uint64_t, 8> numbers{r.step,
                                             r.rank,
                                             static_cast<std::uint64_t>(r.groups),
                                             static_cast<std::uint64_t>(r.variables),
                                             static_cast<std::uint64_t>(r.attributes),
                                             static_cast<std::uint64_t>(r.end),
                                             r.time,
                                             0};
  return std::bit_cast<std::array<std::byte, record_bytes>>(numbers);
}

void check_text(std::string_view text) {
  if (text.size() > longest_text) {
    throw Error(
        Errc::evarsize,
        "a string of " + std::to_string(text.size()) + " bytes, BP files have room for 65535",
        "write it as an array of bytes");
  }
}

void check(const Variable& variable, const Shape& at) {
  check_name(variable.name, "a variable");
  if (size_of(variable.type) == 0 && variable.type != Type::string) {
    throw Error(Errc::ebadtype, variable.name + ": no type of a variable of BP files",
                "use numbers, complex numbers or a string");
  }
  if (variable.type == Type::long_double) {
    throw Error(Errc::ebadtype, variable.name + ": long double differs between machines",
                "write double");
  }
  if (dimensions_of(at) > most_dimensions) {
    throw Error(Errc::emaxdims,
                variable.name + " has " + std::to_string(dimensions_of(at)) +
                    " dimensions, BP files have room for 255",
                "use fewer dimensions");
  }
  if (any_zero(at.shape)) return;
  Count bytes = std::max<Count>(size_of(variable.type), 1);
  for (const Count extent : at.shape)
    if (extent > 0 && __builtin_mul_overflow(bytes, extent, &bytes))
      throw Error(Errc::evarsize, variable.name + ": all of the array has more than 2^63 bytes",
                  "look at its global dimensions");
}

void check(const Attribute& attribute) {
  check_name(attribute.name, "an attribute");
  naming(attribute.name, [&] {
    for (const std::string& text : attribute.texts) check_text(text);
  });
  const bool texts = attribute.type == Type::string || attribute.type == Type::string_array;
  const Count size = size_of(attribute.type);
  if ((!texts && size == 0) || attribute.type == Type::long_double) {
    throw Error(Errc::ebadtype, attribute.name + ": no type of an attribute of BP files",
                "use numbers, complex numbers or strings");
  }
  const bool fits = texts
                        ? attribute.values.empty() && !attribute.texts.empty() &&
                              (attribute.type == Type::string_array || attribute.texts.size() == 1)
                        : attribute.texts.empty() && !attribute.values.empty() &&
                              static_cast<Count>(attribute.values.size()) % size == 0;
  if (!fits) {
    throw Error(Errc::einval, attribute.name + ": its values do not fit its type",
                "give at least one element, in whole");
  }
  // The size of both entries, in data.K and md.0, with room for their heads.
  Count bytes = static_cast<Count>(attribute.values.size() + attribute.name.size()) + 256;
  for (const std::string& text : attribute.texts) bytes += static_cast<Count>(text.size()) + 5;
  checked_length(bytes, attribute.name);
}

// ---- data.K

GroupImage::GroupImage(std::string_view name, bool column_major, std::uint32_t step,
                       const GroupMark& mark)
    : step_(step) {
  if (name.size() > longest_group_name) {
    throw Error(Errc::emaxname, "the group's name has " + std::to_string(name.size()) + " bytes",
                "choose a shorter name");
  }
  put_raw(own_, "[PGI");
  put(own_, std::uint64_t{0});  // the size; finish() sets it
  put(own_, column_major ? 'y' : 'n');
  put_text(own_, name);
  put(own_, static_cast<std::uint32_t>(mark.rank));
  put_text(own_, std::to_string(step) + '/' + hexadecimal(mark.opening, 16) + '/' +
                     hexadecimal(mark.groups, mark_groups_digits));
  groups_at_ = own_.size() - mark_groups_digits;
  put(own_, step);
  put(own_, std::uint8_t{0});   // methods
  put(own_, std::uint16_t{0});  // size of the methods
  variables_at_ = own_.size();
  put(own_, std::uint32_t{0});
  put(own_, std::uint64_t{0});
  variables_from_ = here();
}

void GroupImage::tell_groups(std::int64_t groups) {
  const auto known = std::min<std::int64_t>(groups, std::numeric_limits<std::uint32_t>::max());
  const std::string digits = hexadecimal(static_cast<std::uint64_t>(known), mark_groups_digits);
  std::memcpy(own_.data() + groups_at_, digits.data(), digits.size());
}

Offset GroupImage::here() const { return static_cast<Offset>(own_.size()) + payload_bytes_; }

void GroupImage::add_payload(std::span<const std::byte> payload) {
  if (payload.empty()) return;
  pieces_.push_back({own_.size(), payload});
  payload_bytes_ += static_cast<Count>(payload.size());
}

GroupImage::Places GroupImage::add(const Variable& variable, std::uint32_t member,
                                   const Block& block, std::span<const std::byte> payload) {
  Places places{here(), 0};
  const bool is_text = variable.type == Type::string;
  put_raw(own_, "[VMD");
  const std::size_t length_at = own_.size();
  put(own_, std::uint64_t{0});
  put(own_, member);
  put_text(own_, variable.name);
  put(own_, 'K');  // dimensions in the order of the group's language
  put(own_, std::uint8_t{0});
  put(own_, static_cast<std::uint8_t>(variable.type));
  put(own_, 'n');
  put_dimensions(own_, block.at, true);
  Characteristics characteristics(own_);
  if (tells_range(variable, block)) {
    add_range(characteristics, variable.type, block, Form::bp4);
  } else if (is_local_value(block.at)) {
    add_value(characteristics, variable.type, block);
  }
  add_operation(characteristics, variable.type, block);
  characteristics.end(variable.name);
  // The end tag is padded so that the payload is aligned.
  const Offset tagged = here() + 5;
  const auto pad = static_cast<std::size_t>(round_up(tagged, payload_alignment) - tagged);
  put(own_, static_cast<std::uint8_t>(pad + 4));
  own_.resize(own_.size() + pad);
  put_raw(own_, "VMD]");
  places.payload = here();
  std::uint64_t length = own_.size() - length_at + payload.size();
  if (is_text) {
    put(own_, static_cast<std::uint16_t>(payload.size()));
    put_bytes(own_, payload);
    length += sizeof(std::uint16_t);
  } else {
    add_payload(payload);
  }
  put_at(own_, length_at, length);
  ++variables_;
  return places;
}

void GroupImage::end_variables() {
  if (attributes_at_ != 0) return;
  put_at(own_, variables_at_, variables_);
  put_at(own_, variables_at_ + 4, static_cast<std::uint64_t>(here() - variables_from_));
  attributes_at_ = own_.size();
  put(own_, std::uint32_t{0});
  put(own_, std::uint64_t{0});
}

void GroupImage::add(const Attribute& attribute, std::uint32_t member) {
  end_variables();
  put_raw(own_, "[AMD");
  const std::size_t length_at = own_.size();
  put(own_, std::uint32_t{0});
  put(own_, member);
  put_text(own_, attribute.name);
  put_text(own_, "");  // path
  put(own_, 'n');
  put(own_, static_cast<std::uint8_t>(attribute.type));
  // Unlike in md.0, lengths have 32 bits, and elements of a list end with a zero.
  if (attribute.type == Type::string) {
    put(own_, static_cast<std::uint32_t>(attribute.texts[0].size()));
    put_raw(own_, attribute.texts[0]);
  } else if (attribute.type == Type::string_array) {
    put(own_, static_cast<std::uint32_t>(attribute.texts.size()));
    for (const std::string& text : attribute.texts) {
      put(own_, static_cast<std::uint32_t>(text.size() + 1));
      put_raw(own_, text);
      put(own_, '\0');
    }
  } else {
    put(own_, static_cast<std::uint32_t>(attribute.values.size()));
    put_bytes(own_, attribute.values);
  }
  put_raw(own_, "AMD]");
  put_at(own_, length_at,
         checked_length(static_cast<Count>(own_.size() - length_at), attribute.name));
  ++attributes_;
}

void GroupImage::finish(Count alignment) {
  end_variables();
  put_at(own_, attributes_at_, attributes_);
  put_at(own_, attributes_at_ + 4, static_cast<std::uint64_t>(own_.size() - attributes_at_ - 4));
  put_raw(own_, "PGI]");
  put_at(own_, 4, static_cast<std::uint64_t>(here() - 4));
  if (Count gap = gap_before_group(here(), alignment); gap > 0) {
    gap -= least_filler;
    put_filler_front(own_, gap, step_);
    while (gap > 0) {
      const auto some = zeros(gap);
      add_payload(some);
      gap -= static_cast<Count>(some.size());
    }
    put_raw(own_, filler_end);
  }
  bytes_ = here();
}

std::vector<std::span<const std::byte>> GroupImage::pieces() const {
  std::vector<std::span<const std::byte>> all;
  all.reserve(2 * pieces_.size() + 1);
  const auto own = std::span<const std::byte>(own_);
  std::size_t done = 0;
  for (const Piece& piece : pieces_) {
    if (piece.own_end > done) all.push_back(own.subspan(done, piece.own_end - done));
    all.push_back(piece.payload);
    done = piece.own_end;
  }
  if (done < own.size()) all.push_back(own.subspan(done));
  return all;
}

void append_filler(Bytes& out, Count bytes, std::uint32_t step) {
  put_filler_front(out, bytes - least_filler, step);
  out.resize(out.size() + static_cast<std::size_t>(bytes - least_filler));
  put_raw(out, filler_end);
}

Count gap_before_group(Offset end, Count alignment) {
  Count gap = round_up(end, alignment) - end;
  while (gap > 0 && gap < least_filler) gap += alignment;
  return gap;
}

// ---- md.0

void append_groups_head(Bytes& out, std::uint64_t groups, Count bytes) {
  put(out, groups);
  put(out, static_cast<std::uint64_t>(bytes));
}

void append_elements_head(Bytes& out, std::uint32_t elements, Count bytes) {
  put(out, elements);
  put(out, static_cast<std::uint64_t>(bytes));
}

Count group_entry_bytes(std::string_view name, std::uint32_t step) {
  return static_cast<Count>(2 + 2 + name.size() + 1 + 4 + 2 + std::to_string(step).size() + 4 + 8);
}

void append_group(Bytes& out, const Group& group) {
  put(out, static_cast<std::uint16_t>(group_entry_bytes(group.name, group.step) - 2));
  put_text(out, group.name);
  put(out, group.column_major ? 'y' : 'n');
  put(out, group.rank);
  put_text(out, std::to_string(group.step));
  put(out, group.step);
  put(out, static_cast<std::uint64_t>(group.place));
}

void append_variable_head(Bytes& out, const Variable& variable, std::uint32_t member,
                          std::uint64_t blocks, Count bytes, Form form) {
  put(out, checked_length(variable_head_bytes(variable.name) - 4 + bytes, variable.name));
  put(out, member);
  put_text(out, "");  // group
  put_text(out, variable.name);
  if (form == Form::bp4) {
    put(out, 'K');
    put(out, std::uint8_t{0});
  } else {
    put_text(out, "");  // path
  }
  put(out, static_cast<std::uint8_t>(variable.type));
  put(out, blocks);
}

void append_block(Bytes& out, const Variable& variable, const Block& block, Form form) {
  Characteristics characteristics(out);
  characteristics.add(Characteristic::time_index, block.step);
  characteristics.add(Characteristic::file_index, block.file);
  put_dimensions(characteristics.begin(Characteristic::dimensions), block.at, false);
  if (block.has_value) {
    add_value(characteristics, variable.type, block);
  } else if (tells_range(variable, block)) {
    add_range(characteristics, variable.type, block, form);
  }
  add_operation(characteristics, variable.type, block);
  characteristics.add(Characteristic::offset, block.place);
  // ADIOS 1 expects the place of a text's characters, not of its length.
  const bool is_text = variable.type == Type::string && !is_local_value(block.at);
  const Offset ahead = form == Form::bp3 && is_text ? sizeof(std::uint16_t) : 0;
  characteristics.add(Characteristic::payload_offset, block.payload + ahead);
  characteristics.end(variable.name);
}

void move_entry(std::span<std::byte> entry, Offset by) {
  for (const std::size_t from_end : {std::size_t{17}, std::size_t{8}}) {
    std::byte* const at = entry.data() + (entry.size() - from_end);
    Offset place;
    std::memcpy(&place, at, sizeof place);
    place += by;
    std::memcpy(at, &place, sizeof place);
  }
}

void append_attribute(Bytes& out, const Attribute& attribute, std::uint32_t member,
                      std::uint32_t step, std::uint32_t file) {
  const std::size_t length_at = out.size();
  put(out, std::uint32_t{0});
  put(out, member);
  put_text(out, "");  // group
  put_text(out, attribute.name);
  put_text(out, "");  // path
  put(out, static_cast<std::uint8_t>(attribute.type));
  put(out, std::uint64_t{1});
  Characteristics characteristics(out);
  characteristics.add(Characteristic::time_index, step);
  characteristics.add(Characteristic::file_index, file);
  put_dimensions(characteristics.begin(Characteristic::dimensions),
                 {{}, {}, {elements_of(attribute)}}, false);
  characteristics.begin(Characteristic::value);
  for (const std::string& text : attribute.texts) put_text(out, text);
  put_bytes(out, attribute.values);
  characteristics.add(Characteristic::offset, Offset{0});  // no reader uses it
  characteristics.add(Characteristic::payload_offset, Offset{0});
  characteristics.end(attribute.name);
  put_at(out, length_at,
         checked_length(static_cast<Count>(out.size() - length_at - 4), attribute.name));
}

// ---- BP3

std::array<std::byte, whole_footer_bytes> print_footer(const StepRecord& index) {
  constexpr std::size_t digits_at = 24, places_at = 28, order_at = 52, flags_at = 54;
  std::array<std::byte, whole_footer_bytes> footer{};
  std::memcpy(footer.data(), own_footer_tag.data(), own_footer_tag.size());
  std::memcpy(footer.data() + digits_at, version_digits.data(), version_digits.size());
  const std::array<Offset, 3> places{index.groups, index.variables, index.attributes};
  std::memcpy(footer.data() + places_at, places.data(), sizeof places);
  footer[order_at] = std::byte{std::endian::native == std::endian::big};
  footer[flags_at] = std::byte{0};      // no subfiles
  footer[flags_at + 1] = std::byte{3};  // the version of the format
  return footer;
}

}  // namespace forebay::bp
