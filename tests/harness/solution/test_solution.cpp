// Solutions in their worker: what each misbehaviour is called, and that nothing else suffers.
// The libraries are tests/support/solutions/*.cpp.
#include "base/paths.hpp"
#include "base/text.hpp"
#include "base/temporary_folder.hpp"
#include "other_home.hpp"
#include "solution_testing.hpp"
#include "worker/protocol.hpp"

#include <boost/test/unit_test.hpp>
#include <chrono>
#include <cmath>
#include <fstream>
#include <map>
#include <thread>

using namespace prenorm::harness;
using namespace prenorm::harness::testing;

namespace {

/// AddressSanitizer and ThreadSanitizer die where an allocator of theirs meets a limit.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

Solution open(const std::string& name, const Solution::Options& options = {}) {
  return {name, library(name), "", options};
}

Solution::Options in_process() {
  Solution::Options options;
  options.in_process = true;
  return options;
}

Solution::Options limited(double seconds, std::size_t bytes) {
  Solution::Options options;
  options.limits = {seconds, bytes};
  return options;
}

/// One call with x[2, 3] of a fresh solution.
Outcome run(const std::string& variant, const Solution::Options& options = {},
            const Shape& shape = {2, 3}) {
  Solution solution = open("misbehaving", options);
  return call(solution, variant, counting(shape));
}

struct Misbehaving {
  Solution solution = open("misbehaving");
  Tensor x = counting({2, 3});
};

void check_begins(const Outcome& outcome, Status status, const std::string& beginning) {
  BOOST_TEST(name(outcome.status) == name(status));
  BOOST_TEST(outcome.message.starts_with(beginning), outcome.message);
  BOOST_TEST(!outcome.refused);
}

/// What is found after a function has returned, in the worker or in process.
void check_what_is_left_behind(const Solution::Options& options) {
  check_wrote(run("past_end", options), " past the end of output y");
  check_wrote(run("before_begin", options), " before the start of output y");
  check_wrote(run("writes_past_input", options), " past the end of input x");
  check_wrote(run("refuses_and_writes", options), " past the end of output y");
  check(run("mutates_input", options), Status::input_mutated,
        "input x was changed at [1, 2]: 6 became 7");
  check(run("unwritten", options), Status::incorrect_numerical,
        "output y: element [1, 1] was never written");
}

}  // namespace

BOOST_AUTO_TEST_SUITE(solution)

