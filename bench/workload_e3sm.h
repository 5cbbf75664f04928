#pragma once

// The history files of the E3SM climate model, as its I/O library writes them: hundreds of
// variables, each cut into thousands of pieces by a decomposition map.
//
//     write   create, define everything, enddef,
//             iput_varn of every mapped variable (one call a variable and record, all pieces of
//             this rank), iput_vara of the others by rank 0, wait_all after each record or at the
//             end, close
//     read    open, look up every variable, iget_varn / iget_vara and wait_all as above, close
//
// Starts and counts are arrays of one pointer a piece, built once for each map, as in E3SM-IO.

#include <cstddef>
#include <memory>
#include <vector>

#include "e3sm_case.h"
#include "sphere_field.h"
#include "workload.h"

namespace forebay::bench {

class E3smWorkload final : public Workload {
 public:
  /// Collective. Throws std::runtime_error if the inputs cannot be had.
  E3smWorkload(const E3smOptions& options, const Team& team);

  std::string name() const override { return "e3sm"; }
  nlohmann::json parameters() const override;
  Amounts amounts() const override { return amounts_; }

  void prepare_write() override;
  void write(const std::string& path, MPI_Info info, Timeline& timeline) override;
  void prepare_read() override;
  void read(const std::string& path, MPI_Info info, Timeline& timeline) override;
  std::int64_t verify() override;

 private:
  enum class Memory { Text, Int, Float, Double };

  struct VariablePlan {
    int map = -1;
    bool record = false;
    Memory memory = Memory::Float;
    std::int64_t elements = 0;  // of this rank, a record
    double fill = 0;
    std::vector<MPI_Offset> start, count;  // without a map
    std::vector<Run> runs;                 // without a map: one run
  };
  /// One request: a variable in one record, and where its data stands in the buffer.
  struct Slot {
    int var = 0;
    int record = 0;
    std::size_t offset = 0;
  };

  void plan_variables();
  void lay_out_buffer();
  void count_amounts();
  std::span<const Run> runs_of(const VariablePlan& plan) const;
  void post_all(int ncid, bool put, Timeline& timeline);
  void post(int ncid, bool put, int varid, const Slot& slot);
  void wait(int ncid, Timeline& timeline);
  template <typename Visit>
  void visit_slots(Visit visit);
  // Whether the values of a variable are those of options_.field, and what they are.
  bool shows_field(int var) const;
  double sphere_value(int var, std::uint32_t seed, std::int64_t element) const;
  double field_value(int var, std::uint32_t seed, std::int64_t element) const;

  E3smOptions options_;
  bool wait_each_record_ = false;
  Team team_;
  E3smCase case_;
  std::vector<Pieces> pieces_;  // one for each map
  std::vector<VariablePlan> plans_;
  std::vector<Slot> slots_;
  std::vector<int> var_ids_;
  std::size_t buffer_bytes_ = 0;
  std::unique_ptr<std::byte[]> buffer_;
  Amounts amounts_;
  std::unique_ptr<SphereField> sphere_;  // for E3smField::Sphere
};

}  // namespace forebay::bench
