#include "simulation/workload.h"

#include "container/classic/classic.h"
#include "format/classic_header.h"
#include "plan/classic_placement.h"

namespace forebay::simulation {

Schema placed(Schema schema, const Method& method) {
  place_variables(schema, nullptr, alignment_hints(method), classic::header_size(schema));
  return schema;
}

}  // namespace forebay::simulation
