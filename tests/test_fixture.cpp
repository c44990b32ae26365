// Fixture files: broken ones are refused by name, unusual ones read, written ones read back.
//
// tests/broken_fixtures.py made the files in $PRENORM_BROKEN_FIXTURES; those in corpus/hdf5 crash
// or hang libhdf5 itself.
#include "fixture_testing.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <fstream>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

BOOST_AUTO_TEST_SUITE(fixture)

BOOST_AUTO_TEST_CASE(broken_files_are_refused_by_file_and_object) {
  std::ifstream list(made_files() / "broken.txt");
  int count = 0;
  for (std::string line; std::getline(list, line); ++count) {
    const std::vector<std::string> words = fields_of(line);
    const fs::path path = made_files() / "broken" / (words.at(0) + ".h5");
    const std::string message = refusal(path);
    BOOST_TEST_CONTEXT(words[0]) {
      BOOST_TEST(message.starts_with(path.string() + ": "), message);
      for (std::size_t i = 1; i < words.size(); ++i) {
        BOOST_TEST(contains(message, words[i]), message << " -- wanted: " << words[i]);
      }
      BOOST_TEST(message.find_first_of("\n\x1b") == std::string::npos, message);
    }
  }
  BOOST_TEST(count >= 120);
}

BOOST_AUTO_TEST_CASE(unusual_files_are_read) {
  const auto files = files_in(made_files() / "unusual");
  BOOST_TEST(files.size() >= 29u);
  for (const fs::path& path : files) {
    BOOST_TEST_CONTEXT(path.filename()) { BOOST_CHECK_NO_THROW(check_content(path)); }
  }
}

BOOST_AUTO_TEST_CASE(element_types_are_recognized) {
  const auto type_in = [](const char* name) {
    return Fixture(made_files() / "unusual" / name).cases().at(0).dtype();
  };
  BOOST_TEST((type_in("plain.h5") == DType::float32));
  BOOST_TEST((type_in("float64.h5") == DType::float64));
  BOOST_TEST((type_in("float16.h5") == DType::float16));
  BOOST_TEST((type_in("bfloat16.h5") == DType::bfloat16));
  BOOST_TEST((type_in("big_endian_float16.h5") == DType::float16));
}

BOOST_AUTO_TEST_CASE(tensors_without_axes_or_elements_are_read) {
  const Fixture scalar(made_files() / "shapes/no_axes.h5");
  const Case& one = scalar.cases().at(0);
  BOOST_TEST((one.outputs[0].shape == Shape{}));
  for (const auto& input : scalar.inputs(one)) BOOST_TEST((values(*input) == std::vector{1.0}));
  BOOST_TEST((values(scalar.expected(one)[0]) == std::vector{1.0}));

  const Fixture empty(made_files() / "shapes/no_elements.h5");
  BOOST_TEST((empty.cases().at(0).outputs[0].shape == Shape{2, 0, 3}));
  for (const auto& input : empty.inputs(empty.cases()[0])) BOOST_TEST(input->data.empty());
}

BOOST_AUTO_TEST_CASE(tolerances_may_be_wanting_where_that_is_allowed) {
  const fs::path folder = made_files() / "broken";
  std::ifstream is_there(folder / "atol_missing.h5");
  BOOST_TEST(is_there.good());
  // One without the other is a mistake all the same.
  BOOST_CHECK_THROW(Fixture(folder / "atol_missing.h5", {}, {.tolerances = false}), BadFixture);
  const Scratch scratch;
  LoadedCase made = new_case("a", DType::float32, {3});
  made.info.outputs[0].tolerance.reset();
  write_fixture(scratch / "a.h5", "scale", written_signature, "", "", std::vector{made});
  BOOST_TEST(contains(refusal(scratch / "a.h5"), "/cases/a/outputs/y: attribute atol is missing"));
  const Fixture fixture(scratch / "a.h5", {}, {.tolerances = false});
  BOOST_TEST(!fixture.cases().at(0).outputs.at(0).tolerance.has_value());
}

BOOST_AUTO_TEST_CASE(paths_that_are_no_files) {
  const Scratch scratch;
  BOOST_TEST(contains(refusal(scratch / "absent.h5"), "absent.h5: No such file"));
  BOOST_TEST(contains(refusal(scratch.path()), "is a folder"));
  BOOST_TEST(::mkfifo((scratch / "pipe.h5").c_str(), 0600) == 0);
  BOOST_TEST(contains(refusal(scratch / "pipe.h5"), "not a regular file"));
  BOOST_TEST(contains(refusal("/dev/zero"), "not a regular file"));
  if (::geteuid() != 0) {  // root may read everything
    write_some(scratch / "secret.h5");
    fs::permissions(scratch / "secret.h5", fs::perms::none);
    BOOST_TEST(contains(refusal(scratch / "secret.h5"), "Permission denied"));
  }
}

