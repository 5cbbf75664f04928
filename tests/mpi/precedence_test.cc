// Which code a call returns where several things are wrong with it, for every call and every pair
// of things of the table in faults.cc.
#include "mpi/faults.h"

using namespace forebay_test;

namespace {

// The call with one or two things wrong, the same on every rank.
void expect(const Files& files, const Call& call, const Fault& first, const Fault* second) {
  Arguments a;
  a.ncid = files.*call.file;
  a.ncid2 = files.defining;
  if (call.prepare != nullptr) call.prepare(a);
  if (second != nullptr) second->apply(files, a);
  first.apply(files, a);
  const int code = call.run(a);
  if (code == first.code) return;
  std::string what = call.name + ", " + first.slot + " " + first.what;
  if (second != nullptr) what += std::string(", ") + second->slot + " " + second->what;
  ADD_FAILURE() << what + ": " + error_name(code) + ", expected " + error_name(first.code);
}

void check_calls(const std::vector<Call>& calls) {
  const Files files = open_files();
  for (const Call& call : calls) {
    // PnetCDF 1.12.3 goes on after errors that it has found, and crashes.
    if (call.name == "ncmpi_fill_var_rec" && !is_forebay()) continue;
    for (auto first = call.faults.begin(); first != call.faults.end(); ++first) {
      expect(files, call, *first, nullptr);
      for (auto second = first + 1; second != call.faults.end(); ++second)
        if (std::string(first->slot) != second->slot) expect(files, call, *first, &*second);
    }
  }
  close_files(files);
}

}  // namespace

TEST(Precedence, definitions) { check_calls(definition_calls()); }

TEST(Precedence, data) { check_calls(data_calls()); }
