// temporary
#pragma once
#include <string>
namespace prenorm::harness {
struct MistakeWords {
  std::string name, sentence, hint, form_of;
  bool honest = false;
};
MistakeWords words_of(const std::string& problem, const std::string& mistake);
std::string same_mistake(const std::string& problem, const std::string& mistake);
}  // namespace prenorm::harness
