// Reads and writes the header. Rank 0 accesses the file and broadcasts the bytes.
#include <algorithm>
#include <cstring>

#include "base/attempt.h"
#include "comm/agree.h"
#include "container/classic/classic.h"
#include "format/classic_header.h"

namespace forebay {

// Rank 0 reads and all ranks parse. An attempt costs at most two broadcasts, and each rank finds
// errors of the header by itself.
void ClassicContainer::read_header() {
  StepTimer timer(site_.report, Step::header);
  struct Chunk {
    std::int64_t bytes, file_size;
  } chunk{0, 0};
  const classic::ReadUpTo read = [&](std::vector<std::byte>& bytes, Offset wanted) {
    const std::size_t have = bytes.size();
    if (comm_.is_root()) {
      chunk.file_size = classic::read_beginning(file_, bytes, wanted);
      file_.settle_latency(0, std::ssize(bytes));
      chunk.bytes = static_cast<std::int64_t>(bytes.size());
    }
    comm_.broadcast(&chunk, sizeof chunk);
    bytes.resize(static_cast<std::size_t>(chunk.bytes));
    if (bytes.size() > have) comm_.broadcast(bytes.data() + have, bytes.size() - have);
    return chunk.file_size;
  };
  schema_ = classic::read_header(site_.path, read,
                                 std::max<Offset>(site_.method.header_read_chunk, 4096));
}

std::shared_ptr<const Decomposition> ClassicContainer::stored_decomposition(int id) {
  for (const Kept& kept : parts_)
    if (ApartPart* part = kept.part->apart())
      if (auto map = part->stored_decomposition(id)) return map;
  return nullptr;
}

void ClassicContainer::write_definitions() {
  write_definitions([] {}, nullptr);
}

void ClassicContainer::write_definitions(const std::function<void()>& beside, Schema* placed) {
  by_root(comm_, [&] {
    beside();
    write_header(placed);
  });
  definitions_wait_ = false;
  for (const Kept& kept : parts_)
    if (ApartPart* part = kept.part->apart()) part->header_written();
}

// All ranks wait for rank 0 here, so the copy that was made for placing is used again.
void ClassicContainer::write_header(Schema* placed) {
  StepTimer timer(site_.report, Step::header);
  const bool is_placed = placed && std::all_of(parts_.begin(), parts_.end(), [&](const Kept& kept) {
                           return kept.part->renew(*placed);
                         });
  if (is_placed) placed->numrecs = schema_.numrecs;
  auto bytes = is_placed ? classic::print(*placed) : print_header();
  // A header that shrank in data mode is padded, so that it overwrites its longer predecessor.
  bytes.resize(std::max(bytes.size(), static_cast<std::size_t>(schema_.header_size)));
  file_.write_at(0, bytes);
  file_.settle_latency(0, std::span<const std::byte>(bytes).first(4));
}

Schema ClassicContainer::stored(const Schema& schema) const {
  auto changed = changed_by_parts(schema);
  if (!changed) return schema;
  return std::move(*changed);
}

// Returns nothing instead of a copy, because copies of large headers take time.
std::optional<Schema> ClassicContainer::changed_by_parts(const Schema& schema) const {
  std::optional<Schema> stored;
  const auto pass_to = [&](const ClassicPart& part) {
    stored = part.stored(stored ? *stored : schema);
  };
  for (const Kept& kept : parts_) pass_to(*kept.part);
  // In define mode the program may have asked for a layout that has no part yet.
  for (const LayoutEntry* layout : part_layouts()) {
    const auto& asked = layout->in_classic.is_asked_for;
    if (asked && !has_part(*layout) && asked(schema)) pass_to(*make_part(*layout).part);
  }
  return stored;
}

std::vector<std::byte> ClassicContainer::print_header() const {
  const auto changed = changed_by_parts(schema_);
  return classic::print(changed ? *changed : schema_);
}

void ClassicContainer::write_numrecs() {
  const auto bytes = classic::print_numrecs(schema_);
  file_.write_at(classic::numrecs_offset, bytes);
}

Offset ClassicContainer::definitions_bytes() const {
  return static_cast<Offset>(print_header().size());
}

// Prints the header and two things that it does not contain: which variables are filled, and the
// decomposition map of each.
std::vector<std::byte> ClassicContainer::print() const {
  printed_ = changed_by_parts(schema_);
  auto printed = classic::print(printed_ ? *printed_ : schema_);
  for (const Variable& var : schema_.vars) printed.push_back(std::byte{var.no_fill});
  for (const Variable& var : schema_.vars) {
    const auto map = std::as_bytes(std::span(&var.decomposition, 1));
    printed.insert(printed.end(), map.begin(), map.end());
  }
  return printed;
}

namespace {

/// What the printed definitions do not contain: reserved space, and the alignments that hold until
/// close. The data of a part precede it. One byte for each layout follows it and says whether the
/// file has this layout as a part.
struct Unprinted {
  Offset extent, begin_rec;
  Count recsize;
  std::size_t of_part;  // bytes
  Alignment alignment;
};

}  // namespace

std::vector<std::byte> ClassicContainer::print_placed() const {
  auto printed = print();
  printed_.reset();
  const auto of_part = last_apart() ? last_apart()->placed() : std::vector<std::byte>();
  printed.insert(printed.end(), of_part.begin(), of_part.end());
  const Unprinted rest{schema_.header_extent, schema_.begin_rec, schema_.recsize, of_part.size(),
                       alignment_.value_or(Alignment{})};
  const auto bytes = std::as_bytes(std::span(&rest, 1));
  printed.insert(printed.end(), bytes.begin(), bytes.end());
  for (const LayoutEntry* layout : part_layouts()) printed.push_back(std::byte{has_part(*layout)});
  return printed;
}

void ClassicContainer::take_over(std::span<const std::byte> placed) {
  printed_.reset();
  Unprinted rest;
  const auto layouts = part_layouts();
  const auto has = placed.last(layouts.size());
  placed = placed.first(placed.size() - has.size());
  placed = placed.first(placed.size() - sizeof rest);
  std::memcpy(&rest, placed.data() + placed.size(), sizeof rest);
  const auto definitions = placed.first(placed.size() - rest.of_part);
  settle_alignment(rest.alignment);
  Schema root = *classic::parse({definitions.begin(), definitions.end()}, INT64_MAX);
  const std::size_t numbers =
      definitions.size() - root.vars.size() * sizeof(Variable::decomposition);
  const std::size_t flags = numbers - root.vars.size();
  const Count numrecs = schema_.numrecs;
  auto maps = std::move(schema_.decompositions);
  for (std::size_t i = 0; i < layouts.size(); ++i) {
    if (has[i] == std::byte{0}) {
      std::erase_if(parts_, [&](const Kept& kept) { return kept.layout == layouts[i]; });
    } else if (!has_part(*layouts[i])) {
      add_part(make_part(*layouts[i]));
    }
  }
  for (Kept& kept : parts_) root = kept.part->take_over(std::move(root));
  schema_ = std::move(root);
  if (ApartPart* part = last_apart()) part->take_over_placed(placed.last(rest.of_part));
  for (std::size_t i = 0; i < schema_.vars.size(); ++i) {
    Variable& var = schema_.vars[i];
    var.no_fill = definitions[flags + i] != std::byte{0};
    std::memcpy(&var.decomposition, definitions.data() + numbers + i * sizeof var.decomposition,
                sizeof var.decomposition);
  }
  schema_.numrecs = numrecs;
  schema_.decompositions = std::move(maps);  // ranks have agreed on these
  schema_.header_extent = rest.extent;
  schema_.begin_rec = rest.begin_rec;
  schema_.recsize = rest.recsize;
}

// Variables that were never written leave the file shorter than its header says. Readers that map
// the file, or check its size, need all of it. A device without a size (a pipe, /dev/null) is left
// alone.
void ClassicContainer::fill_up(bool changed) {
  if (!changed || !comm_.is_root()) return;
  Offset end = full_size();
  const HeapPart* const part = begun_heap();
  const auto heap = part != nullptr ? part->end() : std::nullopt;
  // A header without variables may have become shorter; nothing justifies bytes after it. Bytes
  // after the end of a heap are not referred to any more.
  const bool too_long =
      (heap || schema_.vars.empty()) && file_.size() > std::max(end, heap.value_or(0));
  if (too_long) end = std::max(end, heap.value_or(0));
  if ((file_.size() < end || too_long) && file_.is_regular()) file_.truncate(end);
}

Offset ClassicContainer::full_size() const {
  Offset end = schema_.header_size;
  for (const Variable& var : schema_.vars) {
    const bool apart = keeper_apart(var) != nullptr, in_records = var.is_record && !apart;
    Count bytes = apart ? size_of(var.type) : var.inner_elements * size_of(var.type);
    const Count records = in_records ? schema_.numrecs : 1;
    // Some readers (scipy) want the last record with its padding.
    if (in_records && bytes % 4 != 0 && bytes != schema_.recsize) bytes += 4 - bytes % 4;
    if (records > 0)
      end = std::max(end, var.begin + (records - 1) * schema_.recsize * in_records + bytes);
  }
  return end;
}

}  // namespace forebay
