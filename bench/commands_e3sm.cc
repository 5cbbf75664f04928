// The options of the E3SM workload, which programs on PnetCDF's interface and on HDF5 share.

#include <iostream>

#include "command.h"

namespace forebay::bench {
namespace {

// What the options say, for the constructor of a workload.
E3smOptions options_of(const E3smCommand& command, const Team& team) {
  E3smOptions options = command.options;
  options.which = command.case_letter.front();
  if (command.wait != "usual") options.wait_each_record = command.wait == "record";
  options.merge_pieces = !command.no_merge;
  if (!command.generate.empty()) {
    options.data_dir.clear();
    options.ne = std::stoi(command.generate.substr(command.generate.find('=') + 1));
  } else if (options.data_dir.empty() && team.rank == 0 && options.which == 'F') {
    std::cerr << "no --data: the F pattern is generated, ne=" << options.ne << "\n";
  }
  return options;
}

}  // namespace

CLI::App* add_e3sm_workload(CLI::App& app, Command& c, E3smCommand& o, const MakeE3sm& make) {
  CLI::App* sub = app.add_subcommand("e3sm", "history files of the E3SM climate model");
  sub->add_option("--case", o.case_letter, "F atmosphere, G ocean, I land")
      ->check(CLI::IsMember({"F", "G", "I"}));
  sub->add_option("--history", o.options.history, "which history file of F and I")
      ->check(CLI::IsMember({"h0", "h1"}));
  sub->add_option("--data", o.options.data_dir, "folder of maps and headers")
      ->envname("FOREBAY_E3SM_DATA");
  sub->add_option("--generate", o.generate, "generate the F pattern instead: ne=N");
  sub->add_option("--map-ranks", o.options.generated_map_ranks,
                  "ranks that a generated map is made for")
      ->check(CLI::PositiveNumber);
  sub->add_option("--tile", o.options.tiles, "repeat the horizontal dimensions N times")
      ->check(CLI::PositiveNumber);
  sub->add_option("--records", o.options.records, "records (default: F 1, G 5, I 7)")
      ->check(CLI::PositiveNumber);
  sub->add_flag("--no-merge", o.no_merge, "keep recorded pieces apart where they touch");
  sub->add_flag("--double", o.options.double_memory, "hold float variables as double in memory");
  sub->add_option("--field", o.options.field,
                  "values: sphere (F: coordinates and a field to be looked at; also without a "
                  "word), smooth (every case; such as codecs meet); default: noise")
      ->expected(0, 1)
      ->default_str("sphere")
      ->transform(CLI::CheckedTransformer(std::map<std::string, E3smField>{
          {"sphere", E3smField::Sphere}, {"smooth", E3smField::Smooth}}));
  sub->callback([&c, &o, make] {
    c.make = [&o, make](const Team& team) { return make(options_of(o, team), team); };
  });
  return sub;
}

}  // namespace forebay::bench
