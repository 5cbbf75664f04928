#include "format/classic_header.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "array/placement.h"
#include "base/attempt.h"
#include "base/byteorder.h"
#include "base/error.h"
#include "base/hdf5_signature.h"
#include "base/memory_at_hand.h"

namespace forebay::classic {
namespace {

constexpr std::uint32_t tag_dimensions = 10;
constexpr std::uint32_t tag_variables = 11;
constexpr std::uint32_t tag_attributes = 12;
constexpr Count max_name_bytes = 256;
constexpr Count max_list = std::numeric_limits<std::int32_t>::max();
constexpr Count max_uint32 = std::numeric_limits<std::uint32_t>::max();

// The widths in bytes of the two kinds of integer that depend on the version.
struct Widths {
  explicit Widths(int version) : count(version == 5 ? 8 : 4), offset(version == 1 ? 4 : 8) {}
  Count count;   // counts, lengths, vsize, numrecs
  Count offset;  // begin
};

constexpr Count padded(Count bytes) { return round_up(bytes, 4); }

// Reader throws it at the end of the given bytes if the file itself goes on.
struct NeedMoreBytes {};

// A cursor over the header. Every read is checked first against the file's size, then against the
// bytes at hand. So an impossible length fails at once, whatever was fetched.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, Offset file_size)
      : bytes_(bytes), file_size_(file_size) {}

  Offset position() const { return position_; }

  [[noreturn]] void fail(Errc code, const std::string& what) const {
    throw Error(code, "header damaged at byte " + std::to_string(position_) + ": " + what);
  }

  // Throws unless `count` items of at least `unit` bytes each can follow.
  void require(Count count, Count unit, const char* what) const {
    if (count <= (file_size_ - position_) / unit) return;
    fail(Errc::enotnc, "the file ends before its " + std::to_string(count) + " " + what);
  }

  std::span<const std::byte> take(Count bytes, const char* what) {
    require(bytes, 1, what);
    if (bytes > static_cast<Count>(bytes_.size()) - position_) throw NeedMoreBytes{};
    const auto taken =
        bytes_.subspan(static_cast<std::size_t>(position_), static_cast<std::size_t>(bytes));
    position_ += bytes;
    return taken;
  }

  std::uint32_t uint32() { return load_be<std::uint32_t>(take(4, "bytes of a number").data()); }

  // Reads an unsigned integer of 4 or 8 bytes. One of 8 bytes must fit in 63 bits.
  Count integer(Count width, const char* what) {
    if (width == 4) return uint32();
    const auto value = load_be<std::int64_t>(take(8, "bytes of a number").data());
    if (value < 0) fail(Errc::enotnc, std::string(what) + " is negative");
    return value;
  }

  // Old writers left the padding undefined, so any content is accepted.
  void skip_padding(Count bytes) { take(padded(bytes) - bytes, "padding bytes"); }

 private:
  std::span<const std::byte> bytes_;
  Offset file_size_;
  Offset position_ = 0;
};

class Parser {
 public:
  Parser(std::span<const std::byte> bytes, Offset file_size, int version)
      : in_(bytes, file_size), file_size_(file_size), width_(version) {
    schema_.version = version;
  }

  Schema parse() {
    in_.take(numrecs_offset, "magic bytes");
    const bool streaming = read_numrecs();
    read_dimensions();
    read_attributes(schema_.attributes);
    read_variables();
    schema_.header_size = in_.position();
    adopt_placement(schema_);
    if (streaming) schema_.numrecs = records_in_file(schema_, file_size_);
    return std::move(schema_);
  }

 private:
  // Returns true when numrecs is all ones, which leaves the number of records to the file's size.
  bool read_numrecs() {
    Count value = 0;
    if (width_.count == 4) {
      value = in_.uint32();
      if (value == max_uint32) return true;
    } else {
      value = load_be<std::int64_t>(in_.take(8, "bytes of a number").data());
      if (value == -1) return true;
    }
    if (value < 0) in_.fail(Errc::enotnc, "the number of records is negative");
    schema_.numrecs = value;
    return false;
  }