BOOST_AUTO_TEST_CASE(a_good_function_gives_its_outputs_in_each_type_and_shape) {
  for (const Solution::Options& options : {Solution::Options{}, in_process()}) {
    Solution solution = open("misbehaving", options);
    for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{0}, Shape{2, 0, 3}, Shape{63}, Shape{64},
                                 Shape{65}, Shape{3, 5, 7}, Shape{3, 40}}) {
        const Tensor x = counting(shape, dtype);
        check_doubled(call(solution, "", x), x);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(every_kind_of_argument_arrives) {
  const Signature signature = parse_signature(
      "a[..., n], b[..., n]?, ids[...]: int64, flags[...]: bool; k: int, f: float, on: bool -> "
      "sum[..., n], count[...]: int64, any[...]: bool");
  const Tensor a = counting({2, 3}), b = counting({2, 3}), ids = counting({2}, DType::int64);
  Tensor flags(DType::boolean, {2});
  flags.set(1, 1);
  for (const Solution::Options& options : {Solution::Options{}, in_process()}) {
    Solution solution = open("pair", options);
    for (const bool on : {false, true}) {
      Call call{"combine",
                {&a, &b, &ids, &flags},
                {std::int64_t{-7}, 0.5, on},
                {{DType::float32, {2, 3}}, {DType::int64, {2}}, {DType::boolean, {2}}},
                &signature};
      const Outcome outcome = solution.call(call);
      BOOST_TEST(outcome.message == "");
      BOOST_REQUIRE(outcome.outputs.size() == 3u);
      BOOST_TEST(outcome.outputs[0].at(5) == 9);
      BOOST_TEST(outcome.outputs[1].at(1) == -5);
      BOOST_TEST(outcome.outputs[2].at(0) == (on ? 1 : 0));
      BOOST_TEST(outcome.outputs[2].at(1) == 1);
      call.inputs[1] = nullptr;
      BOOST_TEST(solution.call(call).outputs.at(0).at(5) == 6);
      call.inputs[0] = nullptr;  // not optional: the function says so
      BOOST_TEST(solution.call(call).message == "input 1 is absent");
    }
  }
}

BOOST_FIXTURE_TEST_CASE(the_library_says_what_it_has, Misbehaving) {
  BOOST_TEST(solution.load());
  BOOST_TEST(solution.mode() == "");
  BOOST_TEST(solution.functions().contains("twice"));
  BOOST_TEST(solution.functions().contains("twice__past_end"));
  BOOST_TEST(!solution.functions().contains("abi"));
  BOOST_TEST(!solution.functions().contains("device"));
  BOOST_TEST(!solution.functions().contains("found_out_of_bounds"));
  BOOST_TEST(solution.function_for("twice") == "twice");
  BOOST_TEST(solution.function_for("thrice") == "");
  BOOST_TEST(open("tf32").mode() == "");  // not loaded
  Solution tf32 = open("tf32");
  BOOST_TEST(tf32.load());
  BOOST_TEST(tf32.mode() == "tf32");
  BOOST_TEST(tf32.functions().size() == 1u);
}

BOOST_AUTO_TEST_CASE(with_a_variant_only_the_variant_counts) {
  const fs::path misbehaving = library("misbehaving");
  BOOST_TEST(Solution("x", misbehaving, "past_end", {}).function_for("twice") == "twice__past_end");
  BOOST_TEST(Solution("x", misbehaving, "no_such", {}).function_for("twice") == "");
}

BOOST_AUTO_TEST_CASE(canaries_and_poison_in_the_worker) { check_what_is_left_behind({}); }
BOOST_AUTO_TEST_CASE(canaries_and_poison_in_process) { check_what_is_left_behind(in_process()); }

BOOST_AUTO_TEST_CASE(guard_pages_say_what_was_left_and_by_how_far) {
  const auto check_touched = [](const Outcome& outcome, const std::string& where) {
    check(outcome, Status::out_of_bounds, "touched memory " + where + " (SIGSEGV)");
  };
  // 64 floats fill 256 bytes: the page ends with the data. An empty output has nothing to write.
  check_touched(run("past_end", {}, {64}), "1 byte past the end of output y");
  check_touched(run("past_end", {}, {0}), "1 byte past the end of output y");
  check_touched(run("far_past_end"), "4001 bytes past the end of output y");
  check_touched(run("far_before_begin"), "12000 bytes before the start of output y");
  check_touched(run("message_past_end"), "1 byte past the end of the buffer for the error message");
  check_touched(run("reads_far_past_end"), "4001 bytes past the end of input x");
}

BOOST_AUTO_TEST_CASE(poison_is_seen_in_every_type) {
  // The function takes its type from the output: this one returns 0 and has written nothing.
  for (const DType dtype : {DType::float64, DType::float32, DType::float16, DType::bfloat16}) {
    for (int i = 0; i < 50; ++i) {
      Solution solution = open("misbehaving", in_process());
      const Tensor x = counting({3}, dtype);
      check(call(solution, "does_nothing", x), Status::incorrect_numerical,
            "output y: element [0] was never written");
    }
  }
}

BOOST_AUTO_TEST_CASE(nan_that_was_computed_is_not_poison) {
  const Outcome outcome = run("leaves_nan");
  BOOST_TEST(name(outcome.status) == "PASSED");
  BOOST_TEST(std::isnan(outcome.outputs.at(0).at(0)));
}

BOOST_AUTO_TEST_CASE(errors_that_are_returned) {
  for (const Solution::Options& options : {Solution::Options{}, in_process()}) {
    check_refused(run("refuses", options), "x is not to my taste");
    check_refused(run("returns_42", options), "returned 42 without a message");
    check_refused(run("control_characters", options), "red \\x1b[31m alarm\\x07\\nPASSED\\r\\xff");
    check_refused(run("long_message", options), std::string(497, 'm') + "...");
    check(run("not_implemented", options), Status::not_implemented, "later");
    check(run("throws", options), Status::runtime_error, "threw an exception: a\\nb");
    check(run("throws_no_memory", options), Status::out_of_memory, "std::bad_alloc");
    check(run("no_such", options), Status::not_implemented, "no function prenorm_twice__no_such");
  }
}

BOOST_AUTO_TEST_CASE(ends_of_the_process) {
  check(run("exits"), Status::runtime_error, "ended its process: exit code 0");
  check(run("exits_at_once"), Status::runtime_error, "ended its process: exit code 3");
  check_begins(run("aborts"), Status::runtime_error, "killed by SIGABRT: something is wrong");
  check(run("divides_by_zero"), Status::runtime_error, "killed by SIGFPE");
  check_begins(run("raises_segv"), Status::runtime_error, "killed by SIGSEGV");
  check(run("segfaults"), Status::runtime_error, "killed by SIGSEGV at address 0x40");
  check_begins(run("overflows_stack"), Status::runtime_error, "killed by SIGSEGV at address 0x");
  check(run("killed"), Status::out_of_memory,
        "killed by SIGKILL, as the kernel does where memory runs out");
}

BOOST_FIXTURE_TEST_CASE(a_forged_answer_gains_nothing, Misbehaving) {
  check(call(solution, "forges_success", x), Status::incorrect_numerical,
        "output y: element [0, 0] was never written");
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it is dead by now
  check_doubled(call(solution, "", x), x);
  for (const auto& [variant, message] :
       {std::pair{"talks_nonsense", "an answer is too long"},
        std::pair{"answers_another_call", "the worker answered another call"}}) {
    check(call(solution, variant, x), Status::runtime_error, message);
    check_doubled(call(solution, "", x), x);
  }
  BOOST_TEST(name(call(solution, "closes_the_socket", x).status) == "RUNTIME_ERROR");
  check_doubled(call(solution, "", x), x);
}

BOOST_AUTO_TEST_CASE(messages_survive_the_way_and_damaged_ones_are_refused) {
  using namespace protocol;
  CallMessage message;
  message.number = 3;
  message.function = "twice";
  message.span = 1 << 20;
  message.inputs = {std::nullopt, Argument{{DType::bfloat16, {2, 0}}, {4096, 8192, 4096, 256, 0}}};
  message.scalars = {std::int64_t{-1}, 0.5, true};
  message.outputs = {{{DType::int64, {}}, {0, 4096, 4096, 3840, 8}}};
  message.error = {8192, 65536, 4096, 3072, 1024};
  const std::string whole = encode(message);
  const std::string payload = whole.substr(sizeof(Header));
  const CallMessage back = decode<CallMessage>(payload);
  BOOST_TEST(back.number == 3u);
  BOOST_TEST(back.function == "twice");
  BOOST_TEST(!back.inputs.at(0));
  BOOST_TEST((back.inputs.at(1)->type.dtype == DType::bfloat16));
  BOOST_TEST(back.inputs.at(1)->type.shape == Shape({2, 0}), boost::test_tools::per_element());
  BOOST_TEST((back.scalars == message.scalars));
  BOOST_TEST(back.outputs.at(0).region.data_offset == 3840u);
  BOOST_TEST(back.error.bytes == 1024u);
  BOOST_TEST(encode(back) == whole);
  for (std::size_t length = 0; length < payload.size(); ++length) {
    BOOST_CHECK_THROW(decode<CallMessage>(payload.substr(0, length)), Malformed);
  }
  BOOST_CHECK_THROW(decode<CallMessage>(payload + "x"), Malformed);
  message.timed = true;
  BOOST_TEST(decode<CallMessage>(encode(message).substr(sizeof(Header))).timed);
  const DeviceFacts facts{"a device", "9.0", "CUDA 13.0", 1ull << 37, 1ull << 26};
  const std::string loaded =
      encode(Loaded{1, 1, "", "tf32", {"twice", "thrice"}, "a digest", facts});
  const Loaded read = decode<Loaded>(loaded.substr(8));
  BOOST_TEST(read.sources == "a digest");
  BOOST_TEST(read.facts.value().memory == 1ull << 37);
  BOOST_TEST(read.facts.value().driver == "CUDA 13.0");
  BOOST_TEST(read.functions.size() == 2u);
  for (std::size_t length = 8; length < loaded.size(); ++length) {
    BOOST_CHECK_THROW(decode<Loaded>(loaded.substr(8, length - 8)), Malformed);
  }
  std::string other_version = loaded.substr(8);
  other_version[0] = 1;
  BOOST_CHECK_THROW(decode<Loaded>(other_version), Malformed);
  std::string huge = loaded.substr(8);
  huge.replace(24, 4, "\xff\xff\xff\xff");  // the count of functions
  BOOST_CHECK_THROW(decode<Loaded>(huge), Malformed);
}

BOOST_AUTO_TEST_CASE(a_function_that_never_returns_is_stopped) {
  check(run("hangs", limited(0.3, 0)), Status::timeout, "no answer within 0.3 s");
}

BOOST_AUTO_TEST_CASE(memory_is_limited) {
  const Solution::Options options = limited(60, std::size_t{512} << 20);
  check(run("allocates", options), Status::out_of_memory, "std::bad_alloc");
  if (!sanitized) {
    check(run("allocates_with_new", options), Status::out_of_memory, "std::bad_alloc");
  }
  // Tensors beyond the limit are no room for a call either.
  const Outcome outcome = run("", limited(60, std::size_t{64} << 20), {40 << 20});
  check(outcome, Status::out_of_memory, "no memory for the tensors of the call");
}

BOOST_FIXTURE_TEST_CASE(output_that_floods_neither_blocks_nor_shows, Misbehaving) {
  check_doubled(call(solution, "floods", x), x);
}

BOOST_AUTO_TEST_CASE(after_a_crash_the_next_call_is_well) {
  Solution solution = open("misbehaving", limited(2, 0));
  const Tensor x = counting({2, 3});
  for (const char* variant : {"segfaults", "exits", "far_past_end", "aborts", "hangs", "killed"}) {
    BOOST_TEST(name(call(solution, variant, x).status) != "PASSED");
    check_doubled(call(solution, "", x), x);
  }
}

BOOST_AUTO_TEST_CASE(a_library_says_the_same_at_each_load) {
  // Another file lies in its place when the worker starts again.
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "other.so";
  fs::copy_file(library("misbehaving"), path);
  Solution solution("x", path, "", {});
  const Tensor x = counting({2, 3});
  check_doubled(call(solution, "", x), x);
  fs::remove(path);
  fs::copy_file(library("pair"), path);
  BOOST_TEST(name(call(solution, "segfaults", x).status) == "RUNTIME_ERROR");
  const std::string other = "has other functions than when it was loaded first";
  check(call(solution, "", x), Status::load_error, other);
  fs::remove(path);
  // So it is for two solutions that are one library's.
  Solution::Options options;
  options.declaration = std::make_shared<Declaration>();
  BOOST_TEST(open("misbehaving", options).load());
  BOOST_TEST(open("misbehaving", options).load());
  Solution second = open("pair", options);
  BOOST_TEST(!second.load());
  BOOST_TEST(second.message() == other);
}

BOOST_AUTO_TEST_CASE(the_first_load_decides) {
  const protocol::Loaded first{.abi = 1,
                               .device = kDLCUDA,
                               .unavailable = "",
                               .mode = "",
                               .functions = {"a", "b"},
                               .sources = "",
                               .facts = {}};
  const auto differs = [&first](auto change) {
    Declaration declaration;
    BOOST_TEST(declaration.difference(first) == "");
    protocol::Loaded other = first;
    change(other);
    return declaration.difference(other);
  };
  BOOST_TEST(differs([](auto& other) { std::swap(other.functions[0], other.functions[1]); }) == "");
  BOOST_TEST(differs([](auto& other) { other.functions.pop_back(); }) ==
             "has other functions than when it was loaded first");
  const std::string otherwise = "says another mode or device than when it was loaded first";
  BOOST_TEST(differs([](auto& other) { other.device = kDLCPU; }) == otherwise);
  BOOST_TEST(differs([](auto& other) { other.mode = "tf32"; }) == otherwise);
  BOOST_TEST(differs([](auto& other) { other.unavailable = "no device"; }) ==
             "could be used when it was loaded first, and now: no device");
}

BOOST_FIXTURE_TEST_CASE(nothing_goes_on_when_all_time_is_over, Misbehaving) {
  solution.limit_rest(0);
  BOOST_TEST(!solution.load());
  BOOST_TEST(name(solution.status()) == "TIMEOUT");
  BOOST_TEST(solution.message() == "not loaded: the time for all cases was over");
  solution.limit_rest(1e9);  // there is more
  check_doubled(call(solution, "", x), x);
  solution.limit_rest(0.3);
  check(call(solution, "hangs", x), Status::timeout,
        "no answer before the time for all cases was over");
  check(call(solution, "", x), Status::timeout, "not loaded: the time for all cases was over");
  solution.limit_rest(60);
  check_doubled(call(solution, "", x), x);
  solution.limit_rest(0);
  check(call(solution, "", x), Status::timeout, "not run: the time for all cases was over");
}

BOOST_AUTO_TEST_CASE(a_worker_that_was_started_early) {
  const Tensor x = counting({2, 3});
  int started = 0;
  fs::path program;
  Solution::Options options;
  options.worker = [&] {
    WorkerStart worker;
    worker.command.program =
        started++ == 0 ? program : home() / "libexec" / "prenorm" / "prenorm-worker";
    worker.command.keep_output = true;
    worker.library = library("misbehaving");
    return worker;
  };
  const auto make = [&](const fs::path& first) {
    started = 0;
    program = first;
    Solution solution = open("misbehaving", options);
    solution.start();
    BOOST_TEST(started == 1);
    return solution;
  };
  const fs::path good = home() / "libexec" / "prenorm" / "prenorm-worker";
  Solution solution = make(good);
  solution.start();  // once is enough
  check_doubled(call(solution, "", x), x);
  solution.start();
  BOOST_TEST(started == 1);

  Solution late = make(good);
  late.limit_rest(0);
  BOOST_TEST(!late.load());
  late.limit_rest(1e9);
  check_doubled(call(late, "", x), x);

  Solution died = make("/bin/true");  // before anything was asked of it
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  check_doubled(call(died, "", x), x);
  BOOST_TEST(started == 2);

  Solution absent = make("/nowhere/worker");
  check_doubled(call(absent, "", x), x);
}

BOOST_FIXTURE_TEST_CASE(addresses_are_fresh_and_inputs_private, Misbehaving) {
  std::set<double> seen;
  for (int i = 0; i < 20; ++i) {
    seen.insert(call(solution, "address_dependent", x).outputs.at(0).at(0));
  }
  BOOST_TEST(seen.size() > 10u);
  call(solution, "mutates_input", x);
  BOOST_TEST(x.at(5) == 6);
}

BOOST_AUTO_TEST_CASE(libraries_that_cannot_be_used) {
  const auto message = [](const std::string& name) {
    Solution solution = open(name, limited(0.5, 0));
    BOOST_TEST(!solution.load());
    BOOST_TEST(prenorm::harness::name(solution.status()) == "LOAD_ERROR");
    BOOST_TEST(solution.functions().empty());
    const Outcome outcome = call(solution, "", counting({1}));
    BOOST_TEST(prenorm::harness::name(outcome.status) == "LOAD_ERROR");
    BOOST_TEST(outcome.message == solution.message());
    return solution.message();
  };
  BOOST_TEST(message("wrong_abi") ==
             "the library has ABI 2 of the interface <prenorm/prenorm.h>, wanted 1");
  BOOST_TEST(message("no_abi") ==
             "the library exports no function prenorm_abi (in C++: the line "
             "PRENORM_SOLUTION(kDLCPU) is missing; in CUDA, with kDLCUDA)");
  BOOST_TEST(message("unknown_mode") ==
             "prenorm_mode says \"numpy\", wanted \"tf32\" or no such function");
  BOOST_TEST(message("crashes_at_load") == "killed by SIGSEGV while loading");
  BOOST_TEST(message("exits_at_load") == "ended its process while loading: exit code 0");
  BOOST_TEST(message("hangs_at_load") == "did not load within 0.5 s");
  check_has(message("no_such_file"), {"cannot open shared object file"});
}

BOOST_AUTO_TEST_CASE(a_file_that_is_no_library) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "text.so";
  std::ofstream(path) << "This is text.\n";
  for (const Solution::Options& options : {Solution::Options{}, in_process()}) {
    Solution solution("x", path, "", options);
    BOOST_TEST(!solution.load());
    check_has(solution.message(), {"file too short"});
  }
}

