// What the tests of pages share: what stands in them, and where they are left to be looked at.
//
// Where PRENORM_PAGE_DIR names a folder, pages and documents are left there, for
// test_grade_pages.py to open in a browser and to compare with the schema.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace prenorm::harness::testing {

/// Markup, quotes, controls, what is no UTF-8, and marks that turn the writing direction.
inline const std::string evil =
    "<script>alert('x')</script>\"'&<img src=http://example.org/x onerror=1>\x1b[2J\n\x01\xff"
    "\u202egnp.exe\u2066 ]]> {} %s \xd7\xa9\xd7\x9c\xd7\x95\xd7\x9d";

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline std::size_t occurrences(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

inline void leave(const std::string& name, const std::string& text) {
  const char* folder = std::getenv("PRENORM_PAGE_DIR");
  if (folder == nullptr || *folder == '\0') return;
  std::filesystem::create_directories(folder);
  std::ofstream(std::filesystem::path(folder) / name, std::ios::binary) << text;
}

/// It loads nothing, and runs nothing but its own scripts.
inline void check_needs_nothing(const std::string& page, std::size_t scripts = 0) {
  BOOST_TEST(occurrences(page, "<script") == scripts);
  for (const char* part : {"<script ", "<img", "<iframe", "stylesheet", "@import", "url(h",
                           "src=\"", "href=\"h", "href=\"/"}) {
    BOOST_TEST(!contains(page, part), part);
  }
}

/// What `evil` tries does not stand in the page, but its letters do.
inline void check_is_escaped(const std::string& page, std::size_t scripts = 0) {
  BOOST_TEST(occurrences(page, "<script") == scripts);
  BOOST_TEST(!contains(page, "<img"));
  BOOST_TEST(!contains(page, "<b>end"));
  BOOST_TEST(!contains(page, "\u202e"));
  BOOST_TEST(!contains(page, "\u2066"));
  BOOST_TEST(contains(page, "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&quot;&#39;&amp;"));
  for (const char c : page) BOOST_REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
}

/// Each element ends, and before the one around it.
inline void check_elements_end_in_order(const std::string& page) {
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at + 1)) {
    const std::size_t end = page.find('>', at);
    const std::string tag = page.substr(at + 1, end - at - 1);
    const std::string word = tag.substr(0, tag.find_first_of(" /\n", 1));
    if (word == "!DOCTYPE" || word == "meta" || word == "link" || word == "wbr" ||
        tag.back() == '/') {
      continue;
    }
    if (tag[0] != '/') {
      open.push_back(word);
      continue;
    }
    BOOST_REQUIRE(!open.empty());
    BOOST_REQUIRE_EQUAL("/" + open.back(), tag);
    open.pop_back();
  }
  BOOST_TEST(open.empty());
}

}  // namespace prenorm::harness::testing
