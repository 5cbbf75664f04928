#include "netcdf4/format/packed_structure.h"

#include <cstring>
#include <string>
#include <type_traits>

#include "base/error.h"

namespace forebay::netcdf4 {

namespace {

class Packer {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    add(std::as_bytes(std::span(&value, 1)));
  }
  template <typename List>
  void put_list(const List& list) {
    put(static_cast<std::uint64_t>(list.size()));
    add(std::as_bytes(std::span(list)));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void add(std::span<const std::byte> more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
  }
  std::vector<std::byte> bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : left_(bytes) {}
  template <typename T>
  T get() {
    T value;
    std::memcpy(static_cast<void*>(&value), take(sizeof value).data(), sizeof value);
    return value;
  }
  template <typename List>
  List get_list() {
    List list;
    const auto count = get<std::uint64_t>();
    const auto bytes = take(count * sizeof(typename List::value_type));
    list.resize(count);
    if (count > 0) std::memcpy(static_cast<void*>(list.data()), bytes.data(), bytes.size());
    return list;
  }
  std::string text() { return get_list<std::string>(); }

 private:
  std::span<const std::byte> take(std::size_t n) {
    if (n > left_.size()) throw Error(Errc::einternal, "a packed structure is too short");
    const auto its = left_.first(n);
    left_ = left_.subspan(n);
    return its;
  }
  std::span<const std::byte> left_;
};

void put_attributes(Packer& to, const AttributeList& list) {
  to.put(list.size());
  for (const Attribute& attribute : list) {
    to.put_list(attribute.name);
    to.put(attribute.type);
    to.put(attribute.count);
    to.put_list(attribute.value);
  }
}

void get_attributes(Unpacker& from, AttributeList& list) {
  const auto count = from.get<int>();
  for (int i = 0; i < count; ++i) {
    Attribute attribute;
    attribute.name = from.text();
    attribute.type = from.get<Type>();
    attribute.count = from.get<Count>();
    attribute.value = from.get_list<std::vector<std::byte>>();
    list.append(std::move(attribute));
  }
}

void put_forms(Packer& to, const std::vector<AttributeForm>& forms) {
  to.put(forms.size());
  for (const AttributeForm& form : forms) {
    to.put_list(form.name);
    to.put(form.variable_length);
    to.put(form.utf8);
    to.put(form.scalar);
    to.put(form.padding);
  }
}

std::vector<AttributeForm> get_forms(Unpacker& from) {
  std::vector<AttributeForm> forms(from.get<std::size_t>());
  for (AttributeForm& form : forms) {
    form.name = from.text();
    form.variable_length = from.get<bool>();
    form.utf8 = from.get<bool>();
    form.scalar = from.get<bool>();
    form.padding = from.get<int>();
  }
  return forms;
}

void put_schema(Packer& to, const Schema& schema) {
  to.put(schema.version);
  to.put(schema.numrecs);
  to.put(schema.dims.size());
  for (const Dimension& dim : schema.dims) {
    to.put_list(dim.name);
    to.put(dim.length);
  }
  put_attributes(to, schema.attributes);
  to.put(schema.vars.size());
  for (const Variable& var : schema.vars) {
    to.put_list(var.name);
    to.put(var.type);
    to.put_list(var.dimids);
    put_attributes(to, var.attributes);
    to.put(var.no_fill);
    to.put(var.chunking.has_value());
    if (!var.chunking) continue;
    to.put_list(var.chunking->shape);
    to.put_list(var.chunking->codec);
    to.put_list(var.chunking->reason);
  }
}

Schema get_schema(Unpacker& from) {
  Schema schema;
  schema.version = from.get<int>();
  schema.numrecs = from.get<Count>();
  for (auto dims = from.get<std::size_t>(); dims > 0; --dims) {
    std::string name = from.text();
    schema.add_dim({std::move(name), from.get<Count>()});
  }
  get_attributes(from, schema.attributes);
  for (auto vars = from.get<std::size_t>(); vars > 0; --vars) {
    Variable var;
    var.name = from.text();
    var.type = from.get<Type>();
    var.dimids = from.get_list<std::vector<DimId>>();
    get_attributes(from, var.attributes);
    var.no_fill = from.get<bool>();
    if (from.get<bool>()) {
      Chunking& chunking = var.chunking.emplace();
      chunking.shape = from.get_list<std::vector<Count>>();
      chunking.codec = from.text();
      chunking.reason = from.text();
    }
    schema.add_var(std::move(var));
  }
  return schema;
}

}  // namespace

std::vector<std::byte> print_schema(const Schema& schema) {
  Packer to;
  put_schema(to, schema);
  return to.take();
}

Schema parse_schema(std::span<const std::byte> bytes) {
  Unpacker from(bytes);
  return get_schema(from);
}

std::vector<std::byte> print_structure(const ReadStructure& structure) {
  Packer to;
  put_schema(to, structure.schema);
  to.put(structure.classic_model);
  to.put(structure.file_size);
  for (const StoredVariable& stored : structure.stored) {
    to.put(stored.way);
    to.put(stored.little_endian);
    to.put(stored.place);
    to.put_list(stored.chunk);
    to.put(stored.filters.size());
    for (const Filter& filter : stored.filters) {
      to.put(filter.id);
      to.put_list(filter.values);
    }
    to.put_list(stored.fill);
    to.put_list(stored.path);
    to.put_list(stored.why);
    to.put(stored.never_filled);
    put_forms(to, stored.attributes);
  }
  for (const auto& chunks : structure.chunks) to.put_list(chunks);
  put_forms(to, structure.attributes);
  for (const auto* sentences : {&structure.left_out, &structure.not_kept}) {
    to.put(sentences->size());
    for (const std::string& sentence : *sentences) to.put_list(sentence);
  }
  return to.take();
}

ReadStructure parse_structure(std::span<const std::byte> bytes) {
  Unpacker from(bytes);
  ReadStructure structure;
  structure.schema = get_schema(from);
  structure.classic_model = from.get<bool>();
  structure.file_size = from.get<Offset>();
  structure.stored.resize(structure.schema.vars.size());
  for (StoredVariable& stored : structure.stored) {
    stored.way = from.get<StoredVariable::Way>();
    stored.little_endian = from.get<bool>();
    stored.place = from.get<Offset>();
    stored.chunk = from.get_list<std::vector<Count>>();
    stored.filters.resize(from.get<std::size_t>());
    for (Filter& filter : stored.filters) {
      filter.id = from.get<std::uint32_t>();
      filter.values = from.get_list<std::vector<std::uint32_t>>();
    }
    stored.fill = from.get_list<std::vector<std::byte>>();
    stored.path = from.text();
    stored.why = from.text();
    stored.never_filled = from.get<bool>();
    stored.attributes = get_forms(from);
  }
  for (std::size_t v = 0; v < structure.schema.vars.size(); ++v)
    structure.chunks.push_back(from.get_list<std::vector<ChunkPlace>>());
  structure.attributes = get_forms(from);
  for (auto* sentences : {&structure.left_out, &structure.not_kept}) {
    sentences->resize(from.get<std::size_t>());
    for (std::string& sentence : *sentences) sentence = from.text();
  }
  return structure;
}

}  // namespace forebay::netcdf4
