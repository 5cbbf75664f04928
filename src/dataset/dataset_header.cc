// The header's way to and from the file. Rank 0 reads and writes; the others get its bytes.
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "array/placement.h"
#include "base/attempt.h"
#include "comm/agree.h"
#include "dataset/dataset.h"
#include "format/chunk_schema.h"
#include "format/classic.h"

namespace forebay {

namespace {

std::int64_t chosen_shapes(const Schema& schema) {
  return std::count_if(schema.vars.begin(), schema.vars.end(),
                       [](const Variable& v) { return v.chunking && !v.chunking->shape.empty(); });
}

}  // namespace

// Rank 0 reads, all parse: an attempt costs one broadcast, and what is wrong with a header every
// rank finds by itself.
void Dataset::read_header() {
  StepTimer timer(report_, Step::header);
  std::vector<std::byte> bytes;
  struct Chunk {
    std::int64_t code, bytes, file_size;
  } chunk{0, 0, 0};
  for (Offset want = std::max<Offset>(method_.header_read_chunk, 4096);; want *= 2) {
    const std::size_t have = bytes.size();
    std::optional<Error> mine;
    if (comm_.is_root()) {
      mine = attempt_to([&] {
        chunk.file_size = file_->size();
        bytes.resize(static_cast<std::size_t>(std::min(want, chunk.file_size)));
        bytes.resize(have + file_->read_at(static_cast<Offset>(have),
                                           {bytes.data() + have, bytes.size() - have}));
      });
      chunk.code = mine ? to_int(mine->code()) : 0;
      chunk.bytes = static_cast<std::int64_t>(bytes.size());
    }
    comm_.broadcast(&chunk, sizeof chunk);
    if (mine) throw *mine;
    if (chunk.code != 0)
      throw Error(static_cast<Errc>(chunk.code), "rank 0 could not read the header of " + path_);
    bytes.resize(static_cast<std::size_t>(chunk.bytes));
    if (bytes.size() > have) comm_.broadcast(bytes.data() + have, bytes.size() - have);
    auto schema = classic::parse(bytes, chunk.file_size);
    if (schema) {
      schema_ = chunked::has_anchors(*schema) ? chunked::from_stored(*schema, chunk_root_)
                                              : std::move(*schema);
      if (schema_.any_chunked()) schema_.recsize = record_size(schema_);
      return;
    }
    if (static_cast<Offset>(bytes.size()) >= chunk.file_size || bytes.size() == have) {
      throw Error(Errc::enotnc, path_ + ": the header does not end before the file does",
                  "the file is truncated");
    }
  }
}

void Dataset::write_header() {
  StepTimer timer(report_, Step::header);
  std::optional<Error> mine;
  if (comm_.is_root()) {
    mine = attempt_to([&] {
      auto bytes = print_header();
      // A header that shrank in data mode leaves no bytes of its longer self behind.
      bytes.resize(std::max(bytes.size(), static_cast<std::size_t>(schema_.header_size)));
      file_->write_at(0, bytes);
    });
  }
  agree(mine);
  header_dirty_ = false;
  shapes_in_header_ = chosen_shapes(schema_);
}

std::vector<std::byte> Dataset::print_header() const {
  if (!schema_.any_chunked()) return classic::print(schema_);
  return classic::print(chunked::to_stored(schema_, chunk_root_));
}

Offset Dataset::header_size() const {
  return in_define_mode() ? static_cast<Offset>(print_header().size()) : schema_.header_size;
}

// The index tells the shapes that were chosen by themselves; the header repeats them for people.
void Dataset::refresh_shapes_in_header() {
  if (!chunks_) return;
  chunks_->require_whole();
  if (shapes_in_header_ != chosen_shapes(schema_)) write_header();
}

void Dataset::write_numrecs() {
  const auto bytes = classic::print_numrecs(schema_);
  file_->write_at(classic::numrecs_offset, bytes);
}

void Dataset::header_changed() {
  if (mode_ == Mode::define) {
    header_dirty_ = true;
  } else {
    write_header();
  }
}

// Definitions are local calls, so ranks may have defined different things. Rank 0's definitions
// count, as in PnetCDF; every rank takes them over, which keeps placement equal everywhere. In safe
// mode they cannot differ: see agree_on_call.
void Dataset::agree_on_schema(const std::function<void()>& place) {
  if (comm_.size() > 1) {
    const auto printed = print_definitions();
    const auto hash = static_cast<std::int64_t>(XXH3_64bits(printed.data(), printed.size()) >> 1);
    std::array<std::int64_t, 2> extremes{hash, -hash};
    comm_.all_reduce(extremes, Reduce::max);
    if (extremes[0] != -extremes[1]) return take_over_schema(place);
  }
  place();
}

// The header, and which variables are filled, which it does not tell.
std::vector<std::byte> Dataset::print_definitions() const {
  auto printed = print_header();
  for (const Variable& var : schema_.vars) printed.push_back(std::byte{var.no_fill});
  return printed;
}

void Dataset::take_over_schema(const std::function<void()>& place) {
  std::vector<std::byte> printed;
  if (comm_.is_root()) {
    place();
    printed = print_definitions();
  }
  auto size = static_cast<std::int64_t>(printed.size());
  comm_.broadcast(&size, sizeof size);
  printed.resize(static_cast<std::size_t>(size));
  comm_.broadcast(printed.data(), printed.size());
  // What the header does not say: reserved space, and the alignments that hold until close.
  struct Unprinted {
    Offset extent, begin_rec;
    Count recsize, chunk_move;
    Alignment alignment;
  } rest{schema_.header_extent, schema_.begin_rec, schema_.recsize, chunk_move_,
         alignment_.value_or(Alignment{})};
  comm_.broadcast(&rest, sizeof rest);
  settle_alignment(rest.alignment);
  if (!comm_.is_root()) {
    Schema root = *classic::parse(printed, INT64_MAX);
    if (chunked::has_anchors(root)) root = chunked::from_stored(root, chunk_root_);
    chunk_move_ = rest.chunk_move;
    const std::size_t flags = printed.size() - root.vars.size();
    for (std::size_t i = 0; i < root.vars.size(); ++i)
      root.vars[i].no_fill = printed[flags + i] != std::byte{0};
    root.numrecs = schema_.numrecs;
    root.header_extent = rest.extent;
    root.begin_rec = rest.begin_rec;
    root.recsize = rest.recsize;
    schema_ = std::move(root);
  }
}

// Variables that were never written leave the file shorter than its header says; readers that map
// the file, or check its size, want all of it. A device that has no size (a pipe, /dev/null) is
// left alone.
void Dataset::extend_to_full_size() {
  // Independent writes are known to their own rank only.
  if (comm_.all_reduce(std::int64_t{changed_}, Reduce::max) == 0) return;
  std::optional<Error> mine;
  if (comm_.is_root()) {
    mine = attempt_to([&] {
      Offset end = schema_.header_size;
      for (const Variable& var : schema_.vars) {
        Count bytes = var.inner_elements * size_of(var.type);
        if (var.chunking) bytes = size_of(var.type);
        const Count records = var.is_record && !var.chunking ? schema_.numrecs : 1;
        // Some readers (scipy) want the last record with its padding.
        if (var.is_record && !var.chunking && bytes % 4 != 0 && bytes != schema_.recsize)
          bytes += 4 - bytes % 4;
        if (records > 0)
          end = std::max(end, var.begin + (records - 1) * schema_.recsize * var.is_record + bytes);
      }
      // Without variables nothing tells a reader why the file should go on after a header that has
      // become shorter.
      const bool too_long = schema_.vars.empty() && file_->size() > end;
      if ((file_->size() < end || too_long) && file_->is_regular()) file_->truncate(end);
    });
  }
  agree(mine);
}

}  // namespace forebay
