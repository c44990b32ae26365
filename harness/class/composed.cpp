#include "class/composed.hpp"

#include <cstdlib>
#include <memory>
#include <utf8proc.h>

namespace prenorm::harness {

std::string composed(const std::string& text) {
  utf8proc_uint8_t* made = nullptr;
  const utf8proc_ssize_t size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                   static_cast<utf8proc_ssize_t>(text.size()), &made,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  if (size < 0) return text;
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(made, &std::free);
  return {reinterpret_cast<const char*>(made), static_cast<std::size_t>(size)};
}

}  // namespace prenorm::harness
