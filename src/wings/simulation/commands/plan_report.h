// The output of `forebay plan`.
#pragma once

#include <string>

#include "simulation/simulate.h"
#include "simulation/simulated_chunks.h"
#include "tools/json.h"

namespace forebay::tools {

struct PlanSubject {
  std::string workload;
  const simulation::Machine& machine;
  const simulation::Rates& rates;
};

std::string plan_text(const PlanSubject& subject, const simulation::PlanFacts& facts);
std::string chunk_plan_text(const PlanSubject& subject, const simulation::ChunkPlanFacts& facts);
Json plan_json(const PlanSubject& subject, const simulation::PlanFacts& facts);
Json chunk_plan_json(const PlanSubject& subject, const simulation::ChunkPlanFacts& facts);

}  // namespace forebay::tools