BOOST_AUTO_TEST_CASE(a_library_that_cannot_load_is_tried_once) {
  const TemporaryFolder folder;
  const fs::path copy = folder.path() / "libhangs.so";
  fs::copy_file(library("hangs_at_load"), copy);
  Solution solution("hangs", copy, "", limited(0.3, 0));
  BOOST_TEST(!solution.load());
  const std::string message = solution.message();
  fs::remove(copy);  // another try would say that there is no such file
  BOOST_TEST(!solution.load());
  BOOST_TEST(call(solution, "", counting({1})).message == message);
  BOOST_TEST(solution.message() == message);
}

BOOST_AUTO_TEST_CASE(a_device_that_is_not_here_is_skipped) {
  Solution solution = open("other_device");
  BOOST_TEST(!solution.load());
  BOOST_TEST(name(solution.status()) == "SKIPPED");
  BOOST_TEST(solution.message() == "no device of DLPack's type 9");
}

BOOST_AUTO_TEST_CASE(seconds_are_the_functions_own) {
  const Outcome outcome = run("sleeps");
  BOOST_TEST(outcome.seconds >= 0.05);
}

BOOST_AUTO_TEST_CASE(names_on_the_command_line) {
  const fs::path file = library("misbehaving");
  Solution plain = find_solution(file.string(), {});
  BOOST_TEST(plain.library() == file);
  BOOST_TEST(plain.variant() == "");
  BOOST_TEST(plain.label() == file.string());
  Solution variant = find_solution(file.string() + "/past_end", {});
  BOOST_TEST(variant.library() == file);
  BOOST_TEST(variant.function_for("twice") == "twice__past_end");
  for (const char* name :
       {"./no_such.so", "no_such", "no_such/variant", "./no_such.so.1.2/variant", "", "../x"}) {
    BOOST_CHECK_THROW(find_solution(name, {}), std::invalid_argument);
  }
}

