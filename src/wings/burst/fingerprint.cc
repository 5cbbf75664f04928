#include "burst/fingerprint.h"

#include <vector>

#include "base/hash.h"

namespace forebay {

std::uint64_t schema_fingerprint(const Schema& schema) {
  std::vector<std::int64_t> facts{schema.version, static_cast<std::int64_t>(schema.dims.size())};
  for (const Dimension& dim : schema.dims) facts.push_back(dim.length);
  facts.push_back(static_cast<std::int64_t>(schema.vars.size()));
  for (const Variable& var : schema.vars) {
    facts.push_back(static_cast<std::int64_t>(var.type));
    facts.push_back(var.ndims());
    facts.insert(facts.end(), var.dimids.begin(), var.dimids.end());
  }
  return hash_of(std::as_bytes(std::span(facts)));
}

}  // namespace forebay
