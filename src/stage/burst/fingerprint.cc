#include "stage/burst/fingerprint.h"

#include <xxhash.h>

#include <vector>

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
  return XXH3_64bits(facts.data(), facts.size() * sizeof facts[0]);
}

}  // namespace forebay
