// Submissions: recognized, copied, built; whatever they hold, only bytes of it are read.
#include "base/temporary_folder.hpp"
#include "checks.hpp"
#include "grade/snapshot.hpp"
#include "grade/submission.hpp"

#include <algorithm>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;
namespace fs = std::filesystem;

namespace {

/// The best sandbox that there is here.
SubmissionOptions options() {
  SubmissionOptions options;
  options.sandbox =
      unavailable(SandboxKind::bubblewrap) ? SandboxKind::process : SandboxKind::bubblewrap;
  return options;
}

std::string refusal(const fs::path& path, const SubmissionOptions& how = options()) {
  return message_of<std::invalid_argument>([&] { Submission(path, how, Adapters()); });
}

struct Folder : TemporaryFolder {
  const fs::path from = path() / "from", to = path() / "to", mine = path() / "mine";

  Submission submitted(const SubmissionOptions& how = options()) const {
    return {mine, how, Adapters()};
  }
};

constexpr const char* project =
    "cmake_minimum_required(VERSION 3.20)\nproject(mine CXX)\n"
    "find_package(prenorm 0.1 REQUIRED)\nprenorm_add_solution(mine mine.cpp)\n";
constexpr const char* source =
    "#include <prenorm/prenorm.hpp>\n#include <cmath>\n"
    "template <class T> void twice(prenorm::View<const T> x, prenorm::View<T> y) {\n"
    "  for (std::int64_t i = 0; i < x.size(); ++i) y[i] = T(std::exp(double(x[i])));\n}\n"
    "PRENORM_SOLUTION(kDLCPU)\nPRENORM_EXPORT(twice, twice)\n";

}  // namespace

BOOST_AUTO_TEST_SUITE(submission)

