// A workload for tests: one variable of 4-byte elements at the beginning of the file, and a
// function that returns the selection of a rank.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "simulation/workload.h"

namespace forebay::simulation {

class TestWorkload : public Workload {
 public:
  using Select = std::function<std::vector<Run>(Count operation, Rank rank)>;  // bytes, sorted

  TestWorkload(Count elements, Count operations, Select select)
      : operations_(operations), select_(std::move(select)) {
    schema_.version = 5;
    schema_.add_dim({"x", elements});
    Variable var;
    var.name = "v";
    var.type = Type::int32;
    var.dimids = {0};
    schema_.add_var(std::move(var));
  }
  const Schema& schema() const override { return schema_; }
  Count operations() const override { return operations_; }
  void add_requests(Count operation, Rank rank, std::vector<Request>& requests) const override {
    auto list = std::make_shared<RunList>();
    list->runs = select_(operation, rank);
    if (list->runs.empty()) return;
    for (const Run& r : list->runs) list->bytes += r.length;
    Request& request = requests.emplace_back();
    request.element_size = 4;
    request.selection = Runs{std::move(list)};
  }

 private:
  Schema schema_;
  Count operations_;
  Select select_;
};

}  // namespace forebay::simulation
