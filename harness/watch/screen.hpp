// The one screen that `prenorm watch` shows.
#pragma once

#include "watch/history.hpp"

namespace prenorm::harness {

struct ScreenState {
  std::string path;       // as it was typed
  std::string saved;      // the file that was saved last; empty at the beginning
  std::string complaint;  // why the last grading gave no report
  std::string formula;    // of the first failure's problem
  std::string running;    // what goes on at the moment; empty: all has been answered
  double seconds = 0;     // from the save to the first answer
  std::size_t hints = 0;  // how many have been asked for
  bool colour = false;
  std::size_t width = 0;  // 0: lines of any length
};

/// Lines that fit `width`.
std::string screen_text(const History& history, const ScreenState& state);

}  // namespace prenorm::harness