BOOST_AUTO_TEST_CASE(files_that_crash_or_hang_libhdf5_are_refused) {
  const auto files = files_in(folder("PRENORM_SOURCE") / "tests/corpus/hdf5");
  BOOST_TEST(files.size() >= 10u);
  for (const fs::path& path : files) {
    const std::string message = refusal(path, {2, 64u << 20});
    BOOST_TEST_CONTEXT(path.filename()) {
      BOOST_TEST(message.starts_with(path.string() + ": "), message);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_reader_that_was_taken_over_is_not_believed) {
  const std::string ok = "printf '\\0' >&3; ";
  BOOST_TEST(contains(refusal_by("exit 3"), "ended: exit code 3"));
  BOOST_TEST(contains(refusal_by("echo broken >&2; kill -SEGV $$"), "killed by SIGSEGV: broken"));
  BOOST_TEST(contains(refusal_by("sleep 60", 0.2), "did not answer within 0.2 s"));
  BOOST_TEST(contains(refusal_by("printf x >&3; sleep 60", 0.2), "did not answer within 0.2 s"));
  BOOST_TEST(contains(refusal_by("head -c 100000 /dev/zero >&3"), "invalid data"));
  BOOST_TEST(contains(refusal_by("head -c 100000 /dev/urandom | tr '\\0' x >&3"), "invalid data"));
  BOOST_TEST(contains(refusal_by(ok + "printf '\\377\\377\\377\\377\\377\\377\\377\\177' >&3"),
                      "invalid data"));
  BOOST_TEST(
      contains(refusal_by(ok + "printf '\\10\\0\\0\\0\\0\\0\\0\\0prenorm1' >&3"), "invalid data"));
  // A message from there cannot paint on the terminal.
  const std::string painted = refusal_by("printf '\\1\\4\\0\\0\\0\\0\\0\\0\\0\\033[2J' >&3");
  BOOST_TEST(painted == ": \\x1b[2J");
}

BOOST_AUTO_TEST_CASE(a_reader_that_failed_is_not_asked_again) {
  // It hangs at the first tensor.
  const FalseReader reader("cat $0.reply >&3; sleep 60");
  write_reply(reader.program().string() + ".reply", minimal_fixture());
  const Fixture fixture(reader.file(), {0.3, 64u << 20});
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    BOOST_CHECK_EXCEPTION(fixture.inputs(fixture.cases().at(0)), BadFixture, [](const auto& bad) {
      return contains(bad.what(), "/cases/a/inputs/x: the HDF5 reader did not answer");
    });
  }
  BOOST_TEST((std::chrono::steady_clock::now() - begin < std::chrono::seconds(3)));
}

BOOST_AUTO_TEST_CASE(a_tensor_of_another_size_is_garbage) {
  for (const char* head : {"\\0\\7\\0", "\\0\\11\\0", "\\0\\377\\377"}) {  // 7, 9, 65535 bytes
    const FalseReader reader("cat $0.reply >&3; printf '" + std::string(head) +
                             "\\0\\0\\0\\0\\0\\0' >&3; head -c 70000 /dev/zero >&3; sleep 60");
    write_reply(reader.program().string() + ".reply", minimal_fixture());
    const Fixture fixture(reader.file(), {5, 64u << 20});
    BOOST_CHECK_EXCEPTION(fixture.inputs(fixture.cases().at(0)), BadFixture, [](const auto& bad) {
      return contains(bad.what(), "/cases/a/inputs/x: the HDF5 reader sent invalid data");
    });
  }
}

BOOST_AUTO_TEST_CASE(a_written_fixture_reads_back) {
  const Scratch scratch;
  write_some(scratch / "a.h5");
  const Fixture fixture(scratch / "a.h5", small_limits);
  BOOST_TEST(fixture.problem() == "scale");
  BOOST_TEST(fixture.signature_text() == written_signature);
  BOOST_TEST(fixture.source() == "a book, eq. 3");
  BOOST_TEST(fixture.oracle() == "by hand");
  std::vector<std::string> names;
  for (const Case& each : fixture.cases()) names.push_back(each.name);
  BOOST_TEST((names == std::vector<std::string>{"float32", "float64", "large_float16", "refused",
                                                "small_bfloat16"}));
  for (const Case& each : fixture.cases()) {
    BOOST_TEST_CONTEXT(each.name) {
      const Shape shape = each.inputs[0]->type.shape;
      BOOST_TEST(each.description == "ein Fall, größer");
      BOOST_TEST((each.redrawn_sizes == std::vector<std::string>{"d"}));
      BOOST_TEST((each.scalars == std::vector<Scalar>{0.1, std::int64_t{-3}, false}));
      const auto inputs = fixture.inputs(each);
      BOOST_TEST(same(*inputs[0], filled(each.dtype(), shape)));
      BOOST_TEST(inputs[1].has_value() == (each.name != "float32"));
      if (inputs[1]) BOOST_TEST(same(*inputs[1], filled(DType::boolean, shape)));
      BOOST_TEST(each.error.has_value() == (each.name == "refused"));
      BOOST_TEST(each.outputs.empty() == each.error.has_value());
      if (each.error) continue;
      BOOST_TEST(same(fixture.expected(each)[0], filled(DType::float64, shape, 0.1)));
      BOOST_TEST(each.outputs[0].tolerance->atol == 1e-7);
      BOOST_TEST(each.outputs[0].tolerance_tf32->rtol == 0.2);
      BOOST_TEST(each.outputs[0].reason == "why");
    }
  }
  // 70 * 3 * 33 elements of 2, 1 and 8 bytes, so regular, compress well.
  BOOST_TEST(fs::file_size(scratch / "a.h5") < 60'000u);
}

BOOST_AUTO_TEST_CASE(equal_content_gives_equal_bytes) {
  const Scratch scratch;
  write_some(scratch / "a.h5");
  write_some(scratch / "b.h5");
  BOOST_TEST((bytes_of(scratch / "a.h5") == bytes_of(scratch / "b.h5")));
  BOOST_TEST(files_in(scratch.path()).size() == 2u);  // nothing else is left behind
}

BOOST_AUTO_TEST_CASE(what_could_not_be_read_is_not_written) {
  const Scratch scratch;
  const auto write = [&](const std::string& problem, const LoadedCase& made) {
    write_fixture(scratch / "a.h5", problem, written_signature, "", "", std::vector{made});
  };
  BOOST_CHECK_THROW(write("Scale", new_case("a", DType::float32, {3})), std::invalid_argument);
  BOOST_CHECK_THROW(write("scale", new_case("a case", DType::float32, {3})), std::invalid_argument);
  BOOST_CHECK_THROW(write("scale", new_case("a", DType::int64, {3})), std::invalid_argument);
  LoadedCase wrong = new_case("a", DType::float32, {3});
  wrong.expected[0] = Tensor(DType::float64, {4});
  BOOST_CHECK_THROW(write("scale", wrong), std::invalid_argument);
  BOOST_CHECK_THROW(write_some(scratch / "no/such/folder.h5"), std::runtime_error);
  BOOST_TEST(files_in(scratch.path()).empty());
}

BOOST_AUTO_TEST_CASE(outputs_files_read_back) {
  const Scratch scratch;
  OutputsFile file;
  file.problem = "scale";
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16,
                            DType::int64, DType::boolean}) {
    const std::string case_name = "of_" + std::string(name(dtype));
    file.entries.push_back({case_name, "y", filled(dtype, {40, 30})});
    file.entries.push_back({case_name, "b", filled(dtype, {})});
  }
  file.entries[0].value.set(0, std::numeric_limits<double>::quiet_NaN());
  write_outputs(scratch / "a.h5", file);
  const OutputsFile back = read_outputs(scratch / "a.h5", small_limits);
  BOOST_TEST(back.problem == "scale");
  BOOST_REQUIRE(back.entries.size() == file.entries.size());
  BOOST_TEST(back.entries[0].case_name == "of_bfloat16");
  BOOST_TEST(back.entries[0].tensor == "b");
  for (const OutputsFile::Entry& entry : file.entries) {
    const bool found = std::ranges::any_of(back.entries, [&](const auto& other) {
      return other.case_name == entry.case_name && other.tensor == entry.tensor &&
             same(other.value, entry.value);
    });
    BOOST_TEST(found, entry.case_name);
  }
  write_outputs(scratch / "none.h5", {});
  BOOST_TEST(read_outputs(scratch / "none.h5").entries.empty());
}

