// Reading BP files, by the wing groups.
#include "comm/comm.h"
#include "groups/files/bp_follower.h"
#include "groups/files/bp_source.h"
#include "groups/records/group_terms.h"
#include "source_reader.h"
#include "support.h"

namespace forebay::python {
namespace {

std::unique_ptr<Source> open_directory(const std::string& path) {
  return open_bp(path, Strings::given);
}

/// [(step, block, start, count, least, greatest, certain, matches)]; least and greatest None where
/// the index has none, matches None where values were not read. And how many steps were not
/// searched.
nb::tuple find_in_directory(const nb::bytes& name, const std::string& condition, bool values) {
  const std::string path(name.c_str(), name.size());
  std::vector<FoundBlock> all;
  Searched searched;
  {
    const nb::gil_scoped_release unlocked;
    searched = find_in_bp(path, parse_search(condition), values,
                          [&](const FoundBlock& found) { all.push_back(found); });
  }
  const auto bound = [](const FoundBlock& found, long double value) -> nb::object {
    return found.known ? nb::cast(static_cast<double>(value)) : nb::none();
  };
  nb::list list;
  for (const FoundBlock& found : all)
    list.append(nb::make_tuple(found.step, found.block, nb::tuple(nb::cast(found.start)),
                               nb::tuple(nb::cast(found.count)), bound(found, found.least),
                               bound(found, found.greatest), found.certain,
                               found.matches ? nb::cast(*found.matches) : nb::none()));
  return nb::make_tuple(list, searched.unread);
}

/// A file that is followed step by step. Threads enter one at a time.
class Follower {
 public:
  explicit Follower(const std::string& path) {
    const std::lock_guard lock(source_lock());
    file_ = std::make_unique<BpFollower>(Comm(), path, 0);
  }

  /// (whether there is a step, whether the writer has ended, the step).
  nb::tuple begin_step(double seconds) {
    using StepStatus = BpFollower::StepStatus;
    std::size_t step = 0;
    StepStatus found{};
    {
      const nb::gil_scoped_release unlocked;
      const std::lock_guard lock(source_lock());
      found = file_->begin_step(seconds, step);
    }
    return nb::make_tuple(found == StepStatus::ok, found == StepStatus::end, step);
  }

  /// ({name: (number, bytes of an element, kind, shape)}, [(name, why it is left out)]) of a step.
  /// Kinds are those of NumPy: i, u, f, c, S; U: a string.
  nb::tuple variables(std::size_t step) const {
    std::vector<LeftOut> left_out;
    std::vector<BpFollower::Variable> all;
    {
      const nb::gil_scoped_release unlocked;
      const std::lock_guard lock(source_lock());
      all = file_->variables(step, left_out);
    }
    nb::dict found;
    for (const auto& one : all)
      found[to_text(one.stored.name)] =
          nb::make_tuple(one.number, bp::size_of(one.stored.type), kind_of(one.stored.type),
                         nb::tuple(nb::cast(one.shape)));
    nb::list why;
    for (const LeftOut& one : left_out)
      why.append(nb::make_tuple(to_text(one.name), to_text(one.what)));
    return nb::make_tuple(found, why);
  }

  void read(std::size_t number, std::size_t step, std::vector<Count> start,
            std::vector<Count> count, nb::handle out) const {
    const Subarray box = to_subarray(std::move(start), std::move(count), {});
    const Buffer memory(out, true);
    const nb::gil_scoped_release unlocked;
    const std::lock_guard lock(source_lock());
    const bp::Variable& stored = file_->reader().variables().at(number).variable;
    if (std::cmp_not_equal(memory.bytes().size(), box.elements() * bp::size_of(stored.type)))
      throw Error(Errc::einval, stored.name + ": the memory has another size than the box");
    file_->read({number, stored, {}}, step, box, memory.bytes().data());
  }

  nb::object text(std::size_t number, std::size_t step) const {
    std::string value;
    {
      const nb::gil_scoped_release unlocked;
      const std::lock_guard lock(source_lock());
      value = file_->reader().text(number, step);
    }
    return string_value(value);
  }

  /// [(name, type, value)] as _forebay.Reader has them, under their names in the file.
  nb::list attributes() const {
    AttributeList list;
    {
      const nb::gil_scoped_release unlocked;
      const std::lock_guard lock(source_lock());
      for (const bp::Attribute& one : file_->reader().attributes())
        if (one.type != bp::Type::string_array && one.type != bp::Type::reference)
          if (auto made = group_terms::attribute(one.name, one)) list.append(std::move(*made));
    }
    return describe_attributes(list);
  }

 private:
  static const char* kind_of(bp::Type type) {
    if (type == bp::Type::string) return "U";
    if (bp::is_complex(type)) return "c";
    const Type of = to_engine(type);
    if (of == Type::chr) return "S";
    if (of == Type::float32 || of == Type::float64) return "f";
    const bool is_unsigned =
        of == Type::uint8 || of == Type::uint16 || of == Type::uint32 || of == Type::uint64;
    return is_unsigned ? "u" : "i";
  }

  std::unique_ptr<BpFollower> file_;
};

}  // namespace

void bind_groups(nb::module_& module) {
  bind_source_reader<open_directory>(module, "BpReader");
  module.def(
      "is_bp", [](const nb::bytes& path) { return is_bp(std::string(path.c_str(), path.size())); },
      nb::arg("path"));
  nb::class_<Follower>(module, "BpFollower")
      .def("__init__", construct<Follower>, nb::arg("path"))
      .def("begin_step", &Follower::begin_step, nb::arg("seconds"))
      .def("variables", &Follower::variables, nb::arg("step"))
      .def("read", &Follower::read, nb::arg("number"), nb::arg("step"), nb::arg("start"),
           nb::arg("count"), nb::arg("out"))
      .def("text", &Follower::text, nb::arg("number"), nb::arg("step"))
      .def("attributes", &Follower::attributes);
  module.def(
      "bp_has_begun",
      [](const nb::bytes& path) {
        return BpFollower::has_begun(std::string(path.c_str(), path.size()));
      },
      nb::arg("path"));
  module.def("find_in_bp", find_in_directory, nb::arg("path"), nb::arg("condition"),
             nb::arg("values"));
}

}  // namespace forebay::python
