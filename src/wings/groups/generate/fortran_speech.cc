// Generates code in Fortran 2008 and later, in free form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>

#include "base/words.h"
#include "groups/generate/speech.h"

namespace forebay::tools {
namespace {

// Fortran has no unsigned integers: signed ones hold the same bits.
struct FortranType {
  std::string type, kind;
};
FortranType fortran_type(GroupType type) {
  if (is_integer(type)) return {"integer", fmt::format("c_int{}_t", 8 * size_of(type))};
  switch (type) {
    case GroupType::float32:
      return {"real", "c_float"};
    case GroupType::float64:
      return {"real", "c_double"};
    case GroupType::complex64:
      return {"complex", "c_float_complex"};
    case GroupType::complex128:
      return {"complex", "c_double_complex"};
    default:
      return {"character", "1, c_char"};
  }
}

std::string fortran_literal(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) made += c == '"' ? std::string("\"\"") : std::string(1, c);
  return made + "\"";
}

// A variable with such a name would hide an intrinsic function that generated code calls.
bool hides_a_function(std::string_view text) {
  const std::string name = lower_case(text);
  return name == "int" || name == "real" || name == "cmplx";
}

class FortranSpeech : public Speech {
 public:
  bool is_name(const std::string& text) const override {
    return is_identifier(text) && text[0] != '_' && text.size() <= 63 && !hides_a_function(text);
  }
  std::string number(Count value) const override { return fmt::format("{}_c_int64_t", value); }
  std::string integer(const std::string& value) const override {
    return fmt::format("int({}, c_int64_t)", value);
  }
  bool has_c_order() const override { return false; }

  void begin(const std::vector<std::string>& about) override {
    for (const std::string& words : about) text_ += "! " + words + "\n";
    line(0, "block");
    line(1, "use, intrinsic :: iso_c_binding");
    line(1, "use :: forebay");
  }
  void end() override { line(0, "end block"); }

  void size(const std::string& bytes) override {
    call(1, "forebay_group_size", fmt::format("forebay_file, {}", bytes));
  }
  // Converts to the declared kind, whatever kind the program has.
  void write_scalar(const Spoken& what) override {
    const auto [type, kind] = fortran_type(what.variable->type);
    std::string value = what.value;
    if (type == "integer") value = fmt::format("int({}, {})", value, kind);
    if (type == "real") value = fmt::format("real({}, {})", value, kind);
    if (type == "complex") value = fmt::format("cmplx({}, kind={})", value, kind);
    write("forebay_write", what, value);
  }
  void write_string(const Spoken& what) override {
    write("forebay_write_string", what, what.value);
  }
  void write_array(const Spoken& what) override { write("forebay_write", what, what.value); }

  void read_scalar(const Spoken& what) override {
    const auto [type, kind] = fortran_type(what.variable->type);
    expect(1, what, 0);
    line(1, "block");
    line(2, fmt::format("{}({}) :: forebay_value", type, kind));
    read(2, "forebay_read", what, "forebay_value");
    line(2, fmt::format("if (forebay_status == 0) {} = forebay_value", what.value));
    line(1, "end block");
  }
  void read_string(const Spoken& what) override {
    read(1, "forebay_read_string", what, what.value);
  }
  void read_array(const Spoken& what, const SpokenBox& box) override {
    const std::size_t n = box.count.size();
    line(1, "block");
    line(2, fmt::format("integer(c_int64_t) :: forebay_start({0}), forebay_count({0})", n));
    if (box.summed) line(2, "integer :: forebay_mpi_status");
    const bool divides = !box.divisors.empty();
    if (divides) line(2, "logical :: forebay_divides");
    if (divides) begin_division(box.divisors);
    line(divides ? 3 : 2, fmt::format("forebay_start = [{}]", fmt::join(box.start, ", ")));
    line(divides ? 3 : 2, fmt::format("forebay_count = [{}]", fmt::join(box.count, ", ")));
    if (divides) line(2, "end if");
    if (box.summed) {
      const std::size_t d = *box.summed + 1;
      line(2, fmt::format("call MPI_Scan(forebay_count({0}), forebay_start({0}), 1, MPI_INTEGER8, "
                          "MPI_SUM, forebay_comm, forebay_mpi_status)",
                          d));
      line(2, fmt::format("forebay_start({0}) = forebay_start({0}) - forebay_count({0})", d));
    }
    if (divides) line(2, "if (.not. forebay_divides) forebay_count(1) = -1");
    expect(2, what, n);
    read(2, "forebay_read", what, "forebay_start, forebay_count, " + what.value);
    line(1, "end block");
  }

  Declarations declarations() const override {
    return {"integer :: forebay_file            ", "integer(c_int64_t) :: forebay_step ",
            "integer :: forebay_status          ",
            "forebay_comm                       a communicator whose ranks all include this, "
            "together, with mpi or mpi_f08"};
  }

 private:
  // Fortran may evaluate both sides of .and., and a divisor may itself divide. So divisors are
  // tested one by one.
  void begin_division(const std::vector<std::string>& divisors) {
    line(2, "forebay_start = 0");
    line(2, "forebay_count = 0");
    line(2, "forebay_divides = .true.");
    for (const std::string& divisor : divisors)
      line(2, fmt::format("if (forebay_divides) forebay_divides = {} /= 0", divisor));
    line(2, "if (forebay_divides) then");
  }
  // A line has at most 132 characters. It may be continued anywhere, even in names and text. Here
  // it is continued after a blank, if there is one.
  void line(std::size_t level, std::string_view statement) {
    constexpr std::size_t most = 110;
    const std::string indent(2 * level, ' ');
    text_ += indent;
    while (statement.size() > most) {
      const std::size_t blank = statement.substr(0, most).rfind(' ');
      const std::size_t cut = blank == std::string_view::npos ? most : blank + 1;
      text_ += fmt::format("{}&\n{}  &", statement.substr(0, cut), indent);
      statement.remove_prefix(cut);
    }
    text_ += fmt::format("{}\n", statement);
  }
  void call(std::size_t level, const char* what, const std::string& arguments) {
    line(level,
         fmt::format("if (forebay_status == 0) call {}({}, forebay_status)", what, arguments));
  }
  void write(const char* how, const Spoken& what, const std::string& value) {
    call(1, how, fmt::format("forebay_file, {}, {}", fortran_literal(what.variable->name), value));
  }
  void read(std::size_t level, const char* how, const Spoken& what, const std::string& where) {
    call(level, how,
         fmt::format("forebay_file, {}, {}, {}", fortran_literal(what.variable->name),
                     what.variable->once ? "0_c_int64_t" : "forebay_step", where));
  }
  void expect(std::size_t level, const Spoken& what, std::size_t dimensions) {
    call(level, "forebay_expect",
         fmt::format("forebay_file, {}, \"{}\", {}", fortran_literal(what.variable->name),
                     name_of(what.variable->type), dimensions));
  }
};

}  // namespace

std::unique_ptr<Speech> speak_fortran() { return std::make_unique<FortranSpeech>(); }

}  // namespace forebay::tools
