// Trees that strangers have made: walked, measured and removed, however deep, wide or locked.
#include "base/files.hpp"
#include "base/temporary_folder.hpp"
#include "base/tree.hpp"
#include "skip.hpp"

#include <boost/test/unit_test.hpp>
#include <fcntl.h>
#include <fstream>
#include <sys/fsuid.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace prenorm::harness;
namespace fs = std::filesystem;

namespace {

constexpr TreeLimits limits{1000, 1 << 20, 100};
constexpr int folder_flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// Folders nested in each other, all called "d".
void nest(const fs::path& top, int depth) {
  OpenFile folder(::open(top.c_str(), folder_flags));
  for (int i = 0; i < depth; ++i) {
    BOOST_REQUIRE(::mkdirat(folder.get(), "d", 0700) == 0);
    folder = OpenFile(::openat(folder.get(), "d", folder_flags));
    BOOST_REQUIRE(folder.is_open());
  }
}

void write(const fs::path& path, std::size_t bytes = 1) {
  fs::create_directories(path.parent_path());
  std::ofstream(path) << std::string(bytes, 'x');
}

std::string walked(const fs::path& top) {
  std::string paths;
  TreeWalk walk(top, limits);
  while (const TreeEntry* entry = walk.next()) {
    paths += entry->path.string() + ' ';
    if (entry->is_folder()) walk.enter();
  }
  return paths;
}

long megabytes_at_most() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss >> 10;
}

/// As a machine has it where nobody has raised it.
class UsualDescriptors {
 public:
  UsualDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    rlimit usual = before_;
    usual.rlim_cur = std::min<rlim_t>(1024, before_.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &usual);
  }
  ~UsualDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

/// Files are made and removed by an ordinary user, even where the test is root.
class OrdinaryUser {
 public:
  explicit OrdinaryUser(const fs::path& folder) {
    constexpr uid_t nobody = 65534;
    if (::geteuid() != 0) return;
    BOOST_REQUIRE(::chown(folder.c_str(), nobody, nobody) == 0);
    ::setfsuid(nobody);
  }
  ~OrdinaryUser() { ::setfsuid(::geteuid()); }
};

}  // namespace

BOOST_AUTO_TEST_SUITE(tree)

BOOST_FIXTURE_TEST_CASE(a_walk_is_sorted_and_follows_no_link, TemporaryFolder) {
  write(path() / "b" / "2");
  write(path() / "b" / "1");
  write(path() / "b.txt");
  write(path() / "a" / "deeper" / "file");
  fs::create_directory_symlink("/etc", path() / "link");
  BOOST_TEST(walked(path()) == " a a/deeper a/deeper/file b b/1 b/2 b.txt link ");
  BOOST_TEST(walked(path() / "b.txt") == " ");
  BOOST_TEST(walked(path() / "link") == " ");
  BOOST_CHECK_THROW(walked(path() / "none"), std::system_error);
}

BOOST_FIXTURE_TEST_CASE(a_walk_has_limits, TemporaryFolder) {
  nest(path(), 100);
  BOOST_CHECK_NO_THROW(walked(path()));
  nest(path() / "d" / "..", 0);
  BOOST_REQUIRE(!remove_tree(path() / "d"));
  nest(path(), 101);
  BOOST_CHECK_THROW(walked(path()), TreeTooLarge);
  BOOST_REQUIRE(!remove_tree(path() / "d"));
  for (int i = 0; i < 1000; ++i) write(path() / std::to_string(i), 0);
  BOOST_CHECK_THROW(walked(path()), TreeTooLarge);
}

BOOST_FIXTURE_TEST_CASE(a_folder_replaced_by_a_link_is_not_entered, TemporaryFolder) {
  write(path() / "a" / "file");
  write(path() / "b");
  TreeWalk walk(path(), limits);
  walk.next();
  walk.enter();
  BOOST_TEST(walk.next()->is_folder());
  fs::rename(path() / "a", path() / "moved");
  fs::create_directory_symlink("/etc", path() / "a");
  BOOST_CHECK_THROW(walk.enter(), std::system_error);
  BOOST_TEST(walk.next()->name == "b");
  BOOST_TEST(walk.next() == nullptr);
}

BOOST_FIXTURE_TEST_CASE(a_folder_moved_away_while_it_is_walked_leads_nowhere_else,
                        TemporaryFolder) {
  write(path() / "tree" / "a" / "b" / "1");
  write(path() / "tree" / "c");
  write(path() / "outside" / "secret");
  TreeWalk walk(path() / "tree", limits);
  const auto enter_next = [&walk] {
    walk.next();
    walk.enter();
  };
  for (int i = 0; i < 3; ++i) enter_next();
  BOOST_TEST(walk.next()->path == "a/b/1");
  fs::rename(path() / "tree" / "a" / "b", path() / "outside" / "b");
  BOOST_TEST(walk.next()->path == "c");
  BOOST_TEST(walk.next() == nullptr);
}