BOOST_FIXTURE_TEST_CASE(a_snapshot_copies_files_and_keeps_links_as_links, Folder) {
  write(from / "a" / "b.py", "text");
  write(from / "run.sh", "#!/bin/sh\n");
  fs::permissions(from / "run.sh", fs::perms::owner_all);
  fs::create_symlink("/etc/passwd", from / "link");
  fs::create_symlink("..", from / "a" / "up");
  BOOST_TEST(copy_snapshot(from, to).left_out.empty());
  BOOST_TEST(bytes_of(to / "a" / "b.py") == "text");
  BOOST_TEST(fs::read_symlink(to / "link") == "/etc/passwd");
  BOOST_TEST(fs::read_symlink(to / "a" / "up") == "..");
  BOOST_TEST(::access((to / "run.sh").c_str(), X_OK) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_snapshot_leaves_out_what_is_no_work, Folder) {
  write(from / "kept.py", "");
  write(from / ".git" / "config", "");
  write(from / "__pycache__" / "x.pyc", "");
  write(from / "old_build" / "CMakeCache.txt", "");
  write(from / "my_env" / "pyvenv.cfg", "");
  BOOST_TEST(::mkfifo((from / "pipe").c_str(), 0600) == 0);
  std::ofstream(from / "large").seekp((65 << 20) - 1).put('x');
  std::vector<std::string> left_out = copy_snapshot(from, to).left_out;
  std::ranges::sort(left_out);
  const std::vector<std::string> wanted{"left out: large (too large)",
                                        "left out: old_build (an earlier build)",
                                        "left out: pipe (no file, folder or link)"};
  BOOST_TEST(left_out == wanted, boost::test_tools::per_element());
  BOOST_TEST(std::distance(fs::directory_iterator(to), fs::directory_iterator()) == 1);
}

BOOST_FIXTURE_TEST_CASE(folders_nested_without_end_are_no_submission, Folder) {
  fs::create_directory(from);
  OpenFile deep(::open(from.c_str(), O_RDONLY | O_DIRECTORY));
  for (int i = 0; i < 1500; ++i) {
    BOOST_REQUIRE(::mkdirat(deep.get(), "deep", 0700) == 0);
    deep = OpenFile(::openat(deep.get(), "deep", O_RDONLY | O_DIRECTORY));
  }
  const std::string why = "has folders nested deeper than 100";
  BOOST_TEST(message_of<std::invalid_argument>([&] { copy_snapshot(from, to); }) == why);
  BOOST_TEST(message_of<std::invalid_argument>([&] { look_at_snapshot(from); }) == why);
  BOOST_TEST(refusal(from) == from.string() + ": " + why);
}

BOOST_FIXTURE_TEST_CASE(what_has_too_long_a_path_is_left_out, Folder) {
  fs::path deep = from;
  for (int i = 0; i < 11; ++i) deep /= std::string(200, 'd');
  fs::create_directories(deep);
  const std::vector<std::string> left_out = copy_snapshot(from, to).left_out;
  BOOST_REQUIRE(left_out.size() == 1u);
  BOOST_TEST(left_out[0].ends_with("... (its path is too long)"), left_out[0]);
}

BOOST_FIXTURE_TEST_CASE(holes_stay_holes, Folder) {
  fs::create_directory(from);
  constexpr std::size_t size = 60 << 20;
  std::ofstream file(from / "file");
  file.seekp(size / 2).write("middle", 6);
  file.close();
  fs::resize_file(from / "file", size);
  BOOST_TEST(copy_snapshot(from, to).left_out.empty());
  struct stat copy {};
  BOOST_REQUIRE(::stat((to / "file").c_str(), &copy) == 0);
  BOOST_TEST(copy.st_size == static_cast<off_t>(size));
  BOOST_TEST(copy.st_blocks * 512 < (1 << 20));
  BOOST_TEST((bytes_of(to / "file") == bytes_of(from / "file")));
  BOOST_TEST(look_at_snapshot(to).digest == look_at_snapshot(from).digest);
  std::string bytes;
  read_snapshot(
      from, size / 2 + 3, [](const fs::path&) { return true; },
      [&](const fs::path&, const std::string& all) { bytes = all; });
  BOOST_TEST((bytes == std::string(size / 2, '\0') + "mid"));
  // Without a hole it is the same submission.
  std::string dense(size, '\0');
  dense.replace(size / 2, 6, "middle");
  std::ofstream(from / "file") << dense;
  BOOST_TEST(look_at_snapshot(to).digest == look_at_snapshot(from).digest);
}

BOOST_FIXTURE_TEST_CASE(limits_hold_for_what_grows_while_it_is_read, Folder) {
  for (int i = 0; i < 5; ++i) write(path() / (std::to_string(i) + ".so"), "x");
  std::uintmax_t size = 300 << 20;
  std::size_t taken = 0;
  // It is open when its name is asked for.
  const auto grow = [&](const fs::path& name) {
    fs::resize_file(path() / name, size);
    return true;
  };
  const auto take = [&](const fs::path&, const std::string&) { ++taken; };
  read_snapshot(path(), 1, grow, take);
  BOOST_TEST(taken == 0u);
  for (int i = 0; i < 5; ++i) fs::resize_file(path() / (std::to_string(i) + ".so"), 1);
  size = 250 << 20;
  BOOST_CHECK_THROW(read_snapshot(path(), 1, grow, take), std::invalid_argument);
  BOOST_TEST(taken == 4u);
}

BOOST_FIXTURE_TEST_CASE(nothing_has_no_snapshot, Folder) {
  BOOST_CHECK_THROW(look_at_snapshot(from), std::invalid_argument);
  BOOST_CHECK_THROW(copy_snapshot(from, to), std::invalid_argument);
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_submitted_is_told, Folder) {
  const std::string name = path().string();
  BOOST_TEST(refusal(name + "/none") == name + "/none: no such file or folder");
  write(path() / "essay.txt", "");
  BOOST_TEST(refusal(name + "/essay.txt").starts_with(name + "/essay.txt: wanted a folder"));
  BOOST_TEST(refusal(name).starts_with(name + ": nothing in it that can be graded"));
  fs::create_symlink("essay.txt", path() / "lib.so");
  BOOST_TEST(refusal(name + "/lib.so") ==
             name + "/lib.so: is a symbolic link; name what it points to");
  write(path() / "adapters.py", "");
  BOOST_TEST(refusal(name + "/adapters.py") ==
             name + "/adapters.py: is Python, and the rubric names no adapters");
  SubmissionOptions without = options();
  without.python = path() / "python";
  BOOST_TEST(refusal(name + "/adapters.py", without) ==
             name + "/python: no Python there (Debian: python3-torch; --python names another)");
}

BOOST_FIXTURE_TEST_CASE(a_folder_is_known_by_its_files, Folder) {
  write(path() / "src" / "below.cu", "");
  BOOST_CHECK_THROW(submission_kind(path()), std::invalid_argument);
  // What comes later decides.
  for (const auto& [file, kind] :
       {std::pair{"silu.h5", SubmissionKind::outputs},
        std::pair{"mine.so", SubmissionKind::library}, std::pair{"mine.cu", SubmissionKind::cuda},
        std::pair{"adapters.py", SubmissionKind::python},
        std::pair{"CMakeLists.txt", SubmissionKind::cmake}}) {
    write(path() / file, "find_package(prenorm)");
    BOOST_TEST((submission_kind(path()) == kind), file);
  }
}

BOOST_FIXTURE_TEST_CASE(a_project_is_built_and_its_symbols_are_listed, Folder) {
  write(mine / "CMakeLists.txt", project);
  write(mine / "mine.cpp", source);
  const Submission submission = submitted();
  BOOST_TEST(name(submission.status) == "PASSED", submission.message);
  BOOST_TEST(submission.name == "mine");
  BOOST_TEST((submission.kind == SubmissionKind::cmake));
  BOOST_TEST(std::ranges::count(submission.imports, "exp") == 1);
  Solution solution = submission.solution();
  BOOST_TEST(solution.load(), solution.message());
  BOOST_TEST(solution.functions().contains("twice"));
  BOOST_TEST(!fs::exists(mine / "build"));
}

BOOST_FIXTURE_TEST_CASE(a_second_library_is_not_taken, Folder) {
  write(mine / "CMakeLists.txt",
        std::string(project) +
            "\nfile(WRITE ${CMAKE_BINARY_DIR}/part.cpp \"int part() { return 1; }\")\n"
            "add_library(part SHARED ${CMAKE_BINARY_DIR}/part.cpp)\n"
            "target_link_libraries(mine PRIVATE part)\n"
            "target_link_options(mine PRIVATE LINKER:--no-as-needed)\n");
  write(mine / "mine.cpp", source);
  const Submission submission = submitted();
  BOOST_TEST(name(submission.status) == "COMPILE_ERROR");
  BOOST_TEST(submission.message ==
             "needs libpart.so, which it builds too, and only one library is taken: link it in "
             "(STATIC or OBJECT)");
}

BOOST_FIXTURE_TEST_CASE(what_is_wrong_with_a_project_is_told_without_paths_of_ours, Folder) {
  write(mine / "CMakeLists.txt", project);
  write(mine / "mine.cpp", "int f( {\n");
  const auto check_begins = [&](const std::string& beginning) {
    const Submission submission = submitted();
    BOOST_TEST(name(submission.status) == "COMPILE_ERROR");
    BOOST_TEST(submission.message.starts_with(beginning), submission.message);
  };
  check_begins("it does not compile\nmine.cpp:1:");
  write(mine / "mine.cpp", "int nothing;\n");
  check_begins(
      "builds no library that exports prenorm_abi: are the lines PRENORM_SOLUTION(kDLCPU) and "
      "PRENORM_EXPORT(problem, function) missing?");
  write(mine / "CMakeLists.txt", "message(FATAL_ERROR \"not today\")");
  check_begins("cmake could not configure it");
}

BOOST_FIXTURE_TEST_CASE(a_build_without_an_end_is_ended, Folder) {
  write(mine / "CMakeLists.txt", "execute_process(COMMAND sleep 100)\n");
  SubmissionOptions limited = options();
  limited.build_seconds = 0.3;
  const Submission submission = submitted(limited);
  BOOST_TEST(name(submission.status) == "COMPILE_ERROR");
  BOOST_TEST(submission.message == "is not built within 0.3 s");
}

BOOST_AUTO_TEST_CASE(a_library_runs_as_a_copy_and_may_name_a_variant) {
  const fs::path file = fs::path(std::getenv("PRENORM_TEST_SOLUTIONS")) / "libmisbehaving.so";
  const Submission submission(file, options(), Adapters());
  BOOST_TEST((submission.kind == SubmissionKind::library));
  Solution solution = submission.solution();
  BOOST_TEST(solution.load(), solution.message());
  const Submission variant(file / "some", options(), Adapters());
  BOOST_TEST(variant.solution().variant() == "some");
  BOOST_TEST(variant.name == file.filename().string() + "/some");
}

BOOST_AUTO_TEST_CASE(a_device_is_there_for_those_that_ask_for_one) {
  const fs::path solutions = std::getenv("PRENORM_TEST_SOLUTIONS");
  const auto message = [](const fs::path& library) {
    const Submission submission(library, options(), Adapters());
    Solution solution = submission.solution();
    return solution.load() ? "device: " + std::to_string(solution.on_device()) : solution.message();
  };
  BOOST_TEST(message(solutions / "libon_device.so") == "no CUDA device");
  ::setenv("PRENORM_CUDA_DRIVER", (solutions / "libfake_cuda.so").c_str(), 1);
  BOOST_TEST(message(solutions / "libon_device.so") == "device: 1");
  BOOST_TEST(message(solutions / "libpair.so") == "device: 0");
  ::unsetenv("PRENORM_CUDA_DRIVER");
}

BOOST_FIXTURE_TEST_CASE(outputs_are_read_by_problem, Folder) {
  OutputsFile outputs;
  outputs.problem = "square";
  outputs.entries.push_back({"small", "y", Tensor(DType::float32, {2, 3})});
  write_outputs(path() / "any_name.h5", outputs);
  const Submission submission(path(), options(), Adapters());
  BOOST_TEST(name(submission.status) == "PASSED", submission.message);
  BOOST_REQUIRE(submission.outputs("square") != nullptr);
  BOOST_TEST(submission.outputs("square")->entries.size() == 1u);
  BOOST_TEST(submission.outputs("other") == nullptr);
  write(path() / "broken.h5", "no HDF5");
  const Submission both(path(), options(), Adapters());
  BOOST_TEST(both.outputs("square") != nullptr);
  BOOST_REQUIRE(both.notes.size() == 1u);
  BOOST_TEST(both.notes[0].starts_with("not used: broken.h5: "), both.notes[0]);
  const Submission broken(path() / "broken.h5", options(), Adapters());
  BOOST_TEST(name(broken.status) == "BAD_FIXTURE");
  BOOST_TEST(broken.message.starts_with("broken.h5: "), broken.message);
}

BOOST_AUTO_TEST_SUITE_END()
