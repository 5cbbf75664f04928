#include "burst/recovery/recovery_writes.h"

#include <fmt/format.h>

#include "array/placement.h"
#include "base/attempt.h"

namespace forebay {
namespace {

std::optional<std::string> check_subarray(const Variable& var, const staging::Write& write,
                                          const Subarray& sub) {
  const auto ndims = static_cast<std::size_t>(var.ndims());
  if (sub.start.size() != ndims || sub.count.size() != ndims ||
      (!sub.stride.empty() && sub.stride.size() != ndims))
    return "it has another number of dimensions than " + var.name;
  const Count limit = var.is_record ? write.last_record : 0;
  if (auto error = attempt_to([&] {
        check_selection(var, limit, sub.start.data(), sub.count.data(),
                        sub.stride.empty() ? nullptr : sub.stride.data());
      }))
    return error->message();
  Count bytes = size_of(var.type);
  for (const Count count : sub.count) {
    if (!multiply_fits(bytes, count, bytes)) return "it has more elements than can be";
  }
  if (bytes != write.bytes)
    return fmt::format("it has {} bytes of data for {} bytes of {}", write.bytes, bytes, var.name);
  return std::nullopt;
}

std::optional<std::string> check_runs(const Variable& var, const staging::Write& write,
                                      const RunList& list) {
  const Count size = size_of(var.type);
  Count limit = 0;
  if (!multiply_fits(var.inner_bytes(), var.is_record ? write.last_record : 1, limit))
    return "it has more records than can be";
  Offset end = 0;
  Count bytes = 0;
  for (const Run& run : list.runs) {
    if (run.offset < end || run.length <= 0 || run.length > limit - run.offset ||
        run.offset % size != 0 || run.length % size != 0)
      return "its pieces are not pieces of " + var.name;
    end = run.offset + run.length;
    bytes += run.length;
  }
  if (bytes != write.bytes || bytes != list.bytes)
    return fmt::format("it has {} bytes of data for {} bytes of {}", write.bytes, bytes, var.name);
  return std::nullopt;
}

}  // namespace

std::optional<std::string> check_write(const Schema& schema, const staging::Write& write,
                                       const RunList* runs) {
  if (write.var < 0 || write.var >= std::ssize(schema.vars))
    return fmt::format("it is of variable {}, and there are {}", write.var, schema.vars.size());
  const Variable& var = schema.vars[static_cast<std::size_t>(write.var)];
  if (write.type != var.type) return "it has another type than " + var.name;
  const Count most = var.is_record ? max_records(schema.version, record_size(schema)) : 0;
  if (write.last_record < 0 || write.last_record > most)
    return fmt::format("it reaches to record {} of {}", write.last_record, var.name);
  if (const auto* sub = std::get_if<Subarray>(&write.selection))
    return check_subarray(var, write, *sub);
  if (runs == nullptr) return "the pieces that it names are missing";
  return check_runs(var, write, *runs);
}

}  // namespace forebay
