// Folders for a while: removed with the object, and what killed programs have left, too.
#include "base/temporary_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace prenorm::harness;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(temporary_folder)

BOOST_AUTO_TEST_CASE(it_is_private_and_removed_with_all_that_is_in_it) {
  fs::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    struct stat info {};
    BOOST_TEST(::stat(path.c_str(), &info) == 0);
    BOOST_TEST((info.st_mode & 0777) == 0700);
    fs::create_directories(path / "a" / "b");
    std::ofstream(path / "a" / "file") << "text";
  }
  BOOST_TEST(!fs::exists(path));
}

/// Makes a folder in a program of its own, which ends without removing it.
void make_and_end(const fs::path& parent) {
  const pid_t child = ::fork();
  if (child == 0) {
    const TemporaryFolder folder(parent);
    std::ofstream(folder.path() / "file") << "text";
    ::_exit(0);
  }
  int status = -1;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(what_a_killed_program_left_is_removed_by_the_next) {
  const TemporaryFolder place;
  const fs::path others = place.path() / "prenorm-scratch";
  fs::create_directory(others);
  make_and_end(place.path());
  fs::path left;
  for (const auto& entry : fs::directory_iterator(place.path())) {
    if (entry.path() != others) left = entry.path();
  }
  BOOST_REQUIRE(fs::exists(left / "file"));
  const TemporaryFolder in_use(place.path());
  TemporaryFolder::remove_left(place.path());
  BOOST_TEST(!fs::exists(left));
  BOOST_TEST(fs::exists(in_use.path()));
  BOOST_TEST(fs::exists(others));
}

BOOST_AUTO_TEST_SUITE_END()