BOOST_AUTO_TEST_CASE(shipped_solutions_are_found_by_name) {
  const OtherHome other;
  for (const char* file : {"libprenorm_good.so", "libprenorm_good-emulated.so", "notes.txt"}) {
    fs::copy_file(library("misbehaving"), other.folder / "lib" / "prenorm" / file);
  }
  BOOST_TEST(home() == other.folder);
  BOOST_TEST(shipped_solutions() == std::vector<std::string>({"good", "good-emulated"}),
             boost::test_tools::per_element());
  const Solution good = find_solution("good", {});
  BOOST_TEST(good.library() == other.folder / "lib" / "prenorm" / "libprenorm_good.so");
  const Solution variant = find_solution("good-emulated/past_end", {});
  BOOST_TEST(variant.library().filename() == "libprenorm_good-emulated.so");
  BOOST_TEST(variant.variant() == "past_end");
  BOOST_TEST(variant.label() == "good-emulated/past_end");
  BOOST_TEST(
      message_of<std::invalid_argument>([] { find_solution("bad", {}); }) ==
      "no solution bad: the shipped ones are good, good-emulated; or give the path of a library "
      "(lib.so, lib.so/variant)");
}

BOOST_AUTO_TEST_CASE(without_a_worker_there_is_a_message) {
  const OtherHome other;
  Solution solution = open("misbehaving");
  BOOST_TEST(!solution.load());
  BOOST_TEST(name(solution.status()) == "LOAD_ERROR");
  check_has(solution.message(), {"prenorm-worker"});
}

