#include "support.h"

#include "base/error.h"

namespace forebay::python {

Buffer::Buffer(nb::handle object, bool writable) {
  const int flags = PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object.ptr(), &view_, flags) != 0) throw nb::python_error();
}

Buffer::~Buffer() { PyBuffer_Release(&view_); }

nb::object to_text(std::string_view bytes) {
  return nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()),
                                        "backslashreplace"));
}

Subarray to_subarray(std::vector<Count> start, std::vector<Count> count,
                     std::vector<Count> stride) {
  return {std::move(start), std::move(count), std::move(stride)};
}

void check_size(const Variable& var, Count elements, int width, std::size_t bytes) {
  Count wanted = 0;
  if (elements >= 0 && multiply_fits(elements, width, wanted) && std::cmp_equal(wanted, bytes))
    return;
  throw Error(Errc::einval, "variable " + var.name + ": memory of " + std::to_string(bytes) +
                                " bytes was given for " + std::to_string(elements) +
                                " elements of " + std::to_string(width) + " bytes");
}

void ChunkRows::add(const ChunkPlace& chunk) {
  rows_.insert(rows_.end(), chunk.at.begin(), chunk.at.end());
  const Count file = chunk.file ? static_cast<Count>(*chunk.file) : -1;
  rows_.insert(rows_.end(), {chunk.bytes, chunk.place.value_or(-1), chunk.filtered ? 1 : 0, file});
}

nb::tuple describe(const Variable& var) {
  nb::list dims;
  for (const DimId id : var.dimids) dims.append(id);
  nb::object shape = nb::none(), codec = nb::none();
  if (var.chunking) {
    nb::list lengths;
    for (const Count length : var.chunking->shape) lengths.append(length);
    shape = nb::tuple(lengths);
    codec = to_text(var.chunking->codec);
  }
  return nb::make_tuple(to_text(var.name), static_cast<int>(var.type), nb::tuple(dims), shape,
                        codec);
}

nb::tuple describe(const Schema& schema) {
  nb::list dims, vars;
  for (const Dimension& dim : schema.dims) {
    const Count length = dim.is_record() ? schema.numrecs : dim.length;
    dims.append(nb::make_tuple(to_text(dim.name), length, dim.is_record()));
  }
  for (const Variable& var : schema.vars) vars.append(describe(var));
  return nb::make_tuple(schema.version, schema.numrecs, dims, vars);
}

namespace {

// Old files have texts in Latin-1: what is not UTF-8 is taken for that.
nb::object attribute_text(const Attribute& attribute) {
  const std::string_view text = text_of(attribute);
  const auto size = static_cast<Py_ssize_t>(text.size());
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), size, "strict");
  if (decoded == nullptr) {
    PyErr_Clear();
    decoded = PyUnicode_DecodeLatin1(text.data(), size, nullptr);
  }
  return nb::steal(decoded);
}

}  // namespace

nb::list describe_attributes(const Schema& schema, VarId owner) {
  if (owner != global_id && (owner < 0 || std::cmp_greater_equal(owner, schema.vars.size())))
    throw Error(Errc::enotvar, "there is no variable " + std::to_string(owner));
  return describe_attributes(schema.attributes_of(owner));
}

nb::list describe_attributes(const AttributeList& attributes) {
  nb::list list;
  for (const Attribute& a : attributes) {
    const nb::object value = a.type == Type::chr
                                 ? attribute_text(a)
                                 : nb::object(nb::bytes(a.value.data(), a.value.size()));
    list.append(nb::make_tuple(to_text(a.name), static_cast<int>(a.type), value));
  }
  return list;
}

}  // namespace forebay::python
