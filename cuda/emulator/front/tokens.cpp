#include "tokens.hpp"

#include <algorithm>
#include <charconv>

namespace prenorm::emulator::front {
namespace {

bool is_word_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || (c & 0x80);
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    for (;;) {
      Token token;
      token.before = skip_space();
      token.at = at_line_;
      token.system = system_;
      const std::size_t begin = at_;
      at_ += length();
      token.text = text_.substr(begin, at_ - begin);
      count_lines(token.text);
      tokens.push_back(std::move(token));
      if (at_ >= text_.size()) break;
    }
    if (!tokens.back().text.empty()) tokens.emplace_back();
    return tokens;
  }

 private:
  void count_lines(std::string_view passed) {
    at_line_.line += static_cast<int>(std::ranges::count(passed, '\n'));
  }

  std::string skip_space() {
    const std::size_t begin = at_;
    while (at_ < text_.size()) {
      if (text_[at_] == '#' && (at_ == 0 || text_[at_ - 1] == '\n')) {
        std::size_t end = text_.find('\n', at_);
        end = end == text_.npos ? text_.size() : end + 1;
        const std::string_view line = text_.substr(at_, end - at_);
        if (!is_marker(line)) count_lines(line);
        at_ = end;
      } else if (std::isspace(static_cast<unsigned char>(text_[at_]))) {
        count_lines(text_.substr(at_++, 1));
      } else {
        break;
      }
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  /// # 12 "file" 3: the next line is the file's line 12; 3: of a system header.
  bool is_marker(std::string_view line) {
    if (!line.starts_with("# ") || line.size() < 4 ||
        !std::isdigit(static_cast<unsigned char>(line[2])))
      return false;
    int number = 0;
    std::from_chars(line.data() + 2, line.data() + line.size(), number);
    const std::size_t open = line.find('"'), close = line.rfind('"');
    if (open == line.npos || close == open) return false;
    const std::string_view file = line.substr(open + 1, close - open - 1);
    const std::string_view flags = line.substr(close + 1);
    const bool system = flags.find(" 3") != line.npos;
    const bool enters = flags.starts_with(" 1");
    if (system && !system_ && enters && file.find("/prenorm/emulator/") == file.npos &&
        is_of_toolkit(file)) {
      throw not_emulated(at_line_, std::string(file.substr(file.rfind('/') + 1)));
    }
    at_line_ = {file, number};
    system_ = system;
    return true;
  }

  std::size_t length() const {
    const std::string_view rest = text_.substr(at_);
    if (rest.empty()) return 0;
    const char c = rest[0];
    if (std::isdigit(static_cast<unsigned char>(c))) return number(rest);
    if (is_word_part(c)) {
      std::size_t n = 0;
      while (n < rest.size() && is_word_part(rest[n])) ++n;
      if (n < rest.size() && rest[n] == '"' && rest[n - 1] == 'R' && n <= 3) return raw(rest, n);
      return n;
    }
    if (c == '"' || c == '\'') return quoted(rest, c);
    for (const std::string_view two : {"::", "->", "<<", ">>", "==", "<=", ">=", "&&", "||"}) {
      if (rest.starts_with(two)) return 2;
    }
    return 1;
  }

  static std::size_t number(std::string_view rest) {
    std::size_t n = 1;
    while (n < rest.size()) {
      const bool exponent = (rest[n] == '+' || rest[n] == '-') &&
                            std::string_view("eEpP").find(rest[n - 1]) != std::string_view::npos &&
                            !(rest.starts_with("0x") && (rest[n - 1] == 'e' || rest[n - 1] == 'E'));
      const bool separator = rest[n] == '\'' && n + 1 < rest.size() && is_word_part(rest[n + 1]);
      if (!is_word_part(rest[n]) && rest[n] != '.' && !exponent && !separator) break;
      ++n;
    }
    return n;
  }

  static std::size_t quoted(std::string_view rest, char quote) {
    std::size_t n = 1;
    while (n < rest.size() && rest[n] != quote) n += rest[n] == '\\' ? 2 : 1;
    return std::min(n + 1, rest.size());
  }

  static std::size_t raw(std::string_view rest, std::size_t quote) {
    const std::size_t open = rest.find('(', quote);
    if (open == rest.npos) return rest.size();
    const std::string end = ")" + std::string(rest.substr(quote + 1, open - quote - 1)) + "\"";
    const std::size_t close = rest.find(end, open);
    return close == rest.npos ? rest.size() : close + end.size();
  }

  std::string_view text_;
  std::size_t at_ = 0;
  Place at_line_;
  bool system_ = false;
};

}  // namespace

bool is_of_toolkit(std::string_view path) {
  for (const std::string_view folder : {"thrust/", "cub/", "cutlass/", "cute/", "cuda/", "crt/",
                                        "cooperative_groups/", "nvtx3/", "nccl_device/"}) {
    if (path.starts_with(folder)) return true;
    const std::size_t at = path.rfind(std::string("/") + std::string(folder));
    if (at != path.npos && (folder != "cuda/" || path.find('.', at) == path.npos)) return true;
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  for (const std::string_view begin : {"builtin_types",
                                       "channel_desc",
                                       "common_functions",
                                       "cooperative_groups.h",
                                       "cuComplex",
                                       "cu++",
                                       "cublas",
                                       "cudalib",
                                       "cudart_",
                                       "cuda_",
                                       "cudaE",
                                       "cudaG",
                                       "cudaP",
                                       "cudaT",
                                       "cudaV",
                                       "cudnn",
                                       "cufft",
                                       "cupti",
                                       "curand",
                                       "cusolver",
                                       "cusparse",
                                       "cutensor",
                                       "device_",
                                       "driver_",
                                       "fatbinary",
                                       "generated_",
                                       "host_config",
                                       "host_defines",
                                       "library_types",
                                       "math_constants",
                                       "math_functions",
                                       "mma.h",
                                       "nccl",
                                       "npp",
                                       "nvJ",
                                       "nvToolsExt",
                                       "nv_decode",
                                       "nvblas",
                                       "nvjpeg",
                                       "nvml",
                                       "nvperf",
                                       "nvrtc",
                                       "nvvm",
                                       "sm_",
                                       "surface_",
                                       "texture_",
                                       "vector_functions",
                                       "vector_types"}) {
    if (name.starts_with(begin)) return true;
  }
  return false;
}

std::vector<Token> tokenize(std::string_view text) { return Reader(text).run(); }

}  // namespace prenorm::emulator::front
