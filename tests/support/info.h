// An MPI_Info of hints, freed at its end.
#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

namespace forebay_test {

using Hints = std::vector<std::pair<std::string, std::string>>;

class Info {
 public:
  explicit Info(const Hints& hints) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key.c_str(), value.c_str());
  }
  ~Info() { MPI_Info_free(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  operator MPI_Info() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace forebay_test
