// A page that needs nothing beside itself, and text from outside made fit for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace prenorm::harness {

/// Text for the page: safe on one line, and with the characters that HTML keeps for itself escaped;
/// cut after `limit` bytes, with "..." at the end.
std::string escaped(std::string_view text, std::size_t limit = 4000);

/// The whole page. `title` is text, `style` adds to what all pages have (.good, .bad, .quiet,
/// .scroll), `body` is HTML. The page is not allowed to load or run anything.
std::string html_page(std::string_view title, std::string_view style, std::string_view body);

}  // namespace prenorm::harness
