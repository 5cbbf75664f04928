#pragma once

// The history files of the E3SM climate model: hundreds of variables, each cut into thousands of
// pieces by a decomposition map. Here is what does not depend on the library that stores them:
// which variables there are, which elements of each a rank holds in which order in memory, and
// their values. How they are written and read is in workload_e3sm_pnetcdf and workload_e3sm_hdf5.

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "workloads/e3sm_case.h"
#include "workloads/sphere_field.h"
#include "workloads/workload.h"

namespace forebay::bench {

class E3smWorkload : public Workload {
 public:
  /// Collective. Throws std::runtime_error if the inputs cannot be had.
  E3smWorkload(const E3smOptions& options, const Team& team);

  std::string name() const override { return "e3sm"; }
  nlohmann::json parameters() const override;
  Amounts amounts() const override { return amounts_; }

  void prepare_write() override;
  void prepare_read() override;
  std::int64_t verify() override;

 protected:
  /// Types of the buffer.
  enum class Memory { Text, Int, Float, Double };

  static std::size_t width_of(Memory memory);

  struct VariablePlan {
    int map = -1;  ///< index into pieces(), or -1: rank 0 has all elements, the others none
    bool record = false;
    Memory memory = Memory::Float;
    std::int64_t elements = 0;  ///< of this rank, a record
    double fill = 0;
    std::vector<MPI_Offset> start, count;  ///< without a map: all elements of record 0
    std::vector<Run> runs;                 ///< without a map: one run
  };
  /// One request: a variable in one record, and where its data stands in the buffer.
  struct Slot {
    int var = 0;
    int record = 0;
    std::size_t offset = 0;
  };

  /// The value that `element` (an index into a record, flattened) of a mapped variable has where no
  /// fill value stands in its place, as the variable's type holds it.
  double value_at(int var, int record, std::int64_t element) const;

  E3smOptions options_;
  bool wait_each_record_ = false;
  Team team_;
  E3smCase case_;
  std::vector<Pieces> pieces_;  // one for each map
  std::vector<VariablePlan> plans_;
  std::vector<Slot> slots_;  // fixed variables and record 0, record 1, ...
  std::unique_ptr<std::byte[]> buffer_;
  std::size_t buffer_bytes_ = 0;
  Amounts amounts_;

 private:
  void plan_variables();
  void lay_out_buffer();
  void count_amounts();
  std::span<const Run> runs_of(const VariablePlan& plan) const;
  template <typename Visit>
  void visit_slots(Visit visit);
  // Whether the values of a variable are those of options_.field, and what they are.
  bool shows_field(int var) const;
  double sphere_value(int var, std::uint32_t seed, std::int64_t element) const;
  double field_value(int var, std::uint32_t seed, std::int64_t element) const;

  std::unique_ptr<SphereField> sphere_;  // for E3smField::Sphere
};

}  // namespace forebay::bench
