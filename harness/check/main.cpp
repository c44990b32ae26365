// The commands that check solutions and fixtures, for the launcher: they need half of the harness,
// so this program is built in half of the time.
#include "check/command.hpp"

int main(int argc, char** argv) {
  using namespace prenorm::harness;
  return run_command_line(
      {verify_command(), fixtures_command(), mistakes_command(), diff_command()}, argc, argv);
}
