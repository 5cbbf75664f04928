#include "layout/chunked/coder.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <optional>
#include <thread>

#include "base/attempt.h"
#include "base/hash.h"
#include "base/small_list.h"
#include "layout/codec_choice.h"
#include "plan/chunk_shape.h"
#include "plan/file_space.h"

namespace forebay::chunked {

std::span<std::byte> TaskSlot::Room::take(Count bytes) {
  if (bytes > size) {
    size = 0;
    memory = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(bytes));
    size = bytes;
  }
  return {memory.get(), static_cast<std::size_t>(bytes)};
}

void TaskTeam::run(std::size_t count, const std::function<void(std::size_t, TaskSlot&)>& task) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> failures(slots_.size());
  const auto work = [&](std::size_t thread) {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        task(i, slots_[thread]);
      } catch (...) {
        if (!failures[thread]) failures[thread] = std::current_exception();
      }
    }
  };
  std::vector<std::thread> others;
  others.reserve(slots_.size());
  for (std::size_t t = 1; t < std::min(slots_.size(), count); ++t) {
    try {
      others.emplace_back(work, t);
    } catch (const std::exception&) {
      break;  // no more threads or no memory for them: the existing ones do the work
    }
  }
  work(0);
  for (std::thread& t : others) t.join();
  for (const auto& f : failures) {
    if (f) std::rethrow_exception(f);
  }
}

// Other chunks would not fit together at a coarser level.
void check_levels(const Variable& var, int levels) {
  if (var.chunking->shape.empty()) throw Error(Errc::enotnc, "its patches have no shape");
  const Count step = Count{1} << levels;
  if (var.is_record && var.chunking->shape[0] != 1)
    throw Error(Errc::enotnc, "chunks of several records have no levels");
  int axes = 0;
  for (std::size_t d = var.is_record ? 1 : 0; d < var.shape.size(); ++d) {
    const Count length = var.chunking->shape[d];
    axes += std::min(length, var.shape[d]) > 1 ? 1 : 0;
    if (axes > 3) throw Error(Errc::enotnc, "chunks of more than three dimensions have no levels");
    if (length > 1 && length < var.shape[d] && length % step != 0)
      throw Error(Errc::enotnc, "chunks of " + std::to_string(length) + " elements have no " +
                                    std::to_string(levels) + " levels");
  }
}

VariableCoding make_coding(const Variable& var, const std::string& fault, Count least_bytes,
                           int level) {
  const bool open = var.chunking->shape.empty();
  int levels = 0;
  const auto damage = attempt_to([&] {
    if (!fault.empty()) throw Error(Errc::enotnc, fault);
    if (!open) check_chunk_shape(var, var.chunking->shape);
    levels = Pipeline::parts_of(var.chunking->codec) - 1;
    if (levels > 0) check_levels(var, levels);
  });
  if (damage && damage->code() != Errc::enomem) {
    throw Error(Errc::enotnc, "variable " + var.name + ": " + damage->message(),
                "the file's header or chunk index is damaged; other variables can be read");
  }
  if (damage) throw *damage;
  const std::vector<Count> shape =
      open ? default_chunk_shape(var, "", least_bytes).shape : var.chunking->shape;
  Pipeline pipeline = stored_pipeline(var, var.chunking->codec);
  if (level < 0 || level >= pipeline.parts()) {
    throw Error(
        Errc::einval, "variable " + var.name + " has no level " + std::to_string(level),
        pipeline.parts() == 1
            ? "only variables in patches have coarser levels (layout=patches)"
            : "its levels are 0, which is all of it, to " + std::to_string(pipeline.parts() - 1));
  }
  VariableCoding coding{ChunkGrid(var, shape), std::move(pipeline), var.type, external_fill(var),
                        open};
  if (level > 0) {
    const Variable coarse = at_level(var, level);
    coding.full.emplace(std::move(coding.grid));
    coding.grid = ChunkGrid(coarse, coarse.chunking->shape);
    coding.level = level;
  }
  return coding;
}

void fill_chunk(std::span<const std::byte> value, std::span<std::byte> chunk) {
  if (chunk.empty()) return;
  if (std::all_of(value.begin(), value.end(), [&](std::byte b) { return b == value[0]; })) {
    std::memset(chunk.data(), static_cast<int>(value[0]), chunk.size());
    return;
  }
  std::memcpy(chunk.data(), value.data(), value.size());
  for (std::size_t done = value.size(); done < chunk.size();) {
    const std::size_t now = std::min(done, chunk.size() - done);
    std::memcpy(chunk.data() + done, chunk.data(), now);
    done += now;
  }
}

void Arena::reset(Count bytes) {
  const auto wanted = static_cast<std::size_t>(bytes);
  if (wanted > size_) {
    memory_.reset();
    size_ = 0;
    memory_ = std::make_unique_for_overwrite<std::byte[]>(wanted);
    size_ = wanted;
  }
  used_ = 0;
}

std::byte* Arena::take(std::size_t bytes) { return memory_.get() + used_.fetch_add(bytes); }

namespace {

StoredChunk to_store(const EncodedChunk& encoded, std::span<const std::byte> raw, Arena& arena,
                     bool keep_raw_in_place) {
  StoredChunk stored;
  stored.skipped = encoded.skipped;
  stored.bytes = encoded.bytes;
  stored.bound = encoded.bound;
  if (encoded.bytes.data() != raw.data() || !keep_raw_in_place) {
    const std::size_t size = encoded.bytes.size();
    const auto room = static_cast<std::size_t>(round_up(static_cast<Count>(size), FileSpace::unit));
    std::byte* to = arena.take(room);
    if (size > 0) std::memcpy(to, encoded.bytes.data(), size);
    std::memset(to + size, 0, room - size);
    stored.padded = true;
    stored.bytes = {to, encoded.bytes.size()};
  }
  stored.hash = hash_of(stored.bytes);
  return stored;
}

}  // namespace