BOOST_FIXTURE_TEST_CASE(usage_is_counted_until_a_limit_is_exceeded, TemporaryFolder) {
  write(path() / "a" / "file", 100'000);
  std::ofstream(path() / "hole").seekp(60 << 20).put('x');
  const TreeUsage usage = usage_of(path(), limits);
  BOOST_TEST(usage.entries == 3u);
  BOOST_TEST(usage.bytes >= 100'000u);
  BOOST_TEST(!usage.exceeded.has_value());
  const auto exceeded = [&](const TreeLimits& most) {
    return usage_of(path(), most).exceeded.value();
  };
  BOOST_TEST(exceeded({1000, 50'000, 100}) == "has more than 50000 bytes");
  BOOST_TEST(exceeded({2, 1 << 20, 100}) == "has more than 2 files");
  BOOST_TEST(exceeded({1000, 1 << 20, 0}) == "has folders nested deeper than 0");
  BOOST_TEST(usage_of(path() / "none", limits).entries == 0u);
}

BOOST_FIXTURE_TEST_CASE(usage_of_a_folder_that_is_changed_meanwhile, TemporaryFolder) {
  std::jthread other([&](const std::stop_token& stop) {
    std::error_code ignored;
    while (!stop.stop_requested()) {
      fs::create_directories(path() / "a" / "b" / "c", ignored);
      fs::rename(path() / "a" / "b", path() / "b", ignored);
      fs::remove(path() / "b" / "c", ignored);
      fs::remove(path() / "b", ignored);
    }
  });
  for (int i = 0; i < 2000; ++i) {
    BOOST_TEST_REQUIRE(!usage_of(path(), limits).exceeded.has_value());
  }
}

BOOST_FIXTURE_TEST_CASE(folders_however_deep_are_removed, TemporaryFolder) {
  const UsualDescriptors usual;
  const long before = megabytes_at_most();
  for (const int depth : {1'500, 12'000}) {
    fs::create_directory(path() / "deep");
    nest(path() / "deep", depth);
    BOOST_TEST(usage_of(path() / "deep", limits).exceeded.has_value());
    BOOST_TEST(remove_tree(path() / "deep").value_or("") == "");
    BOOST_TEST(!fs::exists(path() / "deep"));
  }
  BOOST_TEST(megabytes_at_most() - before < 50);
}

BOOST_FIXTURE_TEST_CASE(wide_folders_are_removed, TemporaryFolder) {
  const fs::path wide = path() / "wide";
  fs::create_directory(wide);
  for (int i = 0; i < 50'000; ++i) {
    const std::string name = "left-" + std::to_string(i);
    if (i % 20 == 0) {
      fs::create_directories(wide / "sub" / name / name);
    } else {
      BOOST_REQUIRE(::mknod((wide / name).c_str(), S_IFREG | 0600, 0) == 0);
    }
  }
  BOOST_TEST(remove_tree(wide).value_or("") == "");
  BOOST_TEST(!fs::exists(wide));
}

BOOST_FIXTURE_TEST_CASE(what_links_point_to_stays, TemporaryFolder) {
  write(path() / "kept" / "file");
  write(path() / "tree" / "a" / "b" / "file");
  fs::create_directory_symlink(path() / "kept", path() / "tree" / "a" / "b" / "link");
  fs::create_directory_symlink(path() / "kept", path() / "link");
  BOOST_TEST(!remove_tree(path() / "tree").has_value());
  BOOST_TEST(!remove_tree(path() / "link").has_value());
  BOOST_TEST(!fs::exists(fs::symlink_status(path() / "link")));
  BOOST_TEST(fs::exists(path() / "kept" / "file"));
  BOOST_TEST(!remove_tree(path() / "kept" / "file").has_value());
  BOOST_TEST(!remove_tree(path() / "none").has_value());
}

BOOST_FIXTURE_TEST_CASE(folders_without_rights_are_removed_by_their_owner, TemporaryFolder) {
  const OrdinaryUser user(path());
  const fs::path locked = path() / "locked";
  write(locked / "a" / "b" / "c" / "file");
  for (const fs::path& each :
       {locked / "a" / "b" / "c", locked / "a" / "b", locked / "a", locked}) {
    BOOST_REQUIRE(::chmod(each.c_str(), 0) == 0);
  }
  BOOST_TEST(usage_of(path(), limits).exceeded.value_or("") == "has a folder that cannot be read");
  BOOST_TEST(remove_tree(locked).value_or("") == "");
  BOOST_TEST(!fs::exists(locked));
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_removed_is_told, TemporaryFolder) {
  if (::geteuid() != 0) {
    BOOST_TEST(prenorm::testing::skip("tree", "only root has files of others"));
    return;
  }
  write(path() / "theirs" / "file");
  write(path() / "theirs" / "other" / "file");
  fs::create_directory(path() / "mine");
  fs::permissions(path(), fs::perms(0755));
  const OrdinaryUser user(path() / "mine");
  const std::optional<std::string> why = remove_tree(path() / "theirs");
  BOOST_REQUIRE(why.has_value());
  BOOST_TEST(why->ends_with("Permission denied"), *why);
  BOOST_TEST(::access((path() / "theirs" / "other" / "file").c_str(), F_OK) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