  // Reads the length of a list whose elements take at least `unit` bytes each. An absent list has
  // length 0. Its tag is not checked, as in all other readers.
  int read_list_head(std::uint32_t tag, Count unit, Errc too_many, const char* what) {
    const std::uint32_t found = in_.uint32();
    const Count count = in_.integer(width_.count, what);
    if (count == 0) return 0;
    if (count > max_list) in_.fail(too_many, "more than 2^31-1 " + std::string(what));
    if (found != tag) {
      in_.fail(Errc::enotnc, "the list of " + std::string(what) + " has tag " +
                                 std::to_string(found) + " instead of " + std::to_string(tag));
    }
    in_.require(count, unit, what);
    return static_cast<int>(count);
  }

  std::string read_name() {
    const Count length = in_.integer(width_.count, "the length of a name");
    if (length > max_name_bytes)
      in_.fail(Errc::emaxname, "a name of " + std::to_string(length) + " bytes");
    if (length == 0) in_.fail(Errc::ebadname, "an empty name");
    const auto bytes = in_.take(length, "bytes of a name");
    in_.skip_padding(length);
    std::string name(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (name.find('\0') != std::string::npos) in_.fail(Errc::ebadname, "a name with a NUL byte");
    return name;
  }

  Type read_type() {
    const std::uint32_t number = in_.uint32();
    const auto type = static_cast<Type>(number & 0xff);
    if (number > 0xff || !valid_in_version(type, schema_.version)) {
      in_.fail(Errc::ebadtype, "type " + std::to_string(number) + " does not exist in CDF-" +
                                   std::to_string(schema_.version));
    }
    return type;
  }

  void read_dimensions() {
    const Count smallest = width_.count + 4 + width_.count;
    const int count = read_list_head(tag_dimensions, smallest, Errc::emaxdims, "dimensions");
    bool have_record = false;
    for (int i = 0; i < count; ++i) {
      Dimension dim;
      dim.name = read_name();
      dim.length = in_.integer(width_.count, "the length of a dimension");
      if (dim.is_record()) {
        if (have_record) in_.fail(Errc::eunlimit, "a second record dimension, " + dim.name);
        have_record = true;
      }
      if (schema_.find_dim(dim.name)) in_.fail(Errc::enotnc, "two dimensions named " + dim.name);
      schema_.add_dim(std::move(dim));
    }
  }

  void read_attributes(AttributeList& list) {
    const Count smallest = width_.count + 4 + 4 + width_.count;
    const int count = read_list_head(tag_attributes, smallest, Errc::emaxatts, "attributes");
    for (int i = 0; i < count; ++i) list.append(read_attribute());
    reject_repeated_names(list);
  }

  Attribute read_attribute() {
    Attribute attribute;
    attribute.name = read_name();
    attribute.type = read_type();
    attribute.count = in_.integer(width_.count, "the length of an attribute");
    const Count unit = size_of(attribute.type);
    in_.require(attribute.count, unit, "elements of an attribute");
    const auto value = in_.take(attribute.count * unit, "bytes of an attribute");
    in_.skip_padding(attribute.count * unit);
    attribute.value.assign(value.begin(), value.end());
    return attribute;
  }

  void reject_repeated_names(const AttributeList& list) {
    std::unordered_set<std::string_view> names;
    for (const Attribute& attribute : list) {
      if (!names.insert(attribute.name).second)
        in_.fail(Errc::enotnc, "two attributes of one owner named " + attribute.name);
    }
  }

  void read_variables() {
    const Count smallest =
        width_.count + 4 + width_.count + (4 + width_.count) + 4 + width_.count + width_.offset;
    const int count = read_list_head(tag_variables, smallest, Errc::emaxvars, "variables");
    for (int i = 0; i < count; ++i) {
      Variable var = read_variable();
      if (schema_.find_var(var.name)) in_.fail(Errc::enotnc, "two variables named " + var.name);
      schema_.add_var(std::move(var));
    }
  }

  Variable read_variable() {
    Variable var;
    var.name = read_name();
    read_dimids(var);
    read_attributes(var.attributes);
    var.type = read_type();
    // The stored vsize is redundant, and wrong in many files. The shape gives the true size.
    in_.take(width_.count, "bytes of a size");
    var.begin = in_.integer(width_.offset, "the offset of a variable");
    return var;
  }

  void read_dimids(Variable& var) {
    const Count ndims = in_.integer(width_.count, "the number of a variable's dimensions");
    if (ndims > max_list) in_.fail(Errc::emaxdims, "more than 2^31-1 dimensions of one variable");
    in_.require(ndims, width_.count, "dimension ids");
    for (Count d = 0; d < ndims; ++d) {
      const Count id = in_.integer(width_.count, "a dimension id");
      if (id >= static_cast<Count>(schema_.dims.size())) {
        in_.fail(Errc::ebaddim, "variable " + var.name + " uses dimension " + std::to_string(id) +
                                    " of " + std::to_string(schema_.dims.size()));
      }
      if (d > 0 && schema_.dims[static_cast<std::size_t>(id)].is_record()) {
        in_.fail(Errc::eunlimpos,
                 "the record dimension of variable " + var.name + " is not its first");
      }
      var.dimids.push_back(static_cast<DimId>(id));
    }
  }

  Reader in_;
  Offset file_size_;
  Widths width_;
  Schema schema_;
};

Count attributes_bytes(const AttributeList& list, Widths width) {
  Count bytes = 4 + width.count;
  for (const Attribute& attribute : list) {
    bytes += width.count + padded(std::ssize(attribute.name)) + 4 + width.count +
             padded(std::ssize(attribute.value));
  }
  return bytes;
}

class Writer {
 public:
  Writer(Offset size, int version) : width_(version) {
    bytes_.reserve(static_cast<std::size_t>(size));
  }