BOOST_AUTO_TEST_CASE(text_from_outside_is_made_fit_for_one_line) {
  const std::string fit = "d_k = 3 \xe2\x89\xa0 2\xc2\xb7n \xf0\x9f\x99\x82";
  for (const auto& [text, printed] : std::map<std::string, std::string>{
           {"", ""},
           {fit, fit},
           {"a\nb\tc\rd", "a\\nb\\tc\\rd"},
           {{"\0\x1b\x7f", 3}, "\\x00\\x1b\\x7f"},
           {"\u009b31m", "\\x9b31m"},  // an escape of one character
           {"\u202ex", "\\u202ex"},    // right to left from here
           {"\xff\xc0\xaf\xed\xa0\x80", "\\xff\\xc0\\xaf\\xed\\xa0\\x80"},
           {"\xe2\x89", "\\xe2\\x89"},                               // cut short
           {"\xef\xbf\xbe\xef\xbf\xbf", "\\ufffe\\uffff"},           // not for XML
           {"a\u200b\u00ad\U000e0061", "a\\u200b\\xad\\ue0061"}}) {  // unseen
    BOOST_TEST(printable(text) == printed);
  }
  BOOST_TEST(printable("12345678", 8) == "12345678");
  BOOST_TEST(printable("123456789", 8) == "12345...");
  BOOST_TEST(printable("1234\n\n\n", 8) == "1234...");     // no half of an escape
  BOOST_TEST(printable("1234\u2260xyz", 8) == "1234...");  // nor of a character
}

BOOST_AUTO_TEST_SUITE_END()
