#include "groups/api/groups_fortran.h"

#include <algorithm>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "array/group_type.h"
#include "base/error.h"
#include "base/last_message.h"

namespace forebay::groups {
namespace {

using Numbers = std::vector<std::int64_t>;

// What a file, or the group of a file being written, says of a variable.
struct KnownFile {
  GroupType type = GroupType::int32;
  int dimensions = 0;
};

// Returns 0 or the error code.
int inquire(int file, const char* name, KnownFile& known) {
  const char* type = nullptr;
  const int code = forebay_inq_var(file, name, &type, &known.dimensions);
  if (code == 0) known.type = group_type(type).value();
  return code;
}

struct List {
  const char* what;
  int size;
};

void require_dimensions(const char* name, const KnownFile& known,
                        std::initializer_list<List> lists) {
  for (const List& list : lists) {
    if (list.size == known.dimensions) continue;
    throw Error(Errc::einval,
                std::string("variable ") + name + " has " + std::to_string(known.dimensions) +
                    " dimensions, " + list.what + " has " + std::to_string(list.size) + " elements",
                "give one for each dimension");
  }
}

// Converts between the two languages' orders.
Numbers turned(const std::int64_t* list, int size) {
  Numbers other(list, list + size);
  std::ranges::reverse(other);
  return other;
}

void refuse_string(const char* name, const KnownFile& known, const char* advice) {
  if (known.type == GroupType::string)
    throw Error(Errc::ebadtype, std::string("variable ") + name + " is a string", advice);
}

// The compiler would make a copy, which is gone when the call returns.
void refuse_parts(const char* name, const char* advice) {
  throw Error(Errc::einval,
              std::string("variable ") + name + ": what is lent is no contiguous array", advice);
}

// Character elements may have any length, which is not known here.
void require_room(const char* name, const KnownFile& known, std::span<const std::int64_t> count,
                  std::int64_t elements) {
  refuse_string(name, known, "read it with forebay_read_string");
  if (elements < 0 || known.type == GroupType::text) return;
  std::int64_t needed = 1;
  for (const std::int64_t n : count)
    if (n < 0 || __builtin_mul_overflow(needed, n, &needed)) return;  // reading refuses it
  if (needed <= elements) return;
  throw Error(Errc::einval,
              std::string("variable ") + name + ": " + std::to_string(needed) +
                  " elements do not go into an array of " + std::to_string(elements),
              "give a larger array, or ask for fewer");
}

}  // namespace
}  // namespace forebay::groups

using namespace forebay;          // NOLINT(google-build-using-namespace)
using namespace forebay::groups;  // NOLINT(google-build-using-namespace)

int forebay_f_init(const char* xml, MPI_Fint comm) { return forebay_init(xml, MPI_Comm_f2c(comm)); }

int forebay_f_open(int* file, const char* group, const char* path, const char* mode,
                   MPI_Fint comm) {
  return forebay_open(file, group, path, mode, MPI_Comm_f2c(comm));
}

int forebay_f_write(int file, const char* name, int lent, int contiguous, const void* data) {
  KnownFile known;
  if (const int code = inquire(file, name, known)) return code;
  const int code = guard([&] {
    refuse_string(name, known, "write it with forebay_write_string");
    if (lent && !contiguous) refuse_parts(name, "give it to forebay_write, which copies it");
  });
  if (code != 0) return code;
  return lent ? forebay_write_later(file, name, data) : forebay_write(file, name, data);
}

int forebay_f_write_string(int file, const char* name, const char* text) {
  KnownFile known;
  if (const int code = inquire(file, name, known)) return code;
  const int code = guard([&] {
    if (known.type != GroupType::string)
      throw Error(Errc::ebadtype, std::string("variable ") + name + " is no string",
                  "write it with forebay_write");
  });
  return code ? code : forebay_write(file, name, text);
}

