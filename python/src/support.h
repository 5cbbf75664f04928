// What the bindings share: buffers of Python objects, text, schemas as Python sees them, errors.
//
// The extension is thin: it passes numbers, names and buffers, and releases the interpreter's lock
// while it reads or writes. Indexing, shapes and types of NumPy are the package's own (Python).
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/schema.h"
#include "array/selection.h"
#include "base/error.h"
#include "base/types.h"
#include "layout/chunked/file_chunks.h"

namespace forebay::python {

namespace nb = nanobind;

/// A view of a Python object's memory, C-contiguous. Made and destroyed with the interpreter's
/// lock; the bytes may be used without it. Throws Python's own error for objects without such
/// memory.
class Buffer {
 public:
  Buffer(nb::handle object, bool writable);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  std::span<std::byte> bytes() const {
    return {static_cast<std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

/// A name for people and for dictionaries. Bytes that are not UTF-8 show as \xNN.
nb::object to_text(std::string_view bytes);

/// A selection as Python gives it. `stride` empty: neighbours.
Subarray to_subarray(std::vector<Count> start, std::vector<Count> count, std::vector<Count> stride);

/// Errc::einval unless a buffer has just the bytes of `elements` elements.
void check_size(const Variable& var, Count elements, int width, std::size_t bytes);

/// (version, number of records, [(dimension, length, unlimited)], [variable]), where a variable is
/// (name, type, [dimension], chunk shape or None, codec or None), a dimension there its position.
nb::tuple describe(const Schema& schema);

/// One variable of describe().
nb::tuple describe(const Variable& var);

/// [(name, type, value)] of a variable or of global_id; text as str, numbers as big-endian bytes.
/// Errc::enotvar for an owner that is not there.
nb::list describe_attributes(const Schema& schema, VarId owner);
/// The same of a list.
nb::list describe_attributes(const AttributeList& attributes);

/// The chunks of a variable that are in the file, as 64-bit numbers, a row for each: its place in
/// the grid of chunks, its bytes, its place in the file (-1: not known), and whether all filters
/// were used.
class ChunkRows {
 public:
  void add(const ChunkPlace& chunk);
  nb::bytes rows() const { return nb::bytes(rows_.data(), rows_.size() * sizeof rows_[0]); }

 private:
  std::vector<std::int64_t> rows_;
};

/// What a damaged header is refused for (a type, a name, a size) is the file's fault when it is
/// opened, not the caller's: it becomes Errc::enotnc.
Error damage_of(const Error& error);

/// Python's __init__(path) of a class that opens a file, without the interpreter's lock.
template <typename Reader>
void construct(Reader* self, const nb::bytes& path) {
  const std::string name(path.c_str(), path.size());
  const nb::gil_scoped_release unlocked;
  try {
    new (self) Reader(name);
  } catch (const Error& error) {
    throw damage_of(error);
  }
}

/// Makes every forebay::Error that leaves the extension the exception that forebay._errors has for
/// its kind.
void register_errors();

void bind_reader(nb::module_& module);
void bind_writer(nb::module_& module);
void bind_checkpoints(nb::module_& module);
void bind_groups(nb::module_& module);
void bind_staged(nb::module_& module);

}  // namespace forebay::python
