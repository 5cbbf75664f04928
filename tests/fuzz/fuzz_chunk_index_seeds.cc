// Writes what fuzzing of the chunk index begins with: fuzz_chunk_index_seeds DIRECTORY
#include <string>
#include <vector>

#include "format/chunk_index.h"
#include "format/chunk_schema.h"
#include "format/classic_header.h"
#include "plan/classic_placement.h"
#include "seeds.h"

namespace {

namespace chunked = forebay::chunked;
using Bytes = std::vector<std::byte>;

Bytes directory() {
  chunked::Directory made;
  made.end = 100'000;
  made.numrecs = 3;
  for (const forebay::VarId var : {0, 2}) {
    chunked::Directory::Item item;
    item.var = var;
    item.type = forebay::Type::float32;
    item.lengths = {0, 30, 40};
    item.codec = "shuffle,zstd:3";
    item.shape = {1, 15, 40};
    item.reason = "blocks of ranks";
    item.pages = {{512, 64, 1}, {}, {1024, 96, 2}};
    made.items.push_back(std::move(item));
  }
  return chunked::print_directory(made);
}

Bytes page(forebay::Count used) {
  chunked::Page made;
  for (forebay::Count i = 0; i < used; i += 2) {
    made.entries.emplace_back();
    chunked::Entry& e = made.entries.back();
    e.offset = 512 * i;
    e.bytes = 100 + i;
    e.skipped = static_cast<std::uint32_t>(i % 4);
  }
  return chunked::print_page(made);
}

Bytes root(std::uint32_t generation) {
  chunked::Root made;
  made.generation = generation;
  made.synced = generation % 2 == 0;
  made.shift = 4096;
  made.directory = {8192, 300, 7};
  return chunked::print_root(made);
}

Bytes root_with_journal() {
  chunked::Root made;
  made.generation = 3;
  made.directory = {8192, 300, 7};
  made.journal = {9000, 200, 8};
  return chunked::print_root(made);
}

Bytes journal() {
  Bytes bytes;
  for (forebay::Count n = 0; n < 2; ++n) {
    chunked::Journal record;
    record.end = 100'000 + n;
    record.numrecs = n;
    chunked::Directory::Item item;
    item.var = 2;
    item.lengths = {40};
    item.shape = {20};
    record.items.push_back(item);
    record.changes.push_back({2, 600 * n, {8 * n, 80, 1, 0, 0}});
    const auto printed = chunked::print_journal(record);
    bytes.insert(bytes.end(), printed.begin(), printed.end());
  }
  return bytes;
}

Bytes header(int version, bool chosen) {
  forebay::Schema schema;
  schema.version = version;
  schema.numrecs = 3;
  schema.add_dim({"t", 0});
  schema.add_dim({"x", 40});
  forebay::Variable var;
  var.name = "T";
  var.type = forebay::Type::float32;
  var.dimids = {0, 1};
  var.chunking = forebay::Chunking{{}, "zstd:3", ""};
  if (chosen) var.chunking->shape = {1, 20};
  schema.add_var(var);
  var.name = "m";
  var.dimids = {1};
  var.chunking.reset();
  schema.add_var(var);
  forebay::Schema stored = chunked::to_stored(schema, 8192);
  forebay::place_variables(stored, nullptr, {}, forebay::classic::header_size(stored));
  Bytes bytes = forebay::classic::print(stored);
  bytes.resize(bytes.size() + 4096);  // the parser wants the rest of the file to be there
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  Seeds seeds(argc, argv);
  seeds.save("directory", {0}, directory());
  seeds.save("page-4", {1}, page(4));
  seeds.save("page-512", {1}, page(512));
  seeds.save("root-1", {2}, root(1));
  seeds.save("root-2", {2}, root(2));
  seeds.save("header-1", {3}, header(1, false));
  seeds.save("header-5", {3}, header(5, true));
  seeds.save("root-3", {2}, root_with_journal());
  seeds.save("journal", {4}, journal());
  return seeds.status();
}