  void uint32(std::uint32_t value) { append(value); }

  // Prints a count or length. `code`, `what` and `whose` are for the error if it does not fit.
  void count(Count value, Errc code, std::string_view what, std::string_view whose = {}) {
    integer(value, width_.count, code, what, whose);
  }

  void offset(Offset value, std::string_view what, std::string_view whose) {
    integer(value, width_.offset, Errc::evarsize, what, whose);
  }

  void text(std::string_view name) {
    count(std::ssize(name), Errc::emaxname, "length of a name");
    const auto* data = reinterpret_cast<const std::byte*>(name.data());
    bytes_.insert(bytes_.end(), data, data + name.size());
    pad();
  }

  void value(const std::vector<std::byte>& bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    pad();
  }

  void list_head(std::uint32_t tag, std::size_t length) {
    uint32(length == 0 ? 0 : tag);
    count(static_cast<Count>(length), Errc::eintoverflow, "length of a list");
  }

  std::vector<std::byte> finish() { return std::move(bytes_); }

 private:
  template <typename T>
  void append(T value) {
    std::array<std::byte, sizeof(T)> buffer;
    store_be(buffer.data(), value);
    bytes_.insert(bytes_.end(), buffer.begin(), buffer.end());
  }

  // The message is built only for an error, since a header has thousands of numbers.
  void integer(Count value, Count width, Errc code, std::string_view what, std::string_view whose) {
    if (value < 0 || (width == 4 && value > max_uint32)) {
      throw Error(code,
                  std::string(what) + std::string(whose) + " is " + std::to_string(value) +
                      ", which the header cannot hold",
                  "use a later version of the format: CDF-2 for offsets, CDF-5 for sizes");
    }
    if (width == 4) {
      append(static_cast<std::uint32_t>(value));
    } else {
      append(value);
    }
  }

  void pad() { bytes_.resize(static_cast<std::size_t>(padded(std::ssize(bytes_)))); }