StoredChunk encode_chunk(const Pipeline& pipeline, const ChunkInfo& info,
                         std::span<const std::byte> raw, Arena& arena, bool keep_raw_in_place,
                         CodecWorkspace& workspace) {
  return to_store(pipeline.encode(info, raw, workspace), raw, arena, keep_raw_in_place);
}

void encode_chunk(const VariableCoding& coding, const ChunkInfo& info,
                  std::span<const std::byte> raw, Arena& arena, bool keep_raw_in_place,
                  CodecWorkspace& workspace, std::span<StoredChunk> parts) {
  std::vector<EncodedChunk> encoded(parts.size());
  if (coding.form)
    encoded[0] = coding.form->encode(info, raw, workspace);
  else
    coding.pipeline.encode(info, raw, encoded, workspace);
  Count bytes = 0;
  for (const EncodedChunk& part : encoded) bytes += std::ssize(part.bytes);
  if (bytes > (coding.form ? coding.form->most_bytes(info) : coding.pipeline.most_bytes(info)))
    throw Error(Errc::einternal, "a chunk takes more bytes than its codec said");
  for (std::size_t p = 0; p < parts.size(); ++p)
    parts[p] = to_store(encoded[p], raw, arena, keep_raw_in_place);
}

Count arena_bytes(const VariableCoding& coding, Count id) {
  return coding.most_bytes(id) + coding.parts() * FileSpace::unit;
}

std::string describe_chunk(const std::string& name, const ChunkGrid& grid, Count id) {
  const auto box = grid.box(id);
  std::string text = name + "[";
  for (std::size_t d = 0; d < box.first.size(); ++d) {
    if (d > 0) text += ", ";
    text += std::to_string(box.first[d]);
    if (box.extent[d] != 1) text += ":" + std::to_string(box.first[d] + box.extent[d]);
  }
  return text + "]";
}

Error damaged_chunk(const std::string& name, const ChunkGrid& grid, Count id,
                    const std::string& why) {
  return Error(Errc::enotnc,
               "chunk " + std::to_string(id) + " of variable " + name + ", which is " +
                   describe_chunk(name, grid, id) + ", is damaged: " + why,
               "the rest can be read; forebay check FILE lists all damaged chunks");
}

// Prevents allocations for entries that claim to be larger than their chunk.
void check_size(const VariableCoding& coding, const std::string& name, Count id, Count bytes) {
  if (bytes > coding.most_bytes(id))
    throw damaged_chunk(name, coding.stored_grid(), id,
                        "its table says " + std::to_string(bytes) + " bytes");
}

void check_entry(const VariableCoding& coding, const std::string& name, Count id,
                 const Entry& entry, Offset end) {
  check_size(coding, name, id, entry.bytes);
  if (!lies_within(entry.offset, entry.bytes, end))
    throw damaged_chunk(name, coding.stored_grid(), id, "its bytes lie outside the file");
}

void verify_chunk(const VariableCoding& coding, const std::string& name, Count id, int number,
                  const StoredPart& part) {
  if (part.entry->present() ? hash_of(part.bytes) == part.entry->hash : part.bytes.empty()) return;
  const int levels = coding.parts() - 1;
  const std::string of = levels > 0 ? " of level " + std::to_string(levels - number) : "";
  throw damaged_chunk(
      name, coding.stored_grid(), id,
      "the checksum of its " + std::to_string(part.bytes.size()) + " bytes" + of + " is wrong");
}

std::optional<double> decode_chunk(const VariableCoding& coding, const std::string& name, Count id,
                                   std::span<const StoredPart> parts, std::span<std::byte> raw,
                                   CodecWorkspace& workspace) {
  SmallList<EncodedChunk, 1> encoded;
  for (const StoredPart& part : parts) {
    if (!coding.form) verify_chunk(coding, name, id, static_cast<int>(encoded.size()), part);
    encoded.push_back({part.bytes, part.entry->skipped});
  }
  try {
    if (coding.form) {
      coding.form->decode(coding.info(id), *encoded.data(), raw, workspace);
      return std::nullopt;
    }
    return coding.pipeline.decode(coding.info(id), {encoded.data(), encoded.size()}, raw,
                                  workspace);
  } catch (const Error& error) {
    if (error.code() == Errc::enomem) throw;
    throw damaged_chunk(name, coding.stored_grid(), id, error.message());
  }
}

ChunkCache::Bytes ChunkCache::find(VarId var, Count id) {
  const auto found = index_.find({var, id});
  if (found == index_.end()) return nullptr;
  items_.splice(items_.begin(), items_, found->second);
  return found->second->bytes;
}

void ChunkCache::keep(VarId var, Count id, Bytes bytes) {
  drop(var, id);
  const auto size = static_cast<Count>(bytes->size());
  if (size > limit_) return;
  items_.push_front({{var, id}, std::move(bytes)});
  index_[{var, id}] = items_.begin();
  for (held_ += size; held_ > limit_;) {
    held_ -= static_cast<Count>(items_.back().bytes->size());
    index_.erase(items_.back().key);
    items_.pop_back();
  }
}

void ChunkCache::drop(VarId var, Count id) {
  const auto found = index_.find({var, id});
  if (found == index_.end()) return;
  held_ -= static_cast<Count>(found->second->bytes->size());
  items_.erase(found->second);
  index_.erase(found);
}

void ChunkCache::clear() {
  items_.clear();
  index_.clear();
  held_ = 0;
}

}  // namespace forebay::chunked
