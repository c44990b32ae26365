// Skipped tests are listed: in the file named by PRENORM_SKIPS, as conftest.py and fuzz.sh do.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <string>

namespace prenorm::testing {

/// Reports a test as skipped. False where PRENORM_REQUIRE_ALL makes that a failure:
/// `BOOST_TEST(skip("sandbox", reason)); return;`
inline bool skip(const std::string& test, const std::string& reason) {
  std::cout << "skipped: " << test << ": " << reason << '\n';
  if (const char* path = std::getenv("PRENORM_SKIPS"); path != nullptr && *path != '\0') {
    std::ofstream(path, std::ios::app) << test + ": " + reason + "\n";
  }
  const char* all = std::getenv("PRENORM_REQUIRE_ALL");
  return all == nullptr || *all == '\0';
}

}  // namespace prenorm::testing