BOOST_AUTO_TEST_CASE(outputs_of_a_fixture_file_can_be_read) {
  const OutputsFile file = read_outputs(made_files() / "unusual/plain.h5");
  BOOST_TEST(file.problem == "scale");
  BOOST_REQUIRE(file.entries.size() == 1u);
  BOOST_TEST(file.entries[0].tensor == "y");
  BOOST_CHECK_THROW(read_outputs(made_files() / "broken/link_external.h5"), BadFixture);
  BOOST_CHECK_THROW(read_outputs(made_files() / "broken/text_file.h5"), BadFixture);
}

BOOST_AUTO_TEST_CASE(tolerances_are_replaced_and_nothing_else) {
  const Scratch scratch;
  const fs::path path = scratch / "a.h5";
  fs::copy_file(made_files() / "unusual/plain.h5", path);
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
  fs::create_symlink(path, scratch / "link.h5");
  const std::vector<NewTolerance> found = {
      {"tiny", "y", {0.25, 1e-6}, Tolerance{0.5, 0.125}, "E = 0.125"}};
  write_tolerances(scratch / "link.h5", found);
  BOOST_TEST(fs::is_symlink(scratch / "link.h5"));
  BOOST_TEST((fs::status(path).permissions() == fs::perms(0640)));
  BOOST_TEST(files_in(scratch.path()).size() == 2u);
  const Fixture fixture(path);
  const OutputInfo& output = fixture.cases().at(0).outputs.at(0);
  BOOST_TEST(output.tolerance->atol == 0.25);
  BOOST_TEST(output.tolerance->rtol == 1e-6);
  BOOST_TEST(output.tolerance_tf32->atol == 0.5);
  BOOST_TEST(output.tolerance_tf32->rtol == 0.125);
  BOOST_TEST(output.reason == "E = 0.125");
  BOOST_TEST((output.dtype == DType::float32));
  BOOST_TEST((values(*fixture.inputs(fixture.cases()[0])[0]) ==
              std::vector{-1.0, -0.5, 0.0, 0.5, 1.0, 1.5}));
  // Once more changes not a byte.
  const std::vector<char> once = bytes_of(path);
  write_tolerances(path, found);
  BOOST_TEST((bytes_of(path) == once));
}

