// forebay_netcdf4_reader: the companion of read_apart(). It sends the structure of a file.
#include "base/companion.h"
#include "netcdf4/format/packed_structure.h"
#include "netcdf4/read_apart.h"

int main(int argc, char** argv) {
  using namespace forebay;
  be_companion(argc, argv, [](const std::vector<std::string>& words, const NamePart&) {
    return netcdf4::print_structure(netcdf4::read_here(words[0]));
  });
}
