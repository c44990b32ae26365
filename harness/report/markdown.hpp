// Text from outside made fit for Markdown, as GitHub reads it.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace prenorm::harness {

/// Text that stays text: each character that Markdown or HTML may give a meaning has a backslash
/// before it. One line, cut after `limit` bytes.
std::string markdown_text(std::string_view text, std::size_t limit = 500);

/// The text in code's letters, within a line; nothing in it has a meaning, whatever it holds: no
/// link, no mention, no HTML. One line, cut after `limit` bytes. Pipes are escaped where
/// `in_table`.
std::string markdown_code(std::string_view text, bool in_table = false, std::size_t limit = 500);

/// Lines as a block of code, whatever they hold but control characters.
std::string markdown_block(std::span<const std::string> lines);

}  // namespace prenorm::harness
