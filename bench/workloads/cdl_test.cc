#include "workloads/cdl.h"

#include <gtest/gtest.h>

#include "workloads/f_header.h"

namespace forebay::bench::cdl {
namespace {

constexpr const char* kSmall = R"(netcdf small {
// file format: CDF-5 (big variables)
dimensions:
  time = UNLIMITED ; // (3 currently)
  x = 4, y = 5 ;
variables:
  double t(time) ;
    t:units = "s" ;
  float a(time, y, x), b(x) ;
    a:_FillValue = 1.e+20f ;
    a:range = -1., 2.5 ;
    b:flags = 1b, 2b ;
    b:count = -7 ;
    b:big = 5000000000 ;
    b:wide = 3LL ;
    b:text = "one\n",
    "two \"quoted\"" ;
  int scalar ;

// global attributes:
    :title = "" ;
    :version = 2s ;
}
)";

const Attribute& att(const std::vector<Attribute>& atts, const std::string& name) {
  for (const Attribute& a : atts) {
    if (a.name == name) return a;
  }
  throw std::runtime_error("no attribute " + name);
}

TEST(Cdl, reads_dimensions_and_variables) {
  const Header h = parse(kSmall);
  EXPECT_EQ(h.name, "small");
  ASSERT_EQ(h.dims.size(), 3u);
  EXPECT_TRUE(h.dims[0].unlimited);
  EXPECT_EQ(h.dims[2].length, 5);
  ASSERT_EQ(h.vars.size(), 4u);
  EXPECT_EQ(h.vars[1].dims, (std::vector<int>{0, 2, 1}));
  EXPECT_TRUE(h.is_record(h.vars[1]));
  EXPECT_EQ(h.vars[2].name, "b");
  EXPECT_FALSE(h.is_record(h.vars[2]));
  EXPECT_TRUE(h.vars[3].dims.empty());
}

TEST(Cdl, gives_attribute_values_their_types) {
  const Header h = parse(kSmall);
  const auto& a = h.vars[1].atts;
  const auto& b = h.vars[2].atts;
  EXPECT_EQ(att(a, "_FillValue").type, Type::Float);
  EXPECT_EQ(std::get<std::vector<double>>(att(a, "range").values), (std::vector<double>{-1, 2.5}));
  EXPECT_EQ(att(a, "range").type, Type::Double);
  EXPECT_EQ(att(b, "flags").type, Type::Byte);
  EXPECT_EQ(att(b, "count").type, Type::Int);
  EXPECT_EQ(std::get<std::vector<std::int64_t>>(att(b, "count").values).front(), -7);
  EXPECT_EQ(att(b, "big").type, Type::Int64);
  EXPECT_EQ(att(b, "wide").type, Type::Int64);
  EXPECT_EQ(att(h.atts, "version").type, Type::Short);
}

TEST(Cdl, joins_strings_and_resolves_escapes) {
  const Header h = parse(kSmall);
  EXPECT_EQ(std::get<std::string>(att(h.vars[2].atts, "text").values), "one\ntwo \"quoted\"");
  EXPECT_EQ(std::get<std::string>(att(h.atts, "title").values), "");
}

TEST(Cdl, names_the_line_of_an_error) {
  try {
    parse("netcdf n {\ndimensions:\n\tx = 4 ;\nvariables:\n\tfloat v(z) ;\n}\n");
    FAIL() << "an unknown dimension was accepted";
  } catch (const ParseError& e) {
    EXPECT_NE(std::string(e.what()).find("line 5"), std::string::npos) << e.what();
  }
}

TEST(Cdl, rejects_text_that_ends_early_or_makes_no_sense) {
  for (const char* text :
       {"", "netcdf", "netcdf n {", "netcdf n { variables: float v(", "netcdf n { :a = \"x",
        "netcdf n { :a = 1 ", "netcdf n { :a = 1q ; }", "netcdf n { dimensions: x = -1 ; }",
        "netcdf n { variables: v:a = 1 ; }", "netcdf n { :a = 1, \"x\" ; }"}) {
    EXPECT_THROW(parse(text), ParseError) << text;
  }
}

TEST(FHeader, has_the_shape_of_the_recorded_case) {
  const Header h = make_f_header(866, 72);
  int small = 0, columns = 0, levels = 0;
  for (const Variable& var : h.vars) {
    const bool on_columns = !var.dims.empty() && var.dims.back() == h.find_dim("ncol");
    const bool on_levels = on_columns && var.dims.size() == 3;
    ++(on_levels ? levels : on_columns ? columns : small);
  }
  EXPECT_EQ(small, 27);
  EXPECT_EQ(columns, 324);  // area and 323 others
  EXPECT_EQ(levels, 63);
}

}  // namespace
}  // namespace forebay::bench::cdl