  Widths width_;
  std::vector<std::byte> bytes_;
};

void print_attributes(Writer& out, const AttributeList& list) {
  out.list_head(tag_attributes, static_cast<std::size_t>(list.size()));
  for (const Attribute& attribute : list) {
    out.text(attribute.name);
    out.uint32(static_cast<std::uint32_t>(attribute.type));
    out.count(attribute.count, Errc::eintoverflow, "length of attribute ", attribute.name);
    out.value(attribute.value);
  }
}

void print_variable(Writer& out, const Variable& var, int version) {
  out.text(var.name);
  out.count(var.ndims(), Errc::eintoverflow, "number of dimensions");
  for (DimId id : var.dimids) out.count(id, Errc::ebaddim, "dimension id");
  print_attributes(out, var.attributes);
  out.uint32(static_cast<std::uint32_t>(var.type));
  out.count(version == 5 ? var.vsize : std::min(var.vsize, max_uint32), Errc::evarsize,
            "size of variable ", var.name);
  out.offset(var.begin, "offset of variable ", var.name);
}

}  // namespace

std::optional<int> detect(std::span<const std::byte> first_bytes) {
  const std::string_view text(reinterpret_cast<const char*>(first_bytes.data()),
                              first_bytes.size());
  if (text.starts_with(hdf5_signature)) return 3;
  if (text.size() < 4 || !text.starts_with("CDF")) return std::nullopt;
  const int version = static_cast<unsigned char>(text[3]);
  if (version == 1 || version == 2 || version == 5) return version;
  return std::nullopt;
}

std::optional<Schema> parse(std::span<const std::byte> bytes, Offset file_size) {
  if (std::ssize(bytes) < std::min<Offset>(file_size, 8)) return std::nullopt;
  const auto version = detect(bytes);
  if (version == 3) throw Error(Errc::enotbuilt, "a netCDF-4 (HDF5) file, not a classic one");
  if (!version) {
    throw Error(Errc::enotnc, "not a classic netCDF file: it does not begin with CDF and 1, 2 or 5",
                "check the path, and that the file was written completely");
  }
  try {
    return Parser(bytes, file_size, *version).parse();
  } catch (const NeedMoreBytes&) {
    return std::nullopt;
  }
}

Offset read_beginning(ByteFile& file, std::vector<std::byte>& bytes, Offset wanted) {
  const std::size_t have = bytes.size();
  const Offset size = file.size();
  constexpr Offset large = Offset{256} << 20;
  if (const Offset end = std::min(wanted, size); end > large) {
    // Holes of a damaged file may look like a header. A header is in memory several times: as read,
    // parsed, printed and compared.
    const auto left = memory_at_hand();
    if (left && static_cast<std::uint64_t>(end) > *left / 4)
      throw Error(Errc::enomem, "the header takes over " + std::to_string(*left / 4) +
                                    " bytes, a quarter of the memory that is left");
  }
  bytes.resize(static_cast<std::size_t>(std::min(wanted, size)));
  bytes.resize(have + file.read_at(static_cast<Offset>(have), std::span(bytes).subspan(have)));
  return size;
}

Schema read_header(const std::string& path, const ReadUpTo& read, Offset first) {
  std::vector<std::byte> bytes;
  for (Offset wanted = first;; wanted *= 2) {
    const std::size_t before = bytes.size();
    const Offset file_size = read(bytes, wanted);
    auto schema = naming(path, [&] { return parse(bytes, file_size); });
    if (schema) return std::move(*schema);
    if (bytes.size() == before)
      throw Error(Errc::enotnc, path + ": the file ends in its header", "it is truncated");
  }
}

Offset header_size(const Schema& schema) {
  const Widths width(schema.version);
  Offset size = 4 + width.count;
  size += 4 + width.count;
  for (const Dimension& dim : schema.dims)
    size += width.count + padded(std::ssize(dim.name)) + width.count;
  size += attributes_bytes(schema.attributes, width);
  size += 4 + width.count;
  for (const Variable& var : schema.vars) {
    size += width.count + padded(std::ssize(var.name));
    size += width.count + width.count * var.ndims();
    size += attributes_bytes(var.attributes, width);
    size += 4 + width.count + width.offset;
  }
  return size;
}

std::vector<std::byte> print(const Schema& schema) {
  Writer out(header_size(schema), schema.version);
  out.uint32(0x43444600u | static_cast<std::uint32_t>(schema.version));  // "CDF" and the version
  out.count(schema.numrecs, Errc::eintoverflow, "number of records");
  out.list_head(tag_dimensions, schema.dims.size());
  for (const Dimension& dim : schema.dims) {
    out.text(dim.name);
    out.count(dim.length, Errc::edimsize, "length of dimension ", dim.name);
  }
  print_attributes(out, schema.attributes);
  out.list_head(tag_variables, schema.vars.size());
  for (const Variable& var : schema.vars) print_variable(out, var, schema.version);
  return out.finish();
}

std::vector<std::byte> print_numrecs(const Schema& schema) {
  Writer out(8, schema.version);
  out.count(schema.numrecs, Errc::eintoverflow, "number of records");
  return out.finish();
}

}  // namespace forebay::classic