BOOST_AUTO_TEST_CASE(tolerances_for_what_is_not_there_leave_the_file) {
  const Scratch scratch;
  const fs::path path = scratch / "a.h5";
  fs::copy_file(made_files() / "unusual/plain.h5", path);
  const std::vector<char> before = bytes_of(path);
  const std::vector<NewTolerance> found = {{"tiny", "y", {0.25, 1e-6}, {}, "one"},
                                           {"absent", "y", {0.25, 1e-6}, {}, "two"}};
  BOOST_CHECK_EXCEPTION(write_tolerances(path, found), std::runtime_error,
                        [](const auto& error) { return contains(error.what(), "/cases/absent"); });
  BOOST_TEST((bytes_of(path) == before));
  BOOST_TEST(files_in(scratch.path()).size() == 1u);
}

BOOST_AUTO_TEST_CASE(catalogues_go_there_and_back) {
  const Node root = catalogue_for_tests();
  BOOST_TEST((decode(encode(root)) == root));
}

BOOST_AUTO_TEST_CASE(no_part_of_a_catalogue_is_one) {
  const std::vector<std::byte> frame = encode(catalogue_for_tests());
  for (std::size_t size = 0; size < frame.size(); ++size) {
    BOOST_CHECK_THROW(decode(std::span(frame).first(size)), CatalogueError);
  }
  std::vector<std::byte> longer = frame;
  longer.push_back(std::byte{0});
  BOOST_CHECK_THROW(decode(longer), CatalogueError);
  Node twice = catalogue_for_tests();
  twice.children.push_back(twice.children[0]);
  BOOST_CHECK_THROW(decode(encode(twice)), CatalogueError);
  Node deep;
  for (int i = 0; i < 20; ++i) {
    Node above;
    deep.name = "g";
    above.children = {deep};
    deep = above;
  }
  BOOST_CHECK_THROW(decode(encode(deep)), CatalogueError);
}

BOOST_AUTO_TEST_CASE(sizes_are_computed_without_overflow) {
  constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
  const std::int64_t far = std::int64_t{1} << 62;
  BOOST_TEST((checked_bytes(DType::float64, {2, 3}, 48) == 48u));
  BOOST_TEST(!checked_bytes(DType::float64, {2, 3}, 47));
  BOOST_TEST((checked_bytes(DType::float64, {}, 8) == 8u));
  BOOST_TEST((checked_bytes(DType::float64, {2, 0}, 100) == 0u));
  BOOST_TEST(!checked_bytes(DType::float64, {far}, most));
  BOOST_TEST(!checked_bytes(DType::boolean, {far, 4}, most));
  BOOST_TEST(!checked_bytes(DType::boolean, {far, 0, 4}, most));
}

BOOST_AUTO_TEST_SUITE_END()