int forebay_f_write_box(int file, const char* name, const int* sizes, const int64_t* shape,
                        const int64_t* start, const int64_t* count, const void* data) {
  KnownFile known;
  if (const int code = inquire(file, name, known)) return code;
  const int code = guard([&] {
    require_dimensions(name, known, {{"count", sizes[2]}});
    if (shape) require_dimensions(name, known, {{"shape", sizes[0]}, {"start", sizes[1]}});
  });
  return code ? code : forebay_write_box(file, name, shape, start, count, data);
}

int forebay_f_inq_shape(int file, const char* name, int64_t step, int size, int64_t* shape,
                        int64_t* bytes) {
  KnownFile known;
  if (const int code = inquire(file, name, known)) return code;
  int code = guard([&] { require_dimensions(name, known, {{"shape", size}}); });
  if (code == 0) code = forebay_inq_shape(file, name, step, shape, bytes);
  if (code == 0) std::reverse(shape, shape + size);
  return code;
}

int forebay_f_inq_block(int file, const char* name, int64_t step, int64_t block, const int* sizes,
                        int64_t* start, int64_t* count) {
  KnownFile known;
  if (const int code = inquire(file, name, known)) return code;
  int code = guard([&] {
    require_dimensions(name, known, {{"start", sizes[0]}, {"count", sizes[1]}});
  });
  if (code == 0) code = forebay_inq_block(file, name, step, block, start, count);
  if (code != 0) return code;
  std::reverse(start, start + sizes[0]);
  std::reverse(count, count + sizes[1]);
  return 0;
}

int forebay_f_read(int file, const char* name, int64_t step, const int* sizes, const int64_t* start,
                   const int64_t* count, int64_t elements, void* data, int later, int contiguous) {
  KnownFile known;
  if (const int code = inquire(file, name, known)) return code;
  Numbers from, n;
  int code = guard([&] {
    if (later && !contiguous) refuse_parts(name, "read into it with forebay_read");
    n.resize(static_cast<std::size_t>(known.dimensions));
    if (!sizes) return;
    require_dimensions(name, known, {{"start", sizes[0]}, {"count", sizes[1]}});
    from = turned(start, sizes[0]);
    n = turned(count, sizes[1]);
  });
  if (code == 0 && !sizes) code = forebay_inq_shape(file, name, step, n.data(), nullptr);
  if (code == 0) code = guard([&] { require_room(name, known, n, elements); });
  if (code != 0) return code;
  const auto read = later ? forebay_read_later : forebay_read;
  return read(file, name, step, sizes ? from.data() : nullptr, sizes ? n.data() : nullptr, data);
}

int forebay_f_read_block(int file, const char* name, int64_t step, int64_t block, int64_t elements,
                         void* data) {
  KnownFile known;
  if (const int code = inquire(file, name, known)) return code;
  Numbers count;
  int code = guard([&] { count.resize(static_cast<std::size_t>(known.dimensions)); });
  if (code == 0) code = forebay_inq_block(file, name, step, block, nullptr, count.data());
  if (code == 0) code = guard([&] { require_room(name, known, count, elements); });
  return code ? code : forebay_read_block(file, name, step, block, data);
}

int forebay_f_read_string(int file, const char* name, int64_t step, int64_t size, char* text) {
  KnownFile known;
  if (const int code = inquire(file, name, known)) return code;
  std::int64_t bytes = 0;
  if (const int code = forebay_inq_shape(file, name, step, nullptr, &bytes)) return code;
  const bool is_string = known.type == GroupType::string;
  std::string read;
  const int code = guard([&] {
    if (!is_string && known.type != GroupType::text)
      throw Error(Errc::ebadtype, std::string("variable ") + name + " has no text",
                  "read it with forebay_read");
    if (bytes - is_string > size)
      throw Error(Errc::einval,
                  std::string("variable ") + name + ": a text of " +
                      std::to_string(bytes - is_string) + " characters does not go into " +
                      std::to_string(size),
                  "give a longer one");
    read.resize(static_cast<std::size_t>(bytes));
  });
  if (code != 0) return code;
  if (const int failed = forebay_read(file, name, step, nullptr, nullptr, read.data()))
    return failed;
  if (is_string) read.pop_back();
  std::fill_n(std::copy(read.begin(), read.end(), text), size - std::ssize(read), ' ');
  return 0;
}
