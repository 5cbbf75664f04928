#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/attempt.h"
#include "comm/thread_ranks.h"
#include "groups/process_group/name_catalogue.h"

namespace forebay::process_group {
namespace catalogue_ranks_test {

Name named(const std::string& name, bp::Type type = bp::Type::int32) {
  return {{name, type}, Kind::global, 2};
}

std::vector<std::string> names_in(const Catalogue& catalogue) {
  std::vector<std::string> names;
  for (std::size_t n = 0; n < catalogue.size(); ++n) names.push_back(catalogue[n].variable.name);
  return names;
}

TEST(CatalogueRanks, all_ranks_know_the_names_of_each_in_one_order) {
  run_as_threads(5, [](const Comm& comm) {
    Catalogue catalogue;
    const auto agree = [&](const std::vector<Name>& mine) { catalogue.agree(comm, mine, {}); };
    using Names = std::vector<std::string>;
    agree({});
    EXPECT_EQ(catalogue.size(), 0U);
    agree({named("a"), named("b")});  // all ranks have the same names
    EXPECT_EQ(names_in(catalogue), (Names{"a", "b"}));
    EXPECT_EQ(catalogue[0].owner, 0);
    if (comm.rank() >= 3)  // some ranks have the same names
      agree({named("c")});
    else
      agree({});
    EXPECT_EQ(names_in(catalogue), (Names{"a", "b", "c"}));
    EXPECT_EQ(catalogue[2].owner, 3);
    const std::string own(200, static_cast<char>('p' + comm.rank() / 2));  // different names
    agree({named(own), named("d")});
    EXPECT_EQ(catalogue.size(), 7U);
    EXPECT_EQ(catalogue[*catalogue.find("d", false)].owner, 0);
    EXPECT_EQ(catalogue[*catalogue.find(std::string(200, 'q'), false)].owner, 2);
    EXPECT_EQ(catalogue[*catalogue.find(own, false)], named(own));
    EXPECT_FALSE(catalogue.find("d", true));
  });
}

TEST(CatalogueRanks, one_name_with_two_types_is_an_error_on_all_and_teaches_nothing) {
  run_as_threads(3, [](const Comm& comm) {
    Catalogue catalogue;
    const auto type = comm.rank() == 2 ? bp::Type::int64 : bp::Type::int32;
    const auto failed =
        attempt_to([&] { catalogue.agree(comm, std::vector{named("a", type)}, {}); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::emultidefine_var_type);
    EXPECT_EQ(catalogue.size(), 0U);
    catalogue.agree(comm, std::vector{named("a")}, {});
    EXPECT_EQ(catalogue.size(), 1U);
  });
}

TEST(CatalogueRanks, an_error_from_before_is_thrown_on_all) {
  run_as_threads(3, [](const Comm& comm) {
    Catalogue catalogue;
    std::optional<Error> mine;
    if (comm.rank() == 1) mine = Error(Errc::enomem);
    const auto failed = attempt_to([&] { catalogue.agree(comm, std::vector{named("a")}, mine); });
    ASSERT_TRUE(failed);
    EXPECT_EQ(failed->code(), Errc::enomem);
    EXPECT_EQ(catalogue.size(), 0U);
  });
}

}  // namespace catalogue_ranks_test
}  // namespace forebay::process_group
