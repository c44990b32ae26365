#include "cli/commands.hpp"

int main(int argc, char** argv) {
  using namespace prenorm::harness;
  return run_command_line(
      {verify_command(), grade_command(), watch_command(), hint_command(), gradescope_command(),
       gradebook_command(), bench_command(), profile_command(), list_command(), show_command(),
       fixtures_command(), mistakes_command(), diff_command(), emulate_command(), new_command(),
       doctor_command(), study_command(), completion_command()},
      argc, argv);
}
