// What `prenorm watch` keeps from save to save, what it shows, and which files it looks at.
#include "base/temporary_folder.hpp"
#include "checks.hpp"
#include "watch/screen.hpp"
#include "watch/wait.hpp"

#include <sys/resource.h>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;
namespace fs = std::filesystem;

BOOST_AUTO_TEST_SUITE(watch_screen)

namespace {

WatchedCase one(const std::string& problem, const std::string& name, Status status,
                std::int64_t elements = 4) {
  return {problem, name, "x[2, 2] -> y[2, 2]", "y: 1 of 4 elements wrong", status, elements};
}

constexpr Status good = Status::passed, bad = Status::incorrect_numerical;

struct Watched {
  History history;
  ScreenState state;
};

Attempt attempt(std::vector<WatchedCase> cases) {
  Attempt made;
  made.cases = std::move(cases);
  return made;
}

std::vector<std::string> names(const std::vector<const WatchedCase*>& cases) {
  std::vector<std::string> found;
  for (const WatchedCase* each : cases) found.push_back(each->name);
  return found;
}

/// The change that is reported within a second; empty if none is.
fs::path change(FileChanges& changes) {
  std::array waiting{pollfd{changes.descriptor(), POLLIN, 0}};
  return wait_for(waiting, 1000) == Waited::ready ? changes.take() : fs::path();
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_save_is_compared_with_the_verdicts_before_it, Watched) {
  history.take(attempt({one("f", "a", bad), one("f", "b", good), one("g", "c", bad)}));
  BOOST_TEST(history.fixed().empty());
  BOOST_TEST(history.broken().empty());
  history.saved();
  history.take(attempt({one("f", "a", good), one("f", "b", bad)}));  // the failing ones first
  BOOST_TEST(names(history.fixed()) == std::vector<std::string>{"a"});
  BOOST_TEST(names(history.broken()) == std::vector<std::string>{"b"});
  const auto counts = history.counts();
  BOOST_TEST(counts.size() == 2U);
  BOOST_TEST(counts[0].passed == 1U);
  BOOST_TEST(counts[1].asked == 1U);  // of the earlier report
  history.saved();
  BOOST_TEST(history.fixed().empty());
  BOOST_TEST(history.broken().empty());
}

BOOST_FIXTURE_TEST_CASE(the_first_failure_is_the_smallest_of_what_just_broke, Watched) {
  history.take(attempt({one("f", "large", bad, 100), one("f", "small", bad, 2),
                        one("f", "crash", Status::runtime_error, 0), one("g", "later", good),
                        one("h", "absent", Status::not_implemented, 0)}));
  BOOST_TEST(history.first_failure()->name == "small");
  BOOST_TEST((names(history.failing(9)) == std::vector<std::string>{"small", "large", "crash"}));
  BOOST_TEST(history.failing(1).size() == 1U);
  history.saved();
  history.take(attempt({one("g", "later", bad)}));
  BOOST_TEST(history.first_failure()->name == "later");
}

BOOST_FIXTURE_TEST_CASE(what_costs_most_comes_first, Watched) {
  Attempt wrong = attempt({one("f", "a", bad), one("g", "far", bad, 131090),
                           one("g", "seq_7", bad, 99), one("h", "c", bad)});
  wrong.lost = {{"f", 0.06}, {"g", 16}, {"h", 16}};
  history.take(wrong);
  BOOST_TEST(history.first_failure()->name == "seq_7");
  BOOST_TEST(history.first_failure("f")->name == "a");
  BOOST_TEST(history.first_failure("absent") == nullptr);
}

BOOST_FIXTURE_TEST_CASE(what_failed_before_a_save_is_no_failure_of_what_was_saved, Watched) {
  history.take(attempt({one("f", "a", bad), one("f", "b", bad), one("f", "c", good)}));
  history.saved();
  BOOST_TEST(history.first_failure()->name == "a");  // nothing is known of the new text yet
  history.take(attempt({one("f", "a", good)}));
  BOOST_TEST(history.first_failure() == nullptr);
  BOOST_TEST(history.counts()[0].waiting == 1U);
  BOOST_TEST(
      contains(screen_text(history, state), "· f: 2 of 3 cases pass, 1 that failed run next"));
  history.take(attempt({one("f", "a", good), one("f", "b", bad), one("f", "c", good)}));
  BOOST_TEST(history.first_failure()->name == "b");
  BOOST_TEST(contains(screen_text(history, state), "✗ f: 2 of 3 cases pass\n"));
}

BOOST_FIXTURE_TEST_CASE(a_cause_that_is_gone_is_forgotten, Watched) {
  Attempt wrong = attempt({one("f", "a", bad)});
  wrong.causes["f"].heading = "looks like no eps";
  history.take(wrong);
  BOOST_TEST(history.cause("f")->heading == "looks like no eps");
  history.take(attempt({one("f", "a", bad)}));
  BOOST_TEST(history.cause("f") == nullptr);
}

BOOST_AUTO_TEST_CASE(hints_go_from_vague_to_plain) {
  const WatchedCase failing = one("f", "a", bad);
  const WatchedCause known{"looks like no eps", "eps is left out.", "What of a row of zeros?", {}};
  const auto ladder = hint_ladder(failing, &known, "y = x / rms");
  BOOST_TEST(ladder.size() == 3U);
  BOOST_TEST(ladder[0] == "What of a row of zeros?");
  BOOST_TEST(contains(ladder[1], "eps is left out"));
  BOOST_TEST(contains(ladder[2], "y = x / rms"));
  const WatchedCause unknown{"", "", "", {"y does not sum to 1"}};
  BOOST_TEST(contains(hint_ladder(failing, &unknown, "")[1], "y does not sum to 1"));
  BOOST_TEST(hint_ladder(failing, nullptr, "").size() == 1U);
  BOOST_TEST(
      contains(hint_ladder(one("f", "a", Status::runtime_error), nullptr, "")[0], "message"));
  BOOST_TEST(
      contains(hint_ladder(one("f", "a", Status::incorrect_shape), nullptr, "")[0], "shape"));
  BOOST_TEST(contains(hint_ladder(one("f", "a", bad, 64), nullptr, "")[0], "by hand"));
  BOOST_TEST(!contains(hint_ladder(one("f", "a", bad, 65), nullptr, "")[0], "by hand"));
  BOOST_TEST(hint_lines(ladder, 0).empty());
  BOOST_TEST(
      (hint_lines(ladder, 1) == std::vector<std::string>{"hint 1 of 3: What of a row of zeros?"}));
  BOOST_TEST(hint_lines(ladder, 3).back().starts_with("hint 3 of 3"));
  BOOST_TEST(hint_lines(ladder, 4).back() == "there is no further hint");
}

BOOST_FIXTURE_TEST_CASE(the_screen_tells_what_passes_what_broke_and_the_first_failure, Watched) {
  history.take(
      attempt({one("f", "a", good), one("g", "b", good), one("h", "c", Status::not_implemented)}));
  history.saved();
  Attempt wrong = attempt({one("f", "a", bad)});
  wrong.causes["f"] = {"looks like no eps", "eps is left out.", "What of a row of zeros?", {}};
  history.take(wrong);
  state.path = "mine";
  const std::string before = screen_text(history, state);
  check_has(before, {"f: 0 of 1 cases pass", "✓ g 1", "not written yet: h", "broke (1): f a",
                     "first failure: f, a (INCORRECT_NUMERICAL)", "x[2, 2] -> y[2, 2]",
                     "1 of 4 elements wrong", "looks like no eps"});
  check_lacks(before, {"hint 1"});
  state.hints = 1;
  BOOST_TEST(contains(screen_text(history, state), "hint 1 of 2: What of a row of zeros?"));
  state.hints = 9;
  check_has(screen_text(history, state), {"hint 2 of 2", "there is no further hint"});
}

BOOST_FIXTURE_TEST_CASE(lines_fit_the_width_and_no_colour_means_none, Watched) {
  Attempt wrong = attempt({one("f", "a", bad)});
  wrong.cases[0].message =
      "many words that go on and on, for longer than a narrow terminal is wide";
  history.take(wrong);
  state.width = 40;
  std::istringstream narrow(screen_text(history, state));
  for (std::string line; std::getline(narrow, line);) BOOST_TEST(line.size() <= 44U, line);
  BOOST_TEST(!contains(narrow.str(), "\033"));
  state.colour = true;
  BOOST_TEST(contains(screen_text(history, state), "\033[31m"));
}

BOOST_FIXTURE_TEST_CASE(saves_are_noticed_and_noise_is_not, TemporaryFolder) {
  fs::create_directory(path() / "src");
  FileChanges changes(path());
  BOOST_TEST(changes.take().empty());
  write(path() / "src/a.cpp", "text");
  BOOST_TEST(change(changes) == "src/a.cpp");
  fs::create_directories(path() / "__pycache__");
  write(path() / ".a.cpp.swp", "text");
  write(path() / "a.cpp~", "text");
  BOOST_TEST(change(changes).empty());
  // As editors save: a new file takes the name.
  write(path() / ".new", "text");
  fs::rename(path() / ".new", path() / "b.py");
  BOOST_TEST(change(changes) == "b.py");
  fs::remove(path() / "b.py");
  BOOST_TEST(change(changes) == "b.py");
  // A new folder is watched too.
  fs::create_directory(path() / "more");
  change(changes);
  write(path() / "more/c.cu", "text");
  BOOST_TEST(change(changes) == "more/c.cu");
}

BOOST_FIXTURE_TEST_CASE(of_a_single_file_only_it_counts, TemporaryFolder) {
  write(path() / "mine.cu", "text");
  FileChanges changes(path() / "mine.cu");
  write(path() / "other.cu", "text");
  BOOST_TEST(change(changes).empty());
  write(path() / "mine.cu", "text");
  BOOST_TEST(change(changes) == "mine.cu");
}

BOOST_AUTO_TEST_CASE(a_path_that_does_not_exist_cannot_be_watched) {
  BOOST_CHECK_THROW(FileChanges("/no/such/folder"), std::system_error);
}

BOOST_AUTO_TEST_CASE(a_wait_that_fails_is_no_signal) {
  std::array waiting{pollfd{0, POLLIN, 0}};
  rlimit files{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &files) == 0);
  const rlimit none{0, files.rlim_max};  // then poll() refuses to wait for any
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  BOOST_CHECK_THROW(wait_for(waiting, 0), std::system_error);
  ::setrlimit(RLIMIT_NOFILE, &files);
  waiting[0].fd = -1;
  BOOST_TEST((wait_for(waiting, 0) == Waited::in_vain));
}

BOOST_AUTO_TEST_SUITE_END()
